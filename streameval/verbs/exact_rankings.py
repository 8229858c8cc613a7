"""Exact: many rankings at once, a list for every query, each with a label for every item."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from streameval.engines import Engine, engine_of
from streameval.progress import Progress, silent
from streameval.queries.evaluate import Opened, evaluate_rankings
from streameval.queries.options import PerRanking
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.study.rankings_files import RankingsEvaluation, identity_of, results, save


def exact_per(
    ranking: Any,
    label: str,
    asked: PerRanking,
    *,
    out: str | os.PathLike[str] | None,
    options: RankingOptions | None,
    opened: Opened | None,
    engine: Engine | str = "local",
    progress: Progress = silent,
) -> RankingsEvaluation:
    """Evaluate many rankings as `exact` does; without `out`, `opened` receives the rows of each, if it is given."""
    elsewhere = engine_of(engine).measured(keeps_rows=out is not None or opened is not None)
    source = open_ranking(ranking, options or RankingOptions())
    description = source.description()
    identity = identity_of(source.fingerprint, label, asked, description)

    def run(rows: Opened | None) -> RankingsEvaluation:
        return results(identity, evaluate_rankings(source, label, asked, rows, progress, elsewhere), description)

    if out is None:
        return run(opened)
    from streameval.reporting.rankings_page import render
    from streameval.verbs.sql import rankings_writer

    folder = Path(out)
    return save(folder, identity, run, lambda found: render(folder.resolve().name, found), rankings_writer)
