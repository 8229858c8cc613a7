"""A history: one row a day of studies that ask the same question, as a Parquet file that a nightly job appends to.

Its metadata hold what was asked: where lists are cut, the precision to keep, the confidence, and how labels are judged.
Rows are never changed: what was named on a day stays named. The statistics are those of `streameval.curve.runs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.curve.bounds import Bounds
from streameval.curve.runs import STAKES, Days
from streameval.errors import StudyError
from streameval.notebook import Tabular
from streameval.parquet.own_tables import read_table
from streameval.stores import atomic
from streameval.typing import FloatArray

_NUMBERS = pa.list_(pa.float64())
_BOUNDS = tuple(f"{what}_{side}" for what in ("run", "before", "after") for side in ("lower", "upper"))
SCHEMA = pa.schema(
    [
        ("day", pa.date32()),
        ("study", pa.string()),
        ("plan_id", pa.string()),
        ("evaluation_id", pa.string()),
        ("seed", pa.string()),
        *((name, pa.int64()) for name in ("n_items", "rank", "labels")),
        *((name, pa.float64()) for name in ("precision_lower", "precision", "precision_upper")),
        ("outcome", pa.string()),
        ("run_since", pa.date32()),
        ("change", pa.string()),
        *((name, pa.float64()) for name in _BOUNDS),
        ("positives", _NUMBERS),
        ("negatives", _NUMBERS),
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
        n_items, rank, labels: Items of the list, its cutoff, and labels of the study.
        level: Bounds on precision at the cutoff, with the day's own share of δ.
        evidence: S of positives and of negatives at `STAKES`; None where the method has no such evidence.
    """

    day: date
    study: str
    plan_id: str
    evaluation_id: str
    seed: str | None
    n_items: int
    rank: int
    labels: int
    level: Bounds
    evidence: tuple[FloatArray, FloatArray] | None


@dataclass(frozen=True)
class Settings:
    """What a history asks of every study.

    Attributes:
        at_score, at_rank: Where lists are cut: one of the two.
        precision: To keep; None where none was named.
        confidence: Of all bounds and all changes together.
        question: How items are scored and labels judged.
    """

    at_score: str | None = None
    at_rank: int | None = None
    precision: str | None = None
    confidence: float = 0.95
    question: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {**vars(self), "question": dict(self.question)}

    @property
    def cutoff(self) -> str:
        """Where lists are cut, in words."""
        return f"at score {self.at_score}" if self.at_score is not None else f"of the first {self.at_rank:,}"


@dataclass(frozen=True)
class History(Tabular):
    """Days in order.

    Attributes:
        table: `day`; `study`, `plan_id`, `evaluation_id`, `seed`; `n_items`, `rank` (the cutoff), `labels`;
            `precision_lower`, `precision`, `precision_upper`; `outcome` against the precision to keep; `run_since`:
            the first day of the current run, with bounds `run_lower`, `run_upper` on its mean precision; `change`
            ("fall" or "rise") where one was named that day, from before to after `run_since`, with `before_…` and
            `after_…`; `positives`, `negatives`: the evidence by which later days are compared with this one.
    """

    settings: Settings
    table: pa.Table = field(default_factory=SCHEMA.empty_table)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The days."""
        return list(self.table.to_pylist())

    @property
    def delta(self) -> float:
        """Half of δ: levels have one half, runs the other."""
        return (1 - self.settings.confidence) / 2

    def with_day(self, new: Day) -> History:
        """Append a day: its level, and what is established of runs that end on it."""
        level, evidence = new.level, new.evidence
        row: dict[str, Any] = {key: value for key, value in vars(new).items() if key in SCHEMA.names}
        row |= {"precision_lower": level.lower, "precision": level.estimate, "precision_upper": level.upper}
        row |= {"outcome": self._outcome(level)}
        if evidence is not None:
            row |= {"positives": evidence[0].tolist(), "negatives": evidence[1].tolist()}
        table = pa.concat_tables([self.table, pa.Table.from_pylist([row], schema=SCHEMA)])
        return History(self.settings, table)._judged()

    def _judged(self) -> History:
        """Fill in what the last day says of runs."""
        rows, days = self.rows, _days(self.rows)
        dates = [row["day"] for row in rows]
        since = dates.index(rows[-2]["run_since"]) + 1 if len(rows) > 1 else 1
        change = days.change(since, self.delta)
        if change is not None:
            since, rows[-1]["change"] = change.first, change.direction
            for name, bounds in (("before", change.before), ("after", change.after)):
                rows[-1] |= {f"{name}_lower": bounds.lower, f"{name}_upper": bounds.upper}
        low, high = days.means(np.array([since]), np.array([len(rows)]), self.delta)
        sides = float(low[0]), float(high[0])
        if since == len(rows):  # of a run of one day, the mean is the level: both bounds hold at once
            both = max(sides[0], rows[-1]["precision_lower"]), min(sides[1], rows[-1]["precision_upper"])
            sides = both if both[0] <= both[1] else sides
        rows[-1] |= {"run_since": dates[since - 1], "run_lower": sides[0], "run_upper": sides[1]}
        return History(self.settings, pa.Table.from_pylist(rows, schema=SCHEMA))

    def _outcome(self, level: Bounds) -> str | None:
        if self.settings.precision is None:
            return None
        wanted = float(self.settings.precision)
        return "pass" if level.lower >= wanted else "fail" if level.upper < wanted else "inconclusive"

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
        own = read_table(path, _HINT, day=pa.date32(), study=pa.string(), evaluation_id=pa.string(), rank=pa.int64())
    except FileNotFoundError:
        return None
    if "history" not in own.facts or own.table.schema != SCHEMA:
        raise StudyError(f"{path}: is no history of studies", _HINT)
    return History(Settings(**own.facts["history"]), own.table)
