"""Bounds for PAULA's labels under independence: naive twin, coverage, what contradicts them, missing labels."""

import math
import re
from math import comb

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from label_tables import judged
from suite_cases import cases, examples

import streameval
from streameval.errors import InputError
from streameval.kernels.window_band import upper_bounds
from streameval.kinds.curve.page import ReportedStudy
from streameval.methods import create
from streameval.methods.checks.dependence import dependence_test
from streameval.methods.paula.noise import noise_points
from streameval.types import Labels

N = 20_000
SMALL = {"epsilon": "0.1", "window": 20, "assume": "independent"}
INDEPENDENT = {
    "flat, .5": lambda x: 0.5 + 0 * x,
    "flat, .9": lambda x: 0.9 + 0 * x,
    "declining": lambda x: 0.95 - 0.85 * x,
    "stepped down": lambda x: np.where(x < 0.1, 0.9, 0.3),
    "rare": lambda x: 0.02 + 0 * x,
}


def charge(unseen, width, found, m, y):
    """θS + D from the definition of the proof, by a search for D instead of its closed form."""
    a = unseen * y / (width * (1 + m * y) + m * unseen * y)
    if a >= 1:
        return math.inf
    grid = np.linspace(0, 1, 200_001)
    with np.errstate(divide="ignore"):
        d = np.max(unseen * np.log1p(grid * y) + width * np.log1p(-grid * a))
    return -math.log(1 - a) * found + d


def test_the_kernel_agrees_with_its_naive_twin():
    rng = np.random.default_rng(1)
    unseen, found = rng.integers(0, 60, 6), rng.integers(0, 21, 6)
    low = rng.uniform(0.05, 0.9, 6)
    prediction = np.array([low, np.minimum(0.95, low + rng.uniform(0, 0.3, 6))])
    rates = np.array([0.01, 0.05, 0.3, 2.0])
    found_bounds = upper_bounds(unseen, found, prediction, 20, rates, 0.1)
    total = [-math.log(4)] * 4
    for j in range(6):
        for i, rate in enumerate(rates):
            if unseen[j]:
                total[i] -= max(charge(unseen[j], 20, found[j], m, math.expm1(rate)) for m in prediction[:, j])
        low_end, high_end = -1e4, 1e5
        for _ in range(200):
            middle = (low_end + high_end) / 2
            mixed = sum(math.exp(min(700, rate * middle + t)) for rate, t in zip(rates, total, strict=True))
            low_end, high_end = (middle, high_end) if mixed < 10 else (low_end, middle)
        assert found_bounds[j] == pytest.approx(min(low_end, unseen[: j + 1].sum()), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("shape", cases(INDEPENDENT, "flat, .5", "declining"))
@pytest.mark.parametrize("delta", [0.05, 0.5])
def test_it_holds_for_independent_labels_that_never_rise(shape, delta):
    """Misses of many lists are no more than chance allows (binomial, p = 1e-4)."""
    rng = np.random.default_rng(2)
    method = create("paula", SMALL)
    plan = method.plan(N)
    layout = method._layout(N)
    probability = INDEPENDENT[shape](np.arange(1, N + 1) / N)
    missed, replicates = 0, examples(60, 1_000)
    for _ in range(replicates):
        truth = (rng.random(N) < probability).astype(np.int8)
        points = noise_points(layout, Labels.of(plan, truth[plan.ranks - 1]), delta)
        y = np.cumsum(truth)[points.rank - 1]
        missed += not (np.all(points.lower <= y) and np.all(y <= points.upper))
    tail = sum(comb(replicates, i) * delta**i * (1 - delta) ** (replicates - i) for i in range(missed, replicates + 1))
    assert tail > 1e-4


def _coverage_and_claims(draw, replicates):
    """Of lists drawn at random: how many curves hold the truth everywhere, and what they claim."""
    rng = np.random.default_rng(3)
    method = create("paula", SMALL)
    plan = method.plan(N)
    held, claims = 0, []
    for _ in range(replicates):
        truth = draw(rng).astype(np.int8)
        curve = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1]))
        low, high = curve.envelope.at(np.arange(1, N + 1))
        held += bool(np.all(low <= np.cumsum(truth)) and np.all(np.cumsum(truth) <= high))
        claims.append(curve.claim.coverage)
    return held, claims


