"""A study in a DuckDB connection of the user's own, beside their tables and other studies."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

import duckdb

from streameval.errors import InputError, outside_trouble
from streameval.labelling.duckdb_session import Connection, literal, quote
from streameval.text import first_line

FOLDER = "streameval-register"
"""Name of the temporary folders (`streameval.stores.temporary`) of databases that are attached."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MADE = re.compile(r"MACRO (?:TABLE )?temp\.main\.(\w+) ")  # comments tell the macros; helpers have none


def check_name(name: str) -> None:
    """Refuse what SQL would not take as a name without quotes."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is no name for SQL", "take letters, digits and _, and no digit first, such as monday"
        )


def file_name(study: str | os.PathLike[str], identity: str) -> str:
    """Name of the file that results of a study are attached from: it tells the study, and which results."""
    parts = (os.path.realpath(study), identity)
    return "-".join(hashlib.sha256(one.encode()).hexdigest()[:16] for one in parts) + ".duckdb"


def attach_statement(path: str | os.PathLike[str], name: str, known: str = "") -> str:
    """Attach a database that nobody may change; `known`: IF NOT EXISTS, or nothing."""
    return f"ATTACH {known}{literal(os.fspath(path))} AS {quote(name)} (READ_ONLY)"


def attach(connection: Connection, path: Path, name: str, macros: Sequence[str]) -> None:
    """Attach a database under a name, and create macros; the same again where it is there already.

    Args:
        path: In a folder called `FOLDER`, with the name that `file_name` gave. It may be removed afterwards, where the
            system lets go of a name before the last reader is gone.

    Raises:
        InputError: The name is taken by something else; what DuckDB says.
    """
    if not isinstance(connection, duckdb.DuckDBPyConnection):
        raise InputError(
            f"a {type(connection).__name__} is no connection of DuckDB", "give what duckdb.connect() gives"
        )
    try:
        there = _there(connection, name, path.name)
        _refuse_taken(connection, name, macros)
        if there not in (None, path.name):
            connection.execute(f"DETACH {quote(name)}")  # earlier results of the same study
        if there != path.name:
            connection.execute(attach_statement(path, name))
        for statement in macros:
            connection.execute(statement)
    except duckdb.Error as error:
        raise outside_trouble(error) or InputError(f"{name} cannot be registered: {first_line(error)}") from error


def _there(connection: Connection, name: str, file: str) -> str | None:
    """Name of the file that the study is attached from under this name by now; None where the name is free."""
    asked = "SELECT path FROM duckdb_databases() WHERE lower(database_name) = lower(?)"
    rows = connection.execute(asked, [name]).fetchall()
    if not rows:
        return None
    path = Path(rows[0][0] or "")
    if not path.parent.name.startswith(f".{FOLDER}."):
        raise InputError(f"{name} is a database of this connection already", "give the study another name")
    if path.name.partition("-")[0] != file.partition("-")[0]:
        raise InputError(f"{name} is another study in this connection", f"give another name, or DETACH {name} first")
    return path.name


def _refuse_taken(connection: Connection, name: str, macros: Sequence[str]) -> None:
    """Refuse a name that is one of a schema, or whose macros would hide others."""
    asked = "SELECT database_name FROM duckdb_schemas() WHERE lower(schema_name) = lower(?)"
    if rows := connection.execute(asked, [name]).fetchall():
        raise InputError(f"{name} is a schema of the database {rows[0][0]}", "give the study another name")
    made = list(dict.fromkeys(match[1] for match in map(_MADE.search, macros) if match))
    asked = """SELECT function_name FROM duckdb_functions() WHERE list_contains(?, lower(function_name))
               AND NOT (database_name = 'temp' AND contains(replace(lower(macro_definition), '"', ''), ?))
               ORDER BY ALL"""
    if rows := connection.execute(asked, [[one.lower() for one in made], f"from {name.lower()}.main."]).fetchall():
        raise InputError(f"{rows[0][0]} is a function of this connection already", "give the study another name")
