"""Check: does an evaluation prove that a list, or many rankings, are good enough?"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from streameval.errors import EXIT_DONE, EXIT_FAILS, EXIT_INCONCLUSIVE, InputError, of_each
from streameval.kinds import kind_of, results_of
from streameval.kinds.results import HeldAgainst, StudyResult
from streameval.notebook import Tabular
from streameval.options import takes
from streameval.printed import Event, Printed
from streameval.questions import CONDITION, Against, Condition, Outcome, Question
from streameval.questions import conditions as read_conditions
from streameval.questions.cutoffs import plain
from streameval.questions.printed import value_text
from streameval.reporting import gate_files
from streameval.reporting.shows_itself import ShowsItself
from streameval.reporting.text import Columns, Paragraph
from streameval.study import Study
from streameval.types import Claim

_ALWAYS = ("check", "lower", "upper", "outcome")
_COUNTS = ("yield", "positives", "rank", "dcg", "gain")


@dataclass(frozen=True)
class Checked:
    """Result of one check.

    Attributes:
        check: The condition.
        lower, upper: Bounds on the metric; NaN where it is undefined, or perhaps no item has the score of the cutoff.
        outcome: "pass" where all that the bounds allow meets it, "fail" where nothing does; else "waiting" while
            planned labels are missing, and "inconclusive" once they are all in, or where the bounds promise nothing.
        labels: About how many labels in all would decide it (a forecast); None where that cannot be said, or nothing
            needs deciding.
        decides: The same in words, or why it cannot be said; empty where nothing needs deciding, and where labels are
            not forecast: of many rankings, of exact results, and where nothing can be told (`Checks.why`). Where the
            condition is best asked as a question of its own (`Checks.alone`), both are of that.
        against: Of a condition on another result: the difference, from which the outcome follows; `lower` and `upper`
            are of the difference too.
    """

    check: str
    lower: float
    upper: float
    outcome: Outcome
    labels: int | None
    decides: str = ""
    against: HeldAgainst | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        values = {"check": self.check, "lower": _null(self.lower), "upper": _null(self.upper), "outcome": self.outcome,
                  "labels": self.labels}  # fmt: skip
        if self.against is None:
            return values
        return {**values, "low": _null(self.against.low), "high": _null(self.against.high),
                "claim": self.against.claim, "no_interval": self.against.no_interval or None}  # fmt: skip


def _null(value: float) -> float | None:
    return None if math.isnan(value) else value


@dataclass(frozen=True, repr=False)
class Checks(ShowsItself, Tabular):
    """Result of a gate: its checks, and the outcome of all.

    Attributes:
        checked: Every check, in the order given.
        claim: What the bounds promise, and so the outcomes.
        promise: The same in a sentence or two.
        why: Why nothing can be told: these bounds promise nothing, or are not about what was asked for; else empty.
        about: "truth" where a claim about the truth was demanded; else None.
        next: The command that may decide what is inconclusive, and what it does; empty where there is none.
        alone: The command that asks what is inconclusive as a question of its own; empty where that takes no fewer.
    """

    checked: tuple[Checked, ...]
    claim: Claim
    promise: str
    why: str
    about: str | None = None
    next: str = ""
    alone: str = ""

    def __iter__(self) -> Iterator[Checked]:
        return iter(self.checked)

    @property
    def outcome(self) -> Outcome:
        """The worst of all: one check that fails makes a gate fail, and else one that is not decided.

        Where nothing can be told, it is inconclusive.
        """
        if self.why:
            return "inconclusive"
        outcomes: dict[Outcome, None] = {checked.outcome: None for checked in self.checked}
        worst: tuple[Outcome, ...] = ("fail", "waiting", "inconclusive")
        return next((outcome for outcome in worst if outcome in outcomes), "pass")

    @property
    def sentence(self) -> str:
        """Say what the bounds promise; or why nothing can be told."""
        of_truth = "" if self.about is None else "This is a claim about the truth."
        of_others = [text for checked in self.checked if checked.against for text in checked.against.sentences]
        return self.why or " ".join(filter(None, [self.promise, of_truth, *dict.fromkeys(of_others)]))

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """Each check with its bounds, what they promise, what to run next, and the outcome of all."""
        head, *rows = _table(self)
        following = [f"{word}: {command}." for word, command in (("Next", self.next), ("Or", self.alone)) if command]
        return [*[Columns(head, rows)] * bool(rows), self.sentence, *following, "", self.outcome]

    @property
    def table(self) -> pa.Table:
        """`check`, `lower`, `upper`, `outcome`, `labels`; of differences also `low`, `high`, `claim`, `no_interval`."""
        kinds = [("check", pa.string()), ("lower", pa.float64()), ("upper", pa.float64()), ("outcome", pa.string()),
                 ("labels", pa.int64())]  # fmt: skip
        if any(checked.against for checked in self.checked):
            kinds += [
                ("low", pa.float64()),
                ("high", pa.float64()),
                ("claim", pa.string()),
                ("no_interval", pa.string()),
            ]
        return pa.Table.from_pylist([checked.as_dict() for checked in self.checked], schema=pa.schema(kinds))


@takes()
def check(
    study: str | os.PathLike[str],
    conditions: str | Question | Sequence[str | Question] = (),
    *,
    about: Literal["truth"] | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Checks:
    """Say whether conditions are met, as precision@10000 >= 0.9.

    Exit status 0 if the bounds prove it, 4 if they prove that one is not, 5 if it is not decided. Of samples that are
    held against one another it follows from an interval, which is approximate and proves nothing.

    What is not decided is `waiting` while planned labels are missing, and `inconclusive` once they are all in.

    In Python `outcome` of the result says the same; all outcomes hold together, as the bounds do.

    Example: streameval check my-study "precision@10000 >= 0.9" "recall@precision:0.95 >= 0.5"
    Example: streameval check my-results "map >= 0.3" "ndcg@10 >= 0.4"
    Example: streameval check model-b "average_precision >= average_precision:model-a - 0.01"

    Args:
        study: Folder of an evaluated study, or of exact results, of one ranking or of many.
        conditions: METRIC[@CUTOFF] >= NUMBER (or >, <=, <). The cutoff is a number of items (precision@10000), a share
            of the list (precision@1%), a score (f1@score:0.7), a precision (recall@precision:0.95) or a recall
            (precision@recall:0.5); average_precision, roc_auc and others of the whole list have none. Of many rankings
            the means are asked for: map, ndcg@10. A list whose every item has a label may be held against another:
            roc_auc >= roc_auc:RESULT - 0.01.
        about: Demand a claim about the truth, with conditions or alone: of labels that are disputed or come from
            several sources, nothing can be told.
        out: File to add the outcome to, as Markdown: the summary page of a CI job, say. A name that ends in .xml gets
            JUnit's XML, for what shows tests; what is not decided is skipped there.

    Raises:
        InputError: A condition that cannot be read (says where), or asks for what there is none of; nothing is asked;
            `out` can be no file, or another's.
        StudyError: No results.
    """
    if out is not None:
        gate_files.refuse_place(Path(out))
    checks = _checks(Study(Path(study)), [*read_conditions(conditions)], about)
    if out is not None:
        _write(Path(out), str(Path(study)), checks)
    return checks


def printed(checks: Checks, study: Path, **_: Any) -> Printed:
    """Print each check with its bounds, what they promise, what to run next, and the outcome of all."""
    outcomes = [checked.as_dict() for checked in checks]
    facts = {"study": str(study), "outcome": checks.outcome, "checks": outcomes, "claim": checks.claim.as_dict(),
             "why": checks.why, "next": checks.next, "alone": checks.alone}  # fmt: skip
    return Printed(
        facts,
        checks.paragraphs,
        events=[Event("check", checked.as_dict(), checked.outcome == "pass") for checked in checks],
        status={"pass": EXIT_DONE, "fail": EXIT_FAILS}.get(checks.outcome, EXIT_INCONCLUSIVE),
    )


def _write(out: Path, study: str, checks: Checks) -> None:
    """Write the outcome as what a file's name ends in."""
    if out.suffix.lower() != ".xml":
        gate_files.append_markdown(out, f"{study}: {checks.outcome}", _table(checks), checks.sentence)
        return
    # what `about` demands is a check among the others; it is the only one where nothing else is asked
    claimed = [f"about {checks.about}", "", "inconclusive" if checks.why else "pass", ""]
    rows = [*map(_case, checks), *([] if checks.about is None else [claimed])]
    gate_files.write_junit(out, study, checks.claim, rows, checks.sentence, checks.why)


