"""What is said of a question: each sentence says something true, of which question it is, and what comes next."""

import json
import math
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from refusals import refused
from suite_cases import LONG

import streameval
from streameval.cli import run
from streameval.kinds import results_of
from streameval.kinds.question.cost import case_sentence
from streameval.kinds.question.evaluate import answers_of, metrics_of
from streameval.kinds.question.says import forecast_sentence
from streameval.questions import Question
from streameval.sequential import AS_LABELLED, LabelForecast, Line
from streameval.study import Study


def told(capsys, *command, status=0):
    capsys.readouterr()
    assert run([*command]) == status
    return capsys.readouterr().out


def to_the_end(capsys, people):
    """Answer round after round on the command line; what the last evaluation says."""
    while (tasks := streameval.select("q").table).num_rows:
        pq.write_table(people(tasks), "answers.parquet")
        said = told(capsys, "evaluate", "q", "--labels", "answers.parquet")
    return said


def test_a_question_that_is_planned_again_is_said_to_be_there(begun, capsys):
    again = [
        "plan",
        "list.parquet",
        "--study",
        str(begun("gate open")),
        "--score",
        "score",
        "--for",
        "precision@1000 >= 0.65",
    ]
    assert "\nAs planned before, with seed 3, kept in plan.json.\n" in told(capsys, *again)
    assert json.loads(told(capsys, *again, "--json"))["already_there"]


@pytest.mark.parametrize(("state", "answered", "forecast"), [
    ("cut 1", 60, False), ("cut 2", 160, True), ("cut 3", 260, True)])  # fmt: skip
def test_a_cut_is_never_forecast_to_be_where_it_is(begun, capsys, state, answered, forecast):
    found = results_of(Study(begun(state)))
    assert found.summary["account"]["labelled"] == answered
    said = re.findall(r"With ([\d,]+) more labels the first ([\d,]+) may be proven", told(capsys, "show", "q"))
    assert len(said) == forecast
    for more, rank in said:
        assert int(rank.replace(",", "")) > found.tables["answers"].column("lower")[0].as_py()
        assert int(more) == min(answered, 330 - answered)  # what the budget leaves


@pytest.mark.parametrize(("state", "is_open"), [("width open", True), ("width decided", False)])
def test_a_width_is_answered_once_its_bounds_are_as_near_as_asked_for(begun, capsys, state, is_open):
    found = results_of(Study(begun(state)))
    (row,) = found.tables["answers"].to_pylist()
    assert (row["upper"] is None) == is_open  # there is a pilot alone
    assert is_open or row["upper"] - row["lower"] <= 2 * 0.2
    assert row["outcome"] == ("open" if is_open else "pass")
    said = told(capsys, "show", "q")
    assert ("The precision of the first 1,000 items has no bounds yet, after " in said) == is_open
    assert ("select q --export" in said) == is_open


def test_a_width_that_its_budget_does_not_reach_stays_open_and_says_so(home, people, capsys):
    streameval.plan("list.parquet", "q", score="score", questions="positives within 5%", seed=3, budget=110)
    said = to_the_end(capsys, people)
    assert "so far, not yet within 5%" in said
    assert "The budget of 110 labels is spent." in said


def test_the_path_of_a_cut_names_the_rank_that_it_is_of(begun):
    found = results_of(Study(begun("cut 3")))
    (row,) = found.tables["answers"].to_pylist()
    assert row["lower"]
    assert set(found.tables["evidence"].column("question").to_pylist()) == {f"precision@{row['lower']:.0f} >= 0.7"}


def test_show_says_of_which_condition_a_path_is_and_tells_all_bounds(begun, capsys):
    begun("gates decided")
    lines = told(capsys, "show", "q").splitlines()
    heads = [at for at, line in enumerate(lines) if line.endswith("yes") and "no" in line]
    assert [lines[at - 1] for at in heads] == [f"{one}:" for one in ("precision@100 >= 0.7", "precision@1000 >= 0.5")]
    assert all(any(re.match(rf"{one} +\d", line) for line in lines) for one in ("precision@100", "precision@1000"))


