"""Intervals of a list that is a sample: quantiles, when there is none, a bootstrap, coverage."""

import math

import numpy as np
import pytest
from binomial import binomial_tail

from benchmarks.sample_intervals import CELLS, intervals, summed
from streameval.kernels.influence import BINS
from streameval.metrics.incomplete_beta import clopper_pearson, student_quantile
from streameval.metrics.intervals import Derived, equal_bins, interval


def derived(value=0.8, bins=BINS, each=1, **more):
    """A metric to which every bin in use adds as much, in one of two directions."""
    used = np.arange(BINS) < bins
    influence = np.where(used, np.where(np.arange(BINS) % 2, 1e-3, -1e-3), 0.0)
    return Derived(value, influence, more.pop("counts", {"a positive": used * each}), **more)


@pytest.mark.parametrize(
    ("freedom", "expected"), [(1, 12.706205), (2.5, 3.574655), (10, 2.228139), (4_095, 1.960543), (1e7, 1.959964)]
)
def test_quantiles_of_students_t(freedom, expected):
    assert student_quantile(0.975, freedom) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("found", "of"), [(0, 10), (10, 10), (8, 10), (1, 60), (30, 60)])
def test_the_ends_of_clopper_and_pearson_leave_each_tail_its_part(found, of):
    low, high = clopper_pearson(found, of, 0.95)
    assert low == 0 if found == 0 else binomial_tail(of, found, low) == pytest.approx(0.025, rel=1e-9)
    assert high == 1 if found == of else 1 - binomial_tail(of, found + 1, high) == pytest.approx(0.025, rel=1e-9)


def test_an_interval_is_symmetric_on_the_scale_of_logits():
    found = interval(derived())
    logits = [math.log(one / (1 - one)) for one in (found.low, 0.8, found.high)]
    assert found.standard_error == pytest.approx(0.064 * math.sqrt(BINS / (BINS - 1)))
    assert logits[2] - logits[1] == pytest.approx(logits[1] - logits[0])
    assert logits[2] - logits[1] == pytest.approx(1.960543 * found.standard_error / 0.16, rel=1e-6)


def test_that_of_matthews_correlation_is_so_on_the_scale_of_the_inverse_hyperbolic_tangent():
    found = interval(derived(-0.2, scale="atanh"))
    ends = [math.atanh(one) for one in (found.low, -0.2, found.high)]
    assert found.low < -0.2 < found.high
    assert ends[2] - ends[1] == pytest.approx(ends[1] - ends[0])


def test_fewer_bins_leave_fewer_degrees_of_freedom():
    found = interval(derived(0.5, bins=60, each=30))
    reach = (math.log(found.high / (1 - found.high))) * 0.25 / found.standard_error
    assert reach == pytest.approx(student_quantile(0.975, 59), rel=1e-9)


def test_bins_of_equal_weight():
    assert equal_bins(np.array([1, 1, 0, 1])) == pytest.approx(3)
    assert equal_bins(np.array([1.0, -1.0, 0.0, 1.0])) == pytest.approx(3)
    assert equal_bins(np.array([100, 1, 1])) == pytest.approx(102**2 / 10_002)
    assert equal_bins(np.zeros(3)) == 0


OUTWEIGHED = "a few large draws outweigh the rest: those with a positive weigh as much as 2 equal ones"
HEAVY = np.where(np.arange(BINS) == 0, 2_000, 10) * (np.arange(BINS) < 100)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (derived(bins=49), "only 49 draws have a positive; it takes 50"),
        (derived(counts={"a positive": HEAVY}), OUTWEIGHED),
        (derived(0.97, bins=100), "too near 0 or 1 for so few draws"),
        (derived(0.03, bins=100), "too near 0 or 1 for so few draws"),
        (derived(1.0), "it is 0 or 1 in this sample"),
        (derived(0.0), "it is 0 or 1 in this sample"),
        (derived(math.nan), "it is undefined"),
        (derived(above=("high", 9.0)), "nearly all draws above the cutoff have the same label"),
    ],
)
def test_there_is_no_interval_where_few_draws_decide(given, reason):
    found = interval(given)
    assert found.reason == reason
    assert math.isnan(found.low)
    assert math.isnan(found.standard_error)


