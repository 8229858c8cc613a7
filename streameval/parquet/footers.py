"""Parquet footers: read, held against the sizes of their files, the schema and themselves.

Of each footer only row counts, the score's minima and maxima and a digest are kept: 10⁵ files fit in little memory.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby, pairwise

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, outside_trouble
from streameval.kernels import check_chunks as check
from streameval.kernels import parquet as kernels
from streameval.kernels import row_groups
from streameval.kernels.check_chunks import PHYSICAL
from streameval.kernels.jit import small
from streameval.kernels.row_groups import BEGIN, END
from streameval.parquet import thrift
from streameval.parquet.files import SUFFIXES, DataFile
from streameval.parquet.images import MAGIC
from streameval.parquet.layout import CORRUPT, arrow_schema, find_fields, read_columns, span
from streameval.parquet.schema import SchemaLeaves, leaves_of_schema, wide_type
from streameval.parquet.statistics import ChunkBounds, begin_of, bounds_of
from streameval.process.threads import ThreadPool
from streameval.stores import is_remote, store_of
from streameval.stores.store import LAST, State
from streameval.struct_fields import hint_for
from streameval.typing import BoolArray, Int64Array, UInt8Array

_MAX_FOOTER = 1 << 30
_GUESS = 1 << 14  # bytes of the end that is read first
_ROOM = 1 << 19  # bytes of ends that are in memory together, so that they stay in a processor's cache
_SMALL = 1 << 16  # bytes
_MOST_FILES = 1024  # whose footers one thread reads at a time


@dataclass(frozen=True, eq=False)
class FooterBytes:
    """The ends of some files.

    Attributes:
        states: Size and time of change of each file.
        digests: SHA-256 of each footer, its length and the magic number, hex.
        raw: Where the footers lie.
        spans (int64 array, shape (files, 3)): Where each FileMetaData begins and ends in `raw`, and bytes of its file.
    """

    files: Sequence[DataFile]
    states: Sequence[State]
    digests: Sequence[str]
    raw: UInt8Array
    spans: Int64Array

    @classmethod
    def of_one(cls, file: DataFile, state: State, end: bytes) -> FooterBytes:
        """Give that of one file."""
        spans = np.array([[0, len(end) - LAST, state[0]]], np.int64)
        return cls([file], [state], [hashlib.sha256(end).hexdigest()], np.frombuffer(end, np.uint8), spans)

    def __len__(self) -> int:
        return len(self.files)

    def after(self, first: int) -> FooterBytes:
        """Give those from some file on."""
        if not first:
            return self
        return FooterBytes(self.files[first:], self.states[first:], self.digests[first:], self.raw, self.spans[first:])

    @property
    def lengths(self) -> list[int]:
        """Bytes of each FileMetaData."""
        sizes: list[int] = (self.spans[:, END] - self.spans[:, BEGIN]).tolist()
        return sizes

    def footer(self, file: int) -> bytes:
        """FileMetaData of a file."""
        return self.raw[self.spans[file, BEGIN] : self.spans[file, END]].tobytes()


def read_tails(files: Sequence[DataFile]) -> Iterator[FooterBytes]:
    """Read the ends of files, as many together as there is room for; each is there until the next is asked for.

    Raises:
        InputError: A file that cannot be read, or is no Parquet file; named.
    """
    room = memoryview(bytearray(_ROOM))
    shared = np.frombuffer(room.toreadonly(), np.uint8)
    states, digests, spans, first, at, guess = list[State](), list[str](), list[tuple[int, int, int]](), 0, 0, _GUESS
    for i, file in enumerate(files):
        state, end = read_tail(file.path, guess)
        size = len(end)
        guess = min(size + size // 16, _ROOM)  # most files of a list have footers of about one length
        if at + size > _ROOM:
            if states:
                yield FooterBytes(files[first:i], states, digests, shared, np.array(spans, np.int64))
            states, digests, spans, first, at = [], [], [], i, 0
            if size > _ROOM:
                yield FooterBytes.of_one(file, state, end)
                first = i + 1
                continue
        room[at : at + size] = end
        states.append(state)
        digests.append(hashlib.sha256(end).hexdigest())
        spans.append((at, at + size - LAST, state[0]))
        at += size
    if states:
        yield FooterBytes(files[first:], states, digests, shared, np.array(spans, np.int64))


def read_tail(path: str, guess: int = _GUESS) -> tuple[State, bytes]:
    """Read the state of a file, and its footer with what follows it, of a guessed length; errors as of `read_tails`."""
    try:
        return store_of(path).tail(path, partial(ending_size, path), guess)
    except OSError as error:
        raise outside_trouble(error) or InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def ending_size(path: str, size: int, last: bytes) -> int:
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
    if path.lower().endswith((".duckdb", ".db", ".ddb")):
        return f"a DuckDB file is read by a query: 'duckdb:{path}#SELECT * FROM TABLE'"
    return "what is read: Parquet, and CSV, TSV, JSON or JSON lines, packed by gzip or not"


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Row groups as footers of one schema describe them.

    Attributes:
        rows: int64 array, shape (row groups,): One file after another.
        of_leaf (int64 array, shape (row groups, N_FACTS)): Facts of the chunks of one leaf column
            (`streameval.kernels.parquet.chunk_facts`), minimum and maximum where they lie in `FooterBytes.raw`; shape
            (row groups, 0) where none is wanted.
        ends: int64 array, shape (files,): Row groups up to the last of each file.
        indexed: bool array, shape (files,): Whether the first chunk of the first has an offset index.
        keys: Of each file, the list of key-value pairs, as its footer holds it.
        fault: What is wrong with the last file.
    """

    rows: Int64Array
    of_leaf: Int64Array
    ends: Int64Array
    indexed: BoolArray
    keys: list[bytes]
    fault: InputError | None


