"""How often bounds miss over many draws, on ten populations, at 95 % and at 50 %; 1,000 draws of each are slow."""

import itertools

import numpy as np
import pytest
from binomial import binomial_tail
from populations import BEYOND, CUTOFFS, POPULATIONS, N, population
from suite_cases import slow

from streameval.paired import rates
from streameval.paired.bet import BetPlan, limits_of_walk
from streameval.paired.looks import bet_error, count_error
from streameval.paired.samples import LabelledItems, samples, thresholds

WITHIN = 0.04
SUITE = [*((name, 0.95, 25) for name in POPULATIONS), ("independent", 0.5, 25), ("missing", 0.5, 25)]
WHOLE = itertools.product(POPULATIONS, (0.95, 0.5), (1_000,))
each_population = pytest.mark.parametrize(("name", "confidence", "draws"), SUITE + slow(*WHOLE))


class Changed:
    """What changed in a population, at some cutoffs, with the true differences."""

    def __init__(self, name, cutoffs):
        rank_a, rank_b, labels = population(name)
        first = [np.searchsorted(cutoffs, rank) for rank in (rank_a, rank_b)]
        at = np.flatnonzero(rank_a != rank_b)
        self.rank_a, self.rank_b, self.labels = rank_a[at], rank_b[at], labels[at]
        self.first_a, self.first_b = (one[at] for one in first)
        m = cutoffs.size
        self.gains, self.losses = (self.count(x, y, m) for x, y in self.sides)
        ones = self.labels == 1
        self.differences = self.count(*self.sides[0], m, ones) - self.count(*self.sides[1], m, ones)

    @property
    def sides(self):
        return (self.first_b, self.first_a), (self.first_a, self.first_b)

    def sampled(self, planned, item, rng):
        """The samples of all cutoffs from a new draw, given their rates and those of items."""
        u = rng.integers(0, 2**64, item.size, dtype=np.uint64)
        taken = (item >= 1) | (u < thresholds(item))
        of = (self.first_a, self.first_b, u, self.labels, item)
        items = LabelledItems.drawn(*(one[taken] for one in of))
        return samples(items, planned, self.gains, self.losses)

    @staticmethod
    def count(start, end, m, of=True):
        here = (start < end) & of
        change = np.bincount(start[here], minlength=m + 1) - np.bincount(end[here], minlength=m + 1)
        return np.cumsum(change)[:m]


def allowed(missed, draws, confidence):
    """Not more than so many misses would show, of 120 such numbers, once in 10,000 suites."""
    return binomial_tail(draws, missed, 1 - confidence) > 1e-6


@each_population
def test_one_look_at_a_list_of_cutoffs(name, confidence, draws):
    changed, rng = Changed(name, CUTOFFS), np.random.default_rng(7)
    options = {"within": WITHIN, "confidence": confidence, "looks": "one"}
    planned = rates.probabilities(changed.gains, changed.losses, CUTOFFS, **options)
    item = rates.item_probability(changed.first_a, changed.first_b, planned)
    error, missed = count_error(confidence, CUTOFFS.size, "one"), 0
    for _ in range(draws):
        found = changed.sampled(planned, item, rng)
        bounds = [one.limits(error) for one in found]
        missed += any(not low <= d <= high for (low, high), d in zip(bounds, changed.differences, strict=True))
    print(f"count {name} {confidence}: {missed} of {draws}")
    assert allowed(missed, draws, confidence)


@each_population
def test_any_time_at_any_of_the_cutoffs(name, confidence, draws):
    """Bounds after the last label are those of all times, intersected: a miss at any time is one at the end."""
    changed, rng = Changed(name, CUTOFFS), np.random.default_rng(8)
    options = {"within": WITHIN, "confidence": confidence, "looks": "any"}
    planned = rates.probabilities(changed.gains, changed.losses, CUTOFFS, **options)
    error, missed, wrong = bet_error(confidence, CUTOFFS.size, "any"), 0, 0
    low, high = np.minimum(changed.first_a, changed.first_b), np.maximum(changed.first_a, changed.first_b)
    for _ in range(draws):
        u = rng.random(low.size)
        order = np.argsort(u)
        miss = False
        for j, d in enumerate(changed.differences):
            sizes = np.array([changed.gains[j], changed.losses[j]])
            if planned[j] > 0 and sizes.sum():
                here = order[(low[order] <= j) & (j < high[order]) & (u[order] < planned[j])]
                plan = BetPlan(sizes, np.array([False, True]), error, max(1, round(planned[j] * sizes.sum())))
                found = limits_of_walk(
                    plan, (changed.first_a[here] < changed.first_b[here]).astype(int), changed.labels[here]
                )
                miss |= not found.lower[0] <= d <= found.upper[0]
                wrong += found.sign * np.sign(d) < 0
        missed += miss
    print(f"bet {name} {confidence}: {missed} of {draws}; wrong sign {wrong}")
    assert allowed(missed, draws, confidence)


def test_populations_are_what_they_are_called():
    for name, k in itertools.product(POPULATIONS, CUTOFFS):
        rank_a, rank_b, labels = population(name)
        assert rank_a.size == labels.size == N
        for rank in (rank_a, rank_b):
            here = np.sort(rank[rank < BEYOND])
            assert here.tolist() == list(range(1, here.size + 1))
        if name == "all gains":
            assert labels[(rank_b <= k) & (rank_a > k)].all()
        if name == "no positive":
            assert not labels.any()
