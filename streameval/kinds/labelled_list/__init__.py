"""One list whose every item has a label: a curve that is exact, and no plan."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.kinds import Kind, import_later
from streameval.kinds.curve import OneRanking
from streameval.labelling.options import LabelMeaning

if TYPE_CHECKING:
    from streameval.kinds.exact import ExactRun
    from streameval.kinds.labelled_list.results import ListResult
    from streameval.kinds.results import HeldAgainst, StudyResult
    from streameval.questions import Question


@dataclass(frozen=True)
class Alone:
    """Options of `exact` for a single list."""

    labels: Any = None
    on: str | None = None
    labels_are: str = "answers"
    misses: int = 0
    sample_of: str | tuple[str, ...] | None = None
    at: Any = None
    method: str | Sequence[str] | None = None


class LabelledList(OneRanking):
    """The curve of one list, counted."""

    name = "labelled_list"
    about = "a labelled list"
    answers = (*Kind.answers, "compare", "extrapolate")
    asked_by: ClassVar = {"exact": ""}
    options: ClassVar = {"exact": (Alone, LabelMeaning)}

    compared = import_later("streameval.kinds.labelled_list.comparison_page")
    result = import_later("streameval.kinds.labelled_list.results:ListResult")

    def exact(
        self, ranking: object, out: str | os.PathLike[str] | None, raw_options: Mapping[str, Any], run: ExactRun
    ) -> ListResult:
        """Count the list."""
        from streameval.kinds.labelled_list.count import evaluate_list
        from streameval.kinds.labelled_list.results import ListResult
        from streameval.study import Study

        alone, meaning = self.parse_options("exact", raw_options)
        result = ListResult.from_evaluation(evaluate_list(ranking, alone, meaning, run))
        if out is not None:
            result.save(Study(Path(out)), None)
        return result

    def held_against(self, question: Question, paths: Sequence[Path], results: Sequence[StudyResult]) -> HeldAgainst:
        """Hold a metric against that of another list; of samples of the same draws by the paired difference."""
        from streameval.kinds.labelled_list.comparison import held_against

        return held_against(question, paths, results)


KIND = LabelledList()
