"""Keys of the rows in the tops of one table, as hashes that wait in a file, parted by hash."""

from __future__ import annotations

import numpy as np

from streameval.kernels.parting import parts_of
from streameval.paired_draws.top_rows import TopRows, second_hashes
from streameval.spill.store import PartedSpill, Spill
from streameval.typing import AnyArray, Int64Array, UInt64Array

_SALT = np.uint64(0)
_LEAST_ROWS, _MOST_PARTS = 1 << 20, 1 << 10
Hashes = tuple[UInt64Array, UInt64Array, Int64Array]  # tie hash, another hash, and code


def parts_for(rows: int) -> int:
    """How many parts, a power of two, to make of the rows of both tables: each is held in memory at once."""
    return 1 << min(max(0, rows // _LEAST_ROWS), _MOST_PARTS - 1).bit_length()


def hashes_of(rows: TopRows, m: int) -> dict[str, AnyArray]:
    """128 bits that tell the key of each row, and a code: its first cutoff, of 0..m-1, plus m where it is predicted."""
    code = rows.first[0] + m * rows.predicted
    return {"low": rows.hash, "high": second_hashes(rows.keys), "code": code.astype(np.min_scalar_type(2 * m - 1))}


class KeySpill:
    """The keys of one table.

    Args:
        spill: Where they wait; it may be that of another table too.
        parts: A power of two.
    """

    def __init__(self, spill: Spill, parts: int) -> None:
        self.parts, self._spill = parts, PartedSpill(spill, parts)

    def add(self, hashes: dict[str, AnyArray]) -> None:
        """Keep what `hashes_of` says of some rows, from any thread."""
        place, edges = np.empty(hashes["low"].size, np.int32), np.zeros(self.parts + 1, np.int64)
        parts_of(hashes["low"], _SALT, 0, place, edges)
        columns = {}
        for name, values in hashes.items():
            parted = np.empty_like(values)
            parted[place] = values
            columns[name] = parted, edges
        self._spill.add(edges, columns)

    def part(self, part: int) -> Hashes:
        """What was kept of one part, in any order."""
        pieces = list(self._spill.pieces(part))
        low, high, code = (np.concatenate([*(read(name) for read in pieces), np.empty(0, kind)])
                           for name, kind in (("low", np.uint64), ("high", np.uint64), ("code", np.uint8)))  # fmt: skip
        return low, high, code.astype(np.int64)
