"""Tie hashes of rows: from their key columns, or from their stored positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.tie_hash import NULL_WORD, SEED, WORDS, add_strings, add_words
from streameval.rows.options import RankingOptions
from streameval.typing import BoolArray, UInt64Array

TIE_RULE = "score, then the 64-bit tie hash of {what}, then the stored position"


def check_key(kind: pa.DataType, name: str, where: str) -> None:
    """Refuse (`InputError`) a key column that has no canonical form: anything but integers, floats and strings."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_large_string,
             pa.types.is_string_view)  # fmt: skip
    if not any(test(plain) for test in tests):
        raise InputError(f"{where}: column '{name}' is {kind}", "names and keys are integers, floats or strings")


def key_hashes(keys: pa.Table, seed: np.uint64 = SEED) -> UInt64Array:
    """Tie hashes of rows with key columns (`streameval.kernels.tie_hash` has the specification)."""
    state = np.full(keys.num_rows, seed, np.uint64)
    for column in keys.columns:
        array = column.combine_chunks()
        if isinstance(array, pa.ChunkedArray):  # no chunk at all, or more text than one chunk can hold
            array = pa.concat_arrays(array.cast(pa.large_string()).chunks) if array.num_chunks else pa.array([])
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
            add_words.for_rows(state.size)(state, _words(array, valid))
        else:
            text = array.cast(pa.large_string())
            offsets = np.frombuffer(text.buffers()[1], np.int64)[text.offset : text.offset + len(text) + 1]
            data = np.frombuffer(text.buffers()[2] or b"", np.uint8)
            add_strings.for_rows(WORDS * state.size + data.size)(state, offsets, data, valid)
    return state


def _words(array: pa.Array, valid: BoolArray) -> UInt64Array:
    filled = array.fill_null(0).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(array.type):
        words = (filled.astype(np.float64) + 0.0).view(np.uint64)  # −0.0 + 0.0 is 0.0
    else:
        words = filled.astype(np.uint64 if pa.types.is_unsigned_integer(array.type) else np.int64).view(np.uint64)
    return np.where(valid, words, NULL_WORD)


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
