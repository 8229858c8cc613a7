"""Extrapolated precision: 60 digits as oracle, round trips, figures, the interval, and what is refused."""

import json
import shlex
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measured import with_tables
from suite_cases import examples

import streameval
from streameval.cli import run
from streameval.curve.extrapolation import Counts, documents, extrapolate, false_positive_rate, interval, precision_of
from streameval.errors import InputError
from streameval.methods import create
from streameval.types import Labels

RECALLS = [1e-12, 1e-6, 1e-3, 0.01, 0.1, 0.5, 0.75, 0.9, 0.99, 0.999999, 1 - 1e-12, 1.0]
PREVALENCES = [1e-6, 0.03, 0.5, 0.99]


@pytest.fixture
def mp():
    mpmath = pytest.importorskip("mpmath", reason="mpmath is the oracle; the extra 'dev' brings it")
    with mpmath.workdps(60):
        yield mpmath


def printed(mp, recall, beta):
    """The braces of eq. 11 as the paper prints them."""
    r, beta = mp.mpf(recall), mp.mpmathify(beta)
    t = mp.atan(beta)
    b = mp.log(1 + beta**2) / (2 * beta * t)
    value = 1 - mp.atan(beta * (1 - r)) / t * (1 + b) + mp.log(1 + (beta * (1 - r)) ** 2) / (2 * beta * t)
    return value.real


def test_eq_11_to_1e_12_against_60_digits(mp):
    for recall in RECALLS:
        for beta in 10.0 ** np.arange(-6, 12.5, 0.5):
            b = printed(mp, recall, float(beta))
            if recall >= 0.01:
                assert abs(mp.mpf(float(false_positive_rate(recall, beta))) / b - 1) < 1e-13
            for rho in PREVALENCES:
                r, odds = mp.mpf(recall), (1 - mp.mpf(rho)) / mp.mpf(rho)
                assert abs(mp.mpf(float(precision_of(recall, rho, beta))) * (r + odds * b) / r - 1) < 1e-12


def test_the_continuation_to_1e_12_against_60_digits(mp):
    for recall in [1e-6, 1e-3, 0.1, 0.5, 0.75, 0.99]:
        for tau in [1e-6, 1e-3, 0.3, 1.0, 3.0, 10.0, 40.0]:
            b = printed(mp, recall, mp.mpc(0, mp.tanh(mp.mpf(tau))))
            assert abs(mp.mpf(float(false_positive_rate(recall, -tau))) / b - 1) < 1e-12


def test_eq_11_is_the_integral_of_eq_10(mp):
    """R/X(R) = ∫ dr/x(r), eq. 4, with x of eq. 10."""
    rho, beta = mp.mpf("0.03"), mp.mpf(20)
    t = mp.atan(beta)

    def reciprocal(r):
        rest = (1 - rho) / rho * beta / t * (r + mp.log(1 + beta**2) / (2 * beta * t))
        return 1 + rest / (1 + beta**2 * (1 - r) ** 2)

    for recall in (0.2, 0.75):
        expected = recall / mp.quad(reciprocal, [0, recall])
        assert float(precision_of(recall, 0.03, 20.0)) == pytest.approx(float(expected), rel=1e-12)


def test_limits_and_the_curve_at_its_ends():
    r = np.linspace(0.01, 0.99, 50)
    assert np.allclose(false_positive_rate(r, 0.0), r * (1 + r) / 2, rtol=1e-15)
    assert np.allclose(false_positive_rate(r, 1e-9), r * (1 + r) / 2, rtol=1e-14)
    assert np.all(false_positive_rate(r, np.inf) == 0)
    assert np.allclose(precision_of(1.0, 0.03, [1e-6, 1.0, 1e12, -5.0]), 0.03)
    assert np.all(false_positive_rate(r, 1e200) < 1e-140)


@settings(max_examples=examples(40, 100))
@given(
    r=st.floats(1e-6, 0.999),
    rho=st.floats(1e-6, 0.99),
    share=st.floats(1e-9, 1 - 1e-9),
)
def test_round_trip_in_both_regimes(r, rho, share):
    """P → β → P, for every P above ρ: X₀ lies somewhere between."""
    p = rho + (1 - rho) * share
    found = extrapolate(p, r, rho, r)
    assert float(found.precision) == pytest.approx(p, rel=1e-9)
    border = 2 * rho / (2 * rho + (1 - rho) * (1 + r))
    if abs(p / border - 1) > 1e-9:
        assert bool(found.outside_model) == (p < border)


