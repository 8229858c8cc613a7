"""Files of a study, read: whole, unchanged since they were written, and from nowhere but the study.

A study may come from somebody else. So a link that leads out of the folder, a device, or a file that claims to hold
far more than its bytes can is refused before it is read. How these files are written: `streameval.stores.atomic`.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import StudyError, outside_trouble
from streameval.stores import checksum

UNUSABLE = (
    OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError,
    pa.ArrowException,
)  # fmt: skip
"""What reading damaged or invented content raises."""

_MOST_BYTES = 1 << 30
_MOST_RATIO = 1000


@dataclass(frozen=True)
class Own:
    """A Parquet file of ours.

    Attributes:
        table: Without metadata.
        facts: What `streameval.stores.atomic.parquet` was given.
    """

    table: pa.Table
    facts: Mapping[str, Any]


def read_bytes(path: Path, hint: str, root: Path | None = None) -> bytes:
    """Read a file of a study and compare it with its checksum.

    Args:
        hint: What to do where it cannot be used.
        root: Folder that the file has to lie in, links resolved; by default the one it is named in.

    Raises:
        FileNotFoundError: There is none.
        StudyError: It cannot be read, lies elsewhere, is no file, or its bytes do not have its checksum.
        OutsideError: The disk fails.
    """
    refuse_elsewhere(path, root or path.parent, hint)
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise ValueError("it is no file")
            content = file.read()
        checksum.check(content)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise unusable(path, error, hint) from error
    return content


def read_table(path: Path, hint: str, root: Path | None = None, **columns: pa.DataType) -> Own:
    """Read a Parquet file of a study.

    Args:
        path, hint, root: See `read_bytes`.
        **columns: Columns that have to be there, without nulls unless their type is int8: labels may be missing.

    Raises:
        FileNotFoundError, StudyError, OutsideError: See `read_bytes`; also a column that is missing or of another type.
    """
    content = read_bytes(path, hint, root)
    try:
        file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        _refuse_giant(file.metadata, len(content))
        facts = json.loads((file.schema_arrow.metadata or {}).get(b"streameval", b"{}"))
        if not isinstance(facts, dict):
            raise ValueError("its metadata are no object")
        table = file.read().replace_schema_metadata(None)
        table.validate(full=True)
        for name, kind in columns.items():
            _refuse_other(table, name, kind)
    except UNUSABLE as error:
        raise unusable(path, error, hint) from error
    return Own(table, facts)


def read_json(path: Path, hint: str, root: Path | None = None) -> dict[str, Any]:
    """Read a JSON object of a study, without its checksum.

    Raises:
        FileNotFoundError, StudyError, OutsideError: See `read_bytes`; also what is no object.
    """
    content = read_bytes(path, hint, root)
    try:
        found = json.loads(content)
        if not isinstance(found, dict):
            raise ValueError("it is no object")
    except UNUSABLE as error:
        raise unusable(path, error, hint) from error
    found.pop(checksum.KEY, None)
    return found


def refuse_elsewhere(path: Path, root: Path, hint: str) -> None:
    """Refuse a path that a link leads out of a folder (`StudyError`)."""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise StudyError(f"{path}: a link leads out of the study, and is not followed", hint)


def unusable(path: Path, error: BaseException, hint: str) -> StudyError:
    """Say in one line that a file of a study cannot be used; trouble of the disk is raised as that."""
    if isinstance(error, OSError | MemoryError) and (trouble := outside_trouble(error)) is not None:
        raise trouble from error
    return StudyError(f"{path}: cannot be read ({' '.join(str(error).split())[:160]})", hint)


def _refuse_giant(metadata: pq.FileMetaData, size: int) -> None:
    cells = metadata.num_rows * metadata.num_columns
    unpacked = sum(max(0, metadata.row_group(i).total_byte_size) for i in range(metadata.num_row_groups))
    if max(8 * cells, unpacked) > max(_MOST_BYTES, _MOST_RATIO * size):
        raise ValueError(f"its {size:,} bytes claim to hold {metadata.num_rows:,} rows of {unpacked:,} bytes")


def _refuse_other(table: pa.Table, name: str, kind: pa.DataType) -> None:
    column = table.column(name)
    if column.type != kind or (column.null_count and kind != pa.int8()):
        raise ValueError(f"its column {name} is not of {kind} throughout")
