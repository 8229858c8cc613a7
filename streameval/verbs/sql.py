"""SQL: answers from a study's results, as a DuckDB file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa

from streameval.kinds import database_of
from streameval.options import takes
from streameval.stores.temporary import temporary_folder
from streameval.study.database.session import Session


@takes()
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
        memory: GB that the query may take, its answer included. Outside Linux, texts and lists that
            functions such as repeat make are not counted.

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
