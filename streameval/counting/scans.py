"""Scans of a fully labelled list: sums of its blocks where it is stored in its order, labels per score where not.

A scan makes a partial of some row groups, and partials of all of them become one: `threads` makes them in this process,
`remote.labelled_jobs` on other machines. `in_stored_order` and `by_score` decide which scans are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from streameval.counting.block_sums import BlockSums
from streameval.counting.counters import Cells
from streameval.counting.label_counts import KeyCounts
from streameval.counting.labelled_rows import LabelledRows
from streameval.progress import Progress
from streameval.typing import AnyArray, Int64Array, UInt8Array, UInt64Array


class PackedRows(Protocol):
    """Some rows as words, range by range."""

    def packed(self) -> bytes:
        """All numbers as they are."""


class Ranges(Protocol):
    """Ranges of keys."""

    @property
    def word(self) -> np.dtype[Any]:
        """Type of words."""

    @property
    def keys(self) -> str:
        """What it parts: "whole" keys only, or "words" as well (`LabelledRows.words`)."""

    def split(self, keys: UInt64Array, labels: UInt8Array) -> PackedRows:
        """Part some rows."""

    def unpacked(self, payload: bytes) -> Any:
        """What was packed."""


class WordReceiver(Protocol):
    """Receives the words of all rows: `parted_words` sorts them, `piled_words` counts them."""

    @property
    def ranges(self) -> Any:
        """The `Ranges`."""

    def take(self, keys: AnyArray, labels: UInt8Array) -> None:
        """Part some rows and keep them, from any thread and in any order."""

    def add(self, rows: Any) -> None:
        """Keep rows that were parted."""


class LabelledScans(Protocol):
    """What runs scans of a labelled list; no result depends on it."""

    @property
    def rows(self) -> LabelledRows:
        """The list."""

    @property
    def threads(self) -> int:
        """Readers at work at once on this machine."""

    def parts(self, cutoffs: Int64Array, progress: Progress) -> Iterator[tuple[BlockSums, UInt64Array | None]]:
        """Sum the list in its stored order: the sums of each block, and the order keys at the cutoffs in it.

        Raises `UnorderedError` where that is not the order of the scores, `InputError` for a label or score that cannot
        be used.
        """

    def dense(self, cells: Cells, progress: Progress) -> KeyCounts:
        """Count labels per key; keys outside the cells are passed over."""

    def part(self, parted: WordReceiver, memory: float, progress: Progress) -> None:
        """Part all rows as words; where others read them, no more come back at once than `memory` bytes hold."""
