"""Write the rows of an `Unread` as Parquet parts: a folder that appears whole or not at all.

Row groups end after the same rows whenever the same rows are read, whatever the batches and the memory, so that equal
rows make equal files. Parts that are complete are kept where a run is interrupted: what reads the same again, as text
files do, goes on behind them.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streameval.copies import LIST_COPY, Unread, kind_of, name_of, open_list, paths_of
from streameval.errors import InputError, NoRowsError, StudyError, outside_trouble
from streameval.parquet.footers import read_tail
from streameval.process.system import sync
from streameval.progress import Progress, Step, announce, silent
from streameval.rankings.copied import EVERY, OF_FEW_VALUES, is_damaged
from streameval.rows.options import RankingOptions
from streameval.stores import atomic
from streameval.stores.own_files import read_json
from streameval.stores.publish import ahead, write_parts
from streameval.stores.temporary import temporary_folder

RECORD = "_source.json"
_BEGUN = "_begun.json"
_STEP = 4096  # rows: groups end at multiples of it
_GROUP_ROWS = 1 << 17
_GROUP_BYTES = 1 << 25
_LEAST_REPEATS = 8  # of a value, on average
# in messages
_PLACE = r"(?:/(part-\d+\.parquet))?(?:: row group (\d+)(?:, row (\d+(?:,\d{3})*) \(from 0\))?)?(?=: |; |$)"


def write_copy(unread: Unread, room: Path, progress: Progress, dictionaries: str = OF_FEW_VALUES) -> None:
    """Fill a folder with all rows, and say in `_source.json` what was read, with a digest for each part.

    Args:
        room: Not there, or what an interrupted run has left: of the same content, its complete parts are kept.
        dictionaries: See `Copied`.

    Raises:
        InputError: What reading the source raises; a type that Parquet has no place for; no rows.
        OutsideError: The disk is full.

    Whatever ends it early, the folder is removed, unless complete parts are in it that a later run can use.
    """
    unread.check()
    begun = _earlier_run(room, unread.content, dictionaries)
    try:
        _fill(unread, room, begun, progress)
    except BaseException as error:
        of_the_disk = isinstance(error, OSError | pa.ArrowException)
        if of_the_disk or isinstance(error, InputError) or not begun.may_go_on:
            shutil.rmtree(room, ignore_errors=True)
        if not of_the_disk:
            raise
        text = " ".join(str(getattr(error, "strerror", None) or error).split())[:200]
        raise outside_trouble(error, room.parent) or InputError(f"{room}: cannot be written ({text})") from error


@contextmanager
def for_a_while(
    source: Any, options: RankingOptions, progress: Progress = silent, kept: Path | None = None
) -> Iterator[Any]:
    """Give what to open for a list: itself, or a copy.

    That is one of the same content that a study has, of which no row is read again; else one among the system's
    temporary files, removed at the end. Studies are looked for in the current folder and in that of the list.

    Args:
        kept: A copy that may be there, wherever.
    """
    kind = kind_of(source)
    if kind is None:
        yield source
        return
    with temporary_folder("streameval-work") as folder, open_list(source, kind, options) as unread:
        there = [] if kept is None else [kept]
        if (copy := _copy_of(unread, [*there, *_copies_near(unread.places[0])])) is not None:
            with told_of_source(copy, source):
                yield str(copy)
            return
        write_copy(unread, folder / "list", progress)
        with told_of_source(folder / "list", source):
            yield str(folder / "list")


def _copy_of(unread: Unread, folders: Iterable[Path]) -> Path | None:
    """Find a complete copy of what would be read: its content was hashed just now, so none is of an earlier text."""
    if unread.content is None:
        return None
    records = ((folder, record_of(folder)) for folder in folders)
    return next((folder for folder, record in records if record and record["content"] == unread.content), None)


def _copies_near(place: str) -> Iterator[Path]:
    """Copies of studies that lie in the current folder, or beside a list."""
    for folder in dict.fromkeys([os.path.abspath(os.curdir), os.path.dirname(place)]):
        yield from (record.parent for record in sorted(Path(folder).glob(f"*/{LIST_COPY}/{RECORD}")))


@contextmanager
def told_of_source(copy: Path, source: Any) -> Iterator[None]:
    """Let errors about a copy name what it was read from, as it was given, and count its rows from 1 on."""
    try:
        yield
    except InputError as error:
        if str(copy) in error.what and is_damaged(str(copy)):
            hint = f"move {copy} away and run the same command again: it reads the list again"
            raise StudyError(error.what, hint) from error
        what = re.sub(rf"{re.escape(str(copy))}{_PLACE}", lambda place: _place_in(copy, source, place), error.what)
        if what == error.what:
            raise
        raise type(error)(what, error.hint) from error


def _place_in(copy: Path, source: Any, place: re.Match[str]) -> str:
    """Name the place in its source of a place of a copy: the row, where one is stated."""
    paths, (part, group, row) = paths_of(source), place.groups()
    if len(paths) == 1 and os.path.exists(paths[0]):
        name = paths[0]
    else:
        name = name_of((record_of(copy) or {"source": ["the list"]})["source"])
    if row is None:
        return name
    before = sum(
        pq.read_metadata(part_file).num_rows
        for part_file in sorted(copy.glob("part-*.parquet"))
        if part_file.name < part
    )
    groups = pq.read_metadata(copy / part)
    before += sum(groups.row_group(i).num_rows for i in range(int(group)))
    return f"{name}: row {before + int(row.replace(',', '')) + 1:,}"


def record_of(folder: Path) -> dict[str, Any] | None:
    """Say what a copy was read from; None where there is none, or its parts are not those that were written."""
    try:
        record = read_json(folder / RECORD, "plan again")
        if record.pop("parts", None) not in (None, _digests(folder)):  # former versions kept none
            return None
    except (FileNotFoundError, StudyError, InputError):
        return None
    return record


def _digests(folder: Path) -> dict[str, str]:
    """SHA-256 of the size and the footer of each part: its footer has its name, and its pages have checksums."""
    tails = {path.name: read_tail(str(path)) for path in sorted(folder.glob("*.parquet"))}
    return {name: hashlib.sha256(b"%d\0%b" % (size, end)).hexdigest() for name, ((size, _), end) in tails.items()}


def replace_copy(room: Path, folder: Path) -> None:
    """Move a copy to its place, whatever copy is there; `finish_replacing` goes on from a kill between two steps."""
    old = _set_aside(folder)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        os.replace(folder, old)
    os.replace(room, folder)
    shutil.rmtree(old, ignore_errors=True)
    sync(str(folder.parent))


def is_half_replaced(folder: Path) -> bool:
    """Tell whether `replace_copy` is at work on a folder, or was killed."""
    return _set_aside(folder).exists()


def finish_replacing(folder: Path) -> None:
    """Put a copy back that was killed while another one took its place, or remove it where that one has done so."""
    old = _set_aside(folder)
    if old.exists() and not folder.exists():
        os.replace(old, folder)
    shutil.rmtree(old, ignore_errors=True)


def _set_aside(folder: Path) -> Path:
    """Tell where a copy lies while another one takes its place."""
    return folder.with_name(f".{folder.name}.old")


@dataclass
class _Begun:
    """Record of what a run has written: complete parts, and their rows."""

    content: str | None
    parts: int = 0
    rows: int = 0
    dictionaries: str = EVERY

    @property
    def may_go_on(self) -> bool:
        """Tell whether a later run has use for it."""
        return self.content is not None and self.parts > 0

    def save(self, room: Path) -> None:
        """Keep it for a run that goes on."""
        if self.may_go_on:
            atomic.write_all({room / _BEGUN: atomic.json_object(vars(self))})


def _earlier_run(room: Path, content: str | None, dictionaries: str) -> _Begun:
    """Give what an earlier run has left of the same content, written alike; a folder without any is emptied."""
    try:
        kept = _Begun(**read_json(room / _BEGUN, "plan again"))
        if content is not None and (kept.content, kept.dictionaries) == (content, dictionaries):
            return kept
    except (FileNotFoundError, StudyError, TypeError):
        pass
    shutil.rmtree(room, ignore_errors=True)
    return _Begun(content, dictionaries=dictionaries)


def _fill(unread: Unread, room: Path, begun: _Begun, progress: Progress) -> None:
    atomic.make_folder(room)
    before, written = begun.rows, begun.rows

    def count_rows(rows: int) -> None:
        nonlocal written
        written = before + rows
        progress(written, unread.n_rows)

    def finished(name: str) -> None:
        sync(str(room / name))
        begun.parts, begun.rows = begun.parts + 1, written
        begun.save(room)

    announce(progress, Step("read", unread.n_rows))
    groups = _groups(_skip_rows(ahead(unread.batches()), before))
    coded = _of_few_values if begun.dictionaries == OF_FEW_VALUES else _every
    write_parts(room, unread.schema, groups, count_rows, finished, begun.parts, coded)
    if not written:
        raise NoRowsError(f"{unread.name}: no rows", unread.without_rows)
    record = {"source": list(unread.places), "content": unread.content, "rows": written,
              "dictionaries": begun.dictionaries, "parts": _digests(room)}  # fmt: skip
    atomic.write_all({room / RECORD: atomic.json_object(record)})
    (room / _BEGUN).unlink(missing_ok=True)


def _every(group: pa.Table) -> bool:
    return True


def _of_few_values(group: pa.Table) -> list[str]:
    """Columns for which a dictionary is worth the time that it takes to find that a value is not in it yet."""
    return [name for name, column in zip(group.column_names, group.columns, strict=True) if _repeats(column)]


def _repeats(column: pa.ChunkedArray) -> bool:
    if pa.types.is_dictionary(column.type):
        return True
    try:
        return bool(_LEAST_REPEATS * pc.count_distinct(column, mode="all").as_py() <= len(column))
    except pa.ArrowNotImplementedError:  # values of several fields
        return False


def _skip_rows(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Pass over the first rows."""
    for batch in batches:
        skipped = min(rows, batch.num_rows)
        rows -= skipped
        if skipped < batch.num_rows:
            yield batch.slice(skipped)


def _groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Join and cut batches into row groups."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        at = 0
        while at < batch.num_rows:
            piece = batch.slice(at, _STEP - rows % _STEP)
            at += piece.num_rows
            waiting.append(piece)
            rows, size = rows + piece.num_rows, size + _bytes(piece)
            if rows % _STEP == 0 and (rows >= _GROUP_ROWS or size >= _GROUP_BYTES):
                yield pa.Table.from_batches(waiting).combine_chunks()
                waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _bytes(batch: pa.RecordBatch) -> int:
    """Bytes of the values alone: whether there is room for nulls depends on how rows came."""
    return sum(_value_bytes(column) for column in batch.columns)


def _value_bytes(column: pa.Array) -> int:
    kind = column.type
    if kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        return int(pc.sum(pc.binary_length(column)).as_py() or 0)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _value_bytes(column.flatten())
    if pa.types.is_struct(kind):
        return sum(map(_value_bytes, column.flatten()))
    return len(column) * 8
