"""Sum a list in the order of its scores, wherever its rows lie: labels are counted per score, or ordered by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise

import numpy as np
import pyarrow as pa

from streameval.counting import Summed
from streameval.counting.block_sums import BlockSums, block_edges, sum_groups_of_block
from streameval.counting.calibration import ScoreLosses, losses_of_groups, merged_losses
from streameval.counting.counters import Cells, free_bits, sample
from streameval.counting.in_stored_order import Scores, as_keys, as_number, sum_in_order
from streameval.counting.influence import BIN_BYTES
from streameval.counting.kept import KeptBits, KeptGroups
from streameval.counting.label_counts import LabelCounts
from streameval.counting.ordered_words import OrderedWords, rows_to_sort
from streameval.counting.piled_words import WORD, PileCounts, PiledWords, Piles, RuledOutError
from streameval.counting.scans import LabelledScans
from streameval.counting.totals import fold
from streameval.kernels.exact import BLOCK
from streameval.order.scores import ScoreOrder
from streameval.process.threads import ThreadPool
from streameval.progress import Progress
from streameval.spill.parted_words import KeyRanges, Parted, word_type
from streameval.spill.store import ScratchFile, Spill
from streameval.typing import AnyArray, Int64Array, UInt64Array

_FEW_CELLS = 1 << 20  # counters so near the processor that nothing is quicker
_WORDS = 0.7  # of the memory: words of items, while some of them are sorted
_PILED_WORDS = 1.1  # the same where piles are counted: that takes little of what is set aside for units and sums
_SAMPLE_UNITS = 8
_EVERY_KEY = (0, (1 << 64) - 1)
Sample = Callable[[], UInt64Array]
_KeysAndLosses = tuple[UInt64Array, ScoreLosses | None]


@dataclass(frozen=True)
class Limits:
    """Memory and threads that ordering may use.

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
    size = word_type(shift).itemsize + (0 if scans.rows.clusters is None else BIN_BYTES)
    fits = n_items * size <= words
    some = cache(lambda: sample(scans.rows, _SAMPLE_UNITS))
    # a counter of a score does not say of which clusters its items are
    counted = _count_scores(scans, cutoffs, scores, (limits, some), progress) if scans.rows.clusters is None else None
    if counted is not None:
        return counted
    memory, threads = limits.memory - words, scans.threads
    ranges = KeyRanges.from_keys(some(), n_items, rows_to_sort(memory, threads), shift)
    parted = Parted(ranges, Spill(limits.file, words, n_items * size))
    scans.part(parted, words, progress)
    ordered = OrderedWords.from_piles(parted, n_items, memory, threads)
    how = "ordered in memory" if fits else "ordered range by range"
    kept = KeptBits(limits.file, threads)
    wanted = () if scans.rows.clusters is None else scans.rows.clusters.scores
    parts = ordered.parts(cutoffs, BLOCK, threads, wanted, scans.rows.order)
    summed = sum_in_order(parts, ordered.rows, cutoffs, scores, how, kept)
    return summed if parted.hashes is None else summed.with_hashes(parted.hashes)


def _count_scores(
    scans: LabelledScans, cutoffs: Int64Array, scores: Scores, room: tuple[Limits, Sample], progress: Progress
) -> Summed | None:
    """Count every score, in one array where counters are few, else pile by pile; None where they are too many."""
    limits, some = room
    # statistics may be missing, or wrong: then some rows find no counter
    spans = [] if limits.span in (None, _EVERY_KEY) else [limits.span]
    for span in [*spans, _EVERY_KEY] if free_bits(scans.rows) else spans:
        cells = Cells.spanning(span, scans.rows)
        if cells.count <= _FEW_CELLS:
            counts: LabelCounts | None = scans.dense(cells, progress)
        else:
            counts = _count_by_pile(scans, Piles(cells), some, limits, progress)
        if counts is not None:
            summed = _sum_piles(counts, cutoffs, scores, "a counter for every score", limits, scans)
            if summed.totals.n_items == scans.rows.n_items:
                return summed
    return None


