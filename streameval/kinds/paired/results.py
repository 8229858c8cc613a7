"""Results of a comparison: which ranking is better where, and how surely."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from streameval.curve.bounds import Bounds
from streameval.errors import InputError, did_you_mean
from streameval.kinds.paired.page import page
from streameval.kinds.paired.says import text
from streameval.kinds.results import StudyResult
from streameval.questions import Question
from streameval.questions.printed import measure_of
from streameval.reporting.text import Text
from streameval.types import Plan


@dataclass(frozen=True, repr=False)
class PairedResult(StudyResult):
    """Bounds on how many more positives the top of B holds than that of A."""

    comments: ClassVar = {
        "metrics": "Bounds on how many more positives B holds at each cutoff than A (gain_at), and on the difference "
        "in precision (precision_gain_at) where both hold as many items.",
        "differences": "One row per cutoff: what only B holds (gains) and only A (losses), what was drawn and labelled "
        "of it, the difference in positives with its bounds, and which ranking is better: b, a, neither (the bounds "
        "lie within the planned half-width around 0) or open.",
        "labels": "One row per planned item; rank is its stored row, from 1; label is null where there is none.",
        "issues": "Every row of a label table, and every item, that is not as it should be.",
    }

    def text(self, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say which ranking is better where, and how surely."""
        return text(self, plan, study)

    def page(self, name: str, plan: Plan | None, title: str | None = None) -> str:
        """Draw one figure with gains and losses at every cutoff, the sentence first."""
        return page(name, self, self.text(), title)

    def conditions(self) -> tuple[Question, ...]:
        """Give the conditions that it was planned for."""
        return tuple(map(Question.of, self.summary.get("conditions", ())))

    def measures(self) -> tuple[str, ...]:
        """The differences that there are, as they are asked for."""
        return tuple(measure_of(row["metric"], row["argument"]) for row in self.metrics.to_pylist())

    def main_measures(self) -> list[str]:
        """The differences in positives."""
        return [name for name in self.measures() if not name.startswith("precision_gain@")]

    def bounds(self, question: Question) -> Bounds:
        """Bounds on a difference at a cutoff that was planned.

        Raises:
            InputError: Another measure, or another cutoff.
        """
        measures = [question.measure]
        for row in self.tables["differences"].to_pylist():  # "1%" is what was planned, and stands as a rank
            if question.cutoff is not None and str(question.cutoff) == row["cutoff"]:
                measures.append(replace(question.measure, cutoffs=Question.of(f"gain@{row['items_b']}").cutoffs))
        wanted = {*map(str, measures)}
        for name, row in zip(self.measures(), self.metrics.to_pylist(), strict=True):
            if str(Question.of(name)) in wanted:
                return Bounds.of_row(row)
        raise InputError(f"there is no {question.measure} here", did_you_mean(str(question.measure), self.measures()))
