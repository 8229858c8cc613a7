"""One ranking, some of whose ranks are labelled: a curve with bounds at every rank, and what follows from it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.judges.options import JudgeColumn
from streameval.kinds import Kind
from streameval.labelling.options import Judging, LabelColumns, Misses, ReuseOptions
from streameval.reporting.text import Columns, Paragraph

if TYPE_CHECKING:
    from streameval.curve.bounds import Bounds
    from streameval.questions import Question
    from streameval.reporting.next_step import NextStep
    from streameval.reporting.text import Standing, Text
    from streameval.slices.files import SliceResult
    from streameval.stores.atomic import Existing
    from streameval.study import Study
    from streameval.study.comparison import Comparison
    from streameval.study.database.writer import Database
    from streameval.study.days import DayHistory
    from streameval.study.progress import LabellingProgress
    from streameval.study.result_files import Evaluation
    from streameval.types import Claim, Plan


class OneRanking(Kind):
    """Bounds on the yield of one ranking."""

    name = "curve"
    about = "a study of a curve"
    answers = (*Kind.answers, "compare", "cut", "extrapolate", "grow", "judge", "monitor")
    asked_by: ClassVar = {"plan": ""}
    options: ClassVar = {"evaluate": (LabelColumns, Judging, Misses)}

    def accepts(self, verb: str) -> set[str]:
        """Names of the options of a verb; a plan takes those of every method too, and may have a judge."""
        if verb not in self.asked_by:
            return super().accepts(verb)
        from streameval.methods import parameters_of_any

        options = (one.name for kind in (JudgeColumn, ReuseOptions) for one in fields(kind))
        return {"method", "by", *options, *parameters_of_any()}

    def plan(
        self, ranking: Any, study: str | os.PathLike[str], given: Mapping[str, Any], seed: int | None, *how: Any
    ) -> Plan:
        """Choose the ranks to label."""
        from streameval.kinds.curve.plan import planned

        self.refuse_others("plan", given)
        return planned(ranking, study, given, seed, *how)

    def files(self, plan: Plan | None) -> list[str]:
        """Names of the files of its results; of slices too, where the plan has any."""
        from streameval.slices.files import SLICES
        from streameval.study.result_files import COUNTED, FROM_VOTES
        from streameval.study.results import file_names

        return file_names([*(SLICES if plan is not None and plan.slices else ()), *FROM_VOTES, *COUNTED])

    def read(self, folder: Study) -> Evaluation:
        """Read the curve, and what follows from it."""
        return folder.evaluation()

    def evaluate(self, folder: Study, labels: Sequence[Any], given: Mapping[str, Any]) -> Evaluation:
        """Turn labels into the curve, and write every result."""
        from streameval.kinds.curve.evaluate import evaluated

        plan, evaluation = evaluated(folder, labels, self.asked("evaluate", given))
        self.save(folder, plan, evaluation)
        return evaluation

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
        from streameval.reporting.page import render

        return render(name, plan, found, title)

    def database(self, folder: Study, plan: Plan | None, found: Evaluation) -> Database:
        """Make tables and macros of the curve."""
        from streameval.kinds.curve.database import database_of

        return database_of(folder, plan, found)

    def answer(self, found: Evaluation | SliceResult, question: Question) -> Bounds:
        """Bounds on a measure of the list, or of a slice of it."""
        from streameval.study.answers.curve import answer

        return answer(found, question)

    def measures(self, found: Evaluation | SliceResult) -> tuple[str, ...]:
        """What can be asked for, as it is written; K stands for any number of items."""
        from streameval.study.answers.curve import written

        return written(found)

    def main_measures(self, found: Evaluation) -> list[str]:
        """None: the verdict says what is proven of a curve."""
        return []

    def claim(self, found: Evaluation | SliceResult) -> Claim:
        """What the bounds promise."""
        return found.curve.claim

    def promise(self, found: Evaluation | SliceResult) -> str:
        """Say what the bounds promise, and under which assumption."""
        from streameval.reporting.sentences import promise

        return f"{promise(self.claim(found))}. {self.claim(found).caution}".rstrip()

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

    def difference(self, a: Path, b: Path, confidence: float) -> Comparison:
        """Compare two curves."""
        from streameval.kinds.curve.difference import compared

        return compared(a, b, confidence)

    def difference_says(self, found: Comparison) -> tuple[dict[str, Any], list[Paragraph]]:
        """Say which side is higher, and the difference of the main metrics."""
        from streameval.kinds.curve.difference import difference_says

        return difference_says(found)

    def save_difference(self, found: Comparison, out: Path | None, plot: Path | None, existing: Existing) -> None:
        """Write curves and differences, and their picture."""
        from streameval.reporting.comparison import save_comparison

        save_comparison(found, out, plot, existing)

    def history(self) -> type[DayHistory]:
        """Days, in which a change is named when it is established."""
        from streameval.study.days import DayHistory

        return DayHistory

    def history_says(self, found: DayHistory, most: int) -> tuple[Columns, list[str]]:
        """Say what each day came to, which changes there were, and how the mean stands."""
        from streameval.reporting.history import COLUMNS, cells, news, sentences

        return Columns(COLUMNS, cells(found, most)), [*sentences(found), *news(found)]

    def history_page(self, found: DayHistory) -> str:
        """Draw the days."""
        from streameval.reporting.history import render

        return render(found)


KIND = OneRanking()
