"""Many rankings in one list whose every item has a label: the metrics of each, and their means."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.errors import InputError
from streameval.kinds import Kind, import_later
from streameval.per_query.options import PerRanking
from streameval.text.options import flag

if TYPE_CHECKING:
    from streameval.kinds.exact import ExactRun
    from streameval.kinds.rankings.results import RankingsEvaluation
    from streameval.kinds.results import HeldAgainst, StudyResult
    from streameval.per_query.evaluate import SinkOpener
    from streameval.questions import Question


class LabelledRankings(Kind):
    """Means over all rankings of a list, counted."""

    name = "rankings"
    about = "a list of labelled rankings"
    answers = (*Kind.answers, "compare")
    asked_by: ClassVar = {"exact": "per"}
    options: ClassVar = {"exact": (PerRanking,)}
    compared = import_later("streameval.kinds.rankings.comparison_page")
    result = import_later("streameval.kinds.rankings.results:RankingsEvaluation")

    def parse_options(self, verb: str, raw_options: Mapping[str, Any]) -> list[Any]:
        """Make the options of a verb; an `InputError` where no column names a ranking, or labels lie elsewhere."""
        if "labels" in raw_options and "per" in raw_options:
            raise InputError(
                "--labels does not go with --per: labels are a column of the list, named by --label",
                "judgements of a TREC run are joined to it by exact trec:RUN#QRELS --label relevance",
            )
        options = super().parse_options(verb, raw_options)
        if not options[0].per:
            name = next((name for name in raw_options if name != "per"), None)
            raise InputError(
                f"{flag(name)} is for many rankings, and needs --per" if name else "--per names no column",
                "name the columns of a ranking with --per",
            )
        return options

    def exact(
        self, ranking: object, out: str | os.PathLike[str] | None, raw_options: Mapping[str, Any], run: ExactRun
    ) -> RankingsEvaluation:
        """Measure every ranking."""
        from streameval.kinds.rankings.results import measure_rankings, with_names

        (options,) = self.parse_options("exact", with_names(ranking, raw_options, run))
        return measure_rankings(
            ranking, options, run, None if out is None else partial(self._evaluate_and_save, Path(out))
        )

    def held_against(self, question: Question, paths: Sequence[Path], results: Sequence[StudyResult]) -> HeldAgainst:
        """Hold a mean against that of another system, by the paired difference on the rankings that both have."""
        from streameval.kinds.rankings.comparison import held_against

        return held_against(question, paths, results)

    def _evaluate_and_save(
        self, folder: Path, identity: str, run: Callable[[SinkOpener | None], RankingsEvaluation]
    ) -> RankingsEvaluation:
        """Evaluate, and write each ranking as it is measured; evaluation.json last.

        Args:
            run: Evaluates, with what takes the rows of rankings.
        """
        from streameval.kinds.rankings.results import save
        from streameval.study.results import refuse_others

        refuse_others(folder, self.result.comments, self.name, "`exact --per`")
        return save(folder, identity, run)


KIND = LabelledRankings()
