"""How many bytes compressed ones come to, without reading past their end."""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.kernels.thrift import Bytes


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
        if literals == 15:
            more = 255
            while more == 255:
                if at >= raw.size:
                    return -1
                more = int(np.int64(raw[at]))
                literals += more
                at += 1
        at += literals
        size += literals
        if at >= raw.size:  # the last sequence has no match
            return size if at == raw.size else -1
        at += 2
        if match == 15:
            more = 255
            while more == 255:
                if at >= raw.size:
                    return -1
                more = int(np.int64(raw[at]))
                match += more
                at += 1
        size += match + 4
    return -1
