"""`streameval compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from streameval.cli.options import Switch, existing
from streameval.cli.output import Output, columns
from streameval.errors import InputError
from streameval.text import number_of

if TYPE_CHECKING:
    from streameval.study.comparison import Comparison, Side
    from streameval.study.rankings_comparison import RankingsComparison


def compare(
    a: Path,
    b: Path,
    *,
    confidence: float = 0.95,
    out: Path | None = None,
    plot: Path | None = None,
    overwrite: Switch = False,
    output: Output = Output(),
) -> None:
    """Compare two evaluated studies or exact results: every difference with bounds, and whether it is established.

    Of two results of many rankings (exact --per): the means of the differences on the rankings that both have.

    Example: streameval compare old-model new-model --plot both.html

    Args:
        a, b: Folders of the studies, or of what exact wrote.
        confidence: Probability that all bounds hold together.
        out: Folder for curves.parquet and differences.parquet; of many rankings for differences.parquet alone.
        plot: Picture of both curves and of their difference (.svg, .png), or a report with the numbers too (.html).
        overwrite: Replace files that are there and differ.
    """
    from streameval.reporting.comparison import claim_sentence, save_comparison, verdict
    from streameval.reporting.sentences import estimate_sentence
    from streameval.reporting.simulation import kind_of
    from streameval.study.rankings_comparison import RankingsComparison, save_rankings
    from streameval.verbs.compare import compare as verb

    if plot is not None:
        kind_of(plot)  # refused before the work, not after
    found = verb(a, b, confidence=confidence)
    if isinstance(found, RankingsComparison):
        if plot is not None:
            raise InputError("--plot draws two curves, and many rankings have none",
                             "--out DIR keeps every difference; each result has a report of its own")  # fmt: skip
        if out is not None:
            save_rankings(found, out, existing(overwrite))
        _say_rankings(found, out, output)
        return
    save_comparison(found, out, plot, existing(overwrite))
    output.event("compare", a=str(a), b=str(b), coverage=found.claim.coverage)
    rows = found.differences.to_pylist()
    result: dict[str, Any] = {
        "a": _described(found.a),
        "b": _described(found.b),
        "lists": found.lists,
        "claim": found.claim.as_dict(),
        "verdict": verdict(found),
        "differences": rows,
        "out": str(out) if out else None,
        "plot": str(plot) if plot else None,
    }
    basis = dict.fromkeys(estimate_sentence(side.curve.basis) for side in (found.a, found.b))
    output.say(result, [*_lines(found, rows, verdict(found)), "", claim_sentence(found), *filter(None, basis)])


def _described(side: Side) -> dict[str, Any]:
    return {"study": side.name, "method": side.method, "n_items": side.curve.n_items, "labels": side.labels,
            "judged": side.judged, "estimates": side.curve.basis, "claim": side.curve.claim.as_dict()}  # fmt: skip


def _lines(found: Comparison, rows: list[dict[str, Any]], verdict: str) -> list[str]:
    from streameval.reporting.comparison import SHOWN, difference_number, sides

    shown = [row for row in rows if row["metric"] in SHOWN]
    cells = [
        [f"{row['metric']} {row['argument']}".strip(),
         *(difference_number(row[key], "-") for key in ("a", "b", "lower", "upper")), row["higher"] or "-"]
        for row in shown
    ]  # fmt: skip
    return [*sides(found), "", verdict, "", *columns(["", "a", "b", "a - b at least", "at most", "higher"], cells)]


def _say_rankings(found: RankingsComparison, out: Path | None, output: Output) -> None:
    from streameval.reporting.comparison import difference_number

    rows = found.differences.to_pylist()
    only = (("a", found.only_a, "b"), ("b", found.only_b, "a"))
    alone = "".join(f" {count:,} that {name} alone has {'is' if count == 1 else 'are'} left out, which favours {other}."
                    for name, count, other in only if count)  # fmt: skip
    if found.unlike:
        alone += (
            f" In {number_of(found.unlike, 'ranking')} a and b count another number of positives, so that only "
            "precision, success and reciprocal rank can be compared: evaluate both with one table of --positives."
        )
    cells = [
        [f"{row['metric']} {row['argument']}".strip(), *(difference_number(row[key], "-") for key in _PAIRED),
         row["higher"] or "-", f"{row['a_higher'] or 0:,}", f"{row['b_higher'] or 0:,}"] for row in rows
    ]  # fmt: skip
    both = f"{number_of(found.rankings, 'ranking')} {'is' if found.rankings == 1 else 'are'} in both.{alone}"
    head = ["", "a", "b", "a - b", "normal from", "to", "higher", "a wins", "b wins"]
    lines = [f"a: {found.a}", f"b: {found.b}", both, "",
             *columns(head, cells), "", _paired(found.confidence)]  # fmt: skip
    shown = {"a": found.a, "b": found.b, "rankings": found.rankings, "only_a": found.only_a, "only_b": found.only_b,
             "unlike": found.unlike}  # fmt: skip
    output.say({**shown, "confidence": found.confidence, "differences": rows,
                "out": str(out) if out else None}, lines)  # fmt: skip


_PAIRED = ("a", "b", "estimate", "normal_lower", "normal_upper")


def _paired(confidence: float) -> str:
    return (
        "Means and differences are exact for these rankings; one is called higher where it is so in every order of "
        f"tied items. The normal interval (paired differences, {confidence:g}) is about many more rankings, if these "
        "were drawn at random from them: an approximation."
    )
