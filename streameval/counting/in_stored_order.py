"""Lists that are stored in their order: one pass, and the sums of its blocks merged in the order of their ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from streameval.counting import Summed
from streameval.counting.bit_rows import joined, linked, read_bits
from streameval.counting.block_sums import BlockSums
from streameval.counting.labelled_rows import LabelledRows, RowRange
from streameval.counting.scans import LabelledScans
from streameval.counting.totals import Totals, fold
from streameval.kernels import exact
from streameval.methods.checks.sliding import Sliding
from streameval.order.scores import Keys
from streameval.progress import Progress
from streameval.typing import AnyArray, Int64Array, UInt64Array

# turns order keys into scores
Scores = Callable[[Keys], pa.Array]
# sizes, and positives, of groups of tied items
Groups = tuple[Int64Array, AnyArray]


def sum_in_stored_order(scans: LabelledScans, cutoffs: Int64Array, scores: Scores | None, progress: Progress) -> Summed:
    """Sum a list in its stored order; errors as in `LabelledScans.parts`.

    Args:
        cutoffs (int64 array, ascending): Ranks whose yield is wanted.
        scores: Turns order keys into scores, where the order has them.
    """
    how = "one pass in stored order" if scores is None else "one pass, as it is stored in score order"
    found = sum_in_order(scans.parts(cutoffs, progress), scans.rows.rows, cutoffs, scores, how)
    return replace(found, stored=True, read_groups=_reader(partial(_stored_groups, scans.rows), found.totals))


def sum_in_order(
    parts: Iterable[tuple[BlockSums, UInt64Array | None]],
    rows: Callable[[int, int], RowRange],
    cutoffs: Int64Array,
    scores: Scores | None,
    how: str,
) -> Summed:
    """Sum a list whose rows come in order.

    Args:
        parts: As of `LabelledScans.parts`.
        rows: Reads rows again: those after a rank, up to another.
        cutoffs, scores: As in `sum_in_stored_order`.
    """
    seen = [np.empty(0, np.uint64)]

    def sums() -> Iterator[BlockSums]:
        for part, keys in parts:
            if keys is not None:
                seen.append(keys)
            yield part

    totals = fold(sums(), cutoffs)
    read_groups = _reader(lambda first, last: _groups(rows(first, last)), totals)
    if scores is None:
        return Summed(totals, read_groups, how, False)
    table = pa.table({"rank": cutoffs, "score": scores(as_keys(np.concatenate(seen)))})

    def score_at(rank: int) -> float:
        keys = rows(rank - 1, rank).keys
        return float("nan") if keys is None else as_number(scores(as_keys(keys)))

    return Summed(totals, read_groups, how, False, table, score_at)


def slide(rows: LabelledRows, sliding: Sliding, threads: int) -> None:
    """Slide windows over a list in its stored order: one more pass over its labels alone."""
    labels = LabelledRows(rows.units, rows.label, joined_labels=rows.joined_labels)
    with ThreadPoolExecutor(threads) as pool:
        for row_range in labels.stream(pool, threads + 2):
            sliding.add(row_range.labels)


def as_keys(keys: UInt64Array) -> Keys:
    """Order keys of items that all have a score."""
    return Keys(keys, np.empty(0, np.uint64), 0)


def as_number(scores: pa.Array) -> float:
    """Return the first score as a number; NaN for a date."""
    kind = scores.type
    if pa.types.is_temporal(kind):
        return float("nan")
    return float(scores[0].as_py())


def _reader(groups: Callable[[int, int], Groups], totals: Totals) -> Callable[[int], Groups]:
    """Read the rows of a block again; its last group, which may be long, is known."""

    def read_groups(block: int) -> Groups:
        n, p = totals.rest[block]
        begin, last = int(totals.start[block]), int(totals.start[block + 1]) - n
        if last == begin:
            return np.array([n]), np.array([p])
        sizes, positives = groups(begin, last)
        return (np.append(sizes, n), np.append(positives, p)) if n else (sizes, positives)

    return read_groups


def _groups(found: RowRange) -> Groups:
    """Groups of rows that came with their keys."""
    if found.keys is None:
        return np.broadcast_to(np.int64(1), found.labels.shape), found.labels
    starts = np.concatenate([[0], np.flatnonzero(found.keys[1:] != found.keys[:-1]) + 1])
    sizes = np.diff(np.append(starts, found.labels.size))
    return sizes, np.add.reduceat(found.labels.astype(np.int64), starts)


def _stored_groups(rows: LabelledRows, first: int, last: int) -> Groups:
    """Groups of rows that are read as bits; the first of them begins one."""
    units = (unit for unit in rows.units if unit.first_position < last and unit.first_position + unit.rows > first)
    pieces = linked(read_bits(rows, unit, np.empty(0, np.int64)) for unit in units)
    found = joined([one.cut(max(0, first - one.before), min(one.size, last - one.before)) for one in pieces])
    if found.repeats is None:
        labels = np.unpackbits(found.labels.view(np.uint8), count=found.size, bitorder="little")
        return np.broadcast_to(np.int64(1), labels.shape), labels
    starts, founds = (np.empty(found.size + 1, np.int64) for _ in range(2))
    end = exact.group_rows(found.labels, found.repeats, 0, found.size, starts, founds) + 1
    return np.diff(starts[:end]), np.diff(founds[:end])
