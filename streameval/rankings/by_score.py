"""Rankings by score, whatever the storage order of their files: never sorted, never loaded.

The order is total: score, then the tie hash (of the key columns, or of the stored position), then the stored position.
The positions of wanted ranks are found by counting scans (`ordering`), and their items are read where they are stored.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.engines import Engine
from streameval.engines.local import Local
from streameval.errors import InputError
from streameval.kernels.orderkeys import UInt64Array
from streameval.order.checkpoints import Keeper, UnfinishedError, forget
from streameval.order.locate import least_memory, locate
from streameval.order.scan import Scan, Unit
from streameval.order.scores import ScoreOrder
from streameval.order.shards import ScanState, Shard
from streameval.order.skip_by_statistics import Lumps, must_be_read
from streameval.order.ties import describe, key_hashes
from streameval.parquet.forecast import Forecast
from streameval.progress import Progress, Step, announce, silent
from streameval.rankings import Fetched, Ranking, check_ranks
from streameval.rows.options import RankingOptions
from streameval.rows.parquet import StoredRanking, free_name
from streameval.typing import Int64Array

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
    folder : Path or None
        Where scans are kept as long as they are not done.
    engine : Engine
        Runs the scans.
    """

    rows: Ranking
    units: tuple[Unit, ...]
    options: RankingOptions
    order: ScoreOrder
    score: str
    kind: pa.DataType
    bounds: tuple[UInt64Array, UInt64Array] | None = None
    folder: Path | None = None
    engine: Engine = field(default_factory=Local)

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
        wanted = self._wanted(ranks, cutoffs)
        scan = self.scan_for(wanted)
        keeper = self._keeper(wanted, None)
        try:
            found = locate(scan, wanted, self.budget(wanted.size), self.options.nan, progress, keeper)
            if isinstance(self.rows, StoredRanking):
                self.rows.check_unchanged(self.rows.footers)
            mine = np.searchsorted(wanted, ranks)
            announce(progress, Step("items"))
            items = self._items(found.position[mine], list(dict.fromkeys(columns)), progress)
        except UnfinishedError:
            raise
        except BaseException:
            keeper.save()
            raise
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

    def keeping(self, folder: Path) -> ScoredRanking:
        """Return the same ranking, its scans kept in `folder`: what an interrupted run has read is not read again."""
        return replace(self, folder=folder)

    def scanned_by(self, engine: Engine) -> ScoredRanking:
        """Return the same ranking, its scans run by `engine`."""
        return replace(self, engine=engine)

    def scan(
        self, ranks: Int64Array, cutoffs: Int64Array | None, shard: Shard, progress: Progress = silent
    ) -> ScanState:
        """Do one share of every scan, as far as the other shares let it; what comes of it is kept (`keeping`).

        Parameters
        ----------
        ranks, cutoffs : int64 arrays
            As for `fetch`.
        shard : Shard
            Shares may be done in any order, at once, again, or in different numbers of shares.
        progress : callable(done, total), optional

        Returns
        -------
        ScanState
            The last scan, and which shares of it are missing; none where `fetch` has nothing left to scan.

        Raises
        ------
        InputError
            See `fetch`.
        """
        wanted = self._wanted(ranks, cutoffs)
        keeper = self._keeper(wanted, shard)
        try:
            locate(self.scan_for(wanted), wanted, self.budget(wanted.size), self.options.nan, progress, keeper)
        except UnfinishedError as unfinished:
            return unfinished.state
        return keeper.state

    def forecast(self, ranks: Int64Array, columns: Sequence[str]) -> Forecast:
        """Say what `fetch` would scan; which pages it would read then, only the scan can tell."""
        return scans_of(self.scan_for(ranks).units)

    def forget_scans(self) -> None:
        """Remove the kept scans."""
        if self.folder is not None:
            forget(self.folder)

    def _keeper(self, wanted: Int64Array, shard: Shard | None) -> Keeper:
        what = [self.fingerprint, self.description(), self.budget(wanted.size)]
        digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode() + wanted.tobytes()).hexdigest()
        return Keeper(digest, self.folder, shard, self.engine)

    def _wanted(self, ranks: Int64Array, cutoffs: Int64Array | None) -> Int64Array:
        for given in (ranks, cutoffs):
            if given is not None:
                check_ranks(given, self.n_items)
        return ranks if cutoffs is None else np.union1d(ranks, cutoffs)

    def scan_for(self, wanted: Int64Array) -> Scan:
        """Units that may hold wanted ranks, and lumps of all others."""
        units, lumps = list(self.units), Lumps.none()
        if self.bounds is not None:
            first, last = self.bounds
            rows = np.array([unit.rows for unit in units], dtype=np.int64)
            read = must_be_read(first, last, rows, wanted)
            units = [unit for unit, needed in zip(units, read.tolist(), strict=True) if needed]
            lumps = Lumps(first[~read], rows[~read])
        threads = self._threads(wanted.size)
        return Scan(units, self.order, self.score, self.options.key, threads, self._key_hashes, lumps)

    def budget(self, n_wanted: int) -> float:
        """Bytes for bins and candidates; the rest is for row groups that are being decoded."""
        return max(self.options.memory * 1e9 / 2, float(least_memory(n_wanted)))

    def _threads(self, n_wanted: int) -> int:
        """As many threads as there is memory for.

        Raises
        ------
        InputError
            One is too many; says the least that works.
        """
        largest = max(unit.rows for unit in self.units)
        each = _BYTES_PER_ROW * largest
        memory = self.options.memory * 1e9
        threads = int((memory - self.budget(n_wanted)) // each)
        if threads < 1:
            least = max(2 * each, each + least_memory(n_wanted))
            raise InputError(
                f"{self.options.memory:g} GB of memory cannot hold a row group of {largest:,} rows "
                f"and the bins of {n_wanted:,} wanted ranks",
                f"the least that works is --memory {np.ceil(least / 1e6) / 1e3:g}",
            )
        return min(threads, self.options.threads or os.cpu_count() or 1)

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


def scans_of(units: Sequence[Unit]) -> Forecast:
    """Say what scans of the scores of some units would read."""
    files = len({unit.where.rsplit(": row group", 1)[0] for unit in units})
    rows = sum(unit.rows for unit in units)
    return Forecast(files=files, row_groups=len(units), rows_to_scan=rows, least_scans=2)


def _at(ranks: Int64Array, scores: pa.Array, cutoffs: Int64Array | None) -> pa.Table | None:
    """Scores at some of the ranks."""
    if cutoffs is None:
        return None
    return pa.table({"rank": cutoffs, "score": scores.take(pa.array(np.searchsorted(ranks, cutoffs)))})
