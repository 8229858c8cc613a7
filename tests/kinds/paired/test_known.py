"""Labels that exist before a comparison: taken off exactly, or drawn again by the same hash."""

import shlex
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from suite_cases import cases, examples, slow

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.kinds.paired.cutoff import at_cutoffs
from streameval.kinds.paired.known import ReusedLabels
from streameval.kinds.paired.open_pair import open_pair
from streameval.kinds.paired.plan import drawn_plan
from streameval.kinds.paired.says import planned_lines
from streameval.labelling.answers import ANNOTATORS
from streameval.labelling.options import ReuseOptions
from streameval.progress import silent
from streameval.questions.comparing import Comparing
from streameval.rows.options import RankingOptions
from streameval.study import Study
from tests.binomial import binomial_tail

AT = [100, 1_000, 5_000]
HOW = {"score": "new", "against": "both.parquet", "against_score": "old", "key": "id", "at": AT, "within": 0.02}


def bounds(found):
    return {int(row["cutoff"]): (row["lower"], row["upper"]) for row in found.tables["differences"].to_pylist()}


def biased(share):
    """Labels of the positive items above rank 2,000 of the new ranking, and of some others."""
    both = pq.read_table("both.parquet")
    rank = np.argsort(np.argsort(-both.column("new").to_numpy()))
    right, some = both.column("right").to_numpy(), np.random.default_rng(4).random(both.num_rows)
    return both.select(["id", "right"]).filter(pa.array(((rank < 2_000) & (right == 1)) | (some < share)))


def planned(study, **more):
    return streameval.plan("both.parquet", study, **HOW, **more)


def evaluated(study, people):
    return streameval.evaluate(study, labels=people(streameval.select(study).table))


def test_known_labels_are_counted_exactly_and_not_asked_for(home, people, difference):
    plain = planned("plain", seed=5)
    pq.write_table(biased(0.3), "gold.parquet")
    made = planned("s", reuse="gold.parquet", label="right")
    known = made.table.column("known").to_numpy()
    assert Study("s").labelled == known.sum() > 0
    assert (~known).sum() < 0.8 * plain.table.num_rows
    assert (made.table.column("probability").to_numpy()[known] == 1).all()
    for found in (streameval.evaluate("s"), evaluated("s", people)):
        assert found.summary["claim"]["coverage"] == "simultaneous"
        for k, (low, high) in bounds(found).items():
            assert low <= difference[k] <= high


def test_labels_of_all_items_leave_nothing_open(home, difference):
    pq.write_table(biased(1.1), "gold.parquet")
    planned("s", reuse="gold.parquet", label="right")
    assert bounds(streameval.evaluate("s")) == {k: (one, one) for k, one in difference.items()}


def test_a_table_in_memory_and_words_do_as_well(home):
    gold = biased(0.3)
    words = np.where(gold.column("right").to_numpy() == 1, "yes", "no")
    blank = pa.table({"id": gold.column("id").cast(pa.string()), "label": words})
    pq.write_table(gold, "gold.parquet")
    one, other = planned("one", reuse="gold.parquet", label="right"), planned("two", reuse=blank)
    assert one.table.column("known").to_numpy().sum() == other.table.column("known").to_numpy().sum()


def test_the_same_plan_again_changes_nothing_and_other_labels_get_another_seed(home):
    pq.write_table(biased(0.3), "gold.parquet")
    first = planned("s", reuse="gold.parquet", label="right")
    assert planned("s", reuse="gold.parquet", label="right").plan_id == first.plan_id
    assert planned("s", reuse="gold.parquet", label="right", seed=first.seed).plan_id == first.plan_id
    pq.write_table(biased(0.5), "gold.parquet")
    planned("t", reuse="gold.parquet", label="right", seed=first.seed, labels_unseen_by_model="yes")
    assert "known" not in Study("t").plan().table.column_names
    streameval.plan("both.parquet", "u", **HOW, seed=3)
    assert planned("u", reuse="gold.parquet", label="right").seed != 3


