"""A question asked of a study that there is: what its labels count for, and what is asked of people again."""

import json
import math
import re

import numpy as np
import pyarrow as pa
import pytest
from refusals import refused
from suite_cases import slow

import streameval
from streameval.cli import run
from streameval.errors import InputError, StudyError
from streameval.study import Study

GATE = "precision@1000 >= 0.6"


@pytest.fixture(scope="module")
def made_curve(made):
    """Made before the tests that copy it."""
    return made("curve")


@pytest.fixture
def curve(made_curve, begun, people):
    """A curve's study of the list, all of whose tasks are answered; options of its plan are given."""

    def make(**options):
        if not options:
            return str(begun("curve", "c"))
        streameval.plan("list.parquet", "c", score="score", seed=5, **{"budget": 100, **options})
        streameval.evaluate("c", labels=people(streameval.select("c").table))
        return "c"

    return make


def added(study, question=GATE, **options):
    """The folder of a question that is asked of a study, and its plan."""
    plan = streameval.plan(None, study, questions=question, **options)
    return plan.location["beside"], plan


def earlier(plan):
    return [one["earlier"] for one in plan.notes["design"]["tests"]]


def test_what_is_known_is_not_asked_again_and_counts(curve, truth, labelled):
    known = Study(curve()).plan().ranks
    folder, plan = added("c", seed=6, round=200)
    assert plan.known.column("rank").to_numpy().tolist() == known.tolist()
    assert np.array_equal(plan.known.column("label").to_numpy(), truth[known - 1])
    found, rounds = labelled(folder)
    assert found.summary["outcome"] == "pass"
    assert rounds == 1
    assert not np.isin(Study(folder).plan().ranks, known).any()
    (test,) = plan.notes["design"]["tests"]
    inside = truth[known[known <= 1_000] - 1]
    assert list(test["known"]) == [int(inside.sum()), int((1 - inside).sum()), 0]
    assert test["passing"]["items"] == 1_000 - inside.size


def test_what_a_question_knew_is_known_to_one_that_is_asked_of_it_before_it_has_labels(curve):
    folder, plan = added(curve())
    _, after = added(folder, "precision@1600 >= 0.5")
    assert plan.known.num_rows
    assert after.known.equals(plan.known)


def test_a_late_answer_to_what_is_known_changes_nothing(begun, truth, people):
    folder, plan = added(begun("gate open", "c"))
    assert plan.known.num_rows == 50
    tasks = streameval.select(folder).table
    before = streameval.evaluate(folder, labels=people(tasks))
    ranks = Study("c").plan().ranks
    late = {"rank": ranks, "label": 1 - truth[ranks - 1], "time": ["2026-01-02"] * ranks.size}
    assert streameval.evaluate("c", labels=pa.table(late), vote="latest").summary["outcome"] == "fail"
    after = streameval.evaluate(folder)
    for name in ("answers", "evidence", "metrics"):
        assert after.tables[name].equals(before.tables[name])


def test_a_skipped_item_is_known_and_counts_as_what_is_worst(begun, people):
    tasks = people(streameval.select(begun("gate", "c")).table)
    label = tasks.column("label").to_pylist()
    label[0] = "skip"
    answers = tasks.set_column(1, "label", pa.array([str(one) for one in label]))
    streameval.evaluate("c", labels=answers)
    _, plan = added("c")
    skipped = plan.known.filter(pa.compute.equal(plan.known.column("label"), -1)).column("rank").to_pylist()
    assert skipped == [tasks.column("rank")[0].as_py()]


def test_the_same_question_again_is_the_one_that_is_there_and_another_is_another(curve, people):
    first, plan = added(curve())
    assert added("c")[1].plan_id == plan.plan_id
    streameval.evaluate(first, labels=people(streameval.select(first).table))
    assert added("c")[0] == first
    second, other = added("c", "precision@400 >= 0.8")
    assert second != first
    assert other.seed != plan.seed
    answered = Study(first).plan().ranks
    assert np.isin(answered, other.known.column("rank").to_numpy()).all()
    surer, sure = added("c", confidence="0.99")
    assert surer not in (first, second)
    assert sure.parameters["confidence"] == "0.99"


def test_a_seed_that_drew_from_the_list_before_is_refused(curve):
    _, plan = added(curve(), seed=9)
    for seed in (5, 9):
        with pytest.raises(InputError, match=f"seed={seed} has drawn from this ranking before"):
            added("c", "precision@400 >= 0.8", seed=seed)
    assert added("c", seed=9)[1].plan_id == plan.plan_id
    for seed in (5, 9):  # of the study that the question was asked of, and of its own
        with pytest.raises(InputError, match=f"seed={seed} has drawn from this ranking before"):
            added("c/question-1", "precision@400 >= 0.8", seed=seed)


def test_questions_that_hold_together_share_the_doubt(home, people, capsys):
    streameval.plan("list.parquet", "q", score="score", questions=GATE, together=True, seed=3)
    streameval.evaluate("q", labels=people(streameval.select("q").table))
    second, plan = added("q", "precision@1000 >= 0.3", together=True)
    third, last = added("q", "precision@1000 >= 0.4", together=True)
    assert added("q", "precision@1000 >= 0.3", together=True)[0] == second != third
    _, alone = added("q", "precision@1000 >= 0.45")
    doubts = [1 - float(one.parameters["confidence"]) for one in (Study("q").plan(), plan, last, alone)]
    assert doubts == pytest.approx([0.05 * 6 / (math.pi * n) ** 2 for n in (1, 2, 3)] + [0.05], rel=1e-3)
    assert plan.notes["design"]["tests"][0]["deltas"][0] == pytest.approx(doubts[1])
    streameval.evaluate(second, labels=people(streameval.select(second).table))
    capsys.readouterr()
    assert run(["check", second]) == 0
    said = capsys.readouterr().out
    assert "Wrong with probability 0.007599 at most" in said
    assert "All questions of the study that were asked to hold together do so with probability 0.95." in said


