"""Results of a study of any kind, which say what they prove: measures and conditions, sentences, a page, SQL tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

from streameval.curve import Basis
from streameval.curve.bounds import Bounds
from streameval.errors import InputError, StreamevalError, did_you_mean
from streameval.questions import Against, Outcome, Question
from streameval.questions.cutoffs import Cutoff
from streameval.questions.printed import SHORT, measure_of
from streameval.reporting.shows_itself import ShowsItself
from streameval.reporting.text import Paragraph, Text, next_line
from streameval.stores import atomic
from streameval.study import Study
from streameval.study.results import EVALUATE, Result, file_names, read_tables, writers
from streameval.types import Claim, Plan

if TYPE_CHECKING:
    import pyarrow as pa

    from streameval.kinds.curve.calibration import Calibration
    from streameval.kinds.curve.page import ReportedStudy
    from streameval.reporting.standing import Standing
    from streameval.reporting.text import NextStep
    from streameval.study.cut_files import Cut
    from streameval.study.database.writer import Database


class Decision(NamedTuple):
    """Outcome of a condition, and forecast of the labels that would decide it."""

    outcome: Outcome
    labels: int | None
    decides: str


class HeldAgainst(NamedTuple):
    """Difference of a metric from that of another result, and what it says of a condition.

    Attributes:
        lower, upper: Of the two lists; they differ where tied items leave it open.
        low, high: Of what both are samples of, approximately; NaN where they are none, or there is no interval.
        claim: What the outcome follows from, for JSON.
        sentences: The same for people, and what to know of it.
        no_interval: Why a sample has none; else empty.
    """

    lower: float
    upper: float
    low: float
    high: float
    outcome: Outcome
    claim: str
    sentences: tuple[str, ...]
    no_interval: str = ""

    @staticmethod
    def of_samples(
        question: Question, bounds: tuple[float, float], interval: tuple[float, float], claim: str,
        sentences: Sequence[str], no_interval: str | None,
    ) -> HeldAgainst:  # fmt: skip
        """Decide by the interval of a difference; where there is none, nothing is decided.

        Args:
            question: With `questions.Against`.
            bounds: Of the difference of the two lists.
            sentences: For people; empty ones are left out.
        """
        outcome: Outcome = "inconclusive"
        if isinstance(question.demand, Against):
            outcome = question.demand.of_difference.outcome(*interval)
        why = [f"No interval of {question}: {no_interval}."] if no_interval else []
        texts = tuple(filter(None, [*sentences, *why]))
        return HeldAgainst(*bounds, *interval, outcome, claim, texts, no_interval or "")

    @property
    def of_sample(self) -> bool:
        """Tell whether it is about what lists were drawn from."""
        return bool(self.no_interval) or not math.isnan(self.low)


class BoundedMeasures(Protocol):
    """Results, or those of a part of a list, with bounds on measures."""

    @property
    def claim(self) -> Claim:
        """Give what the bounds promise."""

    @property
    def estimates(self) -> Basis:
        """Give what estimates are made of."""

    def bounds(self, question: Question) -> Bounds:
        """Bounds on a measure, and its estimate."""

    def promise(self) -> str:
        """Say what bounds promise, and under which assumption."""


@dataclass(frozen=True, repr=False)
class StudyResult(ShowsItself, Result):
    """Results that say what they prove; those of a kind that says something else override it.

    Attributes:
        comments: Tables by the name of their file, each with a comment for SQL.
    """

    comments: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def files(cls, plan: Plan | None) -> list[str]:
        """Names of their files, as others best read them."""
        return file_names(cls.comments)

    def written(self, plan: Plan | None) -> list[str]:
        """Names of the files that hold these results."""
        return self.files(plan)

    @classmethod
    def read(cls, folder: Path, summary: Mapping[str, Any]) -> Self:
        """Read what belongs to an evaluation.json.

        Raises:
            FileNotFoundError, StudyError, OutsideError: See `streameval.study.results.read_tables`.
        """
        files = read_tables(folder, summary, cls.comments, EVALUATE, {})
        return cls(str(summary["evaluation_id"]), summary, {name: file.table for name, file in files.items()}, folder)

    def save(self, folder: Study, plan: Plan | None) -> None:
        """Write all files; evaluation.json last."""
        page = self.page(folder.folder.resolve().name, plan)
        database = self.database(folder, plan).write
        atomic.write_all(writers(folder.folder, self.tables, self.summary, page, database))

    def text(self, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say what they prove, what that promises, their main figures, and what to know of them.

        Args:
            plan: None where nothing is to be said of what to run next.
            study: Folder that the next step names.
        """
        from streameval.reporting.text import Columns, Text

        account, sides = self.summary["account"], ["lower", "estimate", "upper"]
        rows = [[measure_of(row["metric"], row["argument"]), *(row[side] for side in sides)]
                for row in self.metrics.to_pylist()]  # fmt: skip
        headline = f"{account['labelled']:,} of {account['planned']:,} labels."
        return Text(headline, "", Columns(["metric", *sides], rows))

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """Give what a terminal shows of them, and what to run next as long as their plan is that of the study."""
        study = self.place or Path("STUDY")
        following = self.text(self._plan(), str(study)).next_step.command
        return [*self.lines(study), *([next_line(following)] if following else [])]

    def _plan(self) -> Plan | None:
        """Read the plan; None where there is none by now, or another one."""
        with suppress(StreamevalError):
            if self.place is not None and Study(self.place).exists:
                plan = Study(self.place).plan()
                return plan if plan.plan_id == self.summary["study"] else None
        return None

    def lines(self, study: Path) -> list[Paragraph]:
        """Lay out for a terminal what they say, and what became of the labels."""
        from streameval.reporting.label_lines import agreement_lines, doubt_lines, label_lines

        text = self.text()
        labels = label_lines(self.tables["issues"], self.summary) if "issues" in self.tables else []
        return [
            text.opening, "", text.table, "",
            *text.remarks, *labels, *agreement_lines(self.summary), *doubt_lines(study, self.summary),
        ]  # fmt: skip

    def facts(self, study: Path) -> dict[str, Any]:
        """Give what `--json` prints: the summary, the metrics, and the command to run next."""
        plan = None if self.summary["study"] is None else Study(study).plan()
        following = self.text(plan, str(study)).next_step.command
        facts = {**self.summary, "metrics": self.metrics.to_pylist()}
        return {**facts, "next": following} if following else facts

    def page(self, name: str, plan: Plan | None, title: str | None = None) -> str:
        """Draw report.html."""
        from streameval.reporting.layout import Section, highlight, study_page

        text = self.text()
        means = Section("Means", table=text.table, remarks=text.remarks)
        return study_page(self, title, (name, f"Rankings of {name}"), [highlight(text.opening)], [means])

    def for_report(self, name: str, plan: Plan | None, items: pa.Table | None) -> ReportedStudy | None:
        """Give them as a page draws several over one another, with items; None where they have no curve.

        Args:
            items: The selected items, where their text is to be shown.
        """
        return None

    def database(self, folder: Study, plan: Plan | None) -> Database:
        """Make study.duckdb."""
        from streameval.study.database.writer import Database, plain_database

        return Database(plain_database(lambda: self.tables, self.comments), self.evaluation_id)

    def measures(self) -> tuple[str, ...]:
        """Names of available measures; K stands for any number of items. By default `map`, `ndcg@10`."""
        return tuple(dict.fromkeys(measure_of(row["metric"], row["argument"]) for row in self.metrics.to_pylist()))

    def main_measures(self) -> list[str]:
        """The measures that `show` names without being asked: those of whole rankings, and at the last cutoff."""
        names = self.measures()
        last = names[-1].partition("@")[2] if names else ""
        return [name for name in names if name.partition("@")[2] in ("", last)]

    def bounds(self, question: Question) -> Bounds:
        """Bounds on a measure, and its estimate; NaN where it is undefined, or labels are missing.

        By default they are looked up in the table of metrics, by a name with `mean_` or without; mean average precision
        is `map` too, its geometric mean `gm_map`, and mean reciprocal rank `mrr`.

        Raises:
            InputError: There is no such measure: names the nearest that there is.
        """
        cutoff = question.cutoff
        metric = question.metric.removeprefix("mean_")
        at_recall = cutoff is not None and (metric, cutoff.kind) == ("precision", "recall")
        if cutoff is not None and cutoff.kind != "rank" and not at_recall:
            raise InputError(f"{question.measure}: rankings are cut after a number of items", "ndcg@10, say")
        name = metric.removesuffix("_at")
        name = SHORT.get(name, name)
        wanted = (name if name == "gm_map" else f"mean_{name}", "")
        if cutoff is not None:
            wanted = f"mean_{name}_at{'_recall' * at_recall}", str(cutoff).removeprefix("recall:").replace(",", "")
        for row in self.metrics.to_pylist():
            if (row["metric"], row["argument"]) == wanted:  # the first are under the rule that was asked for
                return Bounds.of_row(row)
        raise InputError(f"there is no mean of '{question.measure}'",
                         did_you_mean(measure_of(*wanted), self.measures()))  # fmt: skip

    def slice(self, name: str) -> BoundedMeasures:
        """Give the results of a slice; an `InputError` where there is none."""
        raise InputError("these results have no slices", "slices of one ranking are planned with --by COL")

    def calibration(self) -> Calibration:
        """Give the share of positives by score; an `InputError` says why there is none."""
        raise InputError("these results have no calibration", "`streameval exact` by a score in [0, 1] has one")

    def conditions(self) -> tuple[Question, ...]:
        """Give what `check` holds them against where no condition is given."""
        return ()

    def decide(self, question: Question, bounds: Bounds) -> Decision:
        """Say what became of a condition, by default by the bounds on its measure, and which labels may decide it."""
        return Decision(question.condition.outcome(bounds.lower, bounds.upper), None, "")

    def to_decide(self, folder: Study, labels: int, why: str) -> NextStep:
        """Choose the command that leads to labels which may decide what bounds leave open.

        Args:
            labels: How many in all are forecast to; 0 where that cannot be said.
            why: Why nothing can be told of any condition; else empty.
        """
        from streameval.reporting.next_step import more_labels
        from streameval.reporting.text import NOTHING

        if why or not folder.exists:
            return NOTHING
        return more_labels(folder.plan(), self.summary, str(folder.folder), labels)

    def suggest_question(
        self, folder: Study, estimates: Mapping[Question, float], most: int | None
    ) -> tuple[NextStep, int]:
        """Suggest the command that asks undecided conditions as a question, and forecast its labels.

        Args:
            estimates: Of the measure of each condition.
            most: Labels that the study itself would take for the same, in all; None where that cannot be said.
        """
        from streameval.reporting.text import NOTHING

        return NOTHING, 0

    def cut(self, folder: Study, target: Cutoff, ranking: object, options: Mapping[str, Any]) -> Cut:
        """Give the items above a cutoff.

        Args:
            options: Those of `cut` that were given.
        """
        raise NotImplementedError

    def promise(self) -> str:
        """Say what bounds promise, and under which assumption, in sentences that stand by themselves."""
        text = self.text()
        return text.promise or text.headline

    def intervals(self, questions: Sequence[Question]) -> dict[str, tuple[float | None, float | None]]:
        """Give low and high of each measure in the population that a list was drawn from; of no sample there are none.

        They stand beside bounds, which are about the list.
        """
        return {}

    def describe_standing(self, study: str, name: str, plan: Plan | None, subject: str) -> Standing:
        """Say where a study with these results stands.

        Args:
            study: Its folder, as given.
            subject: What it estimates.
        """
        from streameval.reporting.standing import complete, with_labels

        text = self.text(plan, study)
        if plan is None:
            head = f"{name}: {text.headline}"
            return complete(study, head, self.promise(), self.summary["n_items"], self.claim)
        return with_labels(study, f"{name}: {subject}", self.summary, text)
