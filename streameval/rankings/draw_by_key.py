"""Draw the items whose hash is below the probability of their rank: one scan, whose parts merge.

The hash of a key is the same in every version of a ranking, so an item that was drawn once is likely to be drawn again,
whatever rank it has moved to. For one ranking every item is drawn independently of the others, as long as the order and
the truth have nothing to do with the hashes, and no two items share one: so a key that is drawn and stands at another
item too, anywhere in the list, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.sorted_sets import unique
from streameval.order.item_keys import check_key, key_text, missing, refuse_inexact
from streameval.order.scan import key_hashes
from streameval.progress import Progress, silent
from streameval.rankings.ranking import Ranking
from streameval.text import short
from streameval.typing import FloatArray, Int64Array, UInt64Array

_BYTES_PER_ITEM = 256  # what finding ranks by score takes; rank, key and hash take less
_LEAST_RUN = 1 << 16  # ranks read at once, however little memory there is
_NAMED = 3  # repeated keys that a refusal names


def are_drawn(hashes: UInt64Array, first: int, rates: tuple[Int64Array, FloatArray]) -> Int64Array:
    """Tell which of some ranks, from `first` on, are drawn: those whose hash is less than their probability times 2⁶⁴.

    Args:
        hashes (uint64 array, shape (k,)): Of the items at consecutive ranks.
        rates: Last rank of each block, and the probability of its ranks; 1 draws any hash.
    """
    ends, rate = rates
    limit = limits(rate)
    block = np.searchsorted(ends, np.arange(first, first + hashes.size))
    return np.flatnonzero((hashes < limit[block]) | (rate[block] >= 1))


def limits(rate: FloatArray) -> UInt64Array:
    """Give what a hash has to be less than to be drawn with some probabilities, those of 1 apart: floor(rate · 2⁶⁴)."""
    return np.minimum(np.floor(rate * 2.0**64), 2.0**64 - 2048).astype(np.uint64)  # the largest float below 2⁶⁴


def draw_by_key(
    ranking: Ranking,
    rates: tuple[Int64Array, FloatArray],
    key: Sequence[str],
    seed: int,
    memory: float = 2.0,
    progress: Progress = silent,
) -> Int64Array:
    """Draw ranks by the sampling hashes of their items.

    Args:
        rates (pair of an int64 and a float64 array, shape (k,)): Last rank of each block, and the probability with
            which each of its ranks is drawn.
        key: Columns that identify items.
        seed: The same in every version of the ranking.
        memory: GB; keys are read in runs of ranks that fit. A stored order is read once in all, an order by score once
            a run.

    Raises:
        InputError: No such column, one that cannot be hashed, keys that are null, or drawn keys that stand at several
            items.
    """
    there, where = ranking.rows.all_names(), ranking.rows.name
    for name in key:
        if name not in there:
            raise InputError(f"{where}: there is no column '{name}'", ranking.rows.hint_for(name))
    run = max(_LEAST_RUN, int(memory * 1e9 / _BYTES_PER_ITEM))
    ranks, drawn = [], []
    for first, keys in _runs(ranking, key, run):
        for name, column in zip(key, keys.columns, strict=True):
            check_key(column.type, name, where)
            if nulls := missing(column):
                raise InputError(f"{where}: column '{name}' is null at {nulls:,} items: they cannot be told apart")
        refuse_inexact(keys, where)
        hashes = _hashes(keys, seed)
        at = are_drawn(hashes, first, rates)
        ranks.append(at + first)
        drawn.append(hashes[at])
        progress(first + keys.num_rows - 1, ranking.n_items)
    _refuse_repeated(ranking, key, np.concatenate(drawn), seed, run)
    return np.concatenate(ranks)


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
    kept = table.select(list(range(table.num_columns - len(key), table.num_columns)))
    return kept.rename_columns(list(key))  # a column that is the score has another name there


def _hashes(keys: pa.Table, seed: int) -> UInt64Array:
    from streameval.kernels.draw import sample_hashes

    return sample_hashes(key_hashes(keys), np.uint64(seed % 2**64))


def _refuse_repeated(ranking: Ranking, key: Sequence[str], drawn: UInt64Array, seed: int, run: int) -> None:
    """Refuse drawn keys that stand at several items: one more scan of the key columns, in stored order.

    Keys of equal hash are taken for equal: of 10⁴ drawn of 2·10⁹, about one plan in a million is refused for nothing.
    """
    stored = Ranking(ranking.rows, ranking.options)
    wanted = unique(drawn)
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
        f"'{short(', '.join(map(key_text, value.values())))}' at {times:,}"
        for value, times in zip(values, count[some].tolist(), strict=True)
    )
    raise InputError(
        f"{ranking.rows.name}: key '{', '.join(key)}' does not tell items apart: {repeated.size:,} of {wanted.size:,} "
        f"drawn values belong to several items (first: {named})",
        "draw by columns that are unique together, or leave out --on",
    )
