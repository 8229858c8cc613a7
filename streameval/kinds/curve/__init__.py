"""One ranking, some of whose ranks are labelled: a curve with bounds at every rank, and what follows from it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.judges.options import JudgeColumn
from streameval.kinds import Decision, Kind, Planned
from streameval.labelling.options import Judging, LabelColumns, Misses, ReuseOptions

if TYPE_CHECKING:
    from streameval.curve.bounds import Bounds
    from streameval.kinds.curve.page import ReportedStudy
    from streameval.kinds.planning import Drawn, PlanRequest
    from streameval.kinds.tasks import PlannedTasks
    from streameval.questions import Question
    from streameval.questions.cutoffs import Cutoff
    from streameval.rankings.ranking import Ranking
    from streameval.rehearsal import Rehearsal
    from streameval.reporting.standing import Standing
    from streameval.reporting.text import NextStep, Paragraph, Text
    from streameval.slices.files import SliceResult
    from streameval.study import Study
    from streameval.study.cut_files import Cut
    from streameval.study.database.writer import Database
    from streameval.study.progress import LabellingProgress
    from streameval.study.results import Evaluation
    from streameval.types import Plan


_COST_NOTES = (
    "Half-widths are relative to precision. A forecast (~) depends on labels not yet seen: it is for lists that keep",
    "--min-precision. conditional: true only where the PAULA paper's assumptions are; simultaneous: at every rank at",
    "once with probability --confidence, whatever the list.",
)


class OneRanking(Kind):
    """Bounds on the yield of one ranking."""

    name = "curve"
    about = "a study of a curve"
    answers = (*Kind.answers, "compare", "cut", "extrapolate", "grow", "judge", "monitor")
    asked_by: ClassVar = {"plan": "", "cost": ""}
    options: ClassVar = {"evaluate": (LabelColumns, Judging, Misses)}
    compared_in = "streameval.kinds.curve.comparison_page"
    watched_in = "streameval.kinds.curve.history_page"

    def accepts(self, verb: str) -> set[str]:
        """Names of the options of a verb; a plan takes those of every method too, and may have a judge."""
        if verb != "plan" or verb not in self.asked_by:
            return super().accepts(verb)
        from streameval.methods import parameters_of_any

        options = (one.name for kind in (JudgeColumn, ReuseOptions) for one in fields(kind))
        return {"method", "by", *options, *parameters_of_any()}

    def asked(self, verb: str, given: Mapping[str, Any]) -> list[Any]:
        """Make the options of a verb; those of a plan are made with the method that has them."""
        if verb != "plan":
            return super().asked(verb, given)
        self._refuse_others(verb, given)
        return [dict(given)]

    def draw(self, ranking: Any, asked: Sequence[Any], request: PlanRequest) -> Drawn:
        """Choose the ranks to label."""
        from streameval.kinds.curve.plan import draw_ranks

        return draw_ranks(ranking, asked[0], request)

    def costs(self, n_items: int, ranking: Ranking | None, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Say what each method costs."""
        from streameval.kinds.curve.cost import costs

        self._refuse_others("plan", given)
        return costs(n_items, given)

    def cost_notes(self, given: Mapping[str, Any]) -> Sequence[str]:
        """Say what half-widths and claims are."""
        return _COST_NOTES

    def rehearsal(
        self, ranking: Sequence[str], study: Study, given: Mapping[str, Any], seed: int | None, *how: Any
    ) -> Rehearsal:
        """Say what `select` would read for a plan, and how many of its items have a label already."""
        from streameval.kinds.curve.planned import rehearsal

        self._refuse_others("plan", given)
        return rehearsal(ranking, study, dict(given), seed, *how)

    def planned_says(self, planned: Planned) -> tuple[dict[str, Any], list[str]]:
        """Say what was planned."""
        from streameval.kinds.curve.planned import planned_says

        return planned_says(planned)

    def files(self, plan: Plan | None) -> list[str]:
        """Names of the files of its results; of slices too, where the plan has any."""
        from streameval.slices.files import SLICES
        from streameval.study.results import COUNTED, FROM_VOTES, file_names

        return file_names([*(SLICES if plan is not None and plan.slices else ()), *FROM_VOTES, *COUNTED])

    def read(self, folder: Study) -> Evaluation:
        """Read the curve, and what follows from it."""
        from streameval.kinds.curve.results import CurveResult

        return CurveResult.of(folder.evaluation())

    def evaluate(self, folder: Study, labels: Sequence[Any], given: Mapping[str, Any]) -> Evaluation:
        """Turn labels into the curve, and write every result."""
        from streameval.kinds.curve.evaluate import evaluated
        from streameval.kinds.curve.results import CurveResult

        plan, evaluation = evaluated(folder, labels, self.asked("evaluate", given))
        result = CurveResult.of(evaluation)
        self.save(folder, plan, result)
        return result

    @property
    def tasks(self) -> PlannedTasks:
        """Give them with the scores that the curve shows."""
        from streameval.kinds.curve.tasks import RankTasks

        return RankTasks()

    def progress(self, folder: Study) -> LabellingProgress:
        """Say how far the labelling has come, and which half-width that gives."""
        from streameval.kinds.curve.evaluate import width_by_now
        from streameval.study.progress import progress_of

        plan = folder.plan()
        return progress_of(folder, plan, width=lambda *so_far: width_by_now(plan, *so_far))

    def text(self, found: Evaluation, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say what is proven, at which cost, and what to know of it."""
        from streameval.kinds.curve.says import text

        return text(found, plan, study)

    def lines(self, study: Path, found: Evaluation) -> list[Paragraph]:
        """Lay out for a terminal the verdict, what became of the labels, and the main figures."""
        from streameval.kinds.curve.says import lines

        return lines(study, found)

    def facts(self, study: Path, found: Evaluation) -> dict[str, Any]:
        """Give the summary, precision at cutoffs, and the command to run next."""
        from streameval.kinds.curve.says import facts

        return facts(study, found)

    def page(self, name: str, plan: Plan | None, found: Evaluation, title: str | None = None) -> str:
        """Draw the curve, the metrics and the account of labels."""
        from streameval.kinds.curve.page import ReportedStudy

        return ReportedStudy(name, plan, found).page(title=title)

    def reported(
        self, study: str | os.PathLike[str], plan: Plan | None, found: Evaluation, items: Any
    ) -> ReportedStudy:
        """Give the curve, and what belongs to it."""
        from streameval.kinds.curve.page import ReportedStudy

        return ReportedStudy(Path(study).resolve().name, plan, found, items)

    def database(self, folder: Study, plan: Plan | None, found: Evaluation) -> Database:
        """Make tables and macros of the curve."""
        from streameval.kinds.curve.database import database_of

        return database_of(folder, plan, found)

    def answer(self, found: Evaluation | SliceResult, question: Question) -> Bounds:
        """Bounds on a measure of the list, or of a slice of it."""
        from streameval.kinds.curve.measures import answer

        return answer(found, question)

    def measures(self, found: Evaluation | SliceResult) -> tuple[str, ...]:
        """What can be asked for, as it is written; K stands for any number of items."""
        from streameval.kinds.curve.measures import written

        return written(found)

    def main_measures(self, found: Evaluation) -> list[str]:
        """None: the verdict says what is proven of a curve."""
        return []

    def decided(self, found: Evaluation, question: Question, bounds: Bounds) -> Decision:
        """Say what the bounds decide, and about how many labels would."""
        from streameval.kinds.curve.measures import labels_needed

        by_bounds = super().decided(found, question, bounds)
        if by_bounds.outcome != "inconclusive" or not found.labels.rank.size:
            return by_bounds
        return Decision("inconclusive", *labels_needed(bounds, float(question.condition.value), found))

    def standard_errors(self, found: Evaluation, questions: Sequence[Question]) -> dict[str, float | None]:
        """Give those of precision at cutoffs that are ranks."""
        from streameval.kinds.curve.measures import standard_errors

        return standard_errors(found, questions)

    def promise(self, found: Evaluation | SliceResult) -> str:
        """Say what the bounds promise, and under which assumption."""
        from streameval.reporting.sentences import promise

        return f"{promise(found.claim)}. {found.claim.caution}".rstrip()

    def standing(self, study: str, name: str, plan: Plan | None, found: Evaluation) -> Standing:
        """Say where a study with results stands; while labels are missing, so far."""
        from streameval.kinds.curve.says import so_far

        return so_far(super().standing(study, name, plan, found))

    def to_decide(self, folder: Study, found: Evaluation, labels: int, why: str) -> NextStep:
        """Choose what narrows the bounds; where they prove nothing, what leads to bounds that do."""
        from streameval.reporting.next_step import way_out

        if found.curve.proves:
            return super().to_decide(folder, found, labels, why)
        return way_out(folder.plan(), found.summary, str(folder.folder))

    def alone(
        self, folder: Study, found: Evaluation, estimates: Mapping[Question, float], most: int | None
    ) -> tuple[NextStep, int]:
        """The command that asks open conditions as a question, with as few labels as it takes."""
        from streameval.kinds.question.cost import offered

        return offered(folder, found, estimates, most)

    def cut(self, folder: Study, target: Cutoff, ranking: Any, options: Mapping[str, Any]) -> Cut:
        """Give the items above a cutoff that the curve proves."""
        from streameval.kinds.curve.cut import proven

        return proven(folder, target, ranking, options)


KIND = OneRanking()
