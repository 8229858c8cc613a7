"""A question asked of a study that there is: what its labels count for, and what is asked of people again."""

import json
import math
import re
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from refusals import refused

import streameval
from streameval.cli import run
from streameval.errors import InputError, StudyError
from streameval.kinds import results_of
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


def test_what_is_known_is_not_asked_again_and_counts(curve, truth, labelled):
    known = Study(curve()).plan().ranks
    folder, plan = added("c", f"{GATE} round 200", seed=6)
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


def line_of(found):
    """The one line that a question is answered by."""
    (line,) = found.tables["answers"].to_pylist()
    return line


def answer_of(folder):
    """That line as the labels that there are now make it."""
    return line_of(streameval.evaluate(folder))


def otherwise(folder, truth, vote):
    """Answer again, later and wrongly, all that a study has labels of; its ranks."""
    ranks = Study(folder).plan().ranks
    late = {"rank": ranks, "label": 1 - truth[ranks - 1], "time": ["2026-01-02"] * ranks.size}
    streameval.evaluate(folder, labels=pa.table(late), vote=vote)
    return ranks


def test_what_is_known_counts_by_the_labels_that_it_has_now(begun, truth, capsys):
    """Turned round: results from before are refused, and what is said tells how many changed."""
    folder = f"{begun('gate within', 'c')}/question-1"
    before, ranks = line_of(results_of(Study(folder))), otherwise("c", truth, "latest")
    assert "labels that were known to it have changed since" in refused(capsys, "check", folder)
    turned = answer_of(folder)
    positives = int(truth[ranks - 1].sum())
    assert (before["known"], before["known_positives"]) == (50, positives)
    assert (turned["known"], turned["known_positives"]) == (50, 50 - positives)
    assert run(["show", folder]) == 0
    said = "Of 50 items known when this was planned, 50 have another label now, or none. The labels of now count."
    shown = capsys.readouterr().out
    assert said in shown
    assert f"50 labels ({turned['positives']} positive) and 50 items known before ({50 - positives} positive)" in shown


def test_known_labels_that_people_dispute_tell_nothing_of_the_truth(begun, truth, capsys):
    """Before, a question that rests on them was about the truth where nobody disputes its own."""
    folder = f"{begun('gate within', 'c')}/question-1"
    assert Study(folder).summary()["claim"]["about"] == "the truth"
    otherwise("c", truth, "latest")
    answer_of(folder)
    claim = Study(folder).summary()["claim"]
    assert claim["about"] == "what the annotators would say"
    assert "50 of 50" in claim["why"]
    capsys.readouterr()
    assert run(["check", folder, "--about", "truth"]) == 5


def test_what_is_known_and_torn_since_counts_as_what_is_worst_for_each_side(begun, truth):
    folder = f"{begun('gate within', 'c')}/question-1"
    before, ranks = line_of(results_of(Study(folder))), otherwise("c", truth, "majority")
    positives, torn = int(truth[ranks - 1].sum()), answer_of(folder)
    assert (before["known"], before["known_positives"]) == (50, positives)
    assert (torn["known"], torn["known_positives"], torn["lower"], torn["upper"]) == (0, 0, None, None)


@pytest.mark.parametrize("left", ["c/question-1", "c"])
def test_a_question_that_was_handed_on_without_votes_or_alone_says_what_it_said(begun, capsys, left):
    folder = f"{begun('gate within', 'c')}/question-1"
    assert run(["show", folder]) == 0
    said = capsys.readouterr().out.splitlines()[1]
    for votes in [*Path("c").rglob("votes")]:
        shutil.rmtree(votes)
    moved = Path("moved") / Path(folder).relative_to(left)
    shutil.copytree(left, "moved")
    assert run(["show", str(moved)]) == 0
    assert capsys.readouterr().out.splitlines()[1] == said