def test_evaluate_check_and_show_tell_the_same_bounds(begun, people, capsys):
    pq.write_table(people(streameval.select(begun("gate")).table), "answers.parquet")
    said = told(capsys, "evaluate", "q", "--labels", "answers.parquet")
    (row,) = re.findall(r"^precision@1000 >= 0\.65 .* (\S+)  +\S+  +(\S+)$", said, re.M)
    checked = told(capsys, "check", "q", status=5)
    assert row == re.search(r"^precision@1000 >= 0\.65 +(\S+) +(\S+)", checked, re.M).groups()
    assert row == re.search(r"^precision@1000 +(\S+) … \S+ … (\S+)", told(capsys, "show", "q"), re.M).groups()


def test_select_says_the_answer_whether_or_not_tasks_were_to_be_written(begun, capsys):
    begun("easy decided")
    for more in ([], ["--export", "more.csv"]):
        said = told(capsys, "select", "q", *more)
        assert "Yes: the precision of the first 1,000 items is at least 0.5" in said
        assert "Next: streameval check q" in said
        assert "fetched" not in said


def test_what_is_open_is_not_called_wrong(begun, capsys):
    begun("gate open")
    assert "An answer is wrong with probability 0.05 at most" in told(capsys, "show", "q")


@pytest.mark.parametrize(("state", "condition"), [
    ("cut 3", r"'rank@precision:0\.7 >= (\d+)'"), ("width decided", r"'precision@1000 >= ([\d.]+)'"),
])  # fmt: skip
def test_check_of_no_condition_names_one_that_passes(begun, capsys, state, condition):
    begun(state)
    said = refused(capsys, "check", "q")
    assert (found := re.search(rf"Hint: streameval check q {condition}", said))
    assert run(["check", "q", said.split("check q '")[1].rstrip().rstrip("'")]) == 0
    assert float(found[1]) > 0


def test_a_question_with_a_list_where_a_study_is_leads_to_one_without(home, capsys):
    plan = ["plan", "list.parquet", "--study", "q", "--score", "score"]
    assert run([*plan, "--budget", "200"]) == 0
    streameval.select("q")
    said = refused(capsys, *plan, "--for", "precision@1000 >= 0.5")
    assert "Hint: to ask it of this study, leave out the list: streameval plan --study q --for" in said
    assert "0.95 then, 0.95 now" not in said


def test_cost_names_the_probability_and_the_flag_as_they_are_typed(capsys):
    cost = ["cost", "--items", "1000000000", "--for", "precision@2e2 >= 0.9", "--confidence", "0.99"]
    assert "An answer is wrong with probability 0.01 at most, whatever the list" in told(capsys, *cost)


@pytest.mark.parametrize(("more", "round_"), [("", "50 labels on average"), (" round 20", "19 labels")])
def test_a_forecast_of_labels_that_decide_names_what_is_asked_besides(home, capsys, more, round_):
    plan = ["plan", "list.parquet", "--study", "q", "--score", "score", "--for"]
    assert f"that adds at most {round_}." in told(capsys, *plan, f"precision@1000 >= 0.6{more}")
    assert "asked whole" not in told(capsys, *plan, f"precision@40 >= 0.6{more}")  # all are asked


def test_every_answer_of_the_page_has_its_name_where_the_screen_is_narrow(made):
    page = (made("gates decided") / "report.html").read_text()
    answers, *_ = re.findall(r'<table class="stacked">(.*?)</table>', page)
    names = re.findall(r"<th scope=\"col\">(.*?)</th>", answers)[1:]
    assert names
    assert re.findall(r'<td data-name="(.*?)">', answers) == 2 * names
    assert "<td>" not in answers
    assert ".stacked td::before{content:attr(data-name)" in page


def test_why_there_is_no_forecast_is_said(home, capsys):
    plan = ["plan", "list.parquet", "--study", "q", "--score", "score", "--for"]
    for asked in ("recall@1000 >= 0.3", "positives within 20%"):
        assert "takes depends on where the positives are in the list: the first round tells" in told(
            capsys, *plan, asked
        )


