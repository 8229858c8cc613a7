"""How many bytes compressed ones come to, without reading past their end."""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.kernels.thrift import Bytes


@kernel
def _length(raw: Bytes, at: int, length: int) -> tuple[int, int]:
    """A length, which goes on at `at` where it is 15, and the position after it; -1 where it does not end in time."""
    more = 255 if length == 15 else 0
    while more == 255:
        if at >= raw.size:
            return length, -1
        more = int(np.int64(raw[at]))
        length += more
        at += 1
    return length, at


@kernel
def lz4_size(raw: Bytes) -> int:
    """Bytes that a block of LZ4 decompresses to; -1 where it ends in the middle of a sequence.

    Source: lz4 `doc/lz4_Block_format.md`.
    """
    at, size = 0, 0
    while at < raw.size:
        token = int(np.int64(raw[at]))
        at += 1
        literals, match = token >> 4, token & 15
        literals, at = _length(raw, at, literals)
        if at < 0:
            return -1
        at += literals
        size += literals
        if at >= raw.size:  # the last sequence has no match
            return size if at == raw.size else -1
        match, at = _length(raw, at + 2, match)
        if at < 0:
            return -1
        size += match + 4
    return -1
