"""Compare: studies by what they hold, with bounds on every difference at one joint confidence."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from streameval.errors import InputError
from streameval.kinds import answering, kind_named, results_of
from streameval.options import takes
from streameval.printed import Event, Printed
from streameval.reporting.simulation import kind_of as kind_of_picture
from streameval.stores.atomic import Existing, refuse_needless
from streameval.study import Study

if TYPE_CHECKING:
    from streameval.kinds import Kind
    from streameval.kinds.curve.comparison import Comparison
    from streameval.kinds.labelled_list.comparison import SamplesComparison
    from streameval.kinds.rankings.comparison import RankingsComparison


@takes()
def compare(
    a: str | os.PathLike[str],
    b: str | os.PathLike[str],
    *others: str | os.PathLike[str],
    confidence: float = 0.95,
    out: str | os.PathLike[str] | None = None,
    plot: str | os.PathLike[str] | None = None,
    existing: Existing = "kept",
) -> Comparison | RankingsComparison | SamplesComparison:
    """Compare results.

    Of two evaluated studies, or of `exact`: every difference with bounds, and whether it is established.

    Of samples of the same draws (exact --sample-of), two or more: every difference with a paired interval.

    Of two results of many rankings (exact --per): the means of the differences on the rankings that both have.

    Example: streameval compare old-model new-model --plot both.html
    Example: streameval compare model-a model-b model-c

    Args:
        a: Folder of a study, or of what exact wrote.
        b: Folder of the study, or of the exact results, to compare it with. In Python too, they need not be of the
            same items.
        others: More results of exact --sample-of, of the same draws.
        confidence: Probability that all bounds hold together; of samples, that an interval does, approximately. In
            Python 1 − δ, in (0, 1).
        out: Folder for curves.parquet and differences.parquet; of samples and of many rankings for differences.parquet
            alone.
        plot: Picture of both curves and of their difference, or of the differences of samples or of many rankings
            (.svg, .png), or a report with the numbers too (.html).
        existing: Replace files that are there and differ. In Python "replaced".

    Returns:
        Comparison: Each side's curve is computed anew at 1 − δ/2 (1 − δ where the other promises nothing by chance, or
            is exact), so that with probability ≥ 1 − δ the bounds of both hold, whatever one draw or list has to do
            with the other. Two orders of the same items, judged alike, have the same number of positives, on which the
            bounds of both are brought to bear.
        RankingsComparison: Of results of many rankings: on those that both have, one by one.
        SamplesComparison: Of samples: the difference of every metric of every pair, with p-values.

    Raises:
        InputError: A confidence outside (0, 1), a study compared with itself, samples of other items or labels, a
            picture of another ending, or a file that stands there and differs.
        StudyError: No results, or those of a study that has grown since.
    """
    refuse_needless(existing, out=out, plot=plot)
    if not 0 < confidence < 1:
        raise InputError(f"--confidence is {confidence}, outside (0, 1)", "0.95 is usual")
    if plot is not None:
        kind_of_picture(plot)  # refused before the work, not after
    paths = [Path(path) for path in (a, b, *others)]
    for at, path in enumerate(paths):
        if path.resolve() in [other.resolve() for other in paths[:at]]:
            raise InputError(f"{path} would be compared with itself", "give two studies")
    compared = _most_general(paths).compared
    difference = cast("Comparison | RankingsComparison | SamplesComparison", compared.compare(paths, confidence))
    kind_named(difference.kind).compared.save(
        difference, None if out is None else Path(out), None if plot is None else Path(plot), existing
    )
    return difference


def _most_general(paths: Sequence[Path]) -> Kind:
    """Give the kind of study that all are of, be it as cases of it."""
    kinds = [answering(path, "compare") for path in paths]
    for kind in kinds:
        if all(isinstance(other, type(kind)) or other.compared is kind.compared for other in kinds):
            return kind
    for path in paths:
        results_of(Study(path))  # which says what is wrong with it, if anything is
    other = next(at for at, kind in enumerate(kinds) if kind.compared is not kinds[0].compared)
    raise InputError(f"{paths[0]} is {kinds[0].about}, and {paths[other]} is {kinds[other].about}",
                     "compare like with like")  # fmt: skip


def printed(
    difference: Any, a: Path, b: Path, others: Sequence[Path], out: Path | None, plot: Path | None, **_: Any
) -> Printed:
    """Print every difference."""
    facts, lines = kind_named(difference.kind).compared.describe(difference)
    logged = {"a": str(a), "b": str(b), **({"others": [str(path) for path in others]} if others else {}),
              "coverage": _coverage(facts.get("claim"))}  # fmt: skip
    places = {"out": str(out) if out else None, "plot": str(plot) if plot else None}
    return Printed({**facts, **places}, lines, events=[Event("compare", logged)])


def _coverage(claim: Any) -> str:
    """Say what bounds promise: means are exact, and intervals of samples only approximate."""
    return claim["coverage"] if isinstance(claim, dict) else "exact" if claim is None else "approximate"
