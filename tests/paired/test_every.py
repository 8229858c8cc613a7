"""Bounds at every rank: the grid, what is drawn, what may happen between, and the head that is labelled whole."""

import math

import numpy as np
import pytest

from streameval.errors import InputError
from streameval.paired.every import EveryPlan, between, grid, head, most


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


def came_and_went(rank_a, rank_b, ranks):
    changed = rank_a != rank_b
    return [
        np.histogram(rank[changed], np.append(ranks, ranks[-1] + 1) + 0.5)[0][: ranks.size - 1]
        for rank in (rank_b, rank_a)
    ]


def test_the_grid_grows_by_an_eighth_of_the_width():
    for items, within in ((1, 0.01), (7, 0.01), (10_000, 0.02), (2 * 10**9, 0.01)):
        ranks = grid(items, within)
        assert (ranks[0], ranks[-1]) == (1, items)
        steps = np.diff(ranks)
        assert (steps >= 1).all()
        assert (steps <= np.maximum(1, np.ceil(ranks[:-1] * within / 8))).all()
    assert 11_000 < grid(2 * 10**9, 0.01).size < 18_000
    with pytest.raises(InputError, match="every rank"):
        grid(10, 0.0)


def test_rates_of_items_are_those_of_the_ranks_between():
    rng = np.random.default_rng(1)
    rank_a, rank_b = two_orders(rng, 3_000, 0.5)
    ranks = grid(3_000, 0.1)
    plan = EveryPlan.of(ranks, *sizes(rank_a, rank_b, ranks), within=0.1, confidence=0.95)
    assert 0 < plan.first < ranks.size - 1
    found = plan.item_probability(rank_a, rank_b)
    for i in range(0, 3_000, 7):
        low, high = sorted((rank_a[i], rank_b[i]))
        expected = plan.probabilities[(low <= ranks) & (ranks < high)].max(initial=0)
        assert found[i] == (1.0 if low < ranks[plan.first] and low != high else expected)
    assert (plan.probabilities[plan.first :] < 0.8).all()


def test_no_more_is_drawn_than_scans_keep():
    rng = np.random.default_rng(2)
    ranks = grid(20_000, 0.05)
    kept = most(ranks, within=0.05, confidence=0.95)
    for noise in (0.01, 0.3, 3.0):
        plan = EveryPlan.of(ranks, *sizes(*two_orders(rng, 20_000, noise), ranks), within=0.05, confidence=0.95)
        assert (plan.probabilities <= kept).all()
        assert plan.error * 2 * (ranks.size - plan.first) == pytest.approx(0.05)


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
            found = between(ranks, (lower, upper), at, *came_and_went(rank_a, rank_b, ranks))
            assert (found[0] <= true).all()
            assert (found[1] >= true).all()
            assert (found[0][ranks - 1] == lower).all()
            assert (found[1][ranks - 1] == upper).all()
            assert (found[1] - found[0]).max() <= 2 * spread + np.diff(ranks).max()


def test_an_interval_narrower_than_what_comes_and_goes_would_be_wrong():
    """One item more than is counted for, and a rank between would be missed."""
    ranks, none = np.array([1, 9]), np.array([0])
    found = between(ranks, (np.zeros(2, np.int64), np.zeros(2, np.int64)), np.arange(1, 10), none, none)
    assert np.abs(found).max() == 0  # where items did come and go, D may be 1 at a rank between
    found = between(ranks, (np.zeros(2, np.int64), np.zeros(2, np.int64)), np.arange(1, 10), none + 1, none + 1)
    assert (found[1][1:-1] == 1).all()


def test_the_head_is_exact_and_missing_labels_are_at_their_extremes():
    rng = np.random.default_rng(4)
    rank_a, rank_b = two_orders(rng, 200, 1.0)
    labels, stop = rng.integers(0, 2, 200).astype(np.int8), 60
    early = (np.minimum(rank_a, rank_b) < stop) & (rank_a != rank_b)
    true = differences(rank_a, rank_b, labels, 200)[: stop - 1]
    lower, upper = head(rank_a[early], rank_b[early], labels[early], stop)
    assert lower.tolist() == upper.tolist() == true.tolist()
    lost = np.where(rng.random(200) < 0.3, -1, labels)
    lower, upper = head(rank_a[early], rank_b[early], lost[early], stop)
    fewest = differences(rank_a, rank_b, np.where(lost < 0, rank_b > rank_a, lost), 200)[: stop - 1]
    largest = differences(rank_a, rank_b, np.where(lost < 0, rank_b < rank_a, lost), 200)[: stop - 1]
    assert (lower.tolist(), upper.tolist()) == (fewest.tolist(), largest.tolist())


def test_every_rank_of_a_list_is_inside_and_as_narrow_as_planned():
    rng = np.random.default_rng(5)
    items, within = 20_000, 0.08
    rank_a, rank_b = two_orders(rng, items, 0.3)
    labels, ranks = (rng.random(items) < 0.5).astype(np.int8), grid(items, within)
    plan = EveryPlan.of(ranks, *sizes(rank_a, rank_b, ranks), within=within, confidence=0.95)
    u, rate = rng.integers(0, 2**64, items, dtype=np.uint64), plan.item_probability(rank_a, rank_b)
    taken = (rate >= 1) | (u < np.ldexp(rate, 64))
    assert 200 < taken.sum() < 3_000
    limits = plan.limits(rank_a[taken], rank_b[taken], u[taken], labels[taken])
    later, stop = ranks[plan.first :], int(ranks[plan.first])
    at = np.arange(stop, items + 1)
    lower, upper = between(later, limits, at, *came_and_went(rank_a, rank_b, later))
    true = differences(rank_a, rank_b, labels, items)
    assert (lower <= true[stop - 1 :]).all()
    assert (upper >= true[stop - 1 :]).all()
    half = (upper - lower) / (2 * at)
    assert 0.7 * within < np.median(half) < 1.1 * within
    assert half.max() < 1.5 * within
    early = taken & (np.minimum(rank_a, rank_b) < stop) & (rank_a != rank_b)
    assert head(rank_a[early], rank_b[early], labels[early], stop)[0].tolist() == true[: stop - 1].tolist()
    assert math.isclose(plan.error * 2 * later.size, 0.05)
