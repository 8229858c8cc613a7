"""Results of a question, as other verbs ask for them."""

from __future__ import annotations

import math
import shlex

from streameval.curve.bounds import Bounds
from streameval.errors import InputError
from streameval.kinds import Decision
from streameval.kinds.question.evaluate import at_ranks
from streameval.kinds.question.says import answer_sentence, forecast_sentence, is_cut, path_lines, promise, shown_values
from streameval.questions import Condition, Outcome, Question
from streameval.questions.printed import measure_of
from streameval.reporting.said import Columns, Told
from streameval.reporting.standing import Standing
from streameval.study.next_command import NOTHING, NextCommand, command
from streameval.study.results import Result
from streameval.text import number_of
from streameval.types import Plan

_OUTCOMES: dict[str, Outcome] = {"pass": "pass", "fail": "fail", "open": "inconclusive"}


def bounds_of(found: Result, question: Question) -> Bounds:
    """Bounds on a measure that was asked about.

    Raises:
        InputError: Another measure: its labels would be others.
    """
    for one in question.each():
        wanted = str(at_ranks(one.measure, found.summary["n_items"]))
        for row in found.metrics.to_pylist():
            if str(Question.of(measure_of(row["metric"], row["argument"]))) == wanted:
                return Bounds.of_row(row)
    asked = ", ".join(found.summary["questions"])
    raise InputError(f"this study asks about {asked}; {question.measure} needs labels of its own",
                     shlex.join(["streameval", "plan", "--study", str(found.folder or "STUDY"),
                                 "--for", _example(question)]))  # fmt: skip


def _example(question: Question) -> str:
    return str(question) if question.demand is not None else f"{question} within 0.05"


def planned_conditions(found: Result) -> tuple[Question, ...]:
    """The conditions that a study was planned for; an `InputError` where it was planned for none."""
    questions = [Question.of(row["question"]) for row in found.tables["answers"].to_pylist()]
    conditions = tuple(one for one in questions if isinstance(one.demand, Condition))
    if not conditions:
        raise InputError(f"this study asks for {', '.join(found.summary['questions'])}, which is no condition",
                         shlex.join(["streameval", "check", str(found.folder or "STUDY"), _met(found)]))  # fmt: skip
    return conditions


def _met(found: Result) -> str:
    """A condition on what was asked about that its bounds meet."""
    row = found.metrics.to_pylist()[-1]
    return f"{measure_of(row['metric'], row['argument'])} >= {math.floor(100 * (row['lower'] or 0)) / 100:g}"


def decision_on(found: Result, question: Question) -> Decision | None:
    """What became of a condition that was planned; None of any other."""
    for row in found.tables["answers"].to_pylist():
        if row["question"] == str(question):
            outcome = _OUTCOMES[row["outcome"]]
            if outcome != "inconclusive":
                return Decision(outcome, None, "")
            more = found.summary["more"]["median"] or None  # 0 labels decide nothing that is open
            return Decision(outcome, more, forecast_sentence(found.summary).rstrip("."))
    return None


def told(found: Result) -> Told:
    """Say the answer, the bounds that it gives, and what more labels would bring."""
    rows = found.tables["answers"].to_pylist()
    table = Columns(
        ["question", "outcome", "labels", "positive", "lower", "estimate", "upper"],
        [[row["question"], row["outcome"], f"{row['labels']:,}", f"{row['positives']:,}",
          *shown_values(row)] for row in rows],
    )  # fmt: skip
    remarks = [*_withdrawn(found), forecast_sentence(found.summary), *_account(found), _KEPT]
    return Told(f"{verdict(found)} {promise(found)}", table, [one for one in remarks if one])


_KEPT = "These labels answer this question; they were not drawn for a curve, and give none."


def verdict(found: Result) -> str:
    """The answer in a sentence; of several questions, a sentence each."""
    zone = found.summary["parameters"]["zone"]
    return " ".join(answer_sentence(row, zone) for row in found.tables["answers"].to_pylist())


def _withdrawn(found: Result) -> list[str]:
    before = {"pass": "yes", "fail": "no"}.get(found.summary["withdrawn"] or "")
    return [f"The answer was {before} before; answers that it rested on have changed since."] if before else []


def _account(found: Result) -> list[str]:
    account = found.summary["account"]
    torn, silent = account["undecided"], account["planned"] - account["labelled"] - account["open"]
    kinds = ((silent - torn, "skipped"), (torn, "left open by answers that tie or contradict each other"))
    what = [f"{number_of(many, 'item')} {'was' if many == 1 else 'were'} {how}" for many, how in kinds if many]
    costs = _cost(found.summary.get("missing_cost"), found.summary.get("without_missing"))
    counts = "it counts" if silent == 1 else "they count"
    return [f"{', and '.join(what)}: {counts} as what is worst for each side.{costs}"] if silent else []


def _cost(labels: int | None, without: int | None) -> str:
    """What it costs that items have no label: so many more, or that there is no saying how many."""
    if labels:
        return f" That costs about {number_of(labels, 'label')}."
    if without is None:
        return ""
    then = f"about {number_of(without, 'more label')} may decide" if without else "it would be decided"
    return f" While so many are, it may never be decided; if they were like the others, {then}."


def standing(study: str, subject: str, plan: Plan, found: Result) -> Standing:
    """Say the answer so far, draw the path to it, and what to do next."""
    account, rounds = found.summary["account"], found.summary["rounds"]
    head = f"{subject} {number_of(account['labelled'], 'label')} in {number_of(rounds, 'round')}{_afterwards(found)}."
    more = forecast_sentence(found.summary)
    following = following_round(study, plan, found)
    facts = {"n_items": plan.n_items, "claim": found.summary["claim"], "outcome": found.summary["outcome"],
             "planned": account["planned"], "labelled": account["labelled"], "more": found.summary["more"]}  # fmt: skip
    values = (promise(found), *path_lines(found.tables["evidence"]), *[more] * bool(more), *_account(found))
    return Standing(study, "evaluated", head, verdict(found), values, *following, facts=facts)


def _afterwards(found: Result) -> str:
    """How many labels came after those that decided: a round is asked whole, and tasks are out with people."""
    rows = [row for row in found.tables["answers"].to_pylist()
            if isinstance(Question.of(row["question"]).demand, Condition)]  # fmt: skip
    more = found.summary["account"]["labelled"] - max((row["labels"] for row in rows), default=0)
    decided = rows and found.summary["outcome"] != "open" and more > 0
    return f", {more:,} of them after it was decided" if decided else ""


def following_round(study: str, plan: Plan, found: Result) -> NextCommand:
    """The command that hands out what is to be labelled next; nothing where the question is answered."""
    account = found.summary["account"]
    if account.get("open", 0):
        return command("writes the tasks that are open", "select", study, "--export", "rest.csv")
    if found.summary["outcome"] != "open" or found.summary["ended"]:
        asked = [Question.of(one) for one in plan.questions]
        if any(isinstance(one.demand, Condition) for one in asked):
            return command("says it by its exit status", "check", study)
        if any(map(is_cut, asked)):
            return NOTHING
        return command("passes; put the measure and the number that you need", "check", study, _met(found))
    after = max(plan.table.column("batch").to_pylist()) + 1
    return command("writes the next round", "select", study, "--export", f"round{after}.csv")
