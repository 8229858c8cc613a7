"""Bounds at any time: martingales over all orders of small populations, gaps, the sign, and what is looked at twice."""

import itertools
import math

import numpy as np
import pytest
from suite_cases import examples

from streameval.errors import InputError
from streameval.kernels.paired_bet import bet_path, bet_steps, least_totals
from streameval.paired.bet import LOST, WAITING, BetPlan, limits_of_walk
from streameval.paired.looks import intersect

MIXTURE = np.array([0.3, 0.75, 1.5, 3.0])


def orders(*counts):
    """Every distinct order of items of so many of each kind, all equally likely."""
    kinds = [kind for kind, count in enumerate(counts) for _ in range(count)]
    return sorted(set(itertools.permutations(kinds)))


def populations(most):
    """Sizes of two classes (the second may be empty), and how many of each have z = 1."""
    for first in range(1, most + 1):
        for second in range(most + 1 - first):
            for ones in itertools.product(range(first + 1), range(second + 1)):
                yield (first, second), ones


def path_of(steps, stakes, items, total):
    path = np.full(steps[0].size + 1, math.nan)
    path[0] = math.inf
    bet_path(steps, stakes, items, total, path)
    return path


def naive(classes, z, sizes, expected, stakes, total):
    """The formula, as it is written."""
    items, wealth, path = sum(sizes), np.ones(len(stakes)), [1.0]
    for t in range(len(z)):
        f = [
            (sum(v for c, v in zip(classes[:t], z[:t], strict=True) if c == g) + 2 * q) / (classes[:t].count(g) + 2)
            for g, q in enumerate(expected)
        ]
        left = [size - classes[:t].count(g) for g, size in enumerate(sizes)]
        mean = sum(a * b for a, b in zip(f, left, strict=True)) / sum(left)
        low = max(a for a, b in zip(f, left, strict=True) if b) - mean
        mu = (total - sum(z[:t])) / (items - t)
        stake = np.minimum(stakes, 0.95 / max(low + mu, 1e-9))
        wealth = wealth * (1 + stake * (z[t] - f[classes[t]] + mean - mu))
        path.append(wealth.mean())
    return path


@pytest.mark.parametrize("stakes", [np.array([0.3]), np.array([1.5]), MIXTURE])
@pytest.mark.parametrize("learned", [0, 1])
def test_it_is_a_martingale_over_all_orders(stakes, learned):
    """The mean is 1 after any number of labels, for every population of up to five or six items in one class or two."""
    for sizes, ones in populations(examples(5, 6)):
        total, paths = sum(ones), []
        for order in orders(ones[0], sizes[0] - ones[0], ones[1], sizes[1] - ones[1]):
            classes, z = np.array(order) // 2, 1 - np.array(order, np.int8) % 2
            steps = bet_steps(classes, z, np.full(z.size, learned, np.int8), np.array(sizes), np.array([0.5, 0.8]))
            paths.append(path_of(steps, stakes, sum(sizes), total))
        assert np.min(paths) >= 0
        assert np.mean(paths, axis=0) == pytest.approx(1.0, abs=1e-12)


def test_it_is_what_the_formula_says_and_falls_in_the_total():
    rng = np.random.default_rng(3)
    for _ in range(60):
        sizes = tuple(rng.integers(1, 9, 3))
        classes = rng.permutation(np.repeat([0, 1, 2], sizes))[: rng.integers(1, sum(sizes) + 1)]
        z, expected = rng.integers(0, 2, classes.size).astype(np.int8), rng.random(3)
        steps = bet_steps(classes, z, np.ones(z.size, np.int8), np.array(sizes), expected)
        possible = range(z.sum(), sum(sizes) - int((1 - z).sum()) + 1)
        paths = [path_of(steps, MIXTURE, sum(sizes), total) for total in possible]
        for total, path in zip(possible, paths, strict=True):
            assert path == pytest.approx(naive([*classes], [*z], sizes, expected, MIXTURE, total), rel=1e-9)
        assert (np.diff(paths, axis=0) <= 1e-12 * np.array(paths)[:-1]).all()


def test_a_class_that_runs_out_does_not_divide_by_nothing():
    """All of one class drawn, and no z left: low and μ are both 0, or what rounding leaves of them."""
    steps = bet_steps(np.array([0, 0, 1, 1]), np.zeros(4, np.int8), np.ones(4, np.int8), np.array([2, 2]), np.zeros(2))
    assert path_of(steps, MIXTURE, 4, 0).tolist() == [1, 1, 1, 1, 1]


