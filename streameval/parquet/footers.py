"""Parquet footers: what a file says it holds, believed only as far as its size allows.

Of each footer only row counts, the score's minima and maxima and a digest are kept: 10⁵ files fit in little memory.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby, pairwise

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels import parquet as kernels
from streameval.kernels.check_chunks import PHYSICAL
from streameval.kernels.jit import small
from streameval.parquet.facts import RowGroups, read_row_groups
from streameval.parquet.files import DataFile
from streameval.parquet.layout import arrow_schema, find_fields, read_columns, span
from streameval.parquet.schema import SchemaLeaves, leaves_of_schema, wide_type
from streameval.parquet.statistics import ChunkBounds, begin_of, bounds_of
from streameval.parquet.struct_fields import hint_for
from streameval.parquet.tails import FooterBytes, ending_size, read_tail, read_tails
from streameval.process.threads import ThreadPool
from streameval.stores import is_remote, store_of
from streameval.stores.store import LAST
from streameval.typing import Int64Array

_SMALL = 1 << 16  # bytes
_MOST_FILES = 1024  # whose footers one thread reads at a time


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
        score_bounds: Statistics of the score column, one per row group; None where the order has no score.
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
    score_bounds: ChunkBounds | None
    score_nulls: int
    score_bytes: Int64Array
    verify: str
    limit: int

    @cached_property
    def anywhere(self) -> Footer:
        """The same for processes of another working directory, and without statistics; row groups share it."""
        path = self.file.path
        file = replace(self.file, path=path if is_remote(path) else os.path.abspath(path))
        return replace(self, file=file, score_bounds=None)

    @property
    def is_small(self) -> bool:
        """Whether its file is best read whole, with many like it, though some columns may not be wanted.

        It has one row group: more of them are found and decoded together as they are.
        """
        return self.size <= _SMALL and self.row_group_rows.size == 1


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
        return [footer for tails in read_tails(some) for footer in _footers(tails, score, trust, len(files))]

    lot = max(1, min(_MOST_FILES, len(files) // (4 * threads)))
    with ThreadPool(threads) as pool:
        lots = pool.in_order(read, [files[at : at + lot] for at in range(0, len(files), lot)])
        footers = [footer for some in lots for footer in some]
    # one schema for all who share it: 100,000 copies would take gigabytes
    first = footers[0].schema
    return tuple(
        footer if footer.schema is first or not footer.schema.equals(first) else replace(footer, schema=first)
        for footer in footers
    )


def read_footer(file: DataFile, score: str | None) -> Footer:
    """Read and check one footer."""
    return _footers(FooterBytes.of_one(file, *read_tail(file.path)), score)[0]


def footer_within(path: str, content: bytes) -> Footer:
    """Read and check the footer of a file that is in memory."""
    size = len(content)
    end = content[size - ending_size(path, size, content[-LAST:]) :]
    return _footers(FooterBytes.of_one(DataFile(path, path, ()), (size, 0), end), None)[0]


def _footers(tails: FooterBytes, score: str | None, trust: Trust = Trust(), of: int = 1) -> list[Footer]:
    """Read footers, some of so many."""
    found: list[Footer] = []
    with small(sum(tails.lengths) * of // len(tails)):
        while len(found) < len(tails):
            found += _alike(tails.after(len(found)), score, trust)
    return found


def _alike(tails: FooterBytes, score: str | None, trust: Trust) -> list[Footer]:
    """Footers of the first file, and of those after it that share its schema."""
    path, raw = tails.files[0].path, tails.footer(0)
    described = span(raw, find_fields(raw)[0], kernels.SCHEMA_AT)
    read_columns(path, described)
    leaves = leaves_of_schema(described)
    found = read_row_groups(tails, described, leaves, leaves.single.get(score))
    schemas: list[pa.Schema] = []
    for i, keys in enumerate(found.keys):
        same = i and keys is found.keys[i - 1]
        schemas.append(schemas[-1] if same else arrow_schema(tails.files[i].path, described, keys))
    scores = _scores(tails, found, leaves, schemas, score)
    if found.fault is not None:
        raise found.fault
    groups = [slice(*ends) for ends in pairwise([0, *found.ends.tolist()])]
    return [
        Footer(
            tails.files[i],
            *tails.states[i],
            tails.digests[i],
            length,
            schemas[i],
            found.rows[mine],
            indexed,
            bounds,
            nulls,
            scores.places[mine],
            trust.verify,
            trust.limit,
        )
        for i, (mine, length, indexed, bounds, nulls) in enumerate(
            zip(groups, tails.lengths, found.indexed.tolist(), scores.bounds, scores.nulls.tolist(), strict=False)
        )
    ]


@dataclass(frozen=True, eq=False)
class _ScoreFacts:
    """What footers state of the score: places by row group, bounds and nulls by file; see `Footer`."""

    bounds: Sequence[ChunkBounds | None]
    places: Int64Array
    nulls: Int64Array


def _scores(
    tails: FooterBytes, found: RowGroups, leaves: SchemaLeaves, schemas: Sequence[pa.Schema], score: str | None
) -> _ScoreFacts:
    leaf, nothing = leaves.single.get(score), np.zeros(len(schemas), np.int64)
    if score is None:
        return _ScoreFacts([None] * len(schemas), np.zeros((0, 2), np.int64), nothing)
    facts, ends = found.of_leaf, np.concatenate([[0], found.ends])
    if leaf is None or score not in schemas[0].names:
        unknown = ChunkBounds(np.zeros(found.rows.size, np.bool_), np.zeros((found.rows.size, 2), np.int64))
        bounds = [unknown.chosen(slice(*of)) for of in pairwise(ends.tolist())]
        return _ScoreFacts(bounds, np.zeros((found.rows.size, 2), np.int64), nothing)
    places = np.stack([begin_of(facts), facts[:, kernels.COMPRESSED]], axis=1)
    places[found.rows == 0] = 0
    facts[found.rows == 0, kernels.NULLS] = kernels.ABSENT  # nothing is stated of no rows
    counted = np.concatenate([[0], np.cumsum(np.clip(facts[:, kernels.NULLS], 0, found.rows))])

    def place(first: int, number: int) -> str:
        file = int(np.searchsorted(found.ends, first + number, side="right"))
        return f"{tails.files[file].path}: row group {first + number - ends[file]}, column {score}"

    physical, bounds = int(leaves.levels[leaf, PHYSICAL]), []
    for _, files in groupby(range(len(schemas)), key=lambda file: id(schemas[file])):
        cuts = ends[len(bounds) : len(bounds) + len(list(files)) + 1].tolist()
        kind, mine = schemas[len(bounds)].field(score).type, facts[cuts[0] : cuts[-1]]
        told = bounds_of(mine, tails.raw, physical, kind, partial(place, cuts[0]))
        bounds += [told.chosen(slice(begin - cuts[0], end - cuts[0])) for begin, end in pairwise(cuts)]
    return _ScoreFacts(bounds, places, np.diff(counted[ends]))


def common_schema(footers: Sequence[Footer], promoted: str | None = None) -> pa.Schema:
    """Return the schema that all files share; the order of columns and their dictionaries do not matter.

    Args:
        promoted: A column whose type a table declares, as it has widened that of older files.

    Raises `InputError`, which names the first file that differs, and in what.
    """
    first = footers[0]
    expected = _wide(first.schema)
    for footer in footers[1:]:
        if footer.schema is first.schema or footer.schema.equals(first.schema):
            continue
        found = _wide(footer.schema)
        for name in [*expected, *found]:
            if expected.get(name) != found.get(name) and not (name == promoted and name in expected and name in found):
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
        raise InputError(f"{where}: there is no column '{name}'", hint_for(name, schema, schema.names))


def fingerprint(footers: Sequence[Footer]) -> str:
    """Hash (relative path, size, footer digest) of the files in order: sixteen hex digits."""
    digest = hashlib.sha256()
    for footer in footers:
        digest.update(f"{footer.file.name}\0{footer.size}\0{footer.digest}\n".encode())
    return digest.hexdigest()[:16]
