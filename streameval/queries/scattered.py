"""Rankings whose rows lie anywhere: parted by ranking into pieces that memory holds, through a scratch file.

A part has all rows of its rankings. One that is too large is parted again; a single ranking that is too long is parted
by score (`long_ranking`). Nothing is ever sorted beyond one ranking.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa

from streameval.counting.labelled_rows import in_order
from streameval.kernels.draw import mix64
from streameval.kernels.segments import gather, parts_of, place_rows
from streameval.queries.batches import NOTHING, Batch, ManyRows
from streameval.queries.long_ranking import measure_long
from streameval.queries.measured import MOST, Measure, Measured, Rankings
from streameval.queries.never_returned import left_out
from streameval.stores.scratch import Spill
from streameval.typing import AnyArray, Int64Array, UInt64Array

_BYTES_PER_ROW = 90  # of a part that is being measured: its rows as read, decoded, gathered
_PART_ROWS = 1 << 18  # what the second-level cache holds
_MOST_PARTS = 1 << 9
_SMALL = np.uint64(0xFFFFFFFF)
_BITS = np.uint64(32)


@dataclass
class Parts:
    """Rows by part.

    Args:
        salt: Of the hash that parts rankings.
    """

    count: int
    salt: np.uint64
    spill: Spill
    sizes: Int64Array = field(init=False)
    _kept: list[tuple[int, np.dtype[np.void], Int64Array]] = field(default_factory=list, repr=False)
    _tables: list[tuple[int, Int64Array]] = field(default_factory=list, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.sizes = np.zeros(self.count, np.int64)

    def add(self, batch: Batch) -> int:
        """Part some rows, from any thread; returns how many."""
        edges, order = np.zeros(self.count + 1, np.int64), np.empty(batch.rows, np.int64)
        parts_of(batch.low, self.salt, self.count, np.empty(batch.rows, np.int64), edges, order)
        records = _packed(batch, order)
        number = self.spill.keep(records.view(np.uint8).data)
        table = None
        if batch.table.num_columns:
            streams = [_stream(batch.table.take(pa.array(order[a:b]))) for a, b in pairwise(edges)]
            ends = np.cumsum([0, *(len(one) for one in streams)])
            table = (self.spill.keep(memoryview(b"".join(streams))), ends)
        with self._lock:
            self.sizes += np.diff(edges)
            self._kept.append((number, records.dtype, edges))
            self._tables.append(table or (0, np.zeros(self.count + 1, np.int64)))
        return batch.rows

    def pieces(self, part: int) -> Iterator[Batch]:
        """Rows of a part, as they were kept."""
        for (number, kind, edges), (at, ends) in zip(self._kept, self._tables, strict=True):
            first, last = int(edges[part]), int(edges[part + 1])
            if first == last:
                continue
            raw = self.spill.read(number, first * kind.itemsize, last * kind.itemsize)
            begin, end = int(ends[part]), int(ends[part + 1])
            table = pa.table({})
            if end > begin:
                table = pa.ipc.open_stream(pa.py_buffer(self.spill.read(at, begin, end))).read_all()
            yield _unpacked(np.frombuffer(raw, kind), table)


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _packed(batch: Batch, order: Int64Array) -> AnyArray:
    """Rows as records of as few bytes as hold them."""
    fields: list[tuple[str, str]] = []
    columns: list[AnyArray] = []

    def put(name: str, values: AnyArray, kind: str) -> None:
        fields.append((name, kind))
        columns.append(values)

    put("low", batch.low, "u4" if not batch.low.size or batch.low.max() <= _SMALL else "u8")
    if batch.high.size:
        put("high", batch.high, "u8")
    if batch.keys.size and not (batch.keys & _SMALL).any():
        put("key4", batch.keys >> _BITS, "u4")
    else:
        put("key", batch.keys, "u8")
    put("label", batch.labels, "u1")
    if batch.items.size:
        put("item", batch.items, "u8")
    records = np.empty(order.size, np.dtype(fields))
    for (name, _), values in zip(fields, columns, strict=True):
        records[name] = values[order]
    return records


def _unpacked(records: AnyArray, table: pa.Table) -> Batch:
    names = records.dtype.names or ()

    def wide(name: str) -> UInt64Array:
        return records[name].astype(np.uint64) if name in names else NOTHING

    keys = wide("key4") << _BITS if "key4" in names else wide("key")
    return Batch(wide("low"), wide("high"), keys, np.ascontiguousarray(records["label"]), wide("item"), table)


@dataclass(frozen=True)
class Room:
    """What parting may use.

    Attributes:
        most_rows: Of a part that is measured at once.
    """

    spill: Spill
    threads: int
    most_rows: int

    @staticmethod
    def of(spill: Spill, threads: int, memory: float) -> Room:
        """For so many bytes."""
        return Room(spill, threads, max(1 << 10, int(memory / (threads + 1) / _BYTES_PER_ROW)))


def scattered(
    rows: ManyRows, beside: Iterable[Batch], measure: Measure, room: Room, done: Callable[[int], None]
) -> Iterator[Measured]:
    """Measure rankings whose rows lie anywhere.

    Args:
        beside: Items that rankings never returned.
        done (callable(rows)): Told of rows that were parted, and once more when they were measured.
    """
    parts = _parts(rows.rows.n_items, np.uint64(1), room)
    for batch in beside:
        parts.add(batch)
    with ThreadPoolExecutor(room.threads) as pool:
        for count in in_order(pool, lambda unit: parts.add(rows.read(unit)), rows.rows.units, room.threads + 1):
            done(count)
    yield from _measured(parts, rows, measure, room, done)


def _parts(n_rows: int, salt: np.uint64, room: Room) -> Parts:
    count = max(1, -(-n_rows // min(_PART_ROWS, max(1, room.most_rows // 2))))
    return Parts(min(_MOST_PARTS, count), salt, room.spill)


def _measured(
    parts: Parts, rows: ManyRows, measure: Measure, room: Room, done: Callable[[int], None]
) -> Iterator[Measured]:
    def one(part: int) -> list[Measured]:
        batch = Batch.joined(list(parts.pieces(part)))
        return list(_of_part(batch, rows, measure))

    small = [part for part in np.flatnonzero(parts.sizes).tolist() if parts.sizes[part] <= room.most_rows]
    with ThreadPoolExecutor(room.threads) as pool:
        for found in in_order(pool, one, small, room.threads + 1):
            for each in found:
                done(int(each.facts[:, 0].sum()))
                yield each
    for part in np.flatnonzero(parts.sizes > room.most_rows).tolist():
        if _is_one(parts, part):
            found_one = measure_long(partial(parts.pieces, part), rows, measure, room.spill, room.most_rows)
            done(int(found_one.facts[:, 0].sum()))
            yield found_one
        else:
            again = _parts(int(parts.sizes[part]), mix64(parts.salt), room)
            for batch in parts.pieces(part):
                again.add(batch)
            yield from _measured(again, rows, measure, room, done)


def _is_one(parts: Parts, part: int) -> bool:
    """Whether all rows of a part are of one ranking."""
    known = None
    for batch in parts.pieces(part):
        own = (int(batch.low[0]), int(batch.high[0]) if batch.high.size else 0)
        same = not np.any(batch.low != batch.low[0]) and not np.any(batch.high != batch.high[:1])
        if not same or known not in (None, own):
            return False
        known = own
    return True


def _of_part(batch: Batch, rows: ManyRows, measure: Measure) -> Iterator[Measured]:
    which, first = np.empty(batch.rows, np.int64), np.empty(batch.rows, np.int64)
    count = gather(batch.low, batch.high, which, first)
    gone = left_out(batch, which)
    if gone.any():  # what is left of its ranking has the item
        found = _of_part(batch.taken(np.flatnonzero(~gone)), rows, measure)
        yield replace(next(found), returned=int(gone.sum()))
        yield from found
        return
    starts, missed = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    order = np.empty(batch.rows, np.int64)
    place_rows(which, batch.labels, starts, missed, order)
    inside, beyond = order[: starts[-1]], order[starts[-1] :]
    gathered = Rankings(
        batch.keys[inside], batch.labels[inside], batch.items[inside] if batch.items.size else NOTHING, starts, missed,
        batch.labels[beyond] & np.uint8(127), rows.named(batch, first[:count]),
    )  # fmt: skip
    if rows.options.ties == "trec_eval":
        gathered = measure.in_order_of_items(
            gathered, batch.table.column(str(rows.options.item)).take(pa.array(inside))
        )
    for begin in range(0, count, MOST):
        yield measure(gathered.cut(begin, min(begin + MOST, count)))
