"""Rankings by score, whatever the storage order of their files: never sorted, never loaded.

The order is total: score, then the tie hash (of the key columns, or of the stored position), then the stored position.
The positions of wanted ranks are found by counting scans (`ordering`), and their items are read where they are stored.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.orderkeys import LAST, UInt64Array
from streameval.rankings import Fetched, Forecast, Progress, Ranking, RankingOptions, silent
from streameval.rankings.footers import check_column
from streameval.rankings.ordering.locate import least_memory, locate
from streameval.rankings.ordering.scores import ScoreOrder, order_of, widest
from streameval.rankings.ordering.skipping import Lumps, must_be_read
from streameval.rankings.ordering.ties import TIE_RULE, check_key, key_hashes
from streameval.rankings.ordering.units import RowGroup, Scan, Unit, reader_of
from streameval.rankings.stored import StoredRanking, free_name, open_stored
from streameval.types import Int64Array

_LEAST_MEMORY = 0.05  # GB: bins and a few row groups
_BYTES_PER_ROW = 48  # of a row group that is being decoded


@dataclass(frozen=True)
class ScoredRanking:
    """Parquet files whose score column is the order.

    Attributes
    ----------
    rows : Ranking
        The same items in stored order.
    units : tuple of Unit
        The same items as scans read them.
    options : RankingOptions
    order : ScoreOrder
    score : str
        The score column.
    kind : pyarrow.DataType
        The widest type that it has.
    bounds : pair of uint64 arrays, or None
        Smallest and largest order key of each unit, from statistics.
    """

    rows: Ranking
    units: tuple[Unit, ...]
    options: RankingOptions
    order: ScoreOrder
    score: str
    kind: pa.DataType
    bounds: tuple[UInt64Array, UInt64Array] | None = None

    @property
    def n_items(self) -> int:
        """N, from row counts."""
        return self.rows.n_items

    @property
    def fingerprint(self) -> str:
        """Hash over the files' relative paths, sizes and footers."""
        return self.rows.fingerprint

    def description(self) -> dict[str, Any]:
        """What the ranking is, JSON-ready."""
        return {**self.rows.description(), **describe(self.options)}

    def location(self) -> dict[str, Any]:
        """Where it lies and how to read it, JSON-ready."""
        return self.rows.location()

    def columns(self) -> list[str]:
        """Columns in the files, then partition keys that are not among them."""
        return self.rows.columns()

    def fetch(
        self,
        ranks: Int64Array,
        columns: Sequence[str],
        progress: Progress = silent,
        cutoffs: Int64Array | None = None,
    ) -> Fetched:
        """Find the items at `ranks` by counting scans, and read them.

        Parameters
        ----------
        ranks : int64 array, strictly increasing, in 1..N
        columns : sequence of str
            Of `columns()`.
        progress : callable(done, total), optional
            Rows of the scan under way.
        cutoffs : int64 array, optional
            Ranks whose score alone is wanted: `Fetched.thresholds`.

        Raises
        ------
        InputError
            Scores that are null or NaN (unless they come last), a damaged file or one that changed, a memory limit too
            small; with count, file and place.
        """
        wanted = np.union1d(ranks, cutoffs) if cutoffs is not None else ranks
        scan, memory = self.scan_for(wanted)
        found = locate(scan, wanted, memory, self.options.nan, progress)
        if isinstance(self.rows, StoredRanking):
            self.rows.check_unchanged(self.rows.footers)
        mine = np.searchsorted(wanted, ranks)
        items = self._items(found.position[mine], list(dict.fromkeys(columns)), progress)
        scores = self.order.scores(found.keys, self.kind)
        table = pa.table({"rank": ranks, "score": scores.take(pa.array(mine))})
        for name in columns:
            table = table.append_column(free_name(name, table.column_names), items.table.column(name))
        return replace(
            items,
            table=table,
            tied_ranks=int(found.tied[mine].sum()),
            equal_keys=found.equal_keys,
            missing_scores=found.missing,
            scans=found.scans,
            rows_scanned=sum(unit.rows for unit in scan.units),
            thresholds=_at(wanted, scores, cutoffs),
        )

    def scan_for(self, wanted: Int64Array) -> tuple[Scan, float]:
        """Say what has to be read to find wanted ranks, and the bytes there are for bins and candidates.

        Raises
        ------
        InputError
            A memory limit too small; says the least that works.
        """
        units, lumps = self._to_read(wanted)
        threads, memory = self._share(wanted.size)
        return Scan(units, self.order, self.score, self.options.key, threads, self._key_hashes, lumps), memory

    def forecast(self, ranks: Int64Array, columns: Sequence[str]) -> Forecast:
        """Say what `fetch` would scan; which pages it would read then, only the scan can tell."""
        units, _ = self._to_read(ranks)
        files = len({unit.where.rsplit(": row group", 1)[0] for unit in units})
        rows = sum(unit.rows for unit in units)
        return Forecast(files=files, row_groups=len(units), rows_to_scan=rows, least_scans=2)

    def _to_read(self, wanted: Int64Array) -> tuple[list[Unit], Lumps]:
        """Units that may hold wanted ranks, and lumps of all others."""
        if self.bounds is None:
            return list(self.units), Lumps.none()
        first, last = self.bounds
        rows = np.array([unit.rows for unit in self.units], dtype=np.int64)
        read = must_be_read(first, last, rows, wanted)
        return [unit for unit, needed in zip(self.units, read.tolist(), strict=True) if needed], Lumps(
            first[~read], rows[~read]
        )

    def _share(self, n_wanted: int) -> tuple[int, float]:
        """Threads, and bytes for bins and candidates: the row groups that are being decoded take half at most.

        Raises
        ------
        InputError
            One thread is too many; says the least that works.
        """
        largest = _BYTES_PER_ROW * max(unit.rows for unit in self.units)
        memory = self.options.memory * 1e9
        for threads in range(self.options.threads or os.cpu_count() or 1, 1, -1):
            if threads * largest <= memory / 2 and threads * largest + least_memory(n_wanted, threads) <= memory:
                return threads, memory - threads * largest
        least = largest + least_memory(n_wanted, 1)
        if memory < least:
            raise InputError(
                f"{self.options.memory:g} GB of memory cannot hold a row group of {largest // _BYTES_PER_ROW:,} rows "
                f"and the bins of {n_wanted:,} wanted ranks",
                f"the least that works is --memory {np.ceil(least / 1e6) / 1e3:g}",
            )
        return 1, memory - largest

    def _items(self, position: Int64Array, columns: list[str], progress: Progress = silent) -> Fetched:
        """Read items at stored positions, given in any order."""
        order = np.argsort(position, kind="stable")
        stored = self.rows.fetch(position[order] + 1, columns, progress)
        back = np.empty(order.size, np.int64)
        back[order] = np.arange(order.size)
        names = [name for name in stored.table.column_names if name != "rank"]
        items = dict(zip(columns, (stored.table.column(name) for name in names[: len(columns)]), strict=True))
        return replace(stored, table=pa.table(items).take(pa.array(back)))

    def _key_hashes(self, position: Int64Array) -> np.ndarray[Any, np.dtype[np.uint64]]:
        return key_hashes(self._items(position, list(self.options.key)).table)


