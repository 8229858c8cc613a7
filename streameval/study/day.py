"""The study of one day, as a history takes it: what it asks, what was drawn, and what its labels say of a cutoff."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from streameval.curve.bounds import Bounds
from streameval.curve.runs import STAKES
from streameval.errors import StudyError
from streameval.methods import Multiplies, method_of
from streameval.study.history import ContradictedBy, Day
from streameval.study.judging import at_confidence, curve_of
from streameval.study.result_files import Evaluation
from streameval.types import TRUTH, Plan
from streameval.typing import FloatArray


@dataclass(frozen=True)
class DayStudy:
    """A study and its day.

    Attributes:
        day: The day.
        folder: Of the study, as given.
    """

    day: date
    folder: str
    plan: Plan
    evaluation: Evaluation

    @property
    def seed(self) -> str | None:
        """Seed of the draw; None where no chance is left, or versions share a draw by key and are not pooled."""
        exact = self.evaluation.curve.claim.coverage == "exact"
        return None if exact or self.plan.draw_by else str(self.plan.seed)

    @property
    def question(self) -> dict[str, Any]:
        """What has to be the same for two days to be compared."""
        summary, ranking = self.evaluation.summary, self.plan.ranking
        ranked = {"score": ranking.get("score"), "ascending": bool(ranking.get("ascending", False))}
        judged = {key: summary.get(key) for key in ("vote", "prefer", "label_error", "assume")}
        return {**ranked, **judged, "about": TRUTH if self.evaluation.curve.claim.about == TRUTH else "answers"}

    def refuse_without_probability(self) -> None:
        """Raise a `StudyError` where bounds promise nothing, or what they promise is no matter of chance."""
        coverage, hint = self.evaluation.curve.claim.coverage, "give studies whose draw bounds the precision"
        if coverage == "none":
            raise StudyError(f"{self.folder}: its bounds promise nothing", hint)
        if coverage == "conditional":
            raise StudyError(f"{self.folder}: its bounds hold on a condition, and with no probability", hint)

    def at(self, rank: int, delta: float) -> Day:
        """What the labels say of the first `rank` items; the level holds with probability 1 - delta."""
        plan, evaluation = self.plan, self.evaluation
        level = self._level(rank, 1 - delta)
        contradiction: ContradictedBy | None = None if evaluation.curve.envelope.consistent else "study"
        if level is None:
            contradiction, level = "day", Bounds(0.0, evaluation.curve.precision_at(rank).estimate, 1.0)
        return Day(self.day, self.folder, plan.plan_id, evaluation.evaluation_id, self.seed, plan.n_items, rank,
                   evaluation.labels.label, level, contradiction, self._evidence(rank))  # fmt: skip

    def _level(self, rank: int, confidence: float) -> Bounds | None:
        """Bounds on precision with another confidence, and the estimate; None where they contradict themselves."""
        error = float(self.evaluation.summary["label_error"])
        curve = curve_of(at_confidence(self.plan, confidence), self.evaluation.labels, error)
        if not curve.envelope.consistent:
            return None
        lower, _, upper = curve.precision_at(rank)
        return Bounds.of(lower, upper, self.evaluation.curve.precision_at(rank).estimate)

    def _evidence(self, rank: int) -> tuple[FloatArray, FloatArray] | None:
        """S of `streameval.curve.runs`; None where the method has none, labels may be wrong, or draws share keys."""
        method = method_of(self.plan)
        if self.evaluation.summary["label_error"] or self.plan.draw_by or not isinstance(method, Multiplies):
            return None
        return method.evidence_at(self.plan, self.evaluation.labels, rank, STAKES / rank)
