"""How many labels a gate takes: the published table by recursion, the recursion by enumeration and simulation."""

import itertools
import math

import numpy as np
import pytest
from binomial import binomial_tail
from gates import answered, planned
from suite_cases import cases, examples, slow

from benchmarks.questions import fixed_sample, wald_floor
from streameval.sequential import LabelForecast
from streameval.sequential.closed import rule
from streameval.sequential.deciding import Rule

TABLE = [  # threshold, precision; mean, median, nine in ten, mean if it is expected; fixed sample, floor; mean at 1,000
    (0.9, 1.0, 37, 37, 37, 32, 29, 28, 36),
    (0.9, 0.99, 51, 37, 91, 46, 46, 42, 48),
    (0.9, 0.97, 101, 91, 191, 89, 103, 82, 89),
    (0.9, 0.95, 225, 191, 450, 193, 239, 179, 171),
    (0.9, 0.93, 690, 599, 1402, 582, 748, 542, 358),
    (0.9, 0.92, 1623, 1413, 3298, 1361, 1760, 1264, 528),
    (0.9, 0.88, 1935, 1635, 4005, 1592, 2096, 1425, 550),
    (0.9, 0.85, 341, 294, 692, 284, 368, 245, 226),
    (0.9, 0.80, 97, 82, 200, 82, 109, 67, 84),
    (0.9, 0.50, 9, 7, 18, 7, 12, 6, 9),
    (0.5, 0.80, 21, 19, 39, 18, 23, 16, 20),
    (0.5, 0.70, 49, 41, 96, 42, 53, 36, 45),
    (0.5, 0.60, 198, 170, 402, 166, 213, 149, 152),
    (0.5, 0.55, 798, 678, 1650, 657, 866, 598, 377),
    (0.5, 0.53, 2345, 1964, 4863, 1833, 2394, 1663, 579),
]


def condition(threshold, rank=10**6, **more):
    return planned(f"precision@{rank} >= {threshold}", **more).tests[0]


@pytest.mark.parametrize("row", cases(TABLE, *TABLE[::6][:2]), ids=lambda row: f"{row[0]} {row[1]}")
def test_the_labels_of_a_gate_are_those_published(row):
    threshold, precision, mean, median, nine, expected, fixed, floor, _ = row
    deciding = condition(threshold).before(precision)
    assert deciding.mean == pytest.approx(mean, abs=0.6)
    assert (deciding.quantile(0.5), deciding.quantile(0.9)) == (median, nine)
    assert condition(threshold, expect=str(precision)).before(precision).mean == pytest.approx(expected, abs=0.6)
    assert fixed_sample(threshold, precision, 0.05) == fixed
    assert wald_floor(threshold, precision, 0.05) == pytest.approx(floor, abs=0.6)
    assert deciding.mean > wald_floor(threshold, precision, 0.05)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]} {row[1]}")
def test_the_labels_of_a_gate_of_1000_items_are_those_published(row):
    assert condition(row[0], 1_000).before(row[1]).mean == pytest.approx(row[-1], abs=0.6)


@pytest.mark.parametrize(
    ("threshold", "rank", "false"), [(0.9, 10**6, 0.0488), (0.5, 10**6, 0.043), (0.9, 1_000, 0.0482)]
)
def test_a_list_that_is_one_positive_short_passes_seldom(threshold, rank, false):
    one = condition(threshold, rank)
    passes = one.rule(20_000).of_wins(one.passing.most).passed.sum()
    assert passes == pytest.approx(false, abs=5e-4)
    assert passes < 0.05
    assert one.rule(20_000).of_wins(one.items - one.failing.most).failed.sum() < 0.05


