"""Keep likely candidates while bins are counted, so that most lists need one scan instead of two.

The bins counted so far say where wanted ranks will lie, give or take a margin that shrinks as the scan goes on. Items
in those bins are kept, and dropped once their bin falls out of the margin: at most about 200 √N items of a list in no
particular order. A bin that was closed is never opened again, and where all bins of a cell are closed, its rows are
counted together from then on. So if the bins of all wanted ranks are still open at the end, every item in them was
counted and kept; this is checked. Otherwise (a list whose order goes with its scores, or one too long for the memory) a
second scan collects them, or splits the cells that hold wanted ranks, and only the saving is lost.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from streameval.kernels.bins import append_rows, keep_open, keep_wanted, open_rows
from streameval.kernels.sorted_sets import unique
from streameval.order.bins import FirstStage, Stage
from streameval.order.filter import BLOCK, bits, flags
from streameval.order.scores import ScoreOrder
from streameval.typing import AnyArray, BoolArray, Int64Array, UInt32Array, UInt64Array

_LEAST_ROOM = 2 * BLOCK
_FULL = 0.75  # more than this of a pile, and it grows
_DEVIATIONS = 4.5  # of a count: about one list in a hundred needs the second scan for chance alone
_GROWTH = 1.5  # how much more is counted between two reviews
_OPEN = np.uint32(1 << 31)
_MOST_ROWS = 1 << 30  # between two times that cells are summed: their counters have 31 bits
_FEW = 0.75  # a share of the rows in open cells that makes it worth while to look at cells first
_GROUPS = 64
_ALIKE = 200.0  # chi-squared of so many groups of bins, by chance less than one time in 10¹⁵


class ThreadCandidates:
    """The candidates of one thread.

    Args:
        stage: Its bins and cells.
        counts (integer array): The thread's counts of bins.
        key, position: Wide enough for a key, shifted, and a position.

    Attributes:
        excess (int64 array, shape (cells,)): Rows that are counted by cell alone, of closed cells.
        narrow: Whether rows in closed cells are counted so.
    """

    def __init__(self, stage: FirstStage, counts: AnyArray, key: type[Any], position: type[Any]) -> None:
        self.stage, self.counts = stage, counts
        self.seen = counts.astype(np.int64)  # the counts at the last review: other threads may read these
        self.seen_rows = self.rows = self.items = 0
        self.excess = np.zeros(stage.cells.size - 1, np.int64)
        self.narrow, self._open, self._summed = False, np.ones(self.excess.size, np.bool_), 0
        self._cells = np.full(self.excess.size, _OPEN)
        self._rows, self.rows_kept = np.empty(2 * BLOCK, np.uint32), np.empty(2 * BLOCK, np.uint32)
        self._keys = np.empty(2 * BLOCK, np.uint64)
        self._places = {bits: stage.place_of_cells(bits) for bits in (32, 64)}
        self.words: tuple[AnyArray, AnyArray, UInt32Array] = (
            np.empty(_LEAST_ROOM, key), np.empty(_LEAST_ROOM, position), np.empty(_LEAST_ROOM, np.uint32)
        )  # fmt: skip

    @property
    def room(self) -> int:
        """Items that the arrays can hold."""
        return int(self.words[0].size)

    def resize(self, room: int) -> None:
        """Grow or shrink the arrays to `room` items."""
        for array in self.words:
            array.resize(room, refcheck=False)  # in place: nothing is held twice

    def keep_only(self, wanted: UInt64Array) -> None:
        """Drop all items but those in `wanted` bins."""
        self.items = keep_wanted(self.words, self.items, wanted)

    def open_rows(self, words: AnyArray, order: ScoreOrder) -> tuple[UInt32Array, UInt64Array]:
        """Count the cells of a block's rows; the rows in open ones, whose bins are still to be counted, with keys."""
        if self.rows - self._summed > _MOST_ROWS:
            self.sum_cells()
        if self.stage.cell_shift < 64 - 8 * words.itemsize:
            words = order.wide(words)
        bits = 8 * words.itemsize
        n = open_rows(words, self._places[bits], order.widening(bits), self._cells, self._rows, self._keys)
        return self._rows[:n], self._keys[:n]

    def sum_cells(self, still: BoolArray | None = None) -> None:
        """Add what was counted in closed cells to `excess`; `still` says which cells are open from now on."""
        self.excess += np.where(self._open, 0, self._cells)
        if still is not None:
            self._open = still
        self._cells, self._summed = np.where(self._open, _OPEN, np.uint32(0)), self.rows

    def review(self) -> None:
        """Take down what is counted so far."""
        self.sum_cells()
        self.seen, self.seen_rows = self.stage.with_excess(self.counts, self.excess), self.rows


