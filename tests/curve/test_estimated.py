"""The estimated curve: one, inside the bounds, from which every estimate follows (`streameval.curve.estimated`)."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import cases, examples

from streameval.curve import Curve
from streameval.curve.at_cutoff import METRICS, Cutoffs
from streameval.curve.envelope import Envelope, Points, close
from streameval.curve.estimated import YieldEstimate, join
from streameval.curve.harmonic import harmonic_differences
from streameval.curve.plug_in import PlugIn
from streameval.curve.pooling import PooledLabels, odds_of, pool_labels
from streameval.judges.classes import judged_in_order
from streameval.judges.estimate import judged_estimate
from streameval.judges.values import Judge
from streameval.methods import create
from streameval.methods.adopted.method import Adopted
from streameval.methods.adopted.steps import Strata
from streameval.metrics.bounded import metrics
from streameval.metrics.estimated import estimates
from streameval.slices.estimates import list_estimate, with_list_rates
from streameval.types import Claim, Labels

HALVES = [Fraction(i, 8) for i in range(1, 9)]
CLAIM = Claim("simultaneous", 0.95, "nothing")


# --- lists, one by one -----------------------------------------------------------------------------------------------


def averages(v, misses):
    """Numerator and denominator of every metric that is a quotient of means, of one 0/1 list."""
    n, y, r = v.size, np.cumsum(v), np.arange(1, v.size + 1)
    f = int(y[-1])
    after = [(y[i], r[i]) for i in range(n) if v[i]]
    right = sum(int(v[i] and not v[j]) for i in range(n) for j in range(i + 1, n))
    found = {
        ("average_precision", "positives"): (sum(j / k for j, k in after), f + misses),
        ("average_precision", "found"): (sum(j / k for j, k in after), f),
        ("roc_auc", ""): (right, (f + misses) * (n - f)),
        ("reciprocal_rank", ""): (1 / after[0][1] if after else 0.0, 1),
        ("dcg_at", str(n)): (sum(1 / np.log2(k + 1) for _, k in after), 1),
    }
    for k in (1, max(1, n // 2), n):
        top = sum(j / i for j, i in after if i <= k)
        found["average_precision_at", str(k)] = (top, f + misses)
        found["average_precision_at_found", str(k)] = (top, y[k - 1])
        found["average_precision_at_capped", str(k)] = (top, min(f + misses, k))
        for name in ("precision", "recall", "f1", "accuracy", "specificity"):
            one = Cutoffs(
                np.array([float(k)]), np.array([float(y[k - 1])]), np.array([float(f)]), float(n), float(misses)
            )
            below = {"precision": k, "recall": f + misses, "f1": k + f + misses, "accuracy": n + misses}.get(
                name, n - f
            )
            value = float(METRICS[name].value(one)[0])
            found[f"{name}_at", str(k)] = ((value * below if below else 0.0), below)
    return found


def others(v, misses):
    """What is no quotient of means: of one 0/1 list with positives."""
    n, y, r = v.size, np.cumsum(v), np.arange(1, v.size + 1)
    p = int(y[-1]) + misses
    precision, recall = y / r, y / p
    found = {
        ("max_f1", ""): np.max(2 * y / (r + p)),
        ("breakeven", ""): np.max(y / np.maximum(r, p)),
        ("r_precision", ""): y[min(p, n) - 1] / p,
        ("pr_area", "interpolated"): sum(precision[i:].max() for i in range(n) if v[i]) / p,
    }
    for share in HALVES:
        kept, reached = np.flatnonzero(y * share.denominator >= r * share.numerator), recall >= float(share) - 1e-12
        found["rank_at_precision", str(share)] = float(kept[-1] + 1) if kept.size else 0.0
        found["recall_at_precision", str(share)] = recall[kept[-1]] if kept.size else 0.0
        found["rank_at_recall", str(share)] = float(np.argmax(reached) + 1) if reached.any() else np.inf
        found["precision_at_recall", str(share)] = precision[np.argmax(reached) :].max() if reached.any() else 0.0
    return found


def plugged(plug_in, n):
    found = estimates(plug_in, np.unique([1, max(1, n // 2), n]))
    found |= {("dcg_at", str(n)): float(plug_in.dcg_at(np.array([n]))[0])}
    for share in HALVES:
        for name, method in (
            ("rank_at_precision", plug_in.rank_at_precision), ("recall_at_precision", plug_in.recall_at_precision),
            ("rank_at_recall", plug_in.rank_at_recall), ("precision_at_recall", plug_in.interpolated_precision),
        ):  # fmt: skip
            found[name, str(share)] = method(share)
    return found


@st.composite
def envelopes(draw):
    """A closed envelope of a few items, and an estimated yield that may leave it."""
    n = draw(st.integers(1, 7))
    label = np.array(draw(st.lists(st.sampled_from([-1, -1, -1, 0, 1]), min_size=n, max_size=n)), np.int8)
    rank = np.arange(1, n + 1)
    truth = np.where(label >= 0, label, draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    y, slack = np.cumsum(truth), draw(st.lists(st.integers(0, 3), min_size=2 * n, max_size=2 * n))
    points = Points(rank, (y - slack[:n]).astype(float), (y + slack[n:]).astype(float))
    envelope = close(n, points, rank, label)
    rates = np.array(draw(st.lists(st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.8, 1.0]), min_size=n, max_size=n)))
    known = label >= 0
    pieces = np.unique(np.append(draw(st.lists(st.integers(1, n), max_size=3)), n)).astype(np.int64)
    return envelope, join(pieces, rates[: pieces.size], rank[known], label[known]), label


def lists_of(envelope):
    n = int(envelope.rank[-1])
    every = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    y = np.cumsum(every, axis=1)
    low, high = envelope.at(np.arange(1, n + 1))
    return every[np.all((y >= low) & (y <= high), axis=1)]


@settings(max_examples=examples(25, 300), deadline=None)
@given(envelopes(), st.sampled_from([0, 0, 1, 2]))
def test_the_clipped_curve_is_the_mean_of_lists_inside_and_every_metric_that_of_these(case, misses):
    envelope, raw, label = case
    n = int(envelope.rank[-1])
    curve = raw.clip(envelope)
    ranks = np.arange(0, n + 1)
    y = curve.at(ranks)
    low, high = envelope.at(ranks)
    assert np.all((low <= y + 1e-12) & (y <= high + 1e-12))
    steps = np.diff(y)
    assert np.all((steps > -1e-12) & (steps < 1 + 1e-12))
    assert steps[label >= 0] == pytest.approx(label[label >= 0], abs=1e-12)
    assert y == pytest.approx(np.clip(raw.at(ranks), low, high), abs=1e-12)

    # Y_u for u between the fractions at which a list changes
    turns = np.unique(np.round(np.append(1 - (y % 1.0), [0.0, 1.0]), 12))
    turns = np.concatenate([[0.0], turns[(turns > 0) & (turns < 1)], [1.0]])
    sums, lists = {}, {tuple(v) for v in lists_of(envelope)}
    for a, b in itertools.pairwise(turns):
        v = np.diff(np.floor(y + (a + b) / 2)).astype(int)
        assert tuple(v) in lists
        for name, (above, below) in averages(v, misses).items():
            before = sums.get(name, (0.0, 0.0))
            sums[name] = before[0] + (b - a) * above, before[1] + (b - a) * below
    found = plugged(PlugIn(curve, n, float(misses)), n)
    for name, (above, below) in sums.items():
        if below > 1e-9:
            assert found[name] == pytest.approx(above / below, abs=1e-9), name
        else:
            assert np.isnan(found[name]), name


@settings(max_examples=examples(20, 200), deadline=None)
@given(envelopes(), st.sampled_from([0, 0, 1, 2]))
def test_every_estimate_is_inside_the_bounds_of_all_lists(case, misses):
    envelope, raw, _ = case
    n, curve = int(envelope.rank[-1]), raw.clip(envelope)
    found = plugged(PlugIn(curve, n, float(misses)), n)
    every = lists_of(envelope)
    lists = [v for v in every if v.sum() + misses]
    half = np.diff(np.floor(curve.at(np.arange(n + 1)) + 0.5)).astype(int)
    if not lists or not half.sum() + misses:
        return
    of_half = others(half, misses)
    found_of = [others(v, misses) for v in lists]
    for name in of_half:
        own = [one[name] for one in found_of]
        value = found[name]
        if np.isnan(value):
            continue
        if name[0] == "rank_at_precision" and len(lists) < len(every):
            own = [*own, 0.0]  # what a list without positives has
        cut = min(max(value, min(own)), max(own))
        if name[0] in ("rank_at_precision", "rank_at_recall"):
            assert value == cut, name
        else:  # it moves no further than to a list that differs from the curve by half a positive at most
            assert abs(value - cut) <= abs(value - of_half[name]) + 1e-9, name


def test_what_needs_the_cut_is_cut():
    """Interpolated precision jumps: at Yh it can be 4/5 where every list inside has 1 at that recall."""
    for seed in range(examples(30, 300)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 12))
        v = (rng.random(n) < 0.6).astype(np.int8)
        label = np.where(rng.random(n) < 0.5, v, -1).astype(np.int8)
        envelope = close(n, Points.none(), np.arange(1, n + 1), label)
        raw = join(np.array([n]), np.array([rng.random()]), np.flatnonzero(label >= 0) + 1, label[label >= 0])
        curve = Curve(n, envelope, np.arange(1, n + 1), CLAIM, estimated=raw)
        for row in metrics(curve).to_pylist():
            low, value, high = (row[side] for side in ("lower", "estimate", "upper"))
            if None not in (low, value, high):
                assert low <= value <= high, row
        for name in ("precision_at", "recall_at", "yield_at"):
            low, value, high = getattr(curve, name)(int(rng.integers(1, n + 1)))
            assert np.isnan(value) or not (value < low or value > high)


# --- labels, in every method -----------------------------------------------------------------------------------------


N = 5_000
FALLING = (np.random.default_rng(5).random(N) < np.linspace(0.95, 0.1, N)).astype(np.int8)
PLANS = {
    "loguniform": ("loguniform", {"budget": 400}),
    "uniform": ("uniform", {"budget": 400}),
    "stratified": ("stratified", {"budget": 1_500}),
    "paula": ("paula", {"epsilon": "0.1", "window": 20}),
}


def judged_plan(seed=0, sample=None):
    said = np.where(np.random.default_rng(seed + 9).random(N) < 0.85, FALLING, 1 - FALLING).astype(np.uint8)
    method = create("loguniform", {"budget": 318, **({"judge_sample": sample} if sample else {})})
    plan = method.plan(N, seed)
    ends = method.reserve(plan)[0]
    return method, judged_in_order(plan, Judge("says", (0.5,)), ends, said)


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_weights_sum_to_the_list_and_its_positives(name, share):
    method = create(*PLANS[name])
    plan = method.plan(N, 3)
    known = np.random.default_rng(1).random(plan.ranks.size) < share
    labels = Labels.of(plan, np.where(known, FALLING[plan.ranks - 1], -1))
    found = method.estimate(plan, labels)
    assert found.weight.sum() == pytest.approx(N, rel=1e-9)
    assert np.all(found.weight[~known] == 0)
    assert np.all(found.weight[known] >= 1 - 1e-9)
    assert found.weight @ (labels.label == 1) == pytest.approx(found.found[-1], rel=1e-9)
    assert found.rank[-1] == N
    steps = np.diff(found.found) / np.diff(found.rank)
    assert np.all((steps > -1e-9) & (steps < 1 + 1e-9))


@pytest.mark.parametrize("sample", [None, 1_500])
def test_with_a_judge_weights_sum_as_well(sample):
    method, plan = judged_plan(2, sample)
    labels = Labels.of(plan, FALLING[plan.ranks - 1])
    found = method.curve(plan, labels).estimated
    assert found.weight.sum() == pytest.approx(N, rel=1e-9)
    assert found.weight @ (labels.label == 1) == pytest.approx(found.found[-1], rel=1e-9)
    assert abs(found.found[-1] - FALLING.sum()) < 0.08 * FALLING.sum()
    own = plan.table.column("judge_class").to_numpy()
    counts = plan.judge_counts.to_pandas().groupby("judge_class")["items"].sum()
    if sample is None:  # every class stands for as many items as the judge put there
        for code, items in counts.items():
            if np.any(own == code):
                assert found.weight[own == code].sum() == pytest.approx(items, rel=1e-9)


def test_a_class_without_labels_takes_the_rates_of_all():
    method, plan = judged_plan()
    own = plan.table.column("judge_class").to_numpy()
    labels = Labels.of(plan, np.where(own == 0, -1, FALLING[plan.ranks - 1]))
    found = method.estimate(plan, labels)
    assert found.weight.sum() == pytest.approx(N, rel=1e-9)
    assert found.weight @ (labels.label == 1) == pytest.approx(found.found[-1], rel=1e-9)


def test_beale_weights_sum_as_well_and_constant_lists_stay():
    rng = np.random.default_rng(2)
    probability = np.where(FALLING == 1, 0.15, 0.05)
    rank = np.flatnonzero(rng.random(N) < probability) + 1
    odds = 1 / probability[rank - 1] - 1
    found = pool_labels(N, rank, FALLING[rank - 1], odds, PooledLabels.beale_rates)
    assert found.weight.sum() == pytest.approx(N, rel=1e-9)
    assert found.weight @ FALLING[rank - 1] == pytest.approx(found.found[-1], rel=1e-9)
    plain = pool_labels(N, rank, FALLING[rank - 1], odds)
    assert plain.found[-1] != found.found[-1]
    for value in (0, 1):
        whole = pool_labels(N, rank, np.full(rank.size, value), odds, PooledLabels.beale_rates)
        assert whole.found[-1] == pytest.approx(N * value)


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("name", PLANS)
def test_constant_lists_are_estimated_as_such(name, value):
    method = create(*PLANS[name])
    plan = method.plan(N, 1)
    found = method.estimate(plan, Labels.of(plan, np.full(plan.ranks.size, value)))
    assert found.found == pytest.approx(found.rank * float(value))


def test_few_labels():
    nothing = pool_labels(10, np.array([1, 2]), np.array([1, 0]), np.zeros(2))
    assert nothing is None  # labels of ranks that were sure to be drawn say nothing of the others
    assert pool_labels(10, np.array([4]), np.array([-1]), np.array([3.0])) is None
    one = pool_labels(10, np.array([4]), np.array([1]), np.array([3.0]))
    assert one.at([0, 3, 4, 10]).tolist() == [0, 3, 4, 10]
    last = pool_labels(10, np.array([10]), np.array([0]), np.array([3.0]))
    assert last.at([0, 9, 10]).tolist() == [0, 0, 0]
    whole = pool_labels(3, np.arange(1, 4), np.array([1, 0, 1]), np.zeros(3))
    assert (whole.at([1, 2, 3]).tolist(), whole.weight.tolist()) == ([1, 1, 2], [1, 1, 1])
    with pytest.raises(ValueError, match="below 1"):
        odds_of(np.array([0.5]), np.array([True]))


def dense(n, rank, label, odds, reach=12):
    """The same rank by rank, as the definition has it."""
    kept = (odds > 0) & (label >= 0)
    i, v, o = np.arange(kept.sum()), label[kept].astype(float), odds[kept]
    rise, at = np.zeros(n), dict(zip(rank[label >= 0].tolist(), label[label >= 0].tolist(), strict=True))
    gaps = np.searchsorted(rank[kept], np.arange(1, n + 1))
    rates = []
    for g in range(kept.sum() + 1):
        k = np.maximum(0, 1 - np.abs(i + 0.5 - g) / reach) * o
        rates.append((k * v).sum() / k.sum())
    for r in range(1, n + 1):
        rise[r - 1] = at.get(r, rates[gaps[r - 1]])
    return np.cumsum(rise)


@pytest.mark.parametrize("missing", cases([0.0, 0.3], 0.3))
def test_knots_are_the_definition(missing):
    n = 30_000
    truth = (np.random.default_rng(1).random(n) < np.linspace(0.9, 0.2, n)).astype(np.int8)
    method = create("loguniform", {"budget": 500})
    plan = method.plan(n, 4)
    label = np.where(np.random.default_rng(2).random(plan.ranks.size) < missing, -1, truth[plan.ranks - 1])
    odds = odds_of(method.weights(plan), label >= 0)
    found = method.estimate(plan, Labels.of(plan, label))
    assert found.at(np.arange(1, n + 1)) == pytest.approx(dense(n, plan.ranks, label, odds), rel=1e-9)


@pytest.mark.parametrize("last", [1, 7, 900])
def test_one_rank_is_read_as_many_are(last):
    rng = np.random.default_rng(last)
    knots = np.unique(np.append(rng.integers(0, last + 1, 40), [0, last]))
    found = YieldEstimate(knots, np.cumsum(np.append(0.0, np.diff(knots) * rng.random(knots.size - 1))))
    ranks = np.concatenate([np.arange(last + 3), rng.random(200) * last, [np.nan]])
    assert np.array([found.at_rank(one) for one in ranks]).tobytes() == found.at(ranks).tobytes()


def test_identities_hold_at_every_rank_and_target():
    method = create("loguniform", {"budget": 300})
    plan = method.plan(N, 8)
    for misses in (0, 40):
        curve = method.curve(plan, Labels.of(plan, FALLING[plan.ranks - 1])).with_misses(misses)
        plug_in = curve.plug_in
        ranks = np.arange(1, N + 1)
        precision, recall = plug_in.at("precision", ranks), plug_in.at("recall", ranks)
        assert recall * plug_in.positives == pytest.approx(precision * ranks)
        for share in (Fraction(i, 50) for i in range(1, 51)):
            t, rank = float(share), plug_in.rank_at_recall(share)
            if np.isfinite(rank):
                assert recall[int(rank) - 1] >= t
                assert rank == 1 or recall[int(rank) - 2] < t
            else:
                assert recall[-1] < t
            rank = int(plug_in.rank_at_precision(share))
            assert rank == 0 or precision[rank - 1] >= t
            assert np.all(precision[rank:] < t)
            assert plug_in.interpolated_precision(share) == pytest.approx(
                precision[recall >= t].max() if np.any(recall >= t) else 0.0
            )


def test_a_dense_sum_says_the_same_of_areas():
    """Average precision, its area under the highest later precision, and AUC, rank by rank."""
    rng = np.random.default_rng(3)
    n = 30_000
    pieces = np.unique(rng.integers(1, n, 200))
    curve = join(np.append(pieces, n), np.append(rng.random(pieces.size), 0.3), np.array([5]), np.array([1]))
    plug_in, r = PlugIn(curve, n, 0.0), np.arange(1, n + 1)
    y = curve.at(np.arange(n + 1))
    rise, f = np.diff(y), curve.found[-1]
    best = np.maximum.accumulate((y[1:] / r)[::-1])[::-1]
    assert plug_in.interpolated_area() == pytest.approx(float((rise * best).sum() / f), rel=1e-9)
    parts = [(np.ceil(a + 1e-12), a, min(np.floor(a + 1e-12) + 1, b), b) for a, b in itertools.pairwise(y)]
    exact = sum(((m - a) * np.floor(a + 1e-12) + (m - a) + (b - m) * (np.floor(a + 1e-12) + 2)) / i
                for i, (_, a, m, b) in enumerate(parts, 1))  # fmt: skip
    assert f > 4_096  # beyond, whole numbers are met in the mean
    assert plug_in.average_precision(0.0) == pytest.approx(exact / f, abs=1 / 32_768 / f * 2)


@pytest.mark.parametrize("name", ["loguniform", "uniform"])
def test_confidence_and_label_errors_move_no_estimate(name, monkeypatch):
    from streameval.curve.label_error import widen

    method = create(*PLANS[name])
    plan = method.plan(N, 2)
    labels = Labels.of(plan, FALLING[plan.ranks - 1])
    curve = method.curve(plan, labels)
    wide = create(PLANS[name][0], {**PLANS[name][1], "confidence": 0.999}).curve(plan, labels)
    ranks = np.arange(1, N + 1)
    assert np.array_equal(curve.at(ranks).column("precision"), wide.at(ranks).column("precision"))
    wrong = widen(curve, 0.02, None)
    assert np.array_equal(curve.at(ranks).column("precision"), wrong.at(ranks).column("precision"))
    assert not wrong.envelope.consistent or wrong.precision_at(N).upper > curve.precision_at(N).upper


def test_slices_sum_to_the_list_and_borrow_where_they_know_nothing():
    from types import SimpleNamespace

    rng = np.random.default_rng(6)
    which = rng.choice(3, N, p=[0.6, 0.39, 0.01])
    parts, curves, drawn, cutoffs = [], {}, [], np.unique(np.append(np.geomspace(1, N, 60).astype(int), N))
    where = [np.flatnonzero(which == s) + 1 for s in range(3)]
    for s, ranks in enumerate(where):
        method = create("loguniform", {"budget": 120})
        plan = method.plan(ranks.size, s)
        if s == 2:  # nothing but its head is labelled
            plan = method.drawn(ranks.size, s, np.array([1]))
        drawn.append(ranks[plan.ranks - 1])
        parts.append(SimpleNamespace(plan=plan, name=str(s)))
    whole = np.sort(np.concatenate(drawn))
    labels = Labels(whole, FALLING[whole - 1], np.ones(whole.size, int), FALLING[whole - 1].astype(int))
    for part, own in zip(parts, drawn, strict=True):
        part.rows = np.searchsorted(whole, own)
        part.labels = lambda given, part=part: Labels.of(part.plan, given.label[part.rows])
        curve = create(part.plan.method, dict(part.plan.parameters)).curve(part.plan, part.labels(labels))
        curves[part.name] = curve if part.name != "2" else curve.on("none")
    inside = np.stack([np.searchsorted(ranks, cutoffs, side="right") for ranks in where], axis=1)
    filled = with_list_rates(parts, curves, labels, (cutoffs, inside))
    assert filled["2"].estimated is not None
    found = list_estimate(parts, filled, labels, (cutoffs, inside))
    sums = sum(curve.plug_in.curve.at(inside[:, s]) for s, curve in enumerate(filled.values()))
    assert found.at(cutoffs) == pytest.approx(sums, rel=1e-9)
    assert found.weight.sum() == pytest.approx(N, rel=1e-9)
    assert found.weight @ labels.label == pytest.approx(found.found[-1], rel=1e-6)
    steps = np.diff(found.at(np.arange(N + 1)))
    assert steps[whole - 1] == pytest.approx(labels.label.astype(float), abs=1e-9)


def test_a_sample_of_the_first_ranks_estimates_nothing_beyond():
    method, rank = Adopted(drawn="unknown"), np.arange(5, 1_001, 5)
    plan = method.adopt(N, 0, rank, Strata(np.array([N]), np.array([rank.size])), None)
    curve = method.curve(plan, Labels.of(plan, FALLING[plan.ranks - 1]))
    assert abs(curve.precision_at(1_000).estimate - FALLING[:1_000].mean()) < 0.1
    assert np.isnan(curve.precision_at(1_001).estimate)
    assert np.isnan(curve.recall_at(500).estimate)
    assert curve.estimated.weight.sum() == pytest.approx(1_000)
    again = YieldEstimate.from_table(curve.envelope_table)
    assert np.array_equal(again.rank, curve.plug_in.curve.rank)


def test_windows_go_on_as_the_paper_has_it():
    method = create("paula", {"epsilon": "0.5", "window": 4})
    plan = method.plan(200)
    rank, truth = plan.ranks, np.tile([1, 1, 0, 1, 0], 40)
    found = method.estimate(plan, Labels.of(plan, truth[rank - 1]))
    gaps = np.flatnonzero(np.diff(rank) > 1)
    for at in gaps:
        a, b = rank[at], rank[at + 1]
        middle = (a + b) // 2
        steps = np.diff(found.at(np.arange(a, b)))
        before, after = truth[rank[at - 3 : at + 1] - 1].mean(), truth[rank[at + 1 : at + 5] - 1].mean()
        assert steps == pytest.approx(np.where(np.arange(a + 1, b) <= middle, before, after))
    assert np.diff(found.at([rank[-1], 200])) == pytest.approx((200 - rank[-1]) * truth[rank[-4:] - 1].mean())


SEEDS = examples(60, 400)


@pytest.mark.parametrize("name", ["loguniform", "uniform"])
def test_the_bias_is_small(name):
    n = 20_000
    truth = (np.random.default_rng(7).random(n) < 0.75 * np.exp(-np.arange(n) / 9_000)).astype(np.int8)
    y, r = np.cumsum(truth), np.arange(1, n + 1)
    negatives = np.cumsum(1 - truth)
    true = [y[-1], (y / r)[truth == 1].mean(), 1 - negatives[truth == 1].sum() / (y[-1] * negatives[-1])]
    found = []
    method = create(name, {"budget": 500})
    for seed in range(SEEDS):
        plan = method.plan(n, seed)
        plug_in = PlugIn(method.estimate(plan, Labels.of(plan, truth[plan.ranks - 1])), n, 0.0)
        found.append([plug_in.found, plug_in.average_precision(0.0), plug_in.roc_auc()])
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(SEEDS)
    assert np.all(np.abs(mean - true) <= 3 * error + 0.01 * np.array(true))


def test_harmonic_differences():
    rng = np.random.default_rng(0)
    start = np.concatenate([np.arange(100), rng.integers(0, 10**9, 100)]).astype(float)
    count = rng.integers(0, 2_000, 200).astype(float)
    for a, b, value in zip(start, start + count, harmonic_differences(start, start + count), strict=True):
        assert value == pytest.approx(float(np.sum(1 / np.arange(a + 1, b + 1, dtype=np.longdouble))), rel=1e-12)


def test_bounds_that_contradict_each_other_hold_the_estimate_between_them():
    envelope = Envelope(np.array([0, 10, 20]), np.array([0.0, 8.0, 9.0]), np.array([0.0, 2.0, 12.0]))
    found = join(np.array([20]), np.array([0.5]), np.array([], int), []).clip(envelope)
    ranks = np.arange(21)
    low, high = envelope.at(ranks)
    y = found.at(ranks)
    assert np.all((np.minimum(low, high) - 1e-9 <= y) & (y <= np.maximum(low, high) + 1e-9))


def test_judged_without_a_judge_is_a_mistake_of_ours():
    plan = create("loguniform", {"budget": 50}).plan(1_000)
    with pytest.raises(ValueError, match="judge"):
        judged_estimate(plan, Labels.of(plan, np.zeros(plan.ranks.size)), np.ones(plan.ranks.size), None)
