"""Evaluate many rankings: in one stream where their rows are stored together, else parted through a scratch file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.progress import Progress
from streameval.queries.adjacent import ApartError, adjacent
from streameval.queries.batches import Batch, ManyRows
from streameval.queries.measured import Measure, Measured
from streameval.queries.never_returned import never_returned
from streameval.queries.options import PerRanking
from streameval.queries.scattered import Room, scattered
from streameval.queries.sums import Sums
from streameval.rankings.ranking import Ranking
from streameval.stores.scratch import ScratchFile, Spill
from streameval.stores.temporary import temporary_folder

_BASE_MEMORY = 0.35  # of --memory: decoded units, and metrics on their way to the disk
_SPILL = 0.65  # of the rest: rows that wait to be measured
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


LOWEST = 20


def evaluate_rankings(ranking: Ranking, label: str, options: PerRanking, opened: Opened, progress: Progress) -> Found:
    """Evaluate them; `opened` is what takes their rows. Errors as in `streameval.exact`."""
    rows = ManyRows.of(ranking, label, options)
    if not rows.rows.n_items and options.positives is None:
        raise InputError("the ranking has no rows")
    threads = ranking.options.threads or os.cpu_count() or 1
    memory = ranking.options.memory * 1e9 * (1 - _BASE_MEMORY)
    beside: list[Batch] = []
    if options.positives is not None:
        rows, beside = never_returned(rows)
    measure = Measure(rows)
    told = _Told(rows.rows.n_items, progress)
    if not beside:
        try:
            parts = adjacent(rows, measure, threads, memory, told.rows)
            return _collected(rows, parts, opened(measure.schema), "one pass, rankings stored together")
        except ApartError:
            told = _Told(2 * rows.rows.n_items, progress)
    with temporary_folder("streameval-work") as folder, ScratchFile(folder / "rows") as file:
        room = Room.of(Spill(file, _SPILL * memory), threads, (1 - _SPILL) * memory)
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
    sums, lowest, returned = None, None, 0
    for part in parts:
        returned += part.returned
        sums = part.sums if sums is None else sums.plus(part.sums)
        lowest = _lowest(lowest, part)
        sink(part.table)
    if sums is None or lowest is None:
        raise InputError("there is no ranking")
    return Found(rows, sums, how, returned, lowest)


def _lowest(known: pa.Table | None, part: Measured) -> pa.Table:
    """The rankings of lowest average precision; of equal ones those with most positives."""
    size, value = part.facts[:, 1:].sum(axis=1), part.values[:, 0, 1]
    limit = 1.0 if known is None or known.num_rows < LOWEST else known.column("average_precision")[-1].as_py()
    candidates = np.flatnonzero((size > 0) & (value <= limit))
    if known is not None and not candidates.size:
        return known
    if candidates.size > LOWEST:
        most = np.partition(value[candidates], LOWEST)[LOWEST]
        candidates = candidates[value[candidates] <= most]
    own = part.table.take(pa.array(candidates))
    both = own if known is None else pa.concat_tables([known, own])
    value = both.column("average_precision").to_numpy()
    size = both.column("positives").to_numpy() + both.column("misses").to_numpy()
    return both.take(pa.array(np.lexsort((-size, value))[:LOWEST]))
