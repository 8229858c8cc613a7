"""Evaluate many rankings: in one stream where their rows are stored together, else parted through a scratch file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import pyarrow as pa

from streameval.errors import InputError
from streameval.progress import Progress
from streameval.queries.adjacent import ApartError, adjacent
from streameval.queries.batches import ManyRows, RowBatch
from streameval.queries.measured import Gathered, Measure, Measured, gathered
from streameval.queries.never_returned import never_returned
from streameval.queries.options import PerRanking
from streameval.queries.scattered import Room, scattered
from streameval.queries.sums import Sums
from streameval.rankings.ranking import Ranking
from streameval.stores.scratch import ScratchFile, Spill
from streameval.stores.temporary import temporary_folder

_BASE_MEMORY = 0.35  # of --memory: decoded units, and metrics on their way to the disk
_SPILL = 0.65  # of the rest: rows that wait to be measured
R = TypeVar("R")
Sink = Callable[[pa.Table], None]
# begins to take tables of rankings, from the first on, whatever it was given before
Opened = Callable[[pa.Schema], Sink]


@dataclass(frozen=True)
class Found:
    """What was found of many rankings.

    Attributes:
        how: How they were read, for people.
        returned: Rows of the table of positives that were left out, for the ranking returned their item.
        worst: Up to `LOWEST` rankings with a positive, of the lowest average precision; as rankings.parquet has them.
    """

    rows: ManyRows
    sums: Sums
    how: str
    returned: int
    worst: pa.Table = field(repr=False)


# measures rankings on workers; like `gathered(scattered(...))`
Elsewhere = Callable[[ManyRows, Sequence[RowBatch], Progress], Iterator[tuple[Gathered, pa.Table]]]


def evaluate_rankings(
    ranking: Ranking, label: str, options: PerRanking, opened: Opened | None, progress: Progress,
    elsewhere: Elsewhere | None = None,
) -> Found:  # fmt: skip
    """Evaluate them, here or elsewhere; `opened` is what takes their rows, if any. Errors as in `streameval.exact`."""
    rows = ManyRows.of(ranking, label, options)
    if not rows.n_items and options.positives is None:
        raise InputError("the ranking has no rows")
    beside: list[RowBatch] = []
    if options.positives is not None:
        rows, beside = never_returned(rows)
    measure = Measure(rows, keeps_rows=opened is not None)
    schema = measure.schema  # refused where names are taken

    def sink() -> Sink | None:
        return None if opened is None else opened(schema)

    if elsewhere is not None:
        parts = elsewhere(rows, beside, progress)
        found = _collected(rows, parts, sink(), "parted by ranking on workers")
        ranking.rows.check_unchanged()
        return found

    def collect(parts: Iterator[Measured]) -> Found:
        return _collected(rows, gathered(parts), sink(), "")

    found, how = streamed(ranking, rows, beside, measure, collect, progress)
    ranking.rows.check_unchanged()
    return replace(found, how=how)


def streamed(
    ranking: Ranking, rows: ManyRows, beside: Sequence[RowBatch], measure: Measure,
    collect: Callable[[Iterator[Measured]], R], progress: Progress,
) -> tuple[R, str]:  # fmt: skip
    """Measure rankings here: in one stream if that can be, else parted.

    Args:
        collect: Takes what is measured; from the first ranking on again, where rows of one turn out to be apart.

    Returns:
        tuple: What `collect` made of it, and how the rows were read.
    """
    threads = ranking.options.threads or os.cpu_count() or 1
    memory = ranking.options.memory * 1e9 * (1 - _BASE_MEMORY)
    told = _Told(rows.n_items, progress)
    if not beside:
        try:
            parts = adjacent(rows, measure, threads, memory, told.rows)
            return collect(parts), "one pass, rankings stored together"
        except ApartError:
            told = _Told(2 * rows.n_items, progress)
    with temporary_folder("streameval-work") as folder, ScratchFile(folder / "rows") as file:
        room = Room.of(Spill(file, _SPILL * memory), threads, (1 - _SPILL) * memory)
        found = collect(scattered(rows, beside, measure, room, told.rows))
        return found, "parted by ranking" + ("" if file.is_empty else " through a scratch file")


class _Told:
    """Adds up progress."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._done, self._total, self._progress = 0, total, progress

    def rows(self, count: int) -> None:
        self._done = min(self._done + count, self._total)
        self._progress(self._done, self._total)


def _collected(rows: ManyRows, parts: Iterator[tuple[Gathered, pa.Table]], sink: Sink | None, how: str) -> Found:
    total = None
    for part, table in parts:
        total = part if total is None else total.plus(part)
        if sink is not None:
            sink(table)
    if total is None:
        raise InputError("there is no ranking")
    return Found(rows, total.sums, how, total.returned, total.lowest)
