"""Rounds of a question: what is asked next, what is never asked, and what answers come to in any order."""

import csv
import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from suite_cases import cases, slow

import streameval
from streameval.cli import run
from streameval.errors import StudyError
from streameval.kinds import results_of
from streameval.questions import Question
from streameval.sequential import KnownItems, QuestionSetting
from streameval.sequential.condition import ConditionTest
from streameval.sequential.gate import Gate
from streameval.study import Study

GATE = "precision@1000 >= 0.65"


@pytest.fixture
def gate(begun):
    return str(begun("gate"))


def ranks(table):
    return set(table.column("rank").to_pylist())


@pytest.mark.parametrize(("question", "status", "outcome", "says"), [
    ("precision@1000 >= 0.85", 4, "fail", "No: the precision of the first 1,000 items is less than 0.85, after "),
    *slow(
        ("precision@25% > 60%", 0, "pass", "Yes: the precision of the first 25% of the list is more than 0.6, after "),
        ("precision@1000 >= 0.6", 0, "pass", "Yes: the precision of the first 1,000 items is at least 0.6, after "),
        ("precision@score:0.75 <= 0.9", 0, "pass", "Yes: the precision of the items of score 0.75 or better is"),
    ),
])  # fmt: skip
def test_a_question_is_asked_until_it_is_answered(home, truth, people, capsys, question, status, outcome, says):
    command = ["plan", "list.parquet", "--study", "q", "--score", "score", "--for", f"{question} round 300"]
    command += ["--seed", "3"]
    assert run(command) == 0
    assert run(command) == 0  # the same again
    for number in range(1, 40):
        capsys.readouterr()
        assert run(["select", "q", "--columns", "id,text", "--export", f"round{number}.csv"]) == 0
        if not (home / f"round{number}.csv").exists():
            break
        tasks = streameval.select("q").table
        pq.write_table(people(tasks), "answers.parquet")
        assert run(["evaluate", "q", "--labels", "answers.parquet"]) == 0
        decided = run(["check", "q"])
        assert decided in (status, 5)
    assert decided == status
    said = capsys.readouterr()
    assert (said.err, says in said.out) == ("", True)
    assert run(["show", "q"]) == 0
    assert says in capsys.readouterr().out
    assert run(["check", "q", "--json"]) == status
    assert json.loads(capsys.readouterr().out)["outcome"] == outcome
    found = streameval.sql("q", "FROM answers").to_pylist()
    assert [row["outcome"] for row in found] == [outcome]
    assert 2 <= found[0]["labels"] < 1000


