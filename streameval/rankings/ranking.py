"""A ranking: rows in an order, the stored one or that of a score; the items at any ranks of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.sorted_sets import unique
from streameval.parquet.account import Forecast
from streameval.progress import Progress, Step, announce, silent
from streameval.rows import Rows, Taken
from streameval.rows.options import RankingOptions
from streameval.typing import Int64Array

if TYPE_CHECKING:  # not needed, and not imported, where the stored order is the ranking
    from streameval.order.by_score import ByScore
    from streameval.scans.checkpoints import Scans


@dataclass(frozen=True)
class Fetched(Taken):
    """Items of planned ranks, and what was read for them.

    Attributes:
        table: `rank` int64 in rank order; `score` where the order has one; then the item's columns.
        tied_ranks: Ranks whose score another item of the list has too: the tie rule orders them.
        equal_keys: Neighbours in the order, among the candidates that were compared, that agree in score and in all key
            columns.
        missing_scores: Items whose score is null or NaN.
        scans: Times that scores were read to find the items.
        rows_scanned: Rows whose scores were read each time; statistics show that no wanted rank lies among the others.
        thresholds: `rank`, `score` of the cutoffs that were asked for, where the order has a score.
    """

    tied_ranks: int = 0
    equal_keys: int = 0
    missing_scores: int = 0
    scans: int = 0
    rows_scanned: int = 0
    thresholds: pa.Table | None = None


@dataclass(frozen=True)
class Ranking:
    """A list of items in rank order that is never loaded.

    Attributes:
        rows: The items, as they are stored.
        order: None where the stored order is the ranking, best first.
    """

    rows: Rows
    options: RankingOptions
    order: ByScore | None = None

    @property
    def n_items(self) -> int:
        """N."""
        return self.rows.n_rows

    @property
    def threads(self) -> int:
        """Threads at work at once on this machine: as many as were asked for, else one per core."""
        return self.options.threads or os.cpu_count() or 1

    @property
    def fingerprint(self) -> str:
        """Changes whenever the list does."""
        return self.rows.fingerprint

    def description(self) -> dict[str, Any]:
        """Say what the ranking is, JSON-ready: fingerprint, order, score; part of the plan's identity."""
        return {**self.rows.facts(), "order": "stored"} if self.order is None else self.order.description()

    def location(self) -> dict[str, Any]:
        """Place of the rows and the way to read them, JSON-ready: kept in plan.json, no part of the plan's identity."""
        return {
            "source": None if self.rows.source is None else list(self.rows.source),
            "file_order": self.options.file_order,
            "memory": self.options.memory,
            "threads": self.options.threads,
            **({} if self.options.verify == "on" else {"verify": self.options.verify}),
        }

    def columns(self) -> list[str]:
        """Names of the items' columns, partition keys included."""
        return self.rows.columns()

    def fetch(
        self,
        ranks: Int64Array,
        columns: Sequence[str],
        progress: Progress = silent,
        cutoffs: Int64Array | None = None,
        scans: Scans | None = None,
    ) -> Fetched:
        """Read the items at some ranks, wherever they are stored.

        Args:
            ranks: int64 array, strictly increasing, in 1..N; of none, the table has its columns and no row.
            columns: Of `columns()`.
            progress (callable(done, total)): Rows of the scan under way, then items.
            cutoffs (int64 array): Ranks whose score alone is wanted: `Fetched.thresholds`. A stored order has no
                scores.
            scans: How the scans that find ranks by score are run; by threads of this process, and not kept, where it is
                left out.

        Raises:
            InputError: Ranks that are not in 1..N or do not increase; a damaged file or one that changed. By score:
                scores that are null or NaN (unless they come last), a memory limit too small. With count, file and
                place.
        """
        for values in (ranks, cutoffs):
            if values is not None:
                check_ranks(values, self.n_items)
        if not ranks.size:  # the columns of an item, and no row
            first = self.fetch(np.ones(1, np.int64), columns, progress, cutoffs, scans)
            return replace(first, table=first.table.slice(0, 0))
        if self.order is not None:
            return self._by_score(self.order, (ranks, cutoffs), columns, progress, scans)
        fetched = self.rows.take(ranks - 1, list(dict.fromkeys(columns)), progress)
        return Fetched(**{**vars(fetched), "table": _with_names({"rank": ranks}, columns, fetched.table)})

    def _by_score(
        self,
        order: ByScore,
        wanted_of: tuple[Int64Array, Int64Array | None],
        columns: Sequence[str],
        progress: Progress,
        scans: Scans | None,
    ) -> Fetched:
        from streameval.scans.checkpoints import Scans

        ranks, cutoffs = wanted_of
        wanted = ranks if cutoffs is None else unique(ranks, cutoffs)
        checkpoints = order.checkpoints(wanted, scans or Scans())
        with checkpoints.saving():
            items = order.locate(wanted, progress, checkpoints)
            self.rows.check_unchanged()
            mine = np.searchsorted(wanted, ranks)
            announce(progress, Step("items"))
            fetched = self.rows.take_anywhere(items.position[mine], list(dict.fromkeys(columns)), progress)
        scores = order.scores(items.keys)
        table = _with_names({"rank": ranks, "score": scores.take(pa.array(mine))}, columns, fetched.table)
        return Fetched(
            **{**vars(fetched), "table": table},
            tied_ranks=int(items.tied[mine].sum()),
            equal_keys=items.equal_keys,
            missing_scores=items.missing,
            scans=items.scans,
            rows_scanned=sum(unit.rows for unit in order.scan_for(wanted).units),
            thresholds=_scores_at(wanted, scores, cutoffs),
        )

    def forecast(self, ranks: Int64Array, columns: Sequence[str]) -> Forecast:
        """Forecast what `fetch` would read, without reading it; by score, what its scans would."""
        if self.order is None:
            return self.rows.forecast(ranks - 1, columns)
        from streameval.order.by_score import scans_of

        return scans_of(self.order.scan_for(ranks).units)


def check_ranks(ranks: Int64Array, n_items: int) -> None:
    """Refuse ranks that are not in 1..N or do not strictly increase: an `InputError` names the first."""
    if ranks.size == 0:
        return
    if ranks[0] < 1 or ranks[-1] > n_items:
        wrong = int(ranks[0] if ranks[0] < 1 else ranks[-1])
        raise InputError(f"there is no rank {wrong:,}: the ranking has {n_items:,} items", "ranks are 1 to N")
    falls = np.flatnonzero(np.diff(ranks) <= 0)
    if falls.size:
        first = int(falls[0])
        raise InputError(f"rank {int(ranks[first + 1]):,} follows rank {int(ranks[first]):,}: ranks have to increase")


def free_name(name: str, used: Collection[str]) -> str:
    """Suffix the name of an item's column that collides with one of ours."""
    while name in ("rank", "stratum", "se_task", "se_study") or name in used:
        name += "_item"
    return name


def _with_names(first: dict[str, Any], columns: Sequence[str], table: pa.Table) -> pa.Table:
    """Put our columns before those that were asked for."""
    merged = dict(first)
    for name in columns:
        merged[free_name(name, merged)] = table.column(name)
    return pa.table(merged)


def _scores_at(ranks: Int64Array, scores: pa.Array, cutoffs: Int64Array | None) -> pa.Table | None:
    """Scores at some of the ranks."""
    if cutoffs is None:
        return None
    return pa.table({"rank": cutoffs, "score": scores.take(pa.array(np.searchsorted(ranks, cutoffs)))})
