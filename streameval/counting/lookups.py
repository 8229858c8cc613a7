"""Look-ups in a fully labelled list: the blocks say roughly where something happens, and one block is read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from streameval.counting.block_groups import BlockGroups, Ends, UntiedRows
from streameval.counting.kept import LookUp
from streameval.counting.totals import ORDERS, Totals
from streameval.kernels import exact
from streameval.kernels.group_sums import add_groups
from streameval.kernels.groups import of_numbers, steps
from streameval.kernels.interpolated import HALF_BITS, UNIT_BITS, best_of_groups, halves
from streameval.kernels.jit import small
from streameval.process.threads import ThreadPool
from streameval.typing import BoolArray, FloatArray, Int64Array

# the groups that begin in a block
ReadGroups = Callable[[int], BlockGroups]
_KEPT = 1  # blocks, of 16 bytes an item at most
_STRETCH = 1 << 11  # groups that are looked at together, where their ends leave open what is among them
_TOGETHER = 8  # blocks to a task
SIDES = {"late": "ends", "early": "early"}


class Kept(Protocol):
    """Data kept of a list while its blocks were summed."""

    def look(self, block: int, first: int, last: int) -> LookUp:
        """Groups of a block, the rows after rank `first`, up to `last`: all but its last group."""


@dataclass
class Places:
    """Look-ups in a list of groups of tied items that was summed; `read_groups` and `kept` as in `Summed`."""

    totals: Totals
    read_groups: ReadGroups
    kept: Kept | None = None
    _seen: dict[int, BlockGroups] = field(default_factory=dict, repr=False)

    def block(self, block: int) -> BlockGroups:
        """The groups of a block."""
        if block not in self._seen:
            if len(self._seen) >= _KEPT:
                self._seen.pop(next(iter(self._seen)))
            self._seen[block] = self.read_groups(block)
        return self._seen[block]

    def groups(self, block: int, first: int = 0, last: int | None = None) -> Ends:
        """(start, found) before each group of a block and at its end, or of some, counted from the list's start."""
        groups = self.block(block)
        return self._count(block, groups.between(first, groups.size if last is None else last))

    def _count(self, block: int, ends: Ends) -> Ends:
        return self.totals.start[block] + ends[0], self.totals.start_yield[block] + ends[1]

    def ends(self, block: int, order: str, first: int = 0, last: int | None = None) -> Ends:
        """(Y, r) where the positives of each group of a block have come; or of some of its groups."""
        start, positives = self.groups(block, first, last)
        if order == "late":
            return positives[1:], start[1:]
        ranks = np.diff(positives)
        ranks += start[:-1]
        return positives[1:], ranks

    def group_at(self, rank: int) -> tuple[int, int, int, int]:
        """Ranks and positives before the group that holds a rank, its size, its positives."""
        block, g = self._of_rank(rank)
        start, positives = (edges.tolist() for edges in self.groups(block, g, g + 1))
        return start[0], positives[0], start[1] - start[0], positives[1] - positives[0]

    def yield_at(self, rank: int, order: str) -> int:
        """Y(rank) with tied items "late" or "early"."""
        if rank <= 0:
            return 0
        s, f, n, p = self.group_at(rank)
        return f + (min(p, rank - s) if order == "early" else max(0, rank - s - (n - p)))

    def rank_of(self, j: int, order: str) -> int:
        """Rank of the j-th positive, 1-based."""
        block, g = self._of_positive(j)
        start, positives = (edges.tolist() for edges in self.groups(block, g, g + 1))
        return int(start[0] + j - positives[0] if order == "early" else start[1] + j - positives[1])

    def best_from(self, j: int, order: str) -> float:
        """Return the highest precision at any rank from the j-th positive on."""
        block, g = self._of_positive(j)
        return max(self._best_in(block, g, order), float(self.best_after[order][block + 1]))

    def best_from_rank(self, rank: int, order: str) -> float:
        """Return the highest precision at a rank or any after it."""
        block, g = self._of_rank(rank)
        if self.ends(block, order, g, g + 1)[1][0] < rank:
            g += 1
        after = float(self.best_after[order][block + 1])
        return max(self.yield_at(rank, order) / rank, self._best_in(block, g, order), after)

    def last_kept(self, precision: Fraction, order: str) -> int:
        """Positives up to the last rank whose precision is at least some value; 0 where none is."""
        points, block = self.totals.corner[SIDES[order]]
        start, positives = self.totals.start[:-1], self.totals.start_yield[:-1]
        # inside a block, the rest of what its first rank had to spare may last for some ranks
        possible = _at_least(positives, start, precision)
        possible[block[_at_least(points[:, 1], points[:, 0], precision)]] = True
        for candidate in np.flatnonzero(possible)[::-1].tolist():
            first, y, r = self._stretches(candidate, 0)
            for i in np.flatnonzero(_at_least(y, r, precision))[::-1].tolist():
                y_of_each, r_of_each = self.ends(candidate, order, first[i], first[i + 1])
                held = np.flatnonzero(_at_least(y_of_each, r_of_each, precision))
                if held.size:
                    return int(y_of_each[held[-1]])
        return 0

    def _stretches(self, block: int, group: int) -> tuple[list[int], Int64Array, Int64Array]:
        """Cut the groups of a block from one on into stretches: their edges, and (Y, r) with all positives first.

        No precision at the end of a group, in any order of tied items, is above that Y/r of its stretch.
        """
        groups = self.block(block)
        edges = [*range(group, groups.size, _STRETCH), groups.size]
        start, positives = self._count(block, groups.before(np.array(edges)))
        return edges, positives[1:], start[:-1] + np.diff(positives)

    def _best_in(self, block: int, group: int, order: str) -> float:
        """Highest precision at the ends of a block's groups, from one on."""
        edges, y, r = self._stretches(block, group)
        most, best = _precision(y, r), 0.0
        for i in np.argsort(-most).tolist():
            if most[i] <= best:
                break
            best = max(best, float(_precision(*self.ends(block, order, edges[i], edges[i + 1])).max()))
        return best

    def precision_sum(self, rank: int, order: str) -> float:
        """Σ j/r_j over the positives among the first `rank` items: "expected" and "grouped" at ends of ties alone."""
        block, g = self._of_rank(rank)
        groups, sums = self.block(block), np.zeros(exact.REALS)
        before, earlier = int(self.totals.start[block]), int(self.totals.start_yield[block])
        if isinstance(groups, UntiedRows):
            sums[:2] = exact.rank_sums(groups.positives(rank - before), before)
        else:
            here = rank - before, self.yield_at(rank, order) - earlier
            starts, founds = map(np.append, groups.between(0, g), here)
            if starts[-1] == starts.size - 1:  # nothing ties so far
                sums[:2] = exact.rank_sums(np.flatnonzero(np.diff(founds)) + 1, before)
            else:
                source, whole = of_numbers(np.diff(np.stack([starts, founds]))), np.zeros(exact.WHOLES, np.int64)
                nothing, rows = np.empty((0, 4), np.int64), (0, starts.size - 1)
                with small(steps(source, rows)):
                    add_groups(source, rows, before, nothing[:, 0], whole, sums, exact.corners(), nothing)
        at = ORDERS[order]
        weighted, inverse = sums[exact.COMMON] + sums[at], sums[exact.COMMON + 1] + sums[at + 1]
        return float(self.totals.block_sum[order][block] + weighted + earlier * inverse)

    def _of_rank(self, rank: int) -> tuple[int, int]:
        """The block, and the group in it, that hold a rank."""
        block = int(np.searchsorted(self.totals.start, rank, side="left")) - 1
        return block, self.block(block).of_item(rank - int(self.totals.start[block]))

    def _of_positive(self, j: int) -> tuple[int, int]:
        """Give the same of the j-th positive."""
        block = int(np.searchsorted(self.totals.start_yield, j, side="left")) - 1
        return block, self.block(block).of_positive(j - int(self.totals.start_yield[block]))

    @cached_property
    def best_after(self) -> dict[str, FloatArray]:
        """Highest precision in each block and all later ones, by order of tied items."""
        best = {}
        for order, side in SIDES.items():
            points, block = self.totals.corner[side]
            highest = np.zeros(self.totals.start.size)
            np.maximum.at(highest, block, points[:, 1] / points[:, 0])
            best[order] = np.maximum.accumulate(highest[::-1])[::-1]
        return best


