"""The sums of a block, and its labels as bits, as bytes, and back: all numbers 64 bits each."""

from __future__ import annotations

import numpy as np

from streameval.counting.block_sums import BlockSums, UnorderedError
from streameval.kernels import exact
from streameval.typing import UInt64Array

_HEAD = 11  # lead, start, rest; corners of both hulls, cutoffs, words of labels and of repeats, keys
_UNORDERED = _NO_KEYS = -1
_NONE = np.empty(0, np.uint64)


def packed(part: BlockSums | UnorderedError, keys: UInt64Array | None = None) -> bytes:
    """Encode the sums of a block and the order keys at its cutoffs; or the error that scores are in no order."""
    if isinstance(part, UnorderedError):
        return np.array([_UNORDERED, part.rank], np.int64).tobytes()
    labels, repeats = part.bits or (_NONE, None)
    bits = labels.view(np.int64), (_NONE if repeats is None else repeats).view(np.int64)
    lengths = [one.shape[0] for one in (*part.corner, part.cut, *bits)]
    head = [*part.lead, part.start, *part.rest, *lengths, _NO_KEYS if keys is None else keys.size]
    arrays = [part.whole, part.real.view(np.int64), *part.corner, part.cut, *bits]
    words = [np.array(head, np.int64), *(np.ascontiguousarray(array).ravel() for array in arrays)]
    return np.concatenate(words if keys is None else [*words, keys.view(np.int64)]).tobytes()


def unpacked(payload: bytes) -> tuple[BlockSums, UInt64Array | None]:
    """Decode the sums of a block and the order keys at its cutoffs; raises an `UnorderedError` that was encoded."""
    words = np.frombuffer(payload, np.int64)
    if words[0] == _UNORDERED:
        raise UnorderedError(int(words[1]))
    lead, start, rest = (int(words[0]), int(words[1])), int(words[2]), (int(words[3]), int(words[4]))
    early, ends, cut, *bits, keys = words[5:_HEAD].tolist()
    sizes = (exact.WHOLES, exact.REALS, 2 * early, 2 * ends, 4 * cut, *bits)
    whole, real, first, second, cuts, labels, repeats, last = np.split(words[_HEAD:], np.cumsum(sizes))
    hulls = first.reshape(-1, 2), second.reshape(-1, 2)
    held = labels.view(np.uint64), repeats.view(np.uint64) if repeats.size else None
    part = BlockSums(lead, start, rest, whole, real.view(np.float64), hulls, cuts.reshape(-1, 4), held)
    return part, None if keys == _NO_KEYS else last.view(np.uint64)
