"""The band of independent draws: an exact martingale by enumeration, its naive twin, missing labels, and the draw."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from binomial import binomial_tail
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import cases, examples, slow

from streameval.kernels.draw import draw_independent
from streameval.kernels.martingale import bounds, evidence
from streameval.kernels.mixture import mixture_roots
from streameval.kernels.stakes import MEMORY, PRIOR
from streameval.methods import create
from streameval.methods.loguniform.design import blocks, close_bounds, mixture
from streameval.types import Labels

# blocks of at most 6 ranks, and the chance of each to be drawn
DESIGNS = [
    ([1, 2, 4, 6], [1.0, 0.6, 0.5, 0.3]),
    ([4], [0.25]),
    ([1, 2, 3, 4], [0.9, 0.6, 0.4, 0.1]),
    ([1, 2, 4], [0.9, 0.5, 0.2]),
    ([1, 2, 3, 4, 5], [0.9, 0.7, 0.5, 0.3, 0.1]),
    ([6], [0.25]),
]


def counted(chosen, ends, judge, classes):
    """How many of the chosen ranks are in each block and class."""
    out = np.zeros((len(ends), classes))
    np.add.at(out, (np.searchsorted(ends, np.flatnonzero(chosen) + 1), judge[chosen]), 1.0)
    return out


def of_all(items, rate):
    """Blocks of which every rank is judged."""
    return items.sum(axis=1), np.ones(rate.size), rate


def judges_of(n, classes):
    every = list(product(range(classes), repeat=n))
    return [np.array(one) for one in every[:: max(1, len(every) // 8)]]


@pytest.mark.parametrize(
    ("ends", "rate", "classes"),
    [
        *((*one, 1) for one in DESIGNS[:3]),
        (*DESIGNS[3], 2),
        *slow((*DESIGNS[4], 1), *((*one, 2) for one in DESIGNS[:3] + DESIGNS[4:]), *((*one, 3) for one in DESIGNS)),
    ],
)
def test_the_mean_over_all_draws_is_one_for_every_list_and_judge(ends, rate, classes):
    """exp(μY + S) at the end of every block, over every draw: at most 1 by a rounding error, and not less."""
    n, ends, rate = ends[-1], np.array(ends), np.array(rate)
    at, mu, prior = (
        np.searchsorted(ends, np.arange(1, n + 1)),
        np.array([0.05, 0.4, 2.0]),
        np.linspace(0.2, 0.8, classes),
    )
    draws = [np.array(one, bool) for one in product([0, 1], repeat=n)]
    chance = [float(np.prod(np.where(one, rate[at], 1 - rate[at]))) for one in draws]
    for judge in judges_of(n, classes):
        items = counted(np.ones(n, bool), ends, judge, classes)
        for truth in product([0, 1], repeat=n):
            v = np.array(truth, bool)
            y, mean = np.cumsum(v)[ends - 1], np.zeros((ends.size, mu.size))
            for one, p in zip(draws, chance, strict=True):
                if p > 0:
                    found = counted(one & v, ends, judge, classes)
                    drawn = counted(one, ends, judge, classes)
                    mean += p * np.exp(
                        mu * y[:, None] + evidence(of_all(items, rate), items, drawn, (found, found), prior, mu)
                    )
            assert np.abs(mean - 1).max() < 1e-12


def test_the_step_of_the_proof_is_exact_in_whole_numbers():
    """(1−π)(1−πD) + π·e^s is 1 for a negative and 1 − ε for a positive, in fractions, for any D."""
    for tenth, stake, less in product(range(1, 10), range(5), range(1, 10)):
        rate, d, epsilon = Fraction(tenth, 10), Fraction(stake, 4), Fraction(less, 10)
        untaken, e = 1 - rate * d, 1 + (1 - rate) * d
        assert (1 - rate) * untaken + rate * e == 1
        assert (1 - rate) * untaken + rate * (e - epsilon / rate) == 1 - epsilon


def naive(ends, rate, items, drawn, found, prior, mu):
    """S from the definition, rank by rank: the stake by its quadratic, predictions by their sums."""
    total, out = 0.0, []
    for j in range(len(ends)):
        for g, first in enumerate(prior):
            later = [sum(drawn[h][g] for h in range(i + 1, j)) for i in range(j)]
            past = [(ends[i] / ends[j - 1] * math.exp(-later[i] / MEMORY), drawn[i][g], found[i][g]) for i in range(j)]
            weight = PRIOR + sum(fade * n for fade, n, _ in past)
            q = (PRIOR * first + sum(fade * k for fade, _, k in past)) / weight
            y = (1 - math.exp(-mu)) / rate[j]
            b = 1 - y * (1 - rate[j] * q)
            stake = (math.sqrt(b * b + 4 * (1 - rate[j]) * y * q) - b) / (2 * (1 - rate[j])) if rate[j] < 1 else 0.0
            n, k = drawn[j][g], found[j][g]
            e = 1 + (1 - rate[j]) * stake
            total += (items[j][g] - n) * math.log(1 - rate[j] * stake) + (n - k) * math.log(e)
            total += k * (math.log(e - y) if rate[j] < 1 else -mu)
        out.append(total)
    return out


@pytest.mark.parametrize("precision", [0.0, 0.03, 0.5, 1.0])
def test_bounds_are_the_roots_of_all_the_evidence_although_some_is_dropped(precision):
    rng, design = np.random.default_rng(5), blocks(10**8, 60.0)
    drawn = rng.binomial(design.items, design.rate)[:, None] * 1.0
    found = rng.binomial(drawn.astype(int), precision) * 1.0
    items, prior, mu = design.items[:, None] * 1.0, np.array([0.5]), mixture(design, 0.25)
    low, high = bounds(design.phases, items, drawn, (found, found), prior, (mu, 0.05))
    threshold = np.full(design.ends.size, math.log(2 / 0.05) + math.log(mu.size))
    above = mixture_roots(mu, evidence(design.phases, items, drawn, (found, found), prior, mu), threshold)
    other = drawn - found
    below = mixture_roots(mu, evidence(design.phases, items, drawn, (other, other), 1 - prior, mu), threshold)
    assert high == pytest.approx(above, rel=1e-12)
    assert design.ends - low == pytest.approx(below, rel=1e-12)


@given(st.integers(1, 10**12), st.floats(0.1, 1e5), st.floats(1e-6, 0.25), st.floats(1e-6, 0.25))
@settings(deadline=None)
def test_no_mu_is_so_large_that_rounding_counts(n_items, density, variance, least):
    assert mixture(blocks(n_items, density), variance, least).max() <= 3 * (1 + 1e-9)


@pytest.mark.parametrize(("classes", "c"), [(1, 3.0), (1, 12.0), (3, 3.0), *slow((1, 30.0), (3, 30.0))])
def test_the_evidence_agrees_with_its_naive_twin(classes, c):
    rng, design = np.random.default_rng(int(c)), blocks(1_000, c)
    items = rng.multinomial(design.items, np.full(classes, 1 / classes)).astype(float)
    drawn = np.where(design.rate[:, None] < 1, rng.binomial(items.astype(int), design.rate[:, None]), items)
    found = rng.binomial(drawn.astype(int), 0.7).astype(float)
    prior, mu = np.full(classes, 0.5), np.array([0.002, 0.05, 1.5])
    got = evidence(design.phases, items, drawn, (found, found), prior, mu)
    for m, one in enumerate(mu):
        assert got[:, m] == pytest.approx(naive(design.ends, design.rate, items, drawn, found, prior, one), rel=1e-9)


def test_small_rates_keep_their_digits():
    """A block of 10⁸ ranks that nobody drew: −μ·expected positives and a little, to twelve digits."""
    from decimal import Decimal, getcontext

    getcontext().prec = 60
    rate, mu, w, q = Decimal("1e-8"), Decimal("1e-9"), 10**8, Decimal("0.5")
    y = (1 - (-mu).exp()) / rate
    b = 1 - y * (1 - rate * q)
    stake = ((b * b + 4 * (1 - rate) * y * q).sqrt() - b) / (2 * (1 - rate))
    exact = w * (1 - rate * stake).ln()
    none = np.zeros((1, 1))
    items = np.array([[float(w)]])
    phases = of_all(items, np.array([float(rate)]))
    got = evidence(phases, items, none, (none, none), np.array([0.5]), np.array([1e-9]))
    assert got[0, 0] == pytest.approx(float(exact), rel=1e-12)


def test_a_label_changes_no_stake_at_or_above_its_block():
    """What the labels of block j say enters S of block j alone by its counts, and stakes from block j + 1 on."""
    rng, design = np.random.default_rng(1), blocks(5_000, 20.0)
    items = design.items.astype(float)[:, None]
    drawn = np.where(design.rate < 1, rng.binomial(design.items, design.rate), design.items).astype(float)[:, None]
    found, mu = np.floor(drawn / 2), mixture(design, 0.25)
    whole = evidence(design.phases, items, drawn, (found, found), np.array([0.5]), mu)
    for j in np.flatnonzero((drawn[:, 0] > 0) & (design.rate < 1))[::9]:
        other = found.copy()
        other[j:] = drawn[j:] - other[j:]
        changed = evidence(design.phases, items, drawn, (other, other), np.array([0.5]), mu)
        assert np.array_equal(changed[:j], whole[:j])
        emptied = drawn.copy()
        emptied[j:] = 0
        fewer = evidence(design.phases, items, emptied, (np.minimum(found, emptied),) * 2, np.array([0.5]), mu)
        assert np.array_equal(fewer[:j], whole[:j])


@settings(max_examples=examples(24, 60), deadline=None)
@given(n=st.integers(1, 8), seed=st.integers(0, 2**32), classes=st.integers(1, 2))
def test_missing_labels_are_the_worst_of_their_completions(n, seed, classes):
    rng = np.random.default_rng(seed)
    rate, ends = np.concatenate([[1.0], rng.uniform(0.05, 0.95, n - 1)]), np.arange(1, n + 1)
    judge, drawn_at = rng.integers(0, classes, n), rng.random(n) < np.maximum(rate, 0.5)
    drawn_at[0] = True
    value, missing = rng.random(n) < 0.5, drawn_at & (rng.random(n) < 0.5)
    items, drawn = (counted(one, ends, judge, classes) for one in (np.ones(n, bool), drawn_at))
    low, high = (counted(drawn_at & one, ends, judge, classes) for one in (value & ~missing, value | missing))
    setting = (np.full(classes, 0.5), (np.array([0.1, 0.9]), 0.3))
    wide = bounds(of_all(items, rate), items, drawn, (low, high), *setting)
    for some in product([False, True], repeat=int(missing.sum())):
        filled = value.copy()
        filled[missing] = some
        found = counted(drawn_at & filled, ends, judge, classes)
        narrow = bounds(of_all(items, rate), items, drawn, (found, found), *setting)
        assert np.all(wide[0] <= narrow[0] + 1e-9)
        assert np.all(wide[1] >= narrow[1] - 1e-9)


def test_every_rank_is_drawn_by_itself_at_its_rate():
    """Seeds on six ranks: every joint outcome as often as the product of its probabilities says (χ², p = 1e-4)."""
    ends, rate = np.array([1, 3, 6]), np.array([1.0, 0.6, 0.25])
    at = np.searchsorted(ends, np.arange(1, 7))
    counts, seeds = np.zeros(64), examples(20_000, 100_000)
    for seed in range(seeds):
        counts[(1 << (draw_independent(ends, rate, np.uint64(seed)) - 1)).sum()] += 1
    outcomes = np.array([[code >> r & 1 for r in range(6)] for code in range(64)], bool)
    expected = seeds * np.prod(np.where(outcomes, rate[at], 1 - rate[at]), axis=1)
    assert counts[expected == 0].sum() == 0
    seen = expected > 0
    assert seen.sum() == 32
    assert np.sum((counts[seen] - expected[seen]) ** 2 / expected[seen]) < 75  # 31 degrees of freedom


def test_later_looks_draw_more_of_the_same_and_each_at_its_rate():
    method = create("loguniform", {"budget": 8, "stages": 3, "growing": True})
    n, runs = 30, examples(150, 1_500)
    counts, ends = np.zeros((4, n)), method.rates(n)[0]
    for seed in range(runs):
        plan = method.plan(n, seed)
        grown = method.enlarged(plan, 3)
        assert set(plan.ranks) <= set(grown.ranks)
        look = grown.table.column("look").to_numpy()
        for which in (1, 2, 3):
            counts[which, grown.ranks[look <= which] - 1] += 1
        assert np.array_equal(grown.ranks[look == 1], plan.ranks)
    for which in (1, 2, 3):
        rate = method._at_look(plan, which).rate[np.searchsorted(ends, np.arange(1, n + 1))]
        assert np.all(np.abs(counts[which] - runs * rate) <= 4.5 * np.sqrt(runs * rate * (1 - rate)) + 1e-9)


@settings(max_examples=examples(10, 25), deadline=None)
@given(n=st.integers(1, 2_000), c=st.floats(2.5, 100), seed=st.integers(0, 2**32), share=st.floats(0, 1))
def test_bounds_at_blocks_close_as_the_envelope_does(n, c, seed, share):
    """The forecast's half-width is at least that of the envelope, which knows where labels are."""
    from streameval.methods.loguniform.design import half_width

    rng, method = np.random.default_rng(seed), create("loguniform", {"budget": blocks(n, c).labels})
    plan = method.plan(n, seed)
    truth = (rng.random(n) < share).astype(np.int8)
    curve = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1]))
    design = method._at_look(plan, 1)
    points, _ = method._points(plan, Labels.of(plan, truth[plan.ranks - 1]))
    counts = [np.bincount(plan.table.column("stratum").to_numpy()[chosen], minlength=design.ends.size).astype(float)
              for chosen in (np.ones(plan.ranks.size, bool), truth[plan.ranks - 1] == 1)]  # fmt: skip
    low, high = close_bounds(design, (counts[0], counts[1]), (points.lower, points.upper))
    at_ends = curve.envelope.at(design.ends)
    assert np.all(low <= at_ends[0])
    assert np.all(at_ends[1] <= high)
    if curve.envelope.consistent:
        assert (
            half_width(design, (counts[0], counts[1]), (points.lower, points.upper)) >= curve.half_width().alpha - 1e-9
        )


@pytest.mark.parametrize("n_items", cases([1, 2, 10, 100, 1000, 10**6], 1, 10, 1000, 10**6))
@pytest.mark.parametrize("confidence", cases([0.5, 0.9, 0.999], 0.5, 0.9))
def test_the_whole_curve_is_held_on_adversarial_lists(n_items, confidence):
    """First half of each block positive: draws of counts, judged by a binomial test at 1e-5."""
    design = blocks(n_items, 40.0)
    positive = (design.items + 1) // 2
    y, mu, rng, missed = np.cumsum(positive), mixture(design, 0.25), np.random.default_rng(1), 0
    draws, items = examples(50, 150), design.items.astype(float)[:, None]
    for _ in range(draws):
        found = rng.binomial(positive, design.rate).astype(float)
        drawn = found + rng.binomial(design.items - positive, design.rate)
        one = (found[:, None], found[:, None])
        low, high = bounds(design.phases, items, drawn[:, None], one, np.array([0.5]), (mu, 1 - confidence))
        missed += bool(np.any((y < low - 1e-6) | (y > high + 1e-6)))
    assert binomial_tail(draws, missed, 1 - confidence) > 1e-5
