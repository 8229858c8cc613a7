"""Bands from samples that somebody else drew: exact laws by enumeration, coverage by seeded draws."""

import itertools
import math

import numpy as np
import pytest
from binomial import binomial_tail
from suite_cases import cases, examples, slow

from streameval.kernels import sequential_band
from streameval.methods.adopted import checks
from streameval.methods.adopted.band import points
from streameval.methods.adopted.checks import number_drawn, of_ends, of_strata, of_weights
from streameval.methods.adopted.method import Adopted
from streameval.methods.adopted.steps import Floor, Strata, joined_steps, poisson_steps, strata_steps
from streameval.types import Labels

MUS = np.array([0.05, 0.3, 1.0, 4.0])
sequential_sums = sequential_band.sequential_sums.plain()  # no verb calls it by itself: nothing has compiled it


def whole(n, drawn):
    return Strata(np.array([n]), np.array([drawn]))


def subsets(ranks, size):
    return list(itertools.combinations(ranks, size))


def means(n, samples, steps_of):
    """Mean of exp(mu Y + S) for every list of n items and mu; `samples` are pairs of ranks and probability."""
    found = []
    for truth in itertools.product((0, 1), repeat=n):
        total = np.zeros(MUS.size)
        for ranks, chance in samples:
            taken = np.array(ranks, np.int64)
            label = np.array([truth[r - 1] for r in ranks], np.int8)
            total += chance * np.exp(MUS * sum(truth) + sequential_sums(steps_of(taken, label), MUS)[-1])
        found.append(total)
    return np.array(found)


@pytest.mark.parametrize(("n", "drawn"), [(4, 2), (4, 1), (4, 4), *slow((5, 1), (5, 5), (6, 3), (7, 3), (7, 7))])
def test_no_list_of_a_uniform_sample_is_above_one(n, drawn):
    """The mean over all samples is at most 1, and 1 where every item is positive."""
    all_samples = subsets(range(1, n + 1), drawn)
    samples = [(ranks, 1 / len(all_samples)) for ranks in all_samples]
    for steps_of in (
        lambda t, x: joined_steps([(whole(n, drawn), t)], t, x),
        lambda t, x: strata_steps(whole(n, drawn), t, x),
    ):
        found = means(n, samples, steps_of)
        assert found.max() <= 1 + 1e-12
    assert means(n, samples, lambda t, x: joined_steps([(whole(n, drawn), t)], t, x))[-1] == pytest.approx(1, abs=1e-12)


def test_no_list_of_a_stratified_sample_is_above_one():
    strata = Strata(np.array([2, 6]), np.array([1, 2]))
    pairs = [((a, *b), 1 / 12) for a in (1, 2) for b in subsets(range(3, 7), 2)]
    assert means(6, pairs, lambda t, x: joined_steps([(strata, t)], t, x)).max() <= 1 + 1e-12
    assert means(6, pairs, lambda t, x: strata_steps(strata, t, x)).max() <= 1 + 1e-12


def test_two_draws_together_are_not_above_one():
    first, second = whole(5, 2), Strata(np.array([2, 5]), np.array([1, 1]))
    draws = [(a, (b, c)) for a in subsets(range(1, 6), 2) for b in (1, 2) for c in (3, 4, 5)]
    for truth in itertools.product((0, 1), repeat=5):
        total = np.zeros(MUS.size)
        for a, b in draws:
            both = np.union1d(a, b)
            steps = joined_steps(
                [(first, np.array(a)), (second, np.array(b))], both, np.array(truth, np.int8)[both - 1]
            )
            total += np.exp(MUS * sum(truth) + sequential_sums(steps, MUS)[-1]) / len(draws)
        assert total.max() <= 1 + 1e-12


def test_a_poisson_sample_is_a_martingale_of_every_list():
    probability, floor = np.array([0.9, 0.5, 0.3, 0.2]), Floor(np.array([2, 4]), np.array([0.4, 0.2]))
    chances = [
        (ranks, math.prod(p if r in ranks else 1 - p for r, p in enumerate(probability, 1)))
        for size in range(5)
        for ranks in subsets(range(1, 5), size)
    ]
    found = means(4, chances, lambda t, x: poisson_steps(t, x, probability[t - 1], floor))
    assert found == pytest.approx(np.ones((16, MUS.size)), abs=1e-12)


def test_missing_labels_are_no_narrower_than_any_completion():
    rng = np.random.default_rng(4)
    n, drawn, mu = 60, 12, np.array([0.05, 0.2, 0.8])
    for _ in range(10):
        taken = np.sort(rng.choice(n, drawn, replace=False) + 1)
        label = rng.integers(0, 2, drawn).astype(np.int8)
        holes = label.copy()
        holes[rng.choice(drawn, 4, replace=False)] = -1
        loose = points(joined_steps([(whole(n, drawn), taken)], taken, holes), mu, 0.1)
        for values in itertools.product((0, 1), repeat=4):
            full = holes.copy()
            full[holes < 0] = values
            tight = points(joined_steps([(whole(n, drawn), taken)], taken, full), mu, 0.1)
            assert np.all(loose.lower <= tight.lower)
            assert np.all(loose.upper >= tight.upper)


