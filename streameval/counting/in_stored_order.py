"""Lists that are stored in their order: one pass, and the sums of its blocks merged in the order of their ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from streameval.counting import Summed
from streameval.counting.block_groups import BlockGroups, TiedRows
from streameval.counting.block_sums import BlockSums
from streameval.counting.calibration import ScoreLosses, merged_losses
from streameval.counting.influence import by_bin
from streameval.counting.kept import KeptBits
from streameval.counting.labelled_rows import RowRange
from streameval.counting.scans import LabelledScans
from streameval.counting.totals import Totals, fold
from streameval.order.scores import Keys
from streameval.progress import Progress
from streameval.spill.store import ScratchFile
from streameval.typing import Int64Array, UInt64Array

# turns order keys into scores
Scores = Callable[[Keys], pa.Array]


def sum_in_stored_order(
    scans: LabelledScans, cutoffs: Int64Array, scores: Scores | None, file: ScratchFile, progress: Progress
) -> Summed:
    """Sum a list in its stored order; errors as in `LabelledScans.parts`.

    Args:
        cutoffs (int64 array, ascending): Ranks whose yield is wanted.
        scores: Turns order keys into scores, where the order has them.
        file: For the labels of a long list.
    """
    how = "one pass in stored order" if scores is None else "one pass, as it is stored in score order"
    parts, kept = scans.parts(cutoffs, progress), KeptBits(file, scans.threads)
    return replace(sum_in_order(parts, scans.rows.rows, cutoffs, scores, how, kept), stored=True)


def sum_in_order(
    parts: Iterable[tuple[BlockSums, UInt64Array | None]],
    rows: Callable[[int, int], RowRange],
    cutoffs: Int64Array,
    scores: Scores | None,
    how: str,
    kept: KeptBits,
) -> Summed:
    """Sum a list whose rows come in order.

    Args:
        parts: As of `LabelledScans.parts`.
        rows: Reads rows again: those after a rank, up to another.
        cutoffs, scores: As in `sum_in_stored_order`.
        kept: Receives the labels.
    """
    seen, losses = [np.empty(0, np.uint64)], list[ScoreLosses | None]()

    def sums() -> Iterator[BlockSums]:
        for part, keys in parts:
            if keys is not None:
                seen.append(keys)
            kept.keep(part)
            losses.append(part.score_losses)
            part.bits = part.score_losses = None
            yield part

    totals = _to_as_many_as_positives(fold(sums(), cutoffs), rows, kept)

    def read_groups(block: int) -> BlockGroups:
        n, p = totals.rest[block]
        begin, last = int(totals.start[block]), int(totals.start[block + 1])
        if n <= 1:
            return kept.groups(begin, last)
        whole = kept.groups(begin, last - n) if begin < last - n else TiedRows(*np.zeros((2, 1), np.int64))
        starts, founds = whole.between(0, whole.size)
        return TiedRows(np.append(starts, starts[-1] + n), np.append(founds, founds[-1] + p))

    if scores is None:
        return Summed(totals, read_groups, how, False, kept=kept, threads=kept.threads)
    table = pa.table({"rank": cutoffs, "score": scores(as_keys(np.concatenate(seen)))})

    def score_at(rank: int) -> float:
        keys = rows(rank - 1, rank).keys
        return float("nan") if keys is None else as_number(scores(as_keys(keys)))

    whole = merged_losses(losses, totals.n_items)
    return Summed(totals, read_groups, how, False, table, score_at, kept, kept.threads, whole)


def _to_as_many_as_positives(totals: Totals, rows: Callable[[int, int], RowRange], kept: KeptBits) -> Totals:
    """Count the first P items of a sample by bin, when P is known: the rows of one block are read again."""
    influence, rank = totals.influence, totals.positives
    if influence is None or not rank:
        return totals
    first, counts = kept.counts_by_bin(rank)
    last = rows(first, rank)
    if last.bins is None:
        return totals
    return replace(totals, influence=influence.with_top(rank, counts + by_bin(last.bins, last.labels)))


def as_keys(keys: UInt64Array) -> Keys:
    """Order keys of items that all have a score."""
    return Keys(keys, np.empty(0, np.uint64), 0)


def as_number(scores: pa.Array) -> float:
    """Return the first score as a number; NaN for a date."""
    kind = scores.type
    if pa.types.is_temporal(kind):
        return float("nan")
    return float(scores[0].as_py())
