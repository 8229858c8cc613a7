"""Evaluate many rankings: in one stream where their rows are stored together, else parted through a scratch file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import pyarrow as pa

from streameval.counting.labelled_rows import refuse_unreached_level
from streameval.errors import InputError, OutsideError
from streameval.per_query.adjacent import ApartError, adjacent
from streameval.per_query.batches import HighGradeError, ManyRows, RowBatch
from streameval.per_query.measured import Gathered, Measure, Measured, PassedOver, gather_parts
from streameval.per_query.options import PerRanking
from streameval.per_query.positives import never_returned, with_levels
from streameval.per_query.scattered import PartedRankings
from streameval.per_query.sums import Sums
from streameval.progress import Progress, RowsDone
from streameval.rankings.ranking import Ranking
from streameval.scans.jobs import Engine
from streameval.scans.threads import Threads

_BASE_MEMORY = 0.35  # of --memory: decoded units, and metrics on their way to the disk
R = TypeVar("R")
THREADS = Threads()
Sink = Callable[[pa.Table], None]
# begins to take tables of rankings, from the first on, whatever it was given before
SinkOpener = Callable[[pa.Schema], Sink]


@dataclass(frozen=True)
class Found:
    """Results of many rankings.

    Attributes:
        how: How they were read, for people.
        left: Rows of the table of positives, and rankings that nobody judged.
        worst: Up to `LOWEST` rankings with a positive, of the lowest average precision; as rankings.parquet has them.
    """

    rows: ManyRows
    sums: Sums
    how: str
    left: PassedOver
    worst: pa.Table = field(repr=False)


def evaluate_rankings(
    ranking: Ranking, label: str, options: PerRanking, opened: SinkOpener | None, progress: Progress,
    engine: Engine,
) -> Found:  # fmt: skip
    """Evaluate them; `opened` is what takes their rows, if any. Errors as in `streameval.exact`."""
    rows = ManyRows.open(ranking, label, options)
    if not rows.n_items and options.positives is None:
        raise InputError("the ranking has no rows")
    try:
        return _evaluate(ranking, rows, opened, progress, engine)
    except HighGradeError:
        if engine.placement == "on workers":
            raise
        return _evaluate(ranking, with_levels(rows), opened, progress, engine)


def _evaluate(ranking: Ranking, rows: ManyRows, opened: SinkOpener | None, progress: Progress, engine: Engine) -> Found:
    options, unreturned = rows.options, list[RowBatch]()
    if options.positives is not None:
        rows, unreturned = never_returned(rows)
    measure = Measure(rows, keeps_rows=opened is not None)
    schema = measure.schema  # refused where names are taken

    def sink() -> Sink | None:
        return None if opened is None else opened(schema)

    def collect(parts: Iterator[Measured]) -> Gathered:
        return _collect(rows.n_items, parts, sink())

    total, how = measure_streamed(ranking, rows, unreturned, measure, collect, progress, engine)
    ranking.rows.check_unchanged()
    if options.level > 1 and not (total.sums.positives or total.sums.misses):
        refuse_unreached_level(replace(rows.rows, meaning=replace(options.words, relevant=options.relevant)))
    worst = measure.table(total.lowest.facts, total.lowest.values, total.lowest.names)
    return Found(rows, total.sums, how, total.left, worst)


def measure_streamed(
    ranking: Ranking, rows: ManyRows, unreturned: Sequence[RowBatch], measure: Measure,
    collect: Callable[[Iterator[Measured]], R], progress: Progress, engine: Engine = THREADS,
) -> tuple[R, str]:  # fmt: skip
    """Measure rankings: in one stream of this process if that can be, else parted.

    Args:
        collect: Takes what is measured; from the first ranking on again, where rows of one turn out to be apart.

    Returns:
        tuple: What `collect` made of it, and how the rows were read.
    """
    memory = ranking.options.memory * 1e9 * (1 - _BASE_MEMORY)
    if not unreturned and engine.placement == "in process":
        rows_done = RowsDone(rows.n_items, progress)
        try:
            parts = adjacent(rows, measure, ranking.threads, memory, rows_done.rows)
            return collect(parts), "one pass, rankings stored together"
        except ApartError:
            pass
    job = PartedRankings(rows, unreturned, measure, ranking.threads, memory)
    return collect(engine.run(job, progress)), job.how


def _collect(n_items: int, parts: Iterator[Measured], sink: Sink | None) -> Gathered:
    total = None
    for part, table in gather_parts(parts):
        total = part if total is None else total.plus(part)
        if sink is not None:
            sink(table)
    if total is None:
        raise InputError("there is no ranking")
    measured = total.sums.items + total.left.items
    if measured != n_items:
        raise OutsideError(f"{n_items:,} rows were to be measured, and {measured:,} were", "run it again")
    return total
