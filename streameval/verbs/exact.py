"""Exact: evaluate a list whose every item has a label, or many lists at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import pyarrow as pa

from streameval.copies.write import for_a_while
from streameval.engines import engine_facts
from streameval.errors import InputError
from streameval.kinds import kind_for
from streameval.kinds.exact import ROWS, ExactRun
from streameval.labelling.options import LabelMeaning, LabelsAre
from streameval.options import listed, make_own, takes
from streameval.per_query.options import PerRanking
from streameval.printed import Printed, Record
from streameval.progress import Progress, silent
from streameval.rankings.forecasts import forecast_exact
from streameval.rehearsal import Rehearsal
from streameval.rows.options import RankingOptions, take_ranking_options
from streameval.scans.jobs import Engine
from streameval.study.label_tables import forecast_labels
from streameval.text import number_of

if TYPE_CHECKING:
    from streameval.kinds.rankings.results import RankingsEvaluation
    from streameval.kinds.results import StudyResult
    from streameval.study.results import Evaluation

_TOLD = ("n_items", "rankings", "positives", "how")  # of the summary, in the log


@overload
def exact(
    ranking: Any,
    *,
    label: str = "label",
    labels: Any = None,
    on: str | tuple[str, ...] | None = None,
    labels_are: LabelsAre = "answers",
    misses: int = 0,
    sample_of: str | Sequence[str] | None = None,
    method: str | Sequence[str] | None = None,
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
    rows: Literal["kept", "left out"] = "kept",
    out: str | os.PathLike[str] | None = None,
    options: RankingOptions | None = None,
    progress: Progress = silent,
    **many: Any,
) -> RankingsEvaluation: ...
@takes(RankingOptions, LabelMeaning, PerRanking, in_python=("nan",))
def exact(
    ranking: Any,
    *,
    label: str = "label",
    labels: Any = None,
    on: str | tuple[str, ...] | None = None,
    labels_are: Literal["answers", "positives"] = "answers",
    misses: int = 0,
    sample_of: str | Sequence[str] | None = None,
    method: str | tuple[str, ...] | Sequence[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    options: RankingOptions | None = None,
    engine: Engine | str = "local",
    progress: Progress = silent,
    per: str | Sequence[str] | None = None,
    rows: Literal["kept", "left out"] = "kept",
    **many: Any,
) -> Evaluation | RankingsEvaluation:
    """Evaluate a labelled list.

    Every item has a label: exactly, in one stream, in fixed memory.

    Example: streameval exact ranking/ --label right --score score --out results
    Example: streameval exact ranking/ --label right --engine spark:sc://spark:15002
    Example: streameval exact runs/ --per query --label grade --score score --at 10

    Args:
        ranking: Files (Parquet, CSV, JSONL), folders, globs or a query, as for plan; their stored order is the ranking,
            best first, without --score. With it every item needs a score. In Python too, its rows may lie in any order
            with a score (a float, an integer or a date); what memory does not hold is ordered in a scratch file.
        label: Column with every item's label: 0/1, true/false, yes/no, or a grade; of the ranking, or of --labels.
        labels: Label table beside the ranking (any source that evaluate takes): one label for every item.
        on: Columns a,b, or LIST_COLUMN=LABEL_COLUMN, that join it to the items (default: its rank, or the key).
            In Python too, its rank only where the list is stored in the order of its ranks.
        labels_are: answers: --labels has one for every item. positives: it lists positives alone (without a column of
            labels, every row is one), and all other items are negative.
        misses: Positives that the list never returned.
        sample_of: Columns that say what was drawn, such as a user, or "rows": an interval beside each metric then,
            approximately 95 %, if these are independent draws. In Python too (`streameval guide sample`).
        method: Windows for which PAULA's assumptions are tested, such as "paula(window=100)"; may be repeated. In
            Python A.1 and A.2 are looked into in one more pass; the list has to be stored in its order.
        out: Folder for the results: tables, evaluation.json, report.html and study.duckdb.
        options: In Python: as for `plan`.
        key: Columns a,b whose hash breaks ties, and names rows of a sample; with --per the one that names the item.
        engine (Engine or {"local", "spark"}): In Python: what reads the list; the same comes of it, byte for byte.
            Labels beside the list, and windows, are read on this machine only.
        per: In Python: columns that name the ranking of a row, such as a query's, where the list holds many rankings;
            with parameters as "query(ties=trec_eval)" (`PerRanking`).
        rows: In Python: "kept" reads the row of each of many rankings into memory where there is no `out`.
        many: In Python by name: fields of `RankingOptions`, as `score`; of `LabelMeaning`: `positive` and `negative`
            (words), `relevant` (">=2": from which label on an item is positive); and of a list of many rankings: `at`
            and `positives` (`streameval.per_query.options.PerRanking`). Of many rankings `key` names the item. Of
            `trec:RUN#QRELS` the judgements are `positives`, and `key` is `document`, where no other is given.

    Returns:
        RankingsEvaluation: With `per`: a row for each ranking, which is read into memory unless `out` is given (see
            `rows`), and their means; the folder receives rankings.parquet, metrics.parquet, by_size.parquet,
            histograms.parquet, evaluation.json, report.html and study.duckdb.
        Evaluation: Without. Its curve has coverage "exact": at its cutoffs, lower and upper differ only where tied
            items leave the order open; between two cutoffs they are what the yields there allow.

    Raises:
        InputError: A label that is missing or not 0/1, a score that is missing, negative misses; names the place.
    """
    options = take_ranking_options(options, many)
    meaning = make_own(LabelMeaning, many)
    of_sample = per is None and (sample_of is not None or "score:" in str(many.get("at")))
    at = many.pop("at", None) if of_sample else None
    if per is not None or many:
        many |= meaning.as_named()
        alone = {"labels": labels, "on": on, "misses": misses or None, "sample_of": sample_of,
                 "method": method,
                 "labels_are": None if labels_are == "answers" else labels_are}  # fmt: skip
        given = {**{name: value for name, value in alone.items() if value is not None}, "per": per or (), **many}
        tables: list[pa.Table] = []
        means = exact_per(ranking, label=label, out=out, options=options, engine=engine, progress=progress,
                          collect=tables if rows == "kept" else None, **given)  # fmt: skip
        return means if out is not None or rows != "kept" else means.with_rankings(pa.concat_tables(tables))
    alone = {"labels": labels, "on": on, "labels_are": labels_are, "misses": misses, "method": method,
             "sample_of": sample_of, "at": at, **meaning.as_named()}  # fmt: skip
    result = kind_for("exact", {}).exact(ranking, out, alone, ExactRun(label, options, engine, progress))
    return cast("Evaluation", result)


def exact_per(
    ranking: Any,
    *,
    label: str,
    out: str | os.PathLike[str] | None,
    options: RankingOptions | None,
    engine: Engine | str = "local",
    progress: Progress = silent,
    collect: list[pa.Table] | None = None,
    **raw_options: Any,
) -> RankingsEvaluation:
    """Evaluate many rankings as `exact` does; without `out`, `collect` receives the rows of each."""
    run = ExactRun(label, options or RankingOptions(), engine, progress, collect)
    return cast("RankingsEvaluation", kind_for("exact", {"per": ()}).exact(ranking, out, raw_options, run))


def rehearsal(
    ranking: Sequence[str],
    *,
    label: str = "label",
    labels: str | None = None,
    sample_of: str | None = None,
    out: Path | None = None,
    **raw_options: Any,
) -> Rehearsal:
    """Forecast what would be read, from footers."""
    options = take_ranking_options(None, raw_options)
    _ = make_own(LabelMeaning, raw_options)
    if sample_of is not None:
        raw_options.pop("at", None)
    if any(field.name in raw_options for field in fields(PerRanking)):
        raise InputError("--per does not go with --dry-run", "leave it out")
    with for_a_while(ranking, options) as source:
        drawn = [] if sample_of is None else [*(() if sample_of == ROWS else listed(sample_of)), *options.key]
        n_items, read = forecast_exact(source, options, [*([label] if labels is None else []), *dict.fromkeys(drawn)])
    writes = [out / name for name in kind_for("exact", {}).result.files(None)] if out else []
    head = f"Would evaluate {number_of(n_items, 'item')}."
    labels_forecast = forecast_labels([] if labels is None else [labels])
    return Rehearsal([head], n_items, n_items, ranking, read, writes, labels_forecast)


def printed(
    result: StudyResult,
    ranking: Sequence[str],
    label: str,
    labels: str | None,
    out: Path | None,
    engine: str,
    **_: Any,
) -> Printed:
    """Print results, and where the report is."""
    folder = out or Path()
    summary, report, kept = result.summary, None, None
    facts, lines = result.facts(folder), result.lines(folder)
    if out is not None:
        report = str(out / "report.html")
        lines = [*lines, f"Report: {report}"]
        label_sources = [asdict(forecast) for forecast in forecast_labels([labels] if labels else [])]
        read = {"source": list(ranking), "n_items": summary["n_items"], **summary["ranking"], "label": label,
                "labels": label_sources, **engine_facts(engine)}  # fmt: skip
        kept = Record(out, read, [out / name for name in result.written(None)])
    stage = {"rows": summary["n_items"], **{name: summary[name] for name in _TOLD if name in summary}}
    return Printed({**facts, "report": report}, lines, stage, record=kept)
