"""Labels, and scores as order keys, of a whole list: unit by unit as it is stored, several decoded ahead.

Memory is that of the few units being decoded, whatever the length of the list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
import pyarrow as pa

from streameval.counting.influence import Clusters
from streameval.errors import InputError
from streameval.labelling.hints import naming_number, plain, refuse_unreached
from streameval.labelling.label_values import label_values, refuse_words_of_no_row
from streameval.labelling.options import LabelMeaning
from streameval.order.scores import Keys, ScoreOrder, missing_rows
from streameval.rankings.ranking import Ranking
from streameval.rows import row_groups
from streameval.rows.row_groups import together
from streameval.scans.threads import own_room
from streameval.scans.units import Unit, parts_of, read_narrowly
from streameval.text import number_of, row_of, those_with
from streameval.typing import AnyArray, UInt8Array, UInt16Array, UInt64Array

PLAIN = LabelMeaning()
_NONE = np.empty(0, np.uint64)
_NO_SAMPLE = (None, None)


@dataclass(frozen=True)
class RowRange:
    """Consecutive rows of a list.

    Attributes:
        before: Rows before the first.
        labels (uint8 array, shape (n,)): 0 or 1.
        keys (uint64 array, shape (n,), or None): Order keys of the scores; None where the stored order is all there is.
        previous: Key of the row before.
        bins (uint16 array, shape (n,), or None): Of their clusters, where the list is a sample.
        hashes (uint64 array, shape (BINS, HASHES), or None): Their sums of hashes (`streameval.counting.influence`).
    """

    before: int
    labels: UInt8Array
    keys: UInt64Array | None = None
    previous: int | None = None
    bins: UInt16Array | None = None
    hashes: UInt64Array | None = None


class WithHashes(Protocol):
    """Rows of a sample, or None where their sums of hashes are with others."""

    @property
    def hashes(self) -> UInt64Array | None:
        """Give the sums by bin."""


@dataclass(frozen=True)
class LabelledRows:
    """Rows of a list with their labels, as it is stored.

    Args:
        score, order: The score column and its order; None where the stored order is the ranking.
        joined_labels (uint8 array or None): The label of every row, by stored position, where the list itself has none.
        meaning: Which labels are positive.
        clusters: What was drawn, where the list is a sample.
    """

    units: Sequence[Unit]
    label: str
    score: str | None = None
    order: ScoreOrder | None = None
    joined_labels: UInt8Array | None = None
    meaning: LabelMeaning = PLAIN
    clusters: Clusters | None = None

    @cached_property
    def n_items(self) -> int:
        """Rows in all."""
        return sum(unit.rows for unit in self.units)

    @property
    def scanned(self) -> list[str]:
        """Columns that are read of each unit."""
        labels = [self.label] if self.joined_labels is None else []
        keys = () if self.clusters is None else self.clusters.read
        return list(dict.fromkeys([*labels, *([] if self.score is None else [self.score]), *keys]))

    def for_worker(self, units: Sequence[Unit]) -> LabelledRows:
        """Give the same on a worker, which has some of the units."""
        return replace(self, units=units)

    def read(self, unit: Unit) -> RowRange:
        """Decode one unit; an `InputError` names the place of a missing label or score, or a label not 0/1."""
        small = unit.rows < row_groups.DIRECT_ROWS and self.joined_labels is None
        if small and self.order is not None and self.score is not None:
            columns = unit.read(self.scanned)  # at once: of a small file, to open it takes longer than its columns
            labels = _labels(columns.column(self.label), self.label, unit, self.meaning)
            of_sample = _NO_SAMPLE if self.clusters is None else self.clusters.bins_of_unit(unit, labels, columns)
            keys = self.order.keys(columns.column(self.score))
            self.check(unit, keys)
            return RowRange(unit.first_position, labels, keys.key, None, *of_sample)
        keys_of_all, labels = None if self.order is None else self.keys(unit), self.labels(unit)
        return RowRange(unit.first_position, labels, keys_of_all, None, *self.bins([unit], labels))

    @property
    def has_bins(self) -> bool:
        """Tell whether bins are read with rows: that they are of a sample, and ranks alone do not say in which."""
        return self.clusters is not None and not (self.clusters.are_places and self.order is None)

    def bins(self, units: Sequence[Unit], labels: UInt8Array) -> tuple[UInt16Array, UInt64Array] | tuple[None, None]:
        """Give what `Clusters.bins_of_unit` does of consecutive units; None where the list is no sample."""
        if self.clusters is None:
            return _NO_SAMPLE
        ends = np.cumsum([0, *(unit.rows for unit in units)]).tolist()
        parts = [self.clusters.bins_of_unit(unit, labels[first:last])
                 for unit, (first, last) in zip(units, pairwise(ends), strict=True)]  # fmt: skip
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([bins for bins, _ in parts]), np.sum([sums for _, sums in parts], axis=0)

    def words(self, unit: Unit) -> AnyArray:
        """Do as `keys` does; of plain 32-bit scores the upper halves of keys, gone when the thread reads others."""
        if self.order is None or self.order.kind != "float32" or self.score is None:
            return self.keys(unit)
        values = unit.numbers(self.score, own_room(unit.rows), "any")
        if values is None:
            return self.keys(unit)
        _, words, missing = next(self.order.word_blocks(values, own_room(unit.rows, "words")))
        self.check(unit, Keys(_NONE, _NONE, missing))
        return words

    def labels(self, unit: Unit) -> UInt8Array:
        """Decode the labels of one unit."""
        words, values = self._read_stored([unit])
        return values if words is None else unpack(words, unit.rows)

    def label_bits(self, units: Sequence[Unit]) -> list[UInt64Array]:
        """Decode the labels of units as bits (`streameval.kernels.bits`): of several of a file together, or of each."""
        words, values = self._read_stored(units)
        if words is None and len(units) > 1:
            return [self.label_bits([unit])[0] for unit in units]
        return [pack(values) if words is None else words]

    def _read_stored(self, units: Sequence[Unit]) -> tuple[UInt64Array | None, UInt8Array]:
        """Labels of units of a file as bits where they lie so; else None, and bytes where there is one unit."""
        unit, nothing = units[0], np.empty(0, np.uint8)
        if self.joined_labels is not None:
            return None, np.asarray(self.joined_labels[unit.first_position : unit.first_position + unit.rows])
        if self.meaning == PLAIN and ((words := unit.bits(self.label, units[1:])) is not None or len(units) > 1):
            return words, nothing
        if len(units) > 1:
            return None, nothing
        column = unit.read([self.label]).column(0)
        if self.meaning == PLAIN and pa.types.is_boolean(column.type) and not column.null_count:
            return bitmap(column), nothing
        return None, _labels(column, self.label, unit, self.meaning)

    def keys(self, unit: Unit) -> UInt64Array:
        """Decode the scores of one unit, as order keys."""
        if self.order is None or self.score is None:
            raise InputError("there is no score to order by")
        values = unit.numbers(self.score, own_room(unit.rows), "any") if self.order.kind != "decimal" else None
        if values is None:
            keys = self.order.keys(unit.read([self.score]).column(0))
        else:
            keys = self.order.of_numpy(values, np.empty(unit.rows, np.uint64))
        self.check(unit, keys)
        return keys.key

    def check(self, unit: Unit, keys: Keys) -> None:
        """Refuse scores that are missing, or too wide for one word."""
        if keys.missing:
            for part in unit.parts:
                self.keys(part)
            row = next(missing_rows([unit], lambda part: part.read([str(self.score)]).column(0)))
            raise InputError(
                f"{row}: {those_with(keys.missing, 'item')} no {self.score} (null or NaN)",
                "every item needs one: it decides its place",
            )
        if keys.low.size:
            raise InputError(f"column '{self.score}' holds decimals", "cast it to float64 or int64")

    def columns(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Read columns unit by unit, with the stored position of every row as `se_position`."""
        for unit in self.units:
            table = unit.read(names).select(list(names))
            position = np.arange(unit.first_position, unit.first_position + unit.rows)
            yield table.append_column("se_position", pa.array(position))

    def rows(self, first: int, last: int) -> RowRange:
        """Decode rows `first` up to, and without, `last`."""
        parts = [self.read(unit) for unit in self.units if unit.first_position < last
                 and unit.first_position + unit.rows > first]  # fmt: skip
        if not parts:
            return RowRange(first, np.empty(0, np.uint8), None if self.order is None else np.empty(0, np.uint64))
        whole = join(parts)
        cut = slice(first - whole.before, last - whole.before)
        keys = None if whole.keys is None else whole.keys[cut]
        return RowRange(first, whole.labels[cut], keys, bins=None if whole.bins is None else whole.bins[cut])


