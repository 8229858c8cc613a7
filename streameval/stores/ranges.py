"""Byte ranges: which of them are worth one request."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streameval.typing import Int64Array

Range = tuple[int, int]
_FEW = 16


def join(ranges: Sequence[Range], gap: int) -> list[Range]:
    """Join (offset, bytes) ranges that lie at most `gap` bytes apart.

    >>> join([(0, 10), (12, 8), (90, 10)], 4)
    [(0, 20), (90, 10)]
    """
    return [(at, size) for at, size in _join(ranges, gap)[0]]


def blocks(ranges: Int64Array, gap: int) -> tuple[Int64Array, Int64Array]:
    """Give the same of many: the joined ranges, and the place of each range when these lie one after another.

    Args:
        ranges (int64 array, shape (ranges, 2)): Offset and bytes of each.

    >>> joined, places = blocks(np.array([(90, 10), (0, 10), (12, 8)]), 4)
    >>> joined.tolist(), places.tolist()
    ([[0, 20], [90, 10]], [20, 0, 12])
    """
    if len(ranges) <= _FEW:  # a dozen calls of numpy would take longer than to read them
        few, at_once = _join(ranges.tolist(), gap)
        return np.array(few, np.int64).reshape(-1, 2), np.array(at_once, np.int64)
    order = ranges[:, 0].argsort(kind="stable")
    at, size = ranges[order].T
    reach = np.maximum.accumulate(at + size)
    apart = np.empty(len(at), np.bool_)
    apart[0] = True
    np.greater(at[1:], reach[:-1] + gap, out=apart[1:])
    first = apart.nonzero()[0]
    begin = at[first]
    sizes = reach[np.concatenate([first[1:], [len(at)]]) - 1] - begin
    places = np.empty_like(at)
    places[order] = at + (sizes.cumsum() - sizes - begin)[apart.cumsum() - 1]
    return np.stack([begin, sizes], axis=1), places


def _join(ranges: Sequence[Sequence[int]], gap: int) -> tuple[list[list[int]], list[int]]:
    """Give what `blocks` gives, one range after another."""
    joined, places, before = list[list[int]](), [0] * len(ranges), 0
    for i in sorted(range(len(ranges)), key=lambda i: ranges[i][0]):
        at, size = ranges[i]
        if joined and at <= joined[-1][0] + joined[-1][1] + gap:
            joined[-1][1] = max(joined[-1][1], at + size - joined[-1][0])
        else:
            before += joined[-1][1] if joined else 0
            joined.append([at, size])
        places[i] = before + at - joined[-1][0]
    return joined, places


def join_sparingly(ranges: Sequence[Range], gap: int, share: float) -> list[Range]:
    """Join ranges over their narrowest gaps, at most `gap` wide and together at most `share` of what is wanted.

    >>> join_sparingly([(0, 100), (105, 100), (400, 100)], 1000, 0.1)
    [(0, 205), (400, 100)]
    """
    apart = join(ranges, 0)
    if len(apart) < 2:
        return apart
    at, size = np.array(apart, dtype=np.int64).T
    gaps = at[1:] - (at + size)[:-1]
    order = np.argsort(gaps, kind="stable")
    within = (gaps[order] <= gap) & (np.cumsum(gaps[order]) <= share * int(size.sum()))
    bridged = np.zeros(gaps.size, np.bool_)
    bridged[order[within]] = True
    first = np.concatenate([[True], ~bridged])
    ends = np.concatenate([~bridged, [True]])
    return list(zip(at[first].tolist(), ((at + size)[ends] - at[first]).tolist(), strict=True))


def split(span: Range, most: int) -> list[Range]:
    """Cut a range into pieces of at most `most` bytes."""
    at, size = span
    return [(begin, min(most, at + size - begin)) for begin in range(at, at + size, most)]


class HeldRanges:
    """Pieces of a file that are in memory, found by the ranges they hold."""

    def __init__(self) -> None:
        self._blocks: list[tuple[int, memoryview]] = []

    def add(self, at: int, block: bytes | memoryview) -> None:
        """Keep a piece."""
        self._blocks.append((at, memoryview(block)))

    def find(self, span: Range) -> memoryview | None:
        """Take a range out of a piece that holds all of it."""
        at, size = span
        for begin, block in reversed(self._blocks):
            if begin <= at and at + size <= begin + len(block):
                return block[at - begin : at - begin + size]
        return None
