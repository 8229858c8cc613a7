"""Tables of a study, read: no file, whoever wrote it, ends the process or takes more memory than its size warrants.

Pages are checked and the footer is our own, as with rankings (`streameval.parquet.groups`); values are not held against
statistics, because the file's checksum covers both. How these files are written: `streameval.stores.atomic`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError
from streameval.kernels import parquet as kernels
from streameval.kernels.jit import small
from streameval.parquet.checks import SoundChunk, check_bytes
from streameval.parquet.chunks import OpenFile
from streameval.parquet.footers import Footer, footer_within
from streameval.parquet.images import image
from streameval.parquet.layout import key_values, schema_bytes
from streameval.stores.own_files import UNUSABLE, read_bytes, unusable
from streameval.stores.ranges import Range
from streameval.struct_fields import own_columns

_MOST_BYTES = 1 << 28
_MOST_RATIO = 1000
_BATCH_ROWS = 1 << 16
_MOST_KEPT = 1 << 20


@dataclass(frozen=True)
class Own:
    """A Parquet file of ours.

    Attributes:
        table: Without metadata.
        facts: What `streameval.stores.atomic.parquet` was given.
    """

    table: pa.Table
    facts: Mapping[str, Any]


def read_table(path: Path, hint: str, root: Path | None = None, **columns: pa.DataType) -> Own:
    """Read a Parquet file of a study.

    Args:
        path, hint, root: See `streameval.stores.own_files.read_bytes`.
        **columns: Columns that have to be there, without nulls unless their type is int8: labels may be missing.

    Raises:
        FileNotFoundError, StudyError, OutsideError: See `read_bytes`; also a column that is missing or of another type,
            and a file that was written under another name.
    """
    return decode_table(path, read_bytes(path, hint, root), hint, **columns)


def decode_table(path: Path, content: bytes, hint: str, **columns: pa.DataType) -> Own:
    """Decode the bytes of a Parquet file of a study, as `read_bytes` gives them; the rest as `read_table`."""
    try:
        table = (_decode if len(content) > _MOST_KEPT else _kept)(str(path), content)
        facts = json.loads((table.schema.metadata or {}).get(b"streameval", b"{}"))
        if not isinstance(facts, dict):
            raise ValueError("its metadata are not an object")
        if facts.get("file") not in (None, path.name):
            raise ValueError(f"it was written as {facts['file']}")
        table = table.replace_schema_metadata(None)
        table.validate(full=True)
        for name, kind in columns.items():
            _refuse_other(table, name, kind)
    except InputError as error:
        raise unusable(path, ValueError(error.what.removeprefix(f"{path}: ")), hint) from error
    except UNUSABLE as error:
        raise unusable(path, error, hint) from error
    return Own(table, facts)


class _Held(OpenFile):
    """A file that is in memory."""

    def __init__(self, footer: Footer, content: bytes) -> None:
        self.path, self.size, self._content = footer.file.path, footer.size, memoryview(content)

    def read(self, ranges: Sequence[Range]) -> list[memoryview]:
        return [self._content[at : at + size] for at, size in ranges]


def _decode(path: str, content: bytes) -> pa.Table:
    limit = max(_MOST_BYTES, _MOST_RATIO * len(content))
    footer = replace(footer_within(path, content), limit=limit)
    steps = 2 * footer.length  # for chunks, and for a footer of our own; page headers are few
    with small(steps):
        checked = _check_chunks(footer, content)
        body = _as_file(footer, memoryview(content), checked)
    entries = max((sum(sound.entries for sound in group) for group in checked), default=0)
    with pq.ParquetFile(pa.BufferReader(body)) as decoder:
        batches = decoder.iter_batches(max(1, min(_BATCH_ROWS, limit // max(1, entries))), use_threads=False)
        return pa.Table.from_batches(_limit_size(limit, batches), decoder.schema_arrow)


@functools.lru_cache(maxsize=16)  # one command reads its plan and its votes several times
def _kept(path: str, content: bytes) -> pa.Table:
    return _decode(path, content)


def _check_chunks(footer: Footer, content: bytes) -> list[list[SoundChunk]]:
    """Check all chunks, by row group."""
    file, groups = _Held(footer, content), np.flatnonzero(footer.row_group_rows).tolist()
    columns = file.chunks(footer, groups, own_columns(footer.schema))
    chunks = [[leaf[i] for column in columns for leaf in column] for i in range(len(groups))]
    checked = [
        [check_bytes(chunk, file.read([(chunk.begin, chunk.end - chunk.begin)])[0], ()) for chunk in of]
        for of in chunks
    ]
    claimed = sum(int(chunk.facts[kernels.VALUES]) for group in chunks for chunk in group)
    unpacked = sum(sound.stored.uncompressed for group in checked for sound in group)
    if max(8 * claimed, unpacked) > footer.limit:
        rows = int(footer.row_group_rows.sum())
        raise ValueError(f"its {len(content):,} bytes claim to hold {rows:,} rows of {unpacked:,} bytes")
    return checked


def _as_file(footer: Footer, content: memoryview, checked: Sequence[Sequence[SoundChunk]]) -> bytes:
    """The pages that were checked, and a footer with neither statistics nor indexes."""
    raw = content[-8 - footer.length : -8].tobytes()
    places = [(sound.chunk.begin, sound.stored.size) for group in checked for sound in group]
    if sum(size for _, size in places) > len(content):
        raise ValueError("its column chunks overlap")
    groups = [[sound.stored for sound in group] for group in checked]
    return image(schema_bytes(raw), groups, [content[at : at + size] for at, size in places], key_values(raw))


def _limit_size(limit: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Refuse values that take more memory than is allowed: those of a dictionary are written out for every row."""
    n_bytes = 0
    for batch in batches:
        n_bytes += batch.nbytes
        if n_bytes > limit:
            raise ValueError(f"its values take more than {limit:,} bytes")
        yield batch


def _refuse_other(table: pa.Table, name: str, kind: pa.DataType) -> None:
    column = table.column(name)
    if column.type != kind or (column.null_count and kind != pa.int8()):
        raise ValueError(f"its column {name} is not of {kind} throughout")
