"""Labels in the order of their scores, exactly, where there are too many scores to count each: a word an item."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from streameval.counting.block_sums import BlockSums
from streameval.counting.blocks import Block, blocks, sum_range
from streameval.counting.calibration import losses_of_keys
from streameval.counting.labelled_rows import RowRange
from streameval.errors import InputError
from streameval.order.scores import ScoreOrder
from streameval.process.threads import ThreadPool
from streameval.spill.parted_words import Parted, Pile, SortedRows
from streameval.typing import Int64Array, UInt8Array, UInt16Array, UInt64Array

_BYTES_TO_SORT = 48  # per item of a pile: its words three times, and what their sums take
RowRoom = tuple[UInt64Array, UInt8Array, UInt16Array]


@dataclass(frozen=True)
class OrderedWords:
    """Labelled rows in the order of their scores: piles, each sorted when its turn comes.

    Attributes:
        ends (int64 array, shape (piles,)): Rank of the last item of each pile.
    """

    piles: list[Pile] = field(repr=False)
    ends: Int64Array

    @staticmethod
    def from_piles(parted: Parted, n_items: int, memory: float, threads: int) -> OrderedWords:
        """Piles of which `threads` can be sorted at once; raises `InputError` where rows came or went."""
        piles = list(parted.piles(rows_to_sort(memory, threads)))
        ends: Int64Array = np.cumsum(np.array([pile.size for pile in piles], np.int64))
        if int(ends[-1] if piles else 0) != n_items:
            raise InputError("the list changed while it was read", "run the command again")
        return OrderedWords(piles, ends)

    def parts(
        self, cutoffs: Int64Array, block: int, threads: int, scores: Sequence[int] = (), order: ScoreOrder | None = None
    ) -> Iterator[tuple[BlockSums, UInt64Array | None]]:
        """Sum blocks of `block` ranks; see `LabelledScans.parts`, and `sum_range` for `scores`.

        With an `order`, scores that may be probabilities are summed too.
        """
        thread = threading.local()

        def part(numbered: tuple[int, Block[SortedRows]]) -> tuple[BlockSums, UInt64Array | None]:
            if not hasattr(thread, "room"):
                thread.room = _room(block)
            number, held = numbered
            rows = _join(held.pieces, held.last, number * block, thread.room)
            summed, at_cutoffs = sum_range(rows, cutoffs, scores)
            if rows.keys is not None:
                summed.score_losses = losses_of_keys(order, rows.keys, rows.labels, rows.bins)
            return summed, at_cutoffs

        with ThreadPool(threads) as pool:
            in_rank_order = pool.in_order(Pile.rows, self.piles, threads)
            yield from pool.in_order(part, enumerate(blocks(in_rank_order, block)), threads)

    def rows(self, first: int, last: int) -> RowRange:
        """Rows after rank `first`, up to rank `last`."""
        a, b = np.searchsorted(self.ends, [first, last - 1], side="right").tolist()
        pieces = []
        for pile, end in zip(self.piles[a : b + 1], self.ends[a : b + 1].tolist(), strict=True):
            begin = end - pile.size
            pieces.append(pile.rows().cut(max(0, first - begin), min(pile.size, last - begin)))
        return _join(pieces, None, first, _room(last - first))


def _room(rows: int) -> RowRoom:
    return np.empty(rows, np.uint64), np.empty(rows, np.uint8), np.empty(rows, np.uint16)


def _join(pieces: Sequence[SortedRows], last: SortedRows | None, before: int, room: RowRoom) -> RowRange:
    """One stretch, taken apart in `room`."""
    at, bins = 0, None
    for piece in pieces:
        piece.put(room[0][at : at + piece.size], room[1][at : at + piece.size])
        if piece.bins.size:
            piece.put_bins(room[2][at : at + piece.size])
            bins = room[2]
        at += piece.size
    previous = None
    if last is not None:
        key = np.empty(1, np.uint64)
        last.put(key, np.empty(1, np.uint8))
        previous = int(key[0])
    return RowRange(before, room[1][:at], room[0][:at], previous, None if bins is None else bins[:at])


def rows_to_sort(memory: float, threads: int) -> int:
    """Rows of a range that `threads` can sort at once, and one more hold, in so many bytes."""
    return max(1 << 12, int(memory / _BYTES_TO_SORT / (threads + 1)))
