"""A sample that may grow: sizes fixed beforehand, bounds that hold at all of them, and which size is enough."""

import itertools

import numpy as np
import pytest

from streameval.sequential.sample_sizes import GROWING, SampleSizes, first_size, size_at

N = 8


def wrong(looks, positives):
    """How many of the orders of a list of so many positives have bounds that are wrong, at any size up to the last."""
    made = range(1, 1 + next(look for look in itertools.count() if looks.is_last(look)))
    orders = [*itertools.combinations(range(looks.items), positives)]
    missed = 0
    for places in orders:
        label = np.zeros(looks.items, np.int8)
        label[[*places]] = 1
        bounds = [looks.bounds(label[: looks.size(one - 1)], one) for one in made]
        missed += any(not lower <= positives <= upper for lower, upper in bounds)
    return missed, len(orders)


@pytest.mark.parametrize("doubt", [0.9, 0.5, 0.1])
def test_bounds_of_all_sizes_hold_together(doubt):
    for positives in range(N + 1):
        missed, orders = wrong(SampleSizes(2, N, doubt), positives)
        assert missed <= doubt * orders


def test_sizes_that_each_had_the_whole_doubt_would_be_wrong_too_often():
    missed, orders = wrong(SampleSizes(2, N, 0.5, (1.0,) * 3), 4)
    assert missed > 0.5 * orders


def test_shares_of_the_doubt_are_less_than_all_of_it():
    assert 0.99 < sum(GROWING) < 1


def test_each_size_is_twice_the_one_before_and_the_last_is_all():
    looks = SampleSizes(300, 1_000, 0.05)
    assert [looks.size(look) for look in range(3)] == [300, 600, 1_000]
    assert [looks.is_last(look) for look in range(3)] == [False, False, True]
    label = np.tile(np.array([0, 1, 1], np.int8), 334)[:1_000]
    assert looks.bounds(label, 3) == (666, 666)


def test_bounds_that_exclude_each_other_are_those_of_the_last_size():
    looks = SampleSizes(20, 1_000, 0.5)
    label = np.repeat(np.array([1, 0], np.int8), 20)
    assert looks.bounds(label[:20], 1)[0] > looks.bounds(label, 2)[1]
    assert looks.bounds(label, 2) == SampleSizes(40, 1_000, 0.1).bounds(label, 1)


def test_a_missing_label_counts_both_ways_at_every_size():
    looks, label = SampleSizes(50, 1_000, 0.05), (np.arange(100) % 3 == 0).astype(np.int8)
    some = np.where(np.arange(100) % 5 == 0, -1, label).astype(np.int8)
    low, high = (looks.bounds(np.where(some < 0, one, some).astype(np.int8), 2) for one in (0, 1))
    assert looks.bounds(some, 2) == (low[0], high[1])


def relative(part):
    return lambda share: part * share


def test_a_first_size_is_enough_for_nine_in_ten_of_what_a_pilot_makes_likely():
    likely = np.random.default_rng(1).beta(6, 14, 100)
    size = first_size(likely, 10**6, 0.05, relative(0.15))
    assert size > 1.8 * first_size(np.full(100, 0.3), 10**6, 0.05, relative(0.15))
    rng, enough = np.random.default_rng(2), 0
    for share in rng.beta(6, 14, 200):
        label = (rng.random(size) < share).astype(np.int8)
        lower, upper = SampleSizes(size, 10**6, 0.05).bounds(label, 1)
        enough += (upper - lower) / 2 <= 0.15 * label.mean() * 10**6
    assert 175 <= enough <= 199


def test_the_size_that_is_enough_is_that_of_the_plan_until_half_of_its_labels_are_in_then_what_they_tell():
    looks, rare = SampleSizes(400, 10**6, 0.05), (np.arange(400) % 10 == 0).astype(np.int8)
    half = lambda share: 0.2 * share * 10**6  # noqa: E731
    few = np.where(np.arange(400) < 150, rare, -1).astype(np.int8)
    assert looks.enough(few, 1, half) == (400, 400)
    assert looks.enough(rare, 1, half) == (3_200, 6_400)
    assert looks.enough(np.zeros(400, np.int8), 1, half) == (None, None)  # none of a million would do


def test_bounds_that_may_not_differ_take_every_item():
    """It was 2**30 labels of endlessly many items, and so less than all of a long list."""
    assert size_at(0.0, 10**9, 0.05, lambda share: share / 10) == 10**9
