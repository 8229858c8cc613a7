"""The order of a score column, whatever the storage order of the rows: never sorted, never loaded.

It is total: score, then the tie hash (of the key columns, or of the stored position), then the stored position. Which
rows have wanted ranks is found by counting scans.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.order.bins import OrderWords
from streameval.order.item_keys import as_whole, check_key, refuse_inexact
from streameval.order.locate import Located, least_memory, locate
from streameval.order.scan import Scan, SkippedRows, describe, key_bounds, key_hashes, must_be_read
from streameval.order.scores import Keys, ScoreOrder, order_of, widest
from streameval.parquet.account import Forecast
from streameval.parquet.footers import check_column
from streameval.progress import Progress, silent
from streameval.rows import Rows
from streameval.rows.options import RankingOptions
from streameval.rows.row_groups import together
from streameval.scans.checkpoints import Checkpoints, Scans, ScanState, Shard, UnfinishedError
from streameval.scans.units import Unit, parts_of, readers
from streameval.typing import Int64Array, UInt64Array

_BYTES_PER_ROW = 48  # of a row group that is being decoded
_UNITS = "small files together"  # partials of scans name their units by number
_LEAST_MEMORY = 0.05  # GB: bins and a few row groups


@dataclass(frozen=True)
class ByScore:
    """Rows in the order of a score column; `options` name the score.

    Attributes:
        whole: Key columns of numbers that are hashed by value, whatever their type.
    """

    rows: Rows
    options: RankingOptions
    whole: tuple[str, ...] = ()

    @property
    def score(self) -> str:
        """The score column."""
        return self.options.score or ""

    def description(self) -> dict[str, Any]:
        """Say what the rows and their order are, JSON-ready."""
        whole = {"key_as_whole_numbers": list(self.whole)} if self.whole else {}
        return {**self.rows.facts(), **describe(self.options), **whole}

    @cached_property
    def order(self) -> ScoreOrder:
        """Tell how its scores are ordered."""
        return order_of(self.rows.types(self.score), self.score, self.options.ascending, self.options.nan)

    @cached_property
    def kind(self) -> pa.DataType:
        """The widest type of its scores."""
        return widest([kind for _, kind in self.rows.types(self.score)], self.order)

    @cached_property
    def units(self) -> Sequence[Unit]:
        """The rows as scans read them."""
        return self.rows.units(self.score)

    @cached_property
    def bounds(self) -> tuple[UInt64Array, UInt64Array] | None:
        """Smallest and largest order key of each unit, from statistics; None where they do not tell."""
        # a NaN that comes last can lie in any row group: a float's statistics do not tell
        anywhere = self.options.nan == "last" and self.order.kind.startswith("float")
        return None if anywhere else key_bounds(self.rows.bounds(self.score), self.order)

    @property
    def span(self) -> tuple[int, int] | None:
        """Smallest and largest order key, according to statistics."""
        return None if self.bounds is None else (int(self.bounds[0].min()), int(self.bounds[1].max()))

    @property
    def may_be_stored(self) -> bool:
        """Tell whether statistics allow the rows to be stored in this order; without statistics, they may be."""
        if self.bounds is None:
            return True
        first, last = self.bounds
        return bool(np.all(last[:-1] <= first[1:]))

    def scores(self, keys: Keys) -> pa.Array:
        """Turn order keys back into scores."""
        return self.order.scores(keys, self.kind)

    def checkpoints(self, wanted: Int64Array, scans: Scans, shard: Shard | None = None) -> Checkpoints:
        """Make what runs the scans for wanted ranks, and saves their partials."""
        what = [self.rows.fingerprint, self.description(), self.budget(wanted.size), _UNITS]
        digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode() + wanted.tobytes()).hexdigest()
        return Checkpoints(digest, scans.folder, shard, scans.engine)

    def locate(
        self, wanted: Int64Array, progress: Progress = silent, checkpoints: Checkpoints | None = None
    ) -> Located:
        """Find the stored positions of wanted ranks; raises what `order.locate` does."""
        scan = self.scan_for(wanted)
        return locate(scan, wanted, self.budget(wanted.size), self.options.nan, progress, checkpoints)

    def places(
        self, wanted: Int64Array, progress: Progress = silent, checkpoints: Checkpoints | None = None
    ) -> OrderWords:
        """Find the words of the items at wanted ranks; raises what `order.locate` does."""
        items = self.locate(wanted, progress, checkpoints)
        hashes = self.scan_all(1).tie_hashes(items.position)
        return OrderWords(items.keys.key, items.keys.low, hashes, items.position.view(np.uint64))

    def scan(self, wanted: Int64Array, scans: Scans, shard: Shard, progress: Progress = silent) -> ScanState:
        """Do one share of every scan, as far as the other shares allow; its partials are saved in `Scans.folder`.

        Shares may be done in any order, at once, again, or in different numbers of shares. Returns the last scan, and
        which shares of it are missing: none where nothing is left to scan. Errors as in `order.locate`.
        """
        checkpoints = self.checkpoints(wanted, scans, shard)
        try:
            self.locate(wanted, progress, checkpoints)
        except UnfinishedError as unfinished:
            return unfinished.state
        return checkpoints.state

    def scan_for(self, wanted: Int64Array) -> Scan:
        """Make the scan of the units that may hold wanted ranks; all others are skipped."""
        if self.bounds is None:
            return self.scan_all(wanted.size)
        first, last = self.bounds
        rows = np.array([unit.rows for unit in self.units], dtype=np.int64)
        read = must_be_read(first, last, rows, wanted)
        units = [unit for unit, needed in zip(self.units, read.tolist(), strict=True) if needed]
        return self._scan(units, wanted.size, SkippedRows(first[~read], rows[~read]))

    def scan_all(self, n_wanted: int) -> Scan:
        """Make the scan of all units, for `n_wanted` ranks."""
        return self._scan(self.units, n_wanted, SkippedRows.none())

    def _scan(self, units: Sequence[Unit], n_wanted: int, skipped: SkippedRows) -> Scan:
        threads = self._threads(n_wanted)
        return Scan(
            together(units), self.order, self.score, self.options.key, threads, self._key_hashes, skipped, self.whole
        )

    def _key_hashes(self, positions: Int64Array) -> UInt64Array:
        keys = self.rows.take_anywhere(positions, list(self.options.key)).table
        refuse_inexact(keys, self.rows.name)
        return key_hashes(as_whole(keys, self.whole))

    def budget(self, n_wanted: int) -> float:
        """Bytes for bins and candidates; the rest is for row groups that are being decoded."""
        return max(self.options.memory * 1e9 / 2, float(least_memory(n_wanted)))

    def _threads(self, n_wanted: int) -> int:
        """As many threads as the memory allows; an `InputError` says the least memory that works for one."""
        largest = max(unit.rows for unit in self.units)
        each = _BYTES_PER_ROW * largest
        memory = self.options.memory * 1e9
        threads = readers(self.units, _BYTES_PER_ROW, memory - self.budget(n_wanted))
        if threads < 1:
            least = max(2 * each, each + least_memory(n_wanted))
            raise InputError(
                f"{self.options.memory:g} GB of memory cannot hold a row group of {largest:,} rows "
                f"and the bins of {n_wanted:,} wanted ranks",
                f"the least that works is --memory {np.ceil(least / 1e6) / 1e3:g}",
            )
        return min(threads, self.options.threads or self.rows.readers)


def by_score(rows: Rows, options: RankingOptions) -> ByScore:
    """Order rows by score; an `InputError` for a score or key column that is missing or unfit, or too little memory."""
    score = options.score or ""
    check_column(rows.schema, score, rows.name)
    order_of(rows.declared_types(score), score, options.ascending, options.nan)
    for name in options.key:
        check_column(rows.schema, name, rows.name)
        check_key(rows.schema.field(name).type, name, rows.name)
    if options.memory < _LEAST_MEMORY:
        raise InputError(
            f"{options.memory:g} GB of memory is too little to count scores", f"give --memory {_LEAST_MEMORY} or more"
        )
    return ByScore(rows, options)


def scans_of(units: Sequence[Unit]) -> Forecast:
    """Forecast what scans of the scores of some units would read."""
    groups = list(parts_of(units))
    files = len({group.file for group in groups} - {""})
    rows = sum(group.rows for group in groups)
    return Forecast(files=files, row_groups=len(groups), rows_to_scan=rows, least_scans=2)
