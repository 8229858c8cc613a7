"""A list in order, cut into blocks of ranks, and the sums of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from streameval.counting.bit_rows import BitRows, join
from streameval.counting.block_sums import BlockSums, sum_bits, sum_labels, sum_rows, with_influence
from streameval.counting.influence import Clusters
from streameval.counting.labelled_rows import RowRange, unpack
from streameval.scans.threads import own_room
from streameval.typing import Int64Array, UInt64Array


class Piece(Protocol):
    """Consecutive rows."""

    @property
    def size(self) -> int:
        """Tell how many there are."""

    def cut(self, first: int, last: int) -> Self:
        """Some of them."""


P = TypeVar("P", bound=Piece)


@dataclass(frozen=True)
class Block(Generic[P]):
    """A block of rows, still in the pieces in which they came: whoever sums it joins them.

    Attributes:
        pieces: Consecutive rows.
        last: The row before.
    """

    pieces: list[P]
    last: P | None


def blocks(pieces: Iterable[P], size: int, last: P | None = None) -> Iterator[Block[P]]:
    """Cut consecutive rows anew, into blocks of `size` rows and a last one; `last` is the row before the first."""
    held: list[P] = []
    rows = 0
    for piece in pieces:
        at, total = 0, piece.size
        while at < total:
            end = min(total, at + size - rows)
            held.append(piece.cut(at, end))
            rows, at = rows + end - at, end
            if rows == size:
                yield Block(held, last)
                last = held[-1].cut(held[-1].size - 1, held[-1].size)
                held, rows = [], 0
    if held:
        yield Block(held, last)


def sum_block(
    held: Block[BitRows], cutoffs: Int64Array, clusters: Clusters | None = None
) -> tuple[BlockSums, UInt64Array | None]:
    """Return the sums of a block, and the order keys at the cutoffs in it; `clusters` are those of a sample."""
    rows = join(held.pieces)
    bins, hashes = rows.bins, rows.hashes
    if bins is None and clusters is not None:  # each row by itself
        room = own_room(rows.size, "bins").view(np.uint16)[: rows.size]
        hashes = clusters.put_rows(rows.before, unpack(rows.labels, rows.size), room)
        bins = room
    summed = sum_bits(rows.before, rows.size, (rows.labels, rows.repeats), cutoffs)
    summed = with_influence(summed, rows.before, bins, cutoffs, rows.above)
    if summed.influence is not None:
        summed.influence.hashes = hashes
    summed.score_losses = rows.losses
    return summed, None if rows.repeats is None else rows.keys


def sum_range(block: RowRange, cutoffs: Int64Array, scores: Sequence[int] = ()) -> tuple[BlockSums, UInt64Array | None]:
    """Give the same of bytes and keys; errors as in `sum_labels` and `sum_rows`.

    Args:
        scores: Order keys of scores whose items, and better ones, are counted by bin, where the list is a sample.
    """
    if block.keys is None:
        return with_influence(sum_labels(block.before, block.labels, cutoffs), block.before, block.bins, cutoffs), None
    first, last = np.searchsorted(cutoffs, [block.before, block.before + block.keys.size], side="right")
    at_cutoffs = block.keys[cutoffs[first:last] - block.before - 1]
    summed = sum_rows(block.before, block.keys, block.labels, block.previous, cutoffs)
    above = np.searchsorted(block.keys, np.array(scores, np.uint64), side="right").tolist()
    return with_influence(summed, block.before, block.bins, cutoffs, above), at_cutoffs
