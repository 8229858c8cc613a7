"""Draw the items with the smallest hashes of each stratum: one scan, whose parts merge.

The hash of a key is the same in every version of a ranking, so an item that was drawn once is likely to be drawn again,
whatever rank it has moved to. For one ranking the draw is uniform without replacement in every stratum, as long as the
order and the truth have nothing to do with the hashes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from streameval.errors import InputError, did_you_mean
from streameval.order.ties import check_key, key_hashes
from streameval.progress import Progress, silent
from streameval.rankings.ranking import Ranking
from streameval.typing import Int64Array

UInt64Array = npt.NDArray[np.uint64]
_BYTES_PER_ITEM = 256  # what finding ranks by score takes; rank, key and hash take less
_LEAST_RUN = 1 << 16  # ranks read at once, however little memory there is


def smallest(hashes: UInt64Array, ranks: Int64Array, count: int) -> tuple[UInt64Array, Int64Array]:
    """Keep the `count` smallest hashes, by rank where they are equal.

    Associative: of parts kept before, the union is kept as if it had been whole.
    """
    if hashes.size > count:
        near = np.flatnonzero(hashes <= np.partition(hashes, count - 1)[count - 1])
        hashes, ranks = hashes[near], ranks[near]
    order = np.lexsort((ranks, hashes))[:count]
    return hashes[order], ranks[order]


class _Scan:
    """Strata that are filled one after another."""

    def __init__(self, ends: Int64Array, n: Int64Array) -> None:
        self.ends, self.n = ends, n
        self.found: list[Int64Array] = []
        self.at = 0
        self.open: tuple[UInt64Array, Int64Array] = (np.empty(0, np.uint64), np.empty(0, np.int64))

    def take(self, hashes: UInt64Array, first: int) -> None:
        """Take the hashes of ranks `first` on, which follow those taken before."""
        last = first + hashes.size - 1
        while self.at < self.ends.size and first <= last:
            end = min(int(self.ends[self.at]), last)
            here = hashes[hashes.size - (last - first + 1) : hashes.size - (last - end)]
            both = (np.concatenate([self.open[0], here]), np.concatenate([self.open[1], np.arange(first, end + 1)]))
            self.open = smallest(*both, int(self.n[self.at]))
            first = end + 1
            if end == self.ends[self.at]:
                self._close()

    def _close(self) -> None:
        hashes, ranks = self.open
        if hashes.size > 1 and np.any(hashes[1:] == hashes[:-1]):
            twice = int(np.argmax(hashes[1:] == hashes[:-1]))
            raise InputError(
                f"the key does not tell items apart: ranks {ranks[twice]:,} and {ranks[twice + 1]:,} have the same",
                "draw by a column that is unique",
            )
        self.found.append(np.sort(ranks))
        self.open = (np.empty(0, np.uint64), np.empty(0, np.int64))
        self.at += 1


def draw_by_key(
    ranking: Ranking,
    strata: tuple[Int64Array, Int64Array],
    key: Sequence[str],
    seed: int,
    memory: float = 2.0,
    progress: Progress = silent,
) -> Int64Array:
    """Draw n_i ranks of each stratum: those whose items have the smallest sampling hashes.

    Parameters
    ----------
    ranking : Ranking
    strata : pair of int64 arrays, shape (k,)
        Last rank of each stratum, and ranks to draw of it.
    key : sequence of str
        Columns that tell items apart.
    seed : int
        The same in every version of the ranking.
    memory : float
        GB; keys are read in runs of ranks that fit. A stored order is read once in all, an order by score once a run.
    progress : callable(done, total), optional

    Returns
    -------
    int64 array, strictly increasing

    Raises
    ------
    InputError
        No such column, one that cannot be hashed, or keys that are null or equal where it was noticed.
    """
    from streameval.kernels.samplehash import sample_hashes

    columns = ranking.columns()
    for name in key:
        if name not in columns:
            raise InputError(f"the ranking has no column '{name}'", did_you_mean(name, columns))
    scan, run = _Scan(*strata), max(_LEAST_RUN, int(memory * 1e9 / _BYTES_PER_ITEM))
    for first in range(1, ranking.n_items + 1, run):
        last = min(ranking.n_items, first + run - 1)
        table = ranking.fetch(np.arange(first, last + 1, dtype=np.int64), list(key)).table
        keys = table.select(list(range(table.num_columns - len(key), table.num_columns)))
        for name, column in zip(key, keys.columns, strict=True):
            check_key(column.type, name)
            if column.null_count:
                raise InputError(f"column '{name}' is null at {column.null_count:,} items: they cannot be told apart")
        scan.take(sample_hashes(key_hashes(keys), np.uint64(seed % 2**64)), first)
        progress(last, ranking.n_items)
    return np.concatenate(scan.found)