@pytest.mark.parametrize(
    "given",
    [
        derived(0.03, bins=100, rarer="misses"),
        derived(0.9995),
        derived(-1e-9, scale="atanh"),
        derived(above=("high", 10.0)),
    ],
)
def test_there_is_one_where_many_do(given):
    assert interval(given).reason is None


def test_an_interval_reaches_to_the_end_from_which_few_draws_keep_the_metric():
    """Such samples have more of what is rare than others: without it the interval would be wrong too often."""
    assert interval(derived(0.9, bins=100)).high == 1.0
    assert interval(derived(0.1, bins=100)).low == 0.0
    assert interval(derived(0.75, bins=100)).high < 1.0
    assert interval(derived(0.5, above=("low", 15.0))).low == 0.0
    assert interval(derived(0.2, above=("high", 15.0), scale="atanh")).high == 1.0
    assert interval(derived(0.5, above=("high", 20.0))).high < 1.0


def test_uneven_draws_have_none():
    items = np.where(np.arange(BINS) < 10, 1_000, 10)
    found = interval(derived(items=items))
    assert found.reason == "a few large draws outweigh the rest: 4,096 bins of draws weigh as much as 249 equal ones"


def bootstrap(rows, draws=400):
    """Standard errors of average precision and AUC over samples drawn again from the clusters of one."""
    scores, labels, clusters = rows
    order = np.argsort(-scores)
    labels, of = labels[order], np.unique(clusters[order], return_inverse=True)[1]
    rng = np.random.default_rng(3)
    weights = rng.multinomial(of.max() + 1, np.full(of.max() + 1, 1 / (of.max() + 1)), draws)[:, of]
    y = weights * labels
    found, items = np.cumsum(y, axis=1), np.cumsum(weights, axis=1)
    negatives = weights - y
    below = y.sum(axis=1) * negatives.sum(axis=1)
    ap = np.sum(y * found / np.maximum(items, 1), axis=1) / y.sum(axis=1)
    return {"AP": ap.std(), "AUC": (np.sum(negatives * found, axis=1) / below).std()}


@pytest.mark.parametrize("cell", ["rows: base rate .1, AUC .75", "200 clusters of 1 to 50, base rate .1"])
def test_standard_errors_are_those_of_a_bootstrap(cell):
    """400 draws of a bootstrap have a standard error of 3.5 % of theirs."""
    shape = CELLS[cell]
    rows = shape.draw(np.random.default_rng(11), 150 if "clusters" in cell else 1_000)
    expected, found = bootstrap(rows), intervals(summed(rows), shape.k)
    for name in ("AP", "AUC"):
        assert found[name].standard_error == pytest.approx(expected[name], rel=0.12)


def test_nineteen_in_twenty_intervals_hold_the_value_of_the_population():
    """Normal scores a standard deviation apart, base rate .2: AUC Φ(1/√2), all else by numerical integrals."""
    truth = {"AUC": 0.760250, "AP": 0.462121, "precision": 0.554111, "recall": 0.277056, "f1": 0.369408}
    misses = dict.fromkeys(truth, 0)
    for number in range(25):
        rng = np.random.default_rng([number, 17])
        labels = (rng.random(1_000) < 0.2).astype(np.int64)
        found = intervals(summed((rng.normal(size=1_000) + labels, labels, np.arange(1_000))), 100)
        for name, value in truth.items():
            misses[name] += not found[name].low <= value <= found[name].high
    for name, count in misses.items():
        assert binomial_tail(25, count, 0.05) > 1e-3, name
