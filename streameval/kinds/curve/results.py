"""Results of one ranking: its curve, what follows from it, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from streameval.curve.bounds import Bounds
from streameval.kinds.curve import measures, says
from streameval.kinds.results import Decision, StudyResult
from streameval.questions import Question
from streameval.questions.cutoffs import Cutoff
from streameval.reporting.next_step import way_out
from streameval.reporting.standing import Standing
from streameval.reporting.text import NextStep, Paragraph, Text
from streameval.slices.files import SLICES, SliceResult
from streameval.study import Study
from streameval.study.results import COUNTED, FROM_VOTES, Evaluation, file_names, read_evaluation
from streameval.types import Plan

if TYPE_CHECKING:
    import pyarrow as pa

    from streameval.kinds.curve.page import ReportedStudy
    from streameval.study.cut_files import Cut
    from streameval.study.database.writer import Database


@dataclass(frozen=True, repr=False)
class CurveResult(Evaluation, StudyResult):
    """A curve, and what follows from it."""

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation) -> Self:
        """Make it of its tables."""
        return cls(**{field.name: getattr(evaluation, field.name) for field in fields(evaluation)})

    @classmethod
    def files(cls, plan: Plan | None) -> list[str]:
        """Names of their files; of slices too, where the plan has any."""
        return file_names([*(SLICES if plan is not None and plan.slices else ()), *FROM_VOTES, *COUNTED])

    @classmethod
    def read(cls, folder: Path, summary: Mapping[str, Any]) -> Self:
        """Read the curve, and what follows from it."""
        return cls.from_evaluation(read_evaluation(folder, summary))

    def slice(self, name: str) -> SliceOfCurve:
        """Give the results of a slice; an `InputError` where there is none."""
        return SliceOfCurve(**vars(super().slice(name)), slices=len(self.slices))

    def text(self, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say what is proven, at which cost, and what to know of it."""
        return says.text(self, plan, study)

    def lines(self, study: Path) -> list[Paragraph]:
        """Lay out for a terminal the verdict, what became of the labels, and the main figures."""
        return says.lines(study, self)

    def facts(self, study: Path) -> dict[str, Any]:
        """Give the summary, precision at cutoffs, and the command to run next."""
        return says.facts(study, self)

    def page(self, name: str, plan: Plan | None, title: str | None = None) -> str:
        """Draw the curve, the metrics and the account of labels."""
        from streameval.kinds.curve.page import ReportedStudy

        return ReportedStudy(name, plan, self).page(title=title)

    def for_report(self, name: str, plan: Plan | None, items: pa.Table | None) -> ReportedStudy:
        """Give the curve, and what belongs to it."""
        from streameval.kinds.curve.page import ReportedStudy

        return ReportedStudy(name, plan, self, items)

    def database(self, folder: Study, plan: Plan | None) -> Database:
        """Make tables and macros of the curve."""
        from streameval.kinds.curve.database import database_of

        return database_of(folder, plan, self)

    def measures(self) -> tuple[str, ...]:
        """Say what can be asked for, as it is written; K stands for any number of items."""
        return measures.measure_names(self)

    def main_measures(self) -> list[str]:
        """None: the verdict says what is proven of a curve."""
        return []

    def bounds(self, question: Question) -> Bounds:
        """Bounds on a measure of the list."""
        return measures.answer(self, question)

    def decide(self, question: Question, bounds: Bounds) -> Decision:
        """Say what the bounds decide, and about how many labels would."""
        by_bounds = super().decide(question, bounds)
        if by_bounds.outcome != "inconclusive" or not self.labels.rank.size:
            return by_bounds
        return Decision("inconclusive", *measures.labels_needed(bounds, float(question.condition.value), self))

    def promise(self) -> str:
        """Say what the bounds promise, and under which assumption."""
        return _promise(self)

    def describe_standing(self, study: str, name: str, plan: Plan | None, subject: str) -> Standing:
        """Say where a study with these results stands; while labels are missing, so far."""
        return says.with_misses(says.so_far(super().describe_standing(study, name, plan, subject)), self)

    def to_decide(self, folder: Study, labels: int, why: str) -> NextStep:
        """Choose what narrows the bounds; where they prove nothing, what leads to bounds that do."""
        if self.curve.proves:
            return super().to_decide(folder, labels, why)
        return way_out(folder.plan(), self.summary, str(folder.folder))

    def suggest_question(
        self, folder: Study, estimates: Mapping[Question, float], most: int | None
    ) -> tuple[NextStep, int]:
        """The command that asks open conditions as a question, with as few labels as it takes."""
        from streameval.kinds.question.cost import suggest_question

        return suggest_question(folder, self, estimates, most)

    def cut(self, folder: Study, target: Cutoff, ranking: object, options: Mapping[str, Any]) -> Cut:
        """Give the items above a cutoff that the curve proves."""
        from streameval.kinds.curve.cut import proven

        return proven(folder, self, target, ranking, options)


@dataclass(frozen=True, repr=False)
class SliceOfCurve(SliceResult):
    """A slice of a list: its curve, and what is said of it.

    Attributes:
        slices: How many slices the list has.
    """

    slices: int = 1

    def bounds(self, question: Question) -> Bounds:
        """Bounds on a measure of the slice."""
        return measures.answer(self, question)

    def promise(self) -> str:
        """Say what the bounds promise, under which assumption, and what those of all slices promise together."""
        surer = self.claim.confidence
        if surer is None or self.slices == 1:
            return _promise(self)
        together = 100 * (1 - self.slices * (1 - surer))  # `streameval.slices.pool.slice_confidence`
        return f"{_promise(self)} The bounds of all {self.slices} slices hold together with {together:.6g} %."


def _promise(result: Evaluation | SliceResult) -> str:
    return f"{result.claim.promise} {result.claim.caution}".rstrip()
