"""Random numbers by counter: a 64-bit mix of (seed, counter), ours, so that no library's stream can change a plan."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import FloatArray, Int64Array, UInt64Array

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
SAMPLE_SEED = np.uint64(0x73616D706C653031)  # "sample01": not that of ties, or ties would be drawn in their order
STEPS = 12  # of plain Python, for each rank drawn
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@kernel
def mix64(value: np.uint64) -> np.uint64:
    """Scramble 64 bits, one to one (the finaliser of SplitMix64: Steele, Lea and Flood 2014)."""
    z = value
    z = (z ^ (z >> _S30)) * _MIX_A
    z = (z ^ (z >> _S27)) * _MIX_B
    return z ^ (z >> _S31)


# of each number of an array
mix_each: Callable[[UInt64Array], UInt64Array] = mix64.py_func  # type: ignore[assignment]


def mix_signed(words: Int64Array) -> Int64Array:
    """Scramble signed words as `mix64` does words without a sign; a shift to the right fills in the sign."""
    z = (words ^ (words >> 30)) * _MIX_A.astype(np.int64)
    z = (z ^ (z >> 27)) * _MIX_B.astype(np.int64)
    return z ^ (z >> 31)


def draws(seed: np.uint64, count: int) -> UInt64Array:
    """The first `count` 64-bit numbers of a seed's stream: number i is mix64(mix64(seed) + (i + 1)·golden)."""
    return mix_each(mix_each(np.array([seed])) + _STEP * np.arange(1, count + 1, dtype=np.uint64))


@kernel
def draw_below(bits: np.uint64, limit: np.uint64) -> np.uint64:
    """Reject the few draws that would make the remainder modulo `limit` uneven: 2⁶⁴−1 stands for rejected."""
    last_whole = np.uint64(0xFFFFFFFFFFFFFFFF) - (np.uint64(0xFFFFFFFFFFFFFFFF) % limit + np.uint64(1)) % limit
    if bits > last_whole:
        return np.uint64(0xFFFFFFFFFFFFFFFF)
    return bits % limit


@kernel
def draw_strata(ends: Int64Array, n: Int64Array, seed: np.uint64) -> Int64Array:
    """Draw n_i ranks without replacement from each stratum, ascending.

    Args:
        ends (int64 array, shape (k,)): Last rank of each stratum; strata are consecutive from rank 1.
        n (int64 array, shape (k,)): Ranks to draw of each, at most its width.

    Returns:
        int64 array, shape (n.sum(),): The draw of a stratum is a prefix of one random permutation of it (sparse
            Fisher–Yates, memory O(n_i)), from a stream of its own: a larger n_i keeps every rank that a smaller one
            drew.
    """
    out = np.empty(n.sum(), dtype=np.int64)
    at = 0
    for i in range(ends.size):
        first = ends[i - 1] + 1 if i > 0 else np.int64(1)
        width = ends[i] - first + 1
        if n[i] >= width:
            for t in range(width):
                out[at + t] = first + t
        else:
            _prefix(width, n[i], mix64(mix64(seed) ^ np.uint64(i + 1)), out[at : at + n[i]])
            for t in range(n[i]):
                out[at + t] += first
            out[at : at + n[i]].sort()
        at += n[i]
    return out


@kernel
def _prefix(width: int, count: int, stream: np.uint64, out: Int64Array) -> None:
    """First `count` numbers of a random permutation of 0..width−1 (Fisher–Yates that stores only what has moved).

    What lies at a place that was never touched is the place's own number, so an open-addressing table of the touched
    places is all that is kept: O(count) memory and time, whatever the width.
    """
    slots = 8  # a power of two, at most a quarter of them taken: a search meets few others
    while slots < 4 * count:
        slots *= 2
    place = np.full(slots, -1, dtype=np.int64)
    value = np.empty(slots, dtype=np.int64)
    state = stream
    for t in range(count):
        limit = np.uint64(width - t)
        state = state + _STEP
        drawn = draw_below(mix64(state), limit)
        while drawn == np.uint64(0xFFFFFFFFFFFFFFFF):
            state = state + _STEP
            drawn = draw_below(mix64(state), limit)
        chosen = np.int64(drawn) + t
        here, there = _slot(place, int(chosen)), _slot(place, t)
        last = value[there] if place[there] == t else np.int64(t)
        out[t] = value[here] if place[here] == chosen else chosen
        place[here], value[here] = chosen, last


@kernel
def _slot(place: Int64Array, wanted: int) -> int:
    """Find where a place is kept, or the free slot it would take."""
    mask = np.uint64(place.size - 1)
    slot = mix64(np.uint64(wanted)) & mask
    while place[np.int64(slot)] != -1 and place[np.int64(slot)] != wanted:
        slot = (slot + np.uint64(1)) & mask
    return int(slot)


def uniforms(rank: Int64Array, stream: np.uint64) -> FloatArray:
    """A number in [0, 1) of 53 bits for each rank, by counter: ranks thinned at p and at q > p are nested.

    Args:
        stream: A number of its own for every purpose, mixed from the seed (`mix_each`).
    """
    return (mix_each(stream + rank.astype(np.uint64) * _STEP) >> _S11).astype(np.float64) * 2.0**-53


@kernel
def draw_independent(ends: Int64Array, rate: FloatArray, seed: np.uint64) -> Int64Array:
    """Draw every rank with the probability of its block, independently of all others; ascending.

    Args:
        ends (int64 array, shape (k,)): Last rank of each block; blocks are consecutive from rank 1.
        rate (float64 array, shape (k,)): Probabilities; a block of rate 0 has none, one of rate 1 all of its ranks.

    Returns:
        int64 array: Gaps between drawn ranks are geometric, so that time and memory are those of the draw. Each block
            has a stream of its own. The union of draws of rates a and b under two seeds is one of a + b − ab.
    """
    out = np.empty(64, np.int64)
    count = 0
    rank = 0
    for i in range(ends.size):
        if rate[i] > 0:
            state = mix64(mix64(seed) ^ np.uint64(i + 1))
            while True:
                gap = 1.0
                if rate[i] < 1:
                    state = state + _STEP
                    # 53 bits, never 0: what a gap of more than 36/rate would need is as good as impossible
                    uniform = (np.float64(mix64(state) >> _S11) + 1.0) * 2.0**-53
                    gap = 1.0 + math.floor(math.log(uniform) / math.log1p(-rate[i]))
                if gap > ends[i] - rank:
                    break
                rank += int(gap)
                if count == out.size:
                    out = np.concatenate((out, np.empty(count, np.int64)))
                out[count] = rank
                count += 1
        rank = ends[i]
    return out[:count].copy()


def sample_hashes(keys: UInt64Array, seed: np.uint64) -> UInt64Array:
    """Give each item its draw, the same in every version of a ranking.

    It is mix64(h XOR mix64(SAMPLE_SEED XOR seed)) of its key's tie hash h.
    """
    return mix_each(keys ^ mix_each(np.array([SAMPLE_SEED ^ seed])))
