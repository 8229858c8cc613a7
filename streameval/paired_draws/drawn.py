"""What the scans find: sizes of gains and losses at every cutoff, and the items that were drawn."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from streameval.typing import Int64Array

COUNTS = ("size_a", "size_b", "gains", "losses", "gains_predicted", "losses_predicted")  # of each cutoff


@dataclass(frozen=True)
class DrawnPair:
    """Two rankings at cutoffs j = 0..m-1, and a sample of the items whose side changes at one of them.

    Attributes:
        table: The sample, in the order of `u`, and of another hash of the key where two are equal. `key` (a struct
            where several columns are the key); `first_a`, `first_b`, int32: the first cutoff whose top of A, of B,
            holds the item, m where none does; `u`, uint64: the hash that draws; `position_a`, `position_b`, int64:
            where the item is stored, null where that was not looked for; `predicted`, int8, where there is a judge.
        gains, losses (int64 arrays, shape (m,)): Items that only the top of B, of A, holds.
        gains_predicted, losses_predicted (int64 arrays, shape (m,)): Those of them that the judge takes for positive;
            0 without a judge.
        size_a, size_b (int64 arrays, shape (m,)): Items in each top.
        cells (int64 array, shape (c, m + 1, m + 1), or None): Items by the judge's prediction (c = 2; without one c is
            1), `first_a` and `first_b`; the last cell is 0. None where there are too many cutoffs for it.
    """

    table: pa.Table
    gains: Int64Array
    losses: Int64Array
    gains_predicted: Int64Array
    losses_predicted: Int64Array
    size_a: Int64Array
    size_b: Int64Array
    cells: Int64Array | None
