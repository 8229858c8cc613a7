"""Groups of tied items in order, kept while their blocks are summed: a byte or two for each number, of most lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.counting.block_groups import BlockGroups, TiedRows
from streameval.counting.block_sums import before_each
from streameval.counting.label_counts import TiedGroups
from streameval.stores.scratch import ScratchFile, Spill
from streameval.typing import AnyArray

_HELD = 1 << 24  # bytes in memory


class KeptGroups:
    """Groups of blocks in order: in memory while they are few, else in a file."""

    def __init__(self, file: ScratchFile) -> None:
        self._spill, self._kept = Spill(file, _HELD), list[tuple[int, int, np.dtype[Any]]]()

    def keep(self, packed: AnyArray) -> None:
        """Keep those of the next block, of `packed_groups`."""
        self._kept.append((self._spill.keep(packed.data), packed.nbytes, packed.dtype))

    def groups(self, block: int) -> BlockGroups:
        """Groups of a block."""
        number, size, kind = self._kept[block]
        sizes, positives = np.frombuffer(self._spill.read(number, 0, size), kind).reshape(2, -1)
        return TiedRows(before_each(sizes), before_each(positives))


def packed_groups(groups: TiedGroups) -> AnyArray:
    """Sizes and positives of groups, shape (2, groups), in as few bytes as they fit in."""
    sizes = np.diff(groups.starts)
    packed = np.empty((2, sizes.size), np.min_scalar_type(int(sizes.max(initial=0))))
    packed[0] = sizes
    np.subtract(groups.founds[1:], groups.founds[:-1], out=packed[1], casting="unsafe")
    return packed
