"""The history of a list that is watched day by day, in which a change is named only when it is established."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.bounds import Bounds
from streameval.curve.runs import STAKES, Days
from streameval.errors import InputError, StudyError
from streameval.kinds.side_by_side import Watched
from streameval.methods import Multiplies, method_of
from streameval.questions import Condition, Outcome, Question
from streameval.questions.cutoffs import Cutoff, plain
from streameval.study import Study
from streameval.study.history import DATE, Entry, History, Settings, WatchedStudy
from streameval.study.judging import at_confidence, curve_of
from streameval.study.planned_ranking import counted_at
from streameval.study.results import BOUNDS, read_bounds
from streameval.types import TRUTH, Labels, Plan
from streameval.typing import FloatArray, Int8Array

ContradictedBy = Literal["study", "day"]
_NUMBERS = pa.list_(pa.float64())
RUN_BOUNDS = tuple(f"{what}_{side}" for what in ("run", "before", "after") for side in ("lower", "upper"))
SCHEMA: pa.Schema = pa.schema(
    [
        ("day", pa.date32()),
        ("study", pa.string()),
        ("plan_id", pa.string()),
        ("evaluation_id", pa.string()),
        ("seed", pa.string()),
        *((name, pa.int64()) for name in ("n_items", "rank", "labels", "missing")),
        *((name, pa.float64()) for name in ("precision_lower", "precision", "precision_upper")),
        ("outcome", pa.string()),
        ("contradiction", pa.string()),
        ("run_since", pa.date32()),
        ("run_outcome", pa.string()),
        ("change", pa.string()),
        *((name, pa.float64()) for name in RUN_BOUNDS),
        ("positives", _NUMBERS),
        ("negatives", _NUMBERS),
        ("counted", pa.binary()),
    ]
)


FORM = "give a measure: precision@score:0.7, precision@10000, or either with >= 0.9 behind it"


@dataclass(frozen=True)
class Day:
    """Estimate of one day.

    Attributes:
        day: The day.
        study: Its folder, as given.
        plan_id, evaluation_id: Of the study.
        seed: Of its draw, which no other day may have; None where nothing was drawn by a seed of its own.
        n_items, rank: Items of the list, and its cutoff.
        answers (int8 array, shape (planned ranks,)): Labels that count, in rank order: 1, 0, or -1 for a missing one.
        level: Bounds on precision at the cutoff, with the day's own share of δ; 0 and 1 where these contradict
            themselves.
        contradiction: Which bounds of the day contradict themselves somewhere: "study", those of its evaluation; "day",
            those at the confidence of the day too; None.
        evidence: S of positives and of negatives at `STAKES`; None where the method has no such evidence.
    """

    day: date
    study: str
    plan_id: str
    evaluation_id: str
    seed: str | None
    n_items: int
    rank: int
    answers: Int8Array
    level: Bounds
    contradiction: ContradictedBy | None
    evidence: tuple[FloatArray, FloatArray] | None

    def as_row(self) -> dict[str, Any]:
        """Columns of a history that the day fills in by itself."""
        row: dict[str, Any] = {key: value for key, value in vars(self).items() if key in SCHEMA.names}
        row |= {"precision_lower": self.level.lower, "precision": self.level.estimate}
        row |= {"precision_upper": self.level.upper, "counted": self.answers.tobytes()}
        row |= {"labels": int(np.sum(self.answers >= 0)), "missing": int(np.sum(self.answers < 0))}
        if self.evidence is not None:
            row |= {"positives": self.evidence[0].tolist(), "negatives": self.evidence[1].tolist()}
        return row

    def replacing(self, row: Mapping[str, Any]) -> Day:
        """The day in the place of one with fewer labels; a `StudyError` where these do not explain the difference."""
        if not self._is_within(row):
            raise StudyError(
                f"{self.study}: its bounds are not within those that the history has for {self.day}",
                "judge its labels as they were judged then, or begin a new history of all studies: --out FILE",
            )
        return self

    def _is_within(self, row: Mapping[str, Any]) -> bool:
        """Tell whether its bounds lie within a row's and its evidence is no smaller (`streameval.curve.runs`)."""
        if (row["positives"] is None) != (self.evidence is None):
            return False
        old = [np.array(row[side]) for side in ("positives", "negatives")] if self.evidence is not None else []
        both = zip(self.evidence or (), old, strict=True)
        grows = all(np.all(new >= old - 1e-6 * (1 + abs(old))) for new, old in both)
        low, high = row["precision_lower"] - 1e-9, row["precision_upper"] + 1e-9
        return grows and (self.contradiction == "day" or low <= self.level.lower <= self.level.upper <= high)