def _case(checked: Checked) -> list[str]:
    """Write a check, what its outcome follows from, the outcome, and what may decide."""
    name, lower, upper, low, high, outcome, decides = _cells(checked)
    if checked.against is None:
        return [name, f"bounds {lower} to {upper}", outcome, decides]
    ends = f"approximately {low} to {high}" if checked.against.of_sample else f"{lower} to {upper}"
    return [name, f"the difference is {ends}", outcome, decides]


def _table(checks: Checks) -> list[list[str]]:
    """Write checks as a head and rows; columns that are empty in all are left out."""
    head = ["check", "lower", "upper", "low", "high", "outcome", "what may decide"]
    rows = [*map(_cells, checks)]
    kept = [at for at, name in enumerate(head) if name in _ALWAYS or any(row[at] for row in rows)]
    return [[row[at] for at in kept] for row in (head, *rows)]


def _cells(checked: Checked) -> list[str]:
    """Write a check: numbers with as many digits as tell them from the one that is wanted."""
    question, against = Question.of(checked.check), checked.against
    demand = question.demand.of_difference if isinstance(question.demand, Against) else question.demand
    wanted = float(demand.value) if isinstance(demand, Condition) else None
    ends = [checked.lower, checked.upper, *((against.low, against.high) if against and against.of_sample else ())]
    texts = [value_text(str(question.measure), end, wanted) for end in ends]
    return [checked.check, *texts, *[""] * (4 - len(texts)), checked.outcome, checked.decides]


