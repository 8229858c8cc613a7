"""What a study of any kind says of its results: measures and conditions, sentences, a page, tables for SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from streameval.curve.bounds import Bounds
    from streameval.questions import Outcome, Question
    from streameval.questions.cutoffs import Cutoff
    from streameval.reporting.standing import Standing
    from streameval.reporting.text import NextStep, Paragraph, Text
    from streameval.study import Study
    from streameval.study.cut_files import Cut
    from streameval.study.database.writer import Database
    from streameval.types import Plan


class Decision(NamedTuple):
    """What became of a condition, and what is said of the labels that may decide it."""

    outcome: Outcome
    labels: int | None
    decides: str


class Reporting:
    """What results say; a kind that says something else overrides it.

    Attributes:
        tables: Tables of results by the name of their file, each with a comment for SQL.
    """

    tables: ClassVar[Mapping[str, str]] = {}

    def text(self, found: Any, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say what results prove, what that promises, their main figures, and what to know of them.

        Args:
            plan: None where nothing is to be said of what to run next.
            study: Folder that the next step names.
        """
        from streameval.questions.printed import measure_of
        from streameval.reporting.text import Columns, Text

        account, sides = found.summary["account"], ["lower", "estimate", "upper"]
        rows = [[measure_of(row["metric"], row["argument"]), *(row[side] for side in sides)]
                for row in found.metrics.to_pylist()]  # fmt: skip
        headline = f"{account['labelled']:,} of {account['planned']:,} labels."
        return Text(headline, "", Columns(["metric", *sides], rows))

    def lines(self, study: Path, found: Any) -> list[Paragraph]:
        """Lay out for a terminal what results say, and what became of the labels."""
        from streameval.reporting.label_lines import agreement_lines, doubt_lines, label_lines

        text = self.text(found)
        labels = label_lines(found.tables["issues"], found.summary) if "issues" in found.tables else []
        return [
            text.opening, "", text.table, "",
            *text.remarks, *labels, *agreement_lines(found.summary), *doubt_lines(study, found.summary),
        ]  # fmt: skip

    def facts(self, study: Path, found: Any) -> dict[str, Any]:
        """Give what `--json` prints of results: their summary, the metrics, and the command to run next."""
        from streameval.study import Study

        plan = None if found.summary["study"] is None else Study(study).plan()
        following = self.text(found, plan, str(study)).next_step.command
        facts = {**found.summary, "metrics": found.metrics.to_pylist()}
        return {**facts, "next": following} if following else facts

    def page(self, name: str, plan: Plan | None, found: Any, title: str | None = None) -> str:
        """Draw report.html."""
        from streameval.reporting.layout import Section, highlight, study_page

        text = self.text(found)
        means = Section("Means", table=text.table, remarks=text.remarks)
        return study_page(found, title, (name, f"Rankings of {name}"), [highlight(text.opening)], [means])

    def database(self, folder: Study, plan: Plan | None, found: Any) -> Database:
        """Make study.duckdb."""
        from streameval.study.database.writer import Database, plain_database

        return Database(plain_database(lambda: found.tables, self.tables), found.evaluation_id)

    def answer(self, found: Any, question: Question) -> Bounds:
        """Bounds on a measure, and its estimate; NaN where it is undefined or nothing is known.

        Raises:
            InputError: The results have no such measure: names the nearest that they have.
        """
        from streameval.kinds.means import answer

        return answer(found, question)

    def conditions(self, found: Any) -> tuple[Question, ...]:
        """What `check` holds results against where no condition is given."""
        return ()

    def decided(self, found: Any, question: Question, bounds: Bounds) -> Decision:
        """Say what became of a condition, by default by the bounds on its measure, and which labels may decide it."""
        return Decision(question.condition.outcome(bounds.lower, bounds.upper), None, "")

    def standard_errors(self, found: Any, questions: Sequence[Question]) -> dict[str, float | None]:
        """Give standard errors by measure, of those that have one: approximate, and for one rank alone."""
        return {}

    def to_decide(self, folder: Study, found: Any, labels: int, why: str) -> NextStep:
        """Choose the command that leads to labels which may decide what bounds leave open.

        Args:
            labels: How many in all are forecast to; 0 where that cannot be said.
            why: Why nothing can be told of any condition; else empty.
        """
        from streameval.reporting.next_step import more_labels
        from streameval.reporting.text import NOTHING

        if why or not folder.exists:
            return NOTHING
        return more_labels(folder.plan(), found.summary, str(folder.folder), labels)

    def alone(
        self, folder: Study, found: Any, estimates: Mapping[Question, float], most: int | None
    ) -> tuple[NextStep, int]:
        """The command that asks conditions that bounds leave open, and about how many more labels decide then.

        Args:
            estimates: Of the measure of each condition.
            most: Labels that the study itself would take for the same, in all; None where that cannot be said.
        """
        from streameval.reporting.text import NOTHING

        return NOTHING, 0

    def cut(self, folder: Study, target: Cutoff, ranking: Any, options: Mapping[str, Any]) -> Cut:
        """Give the items above a cutoff.

        Args:
            options: Those of `cut` that were given.
        """
        raise NotImplementedError

    def measures(self, found: Any) -> tuple[str, ...]:
        """What can be asked for, as it is written; K stands for any number of items."""
        from streameval.kinds.means import measures

        return measures(found)

    def main_measures(self, found: Any) -> list[str]:
        """The measures that `show` names without being asked: those of whole rankings, and at the last cutoff."""
        names = self.measures(found)
        last = names[-1].partition("@")[2] if names else ""
        return [name for name in names if name.partition("@")[2] in ("", last)]

    def promise(self, found: Any) -> str:
        """Say what bounds promise, and under which assumption, in sentences that stand by themselves."""
        text = self.text(found)
        return text.promise or text.headline

    def subject(self, plan: Plan) -> str:
        """Say what a study with a plan estimates."""
        from streameval.text import number_of

        return f"precision of {number_of(plan.n_items, 'item')}"

    def standing(self, study: str, name: str, plan: Plan | None, found: Any) -> Standing:
        """Say where a study with results stands; `study` is its folder, as given."""
        from streameval.reporting.standing import complete, with_labels

        text = self.text(found, plan, study)
        if plan is None:
            head = f"{name}: {text.headline}"
            return complete(study, head, self.promise(found), found.summary["n_items"], found.claim)
        return with_labels(study, f"{name}: {self.subject(plan)}", found.summary, text)
