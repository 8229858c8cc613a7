"""Groups of tied items in order, kept while their blocks are summed: a byte or two for each number, of most lists."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from streameval.counting.block_groups import BlockGroups, TiedRows
from streameval.counting.kept_bits import LookUp
from streameval.kernels.groups import of_numbers
from streameval.kernels.interpolated import best_of_groups
from streameval.stores.scratch import ScratchFile, Spill
from streameval.typing import AnyArray

_HELD = 1 << 24  # bytes in memory


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
        return TiedRows.of(of_numbers(numbers), (0, numbers.shape[1]), numbers.shape[1])

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
