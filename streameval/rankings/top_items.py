"""The items down to a rank, as tables that follow one another: in fixed memory, however many they are.

By score, the place of the last rank in the order (score, tie hash, stored position) is found by counting scans; one
scan more keeps the rows at or before it, and their items are read where they are stored. In rank order the items go
through files on disk, one per interval of ranks that fits the memory, and each is sorted by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.tiehash import position_hashes
from streameval.kernels.wordorder import count_before
from streameval.order.finer_bins import Words
from streameval.order.locate import locate
from streameval.order.scan import Scan, Unit
from streameval.order.skip_by_statistics import Lumps
from streameval.parquet.dense import batches, worthwhile
from streameval.rankings import Ranking
from streameval.rankings.by_score import ScoredRanking
from streameval.rankings.spill import Spill, matrix
from streameval.rows.lake import LakeRanking
from streameval.rows.parquet import StoredRanking, free_name
from streameval.typing import Int64Array

_MOST_ROWS = 1 << 20  # of one table
_MOST_POSITIONS = 1 << 24  # that are listed at a time
_BATCH_ROWS = 1 << 16
_GATHERED = 1 << 18  # rows that are read together where they lie scattered
_SAMPLE_PLACES, _SAMPLE_ROWS = 16, 16
_MOST_FILES = 200
_MOST_BYTES = 1 << 30  # of an interval that is sorted, so that no text overflows Arrow's 32-bit offsets


@dataclass(frozen=True)
class Leading:
    """Items of ranks 1..last, in pieces.

    Attributes
    ----------
    schema : pyarrow.Schema
        `rank` where the pieces are in rank order, then the item's columns.
    tables : iterator of pyarrow.Table
        Of this schema.
    """

    schema: pa.Schema
    tables: Iterator[pa.Table]


class _Items:
    """Reads items at stored positions, as many at a time as the memory takes."""

    def __init__(self, ranking: Ranking, memory: float) -> None:
        self.rows = ranking.rows if isinstance(ranking, ScoredRanking) else ranking
        self.columns = list(dict.fromkeys(self.rows.columns()))
        self.limit = memory / 8
        sample = self._fetch(_sample(self.rows.n_items))
        self.schema = sample.schema
        if isinstance(ranking, ScoredRanking):  # its type may differ between files
            at = self.columns.index(ranking.score)
            self.schema = self.schema.set(at, self.schema.field(at).with_type(ranking.kind))
        self.bytes_per_row = max(1.0, sample.nbytes / sample.num_rows)

    def read(self, positions: Int64Array) -> Iterator[pa.Table]:
        """Items at some positions, in ascending order."""
        scattered: list[Int64Array] = []
        for part in self.rows.parts(positions + 1) if isinstance(self.rows, StoredRanking) else ():
            here, positions = positions[: part.rows.size], positions[part.rows.size :]
            if not worthwhile(part):
                scattered.append(here)
                continue
            yield from self._scattered(np.concatenate([*scattered, here[:0]]))
            scattered = []
            for table in batches(part, min(_BATCH_ROWS, self._rows_at_once())):
                yield self._as_planned(table.select(self.columns))
        yield from self._scattered(np.concatenate([*scattered, positions]))

    def _scattered(self, positions: Int64Array) -> Iterator[pa.Table]:
        at = 0
        while at < positions.size:
            table = self._fetch(positions[at : at + self._rows_at_once()] + 1)
            at += table.num_rows
            yield self._as_planned(table)

    def _rows_at_once(self) -> int:
        return int(min(_MOST_ROWS, max(1, self.limit / self.bytes_per_row)))

    def _as_planned(self, table: pa.Table) -> pa.Table:
        if table.num_rows:
            self.bytes_per_row = max(1.0, table.nbytes / table.num_rows)
        return table.cast(self.schema)

    def _fetch(self, ranks: Int64Array) -> pa.Table:
        found = self.rows.fetch(ranks, self.columns).table
        return found.select(range(1, found.num_columns)).rename_columns(self.columns)


def _sample(n_items: int) -> Int64Array:
    """Ranks from all over the list, few pages of them: a page of long texts is large."""
    starts = np.linspace(1, n_items, _SAMPLE_PLACES).astype(np.int64)
    ranks = np.unique(starts[:, None] + np.arange(_SAMPLE_ROWS))
    return ranks[ranks <= n_items]


def leading(ranking: Ranking, last_rank: int, order: str, folder: Path, memory: float) -> Leading:
    """Read the items of ranks 1..`last_rank`.

    Parameters
    ----------
    ranking : Ranking
    last_rank : int
        In 1..N.
    order : {"storage", "rank"}
        Order of the items. Where the stored order is the ranking the two are one.
    folder : Path
        For files that are removed again: in rank order by score, all items are written there once, uncompressed.
    memory : float
        Bytes that reading may take.

    Raises
    ------
    InputError
        What `Ranking.fetch` raises, and a list that changed while it was read.
    """
    if isinstance(ranking, LakeRanking):
        ranking = ranking.opened
    items = _Items(ranking, memory)
    if not isinstance(ranking, ScoredRanking):
        return _ranked(items, _stored(items, last_rank))
    if order == "storage":
        kept = _gathered(_kept(ranking, _places(ranking, np.array([last_rank])), "ties"), last_rank)
        return Leading(items.schema, (table for words, _ in kept for table in items.read(_positions(words))))
    return _ranked(items, _by_rank(ranking, items, last_rank, folder, min(memory / 4, _MOST_BYTES)))


def _ranked(items: _Items, tables: Iterator[pa.Table]) -> Leading:
    """Number the rows of tables in rank order."""
    names = [free_name(name, items.columns) if name == "rank" else name for name in items.columns]
    schema = pa.schema(
        [pa.field("rank", pa.int64()), *(f.with_name(n) for f, n in zip(items.schema, names, strict=True))]
    )

    def numbered() -> Iterator[pa.Table]:
        done = 0
        for table in tables:
            ranks = pa.array(np.arange(done + 1, done + table.num_rows + 1))
            yield pa.Table.from_arrays([ranks, *table.columns], schema=schema)
            done += table.num_rows

    return Leading(schema, numbered())


def _stored(items: _Items, last_rank: int) -> Iterator[pa.Table]:
    """Items of the first ranks of a list in stored order; no row group is read twice unless it is huge."""
    ends = items.rows.last_rank if isinstance(items.rows, StoredRanking) else None
    first = 0
    while first < last_rank:
        end = first + _MOST_ROWS
        if ends is not None and end < last_rank:
            end = min(int(ends[np.searchsorted(ends, end)]), first + _MOST_POSITIONS)
        end = min(end, last_rank)
        yield from items.read(np.arange(first, end, dtype=np.int64))
        first = end


def _by_rank(ranking: ScoredRanking, items: _Items, last_rank: int, folder: Path, limit: float) -> Iterator[pa.Table]:
    """Deal the items out to intervals of ranks, on disk, then sort one interval after another."""
    files = int(np.clip(np.ceil(last_rank * items.bytes_per_row / limit), 1, min(_MOST_FILES, last_rank)))
    ends = np.array([-(-last_rank * (i + 1) // files) for i in range(files)], dtype=np.int64)
    spill = Spill(folder, items.schema, files)
    with spill:
        for words, interval in _gathered(_kept(ranking, _places(ranking, ends), "all"), last_rank):
            at = 0
            for table in items.read(_positions(words)):
                here = slice(at, at + table.num_rows)
                spill.add(table, matrix(words)[:, here], interval[here])
                at += table.num_rows
    for file in range(files):
        yield from spill.sorted(file, limit)


def _places(ranking: ScoredRanking, ranks: Int64Array) -> Words:
    """Words of the items at some ranks."""
    scan = ranking.scan_for(ranks)
    found = locate(scan, ranks, ranking.budget(ranks.size), ranking.options.nan)
    hashes = scan.key_hashes(found.position) if scan.keys else position_hashes(found.position)
    return Words(found.keys.key, found.keys.low, hashes, found.position.view(np.uint64))


def _kept(ranking: ScoredRanking, ends: Words, hashed: str) -> Iterator[tuple[Words, Int64Array]]:
    """Rows at or before the last of some places, in stored order, and the first place at or after each.

    Parameters
    ----------
    hashed : {"all", "ties"}
        Which rows' key columns are hashed: all, or those of row groups where a score is that of the last place.
    """
    scan = ranking.scan_for(np.array([1]))
    units = list(ranking.units)
    if ranking.bounds is not None:
        units = [unit for unit, best in zip(units, ranking.bounds[0].tolist(), strict=True) if best <= ends.key[-1]]
    scan = replace(scan, units=units, lumps=Lumps.none())
    with ThreadPoolExecutor(scan.threads) as pool:
        for first in range(0, len(units), scan.threads):
            yield from pool.map(lambda unit: _kept_of(scan, unit, ends, hashed), units[first : first + scan.threads])


def _kept_of(scan: Scan, unit: Unit, ends: Words, hashed: str) -> tuple[Words, Int64Array]:
    keys = scan.scores(unit)
    rows = np.flatnonzero(keys.key <= ends.key[-1]).astype(np.uint32)
    needed = bool(rows.size) if hashed == "all" else bool(np.any(keys.key[rows] == ends.key[-1]))
    hashes = scan.hashes(unit) if scan.keys and needed else None
    words = scan.words(unit.first_position, keys, rows, hashes)
    interval = count_before(matrix(words), matrix(ends))
    inside = interval < ends.key.size
    return words.where(inside), interval[inside]


def _gathered(kept: Iterator[tuple[Words, Int64Array]], last_rank: int) -> Iterator[tuple[Words, Int64Array]]:
    """Join what few rows there are, so that they are read together; check that nothing is missing."""
    waiting: list[tuple[Words, Int64Array]] = []
    total, count = 0, 0
    for words, interval in kept:
        waiting.append((words, interval))
        count += interval.size
        total += interval.size
        if count >= _GATHERED:
            yield _joined(waiting)
            waiting, count = [], 0
    if total != last_rank:
        raise InputError(f"{total:,} items lie above rank {last_rank:,}: the list changed while it was read")
    if count:
        yield _joined(waiting)


def _joined(pieces: list[tuple[Words, Int64Array]]) -> tuple[Words, Int64Array]:
    words = (np.concatenate(parts) for parts in zip(*(piece.parts for piece, _ in pieces), strict=True))
    return Words(*words), np.concatenate([interval for _, interval in pieces])


def _positions(words: Words) -> Int64Array:
    return np.asarray(words.position.astype(np.int64))
