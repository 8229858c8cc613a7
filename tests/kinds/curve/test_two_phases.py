"""Two phases, batches, and a second batch that looks at the first: exact by enumeration, and each at its rate."""

from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import cases, examples, slow

from benchmarks.coverage import binomial_tail
from benchmarks.judges import PAIRS, adversarial
from streameval.judges.classes import judged_in_order
from streameval.judges.values import Judge
from streameval.kernels.martingale import bounds, evidence
from streameval.methods import create
from streameval.methods.loguniform.adaptive import FIRST, densities, of_runs, runs
from streameval.methods.loguniform.design import blocks, with_judged
from streameval.methods.loguniform.draws import batch_of, belong_to, draw
from streameval.methods.loguniform.forecasts import Expected
from streameval.types import Labels

MU = np.array([0.05, 0.4, 2.0])


def counted(chosen, ends, judge, classes):
    out = np.zeros((len(ends), classes))
    np.add.at(out, (np.searchsorted(ends, np.flatnonzero(chosen) + 1), judge[chosen]), 1.0)
    return out


@pytest.mark.parametrize("classes", [1, 2])
@pytest.mark.parametrize(
    ("ends", "judged", "rate"),
    [([1, 2, 4], [1, 0.7, 0.5], [1, 0.6, 0.3]), ([2, 3, 5], [0.8, 0.4, 0.3], [0.5, 1.0, 0.2]), ([4], [0.2], [0.3])],
)
def test_the_mean_of_two_phases_is_one_for_every_list_and_judge(ends, judged, rate, classes):
    """exp(μY + S) over everything that both draws can come to: 0 not judged, 1 judged, 2 drawn too."""
    n, ends, judged, rate = ends[-1], np.array(ends), np.array(judged, float), np.array(rate, float)
    at, width, prior = np.searchsorted(ends, np.arange(1, n + 1)), np.diff(ends, prepend=0) * 1.0, np.full(classes, 0.3)
    chances = np.array([1 - judged, judged * (1 - rate), judged * rate])[:, at]
    draws = [np.array(one) for one in product(range(3), repeat=n)]
    draws = [(one, p) for one in draws if (p := float(np.prod(chances[one, np.arange(n)]))) > 0]
    every = np.array(list(product([False, True], repeat=n)))
    ahead = np.exp(MU * np.cumsum(every, axis=1)[:, ends - 1, None])
    for judge in [np.array(one) for one in product(range(classes), repeat=n)][:: examples(6, 3)]:
        mean = np.zeros((2**n, ends.size, MU.size))
        for one, p in draws:
            items, drawn = counted(one > 0, ends, judge, classes), counted(one == 2, ends, judge, classes)
            seen, like = np.unique(every & (one == 2), axis=0, return_inverse=True)  # lists that the draw tells apart
            found = (counted(labels, ends, judge, classes) for labels in seen)
            gains = [evidence((width, judged, rate), items, drawn, (each, each), prior, MU) for each in found]
            mean += p * ahead * np.exp(gains)[like]
        assert np.abs(mean - 1).max() < 1e-12


@settings(max_examples=examples(15, 80), deadline=None)
@given(n=st.integers(1, 8), seed=st.integers(0, 2**32), classes=st.integers(1, 2))
def test_missing_labels_of_two_phases_are_the_worst_of_their_completions(n, seed, classes):
    rng = np.random.default_rng(seed)
    ends, judged, rate = np.arange(1, n + 1), rng.uniform(0.1, 1, n), rng.uniform(0.05, 1, n)
    judged[0] = rate[0] = 1
    judge, seen = rng.integers(0, classes, n), rng.random(n) < np.maximum(judged, 0.6)
    drawn_at = seen & (rng.random(n) < np.maximum(rate, 0.6))
    seen[0] = drawn_at[0] = True
    value, missing = rng.random(n) < 0.5, drawn_at & (rng.random(n) < 0.5)
    items, drawn = counted(seen, ends, judge, classes), counted(drawn_at, ends, judge, classes)
    low, high = (counted(drawn_at & one, ends, judge, classes) for one in (value & ~missing, value | missing))
    phases, rest = (np.ones(n), judged, rate), (np.full(classes, 0.5), (np.array([0.1, 0.9, 3.0]), 0.3))
    wide = bounds(phases, items, drawn, (low, high), *rest)
    for some in product([False, True], repeat=int(missing.sum())):
        filled = value.copy()
        filled[missing] = some
        found = counted(drawn_at & filled, ends, judge, classes)
        narrow = bounds(phases, items, drawn, (found, found), *rest)
        assert np.all(wide[0] <= narrow[0] + 1e-9)
        assert np.all(wide[1] >= narrow[1] - 1e-9)


