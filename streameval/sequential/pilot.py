"""A pilot: the first labels of a list of which nothing is known. They become known items, and are evidence of nothing.

It labels the first ten items, and item r with probability 10/r: about ten an e-fold of rank, 150 of 10⁷ items.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.sorted_sets import isin
from streameval.sequential import KnownItems
from streameval.sequential.hash_order import Placed
from streameval.sequential.rounds import without_place
from streameval.typing import Int8Array, Int64Array

ENOUGH = 100  # labels that are there already, which make a pilot idle
PER_E_FOLD = 10  # ranks that are asked for whole, and items an e-fold below them


def is_wanted(known_items: KnownItems) -> bool:
    """Tell whether too little is known to plan by."""
    return int((known_items.label >= 0).sum()) < ENOUGH


def expected_size(n_items: int) -> int:
    """Labels that a pilot takes on average."""
    return min(n_items, round(PER_E_FOLD * (1 + math.log(max(1.0, n_items / PER_E_FOLD)))))


def draw(n_items: int, known_items: KnownItems, rng: np.random.Generator) -> Placed:
    """Items of a pilot that are not known; they have no place in any order."""
    parts = [np.arange(1, min(PER_E_FOLD, n_items) + 1)]
    low = PER_E_FOLD
    while low < n_items:
        high = min(2 * low, n_items)  # drawn throughout as densely as at its first rank, then thinned
        chance = PER_E_FOLD / (low + 1)
        ranks = low + 1 + rng.choice(high - low, rng.binomial(high - low, chance), replace=False, shuffle=False)
        parts.append(np.sort(ranks[rng.random(ranks.size) < (low + 1) / ranks]))
        low = high
    ranks = np.concatenate(parts)
    return without_place(ranks[~isin(ranks, known_items.rank)])


def join_known(known_items: KnownItems, rank: Int64Array, label: Int8Array) -> KnownItems:
    """Give what is known, with more items."""
    ranks = np.concatenate([known_items.rank, rank])
    order = np.argsort(ranks)
    return KnownItems(ranks[order], np.concatenate([known_items.label, label]).astype(np.int8)[order])
