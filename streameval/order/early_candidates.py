"""Keep likely candidates while bins are counted, so that most lists need one scan instead of two.

What was counted so far says where wanted ranks will lie, give or take a margin that shrinks as the scan goes on; items
in those bins are kept, and dropped once their bin falls out of the margin. Over a list in no particular order about
200 √N items are kept at most. A bin only ever closes: if the bins of all wanted ranks were open to the end, every item
in them was kept, and that is checked and not hoped for. Else (a list whose order goes with its scores, or that is too
long for the room) nothing is lost but the time saved: a second scan collects them.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from streameval.kernels.bins import keep_open, pile_up, thin_out
from streameval.order.filter import BLOCK, bits
from streameval.typing import AnyArray, Int64Array, UInt32Array, UInt64Array

_LEAST_ROOM = 2 * BLOCK
_FULL = 0.75  # more than this of a pile, and it grows
_DEVIATIONS = 4.5  # of a count: about one list in a hundred needs the second scan for chance alone
_GROWTH = 1.5  # how much more is counted between two reviews


class Pile:
    """What one thread keeps.

    Parameters
    ----------
    counts : integer array
        The thread's counts of bins.
    key, position : numpy dtypes
        That are wide enough.
    """

    def __init__(self, counts: AnyArray, key: type[Any], position: type[Any]) -> None:
        self.counts = counts
        self.seen = counts.copy()  # the same after some row group not long ago: what other threads may look at
        self.seen_rows = self.rows = self.items = 0
        self.rows_kept = np.empty(BLOCK, np.uint32)
        self.words: tuple[AnyArray, AnyArray, UInt32Array] = (
            np.empty(_LEAST_ROOM, key), np.empty(_LEAST_ROOM, position), np.empty(_LEAST_ROOM, np.uint32)
        )  # fmt: skip

    @property
    def room(self) -> int:
        """Items that it can hold."""
        return int(self.words[0].size)

    def resize(self, room: int) -> None:
        """Make room for so many items."""
        for array in self.words:
            array.resize(room, refcheck=False)  # in place: nothing is held twice

    def thin(self, wanted: UInt64Array) -> None:
        """Drop all but the items in some bins."""
        self.items = thin_out(self.words, self.items, wanted)


class Hoard:
    """Candidates of one counting scan, by all its threads.

    Parameters
    ----------
    wanted : int64 array, strictly increasing
        Wanted ranks.
    lumps : int64 array, shape (bins,)
        Rows that are not scanned, by bin.
    n_rows : int
        Rows that are scanned.
    limit : int
        Bytes to take at most; beyond, everything is dropped.
    key_shift : int
        Low bits of keys that are the same in all.
    """

    def __init__(self, wanted: Int64Array, lumps: Int64Array, n_rows: int, limit: int, key_shift: int) -> None:
        ends = np.flatnonzero(np.diff(wanted) > 1)
        self._first, self._last = wanted[np.append(0, ends + 1)], wanted[np.append(ends, wanted.size - 1)]
        self._lumps, self._n_rows = np.cumsum(lumps), n_rows
        self._shift = np.uint64(key_shift)
        n_items = n_rows + int(lumps.sum())
        self._kinds = np.uint32 if key_shift >= 32 else np.uint64, np.uint32 if n_items < 2**32 else np.int64
        self._limit = limit // sum(np.dtype(kind).itemsize for kind in (*self._kinds, np.uint32))
        self._open = np.ones(lumps.size, np.bool_)
        self._bits = bits(self._open)
        self.dropped = False  # for good: a review under way must not bring back what one thread has dropped
        self._piles: list[Pile] = []
        self._lock = threading.Lock()

    def pile(self, counts: AnyArray) -> Pile:
        """A pile for a thread with these counts."""
        pile = Pile(counts, *self._kinds)
        self._piles.append(pile)
        if sum(one.room for one in self._piles) > self._limit:
            self.dropped = True
        return pile

    def start(self, sample: UInt32Array) -> None:
        """Close bins on the word of a sample: the bins of some rows."""
        self._review(np.bincount(sample, minlength=self._open.size), sample.size, 1.0)

    def take(self, pile: Pile, key: UInt64Array, first_position: int, bins: UInt32Array) -> None:
        """Keep what of a block lies in open bins."""
        pile.rows += key.size
        if not self.dropped and pile.items + key.size > pile.room:
            pile.thin(self._bits)
            if pile.items > _FULL * pile.room or pile.items + key.size > pile.room:
                others = sum(one.room for one in self._piles) - pile.room
                room = min(int(_GROWTH * pile.room) + _LEAST_ROOM, self._limit - others)
                if room < pile.items + key.size:
                    self.dropped = True
                else:
                    pile.resize(room)
        if self.dropped:
            pile.items = 0
            pile.resize(0)
        else:
            rows = pile.rows_kept[: keep_open(bins, self._bits, pile.rows_kept)]
            pile.items = pile_up(key, first_position, bins, rows, pile.words, self._shift, pile.items)

    def settle(self, pile: Pile) -> None:
        """After a row group: review which bins are open, if enough was counted since."""
        if pile.rows >= _GROWTH * pile.seen_rows:
            pile.seen, pile.seen_rows = pile.counts.copy(), pile.rows
            with self._lock:
                counts: Int64Array = np.zeros(self._open.size, np.int64)
                for one in self._piles:
                    counts += one.seen
                n = int(counts.sum())
                self._review(counts, n, 1 - n / self._n_rows)

    def _review(self, counts: Int64Array, n: int, left: float) -> None:
        """Close bins in which no wanted rank can be expected: of `n` rows, `counts` fell into each.

        `left` is the share of the scan that is still unknown.
        """
        if self.dropped or n == 0:
            return
        so_far = np.cumsum(counts)
        ends = self._lumps + so_far * (self._n_rows / n)

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

    def items(self, bins: Int64Array) -> tuple[UInt64Array, Int64Array] | None:
        """Keys (without low bits) and positions of the items in some bins; None unless all of them were surely kept."""
        complete = sum(pile.rows for pile in self._piles) == self._n_rows and self._open[bins].all()
        if self.dropped or not complete:
            return None
        wanted = np.zeros(self._open.size, np.bool_)
        wanted[bins] = True
        found = []
        for pile in self._piles:
            pile.thin(bits(wanted))
            found.append([array[: pile.items] for array in pile.words[:2]])
        key, position = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        return key.astype(np.uint64) << self._shift, position.astype(np.int64)
