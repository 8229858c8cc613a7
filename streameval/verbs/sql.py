"""SQL: a study's results as a DuckDB file, and answers from it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.reporting.sentences import band_meaning
from streameval.rows import open_rows
from streameval.rows.options import RankingOptions
from streameval.slices.files import slice_tables
from streameval.stores.temporary import temporary_folder
from streameval.study import Study
from streameval.study.database.rankings import SAMPLE_TABLES, plain_database, rankings_database
from streameval.study.database.session import Session
from streameval.study.database.writer import database, macro_statements
from streameval.study.provenance import commands
from streameval.study.rankings_files import RANKINGS, RankingsEvaluation, is_many, read_results
from streameval.study.rankings_sample import RankingsSample, is_sample, read_sample
from streameval.study.result_files import Evaluation
from streameval.types import Plan


def sql(
    study: str | os.PathLike[str],
    query: str,
    *,
    files: Mapping[str, str | os.PathLike[str]] | None = None,
    memory: float = 2.0,
) -> pa.Table:
    """Ask a study in SQL.

    Args:
        query: Of DuckDB's dialect, over the tables plan, selection, labels, curve, envelope, metrics, provenance, and
            the macros precision_at(k), recall_at(k), yield_at(k), f_measure(k, beta), rank_at_precision(x),
            rank_at_recall(x), threshold_at(k), and the aggregate weighted_mean(x, weight). Of a plan by slices also
            slices, slice_curve, slice_envelope, slice_metrics, slice_counts, and the same macros of one slice:
            slice_precision_at(s, k) … Of many rankings (`exact` with `per`): rankings, metrics, by_size, histograms,
            provenance, and no macros.
        files (mapping of name to path): Files that the query may read besides, each under its name.
        memory: GB that the query may take, its answer included.

    Returns:
        pyarrow.Table: Rows of the last statement.

    Raises:
        InputError: A query that is wrong, or that reads or writes other files.
        StudyError: There are no results, or they are a mixed set.
    """
    with connect(study, files=files, memory=memory) as session:
        return session.ask(query)


@contextmanager
def connect(
    study: str | os.PathLike[str],
    *,
    files: Mapping[str, str | os.PathLike[str]] | None = None,
    memory: float = 2.0,
) -> Iterator[Session]:
    """Open a database of a study, made from its files for the time being.

    study.duckdb is for other programs and is not opened: in a study from somebody else its views and macros could be
    anything.
    """
    with temporary_folder("streameval-sql") as room:
        path = room / "study.duckdb"
        database_of(study).write(str(path))
        with Session(path, files, memory) as session:
            yield session


@dataclass(frozen=True)
class Database:
    """The database of whatever a folder holds, made from its checked files.

    Attributes:
        write (callable(path)): Writes the whole file.
        identity: Of the results and of the columns of their items.
        macros (callable(name) -> list of str): What creates the macros for a connection that has it attached under a
            name; none for many rankings.
    """

    write: Callable[[str], None]
    identity: str
    macros: Callable[[str], list[str]] = lambda name: []


def database_of(study: str | os.PathLike[str]) -> Database:
    """Read the results of a folder; a `StudyError` where there are none, or they are a mixed set."""
    folder = Study(Path(study))
    if is_sample(folder.folder):
        sample = read_sample(folder.folder)
        return Database(sample_writer(sample), sample.evaluation_id)
    if is_many(folder.folder):
        many = read_results(folder.folder)
        return Database(rankings_writer(many, folder.folder / RANKINGS), many.evaluation_id)
    evaluation = folder.evaluation()
    tables, caution = _contents(folder, folder.plan() if folder.exists else None, evaluation)
    items = tables["selection"].column_names if "selection" in tables else []
    return Database(
        database(tables, caution),
        json.dumps([evaluation.evaluation_id, items]),
        lambda name: macro_statements(tables, caution, name),
    )


def rankings_writer(found: RankingsEvaluation, rankings: Path) -> Callable[[str], None]:
    """Give the writer of `study.duckdb` of many rankings, whose rows are in a file."""
    tables = {"metrics": found.metrics, "by_size": found.by_size, "histograms": found.histograms}
    return rankings_database(open_rows(str(rankings), RankingOptions()), tables, found.summary)


def sample_writer(found: RankingsSample) -> Callable[[str], None]:
    """Give the writer of `study.duckdb` of rankings that were drawn."""
    return plain_database(lambda: found.tables, SAMPLE_TABLES)


def writer(folder: Study, plan: Plan | None, evaluation: Evaluation) -> Callable[[str], None]:
    """Give the writer of `study.duckdb`; an evaluation without a plan has no tables plan and selection."""
    return database(*_contents(folder, plan, evaluation))


def _contents(folder: Study, plan: Plan | None, evaluation: Evaluation) -> tuple[dict[str, pa.Table], str]:
    """Tables of the database, and what the comments of bounds say besides."""
    tables: dict[str, pa.Table] = {}
    if plan is not None:
        tables["plan"] = plan.table
        selection = folder.selection(plan)
        if selection is not None:
            tables["selection"] = selection.replace_schema_metadata(None)
    tables["labels"] = evaluation.label_table.replace_schema_metadata(None)
    tables["curve"] = evaluation.curve_table.replace_schema_metadata(None)
    tables["envelope"] = evaluation.curve.envelope_table
    tables["metrics"] = evaluation.metrics.replace_schema_metadata(None)
    tables |= _slices(plan, evaluation)
    tables["provenance"] = _provenance(plan, evaluation)
    claim = evaluation.curve.claim
    weaker = claim.caution or claim.coverage in ("none", "conditional")
    return tables, f"Of the claim: {band_meaning(claim)}. {claim.caution}".rstrip() if weaker else ""


def _slices(plan: Plan | None, evaluation: Evaluation) -> dict[str, pa.Table]:
    """Tables of what was evaluation of slices; none without."""
    if plan is None or plan.marks is None:
        return {}
    counted = ("n_items", "planned", "labelled", "positive")
    kinds = {"name": pa.string(), **dict.fromkeys(counted, pa.int64()), **_BOUNDED, "findings": pa.string()}
    rows = [
        {**part.facts(), **_bounded(part.curve), "findings": json.dumps(list(part.curve.findings), ensure_ascii=False)}
        for part in evaluation.slices
    ]
    slices = pa.table({key: pa.array([row[key] for row in rows], kind) for key, kind in kinds.items()})
    files = {name.removesuffix(".parquet"): table for name, table in slice_tables(evaluation.slices).items()}
    return {"slices": slices.rename_columns({"name": "slice"}), **files, "slice_counts": plan.marks}


_BOUNDED = {
    "misses": pa.int64(),
    "misses_upper": pa.int64(),
    "positives_lower": pa.float64(),
    "positives_upper": pa.float64(),
    "positives": pa.float64(),
    "misses_estimate": pa.float64(),
    "coverage": pa.string(),
    "confidence": pa.float64(),
    "assumes": pa.string(),
    "about": pa.string(),
    "why": pa.string(),
    "proves": pa.bool_(),
}


def _bounded(curve: Curve) -> dict[str, Any]:
    """The facts of a list that macros need besides its envelope, and the claim of its bounds."""
    e = curve.envelope
    most = curve.misses if curve.misses_upper is None else curve.misses_upper
    own = (np.nan, np.nan) if curve.plug_in is None else (curve.plug_in.found, curve.plug_in.misses)
    found, missed = (None if np.isnan(one) else one for one in own)
    ends = {"misses": curve.misses, "misses_upper": most, "misses_estimate": missed}
    ends |= {"positives_lower": e.lower[-1], "positives_upper": e.upper[-1], "positives": found}
    return {**ends, **curve.claim.as_dict(), "proves": curve.proves}


def _provenance(plan: Plan | None, evaluation: Evaluation) -> pa.Table:
    curve, summary = evaluation.curve, evaluation.summary
    row: dict[str, tuple[Any, pa.DataType]] = {
        "evaluation_id": (evaluation.evaluation_id, pa.string()),
        "study": (summary.get("study"), pa.string()),
        "version": (summary["version"], pa.string()),
        "method": (summary.get("method"), pa.string()),
        "parameters": (json.dumps(summary.get("parameters", {})), pa.string()),
        "seed": (None if plan is None else str(plan.seed), pa.string()),
        "fingerprint": (None if plan is None else plan.ranking.get("fingerprint"), pa.string()),
        "n_items": (curve.n_items, pa.int64()),
        "estimates": (curve.basis, pa.string()),
        **{key: (value, _BOUNDED[key]) for key, value in _bounded(curve).items()},
        "findings": (json.dumps(list(curve.findings), ensure_ascii=False), pa.string()),
        "command": (None if plan is None else "\n".join(commands(plan, summary)), pa.string()),
    }
    return pa.table({key: pa.array([value], kind) for key, (value, kind) in row.items()})
