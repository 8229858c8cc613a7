"""The items at wanted ranks, selected from the candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streameval.errors import InputError
from streameval.order.filter import flags
from streameval.order.finer_bins import HASH, OrderWords
from streameval.order.scan import Scan
from streameval.order.scores import Keys
from streameval.order.search import Search, skipped_bins, skipped_words
from streameval.typing import BoolArray, Int64Array


@dataclass(frozen=True)
class Located:
    """Where wanted ranks are stored.

    Attributes:
        position (int64 array, shape (n,)): 0-based stored position of each wanted rank, in rank order.
        keys: Their order keys, from which scores are recovered.
        tied (bool array, shape (n,)): Whether another item of the list has the same score.
        equal_keys: Pairs of neighbours in the order that agree in score and in all key columns, among the candidates
            read: only the stored position orders them.
        missing: Rows whose score is null or NaN.
        scans: Times the scores were read.
    """

    position: Int64Array
    keys: Keys
    tied: BoolArray
    equal_keys: int
    missing: int
    scans: int


def select_candidates(search: Search, items: OrderWords) -> Located:
    """Sort the candidates, and take those at wanted ranks."""
    if search.scan.key_columns and search.hashed == "later":
        items = _hash_ties(search.scan, items)
    n_items = items.key.size
    items, rows = _with_skipped(search, items)
    order = _sorted(items)
    bin_of = np.searchsorted(search.base, search.wanted, side="left") - 1
    # rows of the candidates' bins up to each wanted rank; a skipped unit counts as many as it has
    inside = np.cumsum(search.counts)[bin_of] - search.counts[bin_of] + search.wanted - search.base[bin_of]
    at = np.searchsorted(np.cumsum(rows[order]), inside, side="left")
    if np.any(order[at] >= n_items):
        raise InputError("the statistics of some row group contradict its scores", "write that file anew")
    position, tie = items.position[order], items.hash[order]
    same = _same_score(items, order)
    tied = _either(same)
    # a bin that splits a tie block may hold only one of its items
    split = [kind >= HASH for kind in search.stages[-1].ranges(search.bins)[0].tolist()]
    twins = int(np.sum(same & (tie[1:] == tie[:-1])))
    return Located(
        position=position[at].astype(np.int64),
        keys=Keys(items.key[order[at]], items.low[order[at]] if items.low.size else items.low, search.missing),
        tied=tied[at] | np.array(split, dtype=np.bool_)[bin_of],
        equal_keys=twins if search.scan.key_columns else 0,
        missing=search.missing,
        scans=search.scans,
    )


def _with_skipped(search: Search, items: OrderWords) -> tuple[OrderWords, Int64Array]:
    """Add the skipped units in wanted bins to the candidates; how many rows each entry stands for."""
    wanted = flags(search.stages[-1].count, search.bins)
    bins, rows = skipped_bins(search)
    kept = wanted[bins]
    if not np.any(kept):
        return items, np.ones(items.key.size, np.int64)
    words = skipped_words(search)
    if len(search.stages) > 1:
        bins, words = search.stage_filter().place_words(words)
    words = words.where(kept)
    joined = OrderWords(*(np.concatenate([a, b]) for a, b in zip(items.parts, words.parts, strict=True)))
    return joined, np.concatenate([np.ones(items.key.size, np.int64), rows[kept]])


def _sorted(items: OrderWords) -> Int64Array:
    """The order of items: by their keys, which is quick, and where these are equal by all words."""
    order = np.argsort(items.key)
    key = items.key[order]
    tied = np.flatnonzero(_either(key[1:] == key[:-1])) if order.size else order
    words = [items.position, items.hash, *([items.low] if items.low.size else []), items.key]
    order[tied] = order[tied][np.lexsort([word[order[tied]] for word in words])]
    return order


def _same_score(items: OrderWords, order: Int64Array) -> BoolArray:
    """Whether each item, in some order, has the score of the one before it; of all but the first."""
    key = items.key[order]
    same: BoolArray = key[1:] == key[:-1]
    if items.low.size:
        low = items.low[order]
        same &= low[1:] == low[:-1]
    return same


def _either(same: BoolArray) -> BoolArray:
    tied = np.zeros(same.size + 1, np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    return tied


def _hash_ties(scan: Scan, items: OrderWords) -> OrderWords:
    """Read the key columns of items that tie in score, and of no others."""
    order = np.lexsort([*([items.low] if items.low.size else []), items.key])
    rows = order[_either(_same_score(items, order))] if order.size else order
    hashes = items.hash.copy()
    if rows.size:
        hashes[rows] = scan.key_hashes(items.position[rows].astype(np.int64))
    return OrderWords(items.key, items.low, hashes, items.position)
