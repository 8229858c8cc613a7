"""Ask a study's database, read-only, with no file in reach but those that were named; or from the user's connection."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from threading import Thread

import duckdb
import pyarrow as pa

from streameval.errors import InputError, outside_trouble
from streameval.labelling.duckdb_session import Connection, in_batches, literal, quote, unique_names
from streameval.process.interrupts import hold_interrupts
from streameval.process.system import at_most
from streameval.study.database.comments import TABLES
from streameval.text import first_line

FOLDER = "streameval-register"
"""Name of the temporary folders (`streameval.stores.temporary`) of databases that are attached."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MADE = re.compile(r"MACRO (?:TABLE )?temp\.main\.(\w+) ")  # comments tell the macros; helpers have none
# What can write into a folder that was named for reading (COPY, EXPORT, ATTACH, PREPARE, PRAGMA import_database …) is
# told by the kind of statement, since DuckDB's allowed paths may be written to.
_Statement = duckdb.StatementType
_ANSWERED = {
    _Statement.SELECT, _Statement.SET, _Statement.CREATE, _Statement.DROP, _Statement.INSERT, _Statement.UPDATE,
    _Statement.DELETE, _Statement.MERGE_INTO, _Statement.TRANSACTION,
}  # fmt: skip
_ASKS = {_Statement.SELECT, _Statement.EXPLAIN, _Statement.MULTI}
# a pivot is several statements, and so is whatever holds one: COPY too
_SEVERAL = re.compile(r"[\s(]*(PIVOT|PIVOT_WIDER|FROM|SELECT|WITH)\b", re.IGNORECASE)
_EXPLAIN = re.compile(r"EXPLAIN\s+(?:ANALYZE\s+)?(\([^()]*\))?", re.IGNORECASE)
_BATCH_ROWS = 1 << 16
_BESIDE = 1 << 29  # bytes that threads and libraries take beside what is counted
_PATIENCE = 10  # tenths of a second in which a query that is interrupted may stop


