"""Interpolated precision, the highest at a rank or any later one, summed over positives from a list's end.

Sums are of whole numbers, so that no order of summation changes them: of precisions in units of 2^-62, in two halves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.kernels.bits import WORD, backwards, count, lowest
from streameval.kernels.groups import ROOM, STRETCH, GroupSource, number_at, read_stretch
from streameval.kernels.jit import kernel, vector_kernel
from streameval.typing import Int64Array, UInt64Array

UNIT_BITS, HALF_BITS = 62, 31
_UNITS, _LOW = float(1 << UNIT_BITS), (1 << HALF_BITS) - 1
_ONE = np.uint64(1)


def halves(positives: int, best: float) -> tuple[int, int]:
    """Halves of a sum of one precision; whole numbers of any size."""
    unit = int(best * _UNITS)
    return positives * (unit >> HALF_BITS), positives * (unit & _LOW)


@kernel
def _bits_inside(i: int, begin: int, end: int) -> np.uint64:
    """Bits of word `i` that are rows `begin` up to, and without, `end`."""
    here = lowest(end - WORD * i)
    return here & ~lowest(begin - WORD * i) if begin > WORD * i else here


@vector_kernel
def best_of_labels(words: UInt64Array, rows: tuple[int, int], before: tuple[int, int], best: float) -> tuple[int, int]:
    """Σ over the positives among untied items of the highest precision at or after each.

    Args:
        words (uint64 array): Labels (`streameval.kernels.bits`).
        rows: The first of them, and the one after the last.
        before: Ranks, and positives, before the first.
        best: The highest precision after the last.

    Returns:
        high, low: Halves of the sum.

    Along a run of positives precision rises, so that only its last item counts. A word is not looked into where its
    positives would not reach what later ones do if all of them came first. In one that is, nothing branches but the end
    of its runs: which of them reach higher than later ones nothing foretells.
    """
    begin, end = rows
    positives: Any = before[1]
    high: Any = np.int64(0)
    low: Any = np.int64(0)
    unit = np.int64(best * _UNITS)
    for i in range(begin // WORD, (end + WORD - 1) // WORD):
        positives += count(words[i] & _bits_inside(i, begin, end))
    for i in range((end + WORD - 1) // WORD - 1, begin // WORD - 1, -1):
        word = words[i] & _bits_inside(i, begin, end)
        if not word:
            continue
        gained, rank = count(word), before[0] - begin + WORD * i
        reached, last = np.float64(positives), np.float64(rank + WORD)
        positives -= gained
        later: Any = np.int64(0)
        if reached / np.float64(rank + max(0, begin - WORD * i) + gained) > best:
            word = backwards(word)
            ends = word & ~(word << _ONE)
            while ends:
                below = (ends - _ONE) & ~ends
                seen = count(word & below)
                high += (seen - later) * (unit >> HALF_BITS)
                low += (seen - later) * (unit & _LOW)
                best = max(best, (reached - np.float64(seen)) / (last - np.float64(count(below))))
                unit, later = np.int64(best * _UNITS), seen
                ends &= ends - _ONE
        high += (gained - later) * (unit >> HALF_BITS)
        low += (gained - later) * (unit & _LOW)
    return high, low


@kernel
def _stretch_before(
    source: GroupSource, rows: tuple[int, int], last: int, ends: tuple[int, int], positives: int
) -> tuple[int, int, int, int]:
    """Step back over up to 256 groups that begin before item `last`.

    Returns:
        int: The first item stepped over.
        int, int: Items, and positives, before the first of the groups: `ends` where there is none.
        int: Positives before the first item; `positives` are those before `last`.
    """
    labels, repeats, begin, s, f = source[0], source[1], rows[0], int(ends[0]), int(ends[1])
    i, groups = (last - 1) // WORD + 1, np.int64(0)
    while groups <= STRETCH - WORD and WORD * i > begin:
        i -= 1
        here = _bits_inside(i, begin, last)
        fresh, word = ~repeats[i] & here, labels[i] & here
        positives -= int(count(word))
        if fresh:
            below = (fresh - _ONE) & ~fresh
            s, f = int(WORD * i + count(below) - begin), int(positives + count(word & below))
            groups += count(fresh)
    return max(begin, WORD * i), s, f, positives


@vector_kernel
def _best_of_stretch(
    starts: Int64Array, founds: Int64Array, before: tuple[int, int], late: int, best: float
) -> tuple[int, int, float]:
    """Halves of the sum of a stretch, and the highest precision from it on; arguments as of `best_of_groups`."""
    high: Any = np.int64(0)
    low: Any = np.int64(0)
    unit = np.int64(best * _UNITS)
    for g in range(starts.size - 2, -1, -1):
        gained = founds[g + 1] - founds[g]
        if gained > 0:
            rank = starts[g + 1] if late else starts[g] + gained
            precision = np.float64(before[1] + founds[g + 1]) / np.float64(before[0] + rank)
            if precision > best:
                best, unit = precision, np.int64(precision * _UNITS)
            high += gained * (unit >> HALF_BITS)
            low += gained * (unit & _LOW)
    return high, low, best


@vector_kernel
def _best_of_numbers(
    source: GroupSource, rows: tuple[int, int], ends: tuple[int, int], before: tuple[int, int], late: int, best: float
) -> tuple[int, int]:
    sizes, positives, width = source[2][0], source[2][1], source[3]
    high: Any = np.int64(0)
    low: Any = np.int64(0)
    unit, rank, last_yield = np.int64(best * _UNITS), before[0] + ends[0], before[1] + ends[1]
    for back in range(rows[1] - rows[0]):
        g = np.uint64(rows[1] - 1 - back)
        n, gained = number_at(sizes, g, width), number_at(positives, g, width)
        if gained > 0:
            precision = np.float64(last_yield) / np.float64(rank if late else rank - n + gained)
            if precision > best:
                best, unit = precision, np.int64(precision * _UNITS)
            high += gained * (unit >> HALF_BITS)
            low += gained * (unit & _LOW)
        rank, last_yield = rank - n, last_yield - gained
    return high, low


@kernel
def best_of_groups(
    source: GroupSource, rows: tuple[int, int], ends: tuple[int, int], before: tuple[int, int], late: int, best: float
) -> tuple[int, int]:
    """Give the same of groups of tied items.

    Args:
        source, rows: See `streameval.kernels.groups.read_stretch`.
        ends: Items, and positives, of all groups.
        before: Ranks, and positives, before the first.
        late: 0: a group's positives come first. 1: they have come by its end.
        best: The highest precision after the last group.
    """
    if source[3]:
        return _best_of_numbers(source, rows, ends, before, late, best)
    starts, founds = np.empty(ROOM, np.int64), np.empty(ROOM, np.int64)
    high: Any = np.int64(0)
    low: Any = np.int64(0)
    last, last_yield = rows[1], ends[1]
    while last > rows[0]:
        first, s, f, last_yield = _stretch_before(source, rows, last, ends, last_yield)
        gained = ends[1] - f
        if gained > 0 and np.float64(before[1] + ends[1]) / np.float64(before[0] + s + gained) <= best:
            unit = np.int64(best * _UNITS)
            high += gained * (unit >> HALF_BITS)
            low += gained * (unit & _LOW)
        elif gained > 0:
            starts[0], founds[0] = s, f
            n = read_stretch(source, (rows[0], last), 0, starts, founds)
            starts[n], founds[n] = ends
            more, less, best = _best_of_stretch(starts[: n + 1], founds[: n + 1], before, late, best)
            high, low = high + more, low + less
        last, ends = first, (s, f)
    return high, low