def test_a_label_says_nothing_of_stakes_before_it():
    """Changing the labels from some rank on leaves every sum before it as it was, to the bit."""
    taken, label = np.arange(3, 60, 7), np.array([1, 0, 1, 1, 0, 1, 0, 1, 1], np.int8)
    first = sequential_sums(joined_steps([(whole(60, 9), taken)], taken, label), MUS)
    other = label.copy()
    other[5:] = 1 - other[5:]
    second = sequential_sums(joined_steps([(whole(60, 9), taken)], taken, other), MUS)
    assert np.array_equal(first[:5], second[:5])


N, DRAWN, RUNS = 5_000, 200, examples(12, 60)
LISTS = {
    "half": lambda rng: rng.random(N) < 0.5,
    "falls": lambda rng: rng.random(N) < np.linspace(0.95, 0.3, N),
    "ones then zeros": lambda rng: np.arange(N) < N // 3,
    "zeros then ones": lambda rng: np.arange(N) >= N // 3,
    "blocks": lambda rng: np.arange(N) // 500 % 2 == 0,
}


def uniform_draw(rng):
    return Adopted(0.9), np.sort(rng.choice(N, DRAWN, replace=False) + 1), whole(N, DRAWN), None


def strata_draw(rng):
    strata = Strata(np.array([100, 500, 2000, N]), np.array([60, 60, 20, 100]))
    parts = [np.sort(rng.choice(w, k, replace=False)) for w, k in zip(strata.width, strata.drawn, strict=True)]
    starts = strata.last - strata.width
    return Adopted(0.9, "strata"), np.concatenate([p + s + 1 for p, s in zip(parts, starts, strict=True)]), strata, None


def poisson_draw(rng):
    rank = np.arange(1, N + 1)
    probability = np.minimum(1.0, 60 / (rank + 45))
    taken = rng.random(N) < probability
    last = np.unique(np.rint(np.geomspace(1, N, 80)).astype(np.int64))
    return Adopted(0.9, "poisson"), rank[taken], Floor(last, np.minimum(1.0, 60 / (last + 45))), probability[taken]


@pytest.mark.parametrize("draw", [uniform_draw, strata_draw, poisson_draw], ids=lambda one: one.__name__)
def test_bands_miss_no_more_than_they_may(draw):
    """At every rank at once, over seeded draws of five lists, at confidence .9."""
    misses = runs = 0
    for at, make in enumerate(LISTS.values()):
        rng = np.random.default_rng([7, at])
        truth = make(rng).astype(np.int8)
        y = np.cumsum(truth)
        for _ in range(RUNS):
            method, rank, ranges, weights = draw(rng)
            plan = method.adopt(N, 1, rank, ranges, weights)
            low, high = method.curve(plan, Labels.of(plan, truth[rank - 1])).envelope.at(np.arange(1, N + 1))
            misses += bool(np.any((low > y) | (high < y)))
            runs += 1
    assert binomial_tail(runs, misses, 0.1) > 1e-4


