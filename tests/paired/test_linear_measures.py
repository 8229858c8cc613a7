"""Bounds on linear measures: a martingale over all draws of small lists, and discounts."""

import itertools
import math

import numpy as np
import pytest
from suite_cases import examples

from streameval.errors import InputError
from streameval.kernels.paired_linear import weighted_evidence
from streameval.paired.discounts import (
    ABSENT,
    dcg,
    log_mean_difference,
    rank_biased_precision,
    rounding,
    weights,
)
from streameval.paired.linear import LinearCells, limits, rates_within

MU = np.array([0.2, 1.0, 20.0])


def cells_of(signed, rates, taken, labels):
    one = np.ones(len(signed), np.int64)
    return LinearCells(signed, rates, one, taken, taken * (labels == 1), taken * (labels < 0))


@pytest.mark.parametrize("count", [1, 3, 6])
def test_it_has_the_mean_one_over_all_draws(count):
    """Random weights and rates, some of them certain, and each list of labels."""
    rng = np.random.default_rng(count)
    for _ in range(examples(1, 4) if count == 6 else 4):
        size, classes = rng.uniform(0.1, 2, count), rng.integers(0, 2, count).astype(np.int8)
        rates = np.minimum(1.0, rng.uniform(0.05, 1.3, count))
        for z in itertools.product((0, 1), repeat=count):
            mean = np.zeros(MU.size)
            for taken in itertools.product((0, 1), repeat=count):
                drawn, ones = np.array(taken), np.array(taken) * np.array(z)
                counts = np.stack([np.ones(count, np.int64), drawn, ones, ones], axis=1)
                sums = weighted_evidence(size, rates, classes, counts, MU, np.array([0.5, 0.3]))
                mean += np.prod(np.where(drawn == 1, rates, 1 - rates)) * np.exp(MU * (size @ np.array(z)) + sums)
            assert mean == pytest.approx(1.0, abs=1e-10)


def test_cells_of_items_that_are_alike_have_the_mean_one_too():
    """Three items of a cell, then two of another: what was drawn of one predicts the next."""
    rates, items, z = np.array([0.3, 0.6]), (3, 2), (2, 1)
    mean = np.zeros(MU.size)
    for taken in itertools.product((0, 1), repeat=5):
        drawn = np.array([sum(taken[:3]), sum(taken[3:])])
        ones = np.array([sum(taken[: z[0]]), taken[3]])
        counts = np.stack([np.array(items), drawn, ones, ones], axis=1)
        sums = weighted_evidence(np.array([0.7, 1.9]), rates, np.zeros(2, np.int8), counts, MU, np.array([0.5]))
        p = math.prod(np.where(np.array(taken) == 1, np.repeat(rates, items), 1 - np.repeat(rates, items)))
        mean += p * np.exp(MU * (0.7 * 2 + 1.9) + sums)
    assert mean == pytest.approx(1.0, abs=1e-10)


def test_large_weights_lose_no_validity():
    """One item, drawn or not: a difference for 1 − π D makes this mean 10^17 at π = .99, μ w = 76."""
    for rate, weight, q in itertools.product(
        (1e-6, 0.01, 0.3, 0.99, 1 - 1e-12), (1.0, 20.0, 40.0, 76.0, 600.0), (1e-6, 0.5, 0.9)
    ):
        for z in (0, 1):
            mean = 0.0
            for taken in (0, 1):
                counts = np.array([[1, taken, taken * z, taken * z]])
                sums = weighted_evidence(
                    np.array([weight]), np.array([rate]), np.zeros(1, np.int8), counts, np.ones(1), np.array([q])
                )
                mean += (rate if taken else 1 - rate) * math.exp(weight * z + sums[0])
            assert mean == pytest.approx(1.0, abs=1e-9)


def test_no_list_is_missed_more_often_than_allowed():
    rng, count = np.random.default_rng(2), examples(5, 6)
    for error in (0.4, 0.1):
        for _ in range(examples(1, 3)):
            signed, rates = rng.choice([-1, 1], count) * rng.uniform(0.3, 2, count), rng.uniform(0.2, 0.9, count)
            for labels in itertools.product((0, 1), repeat=count):
                true, missed = signed @ np.array(labels), [0.0, 0.0]
                for taken in itertools.product((0, 1), repeat=count):
                    drawn = np.array(taken)
                    found = limits(cells_of(signed, rates, drawn, np.array(labels)), error, 1.5)
                    p = math.prod(np.where(drawn == 1, rates, 1 - rates))
                    missed[0] += p * (found[0] > true + 1e-9)
                    missed[1] += p * (found[1] < true - 1e-9)
                assert max(missed) <= error


def test_missing_labels_only_widen_whatever_they_are():
    rng = np.random.default_rng(3)
    for _ in range(examples(80, 200)):
        count = 30
        signed, rates = rng.choice([-1, 1], count) * rng.uniform(0.3, 2, count), rng.uniform(0.1, 1, count)
        drawn, labels = (rng.random(count) < rates).astype(np.int64), rng.integers(0, 2, count)
        whole = limits(cells_of(signed, rates, drawn, labels), 0.05, 8.0)
        found = limits(cells_of(signed, rates, drawn, np.where(rng.random(count) < 0.3, -1, labels)), 0.05, 8.0)
        assert found[0] <= whole[0] + 1e-9
        assert found[1] >= whole[1] - 1e-9