def test_labels_of_an_earlier_study_are_taken_off(home, people, difference):
    streameval.plan("both.parquet", "old", score="old", key="id", budget=600, seed=11)
    evaluated("old", people)
    made = planned("s", reuse="old")
    assert made.seed != 11
    labelled = set(streameval.select("old").table.column("id").to_pylist())
    tasks = streameval.select("s").table.sort_by("rank")
    known = made.table.column("known").to_numpy()
    assert np.array_equal(np.isin(tasks.column("id").to_numpy(), list(labelled)), known)
    for k, (low, high) in bounds(evaluated("s", people)).items():
        assert low <= difference[k] <= high


@pytest.mark.parametrize("how", [{}, {"seed": 7, "labels_unseen_by_model": "yes"}], ids=["taken off", "same draw"])
def test_labels_of_an_earlier_comparison(home, people, difference, how, capsys):
    """No label is asked for twice, and what is left is what is said to be left."""
    streameval.plan("both.parquet", "old", **{**HOW, "at": [1_000, 5_000], "within": 0.04}, seed=7)
    evaluated("old", people)
    made = planned("s", reuse="old", **how)
    reused = Study("s").labelled
    assert 0 < reused < made.table.num_rows
    tasks = streameval.select("s", export="tasks.csv")
    assert tasks.tasks == made.table.num_rows - reused
    labelled = set(streameval.select("old").table.column("id").to_pylist())
    asked = pc.is_in(tasks.table.column("id"), pa.array(labelled)).to_numpy()
    assert np.count_nonzero(~asked) == tasks.tasks
    assert run(["select", "s", "--export", "again.csv"]) == 0
    assert f"{reused:,} items have a label already, which the plan reuses" in capsys.readouterr().out
    headline, *lines = planned_lines(made, reused)
    assert f"{tasks.tasks:,} items to label" in headline
    assert f"{reused:,} labels more are there already" in headline
    expected = [int(line.rpartition("about ")[2].split()[0].replace(",", "")) for line in lines if "about" in line]
    assert max(expected) <= 1.3 * (made.table.num_rows if how else tasks.tasks)
    for k, (low, high) in bounds(evaluated("s", people)).items():
        assert low <= difference[k] <= high


def test_items_drawn_by_the_same_hash_are_not_asked_again(home, people):
    streameval.plan("both.parquet", "old", score="old", on="id", budget=2_000, seed=11)
    evaluated("old", people)
    fresh = planned("fresh", seed=11)
    made = planned("s", reuse="old", seed=11, labels_unseen_by_model="yes")
    assert made.table.equals(fresh.table)
    assert 0.1 * made.table.num_rows < Study("s").labelled < made.table.num_rows
    one, other = evaluated("s", people), evaluated("fresh", people)
    assert one.tables["differences"].equals(other.tables["differences"])
    assert "fixed without the labels" in one.summary["claim"]["assumes"]


def test_a_ranking_made_with_the_labels_gets_no_claim_from_the_same_draw(home, people, capsys):
    streameval.plan("both.parquet", "old", score="old", on="id", budget=2_000, seed=11)
    evaluated("old", people)
    planned("s", reuse="old", seed=11, labels_unseen_by_model="no")
    found = evaluated("s", people)
    assert found.summary["claim"]["coverage"] == "none"
    assert set(found.tables["differences"].column("better").to_pylist()) == {"open"}
    assert streameval.check("s", "gain@5000 > 0").outcome == "inconclusive"
    planned("new", reuse="old", labels_unseen_by_model="no")
    assert evaluated("new", people).summary["claim"]["coverage"] == "simultaneous"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"reuse": "gold.parquet", "label": "right", "seed": 3}, "whether the model has seen them"),
        ({"reuse": "gold.parquet", "label": "right", "on": "text"}, "joined by --key id"),
        ({"reuse": "gold.parquet", "label": "wrong"}, "wrong"),
        ({"reuse": "no.parquet"}, "no.parquet"),
        ({"labels_unseen_by_model": "yes"}, "no labels are reused"),
    ],
)
def test_bad_input(home, given, says):
    pq.write_table(biased(0.3), "gold.parquet")
    with pytest.raises(InputError) as refused:
        planned("s", **given)
    assert says in str(refused.value.line)
    assert not (home / "s").exists()


