"""Evidence of one side: every list of up to six items in every order, in exact fractions, and what would break it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from suite_cases import LONG

from streameval.sequential.evidence import EProcess

NULLS = [(items, most) for items in range(1, 7) for most in range(items)]


def orders(items, wins):
    """Every order of so many wins among the items, each equally likely."""
    for places in itertools.combinations(range(items), wins):
        yield [int(i in places) for i in range(items)]


def exact(side, wins, losses, impossible_first=True):
    """E as its formula says, in fractions; None where it is infinite."""
    if wins > side.most:
        return None
    total = Fraction(0)
    for one, weight in zip(side.alternatives, side.weights, strict=True):
        if impossible_first and losses > side.items - one:
            continue
        term = Fraction(weight).limit_denominator(10**6)
        for j in range(wins):
            term *= Fraction(one - j, side.most - j)
        for j in range(losses):
            term *= Fraction(side.items - one - j, side.items - side.most - j)
        total += term
    return total


def path(side, order):
    """E after 0, 1, 2... labels, as the program computes it."""
    wins = np.concatenate([[0], np.cumsum(order)])
    return np.exp(side.log_evidence(wins, np.arange(wins.size) - wins))


def worst(evidence):
    """The largest x P(E >= x) over all x, of the largest E of each order."""
    largest = np.sort([np.max(one) for one in evidence])[::-1]
    above = np.searchsorted(-largest, -largest * (1 - 1e-12), "right")
    return float(np.max(largest * above / largest.size))


def kinds(items, most):
    """The side that is planned, one with expectations, and one that looks at a single alternative."""
    yield EProcess.plan(items, most)
    yield EProcess.plan(items, most, [items, most, min(items, most + 2)])
    yield EProcess(items, most, (most + 1,), (1.0,))


@pytest.mark.parametrize(("items", "most"), NULLS)
def test_it_is_what_the_formula_says(items, most):
    for side in kinds(items, most):
        for wins, losses in itertools.product(range(items + 1), repeat=2):
            if wins + losses > items:
                continue
            expected = exact(side, wins, losses)
            found = float(np.exp(side.log_evidence(np.array([wins]), np.array([losses]))[0]))
            assert found == (math.inf if expected is None else pytest.approx(float(expected), rel=1e-12, abs=0))


@pytest.mark.parametrize(("items", "most"), NULLS)
def test_a_label_adds_nothing_on_average_under_the_null(items, most):
    """A supermartingale from 1 for every list in the null; a martingale at its boundary while wins are left."""
    for side in kinds(items, most):
        assert math.fsum(side.weights) == pytest.approx(1)
        for truth in range(most + 1):
            for wins, losses in itertools.product(range(truth + 1), range(items - truth + 1)):
                left = items - wins - losses
                if not left:
                    continue
                now, win = exact(side, wins, losses), Fraction(truth - wins, left)
                then = win * (exact(side, wins + 1, losses) or 0) + (1 - win) * exact(side, wins, losses + 1)
                assert then <= now
                assert (then == now) or truth < most or wins == most or now == 0


@pytest.mark.parametrize(("items", "most"), NULLS)
def test_it_is_seldom_large_under_the_null(items, most):
    """P(E ever >= x) <= 1/x for every x, over all orders of every list in the null."""
    for side in kinds(items, most):
        for truth in range(most + 1):
            evidence = [path(side, order) for order in orders(items, truth)]
            assert worst(evidence) <= 1 + 1e-12
            if truth == most:
                means = np.mean(evidence, axis=0)
                assert means[: most + 1] == pytest.approx(1)
                assert np.all(means <= 1 + 1e-12)


def test_it_never_falls_when_a_loss_becomes_a_win():
    for items, most in NULLS:
        for side in kinds(items, most):
            for n in range(1, items + 1):
                logs = side.log_evidence(np.arange(n + 1), n - np.arange(n + 1))
                assert np.all(logs[1:] >= logs[:-1])


def test_the_fewest_wins_that_are_enough_are_found():
    for items, most in [*NULLS, (60, 50), (60, 3), (1000, 900)]:
        for side in kinds(items, most):
            least = side.least_wins(math.log(2), items)
            assert np.all(np.diff(least) >= 0)
            for n, found in list(enumerate(least))[:: 1 if LONG or items < 100 else 13]:
                reached = side.log_evidence(np.arange(n + 1), n - np.arange(n + 1)) >= math.log(2)
                assert found == (np.argmax(reached) if reached.any() else n + 1)


def test_a_count_that_is_too_large_proves_it_alone():
    side = EProcess(40, 3)
    wins = np.arange(6)
    assert side.log_evidence(wins, 6 - wins).tolist() == [-math.inf] * 4 + [math.inf] * 2
    assert EProcess(40, -1).log_evidence(np.array([0]), np.array([0])) == [math.inf]
    assert EProcess.plan(40, 40).alternatives == ()  # nothing can prove that there are more


# what would break it


def test_alternatives_taken_from_the_labels_would_be_wrong():
    singles = [EProcess(6, 3, (one,), (1.0,)) for one in (4, 5, 6)]
    assert worst([np.max([path(side, order) for side in singles], axis=0) for order in orders(6, 3)]) > 1.05


def test_a_threshold_chosen_after_looking_would_be_wrong():
    """Either side may then be the wrong one: the precision is below a threshold, and not below the next."""
    low, high = EProcess.plan(6, 3), EProcess.plan(6, 3)
    flipped = [[1 - label for label in order] for order in orders(6, 3)]
    both = [np.maximum(path(low, o), path(high, f)) for o, f in zip(orders(6, 3), flipped, strict=True)]
    assert worst(both) > 1.5


def test_leaving_out_missing_labels_would_be_wrong():
    """Who skips what is negative would prove anything."""
    side = EProcess.plan(6, 3)
    assert worst([path(side, [1] * sum(order)) for order in orders(6, 3)]) > 2
    assert worst([path(side, [0 * label for label in order]) for order in orders(6, 3)]) <= 1


def test_items_that_are_known_have_to_be_taken_off():
    """Three known wins of eight: of the others at most one is a win; as one of eight it would be a rare one."""
    assert worst([path(EProcess.plan(5, 1), order) for order in orders(5, 1)]) <= 1 + 1e-12
    assert np.mean([path(EProcess(8, 1, (4,), (1.0,)), order)[1] for order in orders(5, 1)]) > 1.1


def test_an_alternative_that_is_impossible_has_to_be_left_out_first():
    """Its factor is 0 from there on; where the null has no losses left either, that is a division by 0."""
    side = EProcess(6, 1, (4,), (1.0,))
    found = np.exp(side.log_evidence(np.array([0, 0, 1, 0]), np.array([2, 3, 4, 6])))
    assert found == pytest.approx([0.1, 0, 0, 0])
    with pytest.raises(ZeroDivisionError):
        exact(side, 0, 6, impossible_first=False)


def test_late_answers_of_known_items_would_be_wrong():
    """A known item was skipped, and counts as a loss; with its answer the null has one win less, in a new test."""
    planned, anew = EProcess(7, 5, (7,), (1.0,)), EProcess(7, 4, (5,), (1.0,))
    assert worst([path(planned, order) for order in orders(7, 4)]) <= 1
    assert worst([np.maximum(path(planned, order), path(anew, order)) for order in orders(7, 4)]) == pytest.approx(1.04)


def test_one_place_for_two_rows_of_an_item_would_be_wrong():
    """Six rows of three items, by a hash of the item: their labels come in pairs."""
    side = EProcess.plan(6, 4)
    pairs = [[label for label in order for _ in range(2)] for order in orders(3, 2)]
    assert worst([path(side, order) for order in pairs]) > 1.05


# numerics


def test_long_lists_lose_no_digits():
    """Against fractions, on 10^12 items; logarithms of quotients near 1 would lose them."""
    for items in (10**6, 10**9, 10**12):
        side = EProcess(items, items // 2, (items // 2 + items // 1000,), (1.0,))
        wins, losses = 700, 650
        found = side.log_evidence(np.array([wins]), np.array([losses]))[0]
        expected = exact(side, wins, losses)
        assert found == pytest.approx(_log(expected), rel=1e-11)


def test_a_path_of_many_labels_is_finite():
    side = EProcess.plan(10**9, 9 * 10**8)
    wins = np.arange(100_001)
    logs = side.log_evidence(wins, np.zeros_like(wins))
    assert np.isfinite(logs).all()
    assert np.all(np.diff(logs) > 0)
    assert np.isfinite(side.log_evidence(np.zeros_like(wins), wins)).all()


def _log(value):
    """The logarithm of a fraction near 1 of two very large numbers."""
    difference = value - 1
    return math.log1p(difference.numerator / difference.denominator) if abs(difference) < 0.5 else (
        math.log(value.numerator) - math.log(value.denominator)
    )  # fmt: skip