@pytest.mark.parametrize(
    ("ends", "judge"),
    [
        ([1, 2, 4, 5], [0] * 5),
        ([1, 3, 4, 5], [1, 0, 1, 2, 2]),
        *slow(([1, 2, 3, 4, 5], [0] * 5), ([1, 2, 4, 5], [0, 1, 1, 0, 1])),
    ],
)
def test_the_mean_of_an_adaptive_plan_is_one_for_every_list(ends, judge):
    """Everything that both batches can come to, rates by the production rule: 0 not drawn, 1 first, 2 second batch."""
    judge, classes = np.array(judge), max(judge) + 1
    of, prior = Expected.from_accuracy(0.3, 0.8 if classes > 1 else None), np.linspace(0.3, 0.7, classes)

    def by_block(chosen, ends):
        return counted(chosen, ends, judge, classes)

    n, ends, most, looked = ends[-1], np.array(ends), 3.0, set()
    at, width, middle = np.searchsorted(ends, np.arange(1, n + 1)), np.diff(ends, prepend=0) * 1.0, ends * 1.0
    first, items = np.minimum(1, FIRST * most / middle), by_block(np.ones(n, bool), ends)

    @cache
    def rates(early, good):
        counts = (by_block(np.array(one), ends) for one in (early, good))
        rate = np.minimum(1, densities(ends, most, *counts, of) / middle)
        looked.add(tuple(rate))
        return rate

    lists = np.array(list(product([False, True], repeat=n)))
    ahead = np.exp(MU * np.cumsum(lists, axis=1)[:, ends - 1, None])
    mean, whole = np.zeros((2**n, ends.size, MU.size)), np.zeros(2**n)
    for one in (np.array(drawn) for drawn in product(range(3), repeat=n)):
        seen, like = np.unique(lists & (one > 0), axis=0, return_inverse=True)  # lists that the draw tells apart
        drawn = by_block(one > 0, ends)
        for at_, v in enumerate(seen):
            rate = rates(tuple(one == 1), tuple(v & (one == 1)))
            chances = np.array([1 - rate, first, rate - first])[:, at]
            p = float(np.prod(chances[one, np.arange(n)]))
            if p > 0:
                found = by_block(v, ends)
                gain = evidence((width, np.ones(ends.size), rate), items, drawn, (found, found), prior, MU)
                mean[like == at_] += p * ahead[like == at_] * np.exp(gain)
                whole[like == at_] += p
    assert whole == pytest.approx(1, abs=1e-12)
    assert np.abs(mean - 1).max() < 1e-12
    assert len(looked) > 3  # the rule did look at labels


def test_labels_at_or_below_a_block_do_not_move_its_density():
    rng, design = np.random.default_rng(4), blocks(50_000, 80.0)
    drawn = rng.binomial(design.items, design.rate * FIRST)[:, None] * 1.0
    found = rng.binomial(drawn.astype(int), np.linspace(0.99, 0.6, design.ends.size)[:, None]) * 1.0
    whole = densities(design.ends, 80.0, drawn, found, Expected.from_accuracy(0.5))
    assert np.unique(whole).size > 3
    assert np.array_equal(of_runs(design.ends, runs(design.ends, whole)), whole)
    for j in range(0, design.ends.size, 37):
        other, fewer = found.copy(), drawn.copy()
        other[j:], fewer[j:] = drawn[j:] - found[j:], 0
        assert np.array_equal(
            densities(design.ends, 80.0, drawn, other, Expected.from_accuracy(0.5))[: j + 1], whole[: j + 1]
        )
        emptied = densities(design.ends, 80.0, fewer, np.minimum(found, fewer), Expected.from_accuracy(0.5))
        assert np.array_equal(emptied[: j + 1], whole[: j + 1])


