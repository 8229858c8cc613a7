"""From a list whose every item has a label to its sums, and to what they are looked up in.

`streamed` reads a list that is stored in its order, `scored` one that is ordered by a score wherever its rows lie.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from streameval.counting.lookups import Look
from streameval.counting.totals import Totals


@dataclass(frozen=True)
class Summed:
    """A fully labelled list.

    Attributes
    ----------
    look : Look
        Groups of tied items that begin in a block.
    how : str
        Which way it was read, for people.
    stored : bool
        Whether its stored order is that of the ranks.
    scores : pyarrow.Table or None
        `rank`, `score` at the cutoffs, where the order has scores; null where only bins of scores are known.
    score_at : callable(rank) -> float, or None
    unresolved : Unresolved or None
        What bins leave open; None where every tie is known.
    """

    totals: Totals = field(repr=False)
    look: Look = field(repr=False)
    how: str
    stored: bool
    scores: pa.Table | None = field(default=None, repr=False)
    score_at: Callable[[int], float] | None = None
    unresolved: Unresolved | None = None


@dataclass(frozen=True)
class Unresolved:
    """What bins of scores leave open beyond ties.

    Attributes
    ----------
    average_precision, roc_auc : float
        Width of the brackets.
    grouped : pair of float
        Least and most that the sum of precisions can be where tied items count as one.
    ties : bool
        Whether items are known to tie, positives with negatives, in bins of a single score.
    """

    average_precision: float
    roc_auc: float
    grouped: tuple[float, float]
    ties: bool

    @property
    def wide(self) -> bool:
        """Whether any bracket is wider than a point."""
        return max(self.average_precision, self.roc_auc, self.grouped[1] - self.grouped[0]) > 0
