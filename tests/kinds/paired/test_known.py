"""Labels that exist before a comparison: taken off exactly, or drawn again by the same hash."""

import itertools
import shlex
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gain_questions import gain_questions
from suite_cases import cases, examples, slow
from two_rankings import AT, ONE, bounds, evaluated, plan_of, planned, right, task_ids

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.kinds import results_of
from streameval.kinds.paired.evaluate import at_cutoffs
from streameval.kinds.paired.plan import ReusedLabels, drawn_plan, open_pair
from streameval.kinds.paired.says import planned_lines
from streameval.labelling.answers import ANNOTATORS
from streameval.labelling.options import LabelColumns
from streameval.progress import silent
from streameval.questions.comparing import Comparing
from streameval.rows.options import RankingOptions
from streameval.study import Study
from streameval.study.known_labels import KnownLabels
from tests.binomial import binomial_tail


def biased(both, share):
    """Labels of the positive items above rank 600 of the new ranking, and of some others."""
    rank = np.argsort(np.argsort(-both.column("new").to_numpy()))
    positive, some = both.column("right").to_numpy() == 1, np.random.default_rng(4).random(both.num_rows)
    return both.select(["id", "right"]).filter(pa.array(((rank < 600) & positive) | (some < share)))


@pytest.fixture
def gold(home, both):
    pq.write_table(biased(both, 0.3), "gold.parquet")
    return {"reuse": "gold.parquet", "label": "right", "seed": None}


def labels_of(plan, both):
    """Right labels of all planned items."""
    return both.column("right").to_numpy()[plan.ranks - 1].astype(np.int8)


@pytest.fixture(autouse=True)
def seeds(monkeypatch):
    """Seeds that the program draws, as where labels are taken off, are the same every time."""
    numbers = itertools.count(1_000)
    for place in ("streameval.kinds.paired.plan", "streameval.kinds.planning"):
        monkeypatch.setattr(f"{place}.fresh_seed", numbers.__next__)


def test_known_labels_are_counted_exactly_and_not_asked_for(home, begun, both, gold, difference):
    made = planned("s", **gold)
    known = made.table.column("known").to_numpy()
    assert Study("s").labelled == known.sum() > 0
    assert (~known).sum() < 0.8 * plan_of(begun).table.num_rows
    assert (made.table.column("probability").to_numpy()[known] == 1).all()
    for found in (streameval.evaluate("s"), evaluated("s")):
        assert found.summary["claim"]["coverage"] == "simultaneous"
        for k, (low, high) in bounds(found).items():
            assert low <= difference[k] <= high


def test_a_table_in_memory_and_words_do_as_well(home, both, gold):
    known_labels = pq.read_table("gold.parquet")
    words = np.where(known_labels.column("right").to_numpy() == 1, "yes", "no")
    blank = pa.table({"id": known_labels.column("id").cast(pa.string()), "label": words})
    plan = planned("s", at=[500], reuse=blank, seed=None)
    has = np.isin(both.column("id").to_numpy()[plan.ranks - 1], known_labels.column("id").to_numpy())
    assert np.array_equal(plan.table.column("known").to_numpy(), has)
    assert Study("s").labelled == has.sum() > 0


def test_labels_of_all_items_leave_nothing_open(home, both, difference):
    pq.write_table(biased(both, 1.1), "gold.parquet")
    planned("s", reuse="gold.parquet", label="right", seed=None)
    assert bounds(streameval.evaluate("s")) == {k: (one, one) for k, one in difference.items()}


def test_the_same_plan_again_changes_nothing_and_other_labels_get_another_seed(home, gold):
    how = {**gold, "at": [100]}
    first = planned("s", **how)
    assert planned("s", **how).plan_id == first.plan_id
    assert planned("s", **{**how, "seed": first.seed}).plan_id == first.plan_id
    planned("u", at=[100], seed=3)
    assert planned("u", **how).seed != 3


