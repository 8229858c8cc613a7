"""`streameval at`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from streameval.cli.options import Switch, Whole
from streameval.cli.output import Output, columns
from streameval.errors import InputError

if TYPE_CHECKING:
    from streameval.curve import Curve


def at(
    study: Path,
    *,
    rank: Annotated[list[Whole] | None, Parameter(negative_iterable="")] = None,
    precision: Annotated[list[str] | None, Parameter(negative_iterable="")] = None,
    recall: Annotated[list[str] | None, Parameter(negative_iterable="")] = None,
    score: Annotated[list[str] | None, Parameter(negative_iterable="")] = None,
    count: Switch = False,
    beta: float = 1.0,
    slice: str | None = None,
    output: Output = Output(),
) -> None:
    """What is known at a cutoff, or where a precision or recall is reached, with bounds.

    Example: streameval at my-study --rank 1000 --precision 0.9
    Example: streameval at my-study --slice de --rank 1000

    Args:
        study: Folder of an evaluated study.
        rank: Cutoff: keep the first N items; may be repeated.
        precision: Find the deepest rank that has at least this precision; may be repeated.
        recall: Find the first rank that has at least this recall; may be repeated.
        score: Keep every item of this score or better: the cutoff lies between two ranks whose scores are known; may be
            repeated.
        count: Count the items of that score and better, by one scan of the scores: the cutoff is then one rank.
        beta: Weight of recall in F.
        slice: Ask of one slice of a study planned with --by; ranks are then those within it.
    """
    from streameval.reporting.sentences import band_meaning, estimate_sentence
    from streameval.slices.files import slice_of
    from streameval.study import Study
    from streameval.verbs.cut import counted_at

    if not (rank or precision or recall or score):
        raise InputError("no question was asked", "give --rank, --precision, --recall or --score")
    if count and (slice is not None or not score):
        raise InputError("--count goes with --score, and without --slice", "leave it out")
    evaluation = Study(study).evaluation()
    curve = evaluation.curve if slice is None else slice_of(evaluation.slices, slice).curve
    found = [row for one in rank or [] for row in _at_rank(curve, one, beta)]
    found += [_row("rank_at_precision", one, curve.rank_at_precision(one)) for one in precision or []]
    found += [_row("rank_at_recall", one, curve.rank_at_recall(one)) for one in recall or []]
    for one in score or []:
        span = (counted_at(study, one),) * 2 if count else curve.rank_at_score(one)
        found += _at_score(curve, one, span)
    cells = [[f"{row['metric']}({row['argument']})", *(_text(row[side]) for side in _SIDES)] for row in found]
    claim = curve.claim
    meaning = band_meaning(claim)
    lines = [*columns(["", *_SIDES], cells), f"{meaning[0].upper()}{meaning[1:]}; assumed: {claim.assumes}."]
    lines += filter(None, [estimate_sentence(curve.basis), claim.caution])
    output.say({"found": found, "claim": claim.as_dict(), "estimates": curve.basis}, lines)


_SIDES = ("lower", "estimate", "upper")


def _at_rank(curve: Curve, rank: int, beta: float) -> list[dict[str, Any]]:
    rows = [_row(name, str(rank), getattr(curve, name)(rank)) for name in ("precision_at", "recall_at", "yield_at")]
    rows.append(_row("f_measure", f"{rank}, {beta:g}", curve.f_measure(rank, beta)))
    if curve.score is not None:
        rows.append(_row("threshold_at", str(rank), curve.threshold_at(rank)))
    return rows


def _at_score(curve: Curve, score: str, span: tuple[int, int]) -> list[dict[str, Any]]:
    """Rank of the cutoff at a score, which lies in `span`, and what is known of it wherever that is."""
    first, last = span
    rows = [_row("rank_at_score", score, (first, first if first == last else None, last))]
    if first == 0:  # perhaps it keeps no item
        return rows
    known = curve.between(first, last)
    shown = {"precision": curve.precision_at, "recall": curve.recall_at, "yield": curve.yield_at, "f1": curve.f_measure}
    for name, at_rank in shown.items():
        bounds = at_rank(first) if first == last else (known[name][0], None, known[name][1])
        rows.append(_row(f"{name}_at_score", score, bounds))
    return rows


def _row(metric: str, argument: str, bounds: tuple[Any, Any, Any]) -> dict[str, Any]:
    sides = [one if isinstance(one, int | float) or one is None else str(one) for one in bounds]
    return {"metric": metric, "argument": argument, **dict(zip(_SIDES, sides, strict=True))}


def _text(value: Any) -> str:
    if value is None or value != value:
        return "unknown"
    if isinstance(value, float):
        return f"{value:,.1f}".removesuffix(".0") if abs(value) >= 1000 else f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