@dataclass(frozen=True)
class DayStudy:
    """A study and its day.

    Attributes:
        day: The day.
        folder: Of the study, as given.
        summary, labels, curve: Of its results.
    """

    day: date
    folder: str
    plan: Plan
    summary: Mapping[str, Any]
    labels: Labels
    curve: Curve

    @property
    def evaluation_id(self) -> str:
        """Of its results."""
        return str(self.summary["evaluation_id"])

    @property
    def answers(self) -> Int8Array:
        """Labels that count."""
        return self.labels.label

    @property
    def seed(self) -> str | None:
        """Seed of the draw; None where no chance is left, or versions share a draw by key and are not pooled."""
        exact = self.curve.claim.coverage == "exact"
        return None if exact or self.plan.draw_by else str(self.plan.seed)

    @property
    def question(self) -> dict[str, Any]:
        """Say what has to be the same for two days to be compared."""
        summary, ranking = self.summary, self.plan.ranking
        ranked = {"score": ranking.get("score"), "ascending": bool(ranking.get("ascending", False))}
        judged = {key: summary.get(key) for key in ("vote", "prefer", "label_error", "assume")}
        return {**ranked, **judged, "about": TRUTH if self.curve.claim.about == TRUTH else "answers"}

    def refuse_without_probability(self) -> None:
        """Raise a `StudyError` where bounds promise nothing, or what they promise is no matter of chance."""
        coverage, hint = self.curve.claim.coverage, "give studies whose draw bounds the precision"
        if coverage == "none":
            raise StudyError(f"{self.folder}: its bounds promise nothing", hint)
        if coverage == "conditional":
            raise StudyError(f"{self.folder}: its bounds hold on a condition, and with no probability", hint)

    def estimate(self, settings: Settings, error: float) -> Day:
        """Give what the labels say of the items above the cutoff; the level holds with probability 1 - error."""
        plan, rank = self.plan, self._rank(settings.watched.cutoffs[0])
        level = self._level(rank, 1 - error)
        contradiction: ContradictedBy | None = None if self.curve.envelope.consistent else "study"
        if level is None:
            contradiction, level = "day", Bounds(0.0, self.curve.precision_at(rank).estimate, 1.0)
        return Day(self.day, self.folder, plan.plan_id, self.evaluation_id, self.seed, plan.n_items, rank, self.answers,
                    level, contradiction, self._evidence(rank))  # fmt: skip

    def _rank(self, cutoff: Cutoff) -> int:
        """The cutoff in the list of the day."""
        rank = cutoff.rank_in(self.curve.n_items)
        if rank is not None:
            return rank
        first, last = self.curve.rank_at_score(cutoff.value)
        return first if 0 < first == last else counted_at(self.plan, cutoff.value)

    def _level(self, rank: int, confidence: float) -> Bounds | None:
        """Bounds on precision with another confidence, and the estimate; None where they contradict themselves."""
        error = float(self.summary["label_error"])
        curve = curve_of(at_confidence(self.plan, confidence), self.labels, error)
        if not curve.envelope.consistent:
            return None
        lower, _, upper = curve.precision_at(rank)
        return Bounds.of(lower, upper, self.curve.precision_at(rank).estimate)

    def _evidence(self, rank: int) -> tuple[FloatArray, FloatArray] | None:
        """S of `streameval.curve.runs`; None where the method has none, labels may be wrong, or draws share keys."""
        method = method_of(self.plan)
        if self.summary["label_error"] or self.plan.draw_by or not isinstance(method, Multiplies):
            return None
        return method.evidence_at(self.plan, self.labels, rank, STAKES / rank)