def _at(ranks: Int64Array, scores: pa.Array, cutoffs: Int64Array | None) -> pa.Table | None:
    """Scores at some of the ranks."""
    if cutoffs is None:
        return None
    return pa.table({"rank": cutoffs, "score": scores.take(pa.array(np.searchsorted(ranks, cutoffs)))})


def describe(options: RankingOptions) -> dict[str, Any]:
    """Describe an order by score, JSON-ready."""
    by = ", ".join(options.key) if options.key else "the stored position"
    return {
        "order": "score",
        "score": options.score,
        "ascending": options.ascending,
        "key": list(options.key),
        "nan": options.nan,
        "tie_rule": TIE_RULE.format(what=by),
        **({} if options.where is None else {"where": options.where}),
    }


def open_scored(source: Any, options: RankingOptions) -> ScoredRanking:
    """Open Parquet files as a ranking by score.

    Raises
    ------
    InputError
        See `open_stored` and `scored_from`.
    """
    return scored_from(open_stored(source, options), options)


def scored_from(rows: StoredRanking, options: RankingOptions) -> ScoredRanking:
    """Order opened files by score.

    Raises
    ------
    InputError
        A score or key column that is missing, or of a type that cannot be ordered or hashed.
    """
    score = options.score or ""
    check_column(rows.schema, score, rows.source[0])
    types = [(footer.file.path, footer.schema.field(score).type) for footer in rows.footers]
    ranking = by_score(rows, row_groups(rows, score), rows.schema, types, replace(options, threads=rows.threads))
    # a NaN that comes last can lie in any row group: a float's statistics do not tell
    anywhere = options.nan == "last" and ranking.order.kind.startswith("float")
    return replace(ranking, bounds=None if anywhere else _bounds(rows, ranking.order, score))