def _checks(folder: Study, questions: Sequence[Question], about: str | None) -> Checks:
    if about not in (None, "truth"):
        raise InputError(f"--about is '{about}'", "--about 'truth' demands a claim about the truth")
    result = results_of(folder)
    questions = questions or result.conditions()
    if not questions and about is None:
        raise InputError("nothing is checked", CONDITION)
    why = _why_not(result, about)
    checks = tuple(of_each(questions, lambda question: _check(folder, question, result, why)))
    following = _next(folder, result, checks, why)
    alone, more = _suggest_question(folder, result, checks, why)
    if alone:
        checks = _asked_alone(checks, int(result.summary["account"]["labelled"]), more)
    forecast = tuple(map(_waiting, checks)) if _misses_labels(result) and not why else checks
    return Checks(forecast, result.claim, result.promise(), why, about, following, alone)


def _misses_labels(result: StudyResult) -> bool:
    """Tell whether items that were handed out have no answer yet."""
    account = result.summary.get("account", {})
    return bool(account.get("open", account.get("missing", 0)))


def _waiting(checked: Checked) -> Checked:
    """Call what the labels at hand leave open 'waiting': those that are missing may decide it."""
    return replace(checked, outcome="waiting") if checked.outcome == "inconclusive" else checked


def _why_not(result: StudyResult, about: str | None) -> str:
    """Why nothing can be told of conditions; empty where it can."""
    claim = result.claim
    if result.unproven:
        return result.unproven
    if claim.coverage == "none":
        return result.promise()
    return claim.caution if about is not None else ""


def _next(study: Study, result: StudyResult, checked: Sequence[Checked], why: str) -> str:
    """Say what to do about the checks that are inconclusive; of a claim that is not about the truth, `why` says it."""
    if all(condition.outcome != "inconclusive" for condition in checked):
        return ""
    labels = max((condition.labels or 0 for condition in checked), default=0)
    return str(result.to_decide(study, labels, why))


def _asked_alone(checks: Sequence[Checked], labelled: int, more: int) -> tuple[Checked, ...]:
    """Say of conditions that are open what they take as a question of their own: together, where there are several."""
    several = sum(condition.outcome == "inconclusive" for condition in checks) > 1
    decides = f"about {more:,} more labels, {'asked with the others' if several else 'asked alone'}"
    return tuple(
        replace(condition, labels=labelled + more, decides=decides)
        if condition.outcome == "inconclusive"
        else condition
        for condition in checks
    )


def _suggest_question(study: Study, result: StudyResult, checked: Sequence[Checked], why: str) -> tuple[str, int]:
    """Say how to ask the conditions that are inconclusive by themselves, and about how many more labels that takes."""
    still = [condition for condition in checked if condition.outcome == "inconclusive" and condition.against is None]
    if why or not still:
        return "", 0
    questions = [Question.of(condition.check) for condition in still]
    labels = (
        None
        if any(condition.labels is None for condition in still)
        else max(condition.labels or 0 for condition in still)
    )
    asks, more = result.suggest_question(
        study, {question: result.bounds(question).estimate for question in questions}, labels
    )
    return str(asks), more


def _check_question(question: Question, result: StudyResult, why: str) -> Checked:
    condition = question.condition
    if question.metric == "score":
        raise InputError(f"{question} cannot be checked", CONDITION)
    bounds = result.bounds(question)
    _refuse_impossible(question, condition)
    if why:
        return Checked(str(question), bounds.lower, bounds.upper, "inconclusive", None)
    decision = result.decide(question, bounds)
    return Checked(str(question), bounds.lower, bounds.upper, *decision)


def _check(folder: Study, question: Question, result: StudyResult, why: str) -> Checked:
    """Hold results against a number, or against those of another folder."""
    if not isinstance(question.demand, Against):
        return _check_question(question, result, why)
    other = Study(Path(question.demand.result))
    if other.folder.resolve() == folder.folder.resolve():
        raise InputError(f"{question}: the results would be held against themselves", "name those of another list")
    results = result, results_of(other)
    against = kind_of(folder.folder).held_against(question, [folder.folder, other.folder], results)
    outcome: Outcome = "inconclusive" if why else against.outcome
    return Checked(str(question), against.lower, against.upper, outcome, None, against=against)


def _refuse_impossible(question: Question, condition: Condition) -> None:
    """Refuse a share outside 0..1."""
    metric = question.metric.removeprefix("mean_").removesuffix("_at")
    least = -1 if metric in ("mcc", "precision_gain") else 0
    if metric not in _COUNTS and not least <= condition.value <= 1:
        message = f"{question}: {question.metric} lies in {least}..1, and {plain(condition.value)} does not"
        raise InputError(message, "60% and 0.6 are one")
