"""UUIDs of texts, many at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_DIGITS = np.full(256, 255, np.uint8)  # value of a hexadecimal digit
_DIGITS[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16, dtype=np.uint8)


def uuids_of(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Read UUIDs in any spelling: with hyphens, braces, capitals and space around them or without; null stays null.

    Raises:
        ValueError: A text that is none, which it shows.

    >>> str(uuids_of(pa.chunked_array([["{00000000-0000-0000-0000-00000000000A}"]]))[0])
    '00000000-0000-0000-0000-00000000000a'
    """
    plain = pc.ascii_lower(pc.utf8_trim_whitespace(texts.cast(pa.large_string())))
    digits = pc.replace_substring_regex(plain, "^urn:uuid:|[-{}]", "")
    filled = digits.fill_null("0" * 32).combine_chunks()
    odd = pc.not_equal(pc.binary_length(filled), 32).to_numpy(zero_copy_only=False)
    if not odd.any() and len(filled):
        values = _DIGITS[np.frombuffer(b"".join(filled.cast(pa.large_binary()).to_pylist()), np.uint8)].reshape(-1, 32)
        odd = (values == 255).any(axis=1)
    if odd.any():
        raise ValueError(f"'{str(texts[int(np.argmax(odd))])[:40]}' is no UUID")
    raw = values[:, ::2] << 4 | values[:, 1::2] if len(filled) else np.empty((0, 16), np.uint8)
    stored = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(filled), [None, pa.py_buffer(raw.tobytes())])
    uuids = pc.if_else(digits.combine_chunks().is_null(), pa.scalar(None, pa.binary(16)), stored)
    return pa.chunked_array([pa.ExtensionArray.from_storage(pa.uuid(), uuids)])