@dataclass(frozen=True, repr=False)
class DayHistory(Watched):
    """Days in order.

    Attributes:
        falls: Days on which the call that returned the history named a fall.
    """

    schema: ClassVar[pa.Schema] = SCHEMA
    rows_are: ClassVar[str] = "days"
    key: ClassVar[str] = "day"
    form: ClassVar[str] = FORM

    falls: tuple[date, ...] = ()

    @staticmethod
    def watched_text(question: Question) -> str:
        """The text of a measure that can be watched: precision at one cutoff, and perhaps the precision to keep."""
        cutoff, demand = question.cutoff, question.demand
        if question.metric in ("gain", "precision_gain"):
            raise InputError(f"{question.measure} is the difference of two rankings, and these studies are of one each",
                             "studies that were planned with --against bound it")  # fmt: skip
        if question.metric != "precision" or cutoff is None or cutoff.kind not in ("rank", "share", "score"):
            raise InputError(f"{question.measure} is not watched", FORM)
        if demand is None:
            return str(question)
        if not isinstance(demand, Condition) or demand.operator != ">=" or not 0 < demand.value <= 1:
            raise InputError(f"{question}: what is to be kept is a precision in (0, 1], as >= 0.9", FORM)
        return str(question)

    @staticmethod
    def read_study(day: date | None, folder: str) -> DayStudy:
        """Read a study; its day stands before it, or is the last date in its path."""
        study = Study(Path(folder))
        plan = study.plan()  # says where there is no study, before a day is missed
        tables = BOUNDS if plan.ranking.get("score") is None else (*BOUNDS, "curve")
        summary, labels, curve = study.results(lambda at, summary: (summary, *read_bounds(at, summary, tables)))
        return DayStudy(day or _last_date(folder), folder, plan, summary, labels, curve)

    @property
    def delta(self) -> float:
        """Half of δ: levels have one half, runs the other."""
        return (1 - self.settings.confidence) / 2

    @property
    def precision(self) -> str | None:
        """The precision to keep; None where none was named."""
        demand = self.settings.watched.demand
        return plain(demand.value) if isinstance(demand, Condition) else None

    @property
    def place_in_list(self) -> str:
        """The watched cutoff, in words."""
        cutoff = self.settings.watched.cutoffs[0]
        if cutoff.kind == "score":
            return f"at score {cutoff.value}"
        return f"of the first {cutoff.value:,}" if isinstance(cutoff.value, int) else f"of the first {cutoff}"

    @property
    def proven(self) -> Outcome | None:
        """Give what is proven against the precision to keep, and by falls.

        "fail": the mean since the last change is proven to be below it, or so is a day that the call added, or the call
        named a fall. "pass": no such thing, and the mean is proven to be at least that. "inconclusive": neither. None:
        no fall, and no precision was named.
        """
        rows = self.rows
        if self.falls or any(row["outcome"] == "fail" for row in rows if row["day"] in self.added):
            return "fail"
        outcome: Outcome | None = rows[-1]["run_outcome"] if rows else None
        return outcome

    @property
    def facts(self) -> dict[str, Any]:
        """JSON-ready values, with the falls."""
        return {**super().facts, "falls": [*map(str, self.falls)]}

    def place(self, new: WatchedStudy) -> int | None:
        """The row of a day; a `StudyError` where another study has it, an `InputError` where later days are there."""
        rows, day = self.rows, cast(DayStudy, new).day
        at = next((index for index, row in enumerate(rows) if row["day"] == day), None)
        if at is not None and rows[at]["plan_id"] != new.plan.plan_id:
            raise StudyError(f"{new.folder}: the history has {rows[at]['study']} for {day}",
                             "one study counts for a day")  # fmt: skip
        if at is None and rows and day < rows[-1]["day"]:
            raise InputError(
                f"{new.folder}: is of {day}, and the history has {rows[-1]['day']}",
                "give days in their order; a day that was forgotten needs a new history (--out FILE)",
            )
        return at

    def row_name(self, row: Mapping[str, Any]) -> str:
        """The day."""
        return str(row["day"])

    def with_call(self, before: History, new_studies: Sequence[WatchedStudy]) -> DayHistory:
        """With the days on which falls were named that were not there before."""
        named = {*_falls(before)}
        return replace(self, falls=tuple(on for on, since in _falls(self) if (on, since) not in named))

    def with_study(self, at: int, new: Entry) -> History:
        """Append a day, or put it in the place that it has: its level, and what is established of runs."""
        whole = super().with_study(at, new)
        table = self.table.slice(0, at)
        for row in range(at, whole.table.num_rows):
            table = self._with_verdicts(pa.concat_tables([table, whole.table.slice(row, 1)]))
        return replace(whole, table=table)

    def _with_verdicts(self, table: pa.Table) -> pa.Table:
        """Fill in what the last day says of the precision to keep, and of runs."""
        rows = list(table.to_pylist())
        last, days, dates = rows[-1], _days(rows), [row["day"] for row in rows]
        since = dates.index(rows[-2]["run_since"]) + 1 if len(rows) > 1 else 1
        last |= dict.fromkeys(("change", *RUN_BOUNDS))
        change = days.change(since, self.delta)
        if change is not None:
            since, last["change"] = change.first, change.direction
            for name, bounds in (("before", change.before), ("after", change.after)):
                last |= {f"{name}_lower": bounds.lower, f"{name}_upper": bounds.upper}
        level = last["precision_lower"], last["precision_upper"]
        low, high = days.means(np.array([since]), np.array([len(rows)]), self.delta)
        sides = float(low[0]), float(high[0])
        if since == len(rows):  # of a run of one day, the mean is the level: both bounds hold at once
            both = max(sides[0], level[0]), min(sides[1], level[1])
            sides = both if both[0] <= both[1] else sides
        last |= {"outcome": self._outcome(level), "run_outcome": self._outcome(sides), "run_since": dates[since - 1]}
        if sides[0] <= sides[1]:
            last |= {"run_lower": sides[0], "run_upper": sides[1]}
        return pa.Table.from_pylist(rows, schema=SCHEMA)

    def _outcome(self, bounds: tuple[float, float]) -> Outcome | None:
        """Give what bounds say of the precision to keep: nothing where they contradict themselves."""
        demand = self.settings.watched.demand
        if not isinstance(demand, Condition):
            return None
        return demand.outcome(*bounds) if bounds[0] <= bounds[1] else "inconclusive"


def _falls(history: History) -> list[tuple[date, date]]:
    """The day on which each fall was named, and the first day after it."""
    return [(row["day"], row["run_since"]) for row in history.rows if row["change"] == "fall"]


def _last_date(folder: str) -> date:
    """The last date in the path of a study."""
    dates = DATE.findall(os.path.abspath(folder))
    try:
        if dates:
            return date(*map(int, dates[-1]))
    except ValueError:
        pass  # a month of 13, say
    raise InputError(f"{folder}: there is no date in its name", f"say which day it is of: 2026-11-22={folder}")


def _days(rows: list[dict[str, Any]]) -> Days:
    none = [0.0] * STAKES.size
    alone = np.array([row["positives"] is None for row in rows])
    level = np.array([[row["precision_upper"], 1 - row["precision_lower"]] for row in rows])
    sides = (np.array([row[side] or none for row in rows]) for side in ("positives", "negatives"))
    return Days(*sides, *(np.where(alone, level[:, side], 0.0) for side in (0, 1)))
