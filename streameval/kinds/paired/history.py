"""The history of challengers: studies of two rankings, one after another, whose bounds hold together.

Theorem.  With probability at least 1 − δ the bounds of all studies of a history hold at once, at all that each was
planned for, however many studies come and whatever each was made from.

Proof.  Study i is bounded with the error δ_i = δ/(i(i + 1)) of its place, shared among its cutoffs as its plan
says, by the bounds of `streameval.paired`: these hold at any error that its labels have not decided, so that its
draw, which is a fresh one given all studies before it, misses with probability at most δ_i. The δ_i sum to less than
δ, so that all hold at once. ∎

Labels that come late.  A label that is missing counts as what is worst for each bound: where the exact limits from all
labels of a study hold, so do those from some of them, whenever one looked. So the narrower of both is kept when more
come, and no δ is spent on that.

So both rankings, their cutoffs and the plan may follow from the labels of earlier studies. A measure may be chosen late
among those that were planned, as they share the error of their study. What must not depend on a study's labels is
whether the history gets it, and in which place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, cast

import pyarrow as pa

from streameval.curve.bounds import Bounds
from streameval.errors import InputError, StudyError
from streameval.kinds import results_of
from streameval.kinds.paired.evaluate import DIFFERENCES, difference_rows, metrics_of
from streameval.kinds.paired.results import PairedResult
from streameval.kinds.side_by_side import Watched
from streameval.questions import Condition, Outcome, Question, Width
from streameval.study import Study
from streameval.study.history import Entry, History, Settings, WatchedStudy
from streameval.types import TRUTH, Plan
from streameval.typing import Int8Array

FORM = "give a measure: gain@10000 or precision_gain@10000, perhaps with a condition, as gain@10000 > 0"
SCHEMA: pa.Schema = pa.schema(
    [
        ("number", pa.int64()),
        *((name, pa.string()) for name in ("study", "plan_id", "evaluation_id", "seed", "b", "a")),
        ("labels", pa.int64()),
        ("missing", pa.int64()),
        *((name, pa.float64()) for name in ("error", "lower", "estimate", "upper")),
        ("outcome", pa.string()),
        ("counted", pa.binary()),
    ]
)


@dataclass(frozen=True)
class Compared:
    """Comparison of two rankings by one study, in its place in a history.

    Attributes:
        study: The study.
        error: Its share.
        bounds: On what is watched.
        condition: What that is held against; None where it is only watched.
    """

    study: ComparedStudy
    error: float
    bounds: Bounds
    condition: Condition | None

    def as_row(self) -> dict[str, Any]:
        """Columns of a history that the study fills in by itself."""
        study, answers = self.study, self.study.answers
        lower, estimate, upper = self.bounds
        missing, names = int((answers < 0).sum()), study.found.summary["names"]
        return {
            "study": study.folder, "plan_id": study.plan.plan_id, "evaluation_id": study.evaluation_id,
            "seed": study.seed, "b": names["b"], "a": names["a"], "labels": answers.size - missing, "missing": missing,
            "error": self.error, "lower": lower, "estimate": None if estimate != estimate else estimate,
            "upper": upper, "outcome": None if self.condition is None else self.condition.outcome(lower, upper),
            "counted": answers.tobytes(),
        }  # fmt: skip

    def replacing(self, row: Mapping[str, Any]) -> Compared:
        """Intersect with the previous bounds, and keep the new ones where both are disjoint.

        The bounds from all labels lie within those from some, but for the steps in which limits are searched.
        """
        lower, upper = max(self.bounds.lower, row["lower"]), min(self.bounds.upper, row["upper"])
        return replace(self, bounds=Bounds.of(lower, upper, self.bounds.estimate)) if lower <= upper else self


@dataclass(frozen=True)
class ComparedStudy:
    """An evaluated study of two rankings.

    Attributes:
        folder: Of the study, as given.
        found: Its results.
    """

    folder: str
    plan: Plan
    found: PairedResult

    @property
    def evaluation_id(self) -> str:
        """Of its results."""
        return self.found.evaluation_id

    @cached_property
    def answers(self) -> Int8Array:
        """Labels that count."""
        answers: Int8Array = self.found.tables["labels"].column("label").fill_null(-1).to_numpy()
        return answers

    @property
    def seed(self) -> str | None:
        """Seed of the draw; None where every item that changed is to be labelled."""
        return None if set(self.plan.notes["probability"]) <= {0.0, 1.0} else str(self.plan.seed)

    @property
    def question(self) -> dict[str, Any]:
        """Facts that two studies of one history must share: what an item is, and what makes one positive.

        A and B need not be: each study is about its own two rankings.
        """
        summary = self.found.summary
        about = TRUTH if summary["claim"]["about"] == TRUTH else "answers"
        return {"key": self.plan.notes["draw_by"], **{name: summary.get(name) for name in ("vote", "prefer")},
                "about": about}  # fmt: skip

    def refuse_without_probability(self) -> None:
        """Raise a `StudyError` where labels count that the same seed drew before: only there bounds promise nothing."""
        if "labels_seen_by_model" in self.plan.notes and self.seed is not None:
            raise StudyError(
                f"{self.folder}: counts labels that its seed drew before, so its draw is not a fresh one",
                "plan it into another folder with --reuse and no --seed: they are counted exactly",
            )

    def estimate(self, settings: Settings, error: float) -> Compared:
        """Give what its labels say of what is watched; all that was planned holds with probability 1 - error."""
        surer = replace(self.plan, parameters={**self.plan.parameters, "confidence": 1 - error})
        rows = difference_rows(surer, self.answers)
        metrics = metrics_of(rows, "simultaneous")
        watched, differences = settings.watched, pa.Table.from_pylist(rows, DIFFERENCES)
        bounds = replace(self.found, tables={"metrics": metrics, "differences": differences}).bounds(watched)
        return Compared(self, error, bounds, watched.demand if isinstance(watched.demand, Condition) else None)


@dataclass(frozen=True, repr=False)
class ComparisonHistory(Watched):
    """Comparisons in the order in which they came.

    Attributes:
        given: Numbers of the studies that were given in the call which returned the history.
    """

    schema: ClassVar[pa.Schema] = SCHEMA
    rows_are: ClassVar[str] = "comparisons"
    key: ClassVar[str] = "number"
    form: ClassVar[str] = FORM

    given: tuple[int, ...] = ()

    @staticmethod
    def watched_text(question: Question) -> str:
        """The text of a measure of two rankings, perhaps with a condition."""
        _ = question.cutoff  # one at most
        if not question.metric.endswith("gain"):
            raise InputError(f"{question.measure} is of one ranking, and these are studies of two", FORM)
        if isinstance(question.demand, Width):
            raise InputError(f"{question}: how wide bounds may be is asked when a study is planned", FORM)
        return str(question)

    @staticmethod
    def read_study(day: date | None, folder: str) -> ComparedStudy:
        """Read a study."""
        if day is not None:
            raise InputError(f"{folder}: a study of two rankings has a place and no day",
                             f"give its folder alone, in its order: {folder}")  # fmt: skip
        study = Study(Path(folder))
        return ComparedStudy(folder, study.plan(), cast(PairedResult, results_of(study)))

    @property
    def delta(self) -> float:
        """All of δ: nothing but the bounds of single studies is claimed."""
        return 1 - self.settings.confidence

    @property
    def proven(self) -> Outcome | None:
        """Give what is proven of the studies that were given.

        "fail": of one of them, that it does not meet the condition. "pass": of all, that they do. Else "inconclusive";
        None where there is no condition.
        """
        if self.settings.watched.demand is None:
            return None
        outcomes = [row["outcome"] for row in self.rows if row["number"] in self.given]
        return "fail" if "fail" in outcomes else "pass" if {*outcomes} == {"pass"} else "inconclusive"

    @property
    def facts(self) -> dict[str, Any]:
        """JSON-ready values, with the studies that were given."""
        return {**super().facts, "given": [*self.given]}

    def place(self, new: WatchedStudy) -> int | None:
        """The row of a plan."""
        return next((at for at, row in enumerate(self.rows) if row["plan_id"] == new.plan.plan_id), None)

    def row_name(self, row: Mapping[str, Any]) -> str:
        """The study."""
        return str(row["study"])

    def with_call(self, before: History, new_studies: Sequence[WatchedStudy]) -> ComparisonHistory:
        """With the numbers of the studies that were given."""
        places = {at for study in new_studies if (at := self.place(study)) is not None}
        return replace(self, given=tuple(at + 1 for at in sorted(places)))

    def with_study(self, at: int, new: Entry) -> ComparisonHistory:
        """Append a study, or put it in the place that it has."""
        return cast(ComparisonHistory, super().with_study(at, new))
