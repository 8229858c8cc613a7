"""Evaluate many rankings: in one stream where their rows are stored together, else parted through a scratch file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, did_you_mean
from streameval.kernels.segments import NEVER
from streameval.progress import Progress
from streameval.queries.adjacent import ApartError, adjacent
from streameval.queries.batches import NOTHING, Batch, ManyRows, grades
from streameval.queries.measured import Measure, Measured
from streameval.queries.options import PerRanking
from streameval.queries.scattered import Room, scattered
from streameval.queries.sums import Sums
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rows.options import RankingOptions
from streameval.stores.scratch import ScratchFile, Spill
from streameval.stores.temporary import temporary_folder

_BASE_MEMORY = 0.35  # of --memory: decoded units, and metrics on their way to the disk
Sink = Callable[[pa.Table], None]
# begins to take tables of rankings, from the first on, whatever it was given before
Opened = Callable[[pa.Schema], Sink]


@dataclass(frozen=True)
class Found:
    """What was found of many rankings.

    Attributes:
        how: How they were read, for people.
        worst: Up to `LOWEST` rankings with a positive, of the lowest average precision; as rankings.parquet has them.
    """

    rows: ManyRows
    sums: Sums
    how: str
    worst: pa.Table = field(repr=False)


LOWEST = 20


def evaluate_rankings(ranking: Ranking, label: str, options: PerRanking, opened: Opened, progress: Progress) -> Found:
    """Evaluate them; `opened` is what takes their rows. Errors as in `streameval.exact`."""
    rows = ManyRows.of(ranking, label, options)
    if not rows.rows.n_items and options.positives is None:
        raise InputError("the ranking has no rows")
    measure = Measure(rows)
    threads = ranking.options.threads or os.cpu_count() or 1
    memory = ranking.options.memory * 1e9 * (1 - _BASE_MEMORY)
    beside = _positives(rows, options) if options.positives is not None else []
    told = _Told(rows.rows.n_items, progress)
    if not beside:
        try:
            parts = adjacent(rows, measure, threads, memory, told.rows)
            return _collected(rows, parts, opened(measure.schema), "one pass, rankings stored together")
        except ApartError:
            told = _Told(2 * rows.rows.n_items, progress)
    with temporary_folder("streameval-work") as folder, ScratchFile(folder / "rows") as file:
        room = Room.of(Spill(file, memory / 3), threads, memory / 2)
        parts = scattered(rows, beside, measure, room, told.rows)
        found = _collected(rows, parts, opened(measure.schema), "parted by ranking")
        if not file.is_empty:
            found = replace(found, how="parted by ranking through a scratch file")
    ranking.rows.check_unchanged()
    return found


class _Told:
    """Adds up progress."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._done, self._total, self._progress = 0, total, progress

    def rows(self, count: int) -> None:
        self._done = min(self._done + count, self._total)
        self._progress(self._done, self._total)


def _collected(rows: ManyRows, parts: Iterator[Measured], sink: Sink, how: str) -> Found:
    sums, lowest = None, None
    for part in parts:
        sums = part.sums if sums is None else sums.plus(part.sums)
        lowest = _lowest(lowest, part)
        sink(part.table)
    if sums is None or lowest is None:
        raise InputError("there is no ranking")
    return Found(rows, sums, how, lowest)


def _lowest(known: pa.Table | None, part: Measured) -> pa.Table:
    """The rankings of lowest average precision; of equal ones those with most positives."""
    with_positives = np.flatnonzero(part.facts[:, 1] + part.facts[:, 2] > 0)
    value, size = part.values[with_positives, 0, 1], part.facts[with_positives, 1:].sum(axis=1)
    own = part.table.take(pa.array(with_positives[np.lexsort((-size, value))[:LOWEST]]))
    if known is None:
        return own
    both = pa.concat_tables([known, own])
    value = both.column("average_precision").to_numpy()
    size = both.column("positives").to_numpy() + both.column("misses").to_numpy()
    return both.take(pa.array(np.lexsort((-size, value))[:LOWEST]))


def _positives(rows: ManyRows, options: PerRanking) -> list[Batch]:
    """Items that rankings never returned; an `InputError` where the table cannot be used."""
    opened = open_ranking(_source(options.positives), RankingOptions())
    known, place = opened.columns(), "the table of positives"
    for name in options.per:
        if name not in known:
            raise InputError(f"{place} has no column '{name}'", did_you_mean(name, known))
    label = rows.rows.label if rows.rows.label in known else None
    found = []
    for unit in opened.rows.units(options.per[0]):
        names = unit.read(list(options.per))
        try:
            names = pa.table([names.column(one.name).cast(one.type) for one in rows.names], schema=rows.names)
        except pa.ArrowException as error:
            raise InputError(f"{unit.place}: {' '.join(str(error).split())}") from None
        low, high = rows.identities(names, unit.place)
        grade = (
            np.ones(unit.rows, np.uint8) if label is None else grades(unit.read([label]).column(0), label, unit.place)
        )
        if np.any(grade == 0):
            raise InputError(f"{unit.place}: {int(np.sum(grade == 0)):,} labels are 0", "it is a table of positives")
        items = np.zeros(unit.rows, np.uint64) if options.item else NOTHING
        carried = {name: names.column(name) if name in names.column_names else
                   pa.array([""] * unit.rows, pa.large_string()) for name in rows.carried}  # fmt: skip
        table = pa.table(carried) if carried else pa.table({})
        found.append(Batch(low, high, np.zeros(unit.rows, np.uint64), grade | NEVER, items, table))
    return found


def _source(given: Any) -> Any:
    return os.fspath(given) if isinstance(given, os.PathLike) else given
