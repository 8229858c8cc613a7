"""Exact: a list whose every item has a label, evaluated in one stream and in fixed memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from streameval.kinds import kind_for
from streameval.kinds.exact import ExactRun
from streameval.labelling.options import LabelMeaning, LabelsAre
from streameval.options import own, takes
from streameval.progress import Progress, silent
from streameval.queries.options import PerRanking
from streameval.rows.options import RankingOptions, described
from streameval.scans.jobs import Engine

if TYPE_CHECKING:
    from streameval.kinds.rankings.results import RankingsEvaluation
    from streameval.study.results import Evaluation


@dataclass(frozen=True)
class Windows:
    """Which windows to slide.

    Attributes:
        lengths: Values of Δ; none: nothing is looked into.
        epsilons: Values of ε; each Δ is paired with each.
    """

    lengths: tuple[int, ...] = ()
    epsilons: tuple[str, ...] = ("0.03",)


NO_WINDOWS = Windows()


@overload
def exact(
    ranking: Any,
    *,
    label: str = "label",
    labels: Any = None,
    on: str | tuple[str, ...] | None = None,
    labels_are: LabelsAre = "answers",
    misses: int = 0,
    windows: Windows = NO_WINDOWS,
    out: str | os.PathLike[str] | None = None,
    options: RankingOptions | None = None,
    engine: Engine | str = "local",
    progress: Progress = silent,
    per: None = None,
    **described: Any,
) -> Evaluation: ...
@overload
def exact(
    ranking: Any,
    *,
    label: str = "label",
    per: str | Sequence[str],
    out: str | os.PathLike[str] | None = None,
    options: RankingOptions | None = None,
    progress: Progress = silent,
    **many: Any,
) -> RankingsEvaluation: ...
@takes(RankingOptions, LabelMeaning, PerRanking)
def exact(
    ranking: Any,
    *,
    label: str = "label",
    labels: Any = None,
    on: str | tuple[str, ...] | None = None,
    labels_are: LabelsAre = "answers",
    misses: int = 0,
    windows: Windows = NO_WINDOWS,
    out: str | os.PathLike[str] | None = None,
    options: RankingOptions | None = None,
    engine: Engine | str = "local",
    progress: Progress = silent,
    per: str | Sequence[str] | None = None,
    **many: Any,
) -> Evaluation | RankingsEvaluation:
    """Evaluate a list whose every item has a label; with `per`, many lists at once.

    Args:
        ranking: As for `plan`. With a score its rows may lie in any order; what memory does not hold is ordered
            in a scratch file.
        label: Column with every item's label: 0/1, a boolean, or words as `evaluate` understands them; of the ranking,
            or of `labels`.
        labels: Label table beside the ranking, as for `evaluate`; one label for every item.
        on: Columns, separated by commas, by which it is joined to the items; by default its rank, where the list is
            stored in the order of its ranks.
        labels_are ({"answers", "positives"}): Whether `labels` lists positives alone: all other items are negative
            then, and without a column `label` every row of it is a positive.
        misses: Positives that the list never returned.
        windows: Window lengths Δ (and values of ε) for which the paper's assumptions A.1 and A.2 are looked into, in
            one more pass; the list has to be stored in its order.
        out: Folder that receives curve.parquet, envelope.parquet, metrics.parquet, evaluation.json, report.html and
            study.duckdb.
        engine (Engine or {"local", "spark"}): What reads the list; the same comes of it, byte for byte. Labels beside
            the list, and windows, are read on this machine only.
        per: Columns that name the ranking of a row, such as a query's, where the list holds many rankings.
        options: As for `plan`.
        **many: Fields of `RankingOptions`, as `score`; of `LabelMeaning`: `positive` and `negative` (words), `relevant`
            (">=2": from which label on an item is positive); and of a list of many rankings: `at`, `gain`,
            `no_positives`, `ties`, `positives`, `unjudged` (`streameval.queries.options.PerRanking`). Of many rankings
            `key` names the item. Of `trec:RUN#QRELS` the judgements are `positives`, and `key` is `document`, where no
            other is given.

    Returns:
        RankingsEvaluation: With `per`: a row for each ranking, which is read into memory unless `out` is given, and
            their means; the folder receives rankings.parquet, metrics.parquet, by_size.parquet, histograms.parquet,
            evaluation.json, report.html and study.duckdb.
        Evaluation: Without. Its curve has coverage "exact": at its cutoffs, lower and upper differ only where tied
            items leave the order open; between two cutoffs they are what the yields there allow.

    Raises:
        InputError: A label that is missing or not 0/1, a score that is missing, negative misses; names the place.
    """
    options = described(options, many)
    meaning = own(LabelMeaning, many)
    if per is not None or many:
        many |= meaning.named()
        alone = {"labels": labels, "on": on, "misses": misses or None,
                 "labels_are": None if labels_are == "answers" else labels_are,
                 "windows": None if windows == NO_WINDOWS else windows}  # fmt: skip
        given = {**{name: value for name, value in alone.items() if value is not None}, "per": per or (), **many}
        tables: list[pa.Table] = []
        means = exact_per(ranking, label=label, out=out, options=options, engine=engine, progress=progress,
                          collect=tables, **given)  # fmt: skip
        return means if out is not None else means.with_rankings(pa.concat_tables(tables))
    alone = {"labels": labels, "on": on, "labels_are": labels_are, "misses": misses, "windows": windows,
             **meaning.named()}  # fmt: skip
    evaluation: Evaluation = kind_for("exact", {}).exact(
        ranking, out, alone, ExactRun(label, options, engine, progress)
    )
    return evaluation


def exact_per(
    ranking: Any,
    *,
    label: str,
    out: str | os.PathLike[str] | None,
    options: RankingOptions | None,
    engine: Engine | str = "local",
    progress: Progress = silent,
    collect: list[pa.Table] | None = None,
    **given: Any,
) -> RankingsEvaluation:
    """Evaluate many rankings as `exact` does; without `out`, `collect` receives the rows of each."""
    run = ExactRun(label, options or RankingOptions(), engine, progress, collect)
    means: RankingsEvaluation = kind_for("exact", {"per": ()}).exact(ranking, out, given, run)
    return means
