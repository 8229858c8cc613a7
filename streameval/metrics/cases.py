"""Scored cases: kept as they come, and ranked."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Literal

import numpy as np
import numpy.typing as npt

from streameval.counting.block_groups import BlockGroups, TiedRows
from streameval.counting.block_sums import before_each, sum_groups
from streameval.counting.lookups import Places
from streameval.counting.totals import fold
from streameval.errors import InputError
from streameval.typing import AnyArray, Int64Array

_NO_CUTS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Ranked:
    """Cases as groups, best first: tied ones together, or each alone in the order that they came in.

    Attributes:
        score: array, shape (groups,).
        ranks, found (int64 arrays, of weights float64, shape (groups,)): Cases, and positives, up to the end of each
            group.
    """

    score: AnyArray
    ranks: AnyArray = field(repr=False)
    found: AnyArray = field(repr=False)

    @cached_property
    def places(self) -> Places:
        """Sums and look-ups."""
        sizes, positives = (np.diff(counts, prepend=0) for counts in (self.ranks, self.found))
        totals = fold(sum_groups(sizes, positives, _NO_CUTS), _NO_CUTS)
        starts = self.ranks - sizes

        def look(block: int) -> BlockGroups:
            first, last = np.searchsorted(starts, totals.start[block : block + 2])
            return TiedRows(before_each(sizes[first:last]), before_each(positives[first:last]))

        return Places(totals, look)

    @cached_property
    def steps(self) -> tuple[Int64Array, Int64Array, AnyArray]:
        """Positives, cases and score at the end of each group that holds a positive."""
        hits = np.flatnonzero(np.diff(self.found, prepend=0))
        return self.found[hits], self.ranks[hits], self.score[hits]


class Cases:
    """Labels and scores, nine bytes a case."""

    def __init__(self) -> None:
        self._label = bytearray()
        self._score = array("d")
        self.positives = 0

    def __len__(self) -> int:
        return len(self._score)

    def add(self, positive: bool, score: float) -> None:
        """Keep one case; InputError, and nothing is kept, where it is none."""
        if not isinstance(positive, (bool, int, np.bool_, np.integer)) or positive not in (0, 1):
            raise InputError(f"positive={positive!r}", "it is True or False, or 1 or 0")
        try:
            number = float(score) if isinstance(score, Real) else math.nan
        except OverflowError:
            raise InputError("the score is too large for a float64") from None
        if math.isnan(number):
            raise InputError(f"score={score!r}", "every case needs a number; infinities are numbers")
        self._label.append(int(positive))
        self._score.append(number)
        self.positives += int(positive)

    def extend(self, positive: npt.ArrayLike, score: npt.ArrayLike) -> None:
        """Keep many cases; InputError, and nothing is kept, where one is none."""
        labels, score_values = np.asarray(positive), np.asarray(score)
        if labels.ndim != 1 or labels.shape != score_values.shape:
            raise InputError(
                f"positive has shape {labels.shape}, score {score_values.shape}", "give two rows of equal length"
            )
        if not labels.size:
            return
        odd = (labels != 0) & (labels != 1)
        if np.any(odd):
            raise InputError(f"positive[{int(np.argmax(odd)):,}] is {labels[np.argmax(odd)]}, not 0 or 1")
        if score_values.dtype.kind not in "biuf":
            raise InputError(f"score has type {score_values.dtype}", "every case needs a number")
        scores = score_values.astype(np.float64)
        if np.isnan(scores).any():
            raise InputError(f"score[{int(np.argmax(np.isnan(scores))):,}] is NaN", "every case needs a score")
        self._label += labels.astype(np.uint8).tobytes()
        self._score.frombytes(scores.tobytes())
        self.positives += int(np.count_nonzero(labels))

    def ranked(self, ties: Literal["grouped", "first come"]) -> Ranked:
        """Rank by score, the largest first: tied cases together, or each alone as it came."""
        return rank_cases(np.array(self._label, dtype=np.uint8), np.array(self._score), ties)


def rank_cases(labels: AnyArray, scores: AnyArray, ties: Literal["grouped", "first come"] = "grouped") -> Ranked:
    """Rank cases of which every one has a label and a score; see `Cases.ranked`."""
    order = scores.size - 1 - np.argsort(scores[::-1], kind="stable")[::-1]  # unsigned scores have no negatives
    scores, labels = scores[order], labels[order]
    new = scores[1:] != scores[:-1] if ties == "grouped" else np.ones(max(0, scores.size - 1), np.bool_)
    last = np.flatnonzero(np.append(new, True)[: scores.size])
    return Ranked(scores[last], last + 1, np.cumsum(labels, dtype=np.int64)[last])
