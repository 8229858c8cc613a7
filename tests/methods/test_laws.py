"""Laws over every discovered method, and over the envelope."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import cases, examples, slow

from streameval.curve.envelope import Points, close
from streameval.errors import InputError
from streameval.kernels.draw import draws
from streameval.kernels.paula import bracket, window_sums
from streameval.methods import available, change_parameters, create, method_of
from streameval.methods.checks.monotonicity import fisher_rise
from streameval.methods.grid import geometric_grid
from streameval.methods.values import parameters_of
from streameval.types import Labels

SMALL = {
    "paula": {"epsilon": "0.5", "window": 4},
    "loguniform": {"alpha": 0.5, "min_precision": 0.9},
    "uniform": {"alpha": 0.9, "min_precision": 0.9, "confidence": 0.5},
    "stratified": {"alpha": 0.9, "epsilon": "0.3", "head": 10},
}


@pytest.mark.parametrize("name", available())
@settings(max_examples=examples(12, 50), deadline=None)
@given(n=st.integers(1, 400), seed=st.integers(0, 2**32), share=st.floats(0, 1))
def test_the_budget_is_kept_and_labels_never_leave_the_bounds(name, n, seed, share):
    rng = np.random.default_rng(seed)
    method = create(name, SMALL[name])
    plan = method.plan(n, seed)
    forecast = method.cost(n)["labels"]
    assert plan.table.num_rows == n or method.planned_half_width(n) == method.cost(n)["accuracy"]
    # where the draw decides the number of labels, the cost is their mean
    random = not plan.notes.keys().isdisjoint({"slots", "density"})
    assert abs(plan.table.num_rows - forecast) <= random * (1 + 6 * forecast**0.5)
    assert np.all(np.diff(plan.ranks) > 0)
    assert plan.ranks[0] >= 1
    assert plan.ranks[-1] <= n
    truth = (rng.random(n) < share).astype(np.int8)
    curve = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1]))
    if plan.table.num_rows == n:
        everywhere = curve.at(np.arange(1, n + 1))
        for column in ("yield_lower", "yield", "yield_upper"):
            assert np.array_equal(everywhere.column(column).to_numpy(), np.cumsum(truth))


@pytest.mark.parametrize("name", available())
def test_every_parameter_has_help_and_every_method_states_its_contract(name):
    method = create(name)
    assert type(method).name == name == type(method).__module__.split(".")[2]
    assert all(one.metadata["help"].endswith(".") for one in parameters_of(name))
    assert change_parameters(method, confidence=0.5, budget=7, no_such_parameter=1).budget in (7, None)
    assert method.level is None or 0 < method.level < 1
    assert method.looks == 1
    plan = method.plan(1_000)
    assert method_of(plan) == method_of(replace(plan, notes={}))
    assert (plan.look, plan.grown, plan.slices, plan.by) == (1, False, (), None)


@settings(max_examples=examples(12, 50), deadline=None)
@given(n=st.integers(1, 60), seed=st.integers(0, 2**32))
def test_everything_labelled_is_exact_and_missing_labels_only_widen(n, seed):
    rng = np.random.default_rng(seed)
    method = create("paula")
    plan = method.plan(n)
    truth = rng.integers(0, 2, n).astype(np.int8)
    full = method.curve(plan, Labels.of(plan, truth))
    assert full.claim.coverage == "exact"
    holes = np.where(rng.random(n) < 0.3, -1, truth)
    partial = method.curve(plan, Labels.of(plan, holes))
    low, high = partial.envelope.at(np.arange(1, n + 1))
    assert np.all(low <= np.cumsum(truth))
    assert np.all(np.cumsum(truth) <= high)


@settings(max_examples=examples(16, 60), deadline=None)
@given(n=st.integers(1, 9), data=st.data())
def test_the_envelope_is_sharp(n, data):
    """Against every 0/1 sequence that obeys the bounds and the labels."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    truth = rng.integers(0, 2, n)
    y = np.cumsum(truth)
    known = np.flatnonzero(rng.random(n) < 0.4)
    at = np.flatnonzero(rng.random(n) < 0.5)
    low, high = y[at] - rng.integers(0, 3, at.size), y[at] + rng.integers(0, 3, at.size)
    envelope = close(n, Points(at + 1, low.astype(float), high.astype(float)), known + 1, truth[known].astype(np.int8))
    walks = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    sums = np.cumsum(walks, axis=1)
    ok = np.all(walks[:, known] == truth[known], axis=1) & np.all((sums[:, at] >= low) & (sums[:, at] <= high), axis=1)
    found_low, found_high = envelope.at(np.arange(1, n + 1))
    assert np.array_equal(found_low, sums[ok].min(axis=0))
    assert np.array_equal(found_high, sums[ok].max(axis=0))


@settings(max_examples=examples(12, 50), deadline=None)
@given(n=st.integers(1, 10**6), percent=st.integers(1, 100), head=st.integers(1, 2000))
def test_the_grid_is_exact(n, percent, head):
    epsilon = Fraction(percent, 100)
    grid = geometric_grid(n, epsilon, head)
    ratio = 1 + epsilon
    assert ratio**grid.last_index <= n < ratio ** (grid.last_index + 1)
    assert ratio**grid.first_index >= head
    assert grid.first_index == 0 or ratio ** (grid.first_index - 1) < head


def test_kernels_agree_with_their_naive_twins():
    rng = np.random.default_rng(3)
    values = rng.integers(0, 2, 500)
    last = np.sort(rng.integers(0, 500, 20))
    assert window_sums(values, last, 30).tolist() == [values[max(0, e - 29) : e + 1].sum() for e in last]
    gaps, sums = rng.integers(1, 10**6, 8), rng.integers(0, 101, 9)
    y = Fraction(5)
    for k, units in enumerate(bracket(5, gaps, sums, 100, 1)):
        if k:
            y += int(gaps[k - 1]) * Fraction(int(sums[k]), 100)
        assert y * 100 == units


