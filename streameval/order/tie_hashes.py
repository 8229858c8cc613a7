"""Tie hashes of rows: from their key columns, or from their stored positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.kernels.jit import read_only, small
from streameval.kernels.tie_hash import NULL_WORD, SEED, WIDE_WORD, add_strings, add_words
from streameval.order.item_keys import key_type, stored_type
from streameval.rows.options import RankingOptions
from streameval.typing import BoolArray, UInt64Array

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # of a unit, in a second
_ALL_ONES = np.uint64(2**64 - 1)
TIE_RULE = "score, then the 64-bit tie hash of {what}, then the stored position"


def key_hashes(keys: pa.Table, seed: np.uint64 = SEED) -> UInt64Array:
    """Tie hashes of rows with key columns (`streameval.kernels.tie_hash` has the specification)."""
    state = np.full(keys.num_rows, seed, np.uint64)
    for column in keys.columns:
        array = _hashed_form(column)
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        if array.type in (pa.large_string(), pa.large_binary()):
            offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]
            data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
            with small(state.size + data.size):
                add_strings(state, read_only(offsets), read_only(data), valid)
        elif pa.types.is_decimal(array.type):
            _add_decimals(state, array, valid)
        elif pa.types.is_timestamp(array.type):
            _add(state, _moments(array), valid)
        else:
            _add(state, [_words(array)], valid)
    return state


def _hashed_form(column: pa.ChunkedArray) -> pa.Array:
    """Make one array of a column, of a type that stands for its family; see `item_keys`."""
    kind = stored_type(column.type)
    if kind == pa.uuid():
        kind = pa.large_binary()
    elif pa.types.is_decimal(kind):
        kind = key_type(kind)
    elif pa.types.is_date(kind):
        kind = pa.date32()
    chunks = (column if column.type == kind else column.cast(kind)).chunks
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays([*chunks, pa.array([], kind)])


def _add(state: UInt64Array, words: Sequence[UInt64Array], valid: BoolArray) -> None:
    """Take words of every row into its hash, in place; where it is null, the one word of that."""
    null = None if valid.all() else state[~valid]
    for each in words:
        _add_words(state, each)
    if null is not None:
        _add_words(null, np.full(null.size, NULL_WORD))
        state[~valid] = null


def _add_words(state: UInt64Array, words: UInt64Array) -> None:
    with small(state.size):
        add_words(state, words)


def _words(array: pa.Array) -> UInt64Array:
    if pa.types.is_date(array.type):
        array = array.cast(pa.int32())
    filled = array.fill_null(pa.scalar(0).cast(array.type)).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(array.type):
        words = (filled.astype(np.float64) + 0.0).view(np.uint64)  # −0.0 + 0.0 is 0.0
    else:
        words = filled.astype(np.uint64 if pa.types.is_unsigned_integer(array.type) else np.int64).view(np.uint64)
    return np.asarray(words)


def _moments(array: pa.Array) -> list[UInt64Array]:
    """Whole seconds since 1970, and the nanoseconds beyond them."""
    ticks = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    second = _TICKS[array.type.unit]
    return [(ticks // second).view(np.uint64), (ticks % second * (_TICKS["ns"] // second)).astype(np.uint64)]


def _add_decimals(state: UInt64Array, array: pa.Array, valid: BoolArray) -> None:
    """Take whole decimals into the hashes, in place: as an integer of 64 bits has it, or as three words beyond."""
    halves = np.frombuffer(array.buffers()[1], np.uint64).reshape(-1, 2)[array.offset : array.offset + len(array)]
    low, high = (np.where(valid, half, np.uint64(0)) for half in halves.T)
    narrow = high == np.where(low >> np.uint64(63) == 1, _ALL_ONES, np.uint64(0))
    wide = state[~narrow]
    _add(state, [low], valid)
    for words in (np.full(wide.size, WIDE_WORD), low[~narrow], high[~narrow]):
        _add_words(wide, words)
    state[~narrow] = wide


def describe(options: RankingOptions) -> dict[str, Any]:
    """Describe an order by score, JSON-ready."""
    by = ", ".join(options.key) if options.key else "the stored position"
    return {
        "order": "score",
        "score": options.score,
        "ascending": options.ascending,
        "key": list(options.key),
        "nan": options.nan,
        "tie_rule": TIE_RULE.format(what=by),
    }
