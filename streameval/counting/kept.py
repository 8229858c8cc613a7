"""The labels of a list in its order, kept while its blocks are summed: as bits, or as the groups of items that tie.

Look-ups need the rows of a block again, and interpolated precision those of every block: to decode them twice would
take as long as all the rest. Bits take one an item, two where items may tie; groups a byte or two for each number, of
most lists.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from streameval.counting.block_groups import BlockGroups, TiedRows, UntiedRows
from streameval.counting.block_sums import BlockSums
from streameval.kernels.bits import count_bits
from streameval.kernels.groups import of_bits, of_numbers
from streameval.kernels.influence import BINS
from streameval.kernels.interpolated import best_of_groups, best_of_labels
from streameval.kernels.jit import small
from streameval.spill.store import ScratchFile, Spill
from streameval.typing import AnyArray, Int64Array, UInt64Array

_HELD = 1 << 24  # bytes in memory
# sums some rows (`streameval.kernels.interpolated`): ranks and positives before them, 1 if tied positives come late,
# and the highest precision after them
LookUp = Callable[[tuple[int, int], int, float], tuple[int, int]]


class KeptBits:
    """Bits of blocks in order: in memory while they are few, else in a file; `threads` may look into them at once."""

    def __init__(self, file: ScratchFile, threads: int) -> None:
        self.threads, self._spill = threads, Spill(file, _HELD)
        self._ends, self._kept = [0], list[tuple[int, int, int]]()
        self._counts = list[tuple[int, int]]()

    def keep(self, part: BlockSums) -> None:
        """Keep those of the next block."""
        sets = [bits for bits in part.bits or () if bits is not None]
        both = np.concatenate(sets)
        self._kept.append((self._spill.keep(both.data), len(sets), both.nbytes))
        self._ends.append(self._ends[-1] + part.size)
        if part.influence is not None:
            counts = part.influence.rows.astype(np.uint32)  # a block has no more than 2^20 rows
            self._counts.append((self._spill.keep(counts.data), counts.nbytes))

    def counts_by_bin(self, rank: int) -> tuple[int, Int64Array]:
        """Count the rows of a sample, and positives, by bin, in the blocks before that of a rank.

        Returns:
            rows, counts: How many rows these blocks have; int64 array, shape (2, BINS).
        """
        block = bisect_right(self._ends, rank - 1) - 1
        counts: Int64Array = np.zeros((2, BINS), np.int64)
        for number, size in self._counts[:block]:
            counts += np.frombuffer(self._spill.read(number, 0, size), np.uint32).reshape(2, BINS)
        return self._ends[block], counts

    def groups(self, first: int, last: int) -> BlockGroups:
        """Groups of the rows after rank `first`, up to `last`.

        The rows are of one block; before this thread looks at others.
        """
        labels, repeats, rows = self._read(first, last)
        if repeats is not None:
            return TiedRows.from_rows(of_bits(labels, repeats), rows, last - first)
        return UntiedRows(labels, rows[0], last - first)

    def look(self, _: int, first: int, last: int) -> LookUp:
        """Give the same rows, to be summed; before this thread looks at others."""
        labels, repeats, rows = self._read(first, last)
        if repeats is not None:
            return partial(best_of_groups, of_bits(labels, repeats), rows, (last - first, count_bits(labels, *rows)))
        return partial(_best_of_labels, labels, rows)

    def _read(self, first: int, last: int) -> tuple[UInt64Array, UInt64Array | None, tuple[int, int]]:
        """Labels; repeats, None where nothing ties; and which of the bits are the rows."""
        block = bisect_right(self._ends, first) - 1
        number, sets, size = self._kept[block]
        bits = np.empty((sets, size // 8 // sets), np.uint64)  # writable, as compiled code expects arrays to be
        bits.view(np.uint8).ravel()[:] = np.frombuffer(self._spill.read(number, 0, size), np.uint8)
        begin, end = first - self._ends[block], last - self._ends[block]
        return bits[0], bits[1] if sets > 1 and count_bits(bits[1], begin, end) else None, (begin, end)


def _best_of_labels(
    labels: UInt64Array, rows: tuple[int, int], before: tuple[int, int], late: int, best: float
) -> tuple[int, int]:
    with small(rows[1] - rows[0]):
        return best_of_labels(labels, rows, before, best)


class KeptGroups:
    """Groups of blocks in order: in memory while they are few, else in a file."""

    def __init__(self, file: ScratchFile) -> None:
        self._spill, self._kept = Spill(file, _HELD), list[tuple[int, int, np.dtype[Any]]]()

    def keep(self, numbers: AnyArray) -> None:
        """Keep those of the next block: sizes and positives, shape (2, groups)."""
        self._kept.append((self._spill.keep(numbers.data), numbers.nbytes, numbers.dtype))

    def groups(self, block: int) -> BlockGroups:
        """Groups of a block."""
        numbers = self._read(block)
        return TiedRows.from_rows(of_numbers(numbers), (0, numbers.shape[1]), numbers.shape[1])

    def look(self, block: int, first: int, last: int) -> LookUp:
        """See `streameval.counting.lookups.Kept`."""
        numbers = self._read(block)
        positives = int(numbers[1, :-1].sum(dtype=np.int64))
        return partial(best_of_groups, of_numbers(numbers), (0, numbers.shape[1] - 1), (last - first, positives))

    def _read(self, block: int) -> AnyArray:
        number, size, kind = self._kept[block]
        numbers: AnyArray = np.empty(size, np.uint8)  # writable, as compiled code expects arrays to be
        numbers[:] = np.frombuffer(self._spill.read(number, 0, size), np.uint8)
        return numbers.view(kind).reshape(2, -1)