def test_no_population_is_missed_more_often_than_allowed_at_any_time():
    """Bounds and sign, after every label of every order."""
    for gains, losses in examples(((3, 2), (1, 4), (5, 0), (0, 5)), ((3, 3), (4, 2), (5, 1), (6, 0), (0, 6))):
        for error, predictions in itertools.product((0.4, 0.2), ("planned", "learned")):
            plan = BetPlan(np.array([gains, losses]), np.array([False, True]), error, 4, predictions)
            for positive in itertools.product(range(gains + 1), range(losses + 1)):
                d, each, missed = positive[0] - positive[1], 0, [0, 0, 0]
                for order in orders(positive[0], gains - positive[0], positive[1], losses - positive[1]):
                    labels = 1 - np.array(order, np.int8) % 2
                    found = limits_of_walk(plan, np.array(order) // 2, labels, np.arange(labels.size + 1))
                    each += 1
                    missed[0] += (found.lower > d).any()
                    missed[1] += (found.upper < d).any()
                    missed[2] += found.sign * d < 0 or (found.sign != 0 and d == 0)
                assert max(missed[:2]) <= error * each
                assert missed[2] <= (error if d else 2 * error) * each


def simulated(rng, sizes, shares, labels):
    """A random order of gains and losses, with independent labels."""
    classes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))[:labels]
    return classes, (rng.random(labels) < np.array(shares)[classes]).astype(np.int8)


def plan_of(sizes, **options):
    options = {"error": 0.025, "labels": 2_000} | options
    return BetPlan(np.array(sizes), np.arange(len(sizes)) % 2 == 1, **options)


@pytest.mark.parametrize("predictions", ["planned", "learned"])
def test_bounds_only_narrow_and_those_of_all_labels_are_those_of_each_beginning(predictions):
    rng = np.random.default_rng(5)
    plan = plan_of((5_000, 4_000), predictions=predictions)
    classes, labels = simulated(rng, (5_000, 4_000), (0.6, 0.5), 600)
    at = np.array([0, 1, 50, 200, 599, 600])
    found = limits_of_walk(plan, classes, labels, at)
    assert (found.lower[0], found.upper[0]) == (-4_000, 5_000)
    assert (np.diff(found.lower) >= 0).all()
    assert (np.diff(found.upper) <= 0).all()
    for i, n in enumerate(at):
        alone = limits_of_walk(plan, classes[:n], labels[:n])
        assert (alone.lower[0], alone.upper[0]) == (found.lower[i], found.upper[i])


def test_exchanging_the_rankings_mirrors_the_bounds():
    rng = np.random.default_rng(6)
    classes, labels = simulated(rng, (900, 700), (0.6, 0.5), 500)
    for predictions in ("planned", "learned"):
        found = limits_of_walk(plan_of((900, 700), predictions=predictions), classes, labels)
        other = limits_of_walk(plan_of((700, 900), predictions=predictions), 1 - classes, labels)
        assert (found.lower, found.upper) == (-other.upper, -other.lower)
        assert (found.sign, found.decided_at) == (-other.sign, other.decided_at)


def test_the_sign_is_decided_when_zero_is_first_outside():
    rng = np.random.default_rng(7)
    plan = plan_of((50_000, 50_000))
    for shares, sign in (((0.7, 0.5), 1), ((0.5, 0.7), -1), ((0.5, 0.5), 0)):
        classes, labels = simulated(rng, (50_000, 50_000), shares, 1_500)
        found = limits_of_walk(plan, classes, labels)
        assert found.sign == sign
        if sign:
            near = limits_of_walk(plan, classes, labels, np.array([found.decided_at - 1, found.decided_at]))
            outside = near.lower > 0 if sign > 0 else near.upper < 0
            assert outside.tolist() == [False, True]
        else:
            assert found.decided_at == 0


@pytest.mark.slow
def test_the_sign_takes_about_the_labels_that_were_published():
    """.70 against .50: a median of 184, where Wald's floor is 176; 60 runs are within a fifth of it."""
    rng = np.random.default_rng(8)
    plan = plan_of((10**6, 10**6))
    runs = [limits_of_walk(plan, *simulated(rng, (10**6, 10**6), (0.7, 0.5), 1_200)) for _ in range(60)]
    assert all(run.sign == 1 for run in runs)
    assert 150 < np.median([run.decided_at for run in runs]) < 225


def test_every_label_decides_everything():
    classes, labels = simulated(np.random.default_rng(9), (12, 9), (0.6, 0.5), 21)
    found = limits_of_walk(plan_of((12, 9)), classes, labels)
    d = labels[classes == 0].sum() - labels[classes == 1].sum()
    assert (found.lower[0], found.upper[0]) == (d, d)


# gaps


def test_gaps_only_widen_whatever_they_are_and_are_filled_later():
    rng = np.random.default_rng(10)
    plan = plan_of((300, 200), labels=100)
    classes, labels = simulated(rng, (300, 200), (0.9, 0.4), 100)
    at = np.arange(0, 101, 10)
    whole = limits_of_walk(plan, classes, labels, at)
    for _ in range(20):
        gaps = rng.random(100) < 0.3 * rng.random()
        for mark in (WAITING, LOST):
            found = limits_of_walk(plan, classes, np.where(gaps, mark, labels), at)
            assert (found.lower <= whole.lower).all()
            assert (found.upper >= whole.upper).all()
            assert found.sign in (0, whole.sign)


