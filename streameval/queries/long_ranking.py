"""One ranking that memory does not hold: parted by score, and measured range by range, the best first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from streameval.errors import InputError
from streameval.kernels.parting import NEVER
from streameval.kernels.ranking_metrics import GRADES
from streameval.kernels.segments import sort_segment
from streameval.queries.batches import ManyRows, RowBatch
from streameval.queries.measured import Measure, Measured, RankedRange
from streameval.spill.parted_words import KeyRanges
from streameval.spill.store import PartedSpill, Spill
from streameval.typing import UInt8Array, UInt64Array

_NOTHING = np.empty(0, np.uint64)
_SAMPLE = 1 << 16


def measure_long(
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
        names = names or rows.named(batch.low[:1], batch.table, np.array([0]))
        inside = batch.labels < NEVER
        returned += np.bincount(batch.labels[inside], minlength=GRADES)
        never += np.bincount(batch.labels[~inside] & ~NEVER, minlength=GRADES)
    return measure.long(lambda: _Length(spill, most_rows).ranges(_items(pieces)), (returned, never), names or [])


def _items(pieces: Callable[[], Iterator[RowBatch]]) -> Callable[[], Iterator[tuple[UInt64Array, UInt8Array]]]:
    def items() -> Iterator[tuple[UInt64Array, UInt8Array]]:
        for batch in pieces():
            returned = batch.labels < NEVER
            yield batch.keys[returned].astype(np.uint64), batch.labels[returned]

    return items


RowPieces = Callable[[], Iterable[tuple[UInt64Array, UInt8Array]]]


@dataclass(frozen=True)
class _Length:
    """Parts a long ranking by score."""

    spill: Spill
    most_rows: int

    def ranges(self, items: RowPieces) -> Iterator[RankedRange]:
        """Items in the order of their keys: ranges that hold their ties whole."""
        low, high, size = (1 << 64) - 1, 0, 0
        for keys, _ in items():
            if keys.size:
                low, high, size = min(low, int(keys.min())), max(high, int(keys.max())), size + keys.size
        if size == 0:
            return
        if size <= self.most_rows:
            yield _sorted(items())
        elif low == high:
            histogram = np.zeros(GRADES, np.int64)
            for _, labels in items():
                histogram += np.bincount(labels, minlength=GRADES)
            yield _NOTHING, np.empty(0, np.uint8), histogram
        else:
            step = max(1, size // _SAMPLE)
            sample = np.concatenate([np.array([low, high], np.uint64), *(keys[::step] for keys, _ in items())])
            for part in self._parted(items, KeyRanges.of(sample, size, self.most_rows)):
                yield from self.ranges(part)

    def _parted(self, items: RowPieces, by: KeyRanges) -> list[RowPieces]:
        count = int(by.part[-1]) + 1
        parts = PartedSpill(self.spill, count)
        for keys, labels in items():
            part = by.part[by.stage.place(keys, _NOTHING, 0, np.empty(keys.size, np.uint32))]
            parts.add_rows(part.view(np.int32), {"keys": keys, "labels": labels})

        def of(number: int) -> Iterator[tuple[UInt64Array, UInt8Array]]:
            return ((rows.column("keys"), rows.column("labels")) for rows in parts.pieces(number))

        return [partial(of, number) for number in range(count)]


def _sorted(items: Iterable[tuple[UInt64Array, UInt8Array]]) -> RankedRange:
    parts = list(items)
    keys, labels = (np.concatenate([part[i] for part in parts]) for i in range(2))
    sort_segment(keys, labels, np.empty_like(keys), np.empty_like(labels))
    return keys, labels, None
