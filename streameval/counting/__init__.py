"""Exact evaluation: from a list whose every item has a label to its sums, and to lookups in it.

`in_stored_order` sums a list that is stored in its order; `by_score` one that is ordered by a score, wherever its rows
lie: it counts labels per score (`counters`, `piled_words`), or orders them (`ordered_words`).
`block_sums` and `label_counts` are what they keep of it, `totals` the sums of the whole list; `lookups` answers
questions about places in it. `scans` are the jobs that an engine runs over labelled rows. Of a list that is a sample,
`influence` sums what each row adds to its metrics, by a hash of what was drawn. `calibration` sums what scores that
may be probabilities say against labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pyarrow as pa

from streameval.counting.calibration import ScoreLosses
from streameval.counting.lookups import Kept, ReadGroups
from streameval.counting.totals import Totals
from streameval.typing import UInt64Array


@dataclass(frozen=True)
class Summed:
    """A fully labelled list, summed.

    Attributes:
        read_groups (callable(block) -> BlockGroups): The groups of tied items that begin in a block.
        how: How the list was read, for people.
        stored: Whether its stored order is that of the ranks.
        scores: `rank`, `score` at the cutoffs, where the order has scores.
        score_at (callable(rank) -> float, or None): Score at a rank; None where the order has no scores.
        kept: What look-ups in many blocks read.
        threads: Readers at work at once.
        score_losses: Of the whole list, where all scores lie in [0, 1].
    """

    totals: Totals = field(repr=False)
    read_groups: ReadGroups = field(repr=False)
    how: str
    stored: bool
    scores: pa.Table | None = field(default=None, repr=False)
    score_at: Callable[[int], float] | None = None
    kept: Kept | None = field(default=None, repr=False)
    threads: int = 1
    score_losses: ScoreLosses | None = field(default=None, repr=False)

    def with_hashes(self, hashes: UInt64Array) -> Summed:
        """Give the same of a sample whose rows' hashes were summed before they were ordered."""
        if (influence := self.totals.influence) is None:
            return self
        return replace(self, totals=replace(self.totals, influence=replace(influence, hashes=hashes)))
