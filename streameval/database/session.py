"""Ask a study's database: read-only, and no file in reach but those that were named."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pyarrow as pa

from streameval.database.writer import literal, name
from streameval.errors import InputError, outside_trouble


class Session:
    """An open database; close it, or use it in a `with`.

    Parameters
    ----------
    path : Path
        study.duckdb.
    files : mapping of str to path
        Views to offer beside the study's tables, each of one Parquet or CSV file, or of a folder of Parquet files.

    Raises
    ------
    InputError
        A name or file that cannot be used.
    """

    def __init__(self, path: Path, files: Mapping[str, str | os.PathLike[str]] | None = None) -> None:
        given = {one: os.path.abspath(os.fspath(file)) for one, file in (files or {}).items()}
        try:
            self._connection = duckdb.connect(str(path), read_only=True)
            self._connection.execute("SET temp_directory = ''; SET python_enable_replacements = false")
            self._restrict(given)
            for one, file in given.items():
                self._offer(one, file)
            self._connection.execute("SET lock_configuration = true")
        except duckdb.Error as error:
            raise _refusal(error, str(path)) from error

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(self, query: str) -> pa.Table:
        """Run one or more statements; the last one's rows.

        Raises
        ------
        InputError
            What DuckDB says of a query that is wrong, or that would write or read files.
        """
        try:
            answer = self._connection.sql(query)
            return pa.table({}) if answer is None else answer.to_arrow_table()
        except duckdb.Error as error:
            raise _refusal(error, "the query") from error

    def _restrict(self, given: Mapping[str, str]) -> None:
        folders = [file + os.sep for file in given.values() if os.path.isdir(file)]
        files = [file for file in given.values() if not os.path.isdir(file)]
        for setting, paths in (("allowed_directories", folders), ("allowed_paths", files)):
            if paths:
                self._connection.execute(f"SET {setting} = [{', '.join(map(literal, paths))}]")
        self._connection.execute("SET enable_external_access = false")

    def _offer(self, one: str, file: str) -> None:
        if not os.path.exists(file):
            raise InputError(f"{file}: no such file")
        plain = re.sub(r"[\[*?]", r"[\g<0>]", file)  # a path is one file, never a pattern
        if os.path.isdir(file):
            reader = f"read_parquet({literal(plain + '/**/*.parquet')})"
        else:
            with open(file, "rb") as stream:
                parquet = stream.read(4) == b"PAR1"
            reader = f"{'read_parquet' if parquet else 'read_csv'}({literal(plain)})"
        self._connection.execute(f"CREATE TEMP VIEW {name(one)} AS SELECT * FROM {reader}")


def _refusal(error: duckdb.Error, where: str) -> Exception:
    """Say in one line what DuckDB says in many."""
    text = str(error).split("\n\nLINE ")[0]
    if isinstance(error, duckdb.PermissionException):
        return InputError(f"{where} reads or writes files, which is not allowed", "name files with --with NAME=PATH")
    return outside_trouble(error) or InputError(" ".join(text.split())[:400])
