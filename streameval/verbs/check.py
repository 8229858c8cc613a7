"""Check: does an evaluation prove that a list, or many rankings, are good enough?"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from streameval.curve.bounds import Bounds
from streameval.errors import InputError, of_each
from streameval.kinds import Kind, kind_of
from streameval.notebook import Tabular
from streameval.questions import CONDITION, Asked, Condition, Outcome, Question
from streameval.questions import conditions as read_conditions
from streameval.questions.cutoffs import plain
from streameval.study import Study
from streameval.study.result_files import NO_LABELS, Evaluation
from streameval.types import Claim

_COUNTS = ("yield", "positives", "rank", "dcg", "gain")
_STANDARD_ERROR = 1 / 3.7  # of an estimate, in half-widths of bounds at all ranks


@dataclass(frozen=True)
class Checked:
    """What one check came to.

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
    """

    check: str
    lower: float
    upper: float
    outcome: Outcome
    labels: int | None
    decides: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        bounds = {
            name: None if math.isnan(value) else value for name, value in (("lower", self.lower), ("upper", self.upper))
        }
        return {"check": self.check, **bounds, "outcome": self.outcome, "labels": self.labels}


@dataclass(frozen=True)
class Checks(Tabular):
    """What a gate says.

    Attributes:
        checked: Every check, in the order given.
        claim: What the bounds promise, and so the outcomes.
        promise: The same in a sentence or two.
        why: Why nothing can be told: these bounds promise nothing, or are not about what was asked for; else empty.
        next: The command that may decide what is inconclusive, and what it does; empty where there is none.
        alone: The command that asks what is inconclusive as a question of its own; empty where that takes no fewer.
    """

    checked: tuple[Checked, ...]
    claim: Claim
    promise: str
    why: str
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
        outcomes: dict[Outcome, None] = {one.outcome: None for one in self.checked}
        worst: tuple[Outcome, ...] = ("fail", "waiting", "inconclusive")
        return next((one for one in worst if one in outcomes), "pass")

    @property
    def table(self) -> pa.Table:
        """`check`, `lower`, `upper`, `outcome`, `labels`."""
        kinds = [("check", pa.string()), ("lower", pa.float64()), ("upper", pa.float64()), ("outcome", pa.string()),
                 ("labels", pa.int64())]  # fmt: skip
        return pa.Table.from_pylist([one.as_dict() for one in self.checked], schema=pa.schema(kinds))


def check(study: str | os.PathLike[str], conditions: Asked = (), *, about: Literal["truth"] | None = None) -> Checks:
    """Hold an evaluated study, or exact results, against conditions; all outcomes hold together, as the bounds do.

    Args:
        conditions: Each METRIC[@CUTOFF] OP NUMBER, with OP one of >=, >, <=, <: "precision@10000 >= 0.9". The cutoff is
            a number of items, a share of the list (`1%`), `score:0.7`, or for recall and rank `precision:0.9`, for
            precision and rank `recall:0.5`. Metrics of the whole list have none (`average_precision`). Of many rankings
            the means are asked for: `map`, `ndcg@10`.
        about: "truth" demands a claim about the truth; without conditions, that alone. Of a claim about what the
            annotators would say, every outcome is then "inconclusive".

    Raises:
        InputError: A condition that cannot be read (says where), or asks for what there is none of; nothing is asked.
        StudyError: No results.
    """
    asked = [*read_conditions(conditions)]
    if about not in (None, "truth"):
        raise InputError(f"--about is '{about}'", "--about 'truth' demands a claim about the truth")
    folder = Study(Path(study))
    kind = kind_of(folder.folder)
    if not asked and about is None and folder.folder.exists() and "questions" not in kind.accepts("plan"):
        raise InputError("nothing is checked", CONDITION)
    result = kind.read(folder)
    asked = asked or [*kind.conditions(result)]
    why = _why_not(kind, result, about)
    checks = tuple(of_each(asked, lambda one: _checked(one, kind, result, why)))
    following = _next(folder, kind, result, checks, why)
    alone, more = _alone(folder, kind, result, checks, why)
    if alone:
        checks = _asked_alone(checks, int(result.summary["account"]["labelled"]), more)
    said = tuple(map(_waiting, checks)) if _misses_labels(result) and not why else checks
    return Checks(said, kind.claim(result), kind.promise(result), why, following, alone)


def _misses_labels(result: Any) -> bool:
    """Tell whether items that were handed out have no answer yet."""
    account = result.summary.get("account", {})
    return bool(account.get("open", account.get("missing", 0)))


def _waiting(checked: Checked) -> Checked:
    """Call what the labels at hand leave open 'waiting': those that are missing may decide it."""
    return replace(checked, outcome="waiting") if checked.outcome == "inconclusive" else checked


def _why_not(kind: Kind, result: Any, about: str | None) -> str:
    """Why nothing can be told of conditions; empty where it can."""
    claim = kind.claim(result)
    if isinstance(result, Evaluation) and not result.curve.proves:
        return next(iter(result.curve.findings), "The bounds contradict each other.")
    if claim.coverage == "none":
        return kind.promise(result)
    return claim.caution if about is not None else ""


def _next(study: Study, kind: Kind, result: Any, checked: Sequence[Checked], why: str) -> str:
    """What to do about the checks that are inconclusive; of a claim that is not about the truth, `why` says it."""
    if all(one.outcome != "inconclusive" for one in checked):
        return ""
    labels = max((one.labels or 0 for one in checked), default=0)
    return str(kind.to_decide(study, result, labels, why))


def _asked_alone(checks: Sequence[Checked], labelled: int, more: int) -> tuple[Checked, ...]:
    """Say of conditions that are open what they take as a question of their own: together, where there are several."""
    several = sum(one.outcome == "inconclusive" for one in checks) > 1
    decides = f"about {more:,} more, " + ("asked with the others" if several else "asked alone")
    return tuple(
        replace(one, labels=labelled + more, decides=decides) if one.outcome == "inconclusive" else one
        for one in checks
    )


def _alone(study: Study, kind: Kind, result: Any, checked: Sequence[Checked], why: str) -> tuple[str, int]:
    """How to ask the conditions that are inconclusive by themselves, and about how many more labels that takes."""
    still = [one for one in checked if one.outcome == "inconclusive"]
    if why or not still:
        return "", 0
    asked = [Question.of(one.check) for one in still]
    labels = None if any(one.labels is None for one in still) else max(one.labels or 0 for one in still)
    asks, more = kind.alone(study, result, {one: kind.answer(result, one).estimate for one in asked}, labels)
    return str(asks), more


def _checked(question: Question, kind: Kind, result: Any, why: str) -> Checked:
    condition = question.demand
    if not isinstance(condition, Condition) or question.metric == "score":
        raise InputError(f"{question} cannot be checked", CONDITION)
    bounds = kind.answer(result, question)
    _refuse_impossible(question, condition)
    decision = kind.decided(result, question)
    if decision is not None:
        outcome = "inconclusive" if why else decision.outcome
        return Checked(str(question), bounds.lower, bounds.upper, outcome, decision.labels, decision.decides)
    outcome = "inconclusive" if why else condition.outcome(bounds.lower, bounds.upper)
    needed, decides = None, ""
    if outcome == "inconclusive" and not why and isinstance(result, Evaluation) and result.label_table is not NO_LABELS:
        needed, decides = _labels_needed(bounds, float(condition.value), result)
    return Checked(str(question), bounds.lower, bounds.upper, outcome, needed, decides)


def _refuse_impossible(question: Question, condition: Condition) -> None:
    """Refuse a share outside 0..1."""
    metric = question.metric.removeprefix("mean_").removesuffix("_at")
    least = -1 if metric in ("mcc", "precision_gain") else 0
    if metric not in _COUNTS and not least <= condition.value <= 1:
        message = f"{question}: {question.metric} lies in {least}..1, and {plain(condition.value)} does not"
        raise InputError(message, "60% and 0.6 are one")


def _labels_needed(bounds: Bounds, wanted: float, result: Evaluation) -> tuple[int | None, str]:
    """Labels that are forecast to decide, in five of six draws, and what is said of them.

    The half-width is then the distance from the estimate to the number wanted, less the standard error of an estimate.
    """
    (lower, estimate, upper), account, n_items = bounds, result.summary["account"], result.curve.n_items
    labelled, width, distance = int(account["labelled"]), upper - lower, abs(estimate - wanted)
    if account.get("missing", 0):
        return None, f"{account['missing']:,} planned ones are missing"
    if math.isnan(distance) or not labelled or not math.isfinite(width):
        return None, "no forecast: nothing is estimated"
    if distance < 0.02 * width:
        return None, "no forecast: the estimate is too close"
    needed = labelled * (width / 2 * (1 + _STANDARD_ERROR) / distance) ** 2
    digits = 10 ** max(0, math.floor(math.log10(max(needed, 1))) - 1)
    rounded = int(math.ceil(needed / digits) * digits)
    if rounded <= labelled:
        return None, "no forecast: so many are there"
    return (rounded, f"about {rounded:,} in all") if rounded < n_items else (None, f"all {n_items:,} items")
