"""A history: one row a day of studies that ask the same question, as a Parquet file that a nightly job appends to.

Its metadata hold what was asked: where lists are cut, the precision to keep, the confidence, and how labels are judged.
Rows are changed by one thing alone: labels that were missing when their day was taken. The history is then the one that
it would have been with these labels from the start. The statistics are those of `streameval.curve.runs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from streameval.curve.bounds import Bounds
from streameval.curve.runs import STAKES, Days
from streameval.errors import StudyError
from streameval.notebook import Tabular
from streameval.parquet.own_tables import read_table
from streameval.questions import Question
from streameval.questions.cutoffs import Cutoff, plain
from streameval.stores import atomic
from streameval.typing import FloatArray, Int8Array

Outcome = Literal["pass", "fail", "inconclusive"]
ContradictedBy = Literal["study", "day"]
_NUMBERS = pa.list_(pa.float64())
_BOUNDS = tuple(f"{what}_{side}" for what in ("run", "before", "after") for side in ("lower", "upper"))
SCHEMA = pa.schema(
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
        *((name, pa.float64()) for name in _BOUNDS),
        ("positives", _NUMBERS),
        ("negatives", _NUMBERS),
        ("counted", pa.binary()),
    ]
)
_HINT = "name another file, or restore this one"


@dataclass(frozen=True)
class Day:
    """What one study says of its day.

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

    def extends(self, row: Mapping[str, Any]) -> bool:
        """Whether its bounds lie within those of a row, and its evidence is no smaller: see `streameval.curve.runs`."""
        if (row["positives"] is None) != (self.evidence is None):
            return False
        old = [np.array(row[side]) for side in ("positives", "negatives")] if self.evidence is not None else []
        both = zip(self.evidence or (), old, strict=True)
        grows = all(np.all(new >= one - 1e-6 * (1 + abs(one))) for new, one in both)
        low, high = row["precision_lower"] - 1e-9, row["precision_upper"] + 1e-9
        return grows and (self.contradiction == "day" or low <= self.level.lower <= self.level.upper <= high)


@dataclass(frozen=True)
class Settings:
    """What a history asks of every study.

    Attributes:
        measure: Precision where lists are cut, and perhaps the precision to keep: `precision@score:0.7 >= 0.9`.
        confidence: Of all bounds and all changes together.
        question: How items are scored and labels judged.
    """

    measure: str
    confidence: float = 0.95
    question: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {**vars(self), "question": dict(self.question)}

    @property
    def cutoff(self) -> Cutoff:
        """Where lists are cut."""
        return Question.of(self.measure).cutoffs[0]

    @property
    def precision(self) -> str | None:
        """The precision to keep; None where none was named."""
        demand = Question.of(self.measure).demand
        return None if demand is None else plain(demand.value)

    @property
    def place(self) -> str:
        """Where lists are cut, in words."""
        cutoff = self.cutoff
        if cutoff.kind == "score":
            return f"at score {cutoff.value}"
        return f"of the first {cutoff.value:,}" if isinstance(cutoff.value, int) else f"of the first {cutoff}"


@dataclass(frozen=True)
class History(Tabular):
    """Days in order.

    Attributes:
        table: `day`; `study`, `plan_id`, `evaluation_id`, `seed`; `n_items`, `rank` (the cutoff), `labels`, and how
            many planned ones are `missing`; `precision_lower`, `precision`, `precision_upper`; `outcome` against the
            precision to keep; `contradiction`: which bounds of the day contradict themselves; `run_since`: the first
            day of the current run, with bounds `run_lower`, `run_upper` on its mean precision (null where they
            contradict themselves) and `run_outcome`; `change` ("fall" or "rise") where one was named that day, from
            before to after `run_since`, with `before_…` and `after_…`; `positives`, `negatives`: the evidence by which
            later days are compared with this one; `counted`: the labels that count, a byte for each planned rank.
        added: Days that the call which returned the history added, or for which it had more labels.
        falls: Days on which that call named a fall.
    """

    settings: Settings
    table: pa.Table = field(default_factory=SCHEMA.empty_table)
    added: tuple[date, ...] = ()
    falls: tuple[date, ...] = ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The days."""
        return list(self.table.to_pylist())

    @property
    def delta(self) -> float:
        """Half of δ: levels have one half, runs the other."""
        return (1 - self.settings.confidence) / 2

    @property
    def outcome(self) -> Outcome | None:
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

    def with_day(self, new: Day) -> History:
        """Append a day, or put it in the place that it has: its level, and what is established of runs."""
        rows = self.rows
        at = next((index for index, row in enumerate(rows) if row["day"] == new.day), len(rows))
        table = self.table.slice(0, at)
        for row in (new.as_row(), *rows[at + 1 :]):
            table = self._judged(pa.concat_tables([table, pa.Table.from_pylist([row], schema=SCHEMA)]))
        return replace(self, table=table, added=(*self.added, new.day))

    def _judged(self, table: pa.Table) -> pa.Table:
        """Fill in what the last day says of the precision to keep, and of runs."""
        rows = list(table.to_pylist())
        last, days, dates = rows[-1], _days(rows), [row["day"] for row in rows]
        since = dates.index(rows[-2]["run_since"]) + 1 if len(rows) > 1 else 1
        last |= dict.fromkeys(("change", *_BOUNDS))
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
        if self.settings.precision is None:
            return None
        (low, high), wanted = bounds, float(self.settings.precision)
        if low > high or low < wanted <= high:
            return "inconclusive"
        return "pass" if low >= wanted else "fail"

    def writer(self) -> atomic.Writer:
        """Writer of history.parquet."""
        return atomic.parquet(self.table, {"history": self.settings.as_dict()})


def _days(rows: list[dict[str, Any]]) -> Days:
    none = [0.0] * STAKES.size
    alone = np.array([row["positives"] is None for row in rows])
    level = np.array([[row["precision_upper"], 1 - row["precision_lower"]] for row in rows])
    sides = (np.array([row[side] or none for row in rows]) for side in ("positives", "negatives"))
    return Days(*sides, *(np.where(alone, level[:, side], 0.0) for side in (0, 1)))


def read_history(path: Path) -> History | None:
    """Read a history; None where there is none yet.

    Raises:
        StudyError: A file that is no history, or was changed since.
    """
    try:
        file = read_table(path, _HINT, day=pa.date32(), study=pa.string(), evaluation_id=pa.string(), rank=pa.int64())
    except FileNotFoundError:
        return None
    if "measure" not in file.facts.get("history", {}) or file.table.schema != SCHEMA:
        raise StudyError(f"{path}: is no history of studies that this version writes", _HINT)
    return History(Settings(**file.facts["history"]), file.table)