def test_the_loop_of_the_guide_runs_to_its_end(begun, capsys):
    """With a program for people: all that is left of the shell's work is what the guide prints.

    The shell asks this process for each command: it prints its words, and reads its exit status.
    """
    begun("easy", "gate")
    guide = (Path(streameval.__file__).parent / "guide" / "question.md").read_text()
    (loop,) = (block for block in re.findall(r"```sh\n(.*?)```", guide, re.DOTALL) if "while" in block)
    columns = pq.read_table("list.parquet", columns=["text", "right"])
    right = {row["text"]: row["right"] for row in columns.to_pylist()}
    ask = "printf '%s\\037' {} \"$@\"; echo; read -r status"
    Path("label.sh").write_text(f"#!/bin/sh\n{ask.format('label')}; exit $status\n")
    Path("label.sh").chmod(0o755)
    script = f"streameval() {{ {ask.format('streameval')}; return $status; }}\n{loop}"
    shell = subprocess.Popen(["bash", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said = []
    with shell:
        for line in shell.stdout:
            program, *arguments = line.rstrip("\n").split("\x1f")[:-1]
            status = run(arguments) if program == "streameval" else label(right, *arguments)
            said += [] if program == "label" else [(arguments[0], status)]
            print(status, file=shell.stdin, flush=True)
    shown = capsys.readouterr()
    assert (shell.returncode, shown.err) == (0, "")
    assert said == [(one, 0) for one in ("select", "evaluate", "select", "check")]
    assert "Yes: the precision of the first 1,000 items is at least 0.5, after " in shown.out


def label(right, path):
    """Answer the tasks of a sheet, each as is right for its text; exit status 0."""
    with open(path, newline="") as file:
        tasks = list(csv.DictReader(file))
    with open(path, "w", newline="") as file:
        sheet = csv.DictWriter(file, tasks[0])
        sheet.writeheader()
        sheet.writerows(task | {"label": right[task["text"]]} for task in tasks)
    return 0


def test_open_tasks_are_handed_out_again_and_known_ones_never(gate, people):
    first = streameval.select(gate).table
    assert first.num_rows == 50
    streameval.evaluate(gate, labels=people(first.slice(0, 30)))
    again = streameval.select(gate).table
    assert ranks(again) == ranks(first.slice(30))
    streameval.evaluate(gate, labels=people(again))
    second = streameval.select(gate).table
    assert second.num_rows
    assert not ranks(second) & ranks(first)
    numbers = [one.column("se_task").to_pylist() for one in (first, second)]
    assert max(numbers[0]) < min(numbers[1])  # tasks keep the numbers that they had
    assert streameval.labels(gate).account["open"] == second.num_rows


def test_a_skipped_item_is_answered_and_counts_as_what_is_worst(gate, made, people):
    best = streameval.sql(made("gate open"), "FROM evidence").to_pylist()[-1]
    *answers, last = people(streameval.select(gate).table).to_pylist()
    rows = [*answers, {**last, "label": "skip"}]
    found = streameval.evaluate(gate, labels=pa.table({
        "rank": [row["rank"] for row in rows], "label": [str(row["label"]) for row in rows]}))  # fmt: skip
    account = found.summary["account"]
    assert (account["labelled"], account["open"]) == (49, 0)
    worst = {row["side"]: row["evidence"] for row in streameval.sql(gate, "FROM evidence").to_pylist()}
    assert worst["fail"] <= best["evidence"]


@pytest.mark.parametrize("order", cases([0, 1, 2], 0))
def test_answers_in_any_order_in_parts_and_again_come_to_the_same(gate, made, people, signed, order):
    whole = results_of(Study(made("gate open")))
    answers = signed(people(streameval.select(gate).table))
    mixed = answers.take(pa.array(np.random.default_rng(order).permutation(answers.num_rows)))
    for part in (mixed.slice(0, 7), mixed.slice(0, 30), mixed.slice(30)):
        last = streameval.evaluate(gate, labels=part)
    for table in ("answers", "evidence", "metrics", "labels"):
        assert last.tables[table].equals(whole.tables[table]), table


def test_a_budget_ends_the_rounds(home, labelled):
    streameval.plan("list.parquet", "q", score="score", questions="precision@1000 >= 0.74 round 40", budget=60, seed=4)
    found, rounds = labelled("q")
    assert (found.summary["account"]["planned"], rounds) == (60, 2)
    assert streameval.check("q").outcome == "inconclusive"
    assert "streameval select" not in repr(streameval.show("q"))


def test_the_size_of_a_round_can_be_given(home, people):
    streameval.plan("list.parquet", "q", score="score", questions=f"{GATE} round 7", seed=3)
    first = streameval.select("q").table
    streameval.evaluate("q", labels=people(first))
    assert (first.num_rows, streameval.select("q").table.num_rows) == (7, 7)


def test_rounds_that_were_drawn_ahead_need_no_scan(home, people):
    gate = "gate"
    streameval.plan("list.parquet", gate, score="score", questions=f"{GATE} round 50", seed=3)
    first = streameval.select(gate)
    assert first.fetched.rows_scanned > 0
    streameval.evaluate(gate, labels=people(first.table))
    second = streameval.select(gate)
    assert (second.fetched.rows_scanned, second.fetched.rows_read) == (0, 0)
    table = pq.read_table("list.parquet").sort_by([("score", "descending")])
    stored = table.take(pa.array(second.table.column("rank").to_numpy() - 1))
    for name in ("id", "score", "right"):
        assert second.table.column(name).to_pylist() == stored.column(name).to_pylist()
    thresholds = Study(gate).thresholds(Study(gate).plan())
    assert thresholds.column("rank").to_pylist() == [1000]


def test_a_round_that_was_killed_before_its_items_were_there_is_handed_out_again(begun, people, monkeypatch):
    gate = begun("gate open")
    first = Study(gate).plan().table
    with monkeypatch.context() as patch:

        def killed(*args, **more):
            raise KeyboardInterrupt

        patch.setattr(Study, "save_selection", killed)
        with pytest.raises(KeyboardInterrupt):
            streameval.select(gate)
    drawn = Study(gate).plan()
    with pytest.raises(StudyError, match="select"):
        streameval.evaluate(gate, labels=first.select(["rank"]).append_column("label", pa.array([1] * 50, pa.int8())))
    assert streameval.check(gate).outcome == "inconclusive"  # what was answered stands
    second = streameval.select(gate).table
    assert ranks(second) == ranks(drawn.table) - ranks(first)
    streameval.evaluate(gate, labels=people(second))


def test_people_who_contradict_each_other_leave_an_item_open(begun):
    gate = begun("gate open")  # as ann says
    known = results_of(Study(gate)).tables["labels"].slice(0, 10).to_pydict()
    turned = [1 - one for one in known["label"]]
    found = streameval.evaluate(gate, labels=pa.table({
        "rank": known["rank"], "label": turned, "annotator": ["ben"] * 10}))  # fmt: skip
    assert found.summary["account"]["undecided"] == 10
    assert found.tables["answers"].column("labels").to_pylist() == [40]
    assert "10 items were undecided, as their answers tie or contradict each other: they count as" in " ".join(
        found.text().remarks)  # fmt: skip


def test_an_answer_that_changes_is_withdrawn_and_it_is_said(begun):
    easy = begun("easy decided")
    assert Study(easy).summary()["outcome"] == "pass"
    ranks = Study(easy).plan().ranks
    later = pa.table({"rank": ranks, "label": pa.array([0, 1] * (ranks.size // 2), pa.int8()),
                      "time": ["2026-01-02T11:00:00"] * ranks.size, "annotator": ["ann"] * ranks.size})  # fmt: skip
    found = streameval.evaluate(easy, labels=later)
    assert (found.summary["outcome"], found.summary["withdrawn"]) == ("open", "pass")
    said = " ".join(found.text().remarks)
    assert "The answer was yes before; answers that it rested on have changed since." in said
    again = streameval.evaluate(easy)
    assert (again.summary["withdrawn"], again.summary["withdrawn_because"]) == ("pass", "changed")


def test_what_the_labels_count_to_goes_before_what_a_test_said(home, truth, people):
    """A test that passed by luck is not believed where all items are labelled and say otherwise."""
    asked = f"precision@100 >= {(truth[:100].sum() + 1) / 100:g}"
    for seed in range(400):
        design_passes = _passes_by_luck(truth, asked, seed)
        if design_passes:
            break
    streameval.plan("list.parquet", "q", score="score", questions=f"{asked} round 100", seed=seed)
    found = streameval.evaluate("q", labels=people(streameval.select("q").table))
    assert (found.summary["outcome"], streameval.check("q").outcome) == ("fail", "fail")


def _passes_by_luck(truth, asked, seed):
    """Whether the evidence passes on the way, of a list that misses the threshold by one."""
    one = ConditionTest.plan(Question.of(asked), QuestionSetting(
        truth.size, {"100": 100}, KnownItems.nothing(), "0.95"), 1)  # fmt: skip
    gate = Gate((one,), KnownItems.nothing())
    drawn = gate.next(gate.start(), np.empty(0, np.int8), 100, seed)
    order = np.argsort(drawn.table.column("order").to_numpy())
    labels = truth[drawn.table.column("rank").to_numpy()[order] - 1]
    return bool((np.cumsum(labels) >= one.rule(100).up[1:101]).any())


@pytest.mark.parametrize(("asked", "seed", "says"), [
    ("precision@1000 >= 0.77", 17, "is at least 0.77, or below it by less than the zone of 0.05"),
    ("precision@1000 <= 0.74", 4, "is at most 0.74, or above it by less than the zone of 0.05"),
])  # fmt: skip
def test_a_zone_is_told_wherever_yes_is(home, people, capsys, asked, seed, says):
    streameval.plan("list.parquet", "q", score="score", questions=f"{asked} round 200 zone 0.05", seed=seed)
    pq.write_table(people(streameval.select("q").table), "answers.parquet")
    for command in (["evaluate", "q", "--labels", "answers.parquet"], ["show", "q"]):
        assert run(command) == 0
        assert says in capsys.readouterr().out
    assert run(["check", "q", "--out", "gate.xml"]) == 0
    assert "the zone of 0.05" in capsys.readouterr().out
    assert "the zone of 0.05" in (home / "gate.xml").read_text()
    assert says in (home / "q" / "report.html").read_text()


def test_where_everything_was_skipped_nothing_is_left_to_ask(home, people, capsys):
    streameval.plan("list.parquet", "q", score="score", questions="precision@40 >= 0.6", seed=3)
    tasks = streameval.select("q").table
    found = streameval.evaluate("q", labels=pa.table({"rank": tasks.column("rank"), "label": ["skip"] * 40}))
    assert found.summary["outcome"] == "open"
    assert run(["show", "q"]) == 0
    said = capsys.readouterr().out
    assert "Nothing is left to ask. What was skipped" in said
    assert "streameval select" not in said
    assert streameval.check("q").next == ""


def test_a_study_whose_plan_is_gone_says_so(begun, capsys):
    (begun("gate open") / "plan.json").unlink()
    assert run(["show", "q"]) == 2
    assert "the plan of this question is missing" in capsys.readouterr().err


def test_of_two_who_select_at_once_one_draws_the_round_and_both_get_it(begun):
    gate = begun("gate open")
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: streameval.select(gate).table, range(2))
    assert ranks(first) == ranks(second)
    assert Study(gate).plan().table.column("batch").to_pylist().count(2) == first.num_rows


def test_an_answer_that_counting_refutes_is_withdrawn_as_refuted(home):
    """Evidence passes on 69 ones of 100 items; the zeros that come then are the rest, and one too many."""
    streameval.plan("list.parquet", "q", score="score", questions="precision@100 >= 0.7 round 100", seed=3)
    streameval.select("q")
    table = Study("q").plan().table
    ranks = table.column("rank").to_numpy()[np.argsort(table.column("order").to_numpy())]
    outcomes = []
    for part, label in ((ranks[:69], 1), (ranks[69:], 0)):
        found = streameval.evaluate("q", labels=pa.table({"rank": part, "label": [label] * part.size}))
        outcomes.append(found.summary["outcome"])
    assert outcomes == ["pass", "fail"]
    assert found.summary["withdrawn_because"] == "refuted"
    assert "The answer was yes before; the labels that there are now refute it." in found.text().remarks


def test_a_cut_that_later_labels_do_not_bear_out_is_withdrawn_for_them(home):
    """No label changed: those that were drawn first say yes throughout, and all others no."""
    pq.write_table(pa.table({"score": np.linspace(1, 0, 200)}), "short.parquet")
    streameval.plan("short.parquet", "q", score="score", questions="cut precision 0.7 round 200", seed=5)
    pilot = streameval.select("q").table["rank"]
    streameval.evaluate("q", labels=pa.table({"rank": pilot, "label": [1] * len(pilot)}))
    streameval.select("q")
    table = Study("q").plan().table
    table = table.filter(pa.compute.equal(table["batch"], 2)).sort_by("order")
    depths = []
    for part, label in ((table["rank"][:60], 1), (table["rank"][60:], 0)):
        found = streameval.evaluate("q", labels=pa.table({"rank": part, "label": [label] * len(part)}))
        depths.append(found.summary["depth"])
    before, after = depths
    assert before > after
    assert (found.summary["withdrawn"], found.summary["withdrawn_because"]) == (before, "later")
    said = f"The first {before} items were said to have it before; labels that came since do not bear it out."
    assert said in found.text().remarks