@pytest.mark.parametrize("asked", ["positives >= 1200", "positives within 50%"])
def test_numbers_of_positives_are_whole(home, people, capsys, asked):
    streameval.plan("list.parquet", "q", score="score", questions=asked, seed=3)
    evaluated = to_the_end(capsys, people)
    found = results_of(Study("q"))
    for table in (found.tables["answers"], found.metrics):
        for side in ("lower", "estimate", "upper"):
            (value,) = table.column(side).to_pylist()
            assert value is None or value == int(value)
    for said in (evaluated, told(capsys, "show", "q")):
        lines = [one for one in said.splitlines() if one.startswith("positives ")]
        assert lines
        assert not re.search(r"\d\.\d", lines[0].replace("0.9", ""))


def test_plan_tells_what_is_likely_from_what_is_certain(home, capsys):
    plan = ["plan", "list.parquet", "--study", "q", "--score", "score", "--for"]
    said = told(capsys, *plan, "precision@1000 >= 0.6 zone 0.05")
    assert re.search(r"\(nine times in ten at most [\d,]+; [\d,]+ at most\)", said)


@pytest.mark.parametrize("asked", [
    ["precision@100 >= 0"], ["precision@100 >= 1.2"], ["precision@score:2 >= 0.9"],
    ["precision@100 >= 0.9 zone 0.95"],
])  # fmt: skip
def test_what_no_list_can_answer_is_refused_with_a_hint(home, capsys, asked):
    assert "Hint: " in refused(capsys, "plan", "list.parquet", "--study", "q", "--score", "score", "--for", *asked)


@pytest.mark.parametrize(("asked", "says"), [
    ("precision@1001 >= 0.6", "precision@1001 >= 0.6: at least 601 of 1,001 items."),
    ("precision@1001 < 0.6", "precision@1001 < 0.6: at most 600 of 1,001 items."),
    ("precision@10% >= 0.6", "precision@10% >= 0.6: at least 240 of 400 items."),
    ("precision@1000 >= 0.6", None),
])  # fmt: skip
def test_plan_says_how_many_items_a_gate_demands_where_that_is_not_plain(home, capsys, asked, says):
    lines = told(capsys, "plan", "list.parquet", "--study", "q", "--score", "score", "--for", asked).splitlines()
    assert [line for line in lines if line.startswith(asked)] == [says] * (says is not None)


def test_what_skipped_items_cost_is_said_where_they_are_many(home, people, capsys):
    """In labels; and if they are so many that nothing may decide, what would if they were like the others."""
    says = {2: ".", 12: ". That costs about {} labels.",
            100: ". While so many are, it may never be decided; if they were like the others, about {} more labels "
            "may decide."}  # fmt: skip
    streameval.plan("list.parquet", "q", score="score", questions="precision@1000 >= 0.6 round 150", seed=4)
    answers = people(streameval.select("q").table)
    label = [str(one) for one in answers.column("label").to_pylist()]
    for skipped in (100, 12, 2):
        given = answers.set_column(1, "label", pa.array(["skip"] * skipped + label[skipped:]))
        pq.write_table(given, "answers.parquet")
        said, found = told(capsys, "evaluate", "q", "--labels", "answers.parquet"), Study("q").summary()
        cost = says[skipped].format(found["missing_cost"] or found["without_missing"])
        assert f"worst for each side{cost}\n" in said
        if skipped == 12:
            assert found["missing_cost"] == found["more"]["median"]  # without them it would be answered


def test_a_cut_that_is_unlikely_says_so_and_goes_on_where_a_size_was_given(home, people, capsys):
    for study, more in (("q", []), ("sized", ["round 150"])):
        plan = ["plan", "list.parquet", "--study", study, "--score", "score"]
        assert run([*plan, "--seed", "3", "--for", " ".join(["cut precision 0.98", *more])]) == 0
        answers = people(streameval.select(study).table)
        no = answers.set_column(1, "label", pa.array([0] * answers.num_rows, pa.int8()))
        pq.write_table(no, "answers.parquet")
        said = told(capsys, "evaluate", study, "--labels", "answers.parquet")
        assert ("no rank is likely to have it" in said) == (not more)
        assert ("Next: streameval select" in said) == bool(more)
    assert "Hint: cut at a lower precision" in refused(capsys, "select", "q")