def labelled_rows(ranking: Ranking, label: str, place: str = "column", meaning: LabelMeaning = PLAIN) -> LabelledRows:
    """Open the labels of a list, and its scores where these are its order.

    The label is a "column" of the list (an `InputError` where it is not there, or no row has a word that was named),
    or is still to be "joined" from elsewhere.
    """
    if place == "column" and label not in ranking.rows.all_names():
        raise InputError(
            f"the ranking has no column '{label}'",
            ranking.rows.hint_for(label) + ("; name it with --label COL" if label == "label" else ""),
        )
    order = ranking.order
    units = ranking.rows.units(label if place == "column" else None) if order is None else order.units
    if place == "column":
        refuse_words_of_no_row((unit.read([label]).column(0) for unit in units), meaning, f"column '{label}'")
    if order is not None:
        return LabelledRows(together(units), label, order.score, order.order, meaning=meaning)
    return LabelledRows(together(units), label, meaning=meaning)


def join(parts: list[RowRange]) -> RowRange:
    """Consecutive rows as one range."""
    if len(parts) == 1:
        return parts[0]
    keys = [part.keys for part in parts if part.keys is not None]
    labels = np.concatenate([part.labels for part in parts])
    of_sample = joined_bins([part.bins for part in parts]), summed_hashes(parts)
    return RowRange(parts[0].before, labels, np.concatenate(keys) if keys else None, None, *of_sample)


