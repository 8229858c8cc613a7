"""`streameval sql`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from streameval.cli.options import Switch
from streameval.cli.output import Output
from streameval.errors import InputError
from streameval.text import number_of

# of a macro that is a scalar and a table, the scalar; DuckDB 1 orders a union only by its columns
_LISTING = """
SELECT * FROM (
SELECT table_name AS name, 'table' AS kind, coalesce(comment, '') AS comment FROM duckdb_tables()
UNION ALL SELECT view_name, 'file', '' FROM duckdb_views() WHERE NOT internal
UNION ALL SELECT format('{}({})', function_name, array_to_string(parameters, ', ')), 'macro', comment
FROM duckdb_functions() WHERE function_type = 'macro' AND NOT internal AND comment IS NOT NULL
) ORDER BY kind = 'macro', name"""


def sql(
    study: Path,
    query: str | None = None,
    /,
    *,
    out: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    overwrite: Switch = False,
    files: Annotated[list[str] | None, Parameter(name="--with", negative_iterable="")] = None,
    macros: str | None = None,
    memory: float = 2.0,
    output: Output = Output(),
) -> None:
    """Ask a study in SQL.

    Tables: plan, selection, labels, curve, envelope, metrics, provenance.

    Macros: precision_at(k), recall_at(k), yield_at(k), f_measure(k, beta), rank_at_precision(x), rank_at_recall(x),
    threshold_at(k); averages over the list: SELECT weighted_mean(label, weight) FROM labels. What cannot be asked, such
    as a rank beyond the list, is an error.

    Example: streameval sql my-study "SELECT rank_at_precision(0.9)"

    Args:
        study: Folder of an evaluated study.
        query: In DuckDB's dialect; without one, a prompt on a terminal, or what is piped in; where that is nothing, the
            tables and macros are listed.
        out: File for the rows, .parquet or .csv, instead of printing them; - prints CSV.
        overwrite: Replace that file if it is there and differs.
        files: NAME=PATH: a Parquet or CSV file, or a folder of Parquet, that the query may read as NAME; may be
            repeated.
        macros: NAME: ask nothing, and print SQL for a DuckDB of your own: it attaches the study as NAME, read-only, and
            makes macros NAME_precision_at(k) and so on, so that several studies answer beside your tables.
        memory: GB that a query may take, its answer included. Outside Linux, texts and lists that
            functions such as repeat make are not counted.
    """
    from streameval.cli import rows
    from streameval.cli.prompt import ask_in_turn
    from streameval.stores.atomic import refuse_needless
    from streameval.verbs.sql import connect

    refuse_needless("replaced" if overwrite else "kept", out=None if out == rows.STDOUT else out)
    if macros is not None:
        _print_macros(study, macros, output, query is not None or out is not None or bool(files))
        return
    if out is not None:
        rows.refuse_form(out)
    if out == rows.STDOUT and output.json:
        raise InputError("rows take one form", "leave out --json, or --out -")
    at_prompt = query is None and sys.stdin.isatty()
    if at_prompt and (output.json or out is not None):
        raise InputError("the prompt shows tables only", "give a query beside --json or --out")
    with connect(study, files=_tables_by_name(files or []), memory=memory) as session:
        if at_prompt:
            ask_in_turn(session)
            return
        statement = query if query is not None else sys.stdin.read()
        table = session.ask(statement if statement.strip() else _LISTING)
    if out == rows.STDOUT:
        rows.print_csv(table)
    elif out is not None:
        rows.write(table, out, "replaced" if overwrite else "kept")
        output.say({"rows": table.num_rows, "out": str(out)}, [f"{number_of(table.num_rows, 'row')}: {out}"])
    elif output.json:
        output.say({"rows": rows.as_json(table)}, [])
    elif statement.strip():
        output.say({}, rows.as_table(table))
    else:
        output.say({}, _listing_lines(table.to_pylist()))


def _listing_lines(rows: list[dict[str, str]]) -> list[str]:
    """Tables and macros below each other, with what they hold or answer."""
    width = max(len(row["name"]) for row in rows)
    return [f"{row['name']:{width}}  {row['comment']}".rstrip() for row in rows]


def _print_macros(study: Path, name: str, output: Output, strangers: bool) -> None:
    from streameval.verbs.register import registering

    if strangers:
        raise InputError("--macros prints SQL, and asks nothing", "leave out the query, --with and --out")
    statements = [f"{statement};" for statement in registering(study, name)]
    output.say({"statements": statements}, [line for statement in statements for line in statement.splitlines()])


def _tables_by_name(files: list[str]) -> dict[str, str]:
    named = {}
    for file in files:
        name, equals, path = file.partition("=")
        if not (name and equals and path):
            raise InputError(f"--with {file}: not NAME=PATH", "such as --with lake=/data/lake.parquet")
        if name in named:
            raise InputError(f"--with {name} is given twice", "give each file a name of its own")
        named[name] = path
    return named