def test_show_says_how_many_labels_came_after_those_that_decided(begun, capsys):
    found = results_of(Study(begun("easy decided")))
    came, needed = found.summary["account"]["labelled"], found.tables["answers"].column("labels")[0].as_py()
    assert came > needed
    assert f"{came} labels in 1 round, {came - needed} of them after it was decided." in told(capsys, "show", "q")


def test_show_says_which_labels_of_a_width_are_not_of_its_items(begun, capsys):
    found = results_of(Study(begun("width decided")))
    came, of_the_top = found.summary["account"]["labelled"], found.tables["answers"].column("labels")[0].as_py()
    assert came > of_the_top
    said = f"{came} labels in 2 rounds, {came - of_the_top} of them below the cutoff: they told how many it takes."
    assert said in told(capsys, "show", "q")


def test_it_is_said_which_labels_an_estimate_is_of(begun, capsys):
    found = results_of(Study(begun("easy decided")))
    (row,), account = found.tables["answers"].to_pylist(), found.summary["account"]
    more = account["labelled"] - row["labels"]
    said = (
        f"{row['labels']} labels decided it. The estimate uses {account['labelled']} ({account['positive']} positive)"
    )
    assert f"{said}, also the {more} that came after." in told(capsys, "evaluate", "q")
    assert row["estimate"] == pytest.approx(account["positive"] / account["labelled"])
    assert "decided it" not in told(capsys, "evaluate", str(begun("gate open", "open")))


def test_a_row_that_is_cut_off_is_not_said_to_be_a_word(begun, capsys):
    ranks = streameval.select(begun("easy")).table.column("rank").to_pylist()
    Path("half.csv").write_text("rank,label\n" + "".join(f"{one},1\n" for one in ranks[:16]) + f"{ranks[16]}")
    said = told(capsys, "evaluate", "q", "--labels", "half.csv")
    assert "Unreadable: half.csv row 17, line 18 has too few columns (was the file cut off?).\n" in said


def test_a_cut_that_labels_refute_is_withdrawn_and_it_is_said(begun, capsys):
    """What was said to be proven is not any more once answers say otherwise, and nothing claims it."""
    before = int(results_of(Study(begun("cut 2"))).tables["answers"]["lower"][0].as_py())
    assert before
    ranks = Study("q").plan().ranks
    later = pa.table({"rank": ranks, "label": [0] * ranks.size, "time": ["2026-01-02"] * ranks.size})
    found = streameval.evaluate("q", labels=later, vote="latest")
    assert (found.summary["withdrawn"], found.summary["depth"]) == (before, 0)
    for verb in ("evaluate", "show"):
        said = told(capsys, verb, "q", *(["--vote", "latest"] if verb == "evaluate" else []))
        assert f"The first {before:,} items were said to have it before, counted by another rule." in said
        assert ">= 0'" not in said
    assert "no rank is proven to have precision 0.7" in refused(capsys, "cut", "q", "precision:0.7")


LATE = ("Counted by the rule 'any', chosen after labels were in. By the rule 'majority', the first: No: the precision "
        "of the first 1,000 items is less than 0.5, after")  # fmt: skip


def test_a_rule_that_was_chosen_after_labels_were_in_is_told_with_what_the_first_says(begun, people, capsys):
    """Of three people one is right, and two say no."""
    right = people(streameval.select(begun("easy")).table)
    no = right.set_column(1, "label", pa.array([0] * right.num_rows, right.column("label").type))
    named = [one.append_column("annotator", pa.array([name] * one.num_rows))
             for one, name in ((right, "ann"), (no, "ben"), (no, "cem"))]  # fmt: skip
    streameval.evaluate("q", labels=pa.concat_tables(named))
    for command in (["evaluate", "q", "--vote", "any"], ["show", "q"], ["evaluate", "q", "--vote", "any"]):
        said = told(capsys, *command)
        assert "Yes: the precision of the first 1,000 items is at least 0.5" in said
        assert LATE in said
    assert "chosen after" not in told(capsys, "evaluate", "q")


