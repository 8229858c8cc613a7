"""Random numbers by counter: a 64-bit mix of (seed, counter), ours, so that no library's stream can change a plan."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streameval.kernels.jit import kernel

UInt64Array = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)


@kernel
def mix64(value: np.uint64) -> np.uint64:
    """Scramble 64 bits, one to one (the finaliser of SplitMix64: Steele, Lea and Flood 2014)."""
    z = value
    z = (z ^ (z >> _S30)) * _MIX_A
    z = (z ^ (z >> _S27)) * _MIX_B
    return z ^ (z >> _S31)


@kernel
def draws(seed: np.uint64, count: int) -> UInt64Array:
    """The first `count` 64-bit numbers of a seed's stream.

    Returns
    -------
    uint64 array, shape (count,)
        Number i is mix64(mix64(seed) + (i + 1)·golden), so it depends on seed and i alone.
    """
    out = np.empty(count, dtype=np.uint64)
    state = mix64(seed)
    for i in range(count):
        state = state + _STEP
        out[i] = mix64(state)
    return out
