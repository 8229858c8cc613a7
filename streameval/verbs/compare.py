"""Compare: two studies by what they hold, with bounds on every difference at one joint confidence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from streameval.errors import InputError
from streameval.kinds import answering
from streameval.study import Study

if TYPE_CHECKING:
    from streameval.kinds.curve.comparison import Comparison
    from streameval.kinds.rankings.comparison import RankingsComparison


def compare(
    a: str | os.PathLike[str], b: str | os.PathLike[str], *, confidence: float = 0.95
) -> Comparison | RankingsComparison:
    """Compare two evaluated studies or exact results, of the same items or not; or two results of many rankings.

    Each side's curve is computed anew at 1 − δ/2 (1 − δ where the other promises nothing by chance, or is exact), so
    that with probability ≥ 1 − δ the bounds of both hold, whatever one draw or list has to do with the other. Two
    orders of the same items, judged alike, have the same number of positives, on which the bounds of both are brought
    to bear.

    Results of many rankings are compared on the rankings that both have, one by one (`RankingsComparison`).

    Args:
        confidence: 1 − δ, in (0, 1).

    Raises:
        InputError: A confidence outside (0, 1), or a study compared with itself.
        StudyError: No results, or those of a study that has grown since.
    """
    if not 0 < confidence < 1:
        raise InputError(f"--confidence is {confidence}, outside (0, 1)", "0.95 is usual")
    if Path(a).resolve() == Path(b).resolve():
        raise InputError(f"{a} would be compared with itself", "give two studies")
    kinds = [answering(path, "compare") for path in (a, b)]
    if kinds[0].compared_in != kinds[1].compared_in:
        for kind, path in zip(kinds, (a, b), strict=True):
            kind.read(Study(Path(path)))  # which says what is wrong with it, if anything is
        raise InputError(f"{a} is {kinds[0].about}, and {b} is {kinds[1].about}", "compare like with like")
    difference: Comparison | RankingsComparison = kinds[0].comparison.compare(Path(a), Path(b), confidence)
    return difference
