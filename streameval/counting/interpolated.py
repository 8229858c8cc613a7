"""Interpolated precision, summed over the positives of a list of any length: exactly, by one more look at its blocks.

What a positive counts depends on all later ones. A stream in order cannot foretell it, nor keep little enough to catch
up: where precision falls, each positive has a value of its own, and any of them may be the one that a later rank cuts
off at. But the highest precision after each block is known once all are summed, and then blocks are independent. Most
of a list whose precision does not fall is below what comes later, and is not looked at.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial

import numpy as np

from streameval.counting.kept_bits import LookUp
from streameval.counting.labelled_rows import in_batches
from streameval.counting.lookups import Places
from streameval.kernels.groups import of_numbers
from streameval.kernels.interpolated import HALF_BITS, UNIT_BITS, best_of_groups, halves

_TOGETHER = 8  # blocks to a task


def best_sums(places: Places, threads: int) -> dict[str, Fraction]:
    """Σ over the positives of the highest precision at or after each, in units of 2^-62, by order of tied items."""
    orders = ("late", "early") if places.totals.mixed else ("late",)
    with ThreadPoolExecutor(threads) as pool:
        blocks = range(places.totals.start.size - 1)
        by_block = list(in_batches(pool, partial(_in_block, places, orders), blocks, 2 * threads, _TOGETHER))
    sums = {}
    for at, order in enumerate(orders):
        high, low = (sum(int(one[at][half]) for one in by_block) for half in range(2))
        sums[order] = Fraction((high << HALF_BITS) + low, 1 << UNIT_BITS)
    return {"late": sums["late"], "early": sums[orders[-1]]}


def _in_block(places: Places, orders: tuple[str, ...], block: int) -> list[tuple[int, int]]:
    """Halves of the sum of one block, for each order."""
    totals = places.totals
    first, last = totals.start[block : block + 2].tolist()
    found, reached = totals.start_yield[block : block + 2].tolist()
    n, p = (0, 0) if places.kept is None else totals.rest[block]  # its last group, which may go on beyond its rows
    sums, look = [], None
    for order in orders:
        best = float(places.best_after[order][block + 1])
        if places.best_after[order][block] <= best:  # all of it is below what comes later
            sums.append(halves(reached - found, best))
            continue
        if p:
            best = max(best, reached / (last if order == "late" else last - n + p))
        high, low = halves(int(p), best)
        if first < last - n:
            look = look or _look(places, block, (first, last - n))
            of_block = look((first, found), int(order == "late"), best)
            high, low = high + of_block[0], low + of_block[1]
        sums.append((high, low))
    return sums


def _look(places: Places, block: int, ranks: tuple[int, int]) -> LookUp:
    if places.kept is not None:
        return places.kept.look(block, *ranks)
    starts, founds = (groups := places.read_groups(block)).between(0, groups.size)
    numbers = of_numbers(np.diff(np.stack([starts, founds])))
    return partial(best_of_groups, numbers, (0, groups.size), (int(starts[-1]), int(founds[-1])))