def test_a_yes_stands_no_longer_than_the_known_labels_that_it_rests_on(begun, truth, capsys):
    """Of the first 100 items somebody calls 50 positive throughout, and is forgotten."""
    folder = f"{begun('yes within', 'c')}/question-1"
    assert truth[:100].sum() < 92
    assert Study(folder).summary()["outcome"] == "pass"
    (source,) = Study("c").labels.sources()
    Study("c").labels.forget(source.identity)
    own, answer = Study(folder).plan().ranks, answer_of(folder)
    assert (answer["outcome"], answer["lower"], answer["known"]) == ("open", None, 0)
    assert own.size == Study(folder).plan().known.num_rows == 50
    capsys.readouterr()
    assert run(["show", folder]) == 0
    said = capsys.readouterr().out
    assert (
        "Of 50 items known when this was planned, 50 have another label now, or none. The labels of now count" in said
    )
    assert run(["plan", "--study", "c", "--for", "precision@1000 >= 0.3"]) == 0
    assert "50 items were answered before: their labels count" in capsys.readouterr().out  # the question's own


def test_a_skipped_item_is_known_and_counts_as_what_is_worst(begun, people):
    tasks = people(streameval.select(begun("gate", "c")).table)
    label = tasks.column("label").to_pylist()
    label[0] = "skip"
    answers = tasks.set_column(1, "label", pa.array([str(one) for one in label]))
    streameval.evaluate("c", labels=answers)
    _, plan = added("c")
    skipped = plan.known.filter(pa.compute.equal(plan.known.column("label"), -1)).column("rank").to_pylist()
    assert skipped == [tasks.column("rank")[0].as_py()]


def test_the_same_command_again_gives_the_question_that_is_there_and_another_is_another(curve, people):
    first, plan = added(curve())
    assert added("c")[1].plan_id == plan.plan_id
    streameval.evaluate(first, labels=people(streameval.select(first).table))
    assert added("c")[0] == first
    second, other = added("c", "precision@400 >= 0.8")
    assert second != first
    assert other.seed != plan.seed
    answered = Study(first).plan().ranks
    assert np.isin(answered, other.known.column("rank").to_numpy()).all()


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
    streameval.plan("list.parquet", "q", score="score", questions=f"{GATE} together", seed=3)
    streameval.evaluate("q", labels=people(streameval.select("q").table))
    second, plan = added("q", "precision@1000 >= 0.3 together")
    third, last = added("q", "precision@1000 >= 0.4 together")
    assert added("q", "precision@1000 >= 0.3 together")[0] == second != third
    _, alone = added("q", "precision@1000 >= 0.45")
    doubts = [1 - float(one.parameters["confidence"]) for one in (Study("q").plan(), plan, last, alone)]
    assert doubts == pytest.approx([0.05 * 6 / (math.pi * n) ** 2 for n in (1, 2, 3)] + [0.05], rel=1e-3)
    assert plan.notes["design"]["tests"][0]["deltas"][0] == pytest.approx(doubts[1])
    streameval.evaluate(second, labels=people(streameval.select(second).table))
    capsys.readouterr()
    assert run(["check", second]) == 0
    said = capsys.readouterr().out
    assert "Wrong with probability 0.007599 at most" in said
    assert "All questions of this study that were asked together hold at once with probability 0.95." in said


def doubt_of(folder):
    return 1 - Fraction(Study(folder).plan().parameters["confidence"])


