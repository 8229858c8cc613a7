"""Find the stored positions of wanted ranks: count bins, split those that matter, select the candidates.

Memory is bounded by the limit, whatever the data: bins and candidates share it. Where too many items lie in the bins of
wanted ranks (quantised scores, one tie block with half the list), the bins are split again, by key, then by tie hash,
then by position, as often as needed.
"""

from __future__ import annotations

import numpy as np

from streameval.errors import InputError
from streameval.kernels.order_keys import LAST
from streameval.kernels.sorted_sets import unique
from streameval.kernels.tie_hash import position_hashes
from streameval.order.early_candidates import EarlyCandidates
from streameval.order.filter import NO_HASHES
from streameval.order.finer_bins import HASH, LOW, OrderWords, next_stage
from streameval.order.first_bins import FirstStage, first_stage
from streameval.order.scan import Scan
from streameval.order.search import Search, skipped_counts
from streameval.order.select_candidates import Located, select_candidates
from streameval.order.tasks import Collecting, Counting, Sampling
from streameval.progress import Progress, silent
from streameval.scans.checkpoints import Checkpoints
from streameval.scans.jobs import SUM
from streameval.text import those_with
from streameval.typing import Int64Array, UInt64Array

MOST_BINS = 1 << 22
_LEAST_BINS = 1 << 12
BYTES_PER_BIN = 48  # of the merged counts, their sums and marks, and of two threads
BYTES_PER_CANDIDATE = 80  # four words, the sort and its order
_SAMPLE_UNITS = 16
_SAMPLE_ROWS = 1 << 18


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
    kept = _kept(search, early_candidates)
    return select_candidates(search, _collect(search) if kept is None else kept)


def missing_scores(scan: Scan, count: int) -> InputError:
    """Make the error of items without a score."""
    places = "; ".join(f"{unit.place}, row {row + 1:,}" for unit, row in scan.missing_places())
    return InputError(
        f"{those_with(count, 'item')} no {scan.score} (null or NaN; first: {places})",
        "every item needs a score, or put these last with --nan=last",
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


def _kept(search: Search, early_candidates: EarlyCandidates | None) -> OrderWords | None:
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
