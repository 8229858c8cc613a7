"""Cut: the items above a cutoff that the labels prove, as Parquet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from streameval.errors import InputError, check_misses
from streameval.kinds import answering
from streameval.questions.cutoffs import Cutoff
from streameval.study import Study
from streameval.study.cut_files import Cut


def cut(
    study: str | os.PathLike[str],
    cutoff: str | int | Cutoff,
    *,
    misses: int | None = None,
    misses_from: str | os.PathLike[str] | None = None,
    ranking: Any = None,
    apply: Any = None,
) -> Cut:
    """Find a cutoff that an evaluated study proves: the deepest of a precision, the first of a recall, or a given one.

    Args:
        cutoff: `precision:0.9`: the largest rank whose precision has a lower bound of at least this, compared exactly
            with the decimal as typed. It holds with what the curve claims, at whatever rank it is found, because that
            claim is about all ranks at once. `recall:0.5`: the smallest rank whose recall is at least this for every
            list that the bounds allow. `10000` or `1%`: this rank. `score:0.7`: every item of this score or better;
            they are counted, by one scan of the scores. `max_f1`, or `max_f` and another β: the rank whose proven F_β
            is the largest.
        misses, misses_from: Positives that the ranking never returned, or an evaluated study of all that it never
            returned; by default what `evaluate` was given.
        ranking: The ranking that was planned, where it lies in memory.
        apply: Another list with the same score: the cut is then of its items that score at least as well as the last
            one above the cutoff. Nothing is proven of them; `Cut.proof` is what holds of the items of that score or
            better in the study's own list, ties of it included.

    Returns:
        Cut: There is no `out` here: `Cut.write` writes its items to a folder, in an `order`.

    Raises:
        InputError: No cutoff; one that no rank is proven to reach (says what is); a list that a threshold cannot be
            applied to.
        StudyError: No results; bounds that prove nothing; a ranking that is not the planned one.
    """
    target = Cutoff.of(cutoff)
    if target.kind == "recall" and not target.value:
        raise InputError(f"a cut at {cutoff} holds no item", "name a recall in (0, 1], such as recall:0.9")
    given = {"misses": None if misses is None else check_misses(misses), "misses_from": misses_from, "apply": apply}
    named = {name: value for name, value in given.items() if value is not None}
    return answering(study, "cut").cut(Study(Path(study)), target, ranking, named)
