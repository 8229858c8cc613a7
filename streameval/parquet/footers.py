"""Parquet footers: what a file says it holds, believed only as far as its size allows.

Of each footer only row counts, the score's minima and maxima and a digest are kept: 10⁵ files fit in little memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, did_you_mean, outside_trouble
from streameval.kernels import parquet as kernels
from streameval.kernels.check_chunks import PHYSICAL
from streameval.kernels.jit import interpreted
from streameval.parquet.facts import FooterBytes, RowGroups, read_row_groups
from streameval.parquet.files import SUFFIXES, DataFile
from streameval.parquet.layout import arrow_schema, read_columns
from streameval.parquet.schema import leaves_of_schema, wide_type
from streameval.parquet.statistics import begin_of, bounds_of
from streameval.parquet.writing import MAGIC
from streameval.stores import store_of
from streameval.stores.store import LAST, State
from streameval.typing import Int64Array

_MAX_FOOTER = 1 << 30
_MOST_FILES = 64  # whose footers one thread reads at a time


@dataclass(frozen=True)
class Footer:
    """What is kept of one file's footer.

    Attributes:
        size: Bytes.
        changed_ns: Time of change (of an object: a hash of its tag), guarding within a run only.
        digest: SHA-256 of the footer's bytes, its length and the magic number, hex.
        length: Bytes of the footer, without these.
        row_group_rows: int64 array, shape (row groups,).
        indexed: Whether it seems to have a page index; a column or row group may still be without.
        score_bounds (tuple of ((min, max) or None), one per row group): Statistics of the score column; None where the
            file has none, or nulls. Empty where the order has no score.
        score_nulls: Scores that are null, as far as statistics count them.
        score_bytes (int64 array, shape (row groups, 2)): First byte and bytes of the score column; empty where the
            order has no score.
        verify ({"on", "off"}): Whether checksums of pages, and statistics, are held against what is read.
        limit: Bytes that one reader may take beyond what it returns.
    """

    file: DataFile
    size: int
    changed_ns: int
    digest: str
    length: int
    schema: pa.Schema
    row_group_rows: Int64Array
    indexed: bool
    score_bounds: tuple[tuple[Any, Any] | None, ...]
    score_nulls: int
    score_bytes: Int64Array
    verify: str
    limit: int


@dataclass(frozen=True)
class Trust:
    """How far files are believed; see `Footer`."""

    verify: str = "on"
    limit: int = 1 << 30


def read_footers(files: Sequence[DataFile], score: str | None, threads: int, trust: Trust) -> tuple[Footer, ...]:
    """Read every footer, several at once.

    Raises:
        InputError: A file that is not a Parquet file, is truncated, or claims what its size cannot hold; named.
    """

    def read(some: Sequence[DataFile]) -> list[Footer]:
        found = ((file, *_footer_bytes(file.path)) for file in some)
        return [_footer(file, state, raw, score, len(files), trust) for file, state, raw in found]

    # files in lots, since it costs as much to hand one to a thread as to read a small footer
    lot = max(1, min(_MOST_FILES, len(files) // (4 * threads)))
    with ThreadPoolExecutor(threads) as pool:
        lots = pool.map(read, [files[at : at + lot] for at in range(0, len(files), lot)])
        footers = [footer for some in lots for footer in some]
    # one schema for all who share it: 100,000 copies would take gigabytes
    first = footers[0].schema
    return tuple(
        footer if footer.schema is first or not footer.schema.equals(first) else replace(footer, schema=first)
        for footer in footers
    )


def read_footer(file: DataFile, score: str | None) -> Footer:
    """Read and check one footer."""
    return _footer(file, *_footer_bytes(file.path), score)


def footer_within(path: str, content: bytes) -> Footer:
    """Read and check the footer of a file that is in memory."""
    size = len(content)
    raw = content[size - _ending_size(path, size, content[-LAST:]) :]
    return _footer(DataFile(path, path, ()), (size, 0), raw, None)


def _footer(file: DataFile, state: State, raw: bytes, score: str | None, of: int = 1, trust: Trust = Trust()) -> Footer:
    """Read one of so many footers."""
    with interpreted(len(raw) * of, kernels.chunk_facts):
        return _read(file, state, raw, score, trust)


def _read(file: DataFile, state: State, raw: bytes, score: str | None, trust: Trust) -> Footer:
    footer = FooterBytes.of(file.path, state[0], raw[:-8])
    described = footer.schema
    read_columns(file.path, described)
    leaves = leaves_of_schema(described)
    mine = leaves.find(score)
    found = read_row_groups(footer, leaves, mine)
    schema = arrow_schema(file.path, described, found.key_values)
    bounds: Sequence[tuple[Any, Any] | None] = () if score is None else (None,) * found.rows.size
    nulls, places = 0, np.zeros((0 if score is None else found.rows.size, 2), np.int64)
    if score is not None and mine is not None and score in schema.names:
        physical = int(leaves.levels[mine, PHYSICAL])
        nulls = int(np.sum(np.clip(found.of_leaf[:, kernels.NULLS], 0, found.rows)))
        bounds, places = _of_score(footer, found, physical, schema.field(score).type, score)
    if found.fault is not None:
        raise found.fault
    return Footer(
        file,
        *state,
        hashlib.sha256(raw).hexdigest(),
        len(footer.raw),
        schema,
        found.rows,
        found.indexed,
        tuple(bounds),
        nulls,
        places,
        trust.verify,
        trust.limit,
    )


def _of_score(
    footer: FooterBytes, found: RowGroups, physical: int, kind: pa.DataType, score: str
) -> tuple[Sequence[tuple[Any, Any] | None], Int64Array]:
    """Statistics of the score, and where it lies, in each row group."""
    places = np.stack([begin_of(found.of_leaf), found.of_leaf[:, kernels.COMPRESSED]], axis=1)
    live = np.flatnonzero(found.rows).tolist()
    if len(live) == found.rows.size:
        return bounds_of(found.of_leaf, footer.raw, physical, kind, lambda i: _place(footer, i, score)), places
    places[found.rows == 0] = 0
    told = bounds_of(found.of_leaf[live], footer.raw, physical, kind, lambda i: _place(footer, live[i], score))
    of_live = dict(zip(live, told, strict=True))
    return [of_live.get(group) for group in range(found.rows.size)], places


def _place(footer: FooterBytes, group: int, score: str) -> str:
    return f"{footer.path}: row group {group}, column {score}"


def _footer_bytes(path: str) -> tuple[State, bytes]:
    try:
        return store_of(path).tail(path, partial(_ending_size, path))
    except OSError as error:
        raise outside_trouble(error) or InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def _ending_size(path: str, size: int, last: bytes) -> int:
    """Bytes of the footer, its length and the magic number, as the last eight bytes of a file tell."""
    if size < 12:
        raise InputError(f"{path}: {size} bytes are not a Parquet file", _instead(path))
    if last[4:] != MAGIC:
        what = "an encrypted Parquet footer" if last[4:] == b"PARE" else "not a Parquet file, or a truncated one"
        raise InputError(f"{path}: {what} (it ends in {last[4:]!r}, not {MAGIC!r})", _instead(path))
    length = int.from_bytes(last[:4], "little")
    if not 0 < length <= min(size - 12, _MAX_FOOTER):
        raise InputError(f"{path}: claims a footer of {length:,} bytes in a file of {size:,}")
    return length + LAST


def _instead(path: str) -> str:
    if path.lower().endswith(SUFFIXES):
        return "it is empty, cut short or damaged: write it again"
    return "what is read: Parquet, and CSV, TSV, JSON or JSON lines, packed by gzip or not"


def common_schema(footers: Sequence[Footer], score: str | None = None) -> pa.Schema:
    """Return the schema that all files share; the order of columns and their dictionaries do not matter.

    Raises `InputError`, which names the first file that differs, and in what.
    """
    first = footers[0]
    expected = _wide(first.schema)
    for footer in footers[1:]:
        if footer.schema is first.schema or footer.schema.equals(first.schema):
            continue
        found = _wide(footer.schema)
        for name in [*expected, *found]:
            if expected.get(name) != found.get(name) and not (name == score and name in expected and name in found):
                raise InputError(
                    f"{footer.file.path}: column '{name}' is {_type(footer.schema, name)}, "
                    f"but {_type(first.schema, name)} in {first.file.path}",
                    "the files of a ranking share one schema",
                )
    return first.schema


def _wide(schema: pa.Schema) -> dict[str, pa.DataType]:
    return {field.name: wide_type(field.type) for field in schema}


def _type(schema: pa.Schema, name: str) -> str:
    return str(schema.field(name).type) if name in schema.names else "absent"


def refuse_changed(footer: Footer) -> None:
    """Refuse a file that is not what its footer was read from."""
    path = footer.file.path
    if store_of(path).state(path) != (footer.size, footer.changed_ns):
        raise InputError(f"{path}: changed while it was read", "run the command again")


def check_column(schema: pa.Schema, name: str, where: str) -> None:
    """Refuse a column that is not there."""
    if name not in schema.names:
        raise InputError(f"{where}: there is no column '{name}'", did_you_mean(name, schema.names))


def fingerprint(footers: Sequence[Footer]) -> str:
    """Hash (relative path, size, footer digest) of the files in order: sixteen hex digits."""
    digest = hashlib.sha256()
    for footer in footers:
        digest.update(f"{footer.file.name}\0{footer.size}\0{footer.digest}\n".encode())
    return digest.hexdigest()[:16]