@pytest.mark.parametrize(("threshold", "precision", "how"), [
    (0.6, 0.8, {"expect": "0.8"}), (0.9, 0.8, {}), *slow((0.5, 0.62, {}), (0.5, 0.6, {"zone": "0.05"})),
])  # fmt: skip
def test_in_rounds_it_takes_what_was_forecast_and_no_more_than_the_rest_of_one(threshold, precision, how):
    rank, runs, rng = 20_000, examples(30, 60), np.random.default_rng(3)
    gate = planned(f"precision@{rank} >= {threshold}", **how)
    (_, forecast), *_ = planned(f"precision@{rank} >= {threshold}", **{**how, "expect": str(precision)}).expected()
    if "expect" not in how:
        one = gate.tests[0].before(precision)
        forecast = LabelForecast(one.quantile(0.5), one.quantile(0.9))
    truth, found = np.repeat(np.array([1, 0], np.int8), [round(precision * rank), round((1 - precision) * rank)]), []
    for seed in range(runs):
        drawn, answer = answered(gate, rng.permutation(truth), seed)
        found.append((answer.lines[0].labels, drawn.table.num_rows))
    decided, asked = np.array(found).T
    for share, most in ((0.5, forecast.median), (0.1, forecast.nine_in_ten)):
        assert binomial_tail(runs, int((decided > most).sum()), share) > 1e-4
    assert binomial_tail(runs, int((decided <= forecast.median).sum()), 0.56) > 1e-4  # not too many either
    assert 0 <= (asked - decided).mean() <= 50


def simulated(one, wins, runs, rng):
    """Number of labels and outcome of runs on random orders, as the test itself reads them."""
    labels = (np.arange(one.items) < wins).astype(np.int8)
    readings = [one.read(rng.permutation(labels)) for _ in range(runs)]
    return np.array([each.stopped for each in readings]), [each.outcome for each in readings]


@pytest.mark.parametrize("zone", [None, "0.1"])
@pytest.mark.parametrize("share", cases([0.95, 0.9, 0.85, 0.8, 0.7], 0.95, 0.85))
def test_the_recursion_gives_what_runs_give(zone, share):
    one, runs = condition(0.9, 400, zone=zone), examples(500, 1_500)
    deciding = one.before(share)
    labels, outcomes = simulated(one, round(share * 400), runs, np.random.default_rng(round(share * 100)))
    assert "open" not in outcomes
    assert deciding.passed.sum() + deciding.failed.sum() == pytest.approx(1)
    passes = deciding.passed.sum()
    assert outcomes.count("pass") / runs == pytest.approx(
        passes, abs=4 * math.sqrt(passes * (1 - passes) / runs) + 1e-9
    )
    assert labels.mean() == pytest.approx(deciding.mean, abs=4 * labels.std() / math.sqrt(runs))
    for quantile in (0.5, 0.9):
        reached = np.mean(labels <= deciding.quantile(quantile))
        assert reached > quantile - 4 * 0.5 / math.sqrt(runs)


def test_the_recursion_is_the_enumeration_of_all_orders():
    """Seven items under random pairs of bounds that never fall; more positives pass more often."""
    rng, items = np.random.default_rng(0), 7
    for _ in range(60):
        up = np.minimum(np.sort(rng.integers(1, items + 2, items + 1)), np.arange(items + 1) + 1)
        down = np.minimum(np.sort(rng.integers(-3, 4, items + 1)), up - 1)
        bounds, before = Rule(items, up, down), -1.0
        for wins in range(items + 1):
            found = bounds.of_wins(wins)
            counts = np.zeros((2, items + 1))
            orders = list(itertools.combinations(range(items), wins))
            for order in orders:
                path = np.concatenate([[0], np.cumsum([i in order for i in range(items)])])
                n = int(np.argmax(np.append((path >= up) | (path <= down), True)))
                if n <= items:
                    counts[int(path[n] < up[n]), n] += 1
            assert found.passed == pytest.approx(counts[0] / len(orders), abs=1e-15)
            assert found.failed == pytest.approx(counts[1] / len(orders), abs=1e-15)
            assert found.left.sum() == pytest.approx(1 - counts.sum() / len(orders), abs=1e-14)
            assert found.passed.sum() >= before - 1e-15
            before = found.passed.sum()