def test_each_rank_is_judged_labelled_and_early_by_itself_at_its_rates():
    """Thousands of seeds on four ranks: every joint outcome as often as its probabilities say (χ², p = 1e-4)."""
    design = with_judged(blocks(4, 2.0), 3.0)
    design = type(design)(np.array([1, 2, 4]), np.array([1.0, 0.5, 0.3]), np.array([1.0, 0.8, 0.6]))
    parts = [type(design)(design.ends, design.rate * share) for share in ([1, 0.5, 0.25], [1, 0.75, 0.5], [1, 1, 1])]
    at, counts, seeds = np.array([0, 1, 2, 2]), {}, examples(3_000, 20_000)
    for seed in range(seeds):
        rank, judged = draw(design, seed)
        state = np.zeros(4, int)
        state[judged - 1] = 1
        state[rank - 1] = 1 + batch_of(rank, seed, parts)  # 2, 3, 4: the batch from which on it is there
        counts[tuple(state)] = counts.get(tuple(state), 0) + 1
    steps = np.diff([part.rate for part in parts], axis=0, prepend=0)
    chances = np.array([1 - design.judged, design.judged - design.rate, *steps])[:, at]
    expected = {one: seeds * p for one in product(range(5), repeat=4)
                if (p := float(np.prod(chances[np.array(one), np.arange(4)]))) > 1e-15}  # fmt: skip
    assert counts.keys() <= expected.keys()
    assert len(expected) == 125
    chi = sum((counts.get(one, 0) - n) ** 2 / n for one, n in expected.items())
    assert chi < 190  # 124 degrees of freedom


def test_parts_of_a_draw_are_nested():
    whole = blocks(100_000, 60.0)
    rank, _ = draw(whole, 5)
    held = [belong_to(rank, 5, whole, blocks(100_000, 60.0, 60.0 * share)) for share in (0.25, 0.5, 0.75, 1)]
    assert all(np.all(a <= b) for a, b in pairwise(held))
    assert held[-1].all()
    assert held[0].sum() == pytest.approx(blocks(100_000, 60.0, 15.0).labels, abs=5 * np.sqrt(rank.size))


def truths():
    rng, n = np.random.default_rng(8), 8_000
    return {
        "flat": (rng.random(n) < 0.6).astype(np.int8),
        "falling": (rng.random(n) < np.geomspace(0.99, 0.3, n)).astype(np.int8),
        "blocks": (np.arange(n) // 400 % 2 == 0).astype(np.int8),
    }


@pytest.mark.parametrize("shape", cases(["flat", "falling", "blocks"], "blocks"))
@pytest.mark.parametrize(
    "how", [{"stages": 3}, {"judge_sample": 2_000, "stages": 2}, {"adaptive": True, "judge_sample": 2_000},
            *slow(({"judge_sample": 2_000},), ({"adaptive": True},))]
)  # fmt: skip
def test_the_truth_is_held_at_every_rank(shape, how):
    """Draws by rank, judged by a binomial test at 1e-4; with batches, after each and half-way through the next."""
    v, delta, runs_, missed = truths()[shape], 0.3, examples(10, 30), 0
    y, method = np.concatenate([[0], np.cumsum(v)]), create("loguniform", {"budget": 500, "confidence": 0.7, **how})
    said = np.where(np.random.default_rng(3).random(v.size) < 0.9, v, 1 - v).astype(np.uint8)
    ends = method.rates(v.size)[0]
    for seed in range(runs_):
        plan = method.plan(v.size, seed)
        if "judge_sample" in how:
            plan = judged_in_order(plan, Judge("j"), ends, said)
        if "adaptive" in how:
            plan = method.continued(plan, Labels.of(plan, v[plan.ranks - 1]))
        label, wrong = v[plan.ranks - 1], False
        batch = plan.table.column("batch").to_numpy() if "stages" in how else np.ones(label.size)
        for reached in np.arange(1, batch.max() + 0.5, 0.5):
            half = np.random.default_rng(seed).random(label.size) < (reached % 1)
            there = (batch <= reached) | ((batch <= reached + 1) & half)
            envelope = method.curve(plan, Labels.of(plan, np.where(there, label, -1))).envelope
            wrong |= bool(np.any((envelope.lower > y[envelope.rank]) | (y[envelope.rank] > envelope.upper)))
        missed += wrong
    assert binomial_tail(runs_, missed, delta) > 1e-4


SAMPLED = "a sample of 15,000, 5 % of positives missing"


@pytest.mark.parametrize("setting", cases(["a column", SAMPLED], SAMPLED))
def test_no_pair_of_list_and_judge_misses_too_often(setting):
    """The benchmark's 14 pairs of lists and judges that are wrong in every way, at every rank of a shorter list."""
    each = examples(4, 12)
    missed = adversarial(setting, each, n_items=6_000, labels=250, delta=0.3)
    draws, delta = each * len(PAIRS), 0.3
    assert len(missed) == 14
    assert binomial_tail(draws, sum(missed), delta) > 1e-4
    assert all(binomial_tail(each, one, delta) > 1e-5 for one in missed)
    assert sum(missed) > 0  # else no miss could be seen
