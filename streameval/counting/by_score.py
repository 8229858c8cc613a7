"""Sum a list in the order of its scores, wherever its rows lie: labels are counted per score, or ordered by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

import numpy as np
import pyarrow as pa

from streameval.counting import Summed
from streameval.counting.block_sums import BlockSums, before_each, block_edges, sum_groups
from streameval.counting.counters import Cells, free_bits, sample
from streameval.counting.in_stored_order import Scores, as_keys, as_number, sum_in_order
from streameval.counting.kept_bits import KeptBits
from streameval.counting.label_counts import LabelCounts, TiedGroups, joined
from streameval.counting.labelled_rows import in_order
from streameval.counting.ordered_words import OrderedWords, rows_to_sort
from streameval.counting.parted_words import KeyRanges, Parted, word_type
from streameval.counting.piled_words import PileCounts, PiledWords, Piles, RuledOutError
from streameval.counting.scans import LabelledScans
from streameval.counting.totals import fold
from streameval.kernels.exact import BLOCK
from streameval.progress import Progress
from streameval.stores.scratch import ScratchFile, Spill
from streameval.typing import Int64Array, UInt64Array

_FEW_CELLS = 1 << 20  # counters so near the processor that nothing is quicker
_WORDS = 0.7  # of the memory: words of items, while some of them are sorted
_PILED_WORDS = 1.1  # the same where piles are counted: that takes little of what is set aside for units and sums
_SAMPLE_UNITS = 8
_EVERY_KEY = (0, (1 << 64) - 1)
Sample = Callable[[], UInt64Array]


@dataclass(frozen=True)
class Limits:
    """What ordering may use.

    Attributes:
        memory: Bytes for counters, or for words of items.
        file: For words that the memory does not hold.
        span (pair of int): Smallest and largest key, according to statistics.
    """

    memory: float
    file: ScratchFile
    span: tuple[int, int] | None = None


def sum_by_score(
    scans: LabelledScans, cutoffs: Int64Array, scores: Scores, limits: Limits, progress: Progress
) -> Summed:
    """Sum a list in the order of its scores, which are counted where they are few, and else ordered.

    Args:
        scans: Of rows with scores.
        cutoffs (int64 array, ascending): Ranks whose yield is wanted.
        scores: Turns order keys into scores.
    """
    words, shift, n_items = _WORDS * limits.memory, free_bits(scans.rows), scans.rows.n_items
    fits = n_items * word_type(shift).itemsize <= words
    some = cache(lambda: sample(scans.rows, _SAMPLE_UNITS))
    counted = _counted(scans, cutoffs, scores, (limits, some), progress)
    if counted is not None:
        return counted
    memory, threads = limits.memory - words, scans.threads
    ranges = KeyRanges.of(some(), n_items, rows_to_sort(memory, threads), shift)
    parted = Parted(ranges, Spill(limits.file, words, n_items * ranges.word.itemsize))
    scans.part(parted, words, progress)
    ordered = OrderedWords.of(parted, n_items, memory, threads)
    how = "ordered in memory" if fits else "ordered range by range"
    kept = KeptBits(limits.file, threads)
    return sum_in_order(ordered.parts(cutoffs, BLOCK, threads), ordered.rows, cutoffs, scores, how, kept)


def _counted(
    scans: LabelledScans, cutoffs: Int64Array, scores: Scores, room: tuple[Limits, Sample], progress: Progress
) -> Summed | None:
    """Count every score, in one array where counters are few, else pile by pile; None where they are too many."""
    limits, some = room
    # statistics may be missing, or wrong: then some rows find no counter
    spans = [] if limits.span in (None, _EVERY_KEY) else [limits.span]
    for span in [*spans, _EVERY_KEY] if free_bits(scans.rows) else spans:
        cells = Cells.between(span, scans.rows)
        if cells.count <= _FEW_CELLS:
            counts: LabelCounts | None = scans.dense(cells, progress)
        else:
            counts = _piled(scans, Piles(cells), some, limits, progress)
        if counts is not None:
            summed = _summed(counts, cutoffs, scores, "a counter for every score", scans.threads)
            if summed.totals.n_items == scans.rows.n_items:
                return summed
    return None


def _piled(scans: LabelledScans, piles: Piles, some: Sample, limits: Limits, progress: Progress) -> PileCounts | None:
    n_items, words = scans.rows.n_items, _PILED_WORDS * limits.memory
    if not piles.suit(some, n_items):
        return None
    piled = PiledWords(piles, limits.file, words, n_items)
    try:
        scans.part(piled, words, progress)
    except RuledOutError:
        return None
    return piled.counts()


@dataclass
class _Index:
    """Keys that lead back into a tally: of the first group of each block, and of the group at each cutoff."""

    block: list[int] = field(default_factory=list)
    cutoff: list[UInt64Array] = field(default_factory=list)


def _summed(counts: LabelCounts, cutoffs: Int64Array, scores: Scores, how: str, threads: int) -> Summed:
    index = _Index()
    with ThreadPoolExecutor(threads) as pool:
        pieces = in_order(pool, counts.piece, range(counts.n_pieces), threads)
        totals = fold(_parts(pieces, cutoffs, index), cutoffs)
    keys = np.concatenate([np.empty(0, np.uint64), *index.cutoff])
    # fewer cutoffs than wanted: some rows found no counter
    table = pa.table({"rank": cutoffs[: keys.size], "score": scores(as_keys(keys))})

    def piece(block: int) -> TiedGroups:
        last = index.block[block + 1] if block + 1 < len(index.block) else None
        return counts.between(index.block[block], last)

    def read_groups(block: int) -> tuple[Int64Array, Int64Array]:
        groups = piece(block)
        return before_each(groups.sizes), before_each(groups.positives)

    def score_at(rank: int) -> float:
        block = int(np.searchsorted(totals.start, rank, side="left")) - 1
        groups = piece(block)
        at = int(np.searchsorted(totals.start[block] + np.cumsum(groups.sizes), rank, side="left"))
        return as_number(scores(as_keys(groups.key[at : at + 1])))

    return Summed(totals, read_groups, how, False, table, score_at, threads=threads)


def _parts(pieces: Iterable[TiedGroups], cutoffs: Int64Array, index: _Index) -> Iterator[BlockSums]:
    """Sum pieces block by block, whose groups wait until no other can begin in their block."""
    before, waiting, items = 0, list[TiedGroups](), 0
    for piece in pieces:
        waiting.append(piece)
        items += int(piece.sizes.sum())
        if items >= BLOCK:
            held = joined(waiting)
            full = block_edges(before, np.cumsum(held.sizes) - held.sizes)[-2]
            yield from _sum(held, full, before, cutoffs, index)
            before += int(held.sizes[:full].sum())
            waiting = [held.cut(full, held.sizes.size)]
            items = int(waiting[0].sizes.sum())
    held = joined(waiting)
    yield from _sum(held, held.sizes.size, before, cutoffs, index)


def _sum(piece: TiedGroups, count: int, before: int, cutoffs: Int64Array, index: _Index) -> Iterator[BlockSums]:
    """Sum the first groups of a piece, and note their keys."""
    key, sizes = piece.key[:count], piece.sizes[:count]
    ends = before + np.cumsum(sizes)
    edges = block_edges(before, ends - before - sizes)
    index.block += [int(key[a]) for a, b in pairwise(edges) if a < b]
    low, high = np.searchsorted(cutoffs, [before, int(ends[-1]) if count else before], side="right")
    index.cutoff.append(key[np.searchsorted(ends, cutoffs[low:high], side="left")])
    yield from sum_groups(before, sizes, piece.positives[:count], cutoffs)