def test_exchanging_the_rankings_mirrors_the_bounds():
    rng = np.random.default_rng(4)
    signed, rates = rng.choice([-1, 1], 50) * rng.uniform(0.3, 2, 50), rng.uniform(0.1, 1, 50)
    drawn, labels = (rng.random(50) < rates).astype(np.int64), rng.integers(-1, 2, 50)
    lower, upper = limits(cells_of(signed, rates, drawn, labels), 0.05, 8.0)
    assert limits(cells_of(-signed, rates, drawn, labels), 0.05, 8.0) == pytest.approx((-upper, -lower), abs=1e-9)


def test_with_every_label_it_is_exact():
    signed, labels = np.array([0.5, -1.0, 2.0]), np.array([1, 1, 0])
    found = limits(cells_of(signed, np.ones(3), np.ones(3, np.int64), labels), 0.05, 0.0)
    assert found == pytest.approx((-0.5, -0.5))


def test_its_width_is_as_planned():
    """3,000 labels of a list of 10^5 items: 2.8 standard deviations, and about 95 % inside."""
    rng = np.random.default_rng(5)
    rank_a = np.arange(1, 100_001)
    rank_b = np.argsort(np.argsort(np.log(rank_a) + 0.5 * rng.standard_normal(rank_a.size))) + 1
    for discount in (dcg(), dcg(1_000), log_mean_difference(rank_a.size)):
        signed = weights(discount, rank_a, rank_b)
        signed = signed[signed != 0]
        labels = (rng.random(signed.size) < 0.5).astype(np.int64)
        width = 2.82 * np.abs(signed).sum() * 0.5 / math.sqrt(3_000)
        rates, spread = rates_within(signed, np.ones(signed.size), within=width, error=0.025)
        assert spread == pytest.approx(width / 2.82, rel=0.01)
        drawn = (rng.random(signed.size) < rates).astype(np.int64)
        lower, upper = limits(cells_of(signed, rates, drawn, labels), 0.025, spread)
        assert lower < signed @ labels < upper
        assert (upper - lower) / 2 == pytest.approx(width, rel=0.06)
        assert drawn.sum() < 3_300


# discounts


def test_discounts_are_those_of_the_measures():
    rng = np.random.default_rng(6)
    items = 150
    rank_a, rank_b = np.arange(1, items + 1), rng.permutation(items) + 1
    rank_b[rng.random(items) < 0.1] = ABSENT
    labels = rng.integers(0, 2, items)
    yields = [np.array([(labels[rank <= k]).sum() for k in range(1, items + 1)]) for rank in (rank_b, rank_a)]
    k = np.arange(1, items + 1)
    relative = (yields[0] - yields[1]) / k

    def of(discount):
        return float(weights(discount, rank_a, rank_b) @ labels)

    def summed(of_rank):
        return sum(of_rank(b) for b, y in zip(rank_b, labels, strict=True) if y and b != ABSENT) - sum(
            of_rank(a) for a, y in zip(rank_a, labels, strict=True) if y
        )

    assert of(dcg()) == pytest.approx(summed(lambda rank: 1 / math.log2(1 + rank)))
    assert of(dcg(20)) == pytest.approx(summed(lambda rank: (rank <= 20) / math.log2(1 + rank)))
    assert of(rank_biased_precision(0.8)) == pytest.approx(summed(lambda rank: 0.2 * 0.8 ** (rank - 1)))
    assert of(log_mean_difference(items)) == pytest.approx((relative / k).sum() / (1 / k).sum())


def test_discounts_of_long_lists_lose_nothing():
    for rank in (1, 2, 63, 64, 65, 1_000):
        squares = math.fsum(1 / k**2 for k in range(rank, 2_001))
        whole = math.fsum(1 / k for k in range(1, 2_001))
        assert log_mean_difference(2_000)(np.array([rank]))[0] == pytest.approx(squares / whole, rel=1e-12)


def test_rounded_ranks_move_a_measure_by_no_more_than_is_said():
    rng = np.random.default_rng(7)
    ends = np.array([1, 2, 5, 11, 30, 60])
    first = np.append(1, ends[:-1] + 1)
    for discount in (dcg(), rank_biased_precision(0.9), log_mean_difference(60)):
        for _ in range(50):
            labels, ranks = rng.integers(0, 2, 60), np.arange(1, 61)
            rounded = first[np.searchsorted(ends, ranks)]
            moved = abs(float((discount(ranks) - discount(rounded)) @ labels))
            assert moved <= rounding(discount, ends) + 1e-12


def test_items_that_count_nothing_are_refused():
    one = np.ones(1, np.int64)
    for weight, rate in ((0.0, 0.5), (1.0, 0.0), (1.0, 1.1)):
        with pytest.raises(InputError, match="rate"):
            LinearCells(np.array([weight]), np.array([rate]), one, one, one, 0 * one)
