"""Runs and relevance judgements of TREC: `trec:RUN`, `trec:RUN#QRELS`, and files of that form by themselves.

A run has the columns query, document, rank, score and run; with judgements also relevance, 0 where nobody judged, or
below 0. Judgements by themselves have query, document and relevance. Names are texts, whatever they look like.
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
from streameval.labelling.duckdb_session import Connection, connected, in_batches, one_line_errors
from streameval.labelling.readers import file_digest, open_bytes
from streameval.labelling.readers.lines import lines_of
from streameval.parquet.files import is_text
from streameval.rows.options import RankingOptions
from streameval.stores.temporary import temporary_folder

READS = "TREC runs with judgements (trec:RUN#QRELS)"
_SCHEME = "trec:"
_RUN = re.compile(r"\S+\s+Q0\s+\S+\s+-?\d+\s+\S+\s+\S+\s*", re.IGNORECASE)
_QRELS = re.compile(r"\S+\s+\S+\s+\S+\s+-?\d+\s*")
_FIELDS = {"run": 6, "qrels": 4}
_HEAD = 4096
_FORMS = "a run has lines 'query Q0 document rank score run', judgements have 'query 0 document 1'"


def accepts(source: Any) -> bool:
    """Whether it is an address of a run, or a file whose first line is of that form."""
    paths = paths_of(source)
    if len(paths) != 1:
        return False
    return paths[0].startswith(_SCHEME) or (not is_text(paths[0]) and _form(paths[0]) is not None)


def _form(path: str) -> str | None:
    """Whether a file is a "run" or "qrels"; None for any other."""
    try:
        with open_bytes(path) as stream:
            first = stream.read(_HEAD).decode(errors="replace").lstrip("\ufeff").partition("\n")[0]
    except (OSError, EOFError):
        return None
    return "run" if _RUN.fullmatch(first) else "qrels" if _QRELS.fullmatch(first) else None


@contextmanager
def open_list(source: Any, options: RankingOptions) -> Iterator[RowsOnce]:
    """Read the lines, and join the judgements to them."""
    (given,) = paths_of(source)
    path, _, judged = given.removeprefix(_SCHEME).partition("#")
    files = [os.path.abspath(one) for one in (path, judged) if one]
    for one in files:
        if not os.path.isfile(one):
            raise InputError(f"{one}: no such file", "an address is trec:RUN#QRELS, both files")
    form = _form(path)
    memory = f"{max(256, int(options.memory * 500))}MB"
    with (
        temporary_folder("streameval-work") as spill,
        connected(str(spill), memory) as connection,
        one_line_errors(path, "correct it there"),
    ):
        if form is None or (judged and (form, _form(judged)) != ("run", "qrels")):
            raise InputError(f"{path if form is None else judged}: its first line is not of a TREC file", _FORMS)
        _split(connection, path, form)
        if judged:
            _split(connection, judged, "qrels")
            _refuse_two_judgements(connection, judged)
        reader = in_batches(connection.sql(_QUERIES[form if not judged else "judged"]), rows_at_once(64))
        content = "-".join(file_digest(one)() for one in files)
        yield RowsOnce((f"{_SCHEME}{'#'.join(files)}",), options, reader, content)


_COLUMNS = "field[1] AS query, field[3] AS document"
_GRADE = "greatest(0, field[4]::BIGINT)"
_OF_RUN = f"{_COLUMNS}, field[4]::BIGINT AS rank, field[5]::DOUBLE AS score, field[6] AS run"
_QUERIES = {
    "run": f"SELECT {_OF_RUN} FROM run",
    "qrels": f"SELECT {_COLUMNS}, {_GRADE} AS relevance FROM qrels",
    "judged": f"""SELECT asked.* EXCLUDE (place), coalesce(grade, 0) AS relevance
        FROM (SELECT {_OF_RUN}, place FROM run) AS asked
        LEFT JOIN (SELECT {_COLUMNS}, max({_GRADE}) AS grade FROM qrels GROUP BY ALL) USING (query, document)
        ORDER BY place""",
}


def _split(connection: Connection, path: str, form: str) -> None:
    """Make a view of the fields of each line; an `InputError` names the first line that has others."""
    connection.execute(
        f"CREATE TEMP VIEW {form} AS SELECT string_split_regex(trim(line), '\\s+') AS field, place FROM "
        f"(SELECT line, row_number() OVER () AS place FROM {lines_of(path)}) WHERE trim(line) <> ''"
    )
    numbers = "try_cast(field[4] AS BIGINT) IS NULL" + (" OR try_cast(field[5] AS DOUBLE) IS NULL" * (form == "run"))
    wrong, line = connection.execute(
        f"SELECT count(*), min(place) FROM {form} WHERE len(field) <> {_FIELDS[form]} OR {numbers}"
    ).fetchall()[0]
    if wrong:
        are = "line is" if wrong == 1 else "lines are"
        raise InputError(f"{path}: {wrong:,} {are} not of {_FIELDS[form]} fields, with numbers where they belong "
                         f"(first: line {line:,})", "mend or remove what is wrong")  # fmt: skip


def _refuse_two_judgements(connection: Connection, path: str) -> None:
    twice = connection.execute(
        f"SELECT {_COLUMNS} FROM qrels GROUP BY ALL HAVING count(DISTINCT {_GRADE}) > 1 ORDER BY ALL LIMIT 1"
    ).fetchall()
    if twice:
        raise InputError(f"{path}: document '{twice[0][1]}' has two judgements for query '{twice[0][0]}'",
                         "leave one of them")  # fmt: skip
