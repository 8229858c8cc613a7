"""Stratified sampling: figures, the law of its slots, what it promises, and what it refuses."""

from math import comb

import numpy as np
import pytest
from label_tables import judged
from suite_cases import examples, slow

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.kernels.draw import draw_below, draws, mix64
from streameval.kernels.slots import draw_slots
from streameval.methods import create
from streameval.types import Labels

PAPER = {"alpha": 1.04971 * 1.03 - 1, "epsilon": "0.03"}
SHAPES = {
    "flat": lambda n, rng: rng.random(n) < 0.6,
    "declining": lambda n, rng: rng.random(n) < np.linspace(0.95, 0.1, n),
    "stepped down": lambda n, rng: rng.random(n) < np.where(np.arange(n) < n // 3, 0.9, 0.3),
    "rising": lambda n, rng: rng.random(n) < np.linspace(0.2, 0.9, n),
    "blocked": lambda n, rng: np.repeat(rng.random(-(-n // 200)) < 0.5, 200)[:n],
    "clustered": lambda n, rng: np.repeat(rng.random(-(-n // 10)) < 0.5, 10)[:n],
    "none": lambda n, rng: np.zeros(n, dtype=bool),
}


@pytest.mark.parametrize(
    ("n", "claim", "slots", "thousands"),
    [(2 * 10**9, "printed", 7_927, 100.5), (2 * 10**9, "factor", 8_735, 109.9), (10**7, "printed", 7_514, 56.6)],
)
def test_figures_of_the_paper(n, claim, slots, thousands):
    found = create("stratified", {**PAPER, "claim": claim}).cost(n)
    assert (found["slots"], round(found["labels"] / 1000, 1), found["L"] - found["ell"]) == (
        slots,
        thousands,
        {2 * 10**9: 448, 10**7: 269}[n],
    )


def test_the_cost_is_the_mean_of_what_is_drawn():
    method, seeds = create("stratified", PAPER), examples(6, 20)
    drawn = [method.plan(10**7, seed).table.num_rows for seed in range(seeds)]
    assert abs(np.mean(drawn) - method.cost(10**7)["labels"]) < 4 * np.std(drawn) / seeds**0.5 + 1


def test_slots_agree_with_their_naive_twin():
    points = np.array([5, 8, 20, 21], dtype=np.int64)
    rank, until = draw_slots(points, 40, np.uint64(9))
    twin = []
    for slot in range(40):
        numbers = iter(draws(np.uint64(int(mix64(np.uint64(9))) ^ (slot + 1)), 100))
        held = None
        for k, end in enumerate(points.tolist()):
            drawn = next(v for bits in numbers if (v := int(draw_below.plain()(bits, np.uint64(end)))) < end)
            if held is None or drawn >= points[k - 1]:
                twin += [(held, k - 1)] * (held is not None)
                held = drawn + 1
        twin.append((held, len(points) - 1))
    assert list(zip(rank.tolist(), until.tolist(), strict=True)) == twin


def test_every_slot_is_uniform_at_every_point():
    """Chi-square of the ranks held at each point: by induction they are independent and uniform."""
    points = np.array([4, 6, 10, 11], dtype=np.int64)
    slots = examples(10_000, 40_000)
    rank, until = draw_slots(points, slots, np.uint64(1))
    taken = np.searchsorted(points, rank)
    for k, end in enumerate(points):
        counts = np.bincount(rank[(taken <= k) & (until >= k)], minlength=end + 1)[1:]
        assert counts.sum() == slots
        assert np.sum((counts - slots / end) ** 2) / (slots / end) < end - 1 + 5 * (2 * (end - 1)) ** 0.5


def _misses(truth, confidence, replicates):
    y, ranks = np.cumsum(truth), np.arange(1, truth.size + 1)
    method = create("stratified", {"alpha": 0.5, "epsilon": "0.1", "head": 40, "confidence": confidence})
    missed = 0
    for seed in range(replicates):
        plan = method.plan(truth.size, seed)
        low, high = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1])).envelope.at(ranks)
        missed += not (np.all(low <= y) and np.all(y <= high))
    return missed


@pytest.mark.parametrize(
    ("shape", "delta"),
    [
        *((shape, 0.5) for shape in ("declining", "rising", "blocked")),
        ("stepped down", 0.05),
        *slow(*((shape, 0.5) for shape in ("flat", "stepped down", "clustered", "none"))),
        *slow(*((shape, 0.05) for shape in ("flat", "declining"))),
    ],
)
def test_the_band_holds_for_every_list(shape, delta):
    """Misses of seeded draws are no more than chance allows (binomial, p = 0.01)."""
    n, replicates = 1_200, examples(60, 300)
    missed = _misses(SHAPES[shape](n, np.random.default_rng(3)).astype(np.int8), 1 - delta, replicates)
    tail = sum(comb(replicates, i) * delta**i * (1 - delta) ** (replicates - i) for i in range(missed, replicates + 1))
    assert tail > 0.01


def test_the_claim_as_printed_holds_at_grid_points_where_p_stays_up():
    n = 5_000
    truth = (np.random.default_rng(0).random(n) < 0.7).astype(np.int8)
    method = create("stratified", {"alpha": 0.2, "epsilon": "0.05", "min_precision": 0.6})
    p = np.cumsum(truth) / np.arange(1, n + 1)
    missed, replicates = 0, examples(40, 100)
    for seed in range(replicates):
        plan = method.plan(n, seed)
        table = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1])).columns
        at = p[table.column("rank").to_numpy() - 1]
        low, high = (table.column(f"claimed_{side}").to_numpy() for side in ("lower", "upper"))
        missed += not np.all((low <= at) & (at <= high))
    assert missed <= replicates // 20


def test_missing_labels_only_widen():
    n, rng = 2_000, np.random.default_rng(4)
    truth = (rng.random(n) < 0.6).astype(np.int8)
    method = create("stratified", {"alpha": 0.5, "epsilon": "0.1", "tail": "closed"})
    plan = method.plan(n, 1)
    label = truth[plan.ranks - 1]
    full = method.curve(plan, Labels.of(plan, label)).envelope.at(np.arange(1, n + 1))
    holes = np.where(rng.random(label.size) < 0.2, -1, label)
    part = method.curve(plan, Labels.of(plan, holes)).envelope.at(np.arange(1, n + 1))
    assert np.all(part[0] <= full[0])
    assert np.all(full[1] <= part[1])


def test_the_plan_records_what_was_drawn(ranking, tmp_path):
    folder, labels, truth = ranking
    study = tmp_path / "study"
    made = streameval.plan(str(folder), study, method="stratified", alpha=0.3, seed=3)
    assert streameval.Study(study).plan().plan_id == made.plan_id
    held = made.table.column("held_until").combine_chunks()
    assert len(held.flatten()) > made.table.num_rows - made.notes["g_ell"]
    assert streameval.plan(str(folder), study, method="stratified", alpha=0.3, seed=3).plan_id == made.plan_id
    streameval.select(study)
    curve = judged(study, labels).curve
    low, high = curve.envelope.at(np.arange(1, truth.size + 1))
    assert np.all((low <= np.cumsum(truth)) & (np.cumsum(truth) <= high))


def test_a_budget_is_kept():
    for seed in range(examples(8, 30)):
        method = create("stratified", {"budget": 3_000})
        assert 2_500 < method.plan(10**6, seed).table.num_rows <= 3_000


def test_nothing_is_sampled_where_the_head_is_the_list():
    method = create("stratified", {})
    assert method.cost(3_000)["claim"] == "exact"
    assert method.cost(3_500)["slots"] == 0


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"alpha": 0.03}, "beta"),
        ({"epsilon": "0.1"}, "not above 1"),
        ({"head": 5}, "too small .* 67 is the smallest"),
        ({"claim": "both"}, "claim is 'both'"),
        ({"tail": "ajar"}, "tail is 'ajar'"),
        ({"budget": 2}, "below the smallest plan"),
    ],
)
def test_bad_parameters(bad, says):
    with pytest.raises(InputError, match=says):
        create("stratified", bad).plan(10**6)


def test_cost_shows_a_refusal_beside_the_others(capsys):
    assert (
        run(["cost", "--items", "10000000", "--alpha", "0.03", "--method", "loguniform,stratified(epsilon=0.03)"]) == 0
    )
    assert "stratified(epsilon=0.03): --alpha 0.03 leaves nothing to sampling" in capsys.readouterr().out
