"""A list as it is stored, as bits: labels, and which scores repeat the one before. A unit of 2^20 rows takes 256 kB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from streameval.counting.block_sums import UnorderedError
from streameval.counting.calibration import ScoreLosses, losses_of_keys, losses_of_values, summed_losses
from streameval.counting.labelled_rows import LabelledRows, joined_bins, summed_hashes, unpack
from streameval.errors import InputError
from streameval.kernels.bits import WORD, copy_bits
from streameval.kernels.bits import repeats as set_repeats
from streameval.order.scores import ScoreOrder
from streameval.scans.threads import own_room
from streameval.scans.units import Unit, by_file
from streameval.typing import Int64Array, UInt16Array, UInt64Array


@dataclass(frozen=True)
class BitRows:
    """Consecutive rows.

    Attributes:
        before: Rows before them.
        size: How many they are.
        labels (uint64 array): See `streameval.kernels.bits`.
        repeats (uint64 array, or None): Set where a row's score is that of the row before; None without scores.
        first: Bit of the first row in both.
        ranks (int64 array): Cutoffs among the rows.
        keys (uint64 array): Order keys at these cutoffs; none without scores.
        ends (pair of int): Order keys of the first and the last row of the unit that they are from.
        bins (uint16 array, shape (size,), or None): Of their clusters; None where the list is no sample, or they follow
            from ranks.
        above: How many of the rows have each score that is wanted of a sample, or a better one.
        losses: Of the unit whose first row is among them (`streameval.counting.calibration`).
        hashes (uint64 array, shape (BINS, HASHES), or None): Of the same unit, its sums of hashes.
    """

    before: int
    size: int
    labels: UInt64Array
    repeats: UInt64Array | None = None
    first: int = 0
    ranks: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    keys: UInt64Array = field(default_factory=lambda: np.empty(0, np.uint64))
    ends: tuple[int, int] = (0, 0)
    bins: UInt16Array | None = None
    above: tuple[int, ...] = ()
    losses: ScoreLosses | None = None
    hashes: UInt64Array | None = None

    def cut(self, first: int, last: int) -> BitRows:
        """Some of the rows; nothing is copied."""
        ranks, keys = self.ranks, self.keys
        if ranks.size:
            a, b = np.searchsorted(ranks, [self.before + first, self.before + last], side="right")
            ranks, keys = ranks[a:b], keys[a:b]
        labels, at = self.labels, self.first + first
        bins = None if self.bins is None else self.bins[first:last]
        above = tuple(min(max(0, count - first), last - first) for count in self.above)
        of_unit = (None, None) if first else (self.losses, self.hashes)
        return BitRows(self.before + first, last - first, labels, self.repeats, at, ranks, keys, self.ends, bins,
                       above, *of_unit)  # fmt: skip


def read_bits(rows: LabelledRows, units: Sequence[Unit], cutoffs: Int64Array) -> Iterator[BitRows]:
    """Read consecutive units; those of one file together, where there are no scores.

    Args:
        cutoffs (int64 array, ascending): Ranks whose order keys are wanted.

    Raises:
        UnorderedError: A score that is better than the one before it.
        InputError: As of `LabelledRows.read`.
    """
    if rows.order is not None:
        yield from (_with_scores(rows, unit, cutoffs) for unit in units)
        return
    for of_file in by_file(units):
        bits = rows.label_bits(of_file)
        sizes = [unit.rows for unit in of_file] if len(bits) > 1 else [sum(unit.rows for unit in of_file)]
        for size, unit, words in zip(sizes, of_file, bits, strict=False):
            held = of_file if len(bits) == 1 else [unit]
            bins, hashes = rows.bins(held, unpack(words, size)) if rows.has_bins else (None, None)
            yield BitRows(unit.first_position, size, words, bins=bins, hashes=hashes)


def _with_scores(rows: LabelledRows, unit: Unit, cutoffs: Int64Array) -> BitRows:
    bits = BitRows(unit.first_position, unit.rows, rows.label_bits([unit])[0])
    if rows.order is None or rows.score is None:
        return bits
    labels = unpack(bits.labels, unit.rows)
    bins, hashes = rows.bins([unit], labels)  # before scores come into the thread's own room
    first, last = np.searchsorted(cutoffs, [bits.before, bits.before + unit.rows], side="right")
    ranks, tied = cutoffs[first:last], np.zeros(unit.rows // 64 + 2, np.uint64)
    places = np.concatenate([ranks - bits.before - 1, [0, unit.rows - 1]])
    values = unit.numbers(rows.score, own_room(unit.rows)) if rows.order.kind != "decimal" else None
    if values is not None and set_repeats(values, int(not rows.order.ascending), tied) == unit.rows:
        keys = rows.order.of_numpy(values[places], np.empty(places.size, np.uint64)).key
        losses = losses_of_values(rows.order, values, labels, bins)
    else:
        every = _keys(rows, rows.order, unit)
        tied[:] = 0
        if (wrong := set_repeats(every, 0, tied)) < unit.rows:
            raise UnorderedError(bits.before + wrong + 1)
        keys, losses = every[places], losses_of_keys(rows.order, every, labels, bins)
    ends = int(keys[-2]), int(keys[-1])
    above = () if rows.clusters is None else tuple(_count_above(rows, unit, ends, key) for key in rows.clusters.scores)
    return replace(bits, repeats=tied, ranks=ranks, keys=keys[:-2], ends=ends, bins=bins, above=above, losses=losses,
                   hashes=hashes)  # fmt: skip


def _count_above(rows: LabelledRows, unit: Unit, ends: tuple[int, int], key: int) -> int:
    """Count the rows of a unit whose order key is no larger than one; only that of one unit lies between its ends."""
    if not ends[0] <= key < ends[1]:
        return unit.rows if key >= ends[1] else 0
    return int(np.searchsorted(rows.keys(unit), np.uint64(key), side="right"))


def link_units(units: Iterable[BitRows]) -> Iterator[BitRows]:
    """Say of each unit's first row whether it repeats the one before; raises `UnorderedError` where it is better."""
    last: int | None = None
    for unit in units:
        if unit.repeats is not None and last is not None:
            if unit.ends[0] < last:
                raise UnorderedError(unit.before + 1)
            unit.repeats[0] |= np.uint64(unit.ends[0] == last)
        last = unit.ends[1]
        yield unit


