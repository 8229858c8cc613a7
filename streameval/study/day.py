"""The study of one day, as a history takes it: what it asks, what was drawn, and what its labels say of a cutoff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.bounds import Bounds
from streameval.curve.runs import STAKES
from streameval.errors import StudyError
from streameval.methods import Multiplies, method_of
from streameval.questions.cutoffs import Cutoff
from streameval.study.history import Settings
from streameval.study.judging import at_confidence, curve_of
from streameval.study.planned_ranking import counted_at
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

    def after(self, row: Mapping[str, Any]) -> Day:
        """The day in the place of one with fewer labels; a `StudyError` where these do not explain the difference."""
        if not self._extends(row):
            raise StudyError(
                f"{self.study}: its bounds are not within those that the history has for {self.day}",
                "judge its labels as they were judged then, or begin a new history of all studies: --out FILE",
            )
        return self

    def _extends(self, row: Mapping[str, Any]) -> bool:
        """Whether its bounds lie within those of a row, and its evidence is no smaller: see `streameval.curve.runs`."""
        if (row["positives"] is None) != (self.evidence is None):
            return False
        old = [np.array(row[side]) for side in ("positives", "negatives")] if self.evidence is not None else []
        both = zip(self.evidence or (), old, strict=True)
        grows = all(np.all(new >= one - 1e-6 * (1 + abs(one))) for new, one in both)
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
        """What has to be the same for two days to be compared."""
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

    def at(self, settings: Settings, error: float) -> Day:
        """What the labels say of the items above the cutoff; the level holds with probability 1 - error."""
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