def test_questions_of_questions_share_the_doubt_with_all_others_of_the_list(home, capsys):
    """However deep they lie; what is said to hold together is what was spent, and another confidence is refused."""
    streameval.plan("list.parquet", "q", score="score", questions=f"{GATE} together", seed=3)
    chain, folders = "q", ["q"]
    for at in (3, 4, 5):
        chain, _ = added(chain, f"precision@1000 >= 0.{at} together")
        folders.append(chain)
    folders.append(added("q", "precision@1000 >= 0.7 together")[0])
    assert folders[-2:] == ["q/question-1/question-1/question-1", "q/question-2"]
    doubts = [float(doubt_of(one)) for one in folders]
    assert doubts == pytest.approx([0.05 * 6 / (math.pi * n) ** 2 for n in (1, 2, 3, 4, 5)], rel=1e-3)
    assert sum(map(doubt_of, folders)) <= Fraction("0.05")
    for folder in ("q", chain):
        said = refused(capsys, "plan", "--study", folder, "--for", "positives >= 900 together",
                       "--confidence", "0.8")  # fmt: skip
        assert "the questions of this list hold together with probability 0.95, and 0.8 is asked for" in said
        assert "Hint: --confidence 0.95" in said


def test_questions_that_were_numbered_twice_are_said_to_hold_together_as_often_as_they_do(home, people, capsys):
    """As chains were once: three with the doubt of a first question each."""
    streameval.plan("list.parquet", "q", score="score", questions=f"{GATE} together", seed=3)
    first = Study("q").plan()
    for folder, seed in (("q/question-1", 4), ("q/question-1/question-1", 5)):
        Study(Path(folder)).save_plan(replace(first, seed=seed))
    streameval.evaluate("q", labels=people(streameval.select("q").table))
    capsys.readouterr()
    assert run(["show", "q"]) == 0
    spent = 3 * doubt_of("q")
    assert f"hold at once with probability {float(1 - spent):g}." in capsys.readouterr().out
    assert spent > Fraction("0.05")


AGAIN = {
    "as it was typed, of its own study": (["precision@1000 >= 0.6"], "q"),
    "with another seed": (["precision@1000 >= 0.6", "--seed", "9"], "q/question-1"),
    "with other rounds": (["precision@1000 >= 0.60 round 20"], "q/question-1"),
    "with an expectation": (["precision@1e3 >= 0.6 expect 0.9"], "q/question-1"),
    "at another confidence": (["precision@25% >= 0.6", "--confidence", "0.9"], "q/question-1"),
    "in the same zone": (["precision@1000 >= 0.7 zone 0.05", "--seed", "2"], "q/question-1"),
    "in no zone": (["precision@1000 >= 0.7"], "q"),
    "turned round": (["precision@1000 < 0.6"], "q"),
    "beside another": (["precision@200 >= 0.3", "precision@1000 >= 0.6"], "q"),
    "as one of the same doubt": (["precision@1000 >= 0.6 together"], "q"),
    "of a question of the list": (["positives >= 1500"], "q"),
    "of a width": (["positives within 20%", "--seed", "7"], "q"),
}


