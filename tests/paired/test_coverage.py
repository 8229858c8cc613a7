"""How often bounds miss over many draws, on ten populations, at 95 % and at 50 %; 1,000 draws of each are slow."""

import itertools
from statistics import NormalDist

import numpy as np
import pytest
from binomial import binomial_tail
from populations import BEYOND, CUTOFFS, POPULATIONS, N, population
from suite_cases import cases, slow

from streameval.kernels import paired_count
from streameval.kernels.hypergeometric import intervals
from streameval.kernels.jit import kernel
from streameval.paired import every, rates
from streameval.paired.bet import BetPlan, walked
from streameval.paired.looks import bet_error, count_error
from streameval.paired.samples import LabelledItems, samples, thresholds

WITHIN = 0.04
SUITE = [*((name, 0.95, 25) for name in POPULATIONS), ("independent", 0.5, 25), ("missing", 0.5, 25)]
WHOLE = itertools.product(POPULATIONS, (0.95, 0.5), (1_000,))
each_population = pytest.mark.parametrize(("name", "confidence", "draws"), SUITE + slow(*WHOLE))
each_confidence = pytest.mark.parametrize("confidence", [0.95, 0.5])


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
                found = walked(plan, (changed.first_a[here] < changed.first_b[here]).astype(int), changed.labels[here])
                miss |= not found.lower[0] <= d <= found.upper[0]
                wrong += found.sign * np.sign(d) < 0
        missed += miss
    print(f"bet {name} {confidence}: {missed} of {draws}; wrong sign {wrong}")
    assert allowed(missed, draws, confidence)


region, probability, variance = paired_count._region, paired_count._probability, paired_count._variance


@kernel
def rejects(gains, losses, true, error, pseudo):
    """Whether the upper limit of two samples rejects the true numbers of positives: D is missed only where it does."""
    items, drawn = np.array([gains[0], losses[0]]), np.array([gains[1], losses[1]])
    positive = np.array([gains[2], losses[2]])
    if (items == drawn).all():
        return False
    alone = drawn.min() == 0
    lower, upper = intervals(positive, positive, drawn, items, 2.0 * error if alone else 0.0025 * error)
    if alone:
        return true[0] - true[1] > upper[0] - lower[1]
    if true[0] < lower[0] or true[0] > upper[0] or true[1] < lower[1] or true[1] > upper[1]:
        return True
    seen, d = gains[0] / gains[1] * gains[2] - losses[0] / losses[1] * losses[2], true[0] - true[1]
    if d <= seen:
        return False
    spread = np.sqrt(variance(gains, float(gains[2]), pseudo) + variance(losses, float(losses[2]), pseudo))
    look, box = (seen, spread, pseudo, 0.995 * error), (true[0], true[0], true[1], true[1])
    edge = region((gains, losses), look, box, d, d)
    return probability((gains, losses), edge, true[0], true[1], 4.2 + np.sqrt(2 * pseudo)) <= look[3]


def pseudo_of(error):
    return max(1.0, NormalDist().inv_cdf(1 - error) ** 2 / 2)


def drawn_at_every_rank(name, confidence, draws):
    """Samples of the ranks at which not everything is drawn, their share of the error, and what changed, by draw."""
    width = 0.03 if name == "small noise" else 0.15  # so little changes there that nothing would be drawn
    ranks, rng = every.grid(N, width), np.random.default_rng(9)
    changed = Changed(name, ranks)
    planned, bounded = every.probabilities(changed.gains, changed.losses, ranks, within=width, confidence=confidence)
    item = rates.item_probability(changed.first_a, changed.first_b, planned)
    positive, first = changed.labels == 1, ranks.size - bounded
    truth = [Changed.count(*side, ranks.size, positive & (item < 1)).tolist()[first:] for side in changed.sides]
    error = count_error(confidence, bounded, "one")
    for _ in range(draws):
        yield [*zip(changed.sampled(planned, item, rng)[first:], *truth, strict=True)], error, changed


@each_confidence
@pytest.mark.parametrize("name", cases(POPULATIONS, "independent", "missing"))
def test_some_of_every_rank(name, confidence):
    """The bounds themselves, at some of the ranks that share the error."""
    missed, draws = 0, 25
    for found, error, changed in drawn_at_every_rank(name, confidence, draws):
        first = changed.gains.size - len(found)
        limits = [(one.limits(error), changed.differences[first + at]) for at, (one, *_) in [*enumerate(found)][::27]]
        missed += any(not low <= d <= high for (low, high), d in limits)
    assert allowed(missed, draws, confidence)


@pytest.mark.slow
@each_confidence
@pytest.mark.parametrize("name", POPULATIONS)
def test_every_rank(name, confidence):
    """The true point, rejected at any rank of the grid: whenever a computed bound misses, it is."""
    missed, draws = 0, 1_000
    for found, error, _ in drawn_at_every_rank(name, confidence, draws):
        pseudo = pseudo_of(error)
        missed += any(
            rejects(one.gains.counted(), one.losses.counted(), (g, lost), error, pseudo)
            or rejects(one.losses.counted(), one.gains.counted(), (lost, g), error, pseudo)
            for one, g, lost in found
        )
    print(f"every {name} {confidence}: {missed} of {draws}; {len(found)} ranks")
    assert allowed(missed, draws, confidence)


def test_a_point_that_is_missed_is_rejected():
    """What the test of every rank looks at contains every miss of the bounds themselves, side by side."""
    rng, seen = np.random.default_rng(10), 0
    for error in (0.3, 0.1):
        for _ in range(150):
            sizes, drawn = rng.integers(5, 60, 2), rng.integers(1, 5, 2)
            true = rng.integers(0, sizes + 1)
            found = rng.hypergeometric(true, sizes - true, drawn)
            sides = [paired_count_side(*one) for one in zip(sizes, drawn, found, strict=True)]
            upper = paired_count.most_difference(*sides, error, pseudo_of(error))
            missed = upper < true[0] - true[1]
            seen += missed
            assert not missed or rejects.plain()(*sides, (int(true[0]), int(true[1])), error, pseudo_of(error))
    assert seen > 10


def paired_count_side(size, drawn, positive):
    return int(size), int(drawn), int(positive), int(positive)


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
