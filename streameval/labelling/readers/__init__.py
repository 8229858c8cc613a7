"""Readers of tables that people give: one file here per kind of source, found by name; nothing else has to be edited.

Label tables are read by them, and lists that are no Parquet (`streameval.copies`).

A reader is a module with

- `READS`: what it reads, for people;
- `SCHEMES`: with what its addresses begin, before the colon; or, of files and tables in memory,
  `accepts(source, head)`: whether it is this reader's; `head` is the first bytes of a file, None for what is no file.
  For every source at most one reader accepts, whatever order they are asked in;
- `read(connection, source)`: make the view or table `se_given` in DuckDB, its rows numbered from 1 in `se_row`, and
  return an `Opened`.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib
import io
import os
import pkgutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePath
from types import ModuleType
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.labelling.duckdb_session import (
    DAMAGED,
    Connection,
    literal,
    open_session,
    quote,
    tables_of_ours,
    unique_names,
)
from streameval.stores.temporary import temporary_folder
from streameval.text.credentials import masked_source
from streameval.typing import Int64Array

ROW = "se_row"
REJECTED = pa.schema({"row": pa.int64(), "said": pa.string()})
LISTED = 10_000  # rows of one kind of trouble that are listed; all are counted
LINE = 16 << 20  # bytes of a row of text: items may carry whole documents
IN_MEMORY = "(a table in memory)"
_HEAD = 4096
_LITTLE = 1 << 20  # bytes of a file that needs no database of its own
_MEMORY = "1GB"
_CHUNK = 1 << 20
_FOREIGN = {
    b"PK": "a ZIP archive, and no whole Excel workbook",
    b"\xff\xfe": "a text in UTF-16",
    b"\xfe\xff": "a text in UTF-16",
    b"\x28\xb5\x2f\xfd": "a file packed by zstd",
}
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Rejected:
    """Rows that could not be split into columns.

    Attributes:
        table: `row` int64, `said` text.
        uncounted (int64 array, sorted): Rows that `se_row` passes over, in the file's own count.
    """

    table: pa.Table
    uncounted: Int64Array

    @staticmethod
    def none() -> Rejected:
        """Return no rows."""
        return Rejected(REJECTED.empty_table(), np.empty(0, dtype=np.int64))

    def renumber(self, rows: Int64Array) -> Int64Array:
        """Turn `se_row` into rows of the file.

        >>> found = Rejected(REJECTED.empty_table(), np.array([1, 3]))
        >>> found.renumber(np.array([1, 2, 3]))
        array([2, 4, 5])
        """
        before = self.uncounted - np.arange(1, self.uncounted.size + 1)
        return rows + np.searchsorted(before, rows, side="left")


@dataclass(frozen=True)
class Opened:
    """A source that stands ready as `se_given` in DuckDB.

    Attributes:
        name: For messages and files: of an address without what may be secret.
        digest: Content hash; None where only the rows read can tell (a query has no bytes of its own).
        columns: Names as they stand in the source: a name that stands there twice is here twice.
        rejected: Rows that could not be split into columns; to be asked after the source was read once.
        lines: Lines of a text file on which rows begin, from 1; -1 where that would take too long to find out.
        file: Name of the file without its ending; None of a query or of a table in memory.
    """

    name: str
    digest: Callable[[], str] | None
    columns: tuple[str, ...]
    rejected: Callable[[], Rejected] = lambda: Rejected.none()
    lines: Callable[[Int64Array], Int64Array] | None = None
    file: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", masked_source(self.name))


@contextmanager
def database_for(source: Any) -> Iterator[Connection]:
    """Open a database to read a source in.

    To open one takes longer than to read most files: that of the process does for tables in memory and for small files.
    All else has one of its own, with little memory, which spills.
    """
    if _is_little(source):
        with tables_of_ours() as connection:
            yield connection
            connection.execute("RESET disabled_optimizers")  # `never_build` sets them for the whole database
    else:
        with temporary_folder("streameval-work") as spill, open_session(str(spill), _MEMORY) as connection:
            yield connection


def _is_little(source: Any) -> bool:
    """Tell whether a source is a table in memory or a small file that is not packed."""
    if not isinstance(source, str | os.PathLike):
        return True
    path = os.fspath(source)
    small = not is_address(path) and os.path.isfile(path) and os.path.getsize(path) <= _LITTLE
    return small and compression(path) == "none"


def open_source(connection: Connection, source: Any) -> Opened:
    """Find the reader of a source, and let it open it; an `InputError` where nothing reads it, or it is damaged."""
    module = _of_address(source) or _of_content(source)
    opened: Opened = module.read(connection, source)
    return replace(opened, file=_file_of(source))


def _readers() -> list[ModuleType]:
    return [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]


def _of_address(source: Any) -> ModuleType | None:
    if not isinstance(source, str) or ":" not in source:
        return None
    scheme = source.partition(":")[0]
    return next((reader for reader in _readers() if scheme in vars(reader).get("SCHEMES", ())), None)


def _of_content(source: Any) -> ModuleType:
    """Reader of a file or of a table in memory; an `InputError` where there is none."""
    head, readers = _head(source), _readers()
    for module in readers:
        if "accepts" in vars(module) and module.accepts(source, head):
            return module
    for start, kind in _FOREIGN.items():
        if head is not None and head.startswith(start):
            raise InputError(f"{name_of(source)}: this is {kind}", "save it as CSV UTF-8, packed by gzip or not at all")
    kinds = ", ".join(module.READS for module in readers)
    why = " (NUL bytes in it)" if head is not None and b"\0" in head else ""
    raise InputError(f"{name_of(source)}: not a table that can be read{why}", f"these can be read: {kinds}")


def name_of(source: Any) -> str:
    """Name of a source, for messages."""
    return masked_source(str(os.fspath(source))) if isinstance(source, str | os.PathLike) else "labels in memory"


def _file_of(source: Any) -> str | None:
    """Name of a file without its ending; None of a query or of a table in memory."""
    if not isinstance(source, str | os.PathLike) or is_address(source):
        return None
    return PurePath(os.fspath(source).removesuffix(".gz")).stem


def place_of(source: Any) -> str:
    """Absolute place of a source, without what may be secret; empty for a table in memory."""
    if not isinstance(source, str | os.PathLike):
        return ""
    path = os.fspath(source)
    return masked_source(path) if "://" in path or is_address(path) else os.path.abspath(path)


def is_address(source: Any) -> bool:
    """Tell whether a source is an address that a reader knows, rather than a path."""
    return _of_address(source) is not None


def split_query(source: str) -> tuple[str, str]:
    """Split URL#QUERY; an `InputError` without a query."""
    address, _, query = source.partition("#")
    shown = masked_source(address)
    if not query.strip():
        raise InputError(f"{shown}: no query", f"write it behind a #, such as '{shown}#SELECT * FROM t'")
    return address, query.strip().rstrip(";")


