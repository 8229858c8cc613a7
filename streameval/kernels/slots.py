"""Slots of logarithmic stratified sampling (PAULA paper, Algorithm 1): each keeps its rank, or takes a fresh one."""

from __future__ import annotations

import numpy as np

from streameval.kernels.draw import draw_below, mix64
from streameval.kernels.jit import kernel
from streameval.typing import Int64Array

_STEP = np.uint64(0x9E3779B97F4A7C15)
_REJECTED = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def draw_slots(points: Int64Array, slots: int, seed: np.uint64) -> tuple[Int64Array, Int64Array]:
    """Run every slot along the grid: at each point it holds a uniform rank of all ranks up to there.

    Args:
        points (int64 array, shape (k,), strictly increasing): g_ℓ … g_L.
        slots: s. They are independent, each with a stream of its own.

    Returns:
        rank (int64 array, shape (tenures,)): Ranks held, slot by slot, in the order they were taken.
        until (int64 array, shape (tenures,)): Index in `points` of the last point at which the slot holds it.

    One number v, uniform in 0..g_{k+1}−1, decides a step: v < g_k, which has probability g_k/g_{k+1}, keeps the rank;
    otherwise v + 1 is uniform in g_k+1..g_{k+1}.
    """
    count = _run(points, slots, seed, np.empty(0, np.int64), np.empty(0, np.int64))
    rank, until = np.empty(count, np.int64), np.empty(count, np.int64)
    _run(points, slots, seed, rank, until)
    return rank, until


@kernel
def _run(points: Int64Array, slots: int, seed: np.uint64, rank: Int64Array, until: Int64Array) -> int:
    """Fill in the tenures, as far as the arrays reach; return how many there are."""
    count = 0
    for slot in range(slots):
        state = mix64(mix64(seed) ^ np.uint64(slot + 1))
        held = np.int64(-1)
        for k in range(points.size):
            state = state + _STEP
            drawn = draw_below(mix64(state), np.uint64(points[k]))
            while drawn == _REJECTED:
                state = state + _STEP
                drawn = draw_below(mix64(state), np.uint64(points[k]))
            if k > 0 and np.int64(drawn) < points[k - 1]:
                continue
            if k > 0:
                if count < rank.size:
                    rank[count], until[count] = held, k - 1
                count += 1
            held = np.int64(drawn) + 1
        if count < rank.size:
            rank[count], until[count] = held, points.size - 1
        count += 1
    return count