def test_the_test_of_a_rise_is_fishers():
    from math import comb

    from scipy.stats import hypergeom

    tail = sum(comb(7, k) * comb(9, 8 - k) for k in range(6, 8)) / comb(16, 8)
    assert fisher_rise(2, 9, 6, 7) == pytest.approx(tail, rel=1e-12)
    rng = np.random.default_rng(5)
    for size_a, size_b in rng.integers(1, 3_000, (200, 2)).tolist():
        a, b = int(rng.integers(0, size_a + 1)), int(rng.integers(0, size_b + 1))
        expected = hypergeom.sf(b - 1, size_a + size_b, a + b, size_b)
        assert fisher_rise(a, size_a, b, size_b) == pytest.approx(expected, rel=1e-8, abs=1e-300)
    for one in ((0, 5, 0, 5), (5, 5, 5, 5), (3, 3, 0, 4)):
        assert fisher_rise(*one) == pytest.approx(1.0, rel=1e-14)


def test_draws_are_golden():
    assert [int(x) for x in draws(np.uint64(0), 2)] == [int(x) for x in _splitmix(0, 2)]


def _splitmix(seed, count):
    mask = 2**64 - 1

    def mix(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    return [mix((mix(seed) + (i + 1) * 0x9E3779B97F4A7C15) & mask) for i in range(count)]


@settings(max_examples=examples(20, 100), deadline=None)
@given(seed=st.integers(0, 2**32), share=st.floats(0.05, 0.95))
def test_gamma_holds_for_every_list_whose_head_is_not_worse(seed, share):
    """Lemma 2: q⁺ ≤ γ q⁻ is arithmetic wherever p(g_ℓ) ≥ p_Δ(g_ℓ)."""
    rng = np.random.default_rng(seed)
    method = create("paula", {"epsilon": "0.2", "window": 10})
    truth = (rng.random(3000) < share * np.linspace(1, rng.random(), 3000)).astype(np.int8)
    plan = method.plan(truth.size)
    curve = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1]))
    if curve.diagnostics["head_condition"]:
        low = curve.columns.column("bracket_lower").to_numpy()
        high = curve.columns.column("bracket_upper").to_numpy()
        assert np.all(high <= method.cost(3000)["gamma"] * low + 1e-4)


def test_a_head_too_small_names_the_smallest_that_works():
    with pytest.raises(InputError, match="smallest head that works is 3,400"):
        create("paula", {"head": 1000})


SHAPES = {
    "flat": lambda n, rng: rng.random(n) < 0.6,
    "falling": lambda n, rng: rng.random(n) < np.linspace(0.95, 0.1, n),
    "rising tail": lambda n, rng: rng.random(n) < np.where(np.arange(n) < n // 2, 0.2, 0.9),
    "alternating": lambda n, rng: np.arange(n) % 2 == 0,
    "none": lambda n, rng: np.zeros(n, dtype=bool),
    "all": lambda n, rng: np.ones(n, dtype=bool),
}


@pytest.mark.parametrize("shape", cases(SHAPES, "falling", "rising tail"))
@pytest.mark.parametrize("confidence", cases([0.5, 0.9, 0.95], 0.5, 0.95))
def test_loguniform_holds_the_whole_curve(shape, confidence):
    """Misses of seeded draws are no more than chance allows at the stated confidence (binomial, p = 1e-4)."""
    n, runs = 3_000, examples(30, 200)
    truth = SHAPES[shape](n, np.random.default_rng(5)).astype(np.int8)
    y, ranks = np.cumsum(truth), np.arange(1, n + 1)
    method = create("loguniform", {"alpha": 0.3, "confidence": confidence})
    misses = 0
    for seed in range(runs):
        plan = method.plan(n, seed)
        low, high = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1])).envelope.at(ranks)
        misses += not (np.all(low <= y) and np.all(y <= high))
    assert _binomial_tail(runs, misses, 1 - confidence) > 1e-4


def _binomial_tail(n, k, p):
    from math import comb

    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


@pytest.mark.parametrize(
    ("n", "p", "most"),
    [
        (2 * 10**9, 0.5, 16700),
        (2 * 10**9, 0.9, 3200),
        (10**7, 0.7, 5200),
        *slow((2 * 10**9, 0.7, 8400), (10**7, 0.5, 10100), (10**7, 0.9, 2100)),
    ],
)
def test_loguniform_takes_a_third_of_the_labels(n, p, most):
    assert create("loguniform", {"alpha": 0.0812, "min_precision": p}).cost(n)["labels"] <= most


def test_strata_draws_are_uniform_and_nested():
    from streameval.kernels.draw import draw_strata

    ends, seeds = np.array([1, 11], dtype=np.int64), examples(1_000, 3_000)
    few = [draw_strata(ends, np.array([1, 3]), np.uint64(s)) for s in range(seeds)]
    more = [draw_strata(ends, np.array([1, 6]), np.uint64(s)) for s in range(seeds)]
    assert all(set(a.tolist()) <= set(b.tolist()) and len(set(b.tolist())) == 7 for a, b in zip(few, more, strict=True))
    counts = np.bincount(np.concatenate(few), minlength=12)[2:]
    assert np.all(np.abs(counts - 0.3 * seeds) < 5 * np.sqrt(0.3 * seeds * 0.7))


@pytest.mark.parametrize("bad", [{"alpha": 0}, {"confidence": 1}, {"min_precision": 0}, {"budget": 0}])
def test_bad_parameters_of_loguniform(bad):
    with pytest.raises(InputError):
        create("loguniform", bad)