def _precision(y: Int64Array, r: Int64Array) -> FloatArray:
    return np.divide(y, r, out=np.zeros(y.size), where=r > 0)


def _at_least(y: Int64Array, r: Int64Array, precision: Fraction) -> BoolArray:
    """Tell whether y/r ≥ precision, in whole numbers; where nothing has come yet (r = 0), not."""
    above, below = precision.numerator, precision.denominator
    if r.size and int(r.max()) * max(above, below) >= 2**63:
        y, r = y.astype(object), r.astype(object)
    return np.asarray((y * below >= r * above) & (r > 0), dtype=np.bool_)


def best_sums(places: Places, threads: int) -> dict[str, Fraction]:
    """Σ over the positives of the highest precision at or after each, in units of 2^-62, by order of tied items.

    What a positive counts depends on all later ones. A stream in order cannot foretell it, nor keep little enough to
    catch up: where precision falls, each positive has a value of its own, and any of them may be the one that a later
    rank cuts off at. But the highest precision after each block is known once all are summed, and then blocks are
    independent. Most of a list whose precision does not fall is below what comes later, and is not looked at.
    """
    orders = ("late", "early") if places.totals.mixed else ("late",)
    with ThreadPool(threads) as pool:
        blocks = range(places.totals.start.size - 1)
        by_block = list(pool.in_order(partial(_in_block, places, orders), blocks, 2 * threads, _TOGETHER))
    sums = {}
    for at, order in enumerate(orders):
        high, low = (sum(int(sums[at][half]) for sums in by_block) for half in range(2))
        sums[order] = Fraction((high << HALF_BITS) + low, 1 << UNIT_BITS)
    return {"late": sums["late"], "early": sums[orders[-1]]}


def _in_block(places: Places, orders: tuple[str, ...], block: int) -> list[tuple[int, int]]:
    """Halves of the sum of one block, for each order."""
    totals = places.totals
    first, last = totals.start[block : block + 2].tolist()
    positives_before, reached = totals.start_yield[block : block + 2].tolist()
    n, p = (0, 0) if places.kept is None else totals.rest[block]  # its last group, which may go on beyond its rows
    sums, look = [], None
    for order in orders:
        best = float(places.best_after[order][block + 1])
        if places.best_after[order][block] <= best:  # all of it is below what comes later
            sums.append(halves(reached - positives_before, best))
            continue
        if p:
            best = max(best, reached / (last if order == "late" else last - n + p))
        high, low = halves(int(p), best)
        if first < last - n:
            look = look or _look(places, block, (first, last - n))
            of_block = look((first, positives_before), int(order == "late"), best)
            high, low = high + of_block[0], low + of_block[1]
        sums.append((high, low))
    return sums


def _look(places: Places, block: int, ranks: tuple[int, int]) -> LookUp:
    if places.kept is not None:
        return places.kept.look(block, *ranks)
    starts, founds = (groups := places.read_groups(block)).between(0, groups.size)
    numbers = of_numbers(np.diff(np.stack([starts, founds])))
    return partial(best_of_groups, numbers, (0, groups.size), (int(starts[-1]), int(founds[-1])))
