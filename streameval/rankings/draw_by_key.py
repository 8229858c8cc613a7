"""Draw the items with the smallest hashes of each stratum: one scan, whose parts merge.

The hash of a key is the same in every version of a ranking, so an item that was drawn once is likely to be drawn again,
whatever rank it has moved to. For one ranking the draw is uniform without replacement in every stratum, as long as the
order and the truth have nothing to do with the hashes, and no two items share one: so a key that is drawn and stands at
another item too, anywhere in the list, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, did_you_mean
from streameval.order.tie_hashes import check_key, key_hashes
from streameval.progress import Progress, silent
from streameval.rankings.ranking import Ranking
from streameval.text import short
from streameval.typing import Int64Array, UInt64Array

_BYTES_PER_ITEM = 256  # what finding ranks by score takes; rank, key and hash take less
_LEAST_RUN = 1 << 16  # ranks read at once, however little memory there is
_NAMED = 3  # repeated keys that a refusal names


def smallest(hashes: UInt64Array, ranks: Int64Array, count: int) -> tuple[UInt64Array, Int64Array]:
    """Keep the `count` smallest hashes, by rank where they are equal; associative over parts of a list."""
    if hashes.size > count:
        near = np.flatnonzero(hashes <= np.partition(hashes, count - 1)[count - 1])
        hashes, ranks = hashes[near], ranks[near]
    order = np.lexsort((ranks, hashes))[:count]
    return hashes[order], ranks[order]


class _StrataDraw:
    """The draw of strata that follow one another, filled as hashes come in."""

    def __init__(self, ends: Int64Array, n: Int64Array) -> None:
        self.ends, self.n = ends, n
        self.found: list[Int64Array] = []
        self.hashes: list[UInt64Array] = []
        self.at = 0
        self.open: tuple[UInt64Array, Int64Array] = (np.empty(0, np.uint64), np.empty(0, np.int64))

    def take(self, hashes: UInt64Array, first: int) -> None:
        """Add the hashes of ranks from `first` on, which follow those added before."""
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
        self.found.append(np.sort(ranks))
        self.hashes.append(hashes)
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

    Args:
        strata (pair of int64 arrays, shape (k,)): Last rank of each stratum, and ranks to draw from it.
        key: Columns that identify items.
        seed: The same in every version of the ranking.
        memory: GB; keys are read in runs of ranks that fit. A stored order is read once in all, an order by score once
            a run.

    Raises:
        InputError: No such column, one that cannot be hashed, keys that are null, or drawn keys that stand at several
            items.
    """
    columns = ranking.columns()
    for name in key:
        if name not in columns:
            raise InputError(f"the ranking has no column '{name}'", did_you_mean(name, columns))
    scan, run = _StrataDraw(*strata), max(_LEAST_RUN, int(memory * 1e9 / _BYTES_PER_ITEM))
    for first, keys in _runs(ranking, key, run):
        for name, column in zip(key, keys.columns, strict=True):
            check_key(column.type, name)
            if column.null_count:
                raise InputError(f"column '{name}' is null at {column.null_count:,} items: they cannot be told apart")
        scan.take(_hashes(keys, seed), first)
        progress(first + keys.num_rows - 1, ranking.n_items)
    _refuse_repeated(ranking, key, np.concatenate(scan.hashes), seed, run)
    return np.concatenate(scan.found)


def keys_in_order(ranking: Ranking, key: Sequence[str], memory: float = 2.0) -> Iterator[tuple[int, pa.Table]]:
    """Columns of all items in rank order, in runs of ranks that fit into `memory` GB, with the first of these ranks."""
    return _runs(ranking, key, max(_LEAST_RUN, int(memory * 1e9 / _BYTES_PER_ITEM)))


def _runs(ranking: Ranking, key: Sequence[str], run: int) -> Iterator[tuple[int, pa.Table]]:
    """Keys of all items, some ranks at a time, with the first of these ranks."""
    for first in range(1, ranking.n_items + 1, run):
        ranks = np.arange(first, min(ranking.n_items, first + run - 1) + 1, dtype=np.int64)
        yield first, _keys_at(ranking, key, ranks)


def _keys_at(ranking: Ranking, key: Sequence[str], ranks: Int64Array) -> pa.Table:
    table = ranking.fetch(ranks, list(key)).table
    return table.select(list(range(table.num_columns - len(key), table.num_columns)))


def _hashes(keys: pa.Table, seed: int) -> UInt64Array:
    from streameval.kernels.sample_hash import sample_hashes

    return sample_hashes(key_hashes(keys), np.uint64(seed % 2**64))


def _refuse_repeated(ranking: Ranking, key: Sequence[str], drawn: UInt64Array, seed: int, run: int) -> None:
    """Refuse drawn keys that stand at several items: one more scan of the key columns, in stored order.

    Keys of equal hash are taken for equal: of 10⁴ drawn of 2·10⁹, about one plan in a million is refused for nothing.
    """
    stored = Ranking(ranking.rows, ranking.options)
    wanted = np.unique(drawn)
    count, place = np.zeros(wanted.size, np.int64), np.full(wanted.size, stored.n_items, np.int64)
    for first, keys in _runs(stored, key, run):
        hashes = _hashes(keys, seed)
        at = np.minimum(np.searchsorted(wanted, hashes), wanted.size - 1)
        hit = np.flatnonzero(wanted[at] == hashes)
        count += np.bincount(at[hit], minlength=wanted.size)
        np.minimum.at(place, at[hit], hit + first)
    repeated = np.flatnonzero(count > 1)
    if not repeated.size:
        return
    some = repeated[np.argsort(place[repeated])[:_NAMED]]
    values = _keys_at(stored, key, place[some]).to_pylist()
    named = ", ".join(
        f"'{short(', '.join(map(str, value.values())))}' at {times:,}"
        for value, times in zip(values, count[some].tolist(), strict=True)
    )
    raise InputError(
        f"key '{', '.join(key)}' does not tell items apart: {repeated.size:,} of {wanted.size:,} drawn values stand at "
        f"several items (first: {named})",
        "draw by columns that are unique together, or leave out --draw-by",
    )