def read_row_groups(tails: FooterBytes, schema: bytes, leaves: SchemaLeaves, leaf: int | None) -> RowGroups:
    """Read every row group of the files that share the schema of the first, up to one that has another or a fault.

    Counts and sizes are checked. What is wrong is returned, for it may not be the first fault.

    Args:
        schema, leaves: Of the first file.
        leaf: Of which leaf column facts are wanted.
    """
    n_leaves, n_files = leaves.index.size, len(tails)
    size = tails.spans[:, row_groups.END] - tails.spans[:, row_groups.BEGIN]
    room = int(np.sum(size // (5 + n_leaves)))
    facts, group_facts = np.empty((n_leaves, kernels.N_FACTS), np.int64), np.empty(3, np.int64)
    file_facts, rows = np.empty((n_files, row_groups.N_OF_FILE), np.int64), np.empty(room, np.int64)
    of_leaf = np.empty((0 if leaf is None else room, kernels.N_FACTS), np.int64)
    wrong, at, group, column = row_groups.sound_row_groups(
        tails.raw, tails.spans, np.frombuffer(schema, np.uint8), leaves.index, leaves.levels,
        -1 if leaf is None else leaf, facts, group_facts, file_facts, rows, of_leaf,
    )  # fmt: skip
    fault = None
    if wrong not in (check.SOUND, check.OTHER_SCHEMA):
        chunk = _CheckedChunk(tails.files[at].path, int(tails.spans[at, row_groups.FILE_SIZE]), leaves, group, column)
        begin = int(file_facts[at - 1, row_groups.GROUPS_END]) if at else 0
        mine = rows[begin : file_facts[at, row_groups.GROUPS_END]]
        file_facts[at, : kernels.N_FOUND], fault = _fault(chunk, wrong, tails.footer(at), mine, (group_facts, facts))
        at += 1
    file_facts = file_facts[:at]
    ends = file_facts[:, row_groups.GROUPS_END]
    n = int(ends[-1])
    return RowGroups(
        rows[:n].copy(), of_leaf[:n], ends, file_facts[:, row_groups.INDEXED] > 0, _keys(tails, file_facts), fault
    )


def _keys(tails: FooterBytes, file_facts: Int64Array) -> list[bytes]:
    """Key-value pairs of each file; the same object where they are those of the file before."""
    begin = tails.spans[: len(file_facts), row_groups.BEGIN]
    absent = file_facts[:, kernels.KEYS_AT] < 0
    ends = np.where(absent[:, None], 0, file_facts[:, [kernels.KEYS_AT, kernels.KEYS_END]] + begin[:, None]).tolist()
    keys, last = [], b""
    for at, end in ends:
        mine = tails.raw.data[at:end].tobytes()
        last = last if mine == last else mine
        keys.append(last)
    return keys


def _fault(
    chunk: _CheckedChunk, wrong: int, footer: bytes, rows: Int64Array, last: tuple[Int64Array, Int64Array]
) -> tuple[Int64Array, InputError]:
    """Fields of a faulty footer, and what is wrong with it: its sound row groups and facts of the last are given."""
    places, _ = find_fields(footer, stop=0)
    if min(places[kernels.ALL_ROWS_AT], places[kernels.GROUPS_AT]) < 0:
        return places, InputError(f"{chunk.path}: its Parquet footer is corrupt (it has no row groups)")
    if wrong != check.WRONG_TOTAL:
        return places, chunk.fault(wrong, *last)
    claimed, total = thrift.read_zigzag(footer, int(places[kernels.ALL_ROWS_AT]))[0], sum(rows.tolist())
    return places, InputError(f"{chunk.path}: the footer claims {claimed:,} rows, its row groups {total:,}")


@dataclass(frozen=True)
class _CheckedChunk:
    path: str
    size: int
    leaves: SchemaLeaves
    group: int
    leaf: int

    def fault(self, wrong: int, group_facts: Int64Array, facts: Int64Array) -> InputError:
        """Give what is wrong there; `facts` are those of the row group."""
        where, rows = f"{self.path}: row group {self.group}", int(group_facts[kernels.ROWS])
        if wrong == check.LACKING:
            return InputError(f"{where} cannot be read: the Parquet footer is corrupt there")
        if wrong == check.MISNUMBERED:
            return InputError(f"{where} says that it is row group {group_facts[kernels.ORDINAL]}", CORRUPT)
        if wrong == check.NEGATIVE:
            return InputError(f"{where} claims {rows:,} rows")
        chunk, kind = facts[self.leaf], self.leaves.levels[self.leaf, check.PHYSICAL]
        size, values, begin = int(chunk[kernels.COMPRESSED]), chunk[kernels.VALUES], int(begin_of(chunk))
        where = f"{where}, column {self.leaves.names[self.leaf]}"
        faults = {
            check.OUTSIDE: InputError(
                f"{where}: claims bytes {begin:,}..{begin + size:,} of a file of {self.size:,}", CORRUPT
            ),
            check.CROWDED: InputError(
                f"{where}: claims {rows:,} rows and {values:,} values in {size:,} bytes", CORRUPT
            ),
            check.UNCOUNTED: InputError(
                f"{where}: claims {chunk[kernels.NULLS]:,} nulls among {values:,} values", CORRUPT
            ),
            check.UNFIT: InputError(f"{where}: its statistics are of other levels than those in the schema", CORRUPT),
            check.OTHER_TYPE: InputError(
                f"{where}: has physical type {chunk[kernels.TYPE]}, but {kind} in the schema", CORRUPT
            ),
        }
        return faults[wrong]


@dataclass(frozen=True)
class Footer:
    """Facts of one file's footer.

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
        """Give the same for processes of another working directory, and without statistics; row groups share it."""
        path = self.file.path
        file = replace(self.file, path=path if is_remote(path) else os.path.abspath(path))
        return replace(self, file=file, score_bounds=None)

    @cached_property
    def is_small(self) -> bool:
        """Tell whether its file is best read whole, with many like it, though some columns may not be wanted.

        It has one row group: more of them are found and decoded together as they are.
        """
        return self.size <= _SMALL and self.row_group_rows.size == 1


@dataclass(frozen=True)
class Trust:
    """Extent to which files are believed; see `Footer`."""

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
    return tuple(_of_one_schema(footers))


def _of_one_schema(footers: Iterable[Footer]) -> Iterator[Footer]:
    """Give all the same schema object that follow one another with an equal one.

    100,000 copies would take gigabytes, and small files are decoded together where they share it.
    """
    last = None
    for footer in footers:
        if last is None or not (footer.schema is last or footer.schema.equals(last)):
            last = footer.schema
        yield footer if footer.schema is last else replace(footer, schema=last)


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
    footers: list[Footer] = []
    with small(sum(tails.lengths) * of // len(tails)):
        while len(footers) < len(tails):
            footers += _alike(tails.after(len(footers)), score, trust)
    return footers


def _alike(tails: FooterBytes, score: str | None, trust: Trust) -> list[Footer]:
    """Footers of the first file, and of those after it that share its schema."""
    path, raw = tails.files[0].path, tails.footer(0)
    described = span(raw, find_fields(raw)[0], kernels.SCHEMA_AT)
    read_columns(path, described)
    leaves = leaves_of_schema(described)
    read_groups = read_row_groups(tails, described, leaves, leaves.single.get(score))
    schemas: list[pa.Schema] = []
    for i, keys in enumerate(read_groups.keys):
        same = i and keys is read_groups.keys[i - 1]
        schemas.append(schemas[-1] if same else arrow_schema(tails.files[i].path, described, keys))
    scores = _scores(tails, read_groups, leaves, schemas, score)
    if read_groups.fault is not None:
        raise read_groups.fault
    groups = [slice(*ends) for ends in pairwise([0, *read_groups.ends.tolist()])]
    return [
        Footer(
            tails.files[i],
            *tails.states[i],
            tails.digests[i],
            length,
            schemas[i],
            read_groups.rows[mine],
            indexed,
            bounds,
            nulls,
            scores.places[mine],
            trust.verify,
            trust.limit,
        )
        for i, (mine, length, indexed, bounds, nulls) in enumerate(
            zip(groups, tails.lengths, read_groups.indexed.tolist(), scores.bounds, scores.nulls.tolist(), strict=False)
        )
    ]


@dataclass(frozen=True, eq=False)
class _ScoreFacts:
    """Facts of the score that footers state: places by row group, bounds and nulls by file; see `Footer`."""

    bounds: Sequence[ChunkBounds | None]
    places: Int64Array
    nulls: Int64Array


def _scores(
    tails: FooterBytes, read_groups: RowGroups, leaves: SchemaLeaves, schemas: Sequence[pa.Schema], score: str | None
) -> _ScoreFacts:
    leaf, nothing = leaves.single.get(score), np.zeros(len(schemas), np.int64)
    if score is None:
        return _ScoreFacts([None] * len(schemas), np.zeros((0, 2), np.int64), nothing)
    facts, ends = read_groups.of_leaf, np.concatenate([[0], read_groups.ends])
    if leaf is None or score not in schemas[0].names:
        unknown = ChunkBounds(np.zeros(read_groups.rows.size, np.bool_), np.zeros((read_groups.rows.size, 2), np.int64))
        bounds = [unknown.chosen(slice(*of)) for of in pairwise(ends.tolist())]
        return _ScoreFacts(bounds, np.zeros((read_groups.rows.size, 2), np.int64), nothing)
    places = np.stack([begin_of(facts), facts[:, kernels.COMPRESSED]], axis=1)
    places[read_groups.rows == 0] = 0
    facts[read_groups.rows == 0, kernels.NULLS] = kernels.ABSENT  # nothing is stated of no rows
    counted = np.concatenate([[0], np.cumsum(np.clip(facts[:, kernels.NULLS], 0, read_groups.rows))])

    def place(first: int, number: int) -> str:
        file = int(np.searchsorted(read_groups.ends, first + number, side="right"))
        return f"{tails.files[file].path}: row group {first + number - ends[file]}, column {score}"

    physical, bounds = int(leaves.levels[leaf, PHYSICAL]), []
    for _, files in groupby(range(len(schemas)), key=lambda file: id(schemas[file])):
        cuts = ends[len(bounds) : len(bounds) + len(list(files)) + 1].tolist()
        kind, mine = schemas[len(bounds)].field(score).type, facts[cuts[0] : cuts[-1]]
        chunk_bounds = bounds_of(mine, tails.raw, physical, kind, partial(place, cuts[0]))
        bounds += [chunk_bounds.chosen(slice(begin - cuts[0], end - cuts[0])) for begin, end in pairwise(cuts)]
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
        columns = _wide(footer.schema)
        for name in [*expected, *columns]:
            if expected.get(name) != columns.get(name) and not (
                name == promoted and name in expected and name in columns
            ):
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
