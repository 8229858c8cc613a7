"""Find the stored positions of wanted ranks: count bins, split those that matter, select the candidates.

Memory is bounded by the limit, whatever the data: bins and candidates share it. Where too many items lie in the bins of
wanted ranks (quantised scores, one tie block with half the list), the bins are split again, by key, then by tie hash,
then by position, as often as needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from streameval.errors import InputError
from streameval.kernels.order import LAST, position_hashes
from streameval.kernels.sorted_sets import unique
from streameval.order.bins import HASH, LOW, FirstStage, OrderWords, Stage, first_stage, next_stage
from streameval.order.early_candidates import EarlyCandidates
from streameval.order.filter import NO_HASHES, StageFilter, flags
from streameval.order.scan import Scan
from streameval.order.scores import Keys
from streameval.order.tasks import Collecting, Counting, Sampling
from streameval.progress import Progress, silent
from streameval.rows.options import NEEDS_SCORE
from streameval.scans.checkpoints import Checkpoints
from streameval.scans.jobs import SUM
from streameval.text import those_with
from streameval.typing import BoolArray, Int64Array, UInt64Array

MOST_BINS = 1 << 22
_LEAST_BINS = 1 << 12
BYTES_PER_BIN = 48  # of the merged counts, their sums and marks, and of two threads
BYTES_PER_CANDIDATE = 80  # four words, the sort and its order
_SAMPLE_UNITS = 16
_SAMPLE_ROWS = 1 << 18


@dataclass
class Search:
    """State of a search.

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
        """Tell whether a stage splits by tie hash, so that every row needs its own ("now"), or none does ("later")."""
        deep = any(np.any(stage.kind >= HASH) for stage in self.stages if isinstance(stage, Stage))
        return "now" if deep else "later"

    def stage_filter(self) -> StageFilter:
        """Selects the rows in wanted bins of the last but one stage."""
        return StageFilter.from_stages(self.scan, self.stages, self.bins, self.hashed)


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


@dataclass(frozen=True)
class Located:
    """Places where wanted ranks are stored.

    Attributes:
        position (int64 array, shape (n,)): 0-based stored position of each wanted rank, in rank order.
        keys: Their order keys, from which scores are recovered.
        tied (bool array, shape (n,)): Whether another item of the list has the same score.
        equal_keys: Pairs of neighbours in the order that agree in score and in all key columns, among the candidates
            read: only the stored position orders them.
        missing: Rows whose score is null or NaN.
        scans: Times the scores were read.
    """

    position: Int64Array
    keys: Keys
    tied: BoolArray
    equal_keys: int
    missing: int
    scans: int


def select_candidates(search: Search, items: OrderWords) -> Located:
    """Sort the candidates, and take those at wanted ranks."""
    if search.scan.key_columns and search.hashed == "later":
        items = _hash_ties(search.scan, items)
    n_items = items.key.size
    items, rows = _with_skipped(search, items)
    order = _sort_order(items)
    bin_of = np.searchsorted(search.base, search.wanted, side="left") - 1
    # rows of the candidates' bins up to each wanted rank; a skipped unit counts as many as it has
    inside = np.cumsum(search.counts)[bin_of] - search.counts[bin_of] + search.wanted - search.base[bin_of]
    at = np.searchsorted(np.cumsum(rows[order]), inside, side="left")
    if np.any(order[at] >= n_items):
        raise InputError("the statistics of some row group contradict its scores", "write that file anew")
    position, tie = items.position[order], items.hash[order]
    same = _same_score(items, order)
    tied = _either(same)
    # a bin that splits a tie block may hold only one of its items
    split = [kind >= HASH for kind in search.stages[-1].ranges(search.bins)[0].tolist()]
    twins = int(np.sum(same & (tie[1:] == tie[:-1])))
    return Located(
        position=position[at].astype(np.int64),
        keys=Keys(items.key[order[at]], items.low[order[at]] if items.low.size else items.low, search.missing),
        tied=tied[at] | np.array(split, dtype=np.bool_)[bin_of],
        equal_keys=twins if search.scan.key_columns else 0,
        missing=search.missing,
        scans=search.scans,
    )


def _with_skipped(search: Search, items: OrderWords) -> tuple[OrderWords, Int64Array]:
    """Add the skipped units in wanted bins to the candidates; how many rows each entry stands for."""
    wanted = flags(search.stages[-1].count, search.bins)
    bins, rows = skipped_bins(search)
    kept = wanted[bins]
    if not np.any(kept):
        return items, np.ones(items.key.size, np.int64)
    words = skipped_words(search)
    if len(search.stages) > 1:
        bins, words = search.stage_filter().place_words(words)
    words = words.where(kept)
    joined = OrderWords(*(np.concatenate([a, b]) for a, b in zip(items.parts, words.parts, strict=True)))
    return joined, np.concatenate([np.ones(items.key.size, np.int64), rows[kept]])


