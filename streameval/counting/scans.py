"""Scans of a fully labelled list: sums of its blocks where it is stored in its order, labels per score where not.

A scan makes a partial of some row groups, and partials of all of them become one: `threads` makes them in this process,
`remote.labelled_jobs` on other machines. `in_stored_order` and `by_score` decide which scans are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from streameval.counting.block_sums import BlockSums
from streameval.counting.counters import Cells, KeyBins
from streameval.counting.label_counts import BinCounts, KeyCounts
from streameval.counting.labelled_rows import LabelledRows
from streameval.counting.parted_words import Parted
from streameval.progress import Progress
from streameval.typing import Int64Array, UInt64Array


class LabelledScans(Protocol):
    """What runs scans of a labelled list; no result depends on it."""

    @property
    def rows(self) -> LabelledRows:
        """The list."""

    @property
    def threads(self) -> int:
        """Readers at work at once on this machine; bins are as many as this many can count apart."""

    def parts(self, cutoffs: Int64Array, progress: Progress) -> Iterator[tuple[BlockSums, UInt64Array | None]]:
        """Sum the list in its stored order: the sums of each block, and the order keys at the cutoffs in it.

        Raises `UnorderedError` where that is not the order of the scores, `InputError` for a label or score that cannot
        be used.
        """

    def span(self) -> tuple[int, int]:
        """Smallest and largest order key."""

    def dense(self, cells: Cells, progress: Progress) -> KeyCounts:
        """Count labels per key; keys outside the cells are passed over."""

    def bins(self, key_bins: KeyBins, progress: Progress) -> BinCounts:
        """Count labels per bin, and the smallest and largest key in each."""

    def part(self, parted: Parted, memory: float, progress: Progress) -> None:
        """Part all rows as words; where others read them, no more come back at once than `memory` bytes hold."""
