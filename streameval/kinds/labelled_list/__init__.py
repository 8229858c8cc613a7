"""One list whose every item has a label: a curve that is exact, and no plan."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.kinds import Kind
from streameval.kinds.curve import OneRanking
from streameval.labelling.options import LabelMeaning

if TYPE_CHECKING:
    from streameval.kinds.exact import ExactRun
    from streameval.reporting.text import Paragraph, Text
    from streameval.study import Study
    from streameval.study.results import Evaluation
    from streameval.types import Plan


@dataclass(frozen=True)
class Alone:
    """What only one list has."""

    labels: Any = None
    on: str | None = None
    labels_are: str = "answers"
    misses: int = 0
    sample_of: str | tuple[str, ...] | None = None
    at_score: Any = None
    windows: Any = None
    window: Any = None  # which the command line has, and epsilon, for windows
    epsilon: Any = None


class LabelledList(OneRanking):
    """The curve of one list, counted."""

    name = "labelled_list"
    about = "a labelled list"
    answers = (*Kind.answers, "compare", "extrapolate")
    asked_by: ClassVar = {"exact": ""}
    options: ClassVar = {"exact": (Alone, LabelMeaning)}

    def files(self, plan: Plan | None) -> list[str]:
        """Names of the files of its results: labels stay where they are."""
        from streameval.study.results import COUNTED, file_names

        return file_names(COUNTED)

    def exact(
        self, ranking: Any, out: str | os.PathLike[str] | None, given: Mapping[str, Any], run: ExactRun
    ) -> Evaluation:
        """Count the list."""
        from streameval.kinds.labelled_list.count import counted
        from streameval.study import Study

        alone, meaning = self.asked("exact", given)
        evaluation = counted(ranking, alone, meaning, run)
        if out is not None:
            self.save(Study(Path(out)), None, evaluation)
        return evaluation

    def save(self, folder: Study, plan: Plan | None, found: Evaluation) -> None:
        """Write all results into a folder of their own."""
        from streameval.stores import atomic, locks
        from streameval.study.results import refuse_others

        refuse_others(folder.folder, found.tables, self.name, "exact")
        atomic.make_folder(folder.folder)
        with locks.one_at_a_time(folder.folder):
            super().save(folder, plan, found)

    def main_measures(self, found: Evaluation) -> list[str]:
        """Precision at powers of ten, and the main metrics of the whole list."""
        from streameval.questions.printed import measure_of

        rows = found.metrics.to_pylist()
        shown = ("precision_at", "precision_at_score", "recall_at_score")
        cuts = [measure_of(row["metric"], row["argument"]) for row in rows if row["metric"] in shown]
        return [*dict.fromkeys(cuts), "average_precision", "roc_auc", "max_f1"]

    def text(self, found: Evaluation, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say how many are positive, and precision at cutoffs."""
        from streameval.kinds.labelled_list.says import text

        return text(found)

    def lines(self, study: Path, found: Evaluation) -> list[Paragraph]:
        """Lay out for a terminal what results say, and the main metrics."""
        from streameval.kinds.labelled_list.says import lines

        return lines(found)

    def facts(self, study: Path, found: Evaluation) -> dict[str, Any]:
        """Give the summary and the metrics."""
        return {**found.summary, "metrics": found.metrics.to_pylist()}


KIND = LabelledList()
