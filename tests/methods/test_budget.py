"""A budget is a number of labels that a plan stays within: nine times in ten, or always where nothing is chance."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.methods import create

CASES = [(10, 8), (50, 20), (100, 30), (1_000, 40), (1_000, 100), (3_000, 60), (3_000, 300), (3_000, 1_500)]


def distribution(ends, rate):
    """Chance of each number of labels: ranks of a block are drawn alike, each by itself."""
    chances = np.ones(1)
    for size, share in zip(np.diff(ends, prepend=0).tolist(), rate.tolist(), strict=True):
        drawn = np.arange(size + 1)
        logs = np.array([math.lgamma(i + 1) for i in drawn])
        own = (drawn == size).astype(float)
        if share < 1:
            own = np.exp(logs[-1] - logs - logs[::-1] + drawn * math.log(share) + (size - drawn) * math.log1p(-share))
        chances = np.convolve(chances, own)
    return chances


@pytest.mark.parametrize(("n_items", "budget"), CASES)
def test_a_draw_of_loguniform_stays_within_its_budget_nine_times_in_ten(n_items, budget):
    chances = distribution(*create("loguniform", {"budget": budget}).rates(n_items))
    within = chances[: budget + 1].sum()
    assert within >= 0.9
    assert chances.sum() == pytest.approx(1)
    assert (chances * np.arange(chances.size)).sum() > budget - 1 - 1.6 * math.sqrt(budget)  # no less than it has to


@pytest.mark.parametrize("name", ["uniform", "stratified", "paula"])
def test_other_methods_stay_within_it_always(name):
    for seed in range(5):
        assert create(name, {"budget": 700}).plan(5_000, seed).table.num_rows <= 700


def test_a_budget_for_the_whole_list_takes_all_of_it():
    assert create("loguniform", {"budget": 100}).plan(100, 0).table.num_rows == 100


def rankings(sizes):
    query = np.repeat(np.arange(len(sizes)), sizes)
    return pa.table({"query": query, "score": -np.arange(query.size)})


@pytest.mark.parametrize(
    ("sizes", "budget", "drawn", "labels"),
    [([5] * 40, 50, 10, 50), ([5] * 40, 54, 10, 50), ([2] * 40, 50, 10, 20), ([5] * 4, 50, 4, 20)],
)
def test_of_many_rankings_as_many_are_drawn_as_the_budget_pays_for_however_long_they_are(
    sizes, budget, drawn, labels, tmp_path
):
    how = {"per": "query", "questions": "precision@1, 5", "score": "score", "budget": budget, "seed": 1}
    plan = streameval.plan(rankings(sizes), tmp_path / "s", **how)
    assert (plan.parameters["rankings"], plan.table.num_rows) == (drawn, labels)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"budget": 4},
            r"a budget of 4 labels is below the first 5 items of one ranking\. Hint: questions says how many",
        ),
        ({"budget": 50, "questions": "precision@5 within 0.1"}, "a width and budget were both given"),
        ({"budget": 2.5}, "budget is 2.5, not a whole number"),
    ],
)
def test_a_budget_of_many_rankings_that_cannot_be_meant_is_refused(given, message, tmp_path):
    with pytest.raises(InputError, match=message):
        streameval.plan(rankings([5] * 9), tmp_path / "s", **{"per": "query", "questions": "precision@5", **given})


def test_the_command_plans_rankings_within_a_budget(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pa.parquet.write_table(rankings([5] * 40), "runs.parquet")
    command = ["plan", "runs.parquet", "--study", "s", "--per", "query", "--score", "score", "--for", "precision@5"]
    assert run([*command, "--budget", "50", "--seed", "1"]) == 0
    said = capsys.readouterr().out
    assert "10 of 40 rankings by query, the first 5 items of each: 50 items to label" in said
    (again,) = (line for line in said.splitlines() if line.startswith("Seed 1"))
    assert "--budget 50" in again
