"""The state of a search for wanted ranks: its stages of bins, and the counts of the last one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streameval.order.filter import StageFilter
from streameval.order.finer_bins import HASH, OrderWords, Stage
from streameval.order.first_bins import FirstStage
from streameval.order.scan import Scan
from streameval.progress import Progress
from streameval.scans.checkpoints import Checkpoints
from streameval.typing import Int64Array


@dataclass
class Search:
    """What is known so far.

    Attributes:
        wanted (int64 array, strictly increasing): Wanted ranks.
        most_candidates: How many fit the memory.
        checkpoints: Runs the scans.
        stages: Each splits the wanted bins of the one before.
        bins (int64 array): Bins of the last stage that hold wanted ranks.
        counts, base, skipped_counts (int64 arrays, like `bins`): Items in each; items before it; how many of its items
            are in units that are not read.
        missing: Rows whose score is null or NaN.
        scans: Scans so far.
    """

    scan: Scan
    wanted: Int64Array
    n_items: int
    most_candidates: int
    checkpoints: Checkpoints
    progress: Progress
    stages: list[FirstStage | Stage] = field(default_factory=list)
    bins: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    counts: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    base: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    skipped_counts: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    missing: int = 0
    scans: int = 0

    @property
    def hashed(self) -> str:
        """Whether a stage splits by tie hash, so that every row needs its own ("now"), or none does ("later")."""
        deep = any(np.any(stage.kind >= HASH) for stage in self.stages if isinstance(stage, Stage))
        return "now" if deep else "later"

    def stage_filter(self) -> StageFilter:
        """Selects the rows in wanted bins of the last but one stage."""
        return StageFilter.of(self.scan, self.stages, self.bins, self.hashed)


def skipped_bins(search: Search) -> tuple[Int64Array, Int64Array]:
    """Bins of the skipped units at the last stage, and the rows of each."""
    skipped, stage, words = search.scan.skipped, search.stages[0], skipped_words(search)
    if isinstance(stage, FirstStage) and len(search.stages) == 1:
        places = stage.place(words.key, words.hash, 0, np.empty(words.key.size, np.uint32))
        return places.astype(np.int64), skipped.rows
    bins, words = search.stage_filter().place_words(words)
    return bins, skipped.rows[words.position.astype(np.int64)]


def skipped_counts(search: Search, count: int) -> Int64Array:
    """Rows of skipped units in each of the `count` bins of the last stage."""
    bins, rows = skipped_bins(search)
    return np.bincount(bins, rows, minlength=count).astype(np.int64)


def skipped_words(search: Search) -> OrderWords:
    """Skipped units as items, their number in place of a position."""
    key = search.scan.skipped.key
    low = np.zeros(key.size if search.scan.order.kind == "decimal" else 0, np.uint64)
    return OrderWords(key, low, np.zeros(key.size, np.uint64), np.arange(key.size, dtype=np.uint64))
