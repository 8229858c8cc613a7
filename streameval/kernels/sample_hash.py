"""Hashes by which items are drawn, so that another version of a ranking asks for nearly the same ones."""

from __future__ import annotations

import numpy as np

from streameval.kernels.draw import mix64
from streameval.kernels.jit import kernel
from streameval.typing import UInt64Array

SAMPLE_SEED = np.uint64(0x73616D706C653031)  # "sample01": not that of ties, or ties would be drawn in their order


@kernel
def sample_hashes(keys: UInt64Array, seed: np.uint64) -> UInt64Array:
    """Give each item its draw: mix64(h XOR mix64(SAMPLE_SEED XOR seed)) of its key's tie hash h."""
    out = np.empty(keys.size, np.uint64)
    stream = mix64(SAMPLE_SEED ^ seed)
    for i in range(keys.size):
        out[i] = mix64(keys[i] ^ stream)
    return out