def test_labels_of_an_earlier_study_are_taken_off(home, both, curve, difference):
    made = planned("s", reuse=str(curve), seed=None, labels_unseen_by_model="no")
    assert made.seed != 11
    ids = both.column("id").to_numpy()[made.ranks - 1]
    assert np.array_equal(np.isin(ids, task_ids(curve)), made.table.column("known").to_numpy())
    found = evaluated("s")
    assert found.summary["claim"]["coverage"] == "simultaneous"  # whoever has seen them
    for k, (low, high) in bounds(found).items():
        assert low <= difference[k] <= high


@pytest.fixture(scope="session")
def earlier(written, tmp_path_factory):
    """A wider comparison at two of the cutoffs with every label, whose seed is 7; it is only read."""
    study, source = tmp_path_factory.mktemp("earlier") / "old", str(written / "both.parquet")
    planned(study, source, {**ONE, "against": source}, at=AT[1:], within=0.1, seed=7)
    evaluated(study)
    return study


@pytest.mark.parametrize(
    "how", [{"seed": None}, {"seed": 7, "labels_unseen_by_model": "yes"}], ids=["taken off", "same draw"]
)
def test_labels_of_an_earlier_comparison(home, earlier, difference, how, capsys):
    """No label is asked for twice, and what is left is what is said to be left."""
    made = planned("s", reuse=str(earlier), **how)
    assert ("known" in made.table.column_names) == (how["seed"] is None)
    reused = Study("s").labelled
    assert 0 < reused < made.table.num_rows
    tasks = streameval.select("s", export="tasks.csv")
    assert tasks.tasks == made.table.num_rows - reused
    asked = np.isin(tasks.table.column("id").to_numpy(), task_ids(earlier))
    assert np.count_nonzero(~asked) == tasks.tasks
    assert run(["select", "s", "--export", "again.csv"]) == 0
    assert f"{reused:,} items have a label already, which the plan reuses" in capsys.readouterr().out
    headline, *lines = planned_lines(made, reused)
    assert f"{tasks.tasks:,} items to label" in headline
    assert f"{reused:,} labels more are there already" in headline
    expected = [int(line.rpartition("about ")[2].split()[0].replace(",", "")) for line in lines if "about" in line]
    assert max(expected) <= 1.3 * (made.table.num_rows if how["seed"] else tasks.tasks)
    for k, (low, high) in bounds(evaluated("s")).items():
        assert low <= difference[k] <= high


def test_items_drawn_by_the_same_hash_are_not_asked_again(home, both, curve):
    fresh = planned("fresh", seed=11)
    made = planned("s", reuse=str(curve), seed=11, labels_unseen_by_model="yes")
    assert made.table.equals(fresh.table)
    assert 0.1 * made.table.num_rows < Study("s").labelled < made.table.num_rows
    found = evaluated("s")
    assert bounds(found) == bounds(at_cutoffs(fresh, labels_of(fresh, both)))
    assert "fixed without the labels" in found.summary["claim"]["assumes"]


def test_a_ranking_made_with_the_labels_gets_no_claim_from_the_same_draw(home, curve):
    planned("s", reuse=str(curve), seed=11, labels_unseen_by_model="no")
    found = evaluated("s")
    assert found.summary["claim"]["coverage"] == "none"
    assert set(found.tables["differences"].column("better").to_pylist()) == {"open"}
    assert streameval.check("s", "gain@1500 > 0").outcome == "inconclusive"


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
def test_bad_input(home, gold, given, says):
    with pytest.raises(InputError) as refused:
        planned("s", **{"seed": None, **given})
    assert says in str(refused.value.line)
    assert not (home / "s").exists()


@pytest.mark.parametrize("look", cases(["one", "any", "both"], "both"))
def test_bounds_hold_whatever_was_known(home, both, difference, look, scanned_once):
    """A draw is fresh; the labels that were known are only positives of the head, half of them of what is compared."""
    pq.write_table(biased(both, 0.1), "gold.parquet")
    asked = gain_questions(AT, 0.1, look)
    comparing = Comparing(against="both.parquet", against_score="old", questions=asked, confidence=0.5)
    pair = open_pair("both.parquet", comparing, RankingOptions(score="new", key="id"))
    labels = ReusedLabels.read(KnownLabels("gold.parquet", LabelColumns(label="right")), pair, Study("none"), None)
    misses, runs = 0, examples(30, 60)
    for seed in range(runs):
        plan = drawn_plan(pair, comparing, seed, labels, None, silent)
        label = labels_of(plan, both)
        label[np.random.default_rng(seed).random(label.size) < 0.02] = -1
        found = bounds(at_cutoffs(plan, label))
        misses += any(not low <= difference[k] <= high for k, (low, high) in found.items())
    assert binomial_tail(runs, misses, 0.5) > 1e-6


