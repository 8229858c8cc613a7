"""Runs and relevance judgements of TREC: `trec:RUN`, `trec:RUN#QRELS`, and files of that form by themselves.

A run has the columns query, document, rank, score and run; with judgements also relevance, 0 where nobody judged.
Judgements by themselves have query, document and relevance; one below 0 says that nobody judged, and is left out. Names
are texts, whatever they look like. What trec_eval takes is taken: the second field, the rank and what stands behind the
score may be anything or, but for the first two, nothing; blank lines and those that begin with # are passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from streameval.copies import paths_of, rows_at_once
from streameval.copies.streams import RowsOnce
from streameval.errors import InputError
from streameval.labelling.duckdb_session import Connection, in_batches, one_line_errors, open_session
from streameval.labelling.readers import file_digest, open_bytes
from streameval.labelling.readers.lines import lines_of
from streameval.parquet.files import is_text
from streameval.rows.options import RankingOptions
from streameval.stores.temporary import temporary_folder

READS = "TREC runs with judgements (trec:RUN#QRELS)"
_SCHEME = "trec:"
_RUN = re.compile(r"\s*\S+\s+\S+\s+\S+\s+\S+\s+[-+]?\.?\d\S*(\s.*)?")
_PLAIN_RUN = re.compile(r"\s*\S+\s+Q0\s+\S+\s+\S+\s+[-+]?\.?\d\S*(\s.*)?", re.IGNORECASE)
_QRELS = re.compile(r"\s*\S+\s+\S+\s+\S+\s+-?\d+\s*")
_HEAD = 1 << 16
_FORMS = "a run has lines 'query Q0 document rank score run', judgements have 'query 0 document 1'"
_LINES = {
    "run": ("query, Q0, document, rank and score", "len(field) < 5 OR try_cast(field[5] AS DOUBLE) IS NULL"),
    "qrels": ("query, 0, document and a whole number", "len(field) <> 4 OR try_cast(field[4] AS BIGINT) IS NULL"),
}


def accepts(source: Any) -> bool:
    """Tell whether it is an address of a run, or a file whose first line is of that form, with Q0 where it is a run."""
    paths = paths_of(source)
    if len(paths) != 1:
        return False
    return paths[0].startswith(_SCHEME) or (not is_text(paths[0]) and _form(paths[0], _PLAIN_RUN) is not None)


def _form(path: str, run: re.Pattern[str] = _RUN) -> str | None:
    """Tell whether a file is a "run" or "qrels", by its first line that says something; None for any other."""
    try:
        with open_bytes(path) as stream:
            lines = stream.read(_HEAD).decode(errors="replace").lstrip("\ufeff").split("\n")
    except (OSError, EOFError):
        return None
    first = next((line.rstrip() for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    return "run" if run.fullmatch(first) else "qrels" if _QRELS.fullmatch(first) else None


def holds_judgements(source: Any) -> bool:
    """Tell whether a source is a file of judgements by themselves."""
    paths = paths_of(source)
    return accepts(source) and "#" not in paths[0] and _form(paths[0].removeprefix(_SCHEME)) == "qrels"


def judgements_of(source: Any) -> str | None:
    """Address of the judgements that a run is given with; None of any other source."""
    paths = paths_of(source)
    if len(paths) != 1 or not paths[0].startswith(_SCHEME):
        return None
    judged = paths[0].partition("#")[2]
    return f"{_SCHEME}{judged}" if judged else None


@contextmanager
def open_list(source: Any, options: RankingOptions) -> Iterator[RowsOnce]:
    """Read the lines, and join the judgements to them."""
    (address,) = paths_of(source)
    path, _, judged = address.removeprefix(_SCHEME).partition("#")
    files = [os.path.abspath(file) for file in (path, judged) if file]
    for file in files:
        if not os.path.isfile(file):
            raise InputError(f"{file}: no such file", "an address is trec:RUN#QRELS, both files")
    form = _form(path)
    memory = f"{max(256, int(options.memory * 500))}MB"
    with (
        temporary_folder("streameval-work") as spill,
        open_session(str(spill), memory) as connection,
        one_line_errors(path, "correct it there"),
    ):
        if form is None or (judged and (form, _form(judged)) != ("run", "qrels")):
            raise InputError(f"{path if form is None else judged}: its first line is not of a TREC file", _FORMS)
        _split(connection, path, form)
        if judged:
            _split(connection, judged, "qrels")
            _refuse_two_judgements(connection, judged)
        reader = in_batches(connection.sql(_QUERIES[form if not judged else "judged"]), rows_at_once(64))
        content = "-".join(file_digest(file)() for file in files)
        yield RowsOnce((f"{_SCHEME}{'#'.join(files)}",), options, reader, content)


_COLUMNS = "field[1] AS query, field[3] AS document"
_GRADE = "field[4]::BIGINT"
_OF_RUN = f"{_COLUMNS}, try_cast(field[4] AS BIGINT) AS rank, field[5]::DOUBLE AS score, field[6] AS run"
_JUDGED = f"SELECT {_COLUMNS}, {_GRADE} AS relevance FROM qrels WHERE {_GRADE} >= 0"
_QUERIES = {
    "run": f"SELECT {_OF_RUN} FROM run",
    "qrels": _JUDGED,
    "judged": f"""SELECT asked.* EXCLUDE (place), coalesce(relevance, 0) AS relevance
        FROM (SELECT {_OF_RUN}, place FROM run) AS asked
        LEFT JOIN (SELECT DISTINCT * FROM ({_JUDGED})) USING (query, document)
        ORDER BY place""",
}


def _split(connection: Connection, path: str, form: str) -> None:
    """Make a view of the fields of each line; an `InputError` names the first line that has others."""
    connection.execute(
        f"CREATE TEMP VIEW {form} AS SELECT field, place FROM (SELECT regexp_extract_all(line, '[^\\s\\v]+') AS field, "
        f"row_number() OVER () AS place FROM {lines_of(path)}) WHERE len(field) > 0 AND field[1] NOT LIKE '#%'"
    )
    holds, is_wrong = _LINES[form]
    wrong, line = connection.execute(f"SELECT count(*), min(place) FROM {form} WHERE {is_wrong}").fetchall()[0]
    if wrong:
        lines = "1 line does" if wrong == 1 else f"{wrong:,} lines do"
        raise InputError(f"{path}: {lines} not hold {holds} (first: line {line:,})", "mend or remove what is wrong")


def _refuse_two_judgements(connection: Connection, path: str) -> None:
    twice = connection.execute(
        f"SELECT {_COLUMNS} FROM qrels GROUP BY ALL HAVING count(DISTINCT {_GRADE}) > 1 ORDER BY ALL LIMIT 1"
    ).fetchall()
    if twice:
        raise InputError(f"{path}: document '{twice[0][1]}' has two judgements for query '{twice[0][0]}'",
                         "leave one of them")  # fmt: skip