def _head(source: Any) -> bytes | None:
    if not isinstance(source, str | os.PathLike):
        return None
    path = os.fspath(source)
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(f"{path}: not a file", "give a file")
    try:
        with open_bytes(path) as stream:
            head = stream.read(_HEAD)
    except FileNotFoundError as error:
        spelling = "check the spelling; a path without a leading / starts at the current folder"
        raise InputError(f"{path[:200]}: no such file", spelling) from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        hint = DAMAGED if isinstance(error, EOFError | zlib.error | gzip.BadGzipFile) else None
        raise InputError(f"{path[:200]!s}: the table cannot be read ({reason})", hint) from error
    if not head:
        raise InputError(f"{path}: the table is empty (0 bytes)")
    return head


def chunks(path: str) -> Iterator[bytes]:
    """Bytes of a text, piece by piece.

    Raises:
        InputError: A line that is longer than two of DuckDB's buffers: DuckDB passes over it without a word.
    """
    line, begun = 1, 0  # number of the line under way, and its bytes so far
    with open_bytes(path) as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk
            first = min((at for at in (chunk.find(b"\n"), chunk.find(b"\r")) if at >= 0), default=len(chunk))
            last = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
            if begun + first > 2 * LINE:
                raise InputError(
                    f"{path}: line {line:,} has more than {2 * LINE >> 20} MiB",
                    "leave texts of that length out of the table",
                )
            begun = begun * (last < 0) + len(chunk) - last - 1
            line += chunk.count(b"\n")


def open_bytes(path: str) -> IO[bytes]:
    """Open a file to read what it holds, unpacked where it is packed by gzip."""
    return cast(IO[bytes], (gzip.open if compression(path) == "gzip" else open)(path, "rb"))


def open_text(path: str, **how: Any) -> IO[str]:
    """Open the same as text (`io.TextIOWrapper`)."""
    return io.TextIOWrapper(open_bytes(path), **{"encoding": "utf-8-sig", "newline": "", **how})


def compression(path: str) -> str:
    """Say how a file is packed, as DuckDB's `read_csv` calls it."""
    with open(path, "rb") as stream:
        return "gzip" if stream.read(2) == _GZIP else "none"


def file_digest(path: str) -> Callable[[], str]:
    """Content hash of a file, made when it is first used."""

    def digest() -> str:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    return digest


def first_byte(head: bytes) -> bytes:
    """First byte of a text that is neither space nor byte order mark."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]


def is_binary(head: bytes) -> bool:
    """Tell whether a file is certainly no text."""
    return head.startswith((*_FOREIGN, _GZIP)) or b"\0" in head


def source_column(name: str) -> str:
    """Quote a column of the source."""
    return f"se_given.{quote(name)}"


def never_build(connection: Connection) -> None:
    """Keep a text file on the streamed side of a join.

    DuckDB cannot know how many rows it has, guesses a few, and would hold all of them in memory.
    """
    connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")


def one_path(path: str) -> str:
    """Quote a path as one file: DuckDB takes stars and brackets for patterns."""
    return literal("".join(f"[{c}]" if c in "[*?" else c for c in path))


def distinct(names: list[str]) -> list[str]:
    """Names for SQL: none empty, none twice whatever its capitals.

    >>> distinct(["rank", "Rank", ""])
    ['rank', 'Rank_1', 'column_3']
    """
    return unique_names([name or f"column_{i}" for i, name in enumerate(names, 1)], 1, {ROW})
