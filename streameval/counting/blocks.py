"""A list in order, cut into blocks of ranks, and the sums of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from streameval.counting.block_sums import BlockSums, sum_labels, sum_rows
from streameval.counting.labelled_rows import DecodedRows, LabelledRows, RowRange
from streameval.errors import InputError
from streameval.typing import Int64Array, UInt64Array


class Piece(Protocol):
    """Consecutive rows."""

    @property
    def size(self) -> int:
        """How many there are."""

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
    held: Block[DecodedRows], rows: LabelledRows, cutoffs: Int64Array, room: UInt64Array
) -> tuple[BlockSums, UInt64Array | None]:
    """Return the sums of a block, and the order keys at the cutoffs in it; errors as in `LabelledScans.parts`.

    `room` (uint64 array) receives keys: as long as a block, where there are scores.
    """
    return sum_range(_joined(held, rows, room), cutoffs)


def sum_range(block: RowRange, cutoffs: Int64Array) -> tuple[BlockSums, UInt64Array | None]:
    """Return the sums of a block, and the order keys at the cutoffs in it; errors as in `sum_labels` and `sum_rows`."""
    if block.keys is None:
        return sum_labels(block.before, block.labels, cutoffs), None
    first, last = np.searchsorted(cutoffs, [block.before, block.before + block.keys.size], side="right")
    at_cutoffs = block.keys[cutoffs[first:last] - block.before - 1]
    return sum_rows(block.before, block.keys, block.labels, block.previous, cutoffs), at_cutoffs


def _joined(held: Block[DecodedRows], rows: LabelledRows, room: UInt64Array) -> RowRange:
    """One stretch, its order keys made in `room`: fresh memory would cost more than what is done in it."""
    pieces = held.pieces
    labels = pieces[0].labels if len(pieces) == 1 else np.concatenate([piece.labels for piece in pieces])
    before = pieces[0].unit.first_position + pieces[0].first
    if rows.order is None:
        return RowRange(before, labels)
    at = 0
    for piece in pieces:
        _keys_into(piece, rows, room[at : at + piece.size])
        at += piece.size
    previous = np.empty(1, np.uint64)
    if held.last is not None:
        _keys_into(held.last, rows, previous)
    return RowRange(before, labels, room[:at], int(previous[0]) if held.last is not None else None)


def _keys_into(piece: DecodedRows, rows: LabelledRows, out: UInt64Array) -> None:
    if rows.order is None or piece.scores is None:
        raise InputError("there is no score to order by")
    for _, keys in rows.order.blocks(piece.scores, out):
        rows.check(piece.unit, keys)
        if not np.may_share_memory(keys.key, out):
            out[:] = keys.key