def test_a_walk_that_learns_stops_at_what_is_not_declared_lost():
    rng = np.random.default_rng(11)
    plan = plan_of((300, 200), predictions="learned")
    classes, labels = simulated(rng, (300, 200), (0.9, 0.4), 100)
    labels[40] = WAITING
    stopped, beginning = limits_of_walk(plan, classes, labels), limits_of_walk(plan, classes[:40], labels[:40])
    assert (stopped.lower, stopped.upper) == (beginning.lower, beginning.upper)
    labels[40] = LOST
    found = limits_of_walk(plan, classes, labels)
    assert found.upper - found.lower < stopped.upper - stopped.lower


def test_what_is_lost_by_the_past_and_the_label_misses_no_more():
    """Every second positive that follows a positive is lost: each order of six items, with predictions that learn."""
    for positive in itertools.product(range(4), range(4)):
        plan = BetPlan(np.array([3, 3]), np.array([False, True]), 0.3, 4, "learned")
        d, each, missed = positive[0] - positive[1], 0, [0, 0]
        for order in orders(positive[0], 3 - positive[0], positive[1], 3 - positive[1]):
            labels = 1 - np.array(order, np.int8) % 2
            labels[1:][(labels[1:] == 1) & (labels[:-1] == 1)] = LOST
            found = limits_of_walk(plan, np.array(order) // 2, labels)
            each += 1
            missed[0] += found.lower[0] > d
            missed[1] += found.upper[0] < d
        assert max(missed) <= 0.3 * each


def test_losing_in_hindsight_would_be_wrong_for_a_walk_that_learns():
    """A first item is lost, or not, by what comes behind it: why it has to be declared before."""
    worst = 0.0
    for sizes, ones in populations(4):
        total, best = sum(ones), []
        for order in orders(ones[0], sizes[0] - ones[0], ones[1], sizes[1] - ones[1]):
            classes, z = np.array(order) // 2, 1 - np.array(order, np.int8) % 2
            paths = []
            for lost in itertools.product((0, 1), repeat=z.size):
                known = (z * (1 - np.array(lost))).astype(np.int8)
                steps = bet_steps(classes, known, 1 - np.array(lost, np.int8), np.array(sizes), np.full(2, 0.5))
                paths.append(path_of(steps, np.array([1.5]), sum(sizes), total))
            best.append(np.nanmax(np.array(paths), axis=0))
        worst = max(worst, np.mean(best, axis=0).max())
    assert worst > 1.05


# both looks


def test_the_bounds_of_both_looks_meet():
    count, bet = (np.array([-3, 5]), np.array([9, 7])), (np.array([0, 8]), np.array([12, 9]))
    lower, upper = intersect(count, bet)
    assert lower.tolist() == [0, 5]
    assert upper.tolist() == [9, 7]


def test_impossible_walks_are_refused():
    with pytest.raises(InputError, match="class"):
        limits_of_walk(plan_of((2, 3)), np.array([0, 0, 0]), np.array([1, 1, 0]))
    with pytest.raises(InputError, match="probability"):
        plan_of((2, 3), error=0.0)


def test_the_least_total_is_the_first_that_is_not_refused():
    rng = np.random.default_rng(12)
    z = (rng.random(80) < 0.8).astype(np.int8)
    steps = bet_steps(np.zeros(80, np.int64), z, np.zeros(80, np.int8), np.array([200]), np.array([0.5]))
    stakes = plan_of((200, 0), labels=80).stakes
    found = least_totals(steps, stakes, 200, 40.0, np.arange(81))
    reached = np.array([np.nanmax(path_of(steps, stakes, 200, total)) for total in range(201)]) >= 40
    assert found[-1] == np.argmin(reached)
    assert 0 < found[-1] < 200


@pytest.mark.parametrize("known", [(0, 0), (3, 5), (-4, -4), (-2, 6)])
def test_what_was_known_moves_bounds_and_the_sign(known):
    """Against bounds that are looked at after every label: the sign is decided as soon as they exclude 0."""
    rng = np.random.default_rng(3)
    sizes, losses = np.array([40, 30]), np.array([False, True])
    for share in (0.1, 0.5, 0.95):
        classes = rng.permutation(np.repeat([0, 1], sizes))
        labels = (rng.random(70) < np.where(classes == 0, share, 0.3)).astype(np.int8)
        plain = limits_of_walk(BetPlan(sizes, losses, 0.1, 70), classes, labels, np.arange(71))
        moved = limits_of_walk(BetPlan(sizes, losses, 0.1, 70, known=known), classes, labels, np.arange(71))
        assert np.array_equal(moved.lower, plain.lower + known[0])
        assert np.array_equal(moved.upper, plain.upper + known[1])
        decided = np.flatnonzero((moved.lower > 0) | (moved.upper < 0))
        assert (moved.sign, moved.decided_at) == (
            (0, 0) if not decided.size else (1 if moved.lower[decided[0]] > 0 else -1, decided[0])
        )
