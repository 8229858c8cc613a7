"""`streameval compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from streameval.cli.options import Switch, existing
from streameval.cli.output import Output, columns

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
        plot: Picture of both curves and of their difference, or of the mean differences of many rankings (.svg, .png),
            or a report with the numbers too (.html).
        overwrite: Replace files that are there and differ.
    """
    from streameval.reporting.comparison import claim_sentence, save_comparison, verdict
    from streameval.reporting.sentences import estimate_sentence
    from streameval.reporting.simulation import kind_of
    from streameval.study.rankings_comparison import RankingsComparison
    from streameval.verbs.compare import compare as verb

    if plot is not None:
        kind_of(plot)  # refused before the work, not after
    found = verb(a, b, confidence=confidence)
    if isinstance(found, RankingsComparison):
        from streameval.reporting.rankings_comparison import save_rankings

        save_rankings(found, out, plot, existing(overwrite))
        _say_rankings(found, (out, plot), output)
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


def _say_rankings(found: RankingsComparison, places: tuple[Path | None, Path | None], output: Output) -> None:
    from streameval.reporting.rankings_comparison import HEAD, cells, meaning, shared

    lines = [f"a: {found.a}", f"b: {found.b}", shared(found), "", *columns(HEAD, cells(found)), "", meaning(found)]
    said = {"a": found.a, "b": found.b, "rankings": found.rankings, "only_a": found.only_a, "only_b": found.only_b,
            "unlike": found.unlike}  # fmt: skip
    out, plot = (str(place) if place else None for place in places)
    output.say({**said, "confidence": found.confidence, "differences": found.differences.to_pylist(), "out": out,
                "plot": plot}, lines)  # fmt: skip