def test_the_model_is_seldom_refuted_where_it_is_true():
    lists = examples(20, 100)
    held, claims = _coverage_and_claims(lambda rng: rng.random(N) < np.linspace(0.9, 0.2, N), lists)
    assert claims.count("none") <= lists // 20
    assert held >= 0.9 * lists


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda rng: rng.random(N) < np.where(np.arange(N) < N // 2, 0.2, 0.8), "precision rises"),
        (lambda rng: np.repeat(rng.random(N // 400 + 1) < 0.5, 400)[:N], "precision rises"),
        (lambda rng: np.repeat(rng.random(N // 4 + 1) < 0.5, 4)[:N], "depend on their neighbours|precision rises"),
    ],
    ids=["rising", "blocked", "clustered"],
)
def test_contradictions_are_found_and_nothing_is_claimed(draw, says):
    lists = examples(6, 20)
    _, claims = _coverage_and_claims(draw, lists)
    assert claims.count("none") >= lists - lists // 20
    method = create("paula", SMALL)
    plan = method.plan(N)
    truth = draw(np.random.default_rng(8)).astype(np.int8)
    curve = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1]))
    assert pytest.approx(0.95) == curve.claim.confidence
    assert re.search(says, curve.findings[0])


def test_dependence_is_seldom_seen_where_there_is_none():
    """Also where probabilities fall inside the windows: the slack of the proof is there for that."""
    rng, tables = np.random.default_rng(5), examples(75, 300)
    probability = np.where(np.arange(4_000) < 2_050, 1.0, 0.0)
    assert not dependence_test((rng.random(4_000) < probability).astype(np.int8).reshape(-1, 100)).beyond_noise
    seen = sum(dependence_test(rng.integers(0, 2, (40, 100)).astype(np.int8)).beyond_noise for _ in range(tables))
    assert seen <= 0.027 * tables
    assert dependence_test(np.full((3, 100), -1, dtype=np.int8)).p_value == 1


@settings(max_examples=examples(25, 100))
@given(seed=st.integers(0, 2**32), share=st.floats(0, 1), holes=st.floats(0.0, 0.5))
def test_missing_labels_only_widen(seed, share, holes):
    rng = np.random.default_rng(seed)
    method = create("paula", SMALL)
    plan, layout = method.plan(5_000), method._layout(5_000)
    label = (rng.random(plan.ranks.size) < share).astype(np.int8)
    full = noise_points(layout, Labels.of(plan, label), 0.05)
    part = noise_points(layout, Labels.of(plan, np.where(rng.random(label.size) < holes, -1, label)), 0.05)
    assert np.all(part.lower <= full.lower)
    assert np.all(full.upper <= part.upper)


@pytest.mark.parametrize("tail", ["open", "closed"])
@pytest.mark.parametrize("n", [200, 225, 300, 5_000])
def test_every_size_of_list(n, tail):
    method = create("paula", {**SMALL, "tail": tail})
    plan = method.plan(n)
    truth = (np.random.default_rng(0).random(n) < 0.7).astype(np.int8)
    low, high = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1])).envelope.at(np.arange(1, n + 1))
    assert np.all((low <= np.cumsum(truth)) & (np.cumsum(truth) <= high))


def test_ppdb_holds_the_truth_where_the_bracket_does_not(real):
    truth = pq.read_table(real("ppdb_human")).column("label").to_numpy().astype(np.int8)
    method = create("paula", {"assume": "independent"})
    plan = method.plan(truth.size)
    curve = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1]))
    low, high = curve.envelope.at(np.arange(1, truth.size + 1))
    y = np.cumsum(truth)
    assert np.all((low <= y) & (y <= high))
    assert (curve.claim.coverage, curve.claim.confidence) == ("conditional", 0.95)
    assert curve.half_width().alpha < 0.08


def test_skin_is_refuted(real):
    truth = pq.read_table(real("skin_logreg")).column("label").to_numpy().astype(np.int8)
    method = create("paula", {"assume": "independent"})
    plan = method.plan(truth.size)
    curve = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1]))
    assert curve.claim.coverage == "none"
    assert curve.findings[0].startswith("The assumption fails")


def test_the_same_study_either_way(ranking, tmp_path):
    folder, labels, truth = ranking
    plain = streameval.plan(str(folder), tmp_path / "a", method="paula", seed=0)
    made = streameval.plan(str(folder), tmp_path / "b", confidence=0.9, method="paula(assume=independent)", seed=0)
    assert plain.table.equals(made.table)
    assert "assume" not in plain.parameters
    found = judged(tmp_path / "b", labels)
    assert found.summary["claim"]["confidence"] == 0.9
    assert "with 90 % confidence" in ReportedStudy("b", made, found).page()
    other = judged(tmp_path / "a", labels)
    names = ["rank", "independent_lower", "independent_upper"]
    beyond = other.curve_table.select(names).drop_null()
    assert beyond.num_rows > 10
    at = np.cumsum(truth)[beyond.column("rank").to_numpy() - 1] / beyond.column("rank").to_numpy()
    assert np.all(beyond.column(names[1]).to_numpy() <= at)


def test_bad_input():
    with pytest.raises(InputError, match=r"assume is 'independant'. Hint: did you mean 'independent'"):
        create("paula", {"assume": "independant"})
    with pytest.raises(InputError, match=r"confidence is 1.0, outside"):
        create("paula", {"confidence": 1.0})
