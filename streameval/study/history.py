"""A history: one row a study, of studies that ask the same question, as a Parquet file that a job appends to.

Its metadata hold what was asked: the measure, perhaps with a condition, the confidence, and how labels are judged. Rows
are changed by one thing alone: labels that were missing when their study was taken. The history is then the one that it
would have been with these labels from the start. The study in place k is bounded with the share δ/(k(k + 1)) of an
error that all studies have together (`streameval.curve.runs.share_of`). Which studies a history takes, what it makes of
them and what it proves is of their kind: each has a class of its own.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from streameval.errors import StudyError
from streameval.notebook import Tabular
from streameval.parquet.own_tables import read_table
from streameval.questions import Outcome, Question
from streameval.stores import atomic
from streameval.types import Plan
from streameval.typing import Int8Array

DATE = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")  # as it stands in the path of a study, or before it
_HINT = "name another file, or restore this one"


@dataclass(frozen=True)
class Settings:
    """Question that a history asks of every study.

    Attributes:
        measure: What is watched, and perhaps a condition: `precision@score:0.7 >= 0.9`, `gain@10000 > 0`.
        confidence: Of all bounds and all changes together.
        question: What has to be the same for two studies to be in one history, such as how labels are judged.
        kind: Of the studies.
    """

    measure: str
    confidence: float = 0.95
    question: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "curve"

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {**vars(self), "question": dict(self.question)}

    @property
    def watched(self) -> Question:
        """The measure, read."""
        return Question.of(self.measure)


class Entry(Protocol):
    """Estimate of one study, in its place in a history."""

    def as_row(self) -> dict[str, Any]:
        """Columns of the history that it fills in by itself."""

    def replacing(self, row: Mapping[str, Any]) -> Entry:
        """Replace the row of the same study with fewer labels; a `StudyError` where it does not fit."""


class WatchedStudy(Protocol):
    """An evaluated study, as a history takes it.

    Attributes:
        folder: Of the study, as given.
        evaluation_id: Of its results.
        answers (int8 array, shape (planned items,)): Labels that count: 1, 0, or -1 for a missing one.
        seed: Of its draw, which no other study may have; None where nothing was drawn by a seed of its own.
        question: What has to be the same for two studies to be in one history.
    """

    @property
    def folder(self) -> str: ...  # noqa: D102
    @property
    def plan(self) -> Plan: ...  # noqa: D102
    @property
    def evaluation_id(self) -> str: ...  # noqa: D102
    @property
    def answers(self) -> Int8Array: ...  # noqa: D102
    @property
    def seed(self) -> str | None: ...  # noqa: D102
    @property
    def question(self) -> dict[str, Any]: ...  # noqa: D102

    def refuse_without_probability(self) -> None:
        """Raise a `StudyError` where its bounds promise nothing, or what they promise is no matter of chance."""

    def estimate(self, settings: Settings, error: float) -> Entry:
        """Give what its labels say of what is watched, with bounds that hold with probability 1 - error."""


@dataclass(frozen=True)
class History(Tabular, ABC):
    """Studies in their order.

    Attributes:
        table: One row a study. All have `study` (its folder), `plan_id`, `evaluation_id`, `seed`; `labels`, and how
            many planned ones are `missing`; `outcome` against the condition; and `counted`, the labels that count, a
            byte for each planned item.

            Days of a curve: `day`; `n_items`, `rank` (the cutoff); `precision_lower`, `precision`, `precision_upper`;
            `contradiction`: which bounds of the day contradict themselves; `run_since`: the first day of the current
            run, with bounds `run_lower`, `run_upper` on its mean precision (null where they contradict themselves) and
            `run_outcome`; `change` ("fall" or "rise") where one was named that day, from before to after `run_since`,
            with `before_…` and `after_…`; `positives`, `negatives`: the evidence by which later days are compared with
            this one. Their history has `falls`, too: the days on which the call named one.

            Comparisons of two rankings: `number`, from 1; `b`, `a`: how the rankings are called; `error`, the share of
            this study; `lower`, `estimate`, `upper` of the measure. Their history has `given`, too: the numbers of the
            studies that the call was given.
        added: Days, or numbers of studies, that the call which returned the history added, or for which it had more
            labels.
        waiting: The study at which the call ended because planned labels of it are missing, and how many; empty where
            there is none.
        corrected: Studies of earlier calls whose labels are no longer those that the history counts, and how many.
    """

    schema: ClassVar[pa.Schema]
    rows_are: ClassVar[str]
    """What rows are called: "days"."""
    key: ClassVar[str]
    """The column that tells rows apart."""
    form: ClassVar[str]
    """What a measure is like, as a hint."""

    settings: Settings
    table: pa.Table
    added: tuple[Any, ...] = ()
    waiting: str = ""
    corrected: tuple[str, ...] = ()

    @classmethod
    def begun(cls, settings: Settings) -> History:
        """Begin a history."""
        return cls(settings, cls.schema.empty_table())

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The studies."""
        return list(self.table.to_pylist())

    @property
    def facts(self) -> dict[str, Any]:
        """JSON-ready values: what was asked and came out; rows without what only the history itself reads."""
        kept = [
            column.name
            for column in self.schema
            if not pa.types.is_nested(column.type) and not pa.types.is_binary(column.type)
        ]
        rows = [{name: _plain(value) for name, value in row.items()} for row in self.table.select(kept).to_pylist()]
        return {"settings": self.settings.as_dict(), "outcome": self.outcome, "added": [*map(_plain, self.added)],
                "waiting": self.waiting, "corrected": [*self.corrected], self.rows_are: rows}  # fmt: skip

    @staticmethod
    @abstractmethod
    def watched_text(question: Question) -> str:
        """The text of what is watched; an `InputError` where studies of this kind bound no such thing."""

    @staticmethod
    @abstractmethod
    def read_study(day: date | None, folder: str) -> WatchedStudy:
        """Read a study; `day` is what stands before its folder."""

    @property
    @abstractmethod
    def delta(self) -> float:
        """The error that the bounds of all studies have together."""

    @property
    def outcome(self) -> Outcome | None:
        """Outcome proven against the condition; "waiting" where the call ended at a study whose labels are not all in.

        What is proven to fail, fails whatever else is awaited.
        """
        return "waiting" if self.waiting and self.proven != "fail" else self.proven

    @property
    @abstractmethod
    def proven(self) -> Outcome | None:
        """Give what the studies that the history has prove; None where there is no condition, and no fall.

        Of days, "fail": the mean since the last change is proven to be below the precision to keep, or so is a day that
        the call added, or the call named a fall; "pass": no such thing, and the mean is proven to be at least that. Of
        comparisons, "fail": of one that the call was given it is proven that it does not meet the condition; "pass": of
        all that they do. Else "inconclusive".
        """

    @abstractmethod
    def place(self, new: WatchedStudy) -> int | None:
        """The row of a study, from 0, None where there is none yet; a `StudyError` where it cannot have one."""

    @abstractmethod
    def row_name(self, row: Mapping[str, Any]) -> str:
        """Say how a row is called in messages."""

    def with_study(self, at: int, new: Entry) -> History:
        """Append a study, or put it in the place that it has."""
        rows = self.rows
        row = dict.fromkeys(self.schema.names) | {"number": at + 1} | new.as_row()
        rows[at : at + 1] = [{name: row[name] for name in self.schema.names}]
        return replace(self, table=pa.Table.from_pylist(rows, self.schema), added=(*self.added, row[self.key]))

    @abstractmethod
    def with_call(self, before: History, studies: Sequence[WatchedStudy]) -> History:
        """With what one call did, which found the history as it was before, and was given some studies."""

    def writer(self) -> atomic.Writer:
        """Writer of history.parquet."""
        return atomic.parquet(self.table, {"history": self.settings.as_dict(), "file": None})


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, date) else value


def read_history(path: Path, class_of: Callable[[str], type[History]]) -> History | None:
    """Read a history; None where there is none yet.

    Args:
        class_of: Gives the class for a kind of study; a `StudyError` where there is no such kind.

    Raises:
        StudyError: A file that is no history, or was changed since.
    """
    try:
        file = read_table(path, _HINT, study=pa.string(), plan_id=pa.string(), evaluation_id=pa.string())
    except FileNotFoundError:
        return None
    facts = file.facts.get("history", {})
    if "measure" in facts:
        settings = Settings(**facts)
        history = class_of(settings.kind)
        if file.table.schema == history.schema:
            return history(settings, file.table)
    raise StudyError(f"{path}: is no history of studies that this version writes", _HINT)
