"""The band of strata with fixed counts, by which earlier plans are read: its naive twin, its closure."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streameval.kernels.band import band, real_band
from streameval.methods import available, create
from streameval.methods.loguniform.fixed_counts import _mixture
from streameval.types import Labels


def strata(n_items, c):
    """Ends and labels of strata of density about c/r, as plans had them."""
    ends = [1]
    while ends[-1] < n_items:
        ends.append(min(n_items, ends[-1] + max(1, round((ends[-1] + 0.75 * c) * 2 / c))))
    ends = np.array(ends)
    starts = np.concatenate([[0], ends[:-1]])
    n = np.rint(c * np.log1p((ends - starts) / (starts + 0.75 * c)))
    return ends, np.minimum(ends - starts, np.maximum(1, n)).astype(np.int64)


def mixture(ends, n, precision):
    return _mixture(ends, n, precision, 0.8)


def widths(ends):
    return [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]


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


def upper(ends, n, low, high, weights, delta):
    """Upper bounds at every end by direct sums and integer bisection, without closing."""
    w, found = widths(ends), []
    partial = [i for i in range(len(ends)) if n[i] < w[i]]
    gains = {}
    for i in partial:
        before = [w[h] * ends[h] / ends[i - 1] ** 2 for h in range(i)]
        prior = 1 / (1 + sum(n[:i]))
        ends_of_q = [
            (sum(v * k[h] / n[h] for h, v in enumerate(before)) + 0.25 * prior) / (sum(before) + 0.5 * prior)
            for k in (low, high)
        ]
        gains[i] = [min(gain(w[i], n[i], (low[i], high[i]), q, mu) for q in ends_of_q) for mu in weights]
    for j, end in enumerate(ends):
        mine = [i for i in partial if i <= j]
        known = sum(high[i] for i in range(j + 1) if i not in mine)
        least, most = (-1, end + 1) if mine else (0, 1)
        while most - least > 1:
            middle = (least + most) // 2
            logs = [mu * middle + sum(gains[i][m] for i in mine) for m, mu in enumerate(weights)]
            top = max(logs)
            log_mixture = top + math.log(sum(math.exp(v - top) for v in logs) / len(weights))
            least, most = (middle, most) if log_mixture < math.log(2 / delta) else (least, middle)
        found.append(min(known + least, end - sum(n[i] - high[i] for i in range(j + 1))))
    return found


@pytest.mark.parametrize(("n_items", "c"), [(1, 3.0), (2, 1.0), (10, 3.0), (60, 5.0), (300, 20.0), (2000, 8.0)])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.1, 0.0, 1.0])
def test_the_band_agrees_with_its_naive_twin(n_items, c, share):
    rng = np.random.default_rng(int(n_items + 100 * share))
    ends, n = strata(n_items, c)
    positive = np.add.reduceat((rng.random(n_items) < share).astype(np.int64), np.concatenate([[0], ends[:-1]]))
    found = rng.hypergeometric(positive, np.diff(ends, prepend=0) - positive, n)
    low = found - np.minimum(found, rng.integers(0, 2, n.size))
    high = np.maximum(low, found - rng.integers(0, 2, n.size))
    weights = mixture(ends, n, 0.5)
    real_low, real_high = real_band(ends, n, low.astype(float), high.astype(float), weights, 0.05)
    a, b, lo, hi = ends.tolist(), n.tolist(), low.tolist(), high.tolist()
    above = upper(a, b, lo, hi, weights.tolist(), 0.05)
    mirrored = ([x - k for x, k in zip(b, hi, strict=True)], [x - k for x, k in zip(b, lo, strict=True)])
    below = [end - u for end, u in zip(a, upper(a, b, *mirrored, weights.tolist(), 0.05), strict=True)]
    assert np.floor(real_high + 1e-6).tolist() == above
    assert np.maximum(0, np.ceil(real_low - 1e-6)).tolist() == [max(0, x) for x in below]


@settings(max_examples=30, deadline=None)
@given(n_items=st.integers(1, 5000), c=st.floats(1, 200), seed=st.integers(0, 2**32), share=st.floats(0, 1))
def test_the_band_is_closed_and_labels_only_narrow_it(n_items, c, seed, share):
    rng = np.random.default_rng(seed)
    ends, n = strata(n_items, c)
    found = rng.binomial(n, share)
    weights = mixture(ends, n, 0.5)
    low, high = band(ends, n, found, found, weights, 0.05)
    w = np.diff(ends, prepend=0)
    for bound in (low, high):
        rises = np.diff(bound, prepend=0)
        if np.all(low <= high):
            assert np.all(rises >= 0)
            assert np.all(rises <= w)
    hidden = np.minimum(found, rng.integers(0, 3, n.size))
    wider_low, wider_high = band(ends, n, found - hidden, np.minimum(n, found + hidden), weights, 0.05)
    assert np.all(wider_low <= low)
    assert np.all(wider_high >= high)
    other_low, other_high = band(ends, n, found, found, weights, 0.01)
    assert np.all(other_low <= low)
    assert np.all(other_high >= high)


@pytest.mark.parametrize("name", available())
@settings(max_examples=25, deadline=None)
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


def test_gains_that_underflow_stay_finite():
    """A design that no plan makes: every term of the penalty is below what a float can hold."""
    ends, n, found = np.array([85_000, 85_128]), np.array([85_000, 85]), np.array([0.0, 85.0])
    low, high = real_band(ends, n, found, found, np.array([2.0]), 0.05)
    assert np.all(np.isfinite(low))
    assert np.all(low <= high)


@pytest.mark.parametrize("name", ["loguniform", "paula"])
def test_flat_lists_are_seldom_called_rising(name):
    """Labels of one probability: A.1 and A.2 are contradicted beyond noise in at most one list in a hundred."""
    method, called = create(name, {}), {"A.1": 0, "A.2": 0}
    for seed in range(100):
        plan = method.plan(10**7, seed)
        answer = (np.random.default_rng(seed).random(plan.table.num_rows) < 0.5).astype(np.int8)
        found = method.curve(plan, Labels.of(plan, answer)).diagnostics["assumptions"]
        for key in called:
            called[key] += found[key]["beyond_noise"]
    assert max(called.values()) <= 5
