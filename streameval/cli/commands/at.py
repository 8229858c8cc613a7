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
    standard_error: Switch = False,
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
        standard_error: Tell the standard error of precision at each --rank: approximate, and for that rank alone.
        slice: Ask of one slice of a study planned with --by; ranks are then those within it.
    """
    from streameval.reporting.sentences import estimate_sentence, promise
    from streameval.slices.files import slice_of
    from streameval.study import Study
    from streameval.study.planned_ranking import counted_at
    from streameval.study.standard_errors import precision_error

    if not (rank or precision or recall or score):
        raise InputError("no question was asked", "give --rank, --precision, --recall or --score")
    if count and (slice is not None or not score):
        raise InputError("--count goes with --score, and without --slice", "leave it out")
    if standard_error and (slice is not None or not rank):
        raise InputError("--standard-error goes with --rank, and without --slice", "leave it out")
    evaluation = Study(study).evaluation()
    curve = evaluation.curve if slice is None else slice_of(evaluation.slices, slice).curve
    found = [row for one in rank or [] for row in _at_rank(curve, one, beta)]
    found += [_row("rank_at_precision", one, curve.rank_at_precision(one)) for one in precision or []]
    found += [_row("rank_at_recall", one, curve.rank_at_recall(one)) for one in recall or []]
    for one in score or []:
        span = (counted_at(Study(study).plan(), one),) * 2 if count else curve.rank_at_score(one)
        found += _at_score(curve, one, span)
    cells = [[f"{row['metric']}({row['argument']})", *(_text(row[side]) for side in _SIDES)] for row in found]
    claim = curve.claim
    lines = [*columns(["", *_SIDES], cells), f"{promise(claim)}."]
    lines += filter(None, [estimate_sentence(curve.basis), claim.caution])
    said: dict[str, Any] = {"found": found, "claim": claim.as_dict(), "estimates": curve.basis}
    if standard_error:
        errors = {one: precision_error(evaluation, one) for one in rank or []}
        said["standard_error"] = {str(one): error for one, error in errors.items()}
        lines += [_standard_error(*one) for one in errors.items()]
    output.say(said, lines)


_SIDES = ("lower", "estimate", "upper")


def _standard_error(rank: int, error: float | None) -> str:
    if error is None:
        return (
            f"Standard error of precision at {rank:,}: unknown, as too few labels of a random draw say something of it."
        )
    alone = "approximate, and for this rank alone; the bounds hold for all ranks at once"
    return f"Standard error of precision at {rank:,}: {error:.4g} ({alone})."


def _at_rank(curve: Curve, rank: int, beta: float) -> list[dict[str, Any]]:
    rows = [_row(name, str(rank), getattr(curve, name)(rank)) for name in ("precision_at", "recall_at", "yield_at")]
    rows.append(_row("f_measure", f"{rank}, {beta:g}", curve.f_measure(rank, beta)))
    if curve.score is not None:
        rows.append(_row("threshold_at", str(rank), curve.threshold_at(rank)))
    return rows


def _at_score(curve: Curve, score: str, span: tuple[int, int]) -> list[dict[str, Any]]:
    """Rank of the cutoff at a score, which lies in `span`, and what is known of it wherever that is."""
    first, last = span
    rows = [_row("rank_at_score", score, (first, first if first == last else (first + last) / 2, last))]
    if first == 0:  # perhaps it keeps no item
        return rows
    known = curve.between(first, last)
    return rows + [_row(f"{name}_at_score", score, known[name]) for name in ("precision", "recall", "yield", "f1")]


def _row(metric: str, argument: str, bounds: tuple[Any, Any, Any]) -> dict[str, Any]:
    sides = [one if isinstance(one, int | float) or one is None else str(one) for one in bounds]
    return {"metric": metric, "argument": argument, **dict(zip(_SIDES, sides, strict=True))}


def _text(value: Any) -> str:
    if value is None or value != value:
        return "unknown"
    if isinstance(value, float):
        return f"{value:,.1f}".removesuffix(".0") if abs(value) >= 1000 else f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
