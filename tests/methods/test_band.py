"""What a stratum adds to a band, beside its naive twin; and laws of every method's bounds."""

import math

import numpy as np
import pytest
from binomial import binomial_tail
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import cases, examples

from streameval.kernels.band import pmf_table, stratum_gain
from streameval.kernels.sequential_band import EXACT_MOST
from streameval.methods import available, create
from streameval.types import Labels


def log_penalty(width, drawn, theta, mu, low, high):
    """D of the proof, from the definition: max over K of log E exp(−θk) + μK."""
    total = math.comb(width, drawn)
    best = -math.inf
    for positive in range(low, high + 1):
        terms = range(max(0, drawn - width + positive), min(drawn, positive) + 1)
        mean = sum(
            math.comb(positive, k) * math.comb(width - positive, drawn - k) / total * math.exp(-theta * k)
            for k in terms
        )
        best = max(best, math.log(mean) + mu * positive)
    return best


def gain(width, drawn, counts, prediction, mu):
    """g of the proof for one stratum; `counts` are its positives with missing labels as 0 and as 1."""
    low, high = counts
    exact = width <= 128 and width <= 16 * drawn and mu * width < 300
    shrink = (width - drawn) / (width - 1) if exact else 1.0
    y = mu * width / drawn * shrink
    e = (1 + y + math.sqrt((1 - y) ** 2 + 4 * prediction * y)) / 2
    theta = -math.log((e - y) / e) / shrink
    if exact:
        penalty = log_penalty(width, drawn, theta, mu, low, width - drawn + high)
    else:
        penalty = drawn * (e - 1) - drawn * math.log(e)
    return -theta * high - penalty


@pytest.mark.parametrize(("width", "drawn"), [(2, 1), (10, 3), (60, 5), (128, 100), (300, 20), (2000, 8)])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.1, 0.0, 1.0])
def test_the_gain_agrees_with_its_naive_twin(width, drawn, share):
    rng = np.random.default_rng(int(width + 100 * share))
    for mu in (0.01, 0.3, 2.0):
        found = int(rng.binomial(drawn, share))
        low = found - min(found, int(rng.integers(0, 2)))
        exact = width <= EXACT_MOST and mu * width < 300
        table = pmf_table.plain()(width, drawn) if exact else np.zeros((1, 1))
        own = stratum_gain.plain()(table, exact, mu, width, drawn, float(found), 0.4, low, width - drawn + found)
        assert own == pytest.approx(gain(width, drawn, (low, found), 0.4, mu), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", available())
@settings(max_examples=examples(10, 25), deadline=None)
@given(n=st.integers(1, 500), seed=st.integers(0, 2**32), share=st.floats(0, 1))
def test_a_missing_label_never_narrows_a_bound(name, n, seed, share):
    rng = np.random.default_rng(seed)
    parameters = {"paula": {"epsilon": "0.5", "window": 4}}.get(name, {"alpha": 0.5, "min_precision": 0.9})
    method = create(name, parameters)
    plan = method.plan(n, seed)
    answer = (rng.random(plan.table.num_rows) < share).astype(np.int8)
    full = method.curve(plan, Labels.of(plan, answer))
    partial = method.curve(plan, Labels.of(plan, np.where(rng.random(answer.size) < 0.3, -1, answer)))
    if "none" in (full.claim.coverage, partial.claim.coverage) or not full.envelope.consistent:
        return  # a picture of a crossed bracket is no bound
    if full.diagnostics.get("contradicts_a2"):
        return  # what assumes A.2 says nothing where the labels contradict it
    ranks = np.arange(1, n + 1)
    low, high = full.envelope.at(ranks)
    wider_low, wider_high = partial.envelope.at(ranks)
    assert np.all(wider_low <= low)
    assert np.all(wider_high >= high)


def test_a_plan_of_a_trillion_items_is_small():
    plan = create("loguniform", {}).plan(10**12)
    assert plan.table.num_rows < 30_000
    assert plan.ranks[-1] <= 10**12


def test_gains_that_underflow_are_never_too_large():
    """A design that no plan makes: every term of the penalty is below what a float can hold."""
    found = stratum_gain.plain()(pmf_table.plain()(128, 85), True, 2.0, 128, 85, 85.0, 0.5, 85, 128)
    assert np.isneginf(found) or np.isfinite(found)


@pytest.mark.parametrize("name", ["loguniform", "paula"])
@pytest.mark.parametrize("lists", cases([12, 100], 12))
def test_flat_lists_are_seldom_called_rising(name, lists):
    """Labels of one probability: A.1 and A.2 are contradicted beyond noise in at most one list in a hundred."""
    method, called = create(name, {}), {"A.1": 0, "A.2": 0}
    for seed in range(lists):
        plan = method.plan(30_000, seed)
        answer = (np.random.default_rng(seed).random(plan.table.num_rows) < 0.5).astype(np.int8)
        found = method.curve(plan, Labels.of(plan, answer)).diagnostics["assumptions"]
        for key in called:
            called[key] += found[key]["beyond_noise"]
    assert binomial_tail(lists, max(called.values()), 0.01) > 5e-4