@pytest.mark.parametrize("look", cases(["one", "any", "both"], "both"))
def test_bounds_hold_whatever_was_known(home, difference, look, tops_found_once):
    """A draw is fresh; the labels that were known are only positives of the head, half of them of what is compared."""
    pq.write_table(biased(0.1), "gold.parquet")
    both = pq.read_table("both.parquet")
    comparing = Comparing(against="both.parquet", against_score="old", at=AT, within=0.04, confidence=0.5, look=look)
    pair = open_pair("both.parquet", comparing, RankingOptions(score="new", key="id"))
    labels = ReusedLabels.of(ReuseOptions(reuse="gold.parquet", label="right"), pair, Study("none"), None)
    right, misses, runs = both.column("right").to_numpy(), 0, examples(30, 60)
    for seed in range(runs):
        plan = drawn_plan(pair, comparing, seed, labels, None, silent)
        label = right[plan.ranks - 1].astype(np.int8)
        label[np.random.default_rng(seed).random(label.size) < 0.02] = -1
        found = {int(one.cutoff.value): one.bounds for one in at_cutoffs(plan, label)}
        misses += any(not one.lower <= difference[k] <= one.upper for k, one in found.items())
    assert binomial_tail(runs, misses, 0.5) > 1e-6


@pytest.mark.parametrize(
    ("old", "new", "about"),
    [("team", "team", "the truth"), ("team", "others", ANNOTATORS), *slow((None, None, ANNOTATORS))],
)
def test_labels_of_one_declared_source_stay_the_truth_and_those_of_two_are_said_to_be_of_two(
    home, people, capsys, old, new, about
):
    def labelled(study, source=None):
        answers = people(streameval.select(study).table)
        known = Study(study).plan().table.column("known").to_pylist() if study != "old" else []
        answers = answers.filter(pa.array([not one for one in known])) if known else answers
        named = answers if source is None else answers.append_column("source", pa.repeat(source, answers.num_rows))
        return streameval.evaluate(study, labels=named)

    for one in ("old", "s"):
        shutil.rmtree(one, ignore_errors=True)
    streameval.plan("both.parquet", "old", **{**HOW, "at": [1_000], "within": 0.04}, seed=7)
    labelled("old", old)
    planned("s", reuse="old")
    found = labelled("s", new)
    assert found.summary["claim"]["about"] == about
    for command in (["evaluate", "s"], ["show", "s"], ["check", "s", "gain@1000 > -1000"]):
        assert run(command) == 0
        assert ("no claim about the truth: labels are" in capsys.readouterr().out) == (about == ANNOTATORS)
    assert ("no claim about the truth" in Path("s/report.html").read_text()) == (about == ANNOTATORS)
    status = run(["monitor", "old", "s", "gain@1000"])
    said = capsys.readouterr().err
    assert status == (0 if about == "the truth" else 2)
    assert about == "the truth" or f"s: is about {ANNOTATORS}, and the studies before about the truth" in said


def test_what_is_open_with_all_labels_in_names_a_command_for_closer_bounds_that_runs(home, people, capsys):
    both = pq.read_table("both.parquet")
    twin = both.column("old").to_numpy() + np.random.default_rng(2).normal(0, 0.7, both.num_rows)
    pq.write_table(both.set_column(4, "new", pa.array(twin)), "both.parquet")
    streameval.plan("both.parquet", "wide", **{**HOW, "at": ["1000", "dcg@1000"], "within": 0.1}, seed=7)
    found = evaluated("wide", people)
    assert "open" in found.tables["differences"].column("better").to_pylist()
    said = []
    for verb in ("evaluate", "show"):
        assert run([verb, "wide"]) == 0
        said += [line.removeprefix("Next: ") for line in capsys.readouterr().out.splitlines() if "Next: " in line]
    assert len(said) == 2
    assert run(shlex.split(said[0])[1:]) == 0
    closer = Study("wide-closer").plan()
    assert closer.parameters["within"] == "0.05"
    assert closer.notes["cutoffs"] == ["1000"]
    assert [one["name"] for one in closer.notes["measures"]] == ["dcg@1000"]
    assert Study("wide-closer").labelled > 0
