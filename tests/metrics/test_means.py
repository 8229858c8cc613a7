"""Intervals of means over rankings that are a sample, and of mean differences."""

import math

import numpy as np
import pytest
from binomial import binomial_tail

from streameval.metrics.means import mean_difference, mean_interval
from streameval.metrics.paired_samples import holm


def of(values):
    return mean_interval(float(np.sum(values)), float(np.sum(values**2)), values.size)


def test_an_interval_is_that_of_students_t_on_the_scale_of_logits():
    values = np.random.default_rng(2).beta(2, 2, 200)
    found, mean = of(values), values.mean()
    assert found.standard_error == pytest.approx(values.std(ddof=1) / math.sqrt(200), rel=1e-9)
    reach = 1.971957 * found.standard_error / (mean * (1 - mean))  # scipy.stats.t.ppf(.975, 199)
    ends = [1 / (1 + math.exp(-(math.log(mean / (1 - mean)) + side))) for side in (-reach, reach)]
    assert [found.low, found.high] == pytest.approx(ends, rel=1e-6)


def test_shares_have_the_interval_of_clopper_and_pearson():
    found = of(np.r_[np.ones(80), np.zeros(70)])
    assert (found.low, found.high) == pytest.approx((0.450194, 0.615130), abs=2e-6)
    assert of(np.zeros(60)).low == 0


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.full(49, 0.5), "only 49 rankings; it takes 50"),
        (np.full(60, 0.99), "too near 0 or 1 for so few rankings"),
        (np.full(60, 0.5), "all are alike"),
    ],
)
def test_there_is_none_where_few_rankings_decide(values, reason):
    assert of(values).reason == reason


def test_one_reaches_to_the_end_that_few_rankings_are_away_from():
    rng = np.random.default_rng(4)
    assert of(0.2 * rng.random(60)).low == 0
    assert of(1 - 0.2 * rng.random(60)).high == 1
    assert of(0.2 * rng.random(600)).low > 0


def test_nineteen_in_twenty_hold_the_mean_of_the_population():
    rng, misses = np.random.default_rng(6), 0
    for _ in range(300):
        found = of(rng.beta(0.5, 1.5, 80))
        misses += not found.low <= 0.25 <= found.high
    assert binomial_tail(300, misses, 0.05) > 1e-3


def test_a_mean_difference_has_the_p_value_of_students_t():
    pairs = np.random.default_rng(1).normal(0.02, 0.1, 100)
    found = mean_difference(pairs, float(pairs.mean()), 0.95)
    t = pairs.mean() / (pairs.std(ddof=1) / 10)
    assert found.standard_error == pytest.approx(pairs.std(ddof=1) / 10)
    assert t == pytest.approx(1.0, abs=2.5)
    assert (found.p_value < 0.05) == (not found.low <= 0 <= found.high)


def test_a_difference_that_few_rankings_make_has_no_interval():
    pairs = np.zeros(80)
    pairs[:4] = 0.5
    assert mean_difference(pairs, float(pairs.mean()), 0.95).reason == "the two differ in too few draws"
    assert mean_difference(np.full(80, -0.1), -0.1, 0.95).reason == "the two differ in too few draws"
    assert mean_difference(pairs[:40], 0.05, 0.95).reason == "only 40 rankings; it takes 50"
    alike = mean_difference(np.zeros(80), 0.0, 0.95)
    assert (alike.low, alike.high, alike.p_value) == (0, 0, 1)


def test_p_values_of_several_pairs_never_change_places():
    rng = np.random.default_rng(3)
    for _ in range(50):
        p = [*rng.random(5), math.nan]
        raised = holm(p)
        order = np.argsort(p[:5])
        assert np.all(np.diff(np.array(raised)[order]) >= 0)
        assert all(one >= other for one, other in zip(raised[:5], p[:5], strict=True))
        assert raised[order[0]] == pytest.approx(min(1, 5 * p[order[0]]))
        assert math.isnan(raised[5])