def test_a_rule_that_was_there_before_any_label_is_told_without_another(begun, people, capsys):
    right = people(streameval.select(begun("easy")).table)
    streameval.evaluate("q", labels=right, vote="any")
    assert "chosen after" not in told(capsys, "evaluate", "q", "--vote", "any")


def test_what_the_labels_count_to_is_checked_though_nobody_asked_for_it(home, truth, people, capsys):
    streameval.plan("list.parquet", "q", score="score", questions="precision@40 >= 0.6", seed=3)
    streameval.evaluate("q", labels=people(streameval.select("q").table))
    true = truth[:20].mean()
    assert f"{true:.4f}" in told(capsys, "show", "q", "precision@20")
    assert run(["check", "q", f"precision@20 >= {true:g}"]) == 0
    assert run(["check", "q", f"precision@20 > {true:g}"]) == 4
    assert run(["check", "q", "positives >= 20"]) == 0
    assert run(["check", "q", "precision@1000 <= 0.99"]) == (0 if 40 - truth[:40].sum() >= 10 else 2)
    said = refused(capsys, "plan", "--study", "q", "--for", f"precision@20 > {true:g}")
    assert "q has answered this already" in said
    assert run(shlex.split(said.split("Hint: streameval ")[1])) == 4
    assert run(["plan", "--study", "q", "--for", "precision@1000 >= 0.65", "--seed", "4"]) == 0
    surer = ["--confidence", "0.999"]
    said = refused(capsys, "plan", "--study", "q", "--for", f"precision@20 > {true:g}", *surer)
    assert "answer this already: No: the precision of the first 20 items is at most" in said


def test_a_question_that_is_hinted_at_can_be_asked(begun, capsys):
    begun("gate open")
    every = (["check", "q", "recall@1000 >= 0.5"], ["show", "q", "positives"], ["check", "q", "precision@500 >= 0.5"],
             ["show", "q", "recall@1000"], ["show", "q", "precision@100"])  # fmt: skip
    for command in every if LONG else every[:3]:
        said = refused(capsys, *command)
        assert run(shlex.split(said.split("Hint: streameval ")[1])) == 0


def test_what_no_question_asks_is_not_hinted_at(begun, capsys):
    begun("gate open")
    for command in (["check", "q", "gain@1000 > 0"], ["check", "q", "roc_auc >= 0.5"], ["cut", "q", "recall:0.5"],
                    ["show", "q", "precision@recall:0.5"]):  # fmt: skip
        said = refused(capsys, *command)
        assert "`streameval plan` without --for" in said
        assert "--study" not in said


def test_several_conditions_are_told_each_and_as_a_whole(home, people, capsys):
    asked = ["precision@40 >= 0.5", "precision@1000 >= 0.65"]
    streameval.plan("list.parquet", "q", score="score", questions=asked, seed=4)
    found = streameval.evaluate("q", labels=people(streameval.select("q").table))
    outcomes = found.tables["answers"].column("outcome").to_pylist()
    assert outcomes == ["pass", "open"]
    said = told(capsys, "show", "q")
    assert "Not decided yet, precision@1000 >= 0.65: " in said
    assert "together" in said
    assert "All of it holds together" not in said
    assert found.summary["claim"]["coverage"] == found.metrics["coverage"][0].as_py() == "pointwise"


@pytest.mark.parametrize(("more", "says"), [("0.5", "Yes: all of them hold. "), ("0.95", "No: not all of them hold. ")])
def test_several_conditions_are_told_as_a_whole_once_they_are_decided(home, people, capsys, more, says):
    asked = ["precision@40 >= 0.5 round 100", f"precision@1000 >= {more}"]
    streameval.plan("list.parquet", "q", score="score", questions=asked, seed=4)
    found = streameval.evaluate("q", labels=people(streameval.select("q").table))
    assert found.summary["outcome"] == ("pass" if more == "0.5" else "fail")
    said = told(capsys, "show", "q")
    assert says in said
    assert "after it was decided" not in said