def _count_by_pile(
    scans: LabelledScans, piles: Piles, some: Sample, limits: Limits, progress: Progress
) -> PileCounts | None:
    n_items, words = scans.rows.n_items, _PILED_WORDS * limits.memory
    if not piles.suit(some, n_items):
        return None
    piled = PiledWords(piles, Spill(limits.file, words, n_items * WORD.itemsize))
    try:
        scans.part(piled, words, progress)
    except RuledOutError:
        return None
    return piled.counts()


def _sum_piles(
    counts: LabelCounts, cutoffs: Int64Array, scores: Scores, how: str, limits: Limits, scans: LabelledScans
) -> Summed:
    kept, seen, threads = KeptGroups(limits.file), list[_KeysAndLosses](), scans.threads

    def sums(pool: ThreadPool) -> Iterator[BlockSums]:
        pieces = pool.in_order(partial(_piece, counts, cutoffs, scans.rows.order), range(counts.n_pieces), threads + 1)
        for part, numbers in pool.in_order(partial(_sum, cutoffs), _blocks(pieces, seen), threads + 1):
            kept.keep(numbers)
            yield part

    with ThreadPool(threads) as pool:
        totals = fold(sums(pool), cutoffs)
    keys = np.concatenate([np.empty(0, np.uint64), *(piece for piece, _ in seen)])
    losses = merged_losses((piece for _, piece in seen), totals.n_items)
    # fewer cutoffs than wanted: some rows found no counter
    table = pa.table({"rank": cutoffs[: keys.size], "score": scores(as_keys(keys))})

    def score_at(rank: int) -> float:
        return as_number(scores(as_keys(np.array([counts.key_at(rank)], np.uint64))))

    return Summed(totals, kept.groups, how, False, table, score_at, kept, threads, losses)


@dataclass(frozen=True)
class _CountedRun:
    """Consecutive groups.

    Attributes:
        numbers: Their sizes and positives, shape (2, groups).
        begins: Of the groups that begin in each block: the first, the one after the last, and the ranks before.
        keys (uint64 array): At the cutoffs among them.
        losses: See `streameval.counting.calibration`.
    """

    numbers: AnyArray
    begins: list[tuple[int, int, int]]
    keys: UInt64Array
    losses: ScoreLosses | None


def _piece(counts: LabelCounts, cutoffs: Int64Array, order: ScoreOrder | None, index: int) -> _CountedRun:
    groups, before = counts.piece(index), counts.before(index)
    starts = np.append(groups.ends.dtype.type(0), groups.ends[:-1])
    edges = pairwise(block_edges(before, starts))
    begins = [(a, b, before + int(starts[a])) for a, b in edges if a < b]
    low, high = np.searchsorted(cutoffs, [before, before + int(groups.ends[-1])], side="right")
    keys = groups.keys_at(cutoffs[low:high] - before)
    return _CountedRun(groups.numbers, begins, keys, losses_of_groups(order, groups))


def _blocks(pieces: Iterable[_CountedRun], seen: list[_KeysAndLosses]) -> Iterator[tuple[int, list[AnyArray]]]:
    """Groups that begin in one block, in the pieces in which they came, and the ranks before.

    Keys and losses go to `seen`.
    """
    begin, held = 0, list[AnyArray]()
    for piece in pieces:
        seen.append((piece.keys, piece.losses))
        for a, b, rank in piece.begins:
            if held and rank // BLOCK > begin // BLOCK:
                yield begin, held
                held = []
            begin = begin if held else rank
            held.append(piece.numbers[:, a:b])
    if held:
        yield begin, held


def _sum(cutoffs: Int64Array, block: tuple[int, list[AnyArray]]) -> tuple[BlockSums, AnyArray]:
    """Sum the groups of a block; and these."""
    numbers = np.concatenate(block[1], axis=1)
    return sum_groups_of_block(block[0], numbers, cutoffs), numbers