def test_a_forecast_is_the_mean_over_what_the_list_may_be():
    """Of 30 items, weighted by their wins: as ten labels with the share that is asked for leave Jeffreys' prior."""
    one = condition(0.5, 60)
    bounds = rule(one.passing, one.failing, one.levels, 30, None)
    log = [math.lgamma(y + 6.5) + math.lgamma(34.5 - y) - math.lgamma(y + 1) - math.lgamma(31 - y) for y in range(31)]
    weight = np.exp(log) / np.exp(log).sum()
    each = [Rule(30, bounds.up, bounds.down).of_wins(wins) for wins in range(31)]
    assert bounds.after(0, 0, 0.6).passed == pytest.approx(
        sum(w * one.passed for w, one in zip(weight, each, strict=True))
    )
    assert bounds.after(0, 0, 0.6).failed == pytest.approx(
        sum(w * one.failed for w, one in zip(weight, each, strict=True))
    )


@pytest.mark.parametrize(
    ("threshold", "zone", "most", "means"),
    [
        (0.9, 0.02, 3302, (215, 1738, 2429, 1673, 278)),
        (0.9, 0.05, 584, (33, 300, 410, 276, 52)),
        (0.5, 0.05, 1346, (103, 706, 1003, 707, 102)),
    ],
)
def test_a_zone_ends_with_both_errors_kept(threshold, zone, most, means):
    one = condition(threshold, zone=str(zone))
    assert one.cap == one.end.labels == most
    shares = [min(threshold + 2 * zone, 0.99), *(threshold - part * zone for part in (0, 0.5, 1, 3))]
    assert [one.before(share).mean for share in shares] == pytest.approx(means, rel=0.005, abs=0.6)
    assert 2.6 < one.levels[0] == one.levels[1] < 3.0  # below what Ville's inequality asks for: the end is known
    bad, good = (one.rule(most).of_wins(wins) for wins in (one.passing.most, one.items - one.failing.most))
    assert 0.045 < bad.passed.sum() <= 0.05
    assert good.failed.sum() <= 0.05
    assert bad.left.sum() == good.left.sum() == 0
    passes = [one.before(share).passed.sum() for share in np.linspace(threshold - 2 * zone, threshold + zone, 13)]
    assert np.all(np.diff(passes) > 0)


def test_two_separate_paths_to_the_ends_of_a_zone_would_be_wrong():
    """Whoever passes although the other side came first passes a bad list more often than it may."""
    one = condition(0.9, zone="0.05")
    whole = one.rule(one.cap)
    alone = Rule(whole.items, whole.up, np.full_like(whole.down, -1))
    assert whole.of_wins(one.passing.most).passed.sum() <= 0.05
    assert alone.of_wins(one.passing.most).passed.sum() > 0.0501


def test_a_long_zone_of_a_short_list_asks_all():
    one = condition(0.9, 60, zone="0.05")
    assert one.cap == 60
    assert one.rule(60).of_wins(one.passing.most).passed.sum() <= 0.05


@pytest.mark.parametrize("asked", ["precision@5000 >= 0.8", "precision@5000 <= 0.2", "precision@5000 >= 0.99"])
@pytest.mark.parametrize("share", [0.3, 0.78, 0.9])
def test_more_skipped_items_never_bring_a_decision_nearer(asked, share):
    """Without them it is the recursion from the labels; of each side's worst case with them, pathwise later."""
    one, n, last = planned(asked).tests[0], 50, 600
    wins = round(share * n)
    labels = np.where(np.arange(n) < wins, one.counted, 1 - one.counted).astype(np.int8)
    whole = one.rule(last).after(n, wins, one.hardest)
    before = np.cumsum(whole.passed + whole.failed)[n:]
    for skipped in (0, 1, 5, 30, 200):
        deciding = one.after(np.append(labels, np.full(skipped, -2, np.int8)), last + skipped)
        reached = np.cumsum(deciding.passed + deciding.failed)[n + skipped :]
        assert (reached <= before + 1e-12).all()
        assert skipped or (reached == before).all()
        before = reached


def test_a_pass_is_not_said_to_be_near_where_skipped_items_hide_it():
    gate = planned("precision@5000 >= 0.8")
    drawn = gate.next(gate.start(), np.empty(0, np.int8), 50, 5)
    labels = np.array([1] * 18 + [0] * 2 + [-2] * 30, np.int8)
    more = gate.answer(drawn, labels).more
    assert more.median is None
    assert more.most is None
    assert gate.next(drawn, labels, None, 5).table.num_rows == 50 + 200