def by_score(
    rows: Ranking,
    units: Sequence[Unit],
    schema: pa.Schema,
    types: list[tuple[str, pa.DataType]],
    options: RankingOptions,
) -> ScoredRanking:
    """Order a list by score.

    Parameters
    ----------
    rows : Ranking
        The list in stored order.
    units : sequence of Unit
        All of it, in stored order.
    schema : pyarrow.Schema
    types : list of (place, type)
        Of the score column, wherever it may differ.
    options : RankingOptions
        With a score.

    Raises
    ------
    InputError
        A score or key column that is missing, or of a type that cannot be ordered or hashed; too little memory.
    """
    score, (where, _) = options.score or "", types[0]
    order = order_of(types, score, options.ascending, options.nan)
    for name in options.key:
        check_column(schema, name, where)
        check_key(schema.field(name).type, name)
    if options.memory < _LEAST_MEMORY:
        raise InputError(
            f"{options.memory:g} GB of memory is too little to count scores", f"give --memory {_LEAST_MEMORY} or more"
        )
    return ScoredRanking(rows, tuple(units), options, order, score, widest([kind for _, kind in types], order))


def _bounds(rows: StoredRanking, order: ScoreOrder, score: str) -> tuple[UInt64Array, UInt64Array] | None:
    """Order keys that statistics allow each row group; all of them where there are none."""
    if order.kind == "decimal":
        return None
    first, last = [], []
    for footer in rows.footers:
        kind = footer.schema.field(score).type
        known = [bounds for bounds, count in zip(footer.score_bounds, footer.row_group_rows, strict=True) if count]
        some = next((bounds for bounds in known if bounds), None)
        try:
            ends = [order.keys(pa.array([(b or some)[side] for b in known], kind)).key if some else
                    np.zeros(len(known), np.uint64) for side in (0, 1)]  # fmt: skip
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return None  # statistics of a type that has no plain value
        unknown = np.array([bounds is None for bounds in known], dtype=np.bool_)
        first.append(np.where(unknown, np.uint64(0), np.minimum(*ends)))
        last.append(np.where(unknown, LAST, np.maximum(*ends)))
    return np.concatenate(first), np.concatenate(last)


def row_groups(rows: StoredRanking, score: str) -> list[RowGroup]:
    """All row groups that hold rows."""
    units, position = [], 0
    for footer in rows.footers:
        first_row, state = 0, (footer.size, footer.changed_ns)
        reader = reader_of(footer.schema.field(score).type)
        for index, count in enumerate(footer.row_group_rows.tolist()):
            if count:
                units.append(RowGroup(footer.file.path, index, first_row, position, count, state, reader))
            first_row += count
            position += count
    return units
