"""The history of a list that is watched day by day, in which a change is named only when it is established."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa

from streameval.curve.runs import STAKES, Days
from streameval.errors import InputError, StudyError
from streameval.questions import Condition, Outcome, Question
from streameval.questions.cutoffs import plain
from streameval.study import Study
from streameval.study.day import RUN_BOUNDS, SCHEMA, DayStudy
from streameval.study.history import Entry, History, WatchedStudy
from streameval.study.result_files import BOUNDS, read_bounds

FORM = "give a measure: precision@score:0.7, precision@10000, or either with >= 0.9 behind it"
DATE = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")


@dataclass(frozen=True)
class DayHistory(History):
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
    def watched(question: Question) -> str:
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
    def taken(day: date | None, folder: str) -> DayStudy:
        """Read a study; its day stands before it, or is the last date in its path."""
        study = Study(Path(folder))
        plan = study.plan()  # says where there is no study, before a day is missed
        tables = BOUNDS if plan.ranking.get("score") is None else (*BOUNDS, "curve")
        summary, labels, curve = study.results(lambda at, told: (told, *read_bounds(at, told, tables)))
        return DayStudy(day or _last_date(folder), folder, plan, summary, labels, curve)

    @property
    def delta(self) -> float:
        """Half of δ: levels have one half, runs the other."""
        return (1 - self.settings.confidence) / 2

    @property
    def precision(self) -> str | None:
        """The precision to keep; None where none was named."""
        demand = self.settings.watched.demand
        return None if demand is None else plain(demand.value)

    @property
    def place_in_list(self) -> str:
        """Where lists are cut, in words."""
        cutoff = self.settings.watched.cutoffs[0]
        if cutoff.kind == "score":
            return f"at score {cutoff.value}"
        return f"of the first {cutoff.value:,}" if isinstance(cutoff.value, int) else f"of the first {cutoff}"

    @property
    def proven(self) -> Outcome | None:
        """What is proven against the precision to keep, and by falls.

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

    def called(self, row: Mapping[str, Any]) -> str:
        """The day."""
        return str(row["day"])

    def told(self, before: History, given: Sequence[WatchedStudy]) -> DayHistory:
        """With the days on which falls were named that were not there before."""
        named = {*_falls(before)}
        return replace(self, falls=tuple(on for on, since in _falls(self) if (on, since) not in named))

    def with_study(self, at: int, new: Entry) -> History:
        """Append a day, or put it in the place that it has: its level, and what is established of runs."""
        whole = super().with_study(at, new)
        table = self.table.slice(0, at)
        for row in range(at, whole.table.num_rows):
            table = self._judged(pa.concat_tables([table, whole.table.slice(row, 1)]))
        return replace(whole, table=table)

    def _judged(self, table: pa.Table) -> pa.Table:
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
        """What bounds say of the precision to keep: nothing where they contradict themselves."""
        demand = self.settings.watched.demand
        if not isinstance(demand, Condition):
            return None
        return demand.outcome(*bounds) if bounds[0] <= bounds[1] else "inconclusive"


def _falls(history: History) -> list[tuple[date, date]]:
    """The day on which each fall was named, and the first day after it."""
    return [(row["day"], row["run_since"]) for row in history.rows if row["change"] == "fall"]


def _last_date(folder: str) -> date:
    """The last date in the path of a study."""
    found = DATE.findall(os.path.abspath(folder))
    try:
        if found:
            return date(*map(int, found[-1]))
    except ValueError:
        pass  # a month of 13, say
    raise InputError(f"{folder}: there is no date in its name", f"say which day it is of: 2026-11-22={folder}")


def _days(rows: list[dict[str, Any]]) -> Days:
    none = [0.0] * STAKES.size
    alone = np.array([row["positives"] is None for row in rows])
    level = np.array([[row["precision_upper"], 1 - row["precision_lower"]] for row in rows])
    sides = (np.array([row[side] or none for row in rows]) for side in ("positives", "negatives"))
    return Days(*sides, *(np.where(alone, level[:, side], 0.0) for side in (0, 1)))