def joined_bins(parts: Sequence[UInt16Array | None]) -> UInt16Array | None:
    """Join bins of consecutive rows; None where these have none."""
    bins = [part for part in parts if part is not None]
    return np.concatenate(bins) if len(bins) > 1 else next(iter(bins), None)


def summed_hashes(parts: Iterable[WithHashes]) -> UInt64Array | None:
    """Merge the sums of hashes of those that have any; None without any."""
    there = [part.hashes for part in parts if part.hashes is not None]
    return np.sum(there, axis=0) if there else None


def pack(labels: UInt8Array) -> UInt64Array:
    """Bytes of 0 and 1 as bits (`streameval.kernels.bits`)."""
    words = np.zeros(labels.size // 64 + 2, np.uint64)
    bits = np.packbits(labels, bitorder="little")
    words.view(np.uint8)[: bits.size] = bits
    return words


def unpack(words: UInt64Array, count: int) -> UInt8Array:
    """Bits as bytes of 0 and 1."""
    return np.unpackbits(words.view(np.uint8), count=count, bitorder="little")


def bitmap(column: pa.ChunkedArray) -> UInt64Array:
    """Booleans without nulls as bits (`streameval.kernels.bits`): Arrow stores them so, from any bit on."""
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    whole = chunks[0] if len(chunks) == 1 else column.combine_chunks()
    n, (first, shift) = len(column), divmod(whole.offset, 8)
    stored = np.frombuffer(whole.buffers()[1], np.uint8)[first : first + (shift + n + 7) // 8]
    words = np.zeros(n // 64 + 2, np.uint64)
    words.view(np.uint8)[: stored.size] = stored
    if shift:
        words[:-1] = words[:-1] >> np.uint64(shift) | words[1:] << np.uint64(64 - shift)
        words[-1] >>= np.uint64(shift)
    words[n // 64] &= np.uint64((1 << n % 64) - 1)
    words[n // 64 + 1] = 0
    return words


def label_numbers(
    column: pa.ChunkedArray, name: str, place: str, wanted: str, meaning: LabelMeaning = PLAIN, hint: str | None = None
) -> AnyArray:
    """Labels as numbers, booleans as bytes; an `InputError` where one is missing, or the column is of another type."""
    column = label_values(column, meaning, place, name)
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        raise InputError(f"{row_of(place, row)}: {number_of(column.null_count, 'label')} missing",
                         hint or "an exact evaluation needs the label of every item")  # fmt: skip
    kind = column.type
    if pa.types.is_boolean(kind):
        return np.asarray(column.cast(pa.uint8()).to_numpy(), dtype=np.uint8)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(f"{place}: column '{name}' is {kind}, {wanted}", "store labels as numbers or booleans")
    values: AnyArray = column.to_numpy()
    return values


def refuse_unreached_level(rows: LabelledRows) -> None:
    """Refuse a `--relevant` that no label of a column of the list meets, as counting found: name the extremes."""
    ends, count = [], 0
    for unit in parts_of(rows.units):
        values = label_numbers(unit.read([rows.label]).column(0), rows.label, unit.place, "not a number", rows.meaning)
        if values.size:
            ends += [values.min(), values.max()]
            count += values.size
    refuse_unreached(str(rows.meaning.relevant), count, min(ends), max(ends))


def _labels(column: pa.ChunkedArray, name: str, unit: Unit, meaning: LabelMeaning) -> UInt8Array:
    """0/1 as bytes."""
    return read_narrowly(
        lambda part: _bytes(column if part is unit else part.read([name]).column(0), name, part.place, meaning), unit
    )


def _bytes(column: pa.ChunkedArray, name: str, place: str, meaning: LabelMeaning) -> UInt8Array:
    values = label_numbers(column, name, place, "not 0/1 or a boolean", meaning)
    if meaning.level is not None:
        return meaning.is_positive(values).view(np.uint8)
    with np.errstate(invalid="ignore"):
        narrow = values.view(np.uint8) if values.dtype.itemsize == 1 else values.astype(np.uint8)
    if values.dtype.itemsize == 1 and (not narrow.size or narrow.max() <= 1):
        return narrow
    odd = narrow > 1 if values.dtype.itemsize == 1 else (values != 0) & (values != 1)
    if np.any(odd):
        row = int(np.argmax(odd))
        raise InputError(f"{row_of(place, row)}: label {plain(values[row])} is not 0 or 1",
                         naming_number(values[row], values, meaning))  # fmt: skip
    return narrow
