"""Rankings whose rows lie anywhere: parted by ranking into pieces that memory holds, through a scratch file.

A part has all rows of its rankings. One that is too large is parted again; a single ranking that is too long is parted
by score, and measured range by range, the best first. Rows are never sorted beyond one ranking; rankings are, within a
part, and so come in the order of a hash of their names, whatever the threads, the memory, and where they are measured
(`_told_in_order`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.draw import mix_each
from streameval.kernels.jit import small
from streameval.kernels.parting import (
    DIGIT,
    NEVER,
    backwards,
    digits_of,
    gather,
    parts_of,
    place_rows,
)
from streameval.kernels.ranking_metrics import GRADES
from streameval.kernels.segments import sort_segment
from streameval.per_query.batches import ARRAYS, NOTHING, ManyRows, RowBatch
from streameval.per_query.measured import MOST, Judgements, Measure, Measured, PassedOver, RankedRange, Rankings
from streameval.per_query.positives import Named
from streameval.process.threads import ThreadPool
from streameval.progress import Progress, RowsDone
from streameval.scans.jobs import Job, OnWorkers
from streameval.scans.threads import each_unit, own_room
from streameval.scans.units import Unit
from streameval.spill.parted_words import KeyRanges
from streameval.spill.store import PartedSpill, PartRows, ScratchFile, Spill, order_of, placed_by, put
from streameval.stores.temporary import temporary_folder
from streameval.typing import BoolArray, Int32Array, Int64Array, UInt8Array, UInt64Array

_BYTES_PER_ROW = 90  # of a part that is being measured: its rows as read, decoded, gathered
_PART_ROWS = 1 << 19  # about what the second-level cache holds
_MOST_BITS = 9
_SPILL = 0.65  # of the memory: rows that wait to be measured
_WORKER_ROWS, _MOST_WORKER_BITS = 1 << 21, 12
_SALT = np.uint64(1)
_SMALL = np.uint64(0xFFFFFFFF)
_SAMPLE = 1 << 16  # keys of a long ranking, about
RowPieces = Callable[[], Iterable[tuple[UInt64Array, UInt8Array]]]


@cache
def _salts() -> UInt64Array:
    """Give the salts of the digits that tell parts: of three, since 2^36 parts are the most."""
    second = mix_each(np.array([_SALT]))
    return np.concatenate([np.array([_SALT]), second, mix_each(second)])


@dataclass
class Parts:
    """Rows by part; there are 2^bits.

    Args:
        salt: Of the digit that parts rankings; see `kernels.parting`.
        taken: Bits of this digit that all rows have in common, as they were parted by them.
    """

    bits: int
    salt: np.uint64
    spill: Spill
    taken: int = 0
    _kept: PartedSpill = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._kept = PartedSpill(self.spill, 1 << self.bits)

    @property
    def sizes(self) -> Int64Array:
        """Rows of each part."""
        return self._kept.sizes

    def add(self, batch: RowBatch) -> int:
        """Part some rows, from any thread; returns how many."""
        columns = {name: values for name in ARRAYS if (values := getattr(batch, name)).size}
        if batch.rows and batch.low.max() <= _SMALL:
            columns["low"] = batch.low.astype(np.uint32)
        self._kept.add_rows(_parts_of_rows(batch, self.bits, self.salt, self.taken), columns, batch.table)
        return batch.rows

    @property
    def known_bits(self) -> int:
        """Lowest bits of what tells rankings apart that the others tell, in every part."""
        return min(DIGIT, self.taken + self.bits) if self.salt == _SALT else DIGIT

    def in_order(self) -> list[int]:
        """Parts that have rows, in the order in which their rankings are told."""
        return [part for part in backwards(self.bits).tolist() if self.sizes[part]]

    def part_further(self, part: int, room: Room) -> Parts:
        """Part the rows of a part, by the next bits of the digit, or by the next digit."""
        bits_used, salt = self.taken + self.bits, self.salt
        if bits_used == DIGIT:
            bits_used, salt = 0, mix_each(np.array([salt]))[0]
        parts = Parts(min(room.bits(int(self.sizes[part])), DIGIT - bits_used), salt, room.spill, bits_used)
        for batch in self.pieces(part):
            parts.add(batch)
        return parts

    def pieces(self, part: int) -> Iterator[RowBatch]:
        """Rows of a part, as they were kept."""
        return (_batch(rows) for rows in self._kept.pieces(part))

    def read_part(self, part: int) -> RowBatch:
        """All rows of a part, of which there are some."""
        return _batch(self._kept.whole(part))


def _parts_of_rows(batch: RowBatch, bits: int, salt: np.uint64 = _SALT, bits_used: int = 0) -> Int32Array:
    """Find the part of each row, until this thread asks again."""
    part = own_room(batch.rows, "parts").view(np.int32)[: batch.rows]
    with small(batch.rows):
        parts_of(batch.low.astype(np.uint64, copy=False), salt, bits_used, bits, part)
    return part


def _batch(rows: PartRows) -> RowBatch:
    return RowBatch(**{name: rows.column(name) for name in ARRAYS}, table=rows.table())


@dataclass(frozen=True)
class Room:
    """Memory and disk that parting may use.

    Attributes:
        most_rows: Of a part that is measured at once.
    """

    spill: Spill
    threads: int
    most_rows: int

    @staticmethod
    def for_memory(spill: Spill, threads: int, memory: float) -> Room:
        """For so many bytes."""
        return Room(spill, threads, max(1 << 10, int(memory / (threads + 1) / _BYTES_PER_ROW)))

    def bits(self, n_rows: int) -> int:
        """Bits that tell apart as many parts as rows are to make."""
        count = max(1, -(-n_rows // min(_PART_ROWS, max(1, self.most_rows // 2))))
        return min(_MOST_BITS, (count - 1).bit_length())


@dataclass
class PartedRankings(Job[Measured]):
    """Metrics of rankings whose rows lie anywhere; a worker holds the rows of one part.

    Args:
        beside: Items that rankings never returned.
        memory: Bytes for rows, in this process.

    Attributes:
        how: How they were read, for people; once they are.
    """

    rows: ManyRows
    beside: Sequence[RowBatch] = field()
    measure: Measure
    threads: int
    memory: float
    how: str = "parted by ranking on workers"
    name: str = "measure"

    @property
    def units(self) -> Sequence[Unit]:
        """See `Job.units`."""
        return self.rows.rows.units

    def run_local(self, progress: Progress) -> Iterator[Measured]:
        """See `Job.run_local`; progress is told of rows that were parted, and once more when they were measured."""
        rows, rows_done = self.rows, RowsDone(2 * self.rows.n_items, progress)
        with temporary_folder("streameval-work") as folder, ScratchFile(folder / "rows") as file:
            room = Room.for_memory(Spill(file, _SPILL * self.memory), self.threads, (1 - _SPILL) * self.memory)
            parts = Parts(room.bits(rows.n_items), _SALT, room.spill)
            for batch in self.beside:
                parts.add(batch)
            for unit, _ in each_unit(lambda unit: parts.add(rows.read(unit)), self.units, room.threads):
                rows_done.rows(unit.rows)
            yield from _measure_part(parts, rows, self.measure, room, rows_done.rows)
            self.how = "parted by ranking" + (" through a scratch file" if file.size else "")

    def for_workers(self) -> OnWorkers[Measured]:
        """See `Job.for_workers`: pieces of one part, from wherever they come, are measured together."""
        rows = self.rows.without_units()
        bare = replace(self, rows=rows, beside=(), measure=self.measure.elsewhere(rows))
        return OnWorkers(bare.run_share, extra_units=self.beside, reduce=bare.reduce)

    @property
    def _bits(self) -> int:
        return min(_MOST_WORKER_BITS, (self.rows.n_items // _WORKER_ROWS).bit_length())

    def run_share(self, first: int, last: int, units: Sequence[Any]) -> Iterator[tuple[int, int, RowBatch]]:
        """See `OnWorkers`: a piece is what a unit, or what lies beside, has of a part."""
        for unit in units:
            batch = unit if isinstance(unit, RowBatch) else self.rows.read(unit)
            place, edges = placed_by(_parts_of_rows(batch, self._bits), 1 << self._bits)
            order = order_of(place)
            numbers = backwards(self._bits).tolist()
            for part, (begin, end) in zip(numbers, pairwise(edges.tolist()), strict=True):
                if begin < end:
                    yield part, part + 1, batch.rows_at(order[begin:end])

    def reduce(self, pieces: Iterator[RowBatch]) -> Measured:
        """Measure all rows of a part."""
        parts = measured_part(RowBatch.concatenate(list(pieces)), self._bits, self.rows, self.measure)
        return Measured.total(parts)


def _measure_part(
    parts: Parts, rows: ManyRows, measure: Measure, room: Room, done: Callable[[int], None]
) -> Iterator[Measured]:
    def small_part(part: int) -> list[Measured]:
        return list(measured_part(parts.read_part(part), parts.known_bits, rows, measure))

    def large_part(part: int) -> Iterator[Measured]:
        if not _is_one(parts, part):
            return _measure_part(parts.part_further(part, room), rows, measure, room, done)
        long = _measure_long(partial(parts.pieces, part), rows, measure, room.spill, room.most_rows)
        done(int(long.facts[:, 0].sum()))
        return iter([long])

    with ThreadPool(room.threads) as pool:
        for is_large, some in groupby(parts.in_order(), lambda part: bool(parts.sizes[part] > room.most_rows)):
            if is_large:
                for part in some:
                    yield from large_part(part)
                continue
            for measured in pool.in_order(small_part, list(some), room.threads + 1):
                for each in measured:
                    done(int(each.facts[:, 0].sum()) + each.left.items)
                    yield each


def _is_one(parts: Parts, part: int) -> bool:
    """Tell whether all rows of a part are of one ranking."""
    previous = None
    for batch in parts.pieces(part):
        identity = (int(batch.low[0]), int(batch.high[0]) if batch.high.size else 0)
        same = not np.any(batch.low != batch.low[0]) and not np.any(batch.high != batch.high[:1])
        if not same or previous not in (None, identity):
            return False
        previous = identity
    return True


def _told_in_order(batch: RowBatch, which: Int32Array, first: Int32Array) -> Int32Array:
    """Number rankings in the order of their digits, and where these are equal, of what tells them apart.

    Args:
        which: Number of each row's ranking; receives the new one.
        first: First row of each ranking.

    Returns:
        int32 array: First row of each, in that order.
    """
    low = batch.low[first].astype(np.uint64, copy=False)
    digits = digits_of(low, _salts())
    order = np.argsort(digits)
    if np.any(digits[order[1:]] == digits[order[:-1]]):
        order = np.lexsort((*([batch.high[first]] if batch.high.size else []), low, digits))
    number = np.empty(order.size, np.int32)
    number[order] = np.arange(order.size, dtype=np.int32)
    which[:] = number[which]
    return first[order]


def measured_part(batch: RowBatch, bits: int, rows: ManyRows, measure: Measure) -> Iterator[Measured]:
    """Measure the rankings of a part that memory holds; the others tell the lowest `bits` of what tells them apart."""
    which, first = np.empty(batch.rows, np.int32), np.empty(batch.rows, np.int32)
    with small(2 * batch.rows):
        count = gather(batch.low, batch.high, bits, which, first)
    first = _told_in_order(batch, which, first[:count])
    of_part = Named.from_batch(batch, which)
    kept, judged = ~of_part.again, None
    # judgements of what was returned are no rows too many: they say that it was judged
    left = PassedOver(int(np.sum((of_part.twice if rows.judged else of_part.again) & (batch.labels != NEVER))))
    if rows.judged:
        if rows.options.unjudged == "skip":
            kept, which, first, unjudged = _judged_alone(batch, of_part, which, first)
            left = left.plus(unjudged)
        count = first.size
        unreturned = kept & (batch.labels == NEVER)  # judged, and no positive
        kept &= ~unreturned
        judged = Judgements(of_part.judged[kept], np.bincount(which[unreturned], minlength=count))
    names = rows.names_of(batch.low[first], batch.table, first)
    if not kept.all():
        batch, which = batch.rows_at(np.flatnonzero(kept)), which[kept]
    starts, missed, place = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64), which
    with small(2 * batch.rows):
        place_rows(place, batch.labels, starts, missed)
    keys, labels, items = (put(column, place[: column.size]) for column in (batch.keys, batch.labels, batch.items))
    inside = int(starts[-1])
    gathered = Rankings(
        keys[:inside], labels[:inside], items[:inside], starts, missed, labels[inside:] & np.uint8(127),
        names, judged and judged.in_places(place, inside),
    )  # fmt: skip
    if rows.options.ties == "trec_eval":
        items_named = batch.table.column(str(rows.options.key)).take(pa.array(order_of(place)[:inside]))
        gathered = measure.in_order_of_items(gathered, items_named)
    for begin in range(0, max(1, count), MOST):
        yield replace(measure(gathered.cut(begin, min(begin + MOST, count))), left=left)
        left = PassedOver()


def _judged_alone(
    batch: RowBatch, named: Named, which: Int32Array, first: Int32Array
) -> tuple[BoolArray, Int32Array, Int32Array, PassedOver]:
    """Leave out rankings of which no item was judged: rows that stay, and numbers and first rows of their rankings."""
    judged = np.zeros(first.size, np.bool_)
    judged[which[named.judged]] = True
    kept = judged[which] & ~named.again
    number = (np.cumsum(judged) - 1).astype(np.int32)
    return kept, number[which], first[judged], PassedOver(0, int(np.sum(~judged)), int(np.sum(~judged[which])))


def _measure_long(
    pieces: Callable[[], Iterator[RowBatch]], rows: ManyRows, measure: Measure, spill: Spill, most_rows: int
) -> Measured:
    """Measure a ranking of more than `most_rows` rows; `pieces` gives them, as often as it is asked."""
    if rows.options.key is not None:
        raise InputError(
            "a ranking is too long for --memory to compare its items with each other", "give more, or leave --key out"
        )
    returned, never = np.zeros(GRADES, np.int64), np.zeros(GRADES, np.int64)
    names = None
    for batch in pieces():
        names = names or rows.names_of(batch.low[:1], batch.table, np.array([0]))
        inside = batch.labels < NEVER
        returned += np.bincount(batch.labels[inside], minlength=GRADES)
        never += np.bincount(batch.labels[~inside] & ~NEVER, minlength=GRADES)
    return measure.long(lambda: _ranges(_returned_items(pieces), spill, most_rows), (returned, never), names or [])


def _returned_items(pieces: Callable[[], Iterator[RowBatch]]) -> Callable[[], Iterator[tuple[UInt64Array, UInt8Array]]]:
    def items() -> Iterator[tuple[UInt64Array, UInt8Array]]:
        for batch in pieces():
            returned = batch.labels < NEVER
            yield batch.keys[returned].astype(np.uint64), batch.labels[returned]

    return items


def _ranges(items: RowPieces, spill: Spill, most_rows: int) -> Iterator[RankedRange]:
    """Give items in the order of their keys: ranges that hold their ties whole."""
    low, high, size = (1 << 64) - 1, 0, 0
    for keys, _ in items():
        if keys.size:
            low, high, size = min(low, int(keys.min())), max(high, int(keys.max())), size + keys.size
    if size == 0:
        return
    if size <= most_rows:
        yield _in_order(items())
    elif low == high:
        histogram = np.zeros(GRADES, np.int64)
        for _, labels in items():
            histogram += np.bincount(labels, minlength=GRADES)
        yield NOTHING, np.empty(0, np.uint8), histogram
    else:
        step = max(1, size // _SAMPLE)
        sample = np.concatenate([np.array([low, high], np.uint64), *(keys[::step] for keys, _ in items())])
        for part in _part_rows(items, KeyRanges.from_keys(sample, size, most_rows), spill):
            yield from _ranges(part, spill, most_rows)


def _part_rows(items: RowPieces, by: KeyRanges, spill: Spill) -> list[RowPieces]:
    count = int(by.part[-1]) + 1
    parts = PartedSpill(spill, count)
    for keys, labels in items():
        part = by.part[by.stage.place(keys, NOTHING, 0, np.empty(keys.size, np.uint32))]
        parts.add_rows(part.view(np.int32), {"keys": keys, "labels": labels})

    def of(number: int) -> Iterator[tuple[UInt64Array, UInt8Array]]:
        return ((rows.column("keys"), rows.column("labels")) for rows in parts.pieces(number))

    return [partial(of, number) for number in range(count)]


def _in_order(items: Iterable[tuple[UInt64Array, UInt8Array]]) -> RankedRange:
    parts = list(items)
    keys, labels = (np.concatenate([part[i] for part in parts]) for i in range(2))
    sort_segment(keys, labels, np.empty_like(keys), np.empty_like(labels))
    return keys, labels, None
