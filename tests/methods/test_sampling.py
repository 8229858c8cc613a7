"""Sample sizes, intervals and uniform sampling: figures, naive twins, and coverage."""

from math import ceil, comb, floor, log, sqrt

import numpy as np
import pytest
from binomial import binomial_tail
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples, slow

from streameval.errors import InputError
from streameval.kernels.hypergeometric import at_least, at_most, intervals
from streameval.kernels.uniform_sample_size import exact_sample_sizes
from streameval.methods import create
from streameval.methods.uniform.sample_size import curve_sizes
from streameval.types import Labels


def probabilities(drawn, positive, items):
    """Naive twin: P(X = k) for k = 0..drawn by counting."""
    total = comb(items, drawn)
    return [comb(positive, k) * comb(items - positive, drawn - k) / total for k in range(drawn + 1)]


@settings(max_examples=examples(20, 100), deadline=None)
@given(data=st.data(), items=st.integers(1, 80))
def test_tails_agree_with_counting(data, items):
    drawn, positive = data.draw(st.integers(0, items)), data.draw(st.integers(0, items))
    k = data.draw(st.integers(-1, drawn + 1))
    exact = probabilities(drawn, positive, items)
    assert at_least.plain()(k, drawn, positive, items) == pytest.approx(sum(exact[max(k, 0) :]), abs=1e-12)
    assert at_most.plain()(k, drawn, positive, items) == pytest.approx(
        sum(exact[: k + 1]) if k >= 0 else 0.0, abs=1e-12
    )


@settings(max_examples=examples(15, 60), deadline=None)
@given(data=st.data(), items=st.integers(1, 60), delta=st.sampled_from([0.5, 0.1, 0.05, 0.001]))
def test_exact_intervals_are_the_numbers_that_are_not_rejected(data, items, delta):
    drawn = data.draw(st.integers(1, items))
    k = data.draw(st.integers(0, drawn))
    kept = [
        positive
        for positive in range(k, items - drawn + k + 1)
        if sum(probabilities(drawn, positive, items)[k:]) > delta / 2 * (1 - 1e-10)
        and sum(probabilities(drawn, positive, items)[: k + 1]) > delta / 2 * (1 - 1e-10)
    ]
    one = np.array([1], dtype=np.int64)
    low, high = intervals(one * k, one * k, one * drawn, one * items, delta)
    assert (low[0], high[0]) == (kept[0], kept[-1])


@settings(max_examples=examples(12, 40), deadline=None)
@given(
    items=st.integers(1, examples(60, 120)),
    alpha=st.floats(0.05, 0.6),
    p=st.floats(0.1, 1),
    delta=st.sampled_from([0.5, 0.1, 0.05, 0.001]),
)
def test_exact_sample_sizes_agree_with_their_naive_twin(items, alpha, p, delta):
    positive = min(items, max(1, round(p * items)))
    share, least = positive / items, 1
    for z in range(items, 0, -1):
        low, high = ceil(z * share * (1 - alpha) - 1e-9), floor(z * share * (1 + alpha) + 1e-9)
        if sum(q for k, q in enumerate(probabilities(z, positive, items)) if not low <= k <= high) > delta:
            least = z + 1
            break
    assert exact_sample_sizes(*(np.array([one]) for one in (items, alpha, p, delta))).tolist() == [least]


def test_sizes_are_arrays_over_everything():
    items = np.array([10**6, 10**9])[:, None, None, None]
    alpha = np.array([0.03, 0.08])[:, None, None]
    p, delta = np.array([0.5, 0.7, 0.9])[:, None], np.array([0.05, 0.001])
    hoeffding, exact = (curve_sizes(items, alpha, p, delta, bound) for bound in ("hoeffding", "exact"))
    assert hoeffding.shape == exact.shape == (2, 2, 3, 2)
    z = log(2 * 10**9 / 0.05) / (2 * 0.03**2 * 0.5**2)
    assert hoeffding[1, 0, 0, 0] == pytest.approx(2 * sqrt(10**9 * z), rel=1e-12)
    assert np.all(exact <= hoeffding)
    assert np.all(exact[1] < hoeffding[1])