def join(pieces: list[BitRows]) -> BitRows:
    """Make one stretch of consecutive pieces, whose first row is bit 0."""
    whole, size = pieces[0], sum(piece.size for piece in pieces)
    if len(pieces) == 1 and whole.first % WORD == 0:
        words = slice(whole.first // WORD, (whole.first + size) // WORD + 2)
        repeats = None if whole.repeats is None else whole.repeats[words]
        return replace(whole, labels=whole.labels[words], repeats=repeats, first=0)
    bits = np.zeros((2, size // 64 + 2), np.uint64)
    at = 0
    for piece in pieces:
        copy_bits(piece.labels, piece.first, piece.size, bits[0], at)
        if piece.repeats is not None:
            copy_bits(piece.repeats, piece.first, piece.size, bits[1], at)
        at += piece.size
    ranks, keys = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("ranks", "keys"))
    joint = joined_bins([piece.bins for piece in pieces])
    repeats = None if whole.repeats is None else bits[1]
    above = tuple(map(sum, zip(*(piece.above for piece in pieces), strict=True)))
    losses = summed_losses(piece.losses for piece in pieces)
    return BitRows(whole.before, size, bits[0], repeats, 0, ranks, keys, bins=joint, above=above, losses=losses,
                   hashes=summed_hashes(pieces))  # fmt: skip


def _keys(rows: LabelledRows, order: ScoreOrder, unit: Unit) -> UInt64Array:
    """Decode scores as order keys, in the thread's own room."""
    column = unit.read([rows.score or ""]).column(0)
    for _, keys in order.blocks(column, own_room(unit.rows)[: unit.rows]):
        rows.check(unit, keys)
        return keys.key
    raise InputError(f"{unit.place} holds no rows")
