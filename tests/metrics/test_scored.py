"""The class with LingPipe's methods: the figures of its page, and naive twins under both rules."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
import sklearn.metrics as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from lingpipe_page import LABELS, RULES, SCORES, evaluation
from suite_cases import examples

import streameval
from streameval.kernels.exact import BLOCK


def exactly(rows):
    return [tuple(round(value, 2) for value in row) for row in rows.tolist()]


# --- the figures of the page


@pytest.mark.parametrize("rules", RULES)
def test_the_page_comes_out(rules):
    page = evaluation(LABELS, SCORES, rules=rules)
    assert page.num_cases() == 10
    assert exactly(page.pr_curve(False)) == [(0.25, 0.5), (0.5, 0.5), (0.75, 0.6), (1, 0.44)]
    assert exactly(page.pr_curve(True)) == [(0.75, 0.6), (1, 0.44)]
    assert page.pr_score_curve(True)[:, 2].tolist() == [-1.60, -2.01]
    assert page.pr_score_curve()[:, :2].tolist() == page.pr_curve().tolist()
    assert page.area_under_pr_curve(False) == pytest.approx(0.511111, abs=5e-7)
    assert page.area_under_pr_curve(True) == pytest.approx(0.561111, abs=5e-7)
    assert page.area_under_roc_curve(False) == page.area_under_roc_curve(True) == pytest.approx(0.583333, abs=5e-7)
    assert page.average_precision() == pytest.approx(0.511111, abs=5e-7)
    assert page.maximum_f_measure() == page.maximum_f_measure(1) == pytest.approx(0.666667, abs=5e-7)
    assert page.pr_breakeven_point() == pytest.approx(0.6, rel=1e-15)
    assert (page.precision_at(5), page.precision_at(10), page.reciprocal_rank()) == (0.6, 0.4, 0.5)
    assert math.isnan(page.precision_at(11))


def test_roc_rows_are_specificity_only_in_the_original():
    original = [(0.25, 0.83), (0.5, 0.67), (0.75, 0.67), (1, 0.17)]
    assert exactly(evaluation(LABELS, SCORES, rules="lingpipe").roc_curve(False)) == original
    assert exactly(evaluation(LABELS, SCORES, rules="lingpipe").roc_curve(True)) == [original[0], *original[2:]]
    standard = [(round(1 - y, 2), x) for x, y in original]
    assert exactly(evaluation(LABELS, SCORES).roc_curve(False)) == standard
    assert exactly(evaluation(LABELS, SCORES).roc_curve(True)) == [standard[0], *standard[2:]]


@pytest.mark.parametrize("rules", RULES)
def test_one_miss(rules):
    page = evaluation(LABELS, SCORES, 1, rules)
    assert page.num_cases() == 10
    assert page.area_under_pr_curve(False) == pytest.approx(0.408889, abs=5e-7)
    assert page.area_under_pr_curve(True) == pytest.approx(0.448889, abs=5e-7)
    assert page.area_under_roc_curve(False) == page.area_under_roc_curve(True) == pytest.approx(0.466667, abs=5e-7)
    assert page.maximum_f_measure() == pytest.approx(0.6, rel=1e-15)
    bep, ap = {"standard": (0.6, 0.408889), "lingpipe": (0.444444, 0.511111)}[rules]
    assert page.pr_breakeven_point() == pytest.approx(bep, abs=5e-7)
    assert page.average_precision() == pytest.approx(ap, abs=5e-7)


def test_a_perfect_list_breaks_even_at_one_but_in_the_original_at_zero():
    assert evaluation([1, 1, 0], [3, 2, 1]).pr_breakeven_point() == 1.0
    assert evaluation([1, 1, 0], [3, 2, 1], rules="lingpipe").pr_breakeven_point() == 0.0


def test_tied_cases_are_one_step_but_in_the_original_stay_as_they_came():
    labels, scores = [0, 1, 1], [0.5, 0.5, 0.5]
    assert evaluation(labels, scores).pr_curve().tolist() == [[1.0, 2 / 3]]
    assert evaluation(labels, scores, rules="lingpipe").pr_curve().tolist() == [[0.5, 0.5], [1.0, 2 / 3]]
    assert evaluation(labels[::-1], scores, rules="lingpipe").pr_curve().tolist() == [[0.5, 1.0], [1.0, 1.0]]
    assert evaluation(labels[::-1], scores).precision_at(1) == 0.0  # no order of the three does worse
    assert evaluation(labels[::-1], scores).reciprocal_rank() == 0.5
    assert evaluation(labels, scores).area_under_roc_curve() == 0.5


# --- naive twins


def walk(labels, scores):
    """(positives, cases, score) after each positive, ties as they came: the original, read off its page."""
    found, rows = 0, []
    for rank, (score, label) in enumerate(sorted(zip(scores, labels, strict=True), key=lambda one: -one[0]), 1):
        found += label
        if label:
            rows.append((found, rank, score))
    return rows


def steps(labels, scores):
    """(positives, cases, score) at each score that a positive has."""
    rows = []
    for score in sorted(set(scores), reverse=True):
        above = [label for label, one in zip(labels, scores, strict=True) if one >= score]
        if any(label for label, one in zip(labels, scores, strict=True) if one == score):
            rows.append((sum(above), len(above), score))
    return rows


def kept(rows, y):
    return [row for i, row in enumerate(rows) if all(y(row) > y(later) for later in rows[i + 1 :])]


def area(rows, x, y):
    return sum((x(row) - before) * y(row) for row, before in zip(rows, [0, *map(x, rows)], strict=False))


CASES = st.lists(st.tuples(st.integers(0, 1), st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 0.5, 2.0, math.inf])))


@settings(max_examples=examples(50, 300), deadline=None)
@given(cases=CASES, misses=st.integers(0, 3), beta=st.sampled_from([0.0, 0.5, 1.0, 3.0]))
@pytest.mark.parametrize("rules", RULES)
def test_the_naive_twin_agrees(rules, cases, misses, beta):
    labels, scores = [label for label, _ in cases], [score for _, score in cases]
    mine = evaluation(labels, scores, misses, rules)
    rows = (walk if rules == "lingpipe" else steps)(labels, scores)
    p, negatives = sum(labels) + misses, len(labels) - sum(labels)

    def recall(row):
        return Fraction(row[0], p)

    def precision(row):
        return Fraction(row[0], row[1])

    def specificity(row):
        return 1 - Fraction(row[1] - row[0], negatives)

    for interpolate, chosen in ((False, rows), (True, kept(rows, precision))):
        expected = [[float(recall(row)), float(precision(row)), row[2]] for row in chosen]
        assert mine.pr_score_curve(interpolate).tolist() == expected
        assert mine.area_under_pr_curve(interpolate) == pytest.approx(float(area(chosen, recall, precision)), rel=1e-13)
    if negatives:
        for interpolate, chosen in ((False, rows), (True, kept(rows, specificity))):
            points = [[float(recall(row)), float(specificity(row))] for row in chosen]
            points = points if rules == "lingpipe" else [[1 - y, x] for x, y in points]
            assert mine.roc_curve(interpolate) == pytest.approx(np.reshape(points, (-1, 2)), abs=1e-15)
            if rules == "lingpipe":
                expected = float(area(chosen, recall, specificity))
                assert mine.area_under_roc_curve(interpolate) == pytest.approx(expected, abs=1e-15)
    points = [(float(precision(row)), float(recall(row))) for row in rows]
    f = [(1 + beta**2) * a * b / (beta**2 * a + b) for a, b in points]
    assert mine.maximum_f_measure(beta) == pytest.approx(max(f, default=0.0), rel=1e-14)
    if rules == "lingpipe":
        beyond = [float(precision(row)) for row in kept(rows, precision) if recall(row) > precision(row)]
        assert mine.pr_breakeven_point() == pytest.approx(beyond[0] if beyond else 0.0, rel=1e-15)
        ap = float(sum(map(precision, rows)) / len(rows)) if rows else math.nan
    else:
        every = [(sum(one), len(one)) for s in scores if (one := [v for v, t in cases if t >= s])]
        best = max((Fraction(y, max(r, p)) for y, r in every if p), default=0)
        assert mine.pr_breakeven_point() == pytest.approx(float(best), rel=1e-15)
        ap = float(area(rows, recall, precision)) if p else math.nan
    assert mine.average_precision() == pytest.approx(ap, rel=1e-13, nan_ok=True)


@settings(max_examples=examples(25, 100), deadline=None)
@given(cases=CASES, misses=st.integers(0, 3))
def test_places_inside_ties(cases, misses):
    labels, scores = [label for label, _ in cases], [score for _, score in cases]
    worst = [label for _, label in sorted((-score, label) for label, score in cases)]
    came = [label for label, _ in sorted(cases, key=lambda case: -case[1])]
    for rules, order in (("standard", worst), ("lingpipe", came)):
        mine = evaluation(labels, scores, misses, rules)
        depths = range(1, len(order) + 1)
        assert [mine.precision_at(k) for k in depths] == [sum(order[:k]) / k for k in depths]
        assert mine.reciprocal_rank() == (1 / (order.index(1) + 1) if 1 in order else 0)


@settings(max_examples=examples(24, 60), deadline=None)
@given(cases=CASES, misses=st.integers(0, 3))
def test_laws(cases, misses):
    labels, scores = [label for label, _ in cases], [score for _, score in cases]
    mine, original = (evaluation(labels, scores, misses, rules) for rules in RULES)
    for one in (mine, original):
        assert one.pr_breakeven_point() <= one.maximum_f_measure() * (1 + 1e-12)
        assert one.area_under_pr_curve(True) >= one.area_under_pr_curve() * (1 - 1e-12)
    if len(set(scores)) == len(scores):
        assert np.array_equal(mine.pr_score_curve(), original.pr_score_curve())
    elif sum(labels) + misses:
        assert mine.average_precision() == mine.area_under_pr_curve()


@settings(max_examples=examples(6, 30), deadline=None)
@given(seed=st.integers(0, 2**32), values=st.sampled_from([3, 10**9]))
def test_peers_and_the_functions_of_arrays_agree(seed, values):
    rng = np.random.default_rng(seed)
    labels, scores = (rng.random(500) < 0.3).astype(int), rng.integers(0, values, 500).astype(float)
    mine = evaluation(labels, scores)
    assert mine.average_precision() == pytest.approx(peer.average_precision_score(labels, scores), rel=1e-12)
    assert mine.area_under_roc_curve() == pytest.approx(peer.roc_auc_score(labels, scores), rel=1e-12)
    missed = evaluation(labels, scores, 7)
    assert missed.average_precision() == streameval.average_precision_score(labels, scores, misses=7)
    assert missed.area_under_roc_curve() == streameval.roc_auc_score(labels, scores, misses=7)


@pytest.mark.parametrize("n", [5_000, pytest.param(BLOCK + 70_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rules", RULES)
def test_exact_agrees_beyond_a_block(rules, n):
    rng = np.random.default_rng(1)
    labels, scores = (rng.random(n) < 0.2).astype(np.uint8), rng.permutation(n).astype(float)
    mine = evaluation(labels, scores, 5, rules)
    table, options = pa.table({"v": labels, "s": scores}), streameval.RankingOptions(score="s")
    rows = streameval.exact(table, label="v", misses=5, options=options).metrics.to_pylist()
    value = {(row["metric"], row["argument"]): row["estimate"] for row in rows}
    assert mine.average_precision() == value["average_precision", "found" if rules == "lingpipe" else "positives"]
    assert mine.area_under_roc_curve() == value["roc_auc", ""]
    assert mine.maximum_f_measure(2.0) == value["max_f2", ""]
    assert mine.reciprocal_rank() == value["reciprocal_rank", ""]
    assert mine.precision_at(1000) == value["precision_at", "1000"]
    assert mine.precision_at(n) == value["precision_at", str(n)]
    if rules == "standard":
        assert mine.pr_breakeven_point() == value["breakeven", ""]
