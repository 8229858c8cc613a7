"""Bounds at every rank: the grid, what is drawn, and what may happen between."""

import itertools

import numpy as np
import pytest

from streameval.errors import InputError
from streameval.paired.every import between, grid, largest_rates, probabilities
from streameval.paired.looks import count_error
from streameval.paired.rates import item_probability
from streameval.paired.samples import LabelledItems, samples, thresholds


def two_orders(rng, items, noise):
    """Ranks of every item in A and in B."""
    rank_a = np.arange(1, items + 1)
    rank_b = np.argsort(np.argsort(np.log(rank_a) + noise * rng.standard_normal(items))) + 1
    return rank_a, rank_b


def sizes(rank_a, rank_b, ranks):
    gains = [int(((rank_b <= k) & (rank_a > k)).sum()) for k in ranks]
    losses = [int(((rank_a <= k) & (rank_b > k)).sum()) for k in ranks]
    return np.array(gains), np.array(losses)


def differences(rank_a, rank_b, labels, items):
    """D at ranks 1..items."""
    yields = [np.bincount(rank, weights=labels, minlength=items + 1)[1 : items + 1] for rank in (rank_b, rank_a)]
    return np.cumsum(yields[0] - yields[1]).astype(np.int64)


def test_the_grid_grows_by_an_eighth_of_the_width_and_has_powers_of_ten():
    for items, within in ((1, 0.01), (7, 0.01), (10_000, 0.02), (2 * 10**9, 0.01)):
        ranks = grid(items, within)
        assert (ranks[0], ranks[-1]) == (1, items)
        steps = np.diff(ranks)
        assert (steps >= 1).all()
        assert (steps <= np.maximum(1, np.ceil(ranks[:-1] * within / 8))).all()
        assert np.isin([10**power for power in range(10) if 10**power <= items], ranks).all()
    assert 11_000 < grid(2 * 10**9, 0.01).size < 18_000
    with pytest.raises(InputError, match="every rank"):
        grid(10, 0.0)


def test_no_more_is_drawn_than_scans_keep():
    rng = np.random.default_rng(2)
    ranks = grid(20_000, 0.05)
    kept = largest_rates(ranks, within=0.05, confidence=0.95)
    for noise in (0.01, 0.3, 3.0):
        found, bounded = probabilities(
            *sizes(*two_orders(rng, 20_000, noise), ranks), ranks, within=0.05, confidence=0.95
        )
        assert (found <= kept).all()
        assert (found[: ranks.size - bounded] == 1).all()
        assert (found[ranks.size - bounded :] < 0.8).all()


def test_what_is_between_follows_from_the_grid():
    """True differences at the grid, as narrow as can be, and wider: every rank between is inside."""
    rng = np.random.default_rng(3)
    for noise in (0.05, 0.5, 3.0):
        items = 500
        rank_a, rank_b = two_orders(rng, items, noise)
        rank_b = np.where(rng.random(items) < 0.1, 10**6, rank_b)  # not in B
        labels, ranks = rng.integers(0, 2, items), grid(items, 0.4)
        true = differences(rank_a, np.minimum(rank_b, items + 1), labels, items)
        at = np.arange(1, items + 1)
        for spread in (0, 4):
            lower, upper = (true[ranks - 1] + sign * rng.integers(0, spread + 1, ranks.size) for sign in (-1, 1))
            found = between(ranks, (lower, upper), at)
            assert (found[0] <= true).all()
            assert (found[1] >= true).all()
            assert (found[0][ranks - 1] >= lower).all()
            assert (found[1][ranks - 1] <= upper).all()
            assert (found[1] - found[0]).max() <= 2 * spread + np.diff(ranks).max()


def test_bounds_between_are_reached():
    """Of some rankings: whatever places there are between two ranks, all may come, or go."""
    ranks, zero, seen = np.array([2, 4]), np.zeros(2, np.int64), set()
    for labels in itertools.product((0, 1), repeat=4):
        a = np.cumsum([1, 0, 0, 1])
        d = np.cumsum(labels) - a
        if not d[[1, 3]].any():
            seen.add(int(d[2]))
    found = between(ranks, (zero, zero), np.array([3]))
    assert seen == {0, 1}
    assert [int(one[0]) for one in found] == [-1, 1]


def test_every_rank_of_a_list_is_inside_and_as_narrow_as_planned():
    rng = np.random.default_rng(5)
    items, within = 20_000, 0.08
    rank_a, rank_b = two_orders(rng, items, 0.3)
    labels, ranks = (rng.random(items) < 0.5).astype(np.int8), grid(items, within)
    gains, losses = sizes(rank_a, rank_b, ranks)
    rates, bounded = probabilities(gains, losses, ranks, within=within, confidence=0.95)
    first = [np.searchsorted(ranks, rank) for rank in (rank_a, rank_b)]
    u, rate = rng.integers(0, 2**64, items, dtype=np.uint64), item_probability(*first, rates)
    taken = (rate >= 1) | (u < thresholds(rate))
    assert 200 < taken.sum() < 3_000
    drawn = LabelledItems.drawn(*(one[taken] for one in (*first, u, labels, rate)))
    error = count_error(0.95, bounded, "one")
    each = np.array([one.limits(error) for one in samples(drawn, rates, gains, losses)])
    early = ranks.size - bounded
    assert early > 20
    assert (each[:early, 0] == each[:early, 1]).all()
    at = np.arange(1, items + 1)
    lower, upper = between(ranks, (each[:, 0], each[:, 1]), at)
    true = differences(rank_a, rank_b, labels, items)
    assert (lower <= true).all()
    assert (upper >= true).all()
    half = (upper - lower)[ranks[early] - 1 :] / (2 * at[ranks[early] - 1 :])
    assert 0.7 * within < np.median(half) < 1.1 * within
    assert half.max() < 1.5 * within
