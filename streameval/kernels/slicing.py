"""Ranks within slices of a list: a slice is the items that share a value of some column, in the list's order."""

from __future__ import annotations

from streameval.kernels.jit import kernel
from streameval.typing import Int64Array, UInt8Array


@kernel
def find_in_order(
    codes: UInt8Array, first: int, seen: Int64Array, wanted: Int64Array, at: Int64Array, ends: Int64Array,
    ranks: Int64Array,
) -> None:  # fmt: skip
    """Find the list's ranks of wanted ranks of slices, where rows lie in the list's order.

    Args:
        codes (uint8 array, shape (n,)): Slice of each row.
        first: Rows before these.
        seen (int64 array, shape (slices,)): Items of each slice before these rows; moved on.
        wanted (int64 array): Ranks within slices, one slice after another, ascending within each.
        at, ends (int64 arrays, shape (slices,)): Where the next wanted rank of each slice stands in `wanted`, moved on,
            and where its last one ends.
        ranks (int64 array, like `wanted`): Rank in the list.
    """
    for i in range(codes.size):
        code = codes[i]
        seen[code] += 1
        here = at[code]
        if here < ends[code] and wanted[here] == seen[code]:
            ranks[here] = first + i + 1
            at[code] = here + 1


@kernel
def count_between(codes: UInt8Array, first: int, cutoffs: Int64Array, counts: Int64Array) -> None:
    """Count the items of each slice between cutoffs, where rows lie in the list's order.

    Args:
        codes: uint8 array, shape (n,).
        first: Rows before these.
        cutoffs (int64 array, shape (k,), ascending): The last of them is no less than any row's rank.
        counts (int64 array, shape (k, slices)): Row j: items whose rank is at most `cutoffs[j]`, and beyond the cutoff
            before.
    """
    j = 0
    for i in range(codes.size):
        while cutoffs[j] < first + i + 1:
            j += 1
        counts[j, codes[i]] += 1
