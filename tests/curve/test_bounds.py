"""Bounds on metrics: sharp against every 0/1 sequence of small envelopes, and quick on large ones."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

from streameval.curve import Curve, areas, points, targets
from streameval.curve import at_cutoff as cutoffs
from streameval.curve import first_k as tops
from streameval.curve.envelope import Points, close
from streameval.curve.extremes import Extremes
from streameval.kernels.harmonic import harmonic_difference, precision_sum
from streameval.methods import create
from streameval.metrics.bounded import metrics
from streameval.types import Claim, Labels

NAN = float("nan")


def naive_ap(v, m):
    ranks = np.flatnonzero(v) + 1
    p = ranks.size + m
    return sum(j / r for j, r in enumerate(ranks, 1)) / p if p else NAN


def naive_auc(v, m):
    f, n = int(v.sum()), v.size
    if f + m == 0 or f == n:
        return NAN
    right = sum(int((v[i + 1 :] == 0).sum()) for i in np.flatnonzero(v))
    return right / ((f + m) * (n - f))


def naive_max(v, m, quotient):
    p = v.sum() + m
    if not p:
        return NAN
    return max(quotient(y, r, p) for r, y in enumerate(np.cumsum(v), 1))


def naive_r_precision(v, m):
    p = int(v.sum()) + m
    return v[:p].sum() / p if p else NAN


def naive_rr(v, m):
    return 1 / (np.argmax(v) + 1) if v.any() else 0.0


def naive_rank_at(v, m, t):
    p, y = int(v.sum()) + m, np.cumsum(v)
    if not p:
        return NAN
    reach = [r for r in range(1, v.size + 1) if y[r - 1] >= max(1, t * p)]
    return reach[0] if reach else np.inf


def naive_interpolated(v, m, t):
    p, y = int(v.sum()) + m, np.cumsum(v)
    if not p:
        return NAN
    return max((y[r - 1] / r for r in range(1, v.size + 1) if y[r - 1] >= max(1, t * p)), default=0.0)


def naive_recall_at_precision(v, m, x):
    p, y = int(v.sum()) + m, np.cumsum(v)
    if not p:
        return NAN
    return max((y[r - 1] / p for r in range(1, v.size + 1) if Fraction(int(y[r - 1]), r) >= x), default=0.0)


def naive_rank_at_precision(v, x):
    y = np.cumsum(v)
    return max((r for r in range(1, v.size + 1) if Fraction(int(y[r - 1]), r) >= x), default=0)


def naive_interpolated_area(v, m):
    f, p = int(v.sum()), int(v.sum()) + m
    return sum(naive_interpolated(v, m, Fraction(j, p)) for j in range(1, f + 1)) / p if p else NAN


WHOLE = {
    "average_precision": (areas.average_precision, naive_ap),
    "roc_auc": (areas.roc_auc, naive_auc),
    "max_f1": (points.max_f, lambda v, m: naive_max(v, m, lambda y, r, p: 2 * y / (r + p))),
    "max_f2": (lambda e: points.max_f(e, 2.0), lambda v, m: naive_max(v, m, lambda y, r, p: 5 * y / (r + 4 * p))),
    "breakeven": (points.breakeven, lambda v, m: naive_max(v, m, lambda y, r, p: y / max(r, p))),
    "r_precision": (points.r_precision, naive_r_precision),
    "reciprocal_rank": (points.reciprocal_rank, naive_rr),
}
for _t in (Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(3, 4), Fraction(1)):
    WHOLE[f"interpolated {_t}"] = (
        lambda e, t=_t: targets.interpolated_precision(e, t),
        lambda v, m, t=_t: naive_interpolated(v, m, t),
    )
    if _t:
        WHOLE[f"rank_at {_t}"] = (
            lambda e, t=_t: targets.rank_at_recall(e, t),
            lambda v, m, t=_t: naive_rank_at(v, m, t),
        )


for _x in (Fraction(1, 10), Fraction(1, 2), Fraction(2, 3), Fraction(1)):
    WHOLE[f"recall_at_precision {_x}"] = (
        lambda e, x=_x: targets.recall_at_precision(e, x),
        lambda v, m, x=_x: naive_recall_at_precision(v, m, x),
    )
    WHOLE[f"rank_at_precision {_x}"] = (
        lambda e, x=_x: targets.rank_at_precision(e, x),
        lambda v, m, x=_x: naive_rank_at_precision(v, x),
    )


def allowed(n, rng):
    """A random closed envelope, and every list inside it."""
    share = rng.random()
    truth = (rng.random(n) < share).astype(int)
    y = np.cumsum(truth)
    known = np.flatnonzero(rng.random(n) < rng.random() * 0.6)
    at = np.flatnonzero(rng.random(n) < 0.5)
    low, high = y[at] - rng.integers(0, 3, at.size), y[at] + rng.integers(0, 3, at.size)
    envelope = close(n, Points(at + 1, low.astype(float), high.astype(float)), known + 1, truth[known].astype(np.int8))
    walks = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    sums = np.cumsum(walks, axis=1)
    lower, upper = envelope.at(np.arange(1, n + 1))
    return envelope, walks[np.all((sums >= lower) & (sums <= upper), axis=1)]


@settings(max_examples=examples(15, 60), deadline=None)
@given(n=st.integers(1, 9), seed=st.integers(0, 2**32), misses=st.sampled_from([0, 0, 1, 2, 7, 30]))
def test_every_bound_is_sharp(n, seed, misses):
    envelope, walks = allowed(n, np.random.default_rng(seed))
    extremes = Extremes.from_envelope(envelope, misses)
    for name, (bounds, naive) in WHOLE.items():
        values = np.array([naive(v, misses) for v in walks])
        values = values[~np.isnan(values)]
        expected = (values.min(), values.max()) if values.size else (NAN, NAN)
        assert bounds(extremes) == pytest.approx(expected, rel=1e-12, nan_ok=True), (name, misses, envelope)


@settings(max_examples=examples(10, 40), deadline=None)
@given(n=st.integers(1, 8), seed=st.integers(0, 2**32), few=st.sampled_from([0, 0, 1, 3]), more=st.integers(1, 6))
def test_every_bound_is_sharp_where_misses_are_bounded(n, seed, few, more):
    """Over every list and every number of misses from `few` to `few + more`."""
    envelope, walks = allowed(n, np.random.default_rng(seed))
    curve = Curve(n, envelope, np.array([n]), Claim("simultaneous", 0.95, "")).with_misses(few, few + more)
    for name, (bounds, naive) in WHOLE.items():
        values = np.array([naive(v, m) for v in walks for m in range(few, few + more + 1)])
        values = values[~np.isnan(values)]
        expected = (values.min(), values.max()) if values.size else (NAN, NAN)
        found = bounds(curve.extremes[0], few + more) if bounds is points.r_precision else curve.over_misses(bounds)
        assert found == pytest.approx(expected, rel=1e-12, nan_ok=True), (name, few, more, envelope)
    rows = {(row["metric"], row["argument"]): row for row in metrics(curve).to_pylist()}
    for name in ("breakeven", "r_precision", "reciprocal_rank"):
        low, high = (rows[name, ""][side] for side in ("lower", "upper"))
        values = np.array([WHOLE[name][1](v, m) for v in walks for m in range(few, few + more + 1)])
        assert (low, high) == pytest.approx((np.nanmin(values), np.nanmax(values)), rel=1e-12)
    for rank in range(1, n + 1):
        sums = walks[:, :rank].sum(axis=1)
        for beta in (0.5, 1.0):
            f = [(1 + beta**2) * y / (rank + beta**2 * (v.sum() + m)) for v, y in zip(walks, sums, strict=True)
                 for m in (few, few + more)]  # fmt: skip
            found = curve.f_measure(rank, beta)
            assert (found.lower, found.upper) == pytest.approx((min(f), max(f)), rel=1e-12)


def naive_top(v, m, k):
    """Average precision of the first k by denominator, and discounted cumulated gain."""
    ranks = np.flatnonzero(v[:k]) + 1
    total, p = sum(j / r for j, r in enumerate(ranks, 1)), int(v.sum()) + m
    return {
        "found": total / ranks.size if ranks.size else NAN,
        "positives": total / p if p else NAN,
        "capped": total / min(p, k) if p else NAN,
        "dcg": sum(1 / np.log2(r + 1) for r in ranks),
    }


@settings(max_examples=examples(15, 60), deadline=None)
@given(n=st.integers(1, 9), seed=st.integers(0, 2**32), misses=st.sampled_from([0, 1, 4]))
def test_bounds_of_the_first_k_are_sharp(n, seed, misses):
    envelope, walks = allowed(n, np.random.default_rng(seed))
    extremes = Extremes.from_envelope(envelope, misses)
    for k in range(1, n + 1):
        bounds = {**tops.average_precision_at(extremes, k), "dcg": tops.dcg_at(extremes, k)}
        naive = [naive_top(v, misses, k) for v in walks]
        for name, found in bounds.items():
            values = np.array([one[name] for one in naive])
            values = values[~np.isnan(values)]
            if values.size and not np.isnan(found).any():
                assert found == pytest.approx((values.min(), values.max()), rel=1e-12, abs=1e-15), (name, k)


@settings(max_examples=examples(15, 60), deadline=None)
@given(n=st.integers(1, 9), seed=st.integers(0, 2**32), misses=st.sampled_from([0, 1, 7]))
def test_the_interpolated_area_is_inside_its_bounds(n, seed, misses):
    envelope, walks = allowed(n, np.random.default_rng(seed))
    low, high = areas.interpolated_area(Extremes.from_envelope(envelope, misses))
    for v in walks:
        area = naive_interpolated_area(v, misses)
        assert np.isnan(area) or low - 1e-12 <= area <= high + 1e-12


@settings(max_examples=examples(15, 60), deadline=None)
@given(n=st.integers(1, 9), seed=st.integers(0, 2**32), misses=st.sampled_from([0, 1, 4]))
def test_every_bound_at_a_cutoff_is_sharp(n, seed, misses):
    envelope, walks = allowed(n, np.random.default_rng(seed))
    rank, sums = np.arange(1.0, n + 1), np.cumsum(walks, axis=1)
    for name, metric in cutoffs.METRICS.items():
        low, high = cutoffs.bounds_at(cutoffs.Known.of(envelope, misses, rank), name)
        for i, r in enumerate(rank):
            shape = np.full(len(walks), r)
            values = metric.value(cutoffs.Cutoffs(shape, sums[:, i], sums[:, -1], float(n), float(misses)))
            values = values[~np.isnan(values)]
            if values.size and not np.isnan([low[i], high[i]]).any():
                assert (low[i], high[i]) == pytest.approx((values.min(), values.max()), abs=1e-12), (name, r)


@pytest.mark.parametrize("start", [0, 1, 31, 32, 500, 10**6])
@pytest.mark.parametrize("count", [0, 1, 8, 9, 100, 5_000])
def test_harmonic_sums_agree_with_their_naive_twins(start, count):
    exact = sum((Fraction(1, start + i) for i in range(1, min(count, 200) + 1)), Fraction(0))
    assert harmonic_difference(float(start), float(min(count, 200))) == pytest.approx(float(exact), rel=3e-15)
    j = np.arange(start + 1, start + count + 1, dtype=np.longdouble)
    for negatives in (0, 3, 10**9):
        direct = float(np.sum(j / (j + negatives)))
        assert precision_sum(start + 1.0, float(start + count), float(negatives)) == pytest.approx(
            direct, rel=1e-12, abs=1e-11
        )


def test_two_billion_items_agree_with_a_scan_of_a_thousandth():
    """The same envelope at a thousandth of the size, searched over every F by direct sums."""
    rank = np.unique(np.geomspace(1, 3_000, 60).astype(np.int64))
    y = np.floor(0.6 * rank)
    envelope = close(
        3_000, Points(rank, np.floor(0.9 * y), np.minimum(rank, np.ceil(1.1 * y))), rank[:0], np.empty(0, np.int8)
    )
    n, misses, r = 3_000, 40, np.arange(1, 3_001)
    lower, upper = envelope.at(r)
    aps, aucs = [], []
    for f in range(int(lower[-1]), int(upper[-1]) + 1):
        for walk in (np.maximum(lower, f - (n - r)), np.minimum(upper, f)):
            v = np.diff(walk, prepend=0)
            aps.append(np.sum(v * walk / r) / (f + misses))
            aucs.append(np.sum(v * (n - f - (r - walk))) / ((f + misses) * (n - f)))
    extremes = Extremes.from_envelope(envelope, misses)
    assert areas.average_precision(extremes) == pytest.approx((min(aps), max(aps)), rel=1e-12)
    assert areas.roc_auc(extremes) == pytest.approx((min(aucs), max(aucs)), rel=1e-12)


@pytest.mark.parametrize("label", [0, 1])
def test_bounds_that_contradict_themselves_show_no_share_outside_0_to_1(label):
    method = create("loguniform", {"budget": 60, "confidence": 0.05})
    plans = [method.plan(300, seed) for seed in range(20)]
    curves = [method.curve(plan, Labels.of(plan, np.full(plan.ranks.size, label, np.int8))) for plan in plans]
    odd = [curve for curve in curves if not curve.envelope.consistent]
    assert any(curve.envelope.upper.min() < 0 or curve.envelope.lower.max() > 300 for curve in odd)
    for curve in odd:
        shown = curve.at(np.arange(1, 301))
        for name in ("precision", "recall", "f1"):
            for side in ("lower", "upper"):
                share = shown.column(f"{name}_{side}").drop_null().to_numpy()
                assert np.all((share >= 0) & (share <= 1)), (name, side)
        for row in metrics(curve).to_pylist():
            if row["metric"] in ("precision_at", "recall_at", "f1_at"):
                assert all(0 <= row[side] <= 1 for side in ("lower", "upper") if row[side] is not None), row