def test_the_evidence_of_a_curve_counts_where_the_question_is_to_be_surer(curve, capsys):
    gate = "precision@1000 >= 0.4"
    _, plan = added(curve(), gate, confidence="0.999")
    ((for_it, against),) = earlier(plan)
    (test,) = plan.notes["design"]["tests"]
    assert for_it > math.log(40)  # the curve has proven it at 0.95
    assert against == 0
    assert test["levels"][0] < math.log(1_000) < test["levels"][1]
    assert earlier(added("c", "precision@400 >= 0.8")[1]) == [None]
    assert earlier(added("c", "precision@400 >= 0.8", confidence="0.999", zone="0.05")[1]) == [None]
    assert run(["plan", "--study", "c", "--for", gate, "--confidence", "0.999"]) == 0
    told = capsys.readouterr().out
    known = Study("c").plan().ranks.size
    assert f"{known} items were answered before: they count, and are not asked again." in told
    assert "What the curve says of all other items counts too" in told
    assert run(["plan", "--study", "c", "--for", "precision@400 >= 0.8"]) == 0
    assert "What the curve says" not in capsys.readouterr().out


@pytest.mark.parametrize("options", [
    {"on": "id"},
    *slow(({"stages": 2},), ({"method": "uniform"},), ({"stages": 2, "growing": True},), ({"budget": 60},)),
])  # fmt: skip
def test_of_other_curves_only_what_is_known_counts(curve, options):
    _, plan = added(curve(**options), confidence="0.999")
    assert earlier(plan) == [None]
    assert plan.known.num_rows


def test_labels_that_may_be_wrong_are_no_evidence(curve):
    curve()
    streameval.evaluate("c", label_error=0.02)
    assert earlier(added("c", confidence="0.999")[1]) == [None]


def test_a_study_without_labels_knows_nothing(home):
    streameval.plan("list.parquet", "c", score="score", seed=5, budget=60)
    _, plan = added("c", confidence="0.999")
    assert plan.known.num_rows == 0
    assert earlier(plan) == [None]


def test_labels_that_come_later_count_where_nothing_was_handed_out_and_it_is_said(begun, people, capsys):
    planned = Study(begun("gate", "c")).plan().ranks
    ask = ["plan", "--study", "c", "--for", GATE]
    tasks = people(streameval.select("c").table)

    def asked():
        assert run(ask) == 0
        told, plan = capsys.readouterr().out, Study("c/question-1").plan()
        return told, plan

    told, first = asked()
    assert f"{planned.size:,} tasks of c have no label yet; labels that they get later will not count here." in told
    assert asked()[1].plan_id == first.plan_id
    streameval.evaluate("c", labels=tasks.slice(0, tasks.num_rows - 1))
    told, second = asked()  # nothing of its own has a label: it is drawn anew
    assert second.seed != first.seed
    assert second.known.column("rank").to_pylist() == sorted(tasks.column("rank").to_pylist()[:-1])
    assert "1 task of c has no label yet; a label that it gets later will not count here." in told
    streameval.select("c/question-1")
    streameval.evaluate("c", labels=tasks)
    told, third = asked()  # it was handed out: it stays
    assert third.plan_id == second.plan_id
    assert "1 task of c has no label yet" in told


def test_nothing_is_said_of_a_study_whose_tasks_all_have_labels(curve, capsys):
    assert run(["plan", "--study", curve(), "--for", GATE]) == 0
    assert "no label yet" not in capsys.readouterr().out


def test_known_labels_tell_what_a_question_about_the_whole_list_takes(curve, capsys):
    curve()
    for asked in ("recall@1000 >= 0.3", "positives >= 1800", "positives within 20%"):
        assert run(["plan", "--study", "c", "--for", asked]) == 0
        said = capsys.readouterr().out
        assert re.search(r"^About [\d,]+ labels as far as the labels that there are tell", said, re.M), said


def test_what_cannot_be_asked_is_refused(home, people):
    table = pa.table({"user": [1, 1, 2, 2], "score": [0.9, 0.1, 0.8, 0.2], "right": [1, 0, 1, 0]})
    streameval.plan(table, "rankings", per="user", rankings=2, at=1, seed=1, score="score")
    with pytest.raises(StudyError, match="a question is asked of one ranking"):
        added("rankings")
    streameval.plan(pa.table({"text": ["a"] * 900}), "memory", seed=1, budget=50)
    with pytest.raises(StudyError, match="a table in memory") as refused:
        added("memory", "precision@500 >= 0.5")
    assert "plan(table, study, questions=...)" in str(refused.value.hint)


def test_plan_names_the_folder_of_the_question(curve, capsys):
    assert run(["plan", "--study", curve(), "--for", GATE, "--json"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["study"] == "c/question-1"
    assert run(["select", "c/question-1", "--export", "tasks.csv"]) == 0


@pytest.mark.parametrize("question", ["precision@1000 >= 0.3", "precision@1000 >= 0.95"])
def test_what_the_study_has_decided_is_not_asked_anew(curve, capsys, question):
    curve()
    assert streameval.check("c", question).outcome != "inconclusive"
    said = refused(capsys, "plan", "--study", "c", "--for", question)
    assert f"c has answered this already. Hint: streameval check c '{question}'" in said
    folder, _ = added("c", question, confidence="0.999")  # to be surer is another question
    assert folder == "c/question-1"
