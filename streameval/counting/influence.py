"""The influence sketch of a labelled list: sums by a hash of what was drawn, from which standard errors follow.

Clusters, such as users, are put into `BINS` bins by a hash of their key; a list without them has each row by itself. A
bin keeps a few sums of its items, whatever the length of the list, and those of blocks merge in the order of their
ranks: threads, chunks and workers change no byte. `streameval.metrics.intervals` makes standard errors of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels import influence as kernels
from streameval.kernels.bits import WORD
from streameval.kernels.influence import BINS, EACH, EACH_SQUARE, INVERSE, LOCAL, LOCAL_SQUARE
from streameval.kernels.jit import small
from streameval.kernels.sorted_sets import unique
from streameval.order.item_keys import first_missing, refuse_inexact
from streameval.order.scan import key_hashes
from streameval.scans.threads import own_room
from streameval.scans.units import Unit
from streameval.text import number_of, row_of
from streameval.typing import FloatArray, Int64Array, UInt16Array, UInt64Array

SEED = np.uint64(0x9E6C63D0876A9A35)
"""Of the hash: another than that by which ties are broken and samples are drawn, which bins must not depend on."""
_STRETCH = 1 << 15  # rows hashed together: what a cache holds
BIN_BYTES = 2
ROW_BYTES = 40  # of a unit at work: keys as they are decoded, their hashes, bins
Bits = tuple[UInt64Array, UInt64Array | None]


@dataclass(frozen=True)
class Clusters:
    """Units of the draw: the rows that share the values of some columns; of no columns, each row by itself.

    Attributes:
        at: Scores as they were asked for.
        scores: Their order keys: the items of each, or of a better score, are counted by bin.
    """

    columns: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    scores: tuple[int, ...] = ()

    @property
    def each(self) -> str:
        """Name one of what was drawn."""
        return f"each {' and '.join(self.columns)}" if self.columns else "each row"

    @property
    def are_rows(self) -> bool:
        """Tell whether each row was drawn by itself: its bin follows from its position."""
        return not self.columns

    def bins_of_rows(self, first: int, bins: UInt16Array) -> UInt16Array:
        """Put consecutive rows, each drawn by itself, into `bins`; `first` is the position of the first of them."""
        for at in range(0, bins.size, _STRETCH):
            some = bins[at : at + _STRETCH]
            _put_into_bins(np.arange(first + at, first + at + some.size, dtype=np.uint64), some)
        return bins

    def bins_of_keys(self, unit: Unit, read: pa.Table | None = None) -> UInt16Array:
        """Put the rows of a unit into bins by their keys; an `InputError` names the place where one is missing.

        Args:
            read: Columns of the unit, where they were read already.
        """
        if read is None and (numbers := self._numbers(unit)) is not None:
            return bins_of(numbers)
        keys = (unit.read(self.columns) if read is None else read).select(list(self.columns))
        if gone := first_missing(keys):
            name, row, count = gone
            raise InputError(f"{row_of(unit.place, row)}: {number_of(count, 'row')} without {name}, what was drawn",
                             "give every row a key; rows of which nothing is known get one each")  # fmt: skip
        refuse_inexact(keys, unit.place)
        hashes = key_hashes(keys, SEED)
        np.right_shift(hashes, kernels.BIN_SHIFT, out=hashes)
        return hashes.astype(np.uint16)

    def _numbers(self, unit: Unit) -> UInt64Array | None:
        """Read a key that is one column of whole numbers, none of them missing, in the thread's own room."""
        values = unit.numbers(self.columns[0], own_room(unit.rows), "any") if len(self.columns) == 1 else None
        if values is None or values.dtype.kind not in "iu":
            return None
        return values.astype(np.int64 if values.dtype.kind == "i" else np.uint64, copy=False).view(np.uint64)


