"""Text files: CSV and TSV with a head, JSON lines, an array of JSON; packed by gzip too; one, several, a folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.copies import Unread, paths_of, rows_at_once, trec
from streameval.copies.column_types import ColumnTypes, as_types, column_names, refuse_odd_head, types_of
from streameval.errors import InputError, NoRowsError
from streameval.labelling.duckdb_session import Connection, in_batches, one_line_errors, open_session
from streameval.labelling.hints import cells
from streameval.labelling.readers import ROW, Opened, file_digest, is_address, open_bytes, open_source
from streameval.parquet.files import has_pattern, in_file_order, is_text, list_below, matching
from streameval.rows.options import RankingOptions
from streameval.stores import is_remote
from streameval.stores.local import LOCAL
from streameval.stores.temporary import temporary_folder
from streameval.stores.transfer import local_copy
from streameval.text import number_of
from streameval.text.credentials import masked_source
from streameval.typing import Int64Array

READS = "CSV, TSV, JSON, JSONL"
_HEAD = 4096
_TYPES = {"BIGINT": pa.int64(), "UBIGINT": pa.uint64(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(),
          "DATE": pa.date32(), "TIMESTAMP": pa.timestamp("us"), "VARCHAR": pa.string()}  # fmt: skip


def accepts(source: Any) -> bool:
    """Tell whether the first thing that it names is a text, or a folder of texts without a Parquet file."""
    paths = paths_of(source)
    return bool(paths) and not is_address(paths[0]) and _holds_text(paths[0]) and not trec.accepts(source)


def _holds_text(path: str) -> bool:
    if os.path.isdir(path):
        return any(map(is_text, list_below(path)))
    if is_remote(path) or not os.path.isfile(path):
        return (is_remote(path) or has_pattern(path)) and is_text(path)
    return is_text(path) or _reads_as_text(path)


def _reads_as_text(path: str) -> bool:
    """Tell whether a file of another name begins as a text does, and has the fields of a table in its first line."""
    try:
        with open_bytes(path) as stream:
            head = stream.read(_HEAD)
        first = head.removeprefix(b"\xef\xbb\xbf").splitlines()[0].decode()
    except (OSError, EOFError, IndexError, UnicodeDecodeError):
        return False
    return b"\0" not in head and not head.startswith(b"PAR1") and any(separator in first for separator in ",\t;|{[")


def _files(path: str, file_order: str | None) -> list[str]:
    """Files that a path means, in the order that makes their rows the ranking."""
    if os.path.isdir(path):
        names = sorted(filter(is_text, list_below(path)))
        return [os.path.join(path, name) for name in in_file_order(names, path, file_order)]
    if is_remote(path) or os.path.exists(path) or not has_pattern(path):
        return [path]
    return in_file_order(matching(path), path, file_order)


@contextmanager
def open_list(source: Any, options: RankingOptions) -> Iterator[Texts]:
    """Find the files; those of an object store are copied to this machine for a while."""
    paths = [file for path in paths_of(source) for file in _files(path, options.order_of_files)]
    with ExitStack() as stack:
        here = [stack.enter_context(local_copy(path)) for path in paths]
        spill = stack.enter_context(temporary_folder("streameval-work"))
        for local in here:
            if not os.path.isfile(local):
                raise InputError(f"{local}: no such file")
        places = [masked_source(path) if is_remote(path) else os.path.abspath(path) for path in paths]
        yield Texts(tuple(places), tuple(here), options, spill)


class Texts(Unread):
    """Text files, one after another: every column of all of them, each of one type."""

    def __init__(self, places: tuple[str, ...], files: tuple[str, ...], options: RankingOptions, spill: Path) -> None:
        self.places, self.options, self._files, self._spill = places, options, files, spill
        self._states = [LOCAL.state(file) for file in files]
        self.content = content_of(files, options)

    @property
    def schema(self) -> pa.Schema:
        """Of the first file's columns, in its order."""
        return pa.schema([(name, _TYPES[kind]) for name, kind in self._types.chosen().items()])

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return self._types.rows

    @cached_property
    def _types(self) -> ColumnTypes:
        """Give what the columns are: every row was looked at.

        Raises:
            InputError: Rows that are not of as many columns as the head has, files of other columns, no rows.
        """
        each = [self._survey(file) for file in self._files]
        for file, file_types in zip(self._files, each, strict=True):
            if file_types.fits.keys() != each[0].fits.keys():
                odd = sorted(file_types.fits.keys() ^ each[0].fits.keys())
                raise InputError(f"{file}: its columns are not those of {self._files[0]}: only one has '{odd[0]}'",
                                 "give all files the same columns")  # fmt: skip
        merged = reduce(ColumnTypes.meet, each)
        if not merged.rows:
            raise NoRowsError(f"{self.name}: no rows", self.without_rows)
        return merged

    def _survey(self, file: str) -> ColumnTypes:
        with self._open(file) as (connection, opened):
            names = column_names(opened)
            refuse_odd_head(opened, names)
            _refuse_twice(opened, names)
            if opened.digest is not None:
                opened.digest()  # says where it is no UTF-8, or a line has no end
            file_types = types_of(connection, opened, self.options.score, self.options.nan)
            _refuse_rejected(opened)
        return file_types

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read one file after another; an `InputError` where one was changed since it was looked at."""
        types, schema = self._types.chosen(), self.schema
        for file, state in zip(self._files, self._states, strict=True):
            at_once = rows_at_once(8 * state[0] / max(1, self._types.rows) * len(self._files))
            with self._open(file) as (connection, opened):
                columns = as_types(opened, types, self.options.score)
                answer = connection.sql(f"SELECT {columns}, {ROW} FROM se_given")
                last = 0
                for batch in in_batches(answer, at_once):
                    last = _check_order(batch.column(batch.num_columns - 1).to_numpy(), last)
                    named = batch.rename_columns([*column_names(opened), ROW])
                    yield named.select(schema.names).cast(schema)
            if not os.path.isfile(file) or LOCAL.state(file) != state:
                raise InputError(f"{file}: changed or removed while it was read", "run it again when it is complete")

    @contextmanager
    def _open(self, file: str) -> Iterator[tuple[Connection, Opened]]:
        memory = f"{max(256, int(self.options.memory * 500))}MB"
        with open_session(str(self._spill), memory) as connection, one_line_errors(file, "correct it there"):
            yield connection, open_source(connection, file)


def _check_order(rows: Int64Array, last: int) -> int:
    """See that rows come in the order of their file, on which the ranking rests; returns the last of them."""
    if np.any(np.diff(rows, prepend=last) <= 0):
        raise RuntimeError("DuckDB gave rows of a text file in another order than theirs")
    return int(rows[-1])


def content_of(files: Sequence[str], options: RankingOptions) -> str:
    """Hash of the bytes of some files, and of what makes a column a score."""
    read = [file_digest(file)() for file in files]
    return hashlib.sha256("\0".join([*read, options.score or ""]).encode()).hexdigest()


def _refuse_twice(opened: Opened, names: list[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{opened.name}: two columns are named '{twice}'", "give each a name of its own")


def _refuse_rejected(opened: Opened) -> None:
    """Refuse rows that cannot be split into columns: left out, they would move every rank below them."""
    rejected = opened.rejected().table
    if rejected.num_rows:
        first = rejected.slice(0, 1).to_pylist()[0]
        reason = cells(first["said"]) or f"cannot be read: {' '.join(first['said'].split())[:100]}"
        more = f", and {number_of(rejected.num_rows - 1, 'more row')} cannot be read" if rejected.num_rows > 1 else ""
        raise InputError(f"{opened.name}: row {first['row']:,} {reason}{more}",
                         "mend or remove them: a ranking has no rows that cannot be read")  # fmt: skip
