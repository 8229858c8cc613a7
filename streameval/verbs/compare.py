"""Compare: two studies by what they hold, with bounds on every difference at one joint confidence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from streameval.errors import InputError
from streameval.kinds import answering, results_of
from streameval.options import takes
from streameval.printed import Event, Printed
from streameval.reporting.simulation import kind_of as kind_of_picture
from streameval.stores.atomic import Existing, refuse_needless
from streameval.study import Study

if TYPE_CHECKING:
    from streameval.kinds.curve.comparison import Comparison
    from streameval.kinds.rankings.comparison import RankingsComparison


@takes()
def compare(
    a: str | os.PathLike[str],
    b: str | os.PathLike[str],
    *,
    confidence: float = 0.95,
    out: str | os.PathLike[str] | None = None,
    plot: str | os.PathLike[str] | None = None,
    existing: Existing = "kept",
) -> Comparison | RankingsComparison:
    """Compare two results.

    Of two evaluated studies, or of `exact`: every difference with bounds, and whether it is established.

    Of two results of many rankings (exact --per): the means of the differences on the rankings that both have.

    Example: streameval compare old-model new-model --plot both.html

    Args:
        a: Folder of a study, or of what exact wrote.
        b: Folder of the study, or of the exact results, to compare it with. In Python too, they need not be of the
            same items.
        confidence: Probability that all bounds hold together. In Python 1 − δ, in (0, 1).
        out: Folder for curves.parquet and differences.parquet; of many rankings for differences.parquet alone.
        plot: Picture of both curves and of their difference, or of the mean differences of many rankings (.svg, .png),
            or a report with the numbers too (.html).
        existing: Replace files that are there and differ. In Python "replaced".

    Returns:
        Comparison: Each side's curve is computed anew at 1 − δ/2 (1 − δ where the other promises nothing by chance, or
            is exact), so that with probability ≥ 1 − δ the bounds of both hold, whatever one draw or list has to do
            with the other. Two orders of the same items, judged alike, have the same number of positives, on which the
            bounds of both are brought to bear.
        RankingsComparison: Of results of many rankings: on those that both have, one by one.

    Raises:
        InputError: A confidence outside (0, 1), a study compared with itself, a picture of another ending, or a file
            that stands there and differs.
        StudyError: No results, or those of a study that has grown since.
    """
    refuse_needless(existing, out=out, plot=plot)
    if not 0 < confidence < 1:
        raise InputError(f"--confidence is {confidence}, outside (0, 1)", "0.95 is usual")
    if plot is not None:
        kind_of_picture(plot)  # refused before the work, not after
    if Path(a).resolve() == Path(b).resolve():
        raise InputError(f"{a} would be compared with itself", "give two studies")
    kinds = [answering(path, "compare") for path in (a, b)]
    if kinds[0].compared is not kinds[1].compared:
        for path in (a, b):
            results_of(Study(Path(path)))  # which says what is wrong with it, if anything is
        raise InputError(f"{a} is {kinds[0].about}, and {b} is {kinds[1].about}", "compare like with like")
    compared = kinds[0].compared
    difference = compared.compare(Path(a), Path(b), confidence)
    compared.save(difference, None if out is None else Path(out), None if plot is None else Path(plot), existing)
    return cast("Comparison | RankingsComparison", difference)


def printed(difference: Any, a: Path, b: Path, out: Path | None, plot: Path | None, **_: Any) -> Printed:
    """Print every difference."""
    facts, lines = answering(a, "compare").compared.says(difference)
    logged = {"a": str(a), "b": str(b), "coverage": facts.get("claim", {}).get("coverage", "exact")}
    places = {"out": str(out) if out else None, "plot": str(plot) if plot else None}
    return Printed({**facts, **places}, lines, events=[Event("compare", logged)])