def bins_of(numbers: UInt64Array) -> UInt16Array:
    """Put what whole numbers tell apart into bins."""
    bins = np.empty(numbers.size, np.uint16)
    _put_into_bins(numbers, bins)
    return bins


def _put_into_bins(numbers: UInt64Array, bins: UInt16Array) -> None:
    with small(numbers.size):
        kernels.bins_of_words(numbers, SEED, bins)


def by_bin(bins: UInt16Array, labels: np.ndarray) -> Int64Array:
    """Count rows, and positives, of each bin: shape (2, BINS)."""
    positive = labels.astype(np.bool_)
    return np.stack([np.bincount(bins, minlength=BINS), np.bincount(bins[positive], minlength=BINS)])


def tops_of(cutoffs: Int64Array) -> Int64Array:
    """Choose the cutoffs whose counts by bin are kept: powers of ten, and the last."""
    powers = 10 ** np.arange(1, 19, dtype=np.int64)
    at = np.searchsorted(cutoffs, powers)
    there = cutoffs[at[at < cutoffs.size]]
    return unique(there[there == powers[: there.size]], cutoffs[-1:])


@dataclass
class BlockInfluence:
    """Sums of the groups of tied items that begin in a block, by bin.

    Attributes:
        whole (int64 array, shape (4, BINS)): n, p, L and W of the groups that have ended.
        real, sums (float64 arrays): See `streameval.kernels.influence`; of the same.
        lead, rest (int64 arrays, shape (2, BINS)): Rows, and positives, of a group that began before, and of the last
            group, which may go on.
        tops (list of int64 arrays, shape (2, BINS)): The same of the block's rows up to each cutoff in it.
        above (int64 array, shape (scores, 2, BINS)): The same of its rows of each score or a better one.
    """

    whole: Int64Array
    real: FloatArray
    sums: FloatArray
    lead: Int64Array
    rest: Int64Array
    tops: list[Int64Array]
    above: Int64Array

    @property
    def rows(self) -> Int64Array:
        """Rows, and positives, of the block by bin: shape (2, BINS)."""
        return self.lead + self.whole[:2] + self.rest


def block_influence(
    before: int,
    ends: tuple[int, int, int],
    bits: Bits,
    bins: UInt16Array,
    cutoffs: Int64Array,
    above: Sequence[int],
) -> BlockInfluence:
    """Sum a block.

    Args:
        before: Ranks before it.
        ends: Rows that belong to a group before; rows up to the last group, which may go on; and all.
        bits: Labels, and where a row ties with the one before it; None where none may.
        bins (uint16 array): Of each row.
        cutoffs (int64 array, ascending): Those of the whole list.
        above: How many of the rows have each score or a better one.
    """
    first, last, size = ends
    repeats = np.zeros_like(bits[0]) if bits[1] is None else bits[1]
    packed, real = np.zeros((BINS, kernels.WHOLES), np.int64), np.zeros((BINS, kernels.REALS))
    sums = np.zeros(kernels.SUMS)
    with small(kernels.STEPS * (last - first)):
        kernels.add_influence((bits[0], repeats), bins, (first, last), before + first, packed, real, sums)
    counts, numbers = packed >> kernels.SUM_BITS, packed & ((1 << kernels.SUM_BITS) - 1)
    whole = np.stack([counts.sum(axis=1), counts[:, kernels.LOSSES], *numbers[:, [kernels.LOSSES, kernels.WINS]].T])
    lead, rest = (_count_rows(bits[0], bins, *rows) for rows in ((0, first), (last, size)))
    every = lead + whole[:2] + rest
    tops = tops_of(cutoffs)
    tops = tops[(tops > before) & (tops <= before + size)] - before
    at_ranks, at_scores = ([every if k == size else _count_rows(bits[0], bins, 0, k) for k in some]
                           for some in (tops.tolist(), above))  # fmt: skip
    scores = np.array(at_scores, np.int64).reshape(-1, 2, BINS)
    return BlockInfluence(whole, real, sums, lead, rest, at_ranks, scores)


