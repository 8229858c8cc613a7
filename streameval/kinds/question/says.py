"""A question, its answer, and how far the evidence is, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa

from streameval.judges.classes import classes_sentence
from streameval.kernels.sorted_sets import unique
from streameval.kinds.first_rule import late_known_sentences, late_rule_sentence
from streameval.labelling.unlabelled import count_unlabelled
from streameval.questions import CUT, Condition, Question
from streameval.questions.cutoffs import Cutoff, plain
from streameval.questions.printed import UNKNOWN, value_text
from streameval.reporting.next_step import after_answers
from streameval.reporting.sentences import seldom
from streameval.reporting.standing import Standing
from streameval.reporting.text import NOTHING, Columns, Text
from streameval.sequential import KnownItems
from streameval.study.results import Result
from streameval.text import number_of
from streameval.types import Plan

_IS = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}
_IS_NOT = {">=": "less than", ">": "at most", "<=": "more than", "<": "at least"}
_APART = " That holds for the answer to all, and for each line by itself. All lines together are wrong more often."
_WIDE, _ROWS = 24, 8  # of the drawing of a path: characters to either end, and rows


def posed_as(text: str) -> str:
    """A question as people ask it.

    >>> posed_as("precision@1000000 >= 0.9")
    'Is the precision of the first 1,000,000 items at least 0.9?'
    >>> posed_as("positives >= 8e3")
    'Is the number of positives at least 8,000?'
    >>> posed_as("positives within 10%"), posed_as("cut precision 0.9")
    ('What is the number of positives, within 10%?', 'How deep can the list be cut with a precision of 0.9?')
    """
    question = Question.of(text)
    if is_cut(question):
        return f"How deep can the list be cut with a precision of {_wanted_text(question)}?"
    if isinstance(question.demand, Condition):
        return f"Is {subject(question)} {_IS[question.demand.operator]} {_amount(question)}?"
    return f"What is {subject(question)}, {question.demand}?"


def is_cut(question: Question) -> bool:
    """Tell whether it asks for the deepest rank of a precision."""
    return question.metric == CUT


def _wanted_text(question: Question) -> str:
    return plain(next(cutoff.value for cutoff in question.cutoffs))  # type: ignore[arg-type]  # a precision is a decimal


def _amount(question: Question) -> str:
    """The number of a condition: of positives with commas, as all counts."""
    demand = cast(Condition, question.demand)
    return f"{demand.value.normalize():,f}" if question.metric == "positives" else plain(demand.value)


def subject(question: Question) -> str:
    """Say what a question is about: "the precision of the first 1,000,000 items"."""
    name = {"positives": "number of positives"}.get(question.metric, question.metric)
    if not question.cutoffs:
        return f"the {name}"
    return f"the {name} of {' and of '.join(map(_of_cutoff, question.cutoffs))}"


def _of_cutoff(cutoff: Cutoff) -> str:
    if cutoff.kind == "score":
        return f"the items of score {cutoff.value} or better"
    if cutoff.kind == "share":
        return f"the first {cutoff} of the list"
    return f"the first {number_of(int(cutoff.value), 'item')}"


def is_condition(row: Mapping[str, Any]) -> bool:
    """Tell whether a row of the table of answers is one of a condition."""
    return isinstance(Question.of(row["question"]).demand, Condition)


def answer_sentence(row: Mapping[str, Any], zone: str | None, name: str = "") -> str:
    """Say what is known of one question: a row of the table of answers, and the zone that it was planned with.

    Args:
        name: What it is called in a sentence that does not tell it, where others are told beside it.
    """
    question = Question.of(row["question"])
    if is_cut(question):
        return _cut_sentence(question, row)
    if not isinstance(question.demand, Condition):
        return _width_sentence(question, row)
    if row["outcome"] == "open":
        return f"Not decided yet{name and f', {name}'}: {_label_counts(row)}."
    after = f"after {_label_counts(row)}"
    passed, operator = row["outcome"] == "pass", question.demand.operator
    says = f"{(_IS if passed else _IS_NOT)[operator]} {_amount(question)}"
    if passed and zone is not None:
        says += f", or {'below' if '>' in operator else 'above'} it by less than the zone of {zone}"
    return f"{'Yes' if passed else 'No'}: {subject(question)} is {says}, {after}."


def _label_counts(row: Mapping[str, Any]) -> str:
    """Labels that an answer is of, and items that were known before and count as well.

    >>> _label_counts({"labels": 50, "positives": 38, "known": 1, "known_positives": 0})
    '50 labels (38 positive) and 1 item known before (0 positive)'
    """
    labels = f"{number_of(row['labels'], 'label')} ({row['positives']:,} positive)"
    if not row.get("known"):  # of an earlier version, or none
        return labels
    return f"{labels} and {number_of(row['known'], 'item')} known before ({row['known_positives']:,} positive)"


def answers_told(rows: Sequence[Mapping[str, Any]], zone: str | None) -> str:
    """Say what is known of every question, each by its name where there are several."""
    return " ".join(answer_sentence(row, zone, row["question"] if len(rows) > 1 else "") for row in rows)


def _width_sentence(question: Question, row: Mapping[str, Any]) -> str:
    low, middle, high = shown_values(row)
    middle = "" if middle == UNKNOWN else f" The estimate is {middle}."
    so_far = "" if row["outcome"] == "pass" else f" so far, not yet {question.demand}"
    first = subject(question)
    first = f"{first[0].upper()}{first[1:]}"
    if low == high == UNKNOWN:
        return f"{first} has no bounds yet, after {_label_counts(row)}.{middle}"
    return f"{first} is {low} to {high}{so_far}.{middle}"


def shown_values(row: Mapping[str, Any]) -> list[str]:
    """Lower bound, estimate and upper bound of a row of answers, as text."""
    measure = str(Question.of(row["question"]).measure)
    return [value_text(measure, row[side]) for side in ("lower", "estimate", "upper")]


def _cut_sentence(question: Question, row: Mapping[str, Any]) -> str:
    lower, labels = row["lower"], _label_counts(row)
    if row["upper"] == 0:
        return f"No rank has a precision of {_wanted_text(question)}, as {labels} show."
    if not lower:
        return f"No rank is proven to have a precision of {_wanted_text(question)} yet, after {labels}."
    return (f"The first {int(lower):,} items have a precision of at least {_wanted_text(question)}, after {labels}. "
            "No deeper rank is proven.")  # fmt: skip


def forecast_sentence(summary: Mapping[str, Any]) -> str:
    """Say how many more labels may decide, or how deep a cut they may reach; empty where nothing is open."""
    if summary["outcome"] == "open" and (end := summary["ended"]):
        return str(end)
    if reach := summary["reach"]:
        return f"With {reach['labels']:,} more labels the first {reach['rank']:,} may be proven (a forecast)."
    more = summary["more"]
    median, many, most = (more[name] for name in ("median", "nine_in_ten", "most"))
    left = more.get("left")  # None of an earlier version too
    if summary["outcome"] != "open" or median == 0:
        return ""
    limit = "" if most is None else f" {most:,} more decide, whatever they say."
    if median is None and (left is None or most is not None):
        return f"It is too early to say how many more labels it takes.{limit}"
    if median is None:
        return f"It may take all {left:,} labels that are left: fewer decide in at most half of all cases."
    often = "" if many in (None, median) else f" (nine times in ten at most {many:,})"
    if many is None and most is None:  # it may never be decided
        often = ", or all that are left" if left is None else f", or all {left:,} that are left"
    return f"About {median:,} more labels may decide{often}.{limit}"


def counted_lines(plan: Plan) -> Iterator[str]:
    """Say how many positives a gate demands of how many items, where that is not plain from how it was typed."""
    for test in plan.notes["design"].get("tests", ()):
        question, rank, least = Question.of(test["question"]), test["rank"], test["needed"][1]
        whole = cast(Condition, question.demand).value * rank % 1 == 0
        if not (whole and all(cutoff.kind == "rank" for cutoff in question.cutoffs)):
            of = f"at least {least:,}" if test["counted"] else f"at most {rank - least:,}"
            yield f"{question}: {of} of {number_of(rank, 'item')}."


def known_lines(plan: Plan, known_items: KnownItems) -> Iterator[str]:
    """Say which labels there were before, and how they count.

    Args:
        known_items: With the labels that these items have now.
    """
    if many := known_items.rank.size:
        they = (
            "was answered before: its label counts, and it is"
            if many == 1
            else "were answered before: their labels count, and they are"
        )
        yield f"{number_of(many, 'item')} {they} not asked again."
    yield from changed_lines(many, known_items.n_changed)
    if plan.judge_sample is not None:
        yield classes_sentence(plan)
        yield f"Only {plan.judge_sample.num_rows:,} items, which were put in order, can be asked for."


def changed_lines(n_known: int, changed: int) -> Iterator[str]:
    """Say how many of the items that were known when a question was planned have other labels now."""
    if changed:
        have = "have" if changed > 1 else "has"
        yield (f"Of {number_of(n_known, 'item')} known when this was planned, {changed:,} {have} another label now, or "
               "none. The labels of now count.")  # fmt: skip


def promise(result: Result) -> str:
    """Say what holds of the answer, and with what probability."""
    zone = result.summary["parameters"]["zone"]
    rows = result.tables["answers"].to_pylist()
    rest = " All of it holds together." if result.summary["claim"]["coverage"] == "simultaneous" else _APART
    rest = (rest if len(rows) > 1 else "") + (
        f" Yes also covers what misses the threshold by less than the zone of {zone}." if zone else ""
    )
    undecided = all(row["outcome"] == "open" and (is_condition(row) or row["lower"] is None) for row in rows)
    if several := result.summary.get("together", result.summary["parameters"].get("together")):
        rest += f" All questions of this study that were asked together hold at once with probability {several}."
    what = "An answer is wrong" if undecided else "Wrong"
    sentence = f"{what} {seldom(result.summary['claim']['confidence'])}{result.claim.if_right}.{rest}"
    late = late_rule_sentence(result.summary), *late_known_sentences(result.summary.get("known_by_late_rules"))
    sentence = " ".join(filter(None, (sentence, *late)))
    return f"{sentence} {result.caution}".rstrip()


def path_lines(evidence: pa.Table) -> Iterator[str]:
    """Draw the path of the evidence, question by question, from nothing in the middle to its two ends."""
    for name in dict.fromkeys(evidence.column("question").to_pylist()):
        rows = [row for row in evidence.to_pylist() if row["question"] == name]
        ends = {side: [row for row in rows if row["side"] == side] for side in ("pass", "fail")}
        counts = [row["labels"] for row in ends["pass"] or ends["fail"]]
        places: Any = unique(np.linspace(1, len(counts) - 1, _ROWS).astype(int)) if len(counts) > 1 else []
        bars = [(counts[at], *(_bar(ends[side], at) for side in ("fail", "pass"))) for at in places]
        if sum(bool(no or yes) for _, no, yes in bars) > 1:  # one alone is no path
            yield f"{name}:"
            yield f"{'labels':>8}  {'no':<{_WIDE - 1}} | {'yes':>{_WIDE}}"
            yield from (f"{count:>8,}  {no:>{_WIDE}}|{yes}" for count, no, yes in bars)


def _bar(rows: Sequence[Mapping[str, Any]], at: int) -> str:
    """Say how much of the evidence that decides there is."""
    if at >= len(rows):
        return ""
    share = rows[at]["evidence"] / rows[at]["needed"] if rows[at]["needed"] else 0.0
    return "#" * round(_WIDE * min(max(share, 0.0), 1.0)) if share == share else ""


def text(result: Result, plan: Plan | None = None, study: str = "STUDY") -> Text:
    """Say the answer, the bounds that it gives, and what more labels would bring."""
    rows = result.tables["answers"].to_pylist()
    counts = {"labels": "labels", "positive": "positives"}
    if any(row.get("known") for row in rows):
        counts |= {"known before": "known", "positive of these": "known_positives"}
    table = Columns(
        ["question", "outcome", *counts, "lower", "estimate", "upper"],
        [[row["question"], row["outcome"], *(f"{row[name]:,}" for name in counts.values()), *shown_values(row)]
         for row in rows],
    )  # fmt: skip
    remarks = [*_changes(result), *_estimated_from(result), forecast_sentence(result.summary), *_account(result)]
    following = NOTHING if plan is None else after_answers(plan, result, study)
    return Text(verdict(result), promise(result), table, [remark for remark in remarks if remark], following)


def describe_standing(result: Result, plan: Plan, study: str, name: str) -> Standing:
    """Say the answer so far, draw the path to it, and what to do next."""
    account, rounds, result_text = result.summary["account"], result.summary["rounds"], text(result, plan, study)
    question = " ".join(map(posed_as, plan.questions))
    labels = f"{number_of(account['labelled'], 'label')} in {number_of(rounds, 'round')}{_afterwards(result)}"
    head = f"{name}: {question} {labels}."
    more = forecast_sentence(result.summary)
    facts = {"n_items": plan.n_items, "claim": result.summary["claim"], "outcome": result.summary["outcome"],
             "planned": account["planned"], "labelled": account["labelled"],
              "more": result.summary["more"]}  # fmt: skip
    values = (result_text.promise, *_changes(result), *path_lines(result.tables["evidence"]), *[more] * bool(more),
              *_account(result))  # fmt: skip
    return Standing(study, "evaluated", head, result_text.headline, values, *result_text.next_step, facts=facts)


_OF_ALL = {"pass": "Yes: all of them hold. ", "fail": "No: not all of them hold. ", "open": ""}


def verdict(result: Result) -> str:
    """The answer in a sentence; of several questions, a sentence each."""
    zone = result.summary["parameters"]["zone"]
    rows = result.tables["answers"].to_pylist()
    several = len(rows) > 1
    of_all = _OF_ALL[result.summary["outcome"]] if several and all(map(is_condition, rows)) else ""
    return of_all + answers_told(rows, zone)


def _estimated_from(result: Result) -> list[str]:
    """Say which labels the estimate is of, where labels came after those that decided."""
    first, account = result.tables["answers"].to_pylist()[0], result.summary["account"]
    after = _n_afterwards(result)
    if not after:
        return []
    n_known = first.get("known") or 0
    also = (
        f", and of {number_of(n_known, 'item')} known before ({first['known_positives']:,} positive)" if n_known else ""
    )
    return [f"{number_of(first['labels'], 'label')} decided it. The estimate uses {account['labelled']:,} "
            f"({account['positive']:,} positive), also the {after:,} that came after{also}."]  # fmt: skip


def _changes(result: Result) -> list[str]:
    """Say what was said before and is not any more, and what became of known labels."""
    changes = changed_lines(result.summary["known"], result.summary.get("known_changed", 0))
    return [*_withdrawn(result), *changes]


def _withdrawn(result: Result) -> list[str]:
    before, because = result.summary["withdrawn"], result.summary.get("withdrawn_because")
    if before is None:
        return []
    if isinstance(before, int):
        return [f"The first {before:,} items were said to have it before{_WHY[because]}."]
    return [f"The answer was {'yes' if before == 'pass' else 'no'} before{_WHY[because]}."]


_WHY = {
    "rule": ", counted by another rule",
    "refuted": "; the labels that there are now refute it",
    "changed": "; answers that it rested on have changed since",
    "later": "; labels that came since do not bear it out",
    None: "",
}


def _account(result: Result) -> list[str]:
    account = result.summary["account"]
    without = count_unlabelled(account)
    silent = without["skipped"] + without["undecided"]
    kinds = ((without["skipped"], "skipped"),
             (without["undecided"], "undecided, as their answers tie or contradict each other"))  # fmt: skip
    what = [f"{number_of(many, 'item')} {'was' if many == 1 else 'were'} {how}" for many, how in kinds if many]
    costs = _cost(result.summary.get("missing_cost"), result.summary.get("without_missing"))
    counts = "it counts" if silent == 1 else "they count"
    return [f"{', and '.join(what)}: {counts} as what is worst for each side.{costs}"] if silent else []


def _cost(labels: int | None, without: int | None) -> str:
    """Say how many extra labels are needed because some items are unlabelled."""
    if labels:
        return f" That costs about {number_of(labels, 'label')}."
    if without is None:
        return ""
    then = f"about {number_of(without, 'more label')} may decide" if without else "it would be decided"
    return f" While so many are, it may never be decided; if they were like the others, {then}."


def _afterwards(result: Result) -> str:
    """Say how many labels came after those that decided, or are of items that a width at a rank is not about."""
    if more := _n_afterwards(result):
        return f", {more:,} of them after it was decided"
    below = _n_below(result)
    return f", {below:,} of them below the cutoff: they told how many it takes" if below else ""


def _n_below(result: Result) -> int:
    """Count labels of the pilot that lie below the one rank at which a precision is asked for to a width."""
    first, *others = result.tables["answers"].to_pylist()
    question = Question.of(first["question"])
    if others or not question.cutoffs or is_condition(first) or is_cut(question):
        return 0
    return int(max(0, result.summary["account"]["labelled"] - first["labels"]))


def _n_afterwards(result: Result) -> int:
    """Count labels that came after those that decided: a round is asked whole, and tasks are out with people."""
    first, *others = result.tables["answers"].to_pylist()
    if others or not is_condition(first) or result.summary["outcome"] == "open":
        return 0  # which labels decided all of several conditions, no line says
    return int(max(0, result.summary["account"]["labelled"] - first["labels"]))