@settings(max_examples=examples(40, 100))
@given(
    r=st.floats(1e-4, 0.999),
    step=st.floats(1e-4, 0.5),
    tau=st.floats(-8, 1e6),
    more=st.floats(1e-3, 10),
)
def test_the_rate_rises_with_recall_and_falls_with_the_shape(r, step, tau, more):
    """What the interval rests on."""
    further = min(1.0, r + step)
    assert false_positive_rate(r, tau) <= false_positive_rate(further, tau) * (1 + 1e-12)
    assert false_positive_rate(r, tau + more) <= false_positive_rate(r, tau) * (1 + 1e-12)


def test_figures_of_the_paper():
    # figure 5: β from 2.44 to 833, chosen for evenly spaced X at R = .75 and ρ = .03
    ends = precision_of(0.75, 0.03, [2.44, 833])
    assert ends.round(2).tolist() == [0.05, 0.95]
    # section 1: 6.5 times the review at R = .75, though F₁ differs by 3.6 and F₂ by 2.0
    p = np.array([0.8365, 0.1287])
    review = documents(0.01, 10**6, 0.75, p)
    f1, f2 = 2 * 0.75 * p / (p + 0.75), 5 * 0.75 * p / (4 * p + 0.75)
    assert [round(float(x), 1) for x in (review[1] / review[0], f1[0] / f1[1], f2[0] / f2[1])] == [6.5, 3.6, 2.0]


def test_arrays_are_as_numbers():
    p, r = np.array([0.2, 0.5, 0.9]), np.array([[0.3], [0.8]])
    found = extrapolate(p, r, 0.03, 0.75)
    assert found.precision.shape == (2, 3)
    for i in range(2):
        for j in range(3):
            assert found.precision[i, j] == float(extrapolate(p[j], r[i, 0], 0.03, 0.75).precision)


def test_below_the_border_is_flagged_and_can_fall_below_prevalence():
    found = extrapolate(0.0301, 0.9, 0.03, 0.3)
    assert found.outside_model
    assert found.below_prevalence
    assert extrapolate(0.999, 0.5, 0.03, 0.75).uncertain
    assert float(extrapolate(1.0, 0.5, 0.03, 0.75).precision) == 1.0


@settings(max_examples=examples(15, 100))
@given(
    low=st.integers(1, 400), extra=st.integers(0, 80), more=st.integers(1, 500), wide=st.integers(0, 200),
    target=st.floats(0.05, 0.95), data=st.data(),
)  # fmt: skip
def test_the_interval_encloses_every_pair_of_its_box(low, extra, more, wide, target, data):
    counts = Counts(500, (low, low + extra), (low + more, low + more + wide), 50_000)
    found = interval(counts, target, cells=200)
    y = data.draw(st.integers(low, low + extra))
    positives = data.draw(st.integers(max(y + 1, low + more), max(y + 1, low + more + wide)))
    if positives <= low + more + wide and y <= 500 and y / 500 > positives / 50_000:
        x = float(extrapolate(y / 500, y / positives, positives / 50_000, target).precision)
        assert found.precision[0] <= x * (1 + 1e-9)
        assert x <= found.precision[1] * (1 + 1e-9)
        review = target * positives / x
        assert found.documents[0] <= review * (1 + 1e-9)
        assert review <= found.documents[1] * (1 + 1e-9)


def test_more_cells_are_closer_and_a_point_is_a_point():
    wide = interval(Counts(1000, (500, 650), (900, 1500), 100_000), 0.75, cells=10).precision
    close = interval(Counts(1000, (500, 650), (900, 1500), 100_000), 0.75).precision
    assert wide[0] < close[0] < close[1] < wide[1]
    point = interval(Counts(1000, (600, 600), (1000, 1000), 100_000), 0.75).precision
    exact = float(extrapolate(0.6, 0.6, 0.01, 0.75).precision)
    assert point == pytest.approx((exact, exact), rel=1e-12)


def test_what_cannot_be_told_is_left_open():
    assert interval(Counts(1000, (5, 650), (900, 1500), 100_000), 0.75).precision[0] == 0.0  # no better than chance
    assert interval(Counts(1000, (500, 1000), (900, 1500), 100_000), 0.75).precision[1] == 1.0
    with pytest.raises(InputError, match="cannot be in"):
        interval(Counts(1000, (500, 650), (100, 200), 100_000), 0.75)