def _count_rows(labels: UInt64Array, bins: UInt16Array, first: int, last: int) -> Int64Array:
    """Count some rows of a block as `by_bin` does."""
    begin = first // WORD
    values = np.unpackbits(labels[begin:].view(np.uint8), count=last - WORD * begin, bitorder="little")
    return by_bin(bins[first:last], values[first - WORD * begin :])


@dataclass(frozen=True)
class Influence:
    """Sums of a whole list by bin; see `streameval.kernels.influence`.

    Attributes:
        items, positives (int64 arrays, shape (BINS,)): n, p.
        losses, wins (int64 arrays, shape (BINS,)): L, W.
        precision (float64 array, shape (BINS,)): U.
        inverse, square: A and B of the whole list.
        tops (mapping of int to int64 array of shape (2, BINS)): Items, and positives, of the first k, by k: powers of
            ten, P and N.
        above (int64 array, shape (scores, 2, BINS)): The same of the items of each score or a better one.
    """

    items: Int64Array
    positives: Int64Array
    losses: Int64Array
    wins: Int64Array
    precision: FloatArray
    inverse: float
    square: float
    tops: dict[int, Int64Array] = field(repr=False)
    above: Int64Array = field(repr=False)

    def with_top(self, k: int, counts: Int64Array) -> Influence:
        """Give the same with counts of the first k items by bin."""
        return replace(self, tops={**self.tops, k: counts})


class InfluenceSums:
    """Merges the sums of blocks, in the order of their ranks."""

    def __init__(self, cutoffs: Int64Array) -> None:
        self._cutoffs: Iterator[int] = iter(tops_of(cutoffs).tolist())
        self._whole, self._precision = np.zeros((4, BINS), np.int64), np.zeros(BINS)
        self._inverse, self._square = 0.0, 0.0
        self._rows, self._tops = np.zeros((2, BINS), np.int64), dict[int, Int64Array]()
        self._above: Int64Array | None = None

    def add_rows(self, part: BlockInfluence) -> None:
        """Count the rows of the next block, wherever their groups began."""
        for top in part.tops:
            self._tops[next(self._cutoffs)] = self._rows + top
        self._rows += part.rows
        self._above = part.above if self._above is None else self._above + part.above

    def add_groups(self, part: BlockInfluence, before: tuple[int, int], last: tuple[int, int, int, int]) -> None:
        """Add the groups that begin in a block, which have all ended.

        Args:
            before: Ranks, and positives, before the first of them.
            last: The same before the last group, its size and its positives; (…, 0, 0) where there is none.
        """
        start, positives_before = before
        n, p, losses, wins = part.whole
        self._add(n, p, losses + 2 * (start - positives_before) * p, wins + 2 * positives_before * (n - p))
        self._precision += (
            part.real[:, LOCAL] + positives_before * part.real[:, EACH] - p * self._inverse + n * self._square
        )
        self._inverse += float(part.sums[INVERSE])
        self._square += float(part.sums[LOCAL_SQUARE] + positives_before * part.sums[EACH_SQUARE])
        start, positives_before, size, positives = last
        if not size:
            return
        n, p = part.rest
        self._add(
            n, p, (2 * (start - positives_before) + size - positives) * p, (2 * positives_before + positives) * (n - p)
        )
        share = (positives_before + positives) / (start + size)
        self._precision += p * (share - self._inverse) + n * self._square
        self._inverse += positives / (start + size)
        self._square += positives * share / (start + size)

    def _add(self, *numbers: Int64Array) -> None:
        self._whole += np.stack(numbers)

    def total(self) -> Influence:
        """Give the sums of all blocks."""
        items, positives, losses, wins = self._whole
        above = np.zeros((0, 2, BINS), np.int64) if self._above is None else self._above
        return Influence(
            items, positives, losses, wins, self._precision, self._inverse, self._square, self._tops, above
        )