def _sort_order(items: OrderWords) -> Int64Array:
    """The order of items: by their keys, which is quick, and where these are equal by all words."""
    order = np.argsort(items.key)
    key = items.key[order]
    tied = np.flatnonzero(_either(key[1:] == key[:-1])) if order.size else order
    words = [items.position, items.hash, *([items.low] if items.low.size else []), items.key]
    order[tied] = order[tied][np.lexsort([word[order[tied]] for word in words])]
    return order


def _same_score(items: OrderWords, order: Int64Array) -> BoolArray:
    """Tell whether each item, in some order, has the score of the one before it; of all but the first."""
    key = items.key[order]
    same: BoolArray = key[1:] == key[:-1]
    if items.low.size:
        low = items.low[order]
        same &= low[1:] == low[:-1]
    return same


def _either(same: BoolArray) -> BoolArray:
    tied = np.zeros(same.size + 1, np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    return tied


def _hash_ties(scan: Scan, items: OrderWords) -> OrderWords:
    """Read the key columns of items that tie in score, and of no others."""
    order = np.lexsort([*([items.low] if items.low.size else []), items.key])
    rows = order[_either(_same_score(items, order))] if order.size else order
    hashes = items.hash.copy()
    if rows.size:
        hashes[rows] = scan.key_hashes(items.position[rows].astype(np.int64))
    return OrderWords(items.key, items.low, hashes, items.position)


def least_memory(n_wanted: int) -> int:
    """Bytes for bins and candidates without which wanted ranks cannot be found."""
    return 4 * _LEAST_BINS * BYTES_PER_BIN + 2 * n_wanted * BYTES_PER_CANDIDATE


def locate(
    scan: Scan,
    wanted: Int64Array,
    limit_bytes: float,
    nan: str = "refuse",
    progress: Progress = silent,
    checkpoints: Checkpoints | None = None,
) -> Located:
    """Find the stored positions of wanted ranks.

    Args:
        scan: Units that hold the whole list.
        wanted (int64 array, strictly increasing, in 1..N): Wanted ranks.
        limit_bytes: For bins and candidates. Bins follow from it and not from the number of threads, so that partials
            of different machines go together.
        nan ({"refuse", "last"}): What becomes of scores that are null or NaN.
        checkpoints: Runs the scans and saves their partials.

    Raises:
        InputError: The memory is less than `least_memory`. Scores that are null or NaN, with their count and first
            places. A list that changed between two scans.
        UnfinishedError: Other processes share the scans, and have not done their part.
    """
    if limit_bytes < least_memory(wanted.size):
        raise InputError(f"{limit_bytes / 1e6:g} MB of memory cannot hold the bins of {wanted.size:,} wanted ranks")
    most_candidates = int(limit_bytes / 2 / BYTES_PER_CANDIDATE)
    most_bins = int(min(MOST_BINS, limit_bytes / 2 / BYTES_PER_BIN))
    # counters that fit a cache are quick to reach: no more of them than the candidates' room asks for
    runs = 1 + int(np.sum(np.diff(wanted) > 1))
    first_bins = min(most_bins, max(_LEAST_BINS, 2 * runs * scan.n_items // most_candidates, 4 * runs))
    search = Search(scan, wanted, scan.n_items, most_candidates, checkpoints or Checkpoints(), progress)
    # an item's tie hash is at hand where it is that of its position, and comes right after its key
    ties = "whole" if scan.key_columns or scan.order.kind == "decimal" else "parted"
    sample = _sample(search)
    search.stages.append(first_stage(sample, first_bins, most_bins, ties))
    early_candidates = _early_candidates(search, sample, int(limit_bytes))
    _count(search, early_candidates)
    if search.missing and nan == "refuse":
        raise missing_scores(scan, search.missing)
    while (search.counts - search.skipped_counts).sum() > search.most_candidates:
        wide = LOW if scan.order.kind == "decimal" else HASH
        before = search.stages[-1]
        search.stages.append(next_stage(before, search.bins, search.counts, most_bins, search.n_items - 1, wide))
        _count(search)
    kept = _kept_words(search, early_candidates)
    return select_candidates(search, _collect(search) if kept is None else kept)


def missing_scores(scan: Scan, count: int) -> InputError:
    """Make the error of items without a score."""
    places = "; ".join(islice(scan.missing_rows(), 3))
    return InputError(
        f"{those_with(count, 'item')} no {scan.score} (null or NaN), first: {places}",
        NEEDS_SCORE,
    )


def _sample(search: Search) -> UInt64Array:
    """Keys of some rows from all over the list."""
    task = Sampling(_SAMPLE_UNITS, _SAMPLE_ROWS)
    sample = search.checkpoints.run(search.scan, task, search.progress).columns["key"]
    keys = sample[sample != LAST]
    return keys if keys.size else sample


def _early_candidates(search: Search, sample: UInt64Array, limit: int) -> EarlyCandidates | None:
    """Keep candidates while counting, where this process does all of it and items have two words besides their key."""
    stage = search.stages[0]
    alone = search.checkpoints.shard is None and search.checkpoints.engine.placement == "in process"
    if not alone or search.scan.order.kind == "decimal" or not isinstance(stage, FirstStage):
        return None
    skipped = skipped_counts(search, stage.count)
    low_bits = 32 if search.scan.order.kind == "float32" else 0
    n_rows = sum(unit.rows for unit in search.scan.units)
    room = limit - stage.count * BYTES_PER_BIN
    early_candidates = EarlyCandidates(search.wanted, skipped, stage, n_rows, room, low_bits)
    early_candidates.start(stage.place(sample, NO_HASHES, 0, np.empty(sample.size, np.uint32)))
    return early_candidates


def _kept_words(search: Search, early_candidates: EarlyCandidates | None) -> OrderWords | None:
    """The items in wanted bins, if all were kept while they were counted."""
    items = None if early_candidates is None else early_candidates.items(search.stages[-1], search.bins)
    if items is None:
        return None
    key, position = search.scan.order.wide(items[0]), items[1]
    if key.size != (search.counts - search.skipped_counts).sum():
        raise InputError("the list changed while it was counted", "run the command again")
    hashes = np.zeros(key.size, np.uint64) if search.scan.key_columns else position_hashes(position)
    return OrderWords(key, np.empty(0, np.uint64), hashes, position.view(np.uint64))


def _count(search: Search, early_candidates: EarlyCandidates | None = None) -> None:
    """Scan once, and find the bins of the last stage that hold wanted ranks."""
    stage = search.stages[-1]
    task = Counting(tuple(search.stages), search.bins, search.hashed, early_candidates)
    counted = search.checkpoints.run(search.scan, task, search.progress)
    search.missing = counted.missing
    search.scans += 1
    counts: Int64Array = counted.columns[SUM]
    if isinstance(stage, FirstStage):
        _find_first(search, stage, counts[: stage.count], counts[stage.count :])
    else:
        skipped = skipped_counts(search, stage.count)
        counts = counts + skipped
        totals = np.add.reduceat(counts, stage.base[:-1])
        if not np.array_equal(totals, search.counts):
            raise InputError("the list changed between two scans of it", "run the command again")
        within = np.cumsum(counts) - counts
        cell = np.repeat(np.arange(totals.size), np.diff(stage.base))
        _find(search, counts, search.base[cell] + within - within[stage.base[:-1]][cell], skipped)


def _find_first(search: Search, stage: FirstStage, counts: Int64Array, excess: Int64Array) -> None:
    """Find wanted bins of the first stage; its cells instead, where one of them was closed too early."""
    counts = stage.with_excess(counts, excess)
    if excess[stage.cell_of(_find_from_start(search, counts))].any():
        search.stages[-1] = stage.by_cell()
        _find_from_start(search, stage.each_cell(counts))


def _find_from_start(search: Search, counts: Int64Array) -> Int64Array:
    skipped = skipped_counts(search, counts.size)
    counts = counts + skipped
    if counts.sum() != search.n_items:
        raise InputError("the list changed while it was counted", "run the command again")
    _find(search, counts, np.cumsum(counts) - counts, skipped)
    return search.bins


def _find(search: Search, counts: Int64Array, before: Int64Array, skipped: Int64Array) -> None:
    """Find the bins that hold wanted ranks, of those of the last stage; `before` is the items before each of them."""
    ends = before + counts
    # bins without items share their end with the bin before: the first bin that ends at or after a rank holds it
    search.bins = unique(np.searchsorted(ends, search.wanted, side="left"))
    search.counts, search.base, search.skipped_counts = counts[search.bins], before[search.bins], skipped[search.bins]


def _collect(search: Search) -> OrderWords:
    """Scan once more, and keep the items in wanted bins."""
    task = Collecting(tuple(search.stages), search.bins, search.hashed)
    words = search.checkpoints.run(search.scan, task, search.progress).columns
    search.scans += 1
    if words["key"].size != (search.counts - search.skipped_counts).sum():
        raise InputError("the list changed between two scans of it", "run the command again")
    return OrderWords(words["key"], words.get("low", np.empty(0, np.uint64)), words["hash"], words["position"])
