"""The tops of a ranking: its first items, down to each of some cutoffs, by where each top ends in the order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.word_order import count_before
from streameval.order.by_score import ByScore
from streameval.order.count_at_score import as_score
from streameval.order.filter import BLOCK, Buffers
from streameval.order.finer_bins import OrderWords
from streameval.order.locate import missing_scores
from streameval.order.scan import Scan
from streameval.order.scores import Keys
from streameval.paired_draws.pair import DrawnPair, PairedDraw, ScoreCutoffs
from streameval.progress import Progress
from streameval.rankings.ranking import Ranking
from streameval.scans.checkpoints import Scans
from streameval.scans.units import Unit
from streameval.typing import BoolArray, Int64Array, UInt64Array

_LAST = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.empty(0, np.uint64)


@dataclass(frozen=True)
class Tops:
    """The tops of a ranking.

    Attributes:
        scan: Reads its scores; None where the stored order is the ranking.
        ends (uint64 array, shape (words, m)): Words of the last item of each top, or, of a top that ends at a score,
            the last that there may be; ascending. A stored order has one word, the stored position.
    """

    scan: Scan | None
    ends: UInt64Array

    @property
    def columns(self) -> Sequence[str]:
        """Columns that are read to find who is in a top."""
        return [] if self.scan is None else [self.scan.score]

    @property
    def last(self) -> np.uint64:
        """First word of the last item of all tops."""
        return np.uint64(self.ends[0, -1])

    def elsewhere(self) -> Tops:
        """The same on a worker."""
        return self if self.scan is None else replace(self, scan=self.scan.elsewhere(()))

    def blocks(self, unit: Unit, buffers: Buffers) -> Iterator[tuple[int, Keys]]:
        """First words of a unit's rows, block by block, with the first row of each."""
        if self.scan is not None:
            yield from self.scan.order.blocks(self.scan.read(unit, buffers.numbers(unit.rows)), buffers.keys)
            return
        for first in range(0, unit.rows, BLOCK):
            position = unit.first_position + first
            words = np.arange(position, position + min(BLOCK, unit.rows - first), dtype=np.uint64)
            yield first, Keys(words, _NONE, 0)

    def first(self, keys: Keys, hashes: UInt64Array, positions: Int64Array) -> Int64Array:
        """First cutoff whose top holds each of some rows; m where none does.

        Args:
            keys: First words of the rows, and second ones where scores have them.
            hashes (uint64 array): Tie hashes.
            positions (int64 array): Where they are stored.
        """
        if self.scan is None:
            words = keys.key[None]
        else:
            words = OrderWords(keys.key, keys.low, hashes, positions.view(np.uint64)).matrix
        return count_before(np.ascontiguousarray(words), self.ends)


def tops_of(ranking: Ranking, draw: PairedDraw, side: int, scans: Scans, progress: Progress) -> Tops:
    """Find where the tops of A (`side` 0) or B (1) end; raises what `order.locate` does."""
    if isinstance(draw.cutoffs, ScoreCutoffs):
        return _at_scores(ranking, (draw.cutoffs.a, draw.cutoffs.b)[side])
    return _at_ranks(ranking, draw.cutoffs, scans, progress)


def _at_ranks(ranking: Ranking, ranks: Int64Array, scans: Scans, progress: Progress) -> Tops:
    inside = ranks[ranks < ranking.n_items]
    if ranking.order is None:
        return Tops(None, np.minimum(ranks, ranking.n_items).astype(np.uint64)[None] - np.uint64(1))
    words = 4 if ranking.order.order.kind == "decimal" else 3
    ends = np.full((words, ranks.size), _LAST)
    if inside.size:
        checkpoints = ranking.order.checkpoints(inside, scans)
        with checkpoints.saving():
            ends[:, : inside.size] = ranking.order.places(inside, progress, checkpoints).matrix
    return Tops(ranking.order.scan_all(1), ends)


def _at_scores(ranking: Ranking, scores: Sequence[Any]) -> Tops:
    order = ranking.order
    if order is None:
        raise InputError(f"{ranking.rows.name} is in its stored order, which has no scores", "name a column of scores")
    values = pa.array([as_score(one, order.kind, order.options.ascending) for one in scores], order.kind)
    keys = order.order.keys(values)
    words = np.stack([keys.key, *([keys.low] if keys.low.size else [])])
    if not np.all(_before(words[:, :-1], words[:, 1:])):
        raise InputError(f"scores {', '.join(map(str, scores))} do not go from the best to the worst")
    rest = np.full((2, words.shape[1]), _LAST)
    return Tops(order.scan_all(1), np.concatenate([words, rest]))


def _before(words: UInt64Array, after: UInt64Array) -> BoolArray:
    same = words == after
    before: BoolArray = words[-1] < after[-1]
    if words.shape[0] == 2:
        before = (words[0] < after[0]) | (same[0] & before)
    return before


def may_hold(ranking: Ranking, tops: Tops, units: Sequence[Unit]) -> BoolArray:
    """Which units may hold rows of a top, according to statistics."""
    if tops.scan is None:
        first = np.array([unit.first_position for unit in units], np.uint64)
    elif isinstance(ranking.order, ByScore) and ranking.order.bounds is not None:
        first = ranking.order.bounds[0]
    else:
        return np.ones(len(units), np.bool_)
    return first <= tops.last


def refuse_missing(rankings: Sequence[Ranking], count: int) -> None:
    """Refuse scores that are null or NaN, where an order does not put these last; `count` of them were met."""
    for ranking in rankings if count else ():
        if ranking.order is not None and ranking.order.options.nan == "refuse":
            scan = ranking.order.scan_all(1)
            if next(scan.missing_places(1), None) is not None:
                raise missing_scores(scan, count)


def check_sizes(draw: PairedDraw, rankings: Sequence[Ranking], drawn: DrawnPair) -> None:
    """Refuse rows that changed between two scans: then a top does not hold as many as its rank says."""
    if isinstance(draw.cutoffs, ScoreCutoffs):
        return
    for ranking, size in zip(rankings, (drawn.size_a, drawn.size_b), strict=True):
        if not np.array_equal(size, np.minimum(draw.cutoffs, ranking.n_items)):
            raise InputError(f"{ranking.rows.name} changed between two scans of it", "run the command again")
