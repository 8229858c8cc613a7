"""The order of a draw, as far as it is drawn, has the law of a hash for every item."""

from math import comb

import numpy as np
import pytest
from suite_cases import cases, examples

from streameval.sequential.hash_order import Levels, raise_levels

LAST = np.array([3, 7, 20])


def grown(levels, steps, taken, rng):
    """Raise in steps; what was drawn, in the order of its places."""
    ranks, places = np.empty(0, np.int64), np.empty(0)
    for wanted in steps:
        levels, new = raise_levels(levels, np.array(wanted), np.union1d(taken, ranks), rng)
        assert np.all(np.diff(levels.level) <= 0)
        ranks, places = np.append(ranks, new.rank), np.append(places, new.order)
    order = np.argsort(places)
    return levels, ranks[order], places[order]


STEPS = [(0.5, 0.2, 0.1), (0.5, 0.4, 0.1), (0.7, 0.4, 0.3)]


def test_items_are_drawn_once_and_never_those_that_are_taken():
    taken = np.array([2, 7, 8, 20])
    for seed in range(100):
        levels, ranks, places = grown(Levels.none(LAST), STEPS, taken, np.random.default_rng(seed))
        assert np.unique(ranks).size == ranks.size
        assert not np.isin(ranks, taken).any()
        assert np.all((ranks >= 1) & (ranks <= 20))
        assert np.all(places <= levels.level[np.searchsorted(LAST, ranks)])
        assert np.all(places > 0)


def test_levels_never_fall():
    levels, _, _ = grown(Levels.none(LAST), [*STEPS, (0.1, 0.1, 0.1)], np.empty(0, np.int64), np.random.default_rng(0))
    assert levels.level.tolist() == [0.7, 0.4, 0.3]
    assert [levels.at(rank) for rank in (1, 3, 4, 20)] == [0.7, 0.7, 0.4, 0.3]


def test_a_level_of_one_draws_all_that_are_left():
    levels, ranks, _ = grown(Levels.none(LAST), [*STEPS, (1, 1, 1)], np.array([5]), np.random.default_rng(0))
    assert sorted(ranks) == [rank for rank in range(1, 21) if rank != 5]
    assert np.all(levels.level == 1)


@pytest.fixture(scope="module")
def draws():
    rng = np.random.default_rng(5)
    return [grown(Levels.none(LAST), STEPS, np.empty(0, np.int64), rng) for _ in range(examples(1_500, 6_000))]


@pytest.mark.parametrize("k", cases([3, 7, 20], 3, 20))
def test_what_is_drawn_begins_a_random_permutation(draws, k):
    """Of the items of every depth: how many there are is binomial, the first two are any pair, equally often."""
    counts, pairs = np.zeros(k + 1), np.zeros((k + 1, k + 1))
    for levels, ranks, places in draws:
        mine = ranks[(ranks <= k) & (places <= levels.at(k))]
        counts[mine.size] += 1
        if mine.size > 1:
            pairs[mine[0], mine[1]] += 1
    level = levels.at(k)
    expected = len(draws) * np.array([comb(k, n) * level**n * (1 - level) ** (k - n) for n in range(k + 1)])
    assert _chi_square(counts[expected > 5], expected[expected > 5]) < 5
    found = pairs[1:, 1:][~np.eye(k, dtype=bool)]
    assert _chi_square(found, np.full(found.size, found.mean())) < 5


def test_places_are_uniform_below_the_level(draws):
    places = np.concatenate([places for _, _, places in draws])
    counts, _ = np.histogram(places[places <= 0.3], bins=30, range=(0, 0.3))  # all ranges are drawn so far
    assert _chi_square(counts, np.full(30, counts.mean())) < 5


def test_a_level_that_rises_with_rank_would_begin_no_permutation():
    """The deeper items would come first: three of the first seven are in the first range."""
    rng, first, runs = np.random.default_rng(0), 0, 1_000
    for _ in range(runs):
        _, new = raise_levels(Levels.none(LAST), np.array([0.05, 0.6, 0.0]), np.empty(0, np.int64), rng)
        first += bool(new.rank.size) and new.rank[np.argmin(new.order)] <= 3
    assert first / runs < 0.2 < 3 / 7


def _chi_square(found, expected):
    """In standard deviations above what is expected."""
    freedom = len(found) - 1
    return (np.sum((found - expected) ** 2 / expected) - freedom) / np.sqrt(2 * freedom)
