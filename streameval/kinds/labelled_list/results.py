"""Results of a list whose every item has a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streameval.kinds.curve.calibration import Calibration, calibration_of
from streameval.kinds.curve.results import CurveResult
from streameval.kinds.labelled_list import says
from streameval.questions import Question
from streameval.questions.printed import measure_of
from streameval.reporting.sentences import of_population
from streameval.reporting.text import Paragraph, Text
from streameval.stores import atomic, locks
from streameval.study import Study
from streameval.study.results import COUNTED, file_names, refuse_others
from streameval.types import Plan


@dataclass(frozen=True, repr=False)
class ListResult(CurveResult):
    """A curve that is exact."""

    @classmethod
    def files(cls, plan: Plan | None) -> list[str]:
        """Names of their files: labels stay where they are."""
        return file_names(COUNTED)

    def written(self, plan: Plan | None) -> list[str]:
        """Names of the files that hold these results."""
        return file_names(self.tables)

    def save(self, folder: Study, plan: Plan | None) -> None:
        """Write all files into a folder of their own."""
        refuse_others(folder.folder, self.tables, str(self.summary["kind"]), "exact")
        atomic.make_folder(folder.folder)
        with locks.one_at_a_time(folder.folder):
            super().save(folder, plan)

    def main_measures(self) -> list[str]:
        """Precision at powers of ten, and the main metrics of the whole list."""
        rows = self.metrics.to_pylist()
        shown = ("precision_at", "precision_at_score", "recall_at_score")
        cuts = [measure_of(row["metric"], row["argument"]) for row in rows if row["metric"] in shown]
        return [*dict.fromkeys(cuts), "average_precision", "roc_auc", "max_f1"]

    def calibration(self) -> Calibration:
        """Give the share of positives by score; an `InputError` says why there is none."""
        return calibration_of(self)

    def promise(self) -> str:
        """Say what is exact; of a sample also that intervals are about the population."""
        return f"{super().promise()} {of_population(self.summary)}".rstrip()

    def intervals(self, questions: Sequence[Question]) -> dict[str, tuple[float | None, float | None]]:
        """Give low and high of each measure where the list is a sample; None where there is no interval."""
        if "sample" not in self.summary:
            return {}
        rows = {measure_of(row["metric"], row["argument"]): (row["low"], row["high"])
                for row in self.metrics.to_pylist()}  # fmt: skip
        return {str(question): rows.get(str(question.measure), (None, None)) for question in questions}

    def text(self, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say how many are positive, and precision at cutoffs."""
        return says.text(self)

    def lines(self, study: Path) -> list[Paragraph]:
        """Lay out for a terminal what they say, and the main metrics."""
        return says.lines(self)

    def facts(self, study: Path) -> dict[str, Any]:
        """Give the summary and the metrics."""
        return {**self.summary, "metrics": self.metrics.to_pylist()}