def test_a_cut_of_which_no_rank_is_proven_says_why_it_ends(home, people, capsys):
    """Above the threshold nowhere, and not far below it in the head, which is labelled whole."""
    head = pa.table({"id": range(5_000), "right": [int(one % 5 > 2 and one < 300) for one in range(5_000)]})
    pq.write_table(head, "head.parquet")
    streameval.plan("head.parquet", "q", questions="cut precision 0.5", seed=1)
    evaluated = to_the_end(capsys, people)
    assert Study("q").summary()["outcome"] == "open"
    for said in (evaluated, told(capsys, "show", "q")):
        assert "Nothing is left to ask: all items above the rank that came next were asked for, and it is" in said
        assert "streameval check" not in said
    assert "Hint: streameval show q" in refused(capsys, "check", "q")


def test_what_annotators_who_differ_would_say_is_not_told_as_the_truth(begun, people, capsys):
    answers = people(streameval.select(begun("gate")).table)
    torn = answers.set_column(1, "label", pc.subtract(pa.scalar(1, pa.int8()), answers.column("label")))
    tables = [answers, answers, torn]
    named = [one.append_column("annotator", pa.repeat(name, one.num_rows))
             for one, name in zip(tables, ("ann", "ben", "cem"), strict=True)]  # fmt: skip
    pq.write_table(pa.concat_tables(named), "answers.parquet")
    for command, status in (("evaluate", 0), ("show", 0), ("check", 5)):
        given = ["--labels", "answers.parquet"] if command == "evaluate" else []
        said = told(capsys, command, "q", *given, status=status)
        assert said.count("This is a claim about the truth only if every label is right. Answers are") == 1
    page = Path("q/report.html").read_text()
    assert page.count("This is a claim about the truth only if every label is right. Answers are") == 1


def test_items_without_a_label_are_called_what_they_are_and_add_up(begun, people, capsys):
    """Of 50 items, 5 are answered both ways in one file, 3 skipped, 2 not answered."""
    rows = people(streameval.select(begun("gate")).table).to_pylist()[:48]
    turned = [{**row, "label": 1 - row["label"]} for row in rows[:5]]
    spoken = [{**row, "label": str(row["label"])} for row in [*rows[:45], *turned]]
    skipped = [{**row, "label": "skip"} for row in rows[45:]]
    pq.write_table(pa.Table.from_pylist([*spoken, *skipped]), "answers.parquet")
    account = ("3 items were skipped, and 5 items were undecided, as their answers tie or contradict each other: they "
               "count as what is worst for each side.")  # fmt: skip
    for command in (["evaluate", "q", "--labels", "answers.parquet"], ["show", "q"]):
        assert account in told(capsys, *command)
    said = told(capsys, "labels", "q")
    assert "40 of 50 planned items labelled (80.0%), 2 open, 3 skipped, 5 undecided: their" in said


def test_a_width_that_is_reached_says_what_comes_next_and_a_study_names_its_questions(begun, capsys):
    begun("width decided")
    for verb in ("evaluate", "show"):
        (following,) = re.findall(r"^Next: (streameval check q '\S+ >= \S+')", told(capsys, verb, "q"), re.M)
        assert run(shlex.split(following)[1:]) == 0
    assert "question-1" not in told(capsys, "show", "q")
    streameval.plan(None, "q", questions="precision@500 >= 0.6", seed=4)
    said = told(capsys, "show", "q")
    assert "question-1: Is the precision of the first 500 items at least 0.6? `streameval show q/question-1` s" in said


def test_no_number_of_labels_is_forecast_where_none_is_known_to_decide(made):
    """0 labels decide nothing that is open."""
    found = results_of(Study(made("gate open")))
    none = replace(found, summary={**found.summary, "more": {**found.summary["more"], "median": 0}})
    asked = Question.of("precision@1000 >= 0.65")
    assert none.decide(asked, none.bounds(asked)).labels is None