def test_checks_name_what_is_wrong_with_a_draw_and_pass_draws_as_stated():
    n, drawn = 100_000, 1_000
    rng = np.random.default_rng(2)
    for _ in range(examples(50, 200)):
        assert not of_strata(whole(n, drawn), np.sort(rng.choice(n, drawn, replace=False) + 1))
    dense = np.sort(rng.choice(n // 10, drawn * 3, replace=False) + 1)
    assert not of_strata(whole(n // 10, dense.size), dense)
    crowd = np.concatenate([rng.choice(n // 2, 800, replace=False), n // 2 + rng.choice(n // 2, 200, replace=False)])
    head = np.concatenate([np.arange(30), 30 + rng.choice(n - 30, drawn, replace=False)])
    blocks = np.arange(10) + 100 * rng.choice(1000, 100, replace=False)[:, None]
    drawn_of = "drawn of ranks 1 to 100,000"
    wrong = {
        "All 600 are ranks 1 to 600": np.arange(600),
        "All 500 are ranks 40,001 to 40,500": np.arange(40_000, 40_500),
        f"The 1,000 {drawn_of} crowd in one part": crowd,
        f"The 1,000 {drawn_of} keep their distance, as where every k-th is taken": np.arange(36, n, 100),
        f"The 20,000 {drawn_of} keep their distance, as where every k-th is taken": np.arange(2, n, 5),
        f"The 1,000 {drawn_of} stand side by side, as where whole blocks are drawn": blocks.ravel(),
        f"None of the 1,000 {drawn_of} is among the last 5,": rng.choice(n - 5_000, drawn, replace=False),
        f"None of the 1,000 {drawn_of} is among the first 5,": 5_000 + rng.choice(n - 5_000, drawn, replace=False),
        "The first 30 of ranks 1 to 100,000 were all drawn": head,
    }  # fmt: skip
    for said, row in wrong.items():
        rank = np.sort(row) + 1
        method = Adopted()
        plan = method.adopt(n, 1, rank, whole(n, rank.size), None)
        curve = method.curve(plan, Labels.of(plan, np.arange(rank.size) % 2))
        assert curve.claim.coverage == "none"
        assert curve.findings[0].startswith(f"These bounds promise nothing. {said}")
        assert curve.findings[0].count("ranks") == 1  # one fault, one sentence
        assert curve.findings[0].endswith(" as stated looks like that.")


@pytest.mark.parametrize("level", cases([0.5, 0.1, 0.01], 0.1))
@pytest.mark.parametrize(("n", "drawn"), [(300, 20), (200, 60), (200, 150), (5_000, 200)])
def test_honest_samples_are_doubted_no_more_often_than_is_said(monkeypatch, level, n, drawn):
    """At levels that draws can count; the level in use is 1e-4."""
    monkeypatch.setattr(checks, "SIGNIFICANCE", level)
    rng, strata, runs = (
        np.random.default_rng([n, drawn]),
        Strata(np.array([n, 2 * n]), np.array([drawn, drawn])),
        examples(200, 1_000),
    )
    doubted = 0
    for _ in range(runs):
        one, other = (np.sort(rng.choice(n, drawn, replace=False)) + 1 for _ in range(2))
        doubted += bool(of_strata(strata, np.concatenate([one, n + other])))
    assert binomial_tail(runs, doubted, level) > 1e-4


@pytest.mark.parametrize(
    ("last", "drawn"), [([10, 20, 1_000], [9, 9, 50]), ([10, 20, 1_000], [3, 2, 50]), ([50, 90, 150], [50, 4, 9])]
)
def test_ends_that_draws_take_are_told_from_ends_that_were_cut(last, drawn):
    """Every end taken is as likely as its p-value says: 81 % of the first; ranges read whole say nothing."""
    strata, rng, runs = Strata(np.array(last), np.array(drawn)), np.random.default_rng(4), examples(200, 1_000)
    starts = strata.last - strata.width
    said = [
        of_ends(strata, np.concatenate([np.sort(rng.choice(w, k, replace=False)) + s + 1
                                        for w, k, s in zip(strata.width, drawn, starts, strict=True)]))
        for _ in range(runs)
    ]  # fmt: skip
    chance = math.prod(k / w for w, k in list(zip(strata.width.tolist(), drawn, strict=True))[:-1])
    all_taken = sum(one < 1 for one in said)
    assert all(one in (1.0, pytest.approx(chance)) for one in said)
    assert binomial_tail(runs, all_taken, chance) > 1e-4
    assert binomial_tail(runs, runs - all_taken, 1 - chance) > 1e-4


def classes(probability):
    """The floor of a list whose every probability is known."""
    values, count = np.unique(probability, return_counts=True)
    return Floor(np.arange(1, probability.size + 1), probability, count.astype(float), values * count)


def test_the_number_drawn_has_its_own_distribution():
    """To the last digit, by multiplying it out; with probabilities of 1, which leave nothing to chance."""
    probability = np.concatenate([[1.0] * 3, [0.5] * 4, np.linspace(0.01, 0.3, 12)])
    chance = np.ones(1)
    for p in probability:
        chance = np.convolve(chance, [1 - p, p])
    for n in range(probability.size + 1):
        tail = 2 * min(chance[: n + 1].sum(), chance[n:].sum())
        assert number_drawn(n, classes(probability)) == pytest.approx(min(1.0, tail), abs=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.1, 0.01])
def test_the_number_of_honest_poisson_draws_is_doubted_no_more_often_than_is_said(level):
    rng, runs = np.random.default_rng(6), examples(300, 1_000)
    probability = np.repeat([0.9, 0.2, 0.01], [10, 40, 400])
    known = classes(probability)
    drawn = (rng.random((runs, probability.size)) < probability).sum(axis=1)
    assert binomial_tail(runs, sum(number_drawn(int(n), known) <= level for n in drawn), level) > 1e-4


@pytest.mark.parametrize("expected", [5, 12, 50])
def test_honest_poisson_draws_keep_their_claim(expected):
    """Of a thousand draws none is called one of other probabilities, however few items were drawn."""
    n = 10_000
    floor = Floor(np.array([n]), np.array([expected / n]))
    taken = np.random.default_rng(expected).binomial(n, expected / n, examples(200, 1_000))
    assert not any(of_weights(np.full(count, expected / n), floor) for count in taken[taken > 0])
    rare = Floor(np.array([n // 2, n]), np.array([200 / (n // 2), 1e-4]))
    assert not of_weights(np.full(200, 200 / (n // 2)), rare)  # no rare item was drawn, which is likely
