"""The influence sketch of a labelled list: sums by a hash of what was drawn, from which standard errors follow.

Clusters, such as users, are put into `BINS` bins by a hash of their key; a list without them has each row by itself. A
bin keeps a few sums of its items, whatever the length of the list, and those of blocks merge in the order of their
ranks: threads, chunks and workers change no byte. `streameval.metrics.intervals` makes standard errors of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels import influence as kernels
from streameval.kernels.bits import WORD
from streameval.kernels.influence import BINS, EACH, EACH_SQUARE, HASHES, INVERSE, LOCAL, LOCAL_SQUARE
from streameval.kernels.jit import read_only, small
from streameval.kernels.order import add_words
from streameval.kernels.sorted_sets import unique
from streameval.order.item_keys import first_missing, refuse_inexact
from streameval.order.scan import key_hashes
from streameval.scans.threads import own_room
from streameval.scans.units import Unit
from streameval.text import number_of, row_of
from streameval.typing import FloatArray, Int64Array, UInt8Array, UInt16Array, UInt64Array

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
        key: Columns that tell the rows of a cluster apart, if any do.
    """

    columns: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    scores: tuple[int, ...] = ()
    key: tuple[str, ...] = ()

    @property
    def each(self) -> str:
        """Name one of what was drawn."""
        return f"each {' and '.join(self.columns)}" if self.columns else "each row"

    @property
    def read(self) -> list[str]:
        """Name the columns that are read."""
        return list(dict.fromkeys([*self.columns, *self.key]))

    @property
    def are_places(self) -> bool:
        """Tell whether each row was drawn by itself, and has no key: its position is all that there is of it."""
        return not self.read

    def put_rows(self, first: int, labels: UInt8Array, bins: UInt16Array) -> UInt64Array:
        """Put consecutive rows, each drawn by itself, into `bins`; `first` is the position of the first of them.

        Returns:
            uint64 array, shape (BINS, HASHES): See `bins_of_unit`.
        """
        return _put_numbers(lambda at: np.arange(first + at.start, first + at.stop, dtype=np.uint64), labels, bins)

    def bins_of_unit(
        self, unit: Unit, labels: UInt8Array, read: pa.Table | None = None
    ) -> tuple[UInt16Array, UInt64Array]:
        """Put the rows of a unit into bins; an `InputError` names the place where a key is missing.

        Args:
            labels (uint8 array, shape (rows,)): 0 or 1.
            read: Columns of the unit, where they were read already.

        Returns:
            uint16 array, shape (rows,): Bins.
            uint64 array, shape (BINS, HASHES): Sums of hashes, by which other rows or labels are told apart.
        """
        bins = np.empty(unit.rows, np.uint16)
        if self.are_places:
            return bins, self.put_rows(unit.first_position, labels, bins)
        if read is None and (numbers := self._numbers(unit)) is not None:
            return bins, _put_numbers(lambda at: numbers[at], labels, bins)
        table, sums = (unit.read(self.read) if read is None else read).select(self.read), new_sums()
        refuse_inexact(table, unit.place)
        hashes = row_hashes = self._hashes(unit, table)
        if self.key:
            row_hashes = hashes.copy()
            with small(unit.rows):
                add_words(row_hashes, key_hashes(table.select(list(self.key)), ~SEED))
        _put(hashes, row_hashes, labels, bins, sums)
        return bins, sums

    def _hashes(self, unit: Unit, read: pa.Table) -> UInt64Array:
        """Hash the cluster of each row."""
        if not self.columns:
            return hashes_of(np.arange(unit.rows, dtype=np.uint64) + np.uint64(unit.first_position))
        keys = read.select(list(self.columns))
        if gone := first_missing(keys):
            name, row, count = gone
            raise InputError(f"{row_of(unit.place, row)}: {number_of(count, 'row')} without {name}, what was drawn",
                             "give every row a key; rows of which nothing is known get one each")  # fmt: skip
        return key_hashes(keys, SEED)

    def _numbers(self, unit: Unit) -> UInt64Array | None:
        """Read a key that is one column of whole numbers, none of them missing, in the thread's own room."""
        if len(self.read) > 1 or not self.columns:
            return None
        values = unit.numbers(self.columns[0], own_room(unit.rows), "any")
        if values is None or values.dtype.kind not in "iu":
            return None
        return values.astype(np.int64 if values.dtype.kind == "i" else np.uint64, copy=False).view(np.uint64)


def hashes_of(numbers: UInt64Array) -> UInt64Array:
    """Hash what whole numbers tell apart."""
    hashes = np.full(numbers.size, SEED)
    with small(numbers.size):
        add_words(hashes, numbers)
    return hashes


def bins_of(hashes: UInt64Array) -> UInt16Array:
    """Put what has a hash into its bin."""
    return (hashes >> kernels.BIN_SHIFT).astype(np.uint16)


def new_sums() -> UInt64Array:
    """Make sums of hashes of no rows."""
    return np.zeros((BINS, HASHES), np.uint64)


def _put_numbers(numbers: Callable[[slice], UInt64Array], labels: UInt8Array, bins: UInt16Array) -> UInt64Array:
    sums = new_sums()
    for first in range(0, bins.size, _STRETCH):
        at = slice(first, min(first + _STRETCH, bins.size))
        hashes = hashes_of(numbers(at))
        _put(hashes, hashes, labels[at], bins[at], sums)
    return sums


def _put(
    hashes: UInt64Array, row_hashes: UInt64Array, labels: UInt8Array, bins: UInt16Array, sums: UInt64Array
) -> None:
    with small(kernels.HASH_STEPS * hashes.size):
        kernels.put_hashes(hashes, row_hashes, read_only(labels), bins, sums)


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
        hashes (uint64 array, shape (BINS, HASHES), or None): Sums of hashes of units that begin in the block; None
            where they are summed before rows are ordered.
    """

    whole: Int64Array
    real: FloatArray
    sums: FloatArray
    lead: Int64Array
    rest: Int64Array
    tops: list[Int64Array]
    above: Int64Array
    hashes: UInt64Array | None = None

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
        hashes (uint64 array, shape (BINS, HASHES)): Sums, modulo 2⁶⁴, of hashes of the items, and of the positives.
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
    hashes: UInt64Array = field(repr=False)

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
        self._hashes = np.zeros((BINS, HASHES), np.uint64)

    def add_rows(self, part: BlockInfluence) -> None:
        """Count the rows of the next block, wherever their groups began."""
        for top in part.tops:
            self._tops[next(self._cutoffs)] = self._rows + top
        self._rows += part.rows
        self._above = part.above if self._above is None else self._above + part.above
        if part.hashes is not None:
            self._hashes += part.hashes

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
        return Influence(items, positives, losses, wins, self._precision, self._inverse, self._square, self._tops,
                         above, self._hashes)  # fmt: skip
