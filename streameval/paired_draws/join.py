"""Join the tops of two tables by the hashes of their keys, which wait in a file, part by part."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streameval.kernels.jit import small
from streameval.kernels.parting import gather, parts_of
from streameval.paired_draws.kept import KeptColumns, joined, some
from streameval.paired_draws.rates import CutoffRates
from streameval.paired_draws.tally import CutoffCounts
from streameval.paired_draws.top_rows import TopRows, draws_of, second_hashes
from streameval.spill.store import PartedSpill, Spill
from streameval.typing import AnyArray, Int32Array, Int64Array, UInt64Array

_MOST_NAMED = 1 << 16  # hashes of keys that are refused: some of them are looked for in the tables
_SALT = np.uint64(0)
_LEAST_ROWS, _MOST_BITS = 1 << 20, 10
Hashes = tuple[UInt64Array, UInt64Array, Int64Array]  # tie hash, another hash, and code


def part_bits(rows: int) -> int:
    """Bits that tell apart the parts to make of the rows of both tables: each part is held in memory at once."""
    return min((rows // _LEAST_ROWS).bit_length(), _MOST_BITS)


def hashes_of(rows: TopRows, m: int) -> dict[str, AnyArray]:
    """128 bits that tell the key of each row, and a code: its first cutoff, of 0..m-1, plus m where it is predicted."""
    code = rows.first[0] + m * rows.predicted
    return {"low": rows.hash, "high": second_hashes(rows.keys), "code": code.astype(np.min_scalar_type(2 * m - 1))}


class KeySpill:
    """Keys of the rows in the tops of one table, as hashes in 2^bits parts.

    Args:
        spill: Where they wait; it may be that of another table too.
    """

    def __init__(self, spill: Spill, bits: int) -> None:
        self.bits, self._spill = bits, PartedSpill(spill, 1 << bits)

    def add(self, hashes: dict[str, AnyArray]) -> None:
        """Keep what `hashes_of` says of some rows, from any thread."""
        part = np.empty(hashes["low"].size, np.int32)
        with small(part.size):
            parts_of(hashes["low"], _SALT, 0, self.bits, part)
        self._spill.add_rows(part, hashes)

    def part(self, part: int) -> Hashes:
        """What was kept of one part, in any order."""
        rows = self._spill.whole(part)
        return rows.column("low"), rows.column("high"), rows.column("code").astype(np.int64)


@dataclass
class Joined:
    """What the join has found so far.

    Attributes:
        counts: Of the tally.
        drawn: Columns `u`, `second`, `first 0`, `first 1`, `predicted` of the items that are drawn, in any order.
        shared: Keys in a top of both tables.
        repeated: Tie hashes of keys that stand at several rows, of A and of B; and how many rows those are.
        contradicted: Tie hashes of keys of which the judge says different things in the two tables.
    """

    counts: Int64Array
    drawn: list[KeptColumns] = field(default_factory=list)
    shared: int = 0
    repeated: tuple[list[UInt64Array], list[UInt64Array]] = field(default_factory=lambda: ([], []))
    contradicted: list[UInt64Array] = field(default_factory=list)

    def columns(self) -> KeptColumns:
        """Columns of the items that are drawn, in the order of their hashes."""
        columns = joined(self.drawn)
        return some(columns, np.lexsort([columns["second"], columns["u"]]))


def join(a: KeySpill, b: KeySpill, tally: CutoffCounts, rates: CutoffRates, seed: int) -> Joined:
    """Count the items of both tables by their first cutoffs, and take those that are drawn."""
    found = Joined(tally.zero())
    for part in range(1 << a.bits):
        _join_part(found, (a.part(part), b.part(part)), tally, rates, seed)
    return found


def _join_part(found: Joined, sides: tuple[Hashes, Hashes], tally: CutoffCounts, rates: CutoffRates, seed: int) -> None:
    low, high = (np.concatenate([side[i] for side in sides]) for i in (0, 1))
    which, at = np.empty(low.size, np.int32), np.empty(low.size, np.int32)
    items = gather(low, high, 0, which, at)
    low, high = low[at[:items]], high[at[:items]]
    split = sides[0][0].size
    # code of each item in each table: -1 where it is in no top of it
    codes = [
        _codes(some_of, side[2], items) for some_of, side in zip((which[:split], which[split:]), sides, strict=True)
    ]
    for where, of, repeated in zip(codes, (which[:split], which[split:]), found.repeated, strict=True):
        if of.size > np.count_nonzero(where >= 0):
            repeated.append(low[np.bincount(of, minlength=items) > 1][:_MOST_NAMED])
    inside = [code >= 0 for code in codes]
    m = tally.cutoffs
    first = [np.where(one, code % m, m) for one, code in zip(inside, codes, strict=True)]
    says = [np.where(one, code // m, -1) for one, code in zip(inside, codes, strict=True)]
    both = inside[0] & inside[1]
    found.shared += int(np.count_nonzero(both))
    found.contradicted.append(low[both & (says[0] != says[1])][:_MOST_NAMED])
    predicted = np.maximum(*says)
    found.counts += tally.count(first[0], first[1], predicted)
    u = draws_of(low, seed)
    drawn = rates.drawn(u, first[0], first[1])
    columns = {"u": u, "second": high, "first 0": first[0], "first 1": first[1], "predicted": predicted}
    found.drawn.append(some(columns, drawn))


def _codes(which: Int32Array, code: Int64Array, items: int) -> Int64Array:
    out = np.full(items, -1, np.int64)
    out[which] = code
    return out