class EarlyCandidates:
    """Candidates of one counting scan, by all its threads.

    Args:
        wanted (int64 array, strictly increasing): Wanted ranks.
        skipped (int64 array, shape (bins,)): Rows that are not scanned, by bin.
        stage: The bins.
        n_rows: Rows that are scanned.
        limit: Bytes that may be used; beyond, all candidates are dropped.
        key_shift: Low bits of keys that are the same in all.
    """

    def __init__(
        self, wanted: Int64Array, skipped: Int64Array, stage: FirstStage, n_rows: int, limit: int, key_shift: int
    ) -> None:
        ends = np.flatnonzero(np.diff(wanted) > 1)
        self._first, self._last = wanted[np.append(0, ends + 1)], wanted[np.append(ends, wanted.size - 1)]
        self._skipped, self._n_rows, self._stage = np.cumsum(skipped), n_rows, stage
        self._shift = np.uint64(key_shift)
        n_items = n_rows + int(skipped.sum())
        self._kinds = np.uint32 if key_shift >= 32 else np.uint64, np.uint32 if n_items < 2**32 else np.int64
        self._limit = limit // sum(np.dtype(kind).itemsize for kind in (*self._kinds, np.uint32))
        self._open = np.ones(skipped.size, np.bool_)
        self._bits = bits(self._open)
        self._cells = np.ones(stage.cells.size - 1, np.bool_), False
        self._sample: Int64Array | None = None
        self.dropped = False  # for good: a review under way must not bring back what one thread has dropped
        self._by_thread: list[ThreadCandidates] = []
        self._lock = threading.Lock()

    def of_thread(self, counts: AnyArray) -> ThreadCandidates:
        """Start the candidates of a thread with these counts."""
        candidates = ThreadCandidates(self._stage, counts, *self._kinds)
        self._by_thread.append(candidates)
        if sum(other.room for other in self._by_thread) > self._limit:
            self.dropped = True
        return candidates

    def start(self, sample: UInt32Array) -> None:
        """Close bins that a sample shows to be far from wanted ranks; `sample` holds the bins of some rows."""
        counts = np.bincount(sample, minlength=self._open.size)
        self._review(counts, sample.size, 1.0)
        self._sample = counts

    def take(
        self, held: ThreadCandidates, keys: UInt64Array, positions: tuple[int, UInt32Array], bins: UInt32Array
    ) -> None:
        """Keep the rows that lie in open bins, of some rows of a block; `positions` as in `kernels.bins.part_heavy`."""
        if not self.dropped and held.items + keys.size > held.room:
            held.keep_only(self._bits)
            if held.items > _FULL * held.room or held.items + keys.size > held.room:
                others = sum(other.room for other in self._by_thread) - held.room
                room = min(int(_GROWTH * held.room) + _LEAST_ROOM, self._limit - others)
                if room < held.items + keys.size:
                    self.dropped = True
                else:
                    held.resize(room)
        if self.dropped:
            held.items = 0
            held.resize(0)
        else:
            chosen = held.rows_kept[: keep_open(bins, self._bits, held.rows_kept)]
            held.items = append_rows(keys, positions, bins, chosen, held.words, self._shift, held.items)

    def end_row_group(self, held: ThreadCandidates) -> None:
        """After a row group: review which bins are open, if enough was counted since the last review."""
        if held.rows >= _GROWTH * held.seen_rows:
            held.review()
            with self._lock:
                counts: Int64Array = np.zeros(self._open.size, np.int64)
                for other in self._by_thread:
                    counts += other.seen
                n = int(counts.sum())
                self._review(counts, n, 1 - n / self._n_rows)
        still, narrow = self._cells
        if narrow and not self.dropped:
            held.sum_cells(still)
            held.narrow = True

    def _review(self, counts: Int64Array, n: int, left: float) -> None:
        """Close bins in which no wanted rank can be expected: of `n` rows, `counts` fell into each.

        `left` is the share of the scan that is still unknown.
        """
        if self._sample is not None and n and not _alike(self._sample, counts):
            self.dropped = True  # the rows to come are others than those before
        self._sample = None
        if self.dropped or n == 0:
            return
        so_far = np.cumsum(counts)
        ends = self._skipped + so_far * (self._n_rows / n)

        def bound(ranks: Int64Array, sign: int) -> Int64Array:
            at = np.minimum(np.searchsorted(ends, ranks), ends.size - 1)
            share = so_far[at] / n
            margin = self._n_rows * (_DEVIATIONS * np.sqrt((share * (1 - share) + 4 / n) / n * left))
            return np.searchsorted(ends, ranks + sign * margin)

        change = np.zeros(ends.size + 2, np.int64)
        np.add.at(change, bound(self._first, -1), 1)
        np.add.at(change, bound(self._last, 1) + 1, -1)
        self._open &= np.cumsum(change)[: ends.size] > 0
        self._bits = bits(self._open)
        still = self._stage.each_cell(self._open.astype(np.int64)) > 0
        self._cells = still, bool(self._stage.each_cell(counts)[still].sum() < _FEW * n)

    def items(self, stage: FirstStage | Stage, bins: Int64Array) -> tuple[AnyArray, Int64Array] | None:
        """Words and positions of the items in some bins; None unless all of them were surely kept."""
        complete = sum(thread.rows for thread in self._by_thread) == self._n_rows
        if self.dropped or not complete or stage is not self._stage or not self._open[bins].all():
            return None
        wanted = bits(flags(self._open.size, bins))
        words = []
        for thread in self._by_thread:
            thread.keep_only(wanted)
            words.append([array[: thread.items].copy() for array in thread.words[:2]])
            thread.resize(0)  # to order them takes room as well
        key, position = (np.concatenate(arrays) for arrays in zip(*words, strict=True))
        return key, position.astype(np.int64)


def _alike(sample: Int64Array, counts: Int64Array) -> bool:
    """Tell whether both may be counts of rows drawn from one list: chi-squared of groups of about equal content."""
    share = np.arange(1, _GROUPS) * (sample.sum() / _GROUPS)
    edges = unique(0, np.searchsorted(np.cumsum(sample), share))
    a, b = (np.add.reduceat(bin_counts, edges) for bin_counts in (sample, counts))
    ratio = np.sqrt(b.sum() / a.sum())
    return bool(np.sum((a * ratio - b / ratio) ** 2 / np.maximum(1, a + b)) < _ALIKE)