@pytest.mark.parametrize(("state", "sides"), [("gate open", ["–", "–"]), ("easy decided", ["0.5000", "–"])])
def test_bounds_that_nothing_claims_are_a_dash_and_null_wherever_they_are_told(begun, capsys, state, sides):
    begun(state)
    asked = f"precision@1000 >= {'0.65' if state == 'gate open' else '0.5'}"
    (evaluated,) = [line.split() for line in told(capsys, "evaluate", "q").splitlines() if line.startswith(asked)]
    assert [evaluated[-3], evaluated[-1]] == sides
    (shown,) = [line.split() for line in told(capsys, "show", "q", "precision@1000").splitlines()[1:2]]
    assert [shown[-3], shown[-1]] == sides
    checked = json.loads(told(capsys, "check", "q", "--json", status=0 if sides[0] != "–" else 5))["checks"][0]
    values = [None if side == "–" else float(side) for side in sides]
    assert [checked["lower"], checked["upper"]] == values
    for table in ("metrics", "answers"):
        (row,) = streameval.sql("q", f"SELECT lower, upper FROM {table}").to_pylist()
        assert [row["lower"], row["upper"]] == values
    assert f"<td>{sides[1]}" in re.sub(r"<td [^>]*>", "<td>", Path("q/report.html").read_text())


def test_a_rank_is_whole_in_both_tables():
    line = Line("cut precision 0.7", "open", 24, 1_994.5, math.nan, 58, 47, 0.05)
    for table in (metrics_of([line], 4_000, "simultaneous"), answers_of([line])):
        assert table.select(["lower", "estimate", "upper"]).to_pylist() == [
            {"lower": 24.0, "estimate": 1_994.0, "upper": None}
        ]


def test_a_condition_that_follows_from_an_answer_is_decided_by_it(begun, capsys):
    begun("easy decided")  # at least .5
    assert "pass" in told(capsys, "check", "q", "precision@1000 >= 0.4")
    assert "fail" in told(capsys, "check", "q", "precision@1000 < 0.45", status=4)
    assert "inconclusive" in told(capsys, "check", "q", "precision@1000 <= 0.9", status=5)


def test_a_condition_that_is_open_is_not_said_to_be_answered(home, people):
    streameval.plan("list.parquet", "q", score="score", questions="recall@1000 >= 0.3", seed=3)
    streameval.evaluate("q", labels=people(streameval.select("q").table))
    assert results_of(Study("q")).summary["outcome"] == "open"
    assert streameval.plan(None, "q", questions="recall@1000 >= 0.6", seed=4).questions == ("recall@1000 >= 0.6",)


def test_a_question_that_may_never_be_decided_says_so_in_its_forecast():
    summary = {
        "outcome": "open",
        "ended": "",
        "reach": None,
        "more": {"median": 300, "nine_in_ten": None, "most": None, "left": 319_950},
    }
    assert forecast_sentence(summary) == "About 300 more labels may decide, or all 319,950 that are left."
    summary["more"] = {"median": None, "nine_in_ten": None, "most": None, "left": 319_950}
    assert forecast_sentence(summary) == (
        "It may take all 319,950 labels that are left: fewer decide in at most half of all cases."
    )
    summary["more"] = {"median": 300, "nine_in_ten": 3_000, "most": None, "left": 319_950}
    assert forecast_sentence(summary) == "About 300 more labels may decide (nine times in ten at most 3,000)."


def test_check_counts_the_labels_of_a_question_in_all_as_those_of_a_curve(begun):
    begun("gate open")
    summary = results_of(Study("q")).summary
    (one,) = streameval.check("q")
    assert one.labels == summary["account"]["labelled"] + summary["more"]["median"]
    assert one.decides.startswith(f"About {summary['more']['median']:,} more labels may decide")


def test_a_question_that_may_never_be_decided_says_so_when_it_is_planned():
    said = case_sentence(AS_LABELLED, LabelForecast(300, None, None, 9_000))
    assert said == f"About 300 labels {AS_LABELLED} (or all 9,000 that are left)."