def check_name(name: str) -> None:
    """Refuse what SQL would not take as a name without quotes."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is no name for SQL", "take letters, digits and _, and no digit first, such as monday"
        )


def file_name(study: str | os.PathLike[str], identity: str) -> str:
    """Name of the file that results of a study are attached from: it tells the study, and which results."""
    parts = (os.path.realpath(study), identity)
    return "-".join(hashlib.sha256(part.encode()).hexdigest()[:16] for part in parts) + ".duckdb"


def attach_statement(path: str | os.PathLike[str], name: str, condition: str = "") -> str:
    """Attach a database that nobody may change; `condition`: IF NOT EXISTS, or nothing."""
    return f"ATTACH {condition}{literal(os.fspath(path))} AS {quote(name)} (READ_ONLY)"


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
        there = _attached_file(connection, name, path.name)
        _refuse_taken(connection, name, macros)
        if there not in (None, path.name):
            connection.execute(f"DETACH {quote(name)}")  # earlier results of the same study
        if there != path.name:
            connection.execute(attach_statement(path, name))
        for statement in macros:
            connection.execute(statement)
    except duckdb.Error as error:
        raise outside_trouble(error) or InputError(f"{name} cannot be registered: {first_line(error)}") from error


def _attached_file(connection: Connection, name: str, file: str) -> str | None:
    """Name of the file that the study is attached from under this name by now; None where the name is free."""
    query = "SELECT path FROM duckdb_databases() WHERE lower(database_name) = lower(?)"
    rows = connection.execute(query, [name]).fetchall()
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
    query = "SELECT database_name FROM duckdb_schemas() WHERE lower(schema_name) = lower(?)"
    if rows := connection.execute(query, [name]).fetchall():
        raise InputError(f"{name} is a schema of the database {rows[0][0]}", "give the study another name")
    created = list(dict.fromkeys(match[1] for match in map(_MADE.search, macros) if match))
    query = """SELECT function_name FROM duckdb_functions() WHERE list_contains(?, lower(function_name))
               AND NOT (database_name = 'temp' AND contains(replace(lower(macro_definition), '"', ''), ?))
               ORDER BY ALL"""
    if rows := connection.execute(
        query, [[macro.lower() for macro in created], f"from {name.lower()}.main."]
    ).fetchall():
        raise InputError(f"{rows[0][0]} is a function of this connection already", "give the study another name")


class Session:
    """An open database; close it, or use it in a `with`.

    Args:
        path: study.duckdb.
        files (mapping of str to path): Views to offer beside the study's tables, each of one Parquet or CSV file, or of
            a folder of Parquet files. They are read and never written.
        memory: GB that a query may take, its answer included.

    Raises:
        InputError: A name or file that cannot be used.
    """

    def __init__(
        self, path: Path, files: Mapping[str, str | os.PathLike[str]] | None = None, memory: float = 2.0
    ) -> None:
        if not 0 < memory < 1e6:
            raise InputError(f"--memory is {memory}", "give gigabytes, such as 2")
        self._memory = int(memory * 1e9)
        self._left = False
        attached = {name: os.path.abspath(os.fspath(file)) for name, file in (files or {}).items()}
        for name in attached:
            if name.lower() in TABLES:  # the macros read these tables by name
                raise InputError(f"{name} is a table of the study", "give the file another name")
        try:
            self._connection = duckdb.connect(str(path), read_only=True)
            self._connection.execute("SET temp_directory = ''; SET python_enable_replacements = false")
            self._connection.execute(f"SET memory_limit = '{self._memory}B'")
            self._restrict(attached)
            for name, file in attached.items():
                self._offer(name, file)
            self._connection.execute("SET lock_configuration = true")
        except duckdb.Error as error:
            raise _refusal(error, str(path)) from error

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._left:
            self._connection.close()

    def ask(self, query: str) -> pa.Table:
        """Run one or more statements, of which the last one alone may ask; its rows.

        Raises:
            InputError: What DuckDB says of a query that is wrong, or that would write or read files; an answer that
                would be lost.
            KeyboardInterrupt: Ctrl-C, after the query has stopped, or has not within a second, and is left behind.
        """
        try:
            return self._interruptible(query)
        except duckdb.Error as error:
            raise _refusal(error, "the query") from error

    def is_whole(self, text: str) -> bool:
        """Tell whether a text ends with the semicolon of a statement: none of a string or comment."""
        tokens = [at for at, kind in duckdb.tokenize(text) if kind != duckdb.token_type.comment]
        return bool(tokens) and text.encode()[tokens[-1] :].startswith(b";")

    def _interruptible(self, query: str) -> pa.Table:
        """Run a query in a thread: DuckDB does not notice Ctrl-C while it works, and is interrupted until it stops.

        It does not count the texts and lists that functions make either, so the system limits what the process takes.
        """
        answer: Future[pa.Table] = Future()
        with hold_interrupts() as arrived, at_most(self._memory + _BESIDE):
            statements = self._connection.extract_statements(query)
            for statement in statements:
                self._refuse_writing(statement)
            if any(statement.type in _ASKS for statement in statements[:-1]):
                raise InputError("several statements ask, and only the last would be answered", "ask one at a time")
            # a daemon: the end of the program does not wait for a query that is left
            Thread(target=self._answer, args=(query, answer), daemon=True).start()
            patience = _PATIENCE
            while not wait([answer], timeout=0.1).done and patience:
                if arrived:
                    self._connection.interrupt()
                    patience -= 1
            self._left = not answer.done()  # a single long call, within which DuckDB hears nothing
        return answer.result()

    def _answer(self, query: str, future: Future[pa.Table]) -> None:
        try:
            answer = self._connection.sql(query)
            rows = pa.table({}) if answer is None else self._table(in_batches(answer, _BATCH_ROWS))
            future.set_result(rows.rename_columns(unique_names(rows.column_names)))
        except BaseException as error:  # whatever it is, who waits raises it
            future.set_exception(error)

    def _table(self, rows: pa.RecordBatchReader) -> pa.Table:
        batches, left = [], self._memory
        for batch in rows:
            batches.append(batch)
            left -= batch.nbytes
            if left < 0:
                raise InputError(
                    f"the answer takes more than the {self._memory / 1e9:g} GB that it may", "add LIMIT, or --memory GB"
                )
        return pa.Table.from_batches(batches, rows.schema)

    def _refuse_writing(self, statement: duckdb.Statement) -> None:
        kind, text = _kind(statement), statement.query.strip()
        if kind == _Statement.EXPLAIN and self._explains_a_question(text):
            return
        if kind in _ANSWERED or (kind == _Statement.MULTI and _SEVERAL.match(text)):
            return
        word = (text.split(None, 1) or ["nothing"])[0].upper()[:20]
        raise InputError(f"{word} is not allowed: the query asks, and writes no file",
                         "ask with SELECT, SHOW TABLES, DESCRIBE; --out writes rows")  # fmt: skip

    def _explains_a_question(self, text: str) -> bool:
        """Tell whether what is explained, and with ANALYZE run, is a SELECT; no, where that is not plain."""
        match = _EXPLAIN.match(text)
        if match is None:
            return False
        options = match[1] or ""  # or the question itself, in parentheses
        return any(self._asks(before + text[match.end() :]) for before in {"", options})

    def _asks(self, text: str) -> bool:
        try:
            return [_kind(statement) for statement in self._connection.extract_statements(text)] == [_Statement.SELECT]
        except duckdb.Error:
            return False

    def _restrict(self, attached: Mapping[str, str]) -> None:
        folders = [file + os.sep for file in attached.values() if os.path.isdir(file)]
        files = [file for file in attached.values() if not os.path.isdir(file)]
        for setting, paths in (("allowed_directories", folders), ("allowed_paths", files)):
            if paths:
                self._connection.execute(f"SET {setting} = [{', '.join(map(literal, paths))}]")
        self._connection.execute("SET enable_external_access = false")

    def _offer(self, name: str, file: str) -> None:
        if not os.path.exists(file):
            raise InputError(f"{file}: no such file")
        plain = re.sub(r"[\[*?]", r"[\g<0>]", file)  # a path is one file, never a pattern
        if os.path.isdir(file):
            reader = f"read_parquet({literal(plain + '/**/*.parquet')})"
        else:
            with open(file, "rb") as stream:
                parquet = stream.read(4) == b"PAR1"
            reader = f"{'read_parquet' if parquet else 'read_csv'}({literal(plain)})"
        self._connection.execute(f"CREATE TEMP VIEW {quote(name)} AS SELECT * FROM {reader}")


def _kind(statement: duckdb.Statement) -> duckdb.StatementType | None:
    """Give what a statement does; None for kinds that DuckDB's Python has no word for, such as UPDATE EXTENSIONS."""
    try:
        return statement.type
    except ValueError:
        return None


def _refusal(error: duckdb.Error, where: str) -> Exception:
    """DuckDB's message in one line."""
    text = str(error).split("\n\nLINE ")[0]
    if isinstance(error, duckdb.PermissionException):
        return InputError(f"{where} reads or writes files, which is not allowed", "name files with --with NAME=PATH")
    if isinstance(error, duckdb.OutOfMemoryException) or "Allocation failure" in text:
        return InputError(f"{where} takes more memory than it may", "ask for less at a time, or give --memory GB")
    message = " ".join(text.split())[:400]
    if isinstance(error, duckdb.InvalidInputException):  # a value that a function, such as one of our macros, refuses
        return InputError(message.removeprefix("Invalid Input Error: "))
    return outside_trouble(error) or InputError(f"{where} cannot be run: {message}", "SHOW TABLES lists what there is")
