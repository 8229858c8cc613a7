"""Bounds that allow for wrong labels hold for the truth as often as they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from label_tables import judged
from scipy.stats import binomtest
from suite_cases import examples, slow

import streameval
from streameval.curve.label_error import lines, widen
from streameval.errors import InputError
from streameval.methods import create
from streameval.study.judging import sharing
from streameval.types import Labels

RUNS = examples(40, 80)


def misses(method, parameters, n_items, rate, how):
    """Count runs in which the true yield leaves the bounds anywhere."""
    rng, found = np.random.default_rng(11), 0
    for seed in range(RUNS):
        truth = (rng.random(n_items) < np.linspace(0.95, 0.3, n_items)).astype(np.int8)
        wrong = how(rng, truth)
        plan = create(method, parameters).plan(n_items, seed)
        said = np.where(wrong, 1 - truth, truth)[plan.ranks - 1]
        narrow = sharing(create(method, dict(plan.parameters)), rate).curve(plan, Labels.of(plan, said))
        curve = widen(narrow, rate, plan.parameters["confidence"])
        low, high = curve.envelope.at(np.arange(1, n_items + 1))
        real = np.cumsum(truth)
        found += bool(np.any((real < low) | (real > high)))
    return found


@pytest.mark.parametrize(
    ("kind", "rate"), [("any", 0.2), ("positives only", 0.02), *slow(("any", 0.02), ("positives only", 0.2))]
)
def test_the_truth_lies_inside_as_often_as_promised(rate, kind):
    def errors(rng, truth):
        chosen = {"any": True, "positives only": truth == 1}[kind]
        return (rng.random(truth.size) < rate) & chosen

    found = misses("loguniform", {"budget": 400, "confidence": 0.8}, 2_000, rate, errors)
    assert binomtest(found, RUNS, 0.2, alternative="greater").pvalue > 1e-4


def test_without_widening_the_promise_would_be_broken():
    def errors(rng, truth):
        return (rng.random(truth.size) < 0.2) & (truth == 1)

    rng, found = np.random.default_rng(3), 0
    for seed in range(20):
        truth = (rng.random(2_000) < 0.9).astype(np.int8)
        plan = create("loguniform", {"budget": 400, "confidence": 0.8}).plan(2_000, seed)
        said = np.where(errors(rng, truth), 0, truth)[plan.ranks - 1]
        curve = create("loguniform", dict(plan.parameters)).curve(plan, Labels.of(plan, said))
        low, high = curve.envelope.at(np.arange(1, 2_001))
        found += bool(np.any((np.cumsum(truth) < low) | (np.cumsum(truth) > high)))
    assert found == 20


@pytest.mark.parametrize("rate", [0.001, 0.05, 0.4])
def test_the_lines_bound_every_prefix_as_often_as_promised(rate):
    rng, delta, n = np.random.default_rng(5), 0.3, 20_000
    c, s = lines(rate, delta, n)
    bound = np.min(c[:, None] + s[:, None] * np.arange(1, n + 1), axis=0)
    found = sum(bool(np.any(np.cumsum(rng.random(n) < rate) > bound)) for _ in range(RUNS))
    assert binomtest(found, RUNS, delta, alternative="greater").pvalue > 1e-4
    assert np.all(s >= rate)
    assert np.all(s < 1)


@settings(max_examples=examples(40, 100))
@given(st.lists(st.integers(0, 1), min_size=1, max_size=40), st.sampled_from([0.01, 0.1, 0.3]), st.integers(0, 2**32))
def test_a_fixed_share_of_errors_in_every_prefix_is_allowed_for(labels, rate, seed):
    truth = np.array(labels, dtype=np.int8)
    rng = np.random.default_rng(seed)
    wrong, count, seen = np.zeros(truth.size, bool), [0, 0], [0, 0]
    for i, label in enumerate(truth):
        seen[label] += 1
        if count[label] + 1 <= rate * seen[label] and rng.random() < 0.7:
            wrong[i], count[label] = True, count[label] + 1
    plan = create("paula", {"epsilon": 1, "window": truth.size}).plan(truth.size)
    said = Labels.of(plan, np.where(wrong, 1 - truth, truth))
    curve = widen(create("paula", dict(plan.parameters)).curve(plan, said), rate, None)
    low, high = curve.envelope.at(np.arange(1, truth.size + 1))
    assert np.all((low <= np.cumsum(truth)) & (np.cumsum(truth) <= high))
    assert (curve.claim.coverage, curve.claim.confidence) == ("simultaneous", 0.95)


def test_wider_with_the_rate_and_unchanged_at_zero(study):
    study = study("curve-evaluated")
    widths, ids = [], set()
    for rate in (0.0, 0.01, 0.05):
        found = judged(study, label_error=rate)
        low, high = found.curve.envelope.at([1_500])
        widths.append(high[0] - low[0])
        ids.add(found.evaluation_id)
    assert widths[0] < widths[1] < widths[2]
    assert len(ids) == 3
    assert "wrong with probability" in found.summary["findings"][0]
    for bad in (-0.1, 0.5, float("nan")):
        with pytest.raises(InputError, match="label_error is"):
            streameval.evaluate(study, label_error=bad)


@pytest.mark.parametrize(("method", "coverage"), [("paula", {"conditional", "none"}), ("uniform", {"simultaneous"})])
def test_every_method_is_widened(method, coverage):
    plan = create(method, {}).plan(100_000)
    rng = np.random.default_rng(0)
    labels = Labels.of(plan, rng.random(plan.ranks.size) < 0.8)
    narrow = create(method, dict(plan.parameters)).curve(plan, labels)
    wide = widen(narrow, 0.05, plan.parameters.get("confidence"))
    assert wide.claim.coverage in coverage
    ranks = np.arange(1, 100_001)
    (a, b), (c, d) = narrow.envelope.at(ranks), wide.envelope.at(ranks)
    assert np.all(c <= a)
    assert np.all(d >= b)


def test_half_of_a_delta_that_nobody_gave_is_kept_too():
    method = create("paula", {"assume": "independent"})
    assert sharing(method, 0.01).confidence == pytest.approx(0.975)
    assert sharing(method, 0.0) == method
    assert sharing(create("paula"), 0.01) == create("paula")  # A.2 knows no chance
