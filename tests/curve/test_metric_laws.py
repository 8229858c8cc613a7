"""Metrics of a cutoff, by their laws: against every order of tied items, and against every list that bounds allow."""

import math
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measured import with_tables
from suite_cases import cases

import streameval
from streameval.curve.at_cutoff import METRICS, Cutoffs, Metric
from streameval.metrics.exact import hypergeometric
from streameval.rows.options import RankingOptions

BEFORE, AFTER, K = 6, 3, 10  # items of their own score before and after the tied ones; the cutoff is among those


def orders(tied, positives):
    """Every order of tied items, of which so many are positive."""
    for chosen in combinations(range(tied), positives):
        yield np.isin(np.arange(tied), chosen).astype(np.int8)


def value(name, labels, k, misses):
    counts = ([k], [labels[:k].sum()], [labels.sum()])
    at = Cutoffs(*(np.array(one, dtype=float) for one in counts), float(labels.size), float(misses))
    return METRICS[name].value(at)[0]


def check_ties(name, seed, misses):
    rng = np.random.default_rng(seed)
    tied = int(rng.integers(5, 9))
    positives = int(rng.integers(1, tied))
    before, after = rng.integers(0, 2, BEFORE), rng.integers(0, 2, AFTER)
    lists = [np.concatenate([before, one, after]) for one in orders(tied, positives)]
    score = np.concatenate([np.arange(30, 30 - BEFORE, -1), np.full(tied, 5), np.arange(3, 3 - AFTER, -1)])
    shuffled = rng.permutation(score.size)
    table = pa.table({"s": score[shuffled], "label": lists[0][shuffled]})
    found = streameval.exact(table, label="label", misses=misses, options=RankingOptions(score="s")).metrics
    rows = {row["metric"]: row for row in found.to_pylist() if row["argument"] == str(K)}
    true = np.array([value(name, one, K, misses) for one in lists])
    if np.isnan(true).all():
        assert rows[f"{name}_at"]["lower"] is None
        return
    own = rows[f"{name}_at"]
    assert (own["lower"], own["upper"]) == pytest.approx((true.min(), true.max()), abs=1e-12)
    if true.min() < true.max():
        assert rows[f"{name}_at_tie_order"]["estimate"] == pytest.approx(true.mean(), abs=1e-12)
        whole = value(name, lists[0], BEFORE + tied, misses)
        assert rows[f"{name}_at_grouped"]["estimate"] == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("misses", [0, 3])
@pytest.mark.parametrize("seed", cases(range(4), 0, 1))
@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_right_over_every_order_of_tied_items(name, seed, misses):
    check_ties(name, seed, misses)


def jaccard(at):
    """Y(r)/(r + P − Y(r)): the share of the two sets that is common to both; curved in Y(r)."""
    return at.found / (at.rank + at.positives + at.misses - at.found)


@pytest.mark.parametrize("seed", range(4))
def test_a_metric_that_is_not_linear_is_right_too_where_it_says_so(seed, monkeypatch):
    """Its expectation over ties is not its value at the expected yield."""
    monkeypatch.setitem(METRICS, "jaccard", Metric(jaccard, "large", "curved"))
    check_ties("jaccard", seed, misses=seed)


def test_a_metric_is_refused_where_a_law_that_it_states_does_not_hold():
    with pytest.raises(ValueError, match="metric jaccard is not linear in the yield"):
        Metric(jaccard, "large", "linear")
    with pytest.raises(ValueError, match="metric jaccard is not better where it is small"):
        Metric(jaccard, "small", "curved")

    def balance(at):
        return np.abs(at.found / at.rank - at.found / np.maximum(at.positives, 1))

    for better in ("large", "small"):  # it rises and falls: no corner has its bounds
        with pytest.raises(ValueError, match="metric balance is not better"):
            Metric(balance, better, "curved")


def test_a_metric_is_one_line(monkeypatch, ranking, tmp_path):
    """It has bounds from a sample, a value of the whole list, a difference of two studies, and its place in reports."""
    monkeypatch.setitem(METRICS, "jaccard", Metric(jaccard, "large", "curved"))
    folder, labels, truth = ranking
    for seed in (1, 2):
        streameval.plan(folder, tmp_path / str(seed), method="loguniform", budget=400, seed=seed)
        found = streameval.Study(with_tables(tmp_path / str(seed), labels)).evaluation()
    true = streameval.exact(folder, label="label").metrics.to_pylist()
    true = {row["argument"]: row["estimate"] for row in true if row["metric"] == "jaccard_at"}
    assert true["1000"] == pytest.approx(truth[:1000].sum() / (1000 + truth[1000:].sum()))
    rows = [row for row in found.metrics.to_pylist() if row["metric"] == "jaccard_at"]
    assert [row["argument"] for row in rows] == list(true)
    assert all(row["lower"] <= true[row["argument"]] <= row["upper"] for row in rows)
    differences = streameval.compare(tmp_path / "1", tmp_path / "2").differences
    assert "jaccard_at" in differences.column("metric").to_pylist()


@settings(max_examples=60)
@given(n=st.integers(1, 40), data=st.data())
def test_the_yield_of_tied_items_is_hypergeometric(n, data):
    p, drawn = data.draw(st.integers(0, n)), data.draw(st.integers(0, n))
    k, chance = hypergeometric(n, p, drawn)
    exact = [math.comb(p, int(j)) * math.comb(n - p, drawn - int(j)) / math.comb(n, drawn) for j in k]
    assert chance == pytest.approx(exact, rel=1e-10)
    assert math.fsum(exact) == pytest.approx(1.0)


@pytest.mark.parametrize("n", [10**7, pytest.param(10**10, marks=pytest.mark.slow)])
def test_the_yield_of_very_many_tied_items_has_its_mean_and_variance(n):
    p, drawn = 3 * n // 10, n // 2
    k, chance = hypergeometric(n, p, drawn)
    mean = np.sum(k * chance)
    assert mean == pytest.approx(drawn * p / n, rel=1e-9)
    variance = drawn * p / n * (1 - p / n) * (n - drawn) / (n - 1)
    assert np.sum((k - mean) ** 2 * chance) == pytest.approx(variance, rel=1e-6)
