"""`streameval sql`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from streameval.cli.output import Output, columns
from streameval.errors import InputError, StreamevalError
from streameval.printable import printable

if TYPE_CHECKING:
    import pyarrow as pa

    from streameval.database.session import Session

_PLAIN = Output()
_SHOWN = 100  # rows on a terminal


def sql(
    study: Path,
    query: str | None = None,
    *,
    csv: Annotated[bool, Parameter(negative="")] = False,
    parquet: Path | None = None,
    files: Annotated[list[str] | None, Parameter(name="--with", negative_iterable="")] = None,
    output: Output = _PLAIN,
) -> None:
    """Ask a study in SQL: tables plan, selection, labels, curve, envelope, metrics, provenance, and macros.

    Macros: precision_at(k), recall_at(k), yield_at(k), f_measure(k, beta), rank_at_precision(x), rank_at_recall(x),
    threshold_at(k).

    Example: streameval sql my-study "SELECT rank_at_precision(0.9)"

    Parameters
    ----------
    study
        Folder of an evaluated study.
    query
        In DuckDB's dialect; without one, a prompt on a terminal, or what is piped in.
    csv
        Print CSV.
    parquet
        Write the rows to this Parquet file instead of printing them.
    files
        NAME=PATH: a Parquet or CSV file, or a folder of Parquet, that the query may read as NAME; may be repeated.
    """
    from streameval.verbs.sql import connect

    if csv + output.json + (parquet is not None) > 1:
        raise InputError("rows take one form", "give one of --json, --csv, --parquet")
    with connect(study, files=_named(files or [])) as session:
        if query is None and sys.stdin.isatty():
            _prompt(session)
            return
        found = session.ask(query if query is not None else sys.stdin.read())
    if parquet is not None:
        from streameval import atomic

        atomic.write_all({parquet: atomic.parquet(found, {})})
        output.say({}, [f"{found.num_rows:,} rows: {parquet}"])
    elif csv:
        _print_csv(found)
    else:
        output.say({"rows": [_plain(row) for row in found.to_pylist()]} if output.json else {}, _table(found))


def _named(files: list[str]) -> dict[str, str]:
    named = {}
    for one in files:
        name, equals, path = one.partition("=")
        if not (name and equals and path):
            raise InputError(f"--with {one}: not NAME=PATH", "such as --with lake=/data/lake.parquet")
        named[name] = path
    return named


def _prompt(session: Session) -> None:
    """Ask for statements, each up to its semicolon, until end of input."""
    import readline  # noqa: F401  (gives `input` its history)

    print("Tables: plan, selection, labels, curve, envelope, metrics, provenance. End with ';', leave with Ctrl-D.")
    lines: list[str] = []
    while True:
        try:
            lines.append(input("   ...> " if lines else "study> "))
        except EOFError:
            print()
            return
        text = "\n".join(lines).strip()
        if text.endswith(";") or not text:
            lines = []
            try:
                print("\n".join(_table(session.ask(text))) if text else "", end="\n" if text else "")
            except StreamevalError as error:
                print(printable(str(error)))


def _table(found: pa.Table) -> list[str]:
    """Every row where the output is piped, the first ones on a terminal."""
    if not found.num_columns:
        return []
    rows = found.num_rows if not sys.stdout.isatty() else min(found.num_rows, _SHOWN)
    names = found.column_names
    cells = [
        [_cell(row) for row in values] for values in zip(*(c[:rows].to_pylist() for c in found.columns), strict=True)
    ]
    more = [f"... {found.num_rows - rows:,} more rows"] if rows < found.num_rows else []
    return [*columns(names, cells), *more]


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_cell(one)}" for key, one in value.items())
    return str(value)


def _plain(value: Any) -> Any:
    """Only what JSON has."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _print_csv(found: pa.Table) -> None:
    """Print faithfully to a file or pipe; to a terminal without what it would obey."""
    import csv
    import json

    shown = printable if sys.stdout.isatty() else str
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([shown(name) for name in found.column_names])
    for row in zip(*(column.to_pylist() for column in found.columns), strict=True):
        cells = (json.dumps(_plain(one)) if isinstance(one, dict | list) else one for one in row)
        writer.writerow(["" if one is None else shown(str(one)) for one in cells])