def test_figures_of_the_paper():
    assert float(curve_sizes(217_077, 0.08, 0.7, 0.05).round(2)) == 47_030.54
    assert float(curve_sizes(217_077, 0.0812, 0.7, 0.05).round(1)) == 46_335.5
    z = log(2 * 217_077 / 0.05) / (2 * 0.08**2 * 0.7**2)
    # the paper prints 41,056 for its eq. (4) at s = 17,392 (PAULA's labels there), which gives this
    assert round(217_077 * z / 17_392, 1) == 31_794.4


LISTS = {
    "flat": lambda n, rng: rng.random(n) < 0.6,
    "falling": lambda n, rng: rng.random(n) < np.linspace(0.95, 0.1, n),
    "rising tail": lambda n, rng: rng.random(n) < np.where(np.arange(n) < n // 2, 0.2, 0.9),
    "rare": lambda n, rng: rng.random(n) < 0.03,
    "all": lambda n, rng: np.ones(n, dtype=bool),
}


@pytest.mark.parametrize("interval", ["hoeffding", "hypergeometric"])
@pytest.mark.parametrize("shape", ["falling", "rising tail", *slow(*((shape,) for shape in ("flat", "rare", "all")))])
def test_uniform_holds_at_every_rank(shape, interval):
    n, confidence, replicates = 2_000, 0.8, examples(25, 120)
    truth = LISTS[shape](n, np.random.default_rng(5)).astype(np.int8)
    y, ranks = np.cumsum(truth), np.arange(1, n + 1)
    method = create("uniform", {"budget": 300, "confidence": confidence, "interval": interval})
    misses = pointwise = 0
    for seed in range(replicates):
        plan = method.plan(n, seed)
        curve = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1]))
        low, high = curve.envelope.at(ranks)
        misses += not (np.all(low <= y) and np.all(y <= high))
        table = curve.columns.slice(curve.columns.num_rows - 1)
        precision = y[table["rank"][0].as_py() - 1] / table["rank"][0].as_py()
        pointwise += not table["hoeffding_lower"][0].as_py() <= precision + 1e-12
        pointwise += not table["hypergeometric_upper"][0].as_py() >= precision - 1e-12
    assert binomial_tail(replicates, misses, 1 - confidence) > 1e-4
    assert binomial_tail(2 * replicates, pointwise, (1 - confidence) / 2) > 1e-4


@pytest.mark.parametrize(
    ("retired", "said"),
    [({"first": 500}, "has no first any more"), ({"interval": "dkwm"}, "has no interval=dkwm any more")],
)
def test_what_uniform_could_be_told_once_is_named_with_what_to_do_now(retired, said):
    """As plans of earlier versions hold it; what was not given there is no parameter."""
    with pytest.raises(InputError, match=said) as refused:
        create("uniform", {"budget": 100, "first": None} | retired)
    assert refused.value.hint.startswith("streameval plan LIST ")
    assert create("uniform", {"budget": 100, "first": None}) == create("uniform", {"budget": 100})


@pytest.mark.parametrize("bad", [{"interval": "wald"}, {"confidence": 1}, {"budget": 0}, {"alpha": -1}])
def test_bad_parameters_of_uniform(bad):
    with pytest.raises(InputError):
        create("uniform", bad)


@pytest.mark.parametrize("alpha", [0.03, 0.0812, 0.1])
def test_paula_takes_the_cheapest_epsilon_within_alpha(alpha):
    found = create("paula", {"alpha": alpha}).cost(10**7)
    assert found["accuracy"] <= alpha
    for more in (0.0005, 0.001):
        other = create("paula", {"epsilon": str(round(float(found["epsilon"]) + more, 4))}).cost(10**7)
        assert other["accuracy"] > alpha or other["labels"] >= found["labels"]
    with pytest.raises(InputError, match="out of PAULA's reach"):
        create("paula", {"alpha": 0.015}).cost(10**7)


@pytest.mark.parametrize("name", ["paula", "loguniform", "uniform"])
def test_a_budget_is_kept_and_one_too_small_is_refused(name):
    found = create(name, {"budget": 5_000}).cost(10**8)
    assert 4_000 < found["labels"] <= 5_000
    assert found["accuracy"] > 0.08
    with pytest.raises(InputError, match="below the smallest plan"):
        create(name, {"budget": 1}).cost(10**8)