def test_the_interval_covers_in_simulation():
    """What the true counts extrapolate to is inside, as often as the study promises (binomial, p = 1e-4)."""
    n, delta, replicates = 10_000, 0.5, examples(20, 100)
    rng = np.random.default_rng(3)
    # a list along the reference curve of β = 30 at ρ = .05
    recall = np.linspace(0, 1, 2001)
    rank = np.rint(500 * (recall + 19 * false_positive_rate(recall, 30.0))).astype(int)
    share = np.interp(np.arange(1, n + 1), rank, 500 * recall)
    truth = (rng.random(n) < np.diff(share, prepend=0)).astype(np.int8)
    y, cut = np.cumsum(truth), 750
    expected = float(extrapolate(y[cut - 1] / cut, y[cut - 1] / y[-1], y[-1] / n, 0.75).precision)
    method = create("loguniform", {"alpha": 0.3, "confidence": 1 - delta, "min_precision": 0.2})
    missed = 0
    for seed in range(replicates):
        plan = method.plan(n, seed)
        low, high = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1])).envelope.at([cut, n])
        found = interval(Counts(cut, (low[0], high[0]), (low[1], high[1]), n), 0.75, cells=200).precision
        missed += not found[0] <= expected <= found[1]
    tail = sum(comb(replicates, i) * delta**i * (1 - delta) ** (replicates - i) for i in range(missed, replicates + 1))
    assert tail > 1e-4


POINT = "extrapolate precision@recall:0.8=0.6 prevalence=0.03"


def test_the_command(capsys):
    assert run(shlex.split(f"{POINT} precision@recall:0.75 --items 100000 --json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["precision"] == pytest.approx(0.67440999, abs=1e-8)
    assert found["documents"] == pytest.approx(0.03 * 1e5 * 0.75 / found["precision"])
    assert run(shlex.split("extrapolate precision@recall:0.9=0.0301 prevalence=0.03 precision@recall:0.3")) == 0
    said = capsys.readouterr().out
    assert "Outside the paper's model" in said
    assert "below prevalence" in said


def test_a_study_extrapolates_with_bounds(ranking, tmp_path, capsys):
    folder, labels, truth = ranking
    study = str(tmp_path / "study")
    streameval.plan(str(folder), study, method="loguniform", alpha=0.2, seed=0)
    with_tables(tmp_path / "study", labels, misses=500)
    assert run(["extrapolate", study, "precision@recall:0.75", "--at", "3000", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    y = np.cumsum(truth)
    positives, population = y[-1] + 500, truth.size + 500
    exact = float(extrapolate(y[2999] / 3000, y[2999] / positives, positives / population, 0.75).precision)
    assert found["precision_lower"] <= exact <= found["precision_upper"]
    assert found["precision_lower"] <= found["precision"] <= found["precision_upper"]
    assert run(["extrapolate", study, "precision@recall:.75"]) == 0
    assert "at every rank at once with 95 % confidence" in capsys.readouterr().out
    assert run(["extrapolate", study, "precision@recall:0.75", "--items", "9"]) == 2
    assert run(["extrapolate", study, "prevalence=0.9", "precision@recall:0.75"]) == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("precision@recall:0.8=0.02 prevalence=0.03 precision@recall:0.75", "not above prevalence 0.03"),
        ("precision@recall:0.8=0.03 prevalence=0.03 precision@recall:0.75", "not above prevalence 0.03"),
        ("precision@recall:1=0.6 prevalence=0.03 precision@recall:0.75", "recall is 1, outside (0, 1)"),
        ("precision@recall:0.8=0.6 prevalence=0.03 precision@recall:1", "target recall is 1, outside (0, 1)"),
        ("precision@recall:0.8=0.6 prevalence=0.03 precision@recall:nan", "is 'nan', not a number"),
        ("precision@recall:0.8=1.2 prevalence=0.03 precision@recall:0.5", "precision is 1.2, outside (0, 1]"),
        ("precision@recall:0.8=0.6 prevalence=0 precision@recall:0.5", "prevalence is 0, outside (0, 1)"),
        ("precision@recall:0.8=0.6 precision@recall:0.5", "prevalence is not given"),
        ("prevalence=0.1 precision@recall:0.5", "precision is not given"),
        ("precision@recall:0.8=0.6 prevalence=0.03 precision@100", "what is wanted is a precision at a recall"),
        ("precision@100=0.6 prevalence=0.03 precision@recall:0.5", "precision@100=0.6: not a study, nor what was"),
        ("precision@recall:0.8=much prevalence=0.03 precision@recall:0.5", "nor what was measured"),
        ("precision@recall:0.75", "needs a start and a target"),
        ("precision@recall:0.8=0.6 prevalence=0.03 precision@recall:0.5 --items 0", "items is 0"),
        ("precision@recall:0.8=0.6 prevalence=0.03 precision@recall:0.5 --at 3", "at names cutoffs of a study"),
    ],
)
def test_bad_input_is_one_line(arguments, says, capsys):
    assert run(["extrapolate", *shlex.split(arguments)]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