def answers(study, source):
    """A file of answers to what is asked for, as people of a declared source give them."""
    table, plan = streameval.select(study).table.sort_by("rank"), plan_of(study)
    known = plan.table.column("known").to_numpy() if "known" in plan.table.column_names else np.zeros(plan.ranks.size)
    given = right(table.filter(pa.array(known == 0)))
    named = given if source is None else given.append_column("source", pa.repeat(source, given.num_rows))
    pq.write_table(named, f"{study}.answers.parquet")
    return f"{study}.answers.parquet"


@pytest.fixture(scope="module")
def asked(written, tmp_path_factory):
    """A comparison at one cutoff whose items are selected; it is only read."""
    study, source = tmp_path_factory.mktemp("asked") / "old", str(written / "both.parquet")
    planned(study, source, {**ONE, "against": source}, at=[500], within=0.1, seed=7)
    streameval.select(study)
    return study


@pytest.mark.parametrize(
    ("old", "new", "about"),
    [("team", "team", "the truth"), ("team", "others", ANNOTATORS), *slow((None, None, ANNOTATORS))],
)
def test_labels_of_one_declared_source_stay_the_truth_and_those_of_two_are_said_to_be_of_two(
    home, asked, capsys, old, new, about
):
    shutil.copytree(asked, "old")
    streameval.evaluate("old", labels=answers("old", old))
    planned("s", at=[500], reuse="old", seed=None)
    for command in (["evaluate", "s", "--labels", answers("s", new)], ["show", "s"], ["check", "s", "gain@500 > -500"]):
        assert run(command) == 0
        assert ("a claim about the truth only if" in capsys.readouterr().out) == (about == ANNOTATORS)
    assert results_of(Study("s")).summary["claim"]["about"] == about
    assert ("a claim about the truth only if" in (home / "s" / "report.html").read_text()) == (about == ANNOTATORS)
    status = run(["monitor", "old", "s", "gain@500"])
    said = capsys.readouterr().err
    assert status == (0 if about == "the truth" else 2)
    assert about == "the truth" or f"s: is about {ANNOTATORS}, and the studies before about the truth" in said


def test_what_is_open_with_all_labels_in_names_a_command_for_closer_bounds_that_runs(home, both, capsys):
    twin = both.column("old").to_numpy() + np.random.default_rng(2).normal(0, 0.7, both.num_rows)
    pq.write_table(both.set_column(4, "new", pa.array(twin)), "both.parquet")
    planned("wide", at=["500", "1500"], within=0.15, seed=7)
    found = evaluated("wide")
    assert "open" in found.tables["differences"].column("better").to_pylist()
    said = []
    for verb in ("evaluate", "show"):
        assert run([verb, "wide"]) == 0
        said += [line.removeprefix("Next: ") for line in capsys.readouterr().out.splitlines() if "Next: " in line]
    assert len(said) == 2
    assert run(shlex.split(said[0])[1:]) == 0
    closer = plan_of("wide-closer")
    assert closer.parameters["within"] == "0.075"
    assert closer.notes["cutoffs"] == ["500", "1500"]
    assert Study("wide-closer").labelled > 0


def test_labels_whose_keys_became_doubles_are_not_taken_off(tmp_path):
    ids = 2**53 + np.arange(40)
    items = pa.table({"id": ids, "new": np.arange(40.0), "old": np.arange(40.0)[::-1], "right": np.ones(40, np.int8)})
    labels = pa.table({"id": ids.astype(np.float64), "right": items.column("right")})
    options = {"score": "new", "against_score": "old", "key": "id", "questions": "gain@10", "label": "right"}
    with pytest.raises(InputError, match=r"id '9007199254740992.0' is a float that is no exact whole number"):
        streameval.plan(items, tmp_path / "s", against=items, reuse=labels, **options)
