"""Many rankings in one list whose every item has a label: the metrics of each, and their means."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.errors import InputError
from streameval.kinds import Kind
from streameval.per_query.options import PerRanking
from streameval.text.options import flag

if TYPE_CHECKING:
    from streameval.kinds.exact import ExactRun
    from streameval.kinds.rankings.results import RankingsEvaluation
    from streameval.per_query.evaluate import SinkOpener
    from streameval.reporting.text import Paragraph, Text
    from streameval.study import Study
    from streameval.study.database.writer import Database
    from streameval.types import Plan


class LabelledRankings(Kind):
    """Means over all rankings of a list, counted."""

    name = "rankings"
    about = "a list of labelled rankings"
    answers = (*Kind.answers, "compare")
    asked_by: ClassVar = {"exact": "per"}
    options: ClassVar = {"exact": (PerRanking,)}
    compared_in = "streameval.kinds.rankings.comparison_page"
    tables: ClassVar = {
        "rankings": "One row per ranking: its name, items, positives, misses (positives that it never returned), and "
        "each metric: worst, expected and best over all orders of tied items; null where it is undefined.",
        "metrics": "Means over rankings: map is mean_average_precision, ndcg@10 is mean_ndcg_at with argument 10. "
        "Lower and upper: all tied items in the worst, in the best order. "
        "no_positives: whether rankings without a positive count as 0 or are left out; rankings: how many the mean is "
        "over.",
        "by_size": "Rankings by their number of items; means are over those with a positive.",
        "histograms": "How many rankings with a positive have a metric of at_least and below at_least + 0.05; the last "
        "has 1 too.",
    }

    def asked(self, verb: str, given: Mapping[str, Any]) -> list[Any]:
        """Make the options of a verb; an `InputError` where no column names a ranking, or labels lie elsewhere."""
        if "labels" in given and "per" in given:
            raise InputError(
                "--labels does not go with --per: labels are a column of the list, named by --label",
                "judgements of a TREC run are joined to it by exact trec:RUN#QRELS --label relevance",
            )
        made = super().asked(verb, given)
        if not made[0].per:
            name = next((name for name in given if name != "per"), None)
            raise InputError(
                f"{flag(name)} is for many rankings, and needs --per" if name else "--per names no column",
                "name the columns of a ranking with --per",
            )
        return made

    def read(self, folder: Study) -> RankingsEvaluation:
        """Read the means; the rows of rankings stay in their file."""
        from streameval.kinds.rankings.results import read_means

        return folder.results(read_means)

    def exact(
        self, ranking: Any, out: str | os.PathLike[str] | None, given: Mapping[str, Any], run: ExactRun
    ) -> RankingsEvaluation:
        """Measure every ranking."""
        from streameval.kinds.rankings.results import counted, with_names

        (options,) = self.asked("exact", with_names(ranking, given, run))
        return counted(ranking, options, run, None if out is None else partial(self._saved, Path(out)))

    def _saved(
        self, folder: Path, identity: str, run: Callable[[SinkOpener | None], RankingsEvaluation]
    ) -> RankingsEvaluation:
        """Evaluate, and write each ranking as it is measured; evaluation.json last.

        Args:
            run: Evaluates, with what takes the rows of rankings.
        """
        from streameval.kinds.rankings.database import rankings_database
        from streameval.kinds.rankings.results import save
        from streameval.study.results import refuse_others

        refuse_others(folder, self.tables, self.name, "`exact --per`")
        return save(folder, identity, run, lambda found: self.page(folder.resolve().name, None, found),
                    lambda found, rows: rankings_database(rows, found, self.tables))  # fmt: skip

    def text(self, found: RankingsEvaluation, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say how many there are, what the means are, and the means."""
        from streameval.kinds.rankings.page import text

        return text(found)

    def lines(self, study: Path, found: RankingsEvaluation) -> list[Paragraph]:
        """Lay out for a terminal what results say."""
        from streameval.reporting.text import Columns

        text = self.text(found)
        return [text.headline, text.promise, "", Columns(text.table.head, text.table.cells(_cell))]

    def page(self, name: str, plan: Plan | None, found: RankingsEvaluation, title: str | None = None) -> str:
        """Draw the means, how they are distributed, and who does badly."""
        from streameval.kinds.rankings.page import render

        return render(name, found, title)

    def database(self, folder: Study, plan: Plan | None, found: RankingsEvaluation) -> Database:
        """Make tables of the means and of every ranking."""
        from streameval.kinds.rankings.database import rankings_database
        from streameval.study.database.writer import Database

        rows = folder.folder / "rankings.parquet"
        return Database(rankings_database(rows, found, self.tables), found.evaluation_id)


def _cell(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.6g}"


KIND = LabelledRankings()
