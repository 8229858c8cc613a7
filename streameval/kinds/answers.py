"""What a study of any kind says of its results: measures and conditions, sentences, a page, tables for SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from streameval.curve.bounds import Bounds
    from streameval.questions import Outcome, Question
    from streameval.questions.cutoffs import Cutoff
    from streameval.reporting.next_step import NextStep
    from streameval.reporting.said import Columns, Said, Told
    from streameval.reporting.standing import Standing
    from streameval.stores.atomic import Existing
    from streameval.study import Study
    from streameval.study.cut_files import Cut
    from streameval.study.database.writer import Database
    from streameval.study.history import History
    from streameval.types import Claim, Plan


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

    def told(self, found: Any, number: Callable[[float | None], str]) -> Told:
        """Say what results claim, the metrics, and what to know of them.

        Args:
            number: How a value is shown.
        """
        from streameval.questions.printed import measure_of
        from streameval.reporting.said import Columns, Told

        account, sides = found.summary["account"], ["lower", "estimate", "upper"]
        rows = [[measure_of(row["metric"], row["argument"]), *(number(row[side]) for side in sides)]
                for row in found.metrics.to_pylist()]  # fmt: skip
        claim = f"{account['labelled']:,} of {account['planned']:,} labels."
        return Told(claim, Columns(["metric", *sides], rows), [])

    def says(self, study: Path, found: Any) -> tuple[dict[str, Any], list[Said]]:
        """What `evaluate` or `exact` says of results: with --json, and otherwise."""
        from streameval.reporting.given_again import agreement_lines, doubt_lines
        from streameval.reporting.label_lines import label_lines

        told = self.told(found, lambda value: "-" if value is None else f"{value:.4f}")
        labels = label_lines(found.tables["issues"], found.summary) if "issues" in found.tables else []
        return {**found.summary, "metrics": found.metrics.to_pylist()}, [
            told.claim, "", told.table, "", *told.remarks, *labels,
            *agreement_lines(found.summary), *doubt_lines(study, found.summary),
        ]  # fmt: skip

    def page(self, name: str, plan: Plan | None, found: Any, title: str | None = None) -> str:
        """Draw report.html."""
        from streameval.reporting.plain_page import number, plain_page

        return plain_page(name, found, self.told(found, number), title)

    def database(self, folder: Study, plan: Plan | None, found: Any) -> Database:
        """Make study.duckdb."""
        from streameval.study.database.writer import Database, plain_database

        return Database(plain_database(lambda: found.tables, self.tables), found.evaluation_id)

    def answer(self, found: Any, question: Question) -> Bounds:
        """Bounds on a measure, and its estimate; NaN where it is undefined or nothing is known.

        Raises:
            InputError: The results have no such measure: names the nearest that they have.
        """
        from streameval.study.answers.rankings import answer

        return answer(found, question)

    def conditions(self, found: Any) -> tuple[Question, ...]:
        """What `check` holds results against where no condition is given."""
        return ()

    def decided(self, found: Any, question: Question) -> Decision | None:
        """What became of a condition that the study was planned for; None leaves it to the bounds."""
        return None

    def to_decide(self, folder: Study, found: Any, labels: int, why: str) -> NextStep:
        """Choose the command that leads to labels which may decide what bounds leave open.

        Args:
            labels: How many in all are forecast to; 0 where that cannot be said.
            why: Why nothing can be told of any condition; else empty.
        """
        from streameval.reporting.next_step import NOTHING, more_labels

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
        from streameval.reporting.next_step import NOTHING

        return NOTHING, 0

    def cut(self, folder: Study, target: Cutoff, ranking: Any) -> Cut | None:
        """Give the items above a cutoff; None where they are those that a curve proves."""
        return None

    def measures(self, found: Any) -> tuple[str, ...]:
        """What can be asked for, as it is written; K stands for any number of items."""
        from streameval.study.answers.rankings import measures

        return measures(found)

    def main_measures(self, found: Any) -> list[str]:
        """The measures that `show` names without being asked: those of whole rankings, and at the last cutoff."""
        names = self.measures(found)
        last = names[-1].partition("@")[2] if names else ""
        return [name for name in names if name.partition("@")[2] in ("", last)]

    def claim(self, found: Any) -> Claim:
        """What the bounds promise."""
        from streameval.types import Claim

        return Claim(**found.summary["claim"])

    def promised(self, found: Any) -> str:
        """What the bounds promise, and under which assumption."""
        return self.told(found, str).claim

    def headline(self, found: Any) -> str:
        """Say what results without a plan are of."""
        from streameval.text import number_of

        return f"{number_of(found.summary['n_items'], 'item')}, each with a label."

    def subject(self, plan: Plan) -> str:
        """Say what a study with a plan estimates."""
        from streameval.text import number_of

        return f"precision of {number_of(plan.n_items, 'item')}"

    def standing(self, study: str, name: str, plan: Plan, found: Any) -> Standing:
        """Say where a study with a plan and results stands; `study` is its folder, as given."""
        from streameval.reporting.standing import with_labels

        return with_labels(study, f"{name}: {self.subject(plan)}", found.summary, self.promised(found))

    def difference(self, a: Path, b: Path, confidence: float) -> Any:
        """Compare two studies; kinds that do it by the same function are compared with one another."""
        raise NotImplementedError

    def difference_says(self, found: Any) -> tuple[dict[str, Any], list[Said]]:
        """What `compare` says: with --json, and otherwise."""
        raise NotImplementedError

    def save_difference(self, found: Any, out: Path | None, plot: Path | None, existing: Existing) -> None:
        """Write the tables of a difference into a folder, and its picture into a file."""
        raise NotImplementedError

    def history(self) -> type[History]:
        """The history that `monitor` makes of such studies."""
        raise NotImplementedError

    def history_says(self, found: Any, most: int) -> tuple[Columns, list[str]]:
        """What `monitor` says: the last rows, at most so many, and sentences."""
        raise NotImplementedError

    def history_page(self, found: Any) -> str:
        """Draw history.html."""
        raise NotImplementedError
