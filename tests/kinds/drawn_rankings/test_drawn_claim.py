"""What is claimed of means over all rankings: exact, on a condition, or with a probability; and where bounds end."""

import shutil

import numpy as np
import pyarrow as pa
import pytest
from drawn_found import found_of

import streameval
from streameval import RankingOptions
from streameval.cli import run
from streameval.kinds.drawn_rankings.says import remarks, sample_sentence
from streameval.study import Study

FIRST = ("precision_at", "success_at", "reciprocal_rank_at", "dcg_at")
COMPLETE = "recall, average precision and nDCG if the table of positives is right and complete."


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A study of all 60 rankings of 10 items, down to item 10 and, as plans of old, bounded at 1; items, positives."""
    table = pa.table({"user": np.repeat(np.arange(60), 10), "doc": np.arange(600),
                      "label": (np.random.default_rng(1).random(600) < 0.4).astype(int)})  # fmt: skip
    folder = tmp_path_factory.mktemp("planned") / "st"
    plan, study = (
        streameval.plan(table, folder, per="user", budget=600, questions="precision@10", seed=1),
        Study(folder),
    )
    with study.planning():
        study.save_plan(plan.with_notes(cutoffs=[1]))
    chosen = streameval.select(folder, ranking=table).table
    return folder, chosen, table.filter(pa.array(table["label"].to_numpy() == 1)).select(["user", "doc"])


@pytest.fixture
def every(planned, tmp_path):
    """The same, as a copy."""
    return shutil.copytree(planned[0], tmp_path / "st"), *planned[1:]


def first_of(chosen):
    return chosen.filter(pa.array(chosen["rank"].to_numpy() % 10 == 1))


def test_exact_is_said_of_no_more_than_the_labels_decide(every):
    study, chosen, _ = every
    found = found_of(study, labels=first_of(chosen))
    assert found.summary["claim"]["coverage"] == "exact"
    assert found.metrics["lower"][0].as_py() == np.mean(first_of(chosen)["label"].to_numpy())
    said = sample_sentence(found)
    assert (
        "every label that these means depend on is there: they are exact, if every label is right. (60 of 600" in said
    )
    assert "item 10" not in said


def test_bounds_of_chance_have_their_confidence_said_beside_means_that_are_exact(every):
    study, chosen, positives = every
    found = found_of(study, labels=first_of(chosen), positives=positives, key="doc",
                                         assume="complete")  # fmt: skip
    claim, said = found.summary["claim"], sample_sentence(found)
    assert (claim["coverage"], claim["confidence"]) == ("conditional", 0.95)
    assert "that the planned ranks, drawn at random" in claim["assumes"]
    assert said.startswith("With probability 0.95, all of these means")
    assert f"and those of {COMPLETE}" in said
    assert "Exact: precision@1, success@1, mrr@1, dcg@1. (60 of 600" in said
    recall = found.metrics.to_pylist()[len(FIRST)]
    assert recall["lower"] < recall["upper"]
    assert recall["coverage"] == "conditional"


def test_means_that_are_exact_on_a_condition_have_it_said(every):
    study, chosen, positives = every
    found = found_of(study, labels=chosen, positives=positives, key="doc", assume="complete")
    claim = found.summary["claim"]
    assert (claim["coverage"], claim["confidence"]) == ("conditional", None)
    assert "that it and the labels have every positive" in claim["assumes"]
    assert "they are exact, if every label is right, and those of " + COMPLETE in sample_sentence(found)


@pytest.mark.parametrize(
    ("item", "right"),
    [("doc", "by the names that the list has for them"), (None, "each once, and none that is an item to label")],
)
def test_upper_bounds_state_what_they_take_of_the_table(every, item, right):
    study, chosen, positives = every
    table = positives if item else positives.select(["user"])
    found = found_of(study, labels=chosen, positives=table, key=item)
    claim = found.summary["claim"]
    assert (claim["coverage"], claim["confidence"]) == ("conditional", 0.95)
    assert claim["assumes"].endswith(f"that the table of positives names only positives, {right}")
    assert f"It is right if it names only positives, {right}. " in " ".join(remarks(found.summary))
    assert "if the table of positives is right. Exact: precision@1" in sample_sentence(found)


def test_exact_means_of_what_annotators_say_are_not_the_truth(every):
    study, chosen, _ = every
    answers = chosen.select(["rank", "label"])
    both = [(answers, "llm"), (answers.slice(0, 100), "person")]
    votes = pa.concat_tables([own.append_column("source", pa.array([by] * own.num_rows)) for own, by in both])
    said = sample_sentence(found_of(study, labels=votes))
    assert "they are exact" in said
    assert "This is a claim about the truth only if every label is right" in said


def judged(tmp_path, labels, says, seed, rankings, confidence):
    """Evaluate drawn rankings of one item each, with a judge and a table of one positive elsewhere."""
    number = np.arange(labels.size)
    table = pa.table({"user": number, "doc": number, "label": labels, "says": says})
    streameval.plan(table, tmp_path / "st", per="user", budget=rankings, questions="precision@1", judge="says",
                             confidence=confidence, seed=seed)  # fmt: skip
    chosen = streameval.select(tmp_path / "st", ranking=table).table
    return {positives is not None: found_of(
                tmp_path / "st", labels=chosen, positives=positives, key=None if positives is None else "doc")
            for positives in (None, pa.table({"user": [0], "doc": [10**6]}))}  # fmt: skip


def test_lower_bounds_that_nothing_supports_are_0_whatever_the_judge_says(tmp_path):
    labels = (np.random.default_rng(1).random(1_500) < 0.97).astype(int)
    found = judged(tmp_path, labels, labels, 91, 100, 0.5)[True].metrics.to_pylist()[len(FIRST) :]
    assert [row["lower"] for row in found] == [0, 0, 0]
    assert found[0]["upper"] == pytest.approx(0.9033662615, abs=1e-9)  # 11 bounds share the confidence


def test_the_estimate_stays_within_its_bounds(tmp_path):
    rng = np.random.default_rng(60)
    labels = (rng.random(200) < 0.9).astype(int)
    says = np.where(rng.random(200) < 0.1, 1 - labels, labels)
    for row in judged(tmp_path, labels, says, 12, 20, 0.05)[False].metrics.to_pylist():
        assert row["lower"] <= row["estimate"] <= row["upper"]


def test_the_order_of_tied_items_is_told_where_there_is_a_score(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    told = []
    for name, options in (("scored", RankingOptions("score")), ("stored", RankingOptions())):
        table = pa.table({"user": [0] * 8 + [1] * 8, "score": [0.5] * 16, "label": [1, 0] * 8})
        streameval.plan(table, name, per="user", budget=8, questions="precision@4", seed=1, options=options)
        chosen = streameval.select(name, ranking=table).table
        found = streameval.evaluate(name, labels=chosen)
        drawn = chosen["label"].to_numpy()
        assert found.metrics["estimate"][0].as_py() == pytest.approx(drawn.mean())
        told.append("Tied items stand in a fixed, arbitrary order" in " ".join(remarks(found.summary)))
        assert run(["report", name]) == 0
        assert ("Tied items stand" in (tmp_path / name / "report.html").read_text()) == told[-1]
    assert told == [True, False]


@pytest.mark.parametrize("positives", [0.0, 0.1, 0.5, 0.9])
def test_bounds_of_a_planned_width_are_as_near_as_was_asked_for(tmp_path, positives):
    """Whatever share of the rankings has its first item positive; where that is all or none, they are nearer."""
    n = 3_000
    good = np.random.default_rng(3).permutation(np.arange(n) < positives * n)
    table = pa.table({"user": np.arange(n), "good": good})
    plan = streameval.plan(table, tmp_path / "s", per="user", questions="precision@1 within 0.08", seed=1)
    labels = streameval.select(tmp_path / "s", ranking=table).table
    found = streameval.evaluate(tmp_path / "s", labels=labels, label="good")
    (row,) = [row for row in found.metrics.to_pylist() if row["metric"] == "mean_precision_at"]
    assert row["lower"] <= positives <= row["upper"]
    assert 0 < (row["upper"] - row["lower"]) / 2 <= 0.08
    assert plan.parameters["rankings"] < 600


def test_a_width_of_few_rankings_takes_them_all(tmp_path):
    table = pa.table({"user": [1, 2, 3], "good": [1, 0, 1]})
    plan = streameval.plan(table, tmp_path / "s", per="user", questions="mrr@1 within 0.01")
    assert plan.parameters["rankings"] == 3
