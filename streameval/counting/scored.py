"""Lists in score order wherever their rows lie: labels are counted per score, and the counts are the list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streameval.counting import Summed, Unresolved
from streameval.counting.streamed import Scores, as_keys, as_number
from streameval.kernels.exact import BLOCK
from streameval.rankings import Progress
from streameval.rankings.streams import LabelledRows
from streameval.rankings.tallies import BinTally, Piece, Tally, count_bins, count_dense, grain_of, refine, span_of
from streameval.sums import Part, sum_groups
from streameval.totals import Totals, fold
from streameval.types import FloatArray, Int64Array

UInt64Array = npt.NDArray[np.uint64]
BoolArray = npt.NDArray[np.bool_]
_BYTES_PER_CELL = 4
_MOST_SCANS = 8


def counted(
    rows: LabelledRows,
    cutoffs: Int64Array,
    threads: int,
    scores: Scores,
    limits: tuple[float, float],
    progress: Progress,
) -> Summed:
    """Sum a list in the order of its scores.

    Parameters
    ----------
    rows : LabelledRows
        With scores.
    cutoffs : int64 array, ascending
    threads : int
    scores : callable
        Turns order keys into scores.
    limits : pair of float
        Bytes for counters, and the width of brackets that is small enough.
    progress : callable(done, total)
    """
    memory, tolerance = limits
    with ThreadPoolExecutor(threads) as pool:
        span = span_of(rows, pool, threads)
        cells = ((span[1] - span[0]) >> grain_of(rows)) + 1
        if cells * _BYTES_PER_CELL <= memory:
            tally: Tally = count_dense(rows, span, pool, threads, progress)
            return _summed(tally, cutoffs, scores, "a counter for every score", None)
        bins = count_bins(rows, memory, pool, threads, progress)
        scans = 1
        while scans < _MOST_SCANS and _widest(bins) > tolerance:
            bins = refine(bins, _weight(bins, tolerance), rows, pool, threads)
            scans += 1
    average_precision, auc, grouped = _open(bins)
    unresolved = Unresolved(average_precision, auc, grouped) if np.any(bins.open) else None
    return _summed(bins, cutoffs, scores, f"{bins.sizes.size:,} bins of scores in {scans} scans", unresolved)


def _shares(bins: BinTally) -> tuple[FloatArray, FloatArray]:
    """Share of each bin in the width of the brackets of average precision, AUC, and grouped average precision."""
    widths, grouped = bins.widths()
    positives = max(1, int(bins.positives.sum()))
    pairs = max(1, positives * (int(bins.sizes.sum()) - positives))
    tied = np.where(bins.open, grouped[1] - grouped[0], 0.0)
    return np.stack([widths[0] / positives, widths[1] / float(pairs), tied / positives]), grouped


def _widest(bins: BinTally) -> float:
    return float(_shares(bins)[0].sum(axis=1).max())


def _open(bins: BinTally) -> tuple[float, float, tuple[float, float]]:
    """Width of both brackets, and how far the grouped sum may lie from that over bins."""
    shares, grouped = _shares(bins)
    starts, founds = np.cumsum(bins.sizes), np.cumsum(bins.positives)
    as_one = np.where(bins.open, bins.positives * (founds / starts), 0.0)
    less, more = (float(np.nansum(np.where(bins.open, side - as_one, 0.0))) for side in grouped)
    return float(shares[0].sum()), float(shares[1].sum()), (less, more)


def _weight(bins: BinTally, tolerance: float) -> FloatArray:
    """What is worth another look: the least bins that leave no more than half the tolerance to the others."""
    share = np.max(_shares(bins)[0], axis=0)
    order = np.argsort(share)
    small = order[np.cumsum(share[order]) <= tolerance / 2]
    share[small] = 0.0
    return np.asarray(share, dtype=np.float64)


def _summed(tally: Tally, cutoffs: Int64Array, scores: Scores, how: str, unresolved: Unresolved | None) -> Summed:
    first: list[int] = []  # rank before each piece
    keys: list[tuple[UInt64Array, BoolArray]] = []
    totals = fold(_parts(tally, cutoffs, first, keys), cutoffs)
    known = np.concatenate([np.empty(0, np.uint64), *(key for key, _ in keys)])
    single = np.concatenate([np.empty(0, np.bool_), *(sure for _, sure in keys)])
    found = scores(as_keys(known))
    table = pa.table({"rank": cutoffs, "score": pa.array(found.to_pylist(), found.type, mask=~single)})

    def score_at(rank: int) -> float:
        index = int(np.searchsorted(first, rank, side="left")) - 1
        piece = tally.piece(index)
        at = int(np.searchsorted(first[index] + np.cumsum(piece.sizes), rank, side="left"))
        key = piece.key[at : at + 1]
        return as_number(scores(as_keys(key))) if tally.single(int(key[0])) else float("nan")

    return Summed(totals, _look(tally, totals, first), how, table, score_at, unresolved)


def _parts(
    tally: Tally, cutoffs: Int64Array, first: list[int], keys: list[tuple[UInt64Array, BoolArray]]
) -> Iterator[Part]:
    """Sum pieces block by block; notes the rank before each piece, and the key at each cutoff."""
    before = 0
    held = np.empty(0, np.int64), np.empty(0, np.int64)
    for index in range(tally.n_pieces):
        piece = tally.piece(index)
        first.append(before + int(held[0].sum()))
        _note_keys(tally, piece, first[-1], cutoffs, keys)
        sizes, positives = np.concatenate([held[0], piece.sizes]), np.concatenate([held[1], piece.positives])
        starts = before + np.cumsum(sizes) - sizes
        # groups of the last block wait for those that may begin in it too
        full = int(np.searchsorted(starts, starts[-1] // BLOCK * BLOCK)) if sizes.size else 0
        yield from sum_groups(before, sizes[:full], positives[:full], cutoffs)
        before += int(sizes[:full].sum())
        held = sizes[full:], positives[full:]
    yield from sum_groups(before, held[0], held[1], cutoffs)


def _note_keys(
    tally: Tally, piece: Piece, before: int, cutoffs: Int64Array, keys: list[tuple[UInt64Array, BoolArray]]
) -> None:
    ends = before + np.cumsum(piece.sizes)
    low, high = np.searchsorted(cutoffs, [before, int(ends[-1]) if ends.size else before], side="right")
    found = piece.key[np.searchsorted(ends, cutoffs[low:high], side="left")]
    keys.append((found, np.array([tally.single(key) for key in found.tolist()], dtype=np.bool_)))


def _look(tally: Tally, totals: Totals, first: list[int]) -> Callable[[int], tuple[Int64Array, Int64Array]]:
    """Take the groups of a block from the pieces that hold them."""

    def look(block: int) -> tuple[Int64Array, Int64Array]:
        begin, end = int(totals.start[block]), int(totals.start[block + 1])
        low = int(np.searchsorted(first, begin, side="right")) - 1
        high = int(np.searchsorted(first, end, side="left"))
        pieces = [tally.piece(index) for index in range(low, high)]
        sizes, positives = (np.concatenate([getattr(p, name) for p in pieces]) for name in ("sizes", "positives"))
        starts = first[low] + np.cumsum(sizes) - sizes
        mine = (starts >= begin) & (starts < end)
        return sizes[mine], positives[mine]

    return look