@pytest.fixture(scope="module")
def asked_before(made, tmp_path_factory):
    """A list with four questions, none of them answered."""
    folder = tmp_path_factory.mktemp("before")
    shutil.copy(made.root / "list.parquet", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        streameval.plan("list.parquet", "q", score="score", questions=GATE, seed=3)
        added("q", "precision@1000 >= 0.7 zone 0.05")
        added("q/question-1", "positives >= 1500")
        added("q", "positives within 20%")
    return folder


@pytest.mark.parametrize("case", AGAIN)
def test_no_question_is_asked_of_a_list_again(asked_before, monkeypatch, capsys, case):
    monkeypatch.chdir(asked_before)
    (questions, place), folders = AGAIN[case], sorted(Path("q").rglob("plan.json"))
    said = refused(capsys, "plan", "--study", place, "--for", *questions)
    assert re.search(r"q\S* asks this already: p.*Hint: streameval select q\S* --export tasks.csv", said)
    assert sorted(Path("q").rglob("plan.json")) == folders


@pytest.mark.parametrize("other", [
    ["precision@1000 >= 0.65"], ["precision@1000 > 0.6"], ["precision@999 >= 0.6"], ["recall@1000 >= 0.6"],
    ["precision@1000 >= 0.7 zone 0.06"],
])  # fmt: skip
def test_another_threshold_or_cutoff_and_a_wider_zone_are_other_questions(asked_before, tmp_path, monkeypatch, other):
    shutil.copytree(asked_before, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    assert run(["plan", "--study", "q", "--for", *other]) == 0


def test_a_question_that_has_an_answer_is_refused_with_the_command_that_says_it(begun, capsys):
    begun("easy decided")
    said = refused(capsys, "plan", "--study", "q", "--for", "precision@1000 >= 0.5", "--confidence", "0.99")
    assert "q asks this already: precision@1000 >= 0.5. Hint: streameval show q" in said


TERMS = ("round 60", "expect 0.8", "together")


def test_whoever_asks_ten_times_has_one_draw(home, capsys):
    """Each with another seed, rounds, confidence or expectation: nine are refused, and are no chance of a false one."""
    streameval.plan("list.parquet", "c", score="score", seed=5, budget=60)
    ways = [["--seed", str(n)] for n in range(10, 14)] + [["--confidence", "0.91"], ["--budget", "200"]]
    assert run(["plan", "--study", "c", "--for", GATE, "--confidence", "0.9", "--seed", "9"]) == 0
    for asked, way in [*((GATE, way) for way in ways), *((f"{GATE} {term}", []) for term in TERMS)]:
        assert "asks this already" in refused(capsys, "plan", "--study", "c", "--for", asked, *way)
    assert [one.name for one in Path("c").glob("question-*")] == ["question-1"]


def test_labels_of_a_curve_are_known_items_and_no_evidence_where_the_question_is_to_be_surer(curve, capsys):
    gate = "precision@1000 >= 0.4"  # the curve has proven it at 0.95
    _, plan = added(curve(), gate, confidence="0.999")
    (test,) = plan.notes["design"]["tests"]
    assert test["levels"] == pytest.approx([math.log(1_000)] * 2)
    assert run(["plan", "--study", "c", "--for", gate, "--confidence", "0.999"]) == 0
    told = capsys.readouterr().out
    known = Study("c").plan().ranks.size
    assert f"{known} items were answered before: their labels count, and they are not asked again." in told
    assert "What the curve says" not in told


def test_a_study_without_labels_knows_nothing(home):
    streameval.plan("list.parquet", "c", score="score", seed=5, budget=60)
    _, plan = added("c", confidence="0.999")
    assert plan.known.num_rows == 0


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
    streameval.plan(table, "rankings", per="user", budget=2, questions="precision@1", seed=1, score="score")
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


def test_a_rule_that_came_late_to_the_study_of_known_items_is_told_by_the_question(curve, people):
    """Two people say no of ten tasks that were answered yes: the first rule counts them as no, a later one as yes."""
    curve()
    labels = pq.read_table("c/labels.parquet", columns=["rank", "label"])
    yes = labels.filter(pc.field("label") == 1)["rank"].to_numpy()[:10]
    no = [pa.table({"rank": yes, "label": np.zeros(10, np.int8), "annotator": [name] * 10}) for name in ("ben", "cem")]
    folder, made = added("c", "precision@1000 >= 0.61 round 200", seed=6)
    streameval.evaluate("c", labels=pa.concat_tables(no), vote="any")
    found = streameval.evaluate(folder, labels=people(streameval.select(folder).table))
    known, label = (made.known.column(name).to_numpy() for name in ("rank", "label"))
    inside, positive = int((known <= 1_000).sum()), int(label[known <= 1_000].sum())
    said, counts = found.promise(), f"{inside} items known before ({{}} positive)"
    late = "Items known from c are counted by the rule 'any', chosen after labels were in (first the rule 'majority')."
    assert counts.format(positive) in said.split(late)[0]
    assert counts.format(positive - int((yes <= 1_000).sum())) in said.split(f"{late} By what came first: ")[1]
    assert found.summary["known_by_late_rules"]["of"] == [
        {"study": "c", "rule": {"vote": "any", "prefer": []}, "first": {"vote": "majority", "prefer": []}}
    ]
