"""A score column as order keys: 64-bit integers that ascend from the best item to the worst."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.jit import read_only, small
from streameval.kernels.order import (
    LAST,
    LAST32,
    float32_keys,
    float32_words,
    float64_bits,
    float64_keys,
    int64_keys,
)
from streameval.scans.units import Unit, parts_of
from streameval.struct_fields import hint_for
from streameval.text import row_of
from streameval.typing import AnyArray, FloatArray, UInt64Array

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_SIGN = np.uint64(1 << 63)
_HALF = pa.float16()
_HALF_BITS = np.uint64(32)
_DIGITS = 18  # of a decimal that 64 bits hold


def missing_rows(units: Iterable[Unit], column: Callable[[Unit], pa.ChunkedArray]) -> Iterator[str]:
    """Name the rows whose score is null or NaN, in stored order.

    Args:
        column: Reads the scores of a unit.
    """
    for unit in parts_of([*units]):
        gone = column(unit).is_null(nan_is_null=True).combine_chunks().to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(gone).tolist():
            yield row_of(unit.place, row)


@dataclass(frozen=True)
class Keys:
    """Order keys of some rows.

    Attributes:
        key (uint64 array, shape (n,)): The best score has the smallest.
        low (uint64 array, shape (n,) or (0,)): What comes after `key` in decimals, and in integers that leave none of
            64 bits for what is missing; empty for all other scores.
        missing: Rows whose score is null or NaN: they have the largest key.
    """

    key: UInt64Array
    low: UInt64Array
    missing: int


@dataclass(frozen=True)
class ScoreOrder:
    """Order of scores of one type.

    Args:
        kind ({"float32", "float64", "signed", "unsigned", "decimal"}): What every file's scores are widened to: 64
            bits, or 128 for "decimal", which integers of 64 bits are too beside missing ones.
        ascending: Whether the smallest score is the best.
        scale: Digits after the point that decimals are brought to.
    """

    kind: str
    ascending: bool
    scale: int = 0

    @property
    def flip(self) -> np.uint64:
        """Turns ascending integers into the ranking's order."""
        return np.uint64(0) if self.ascending else _ALL

    def blocks(self, scores: pa.ChunkedArray | pa.Array | AnyArray, out: UInt64Array) -> Iterator[tuple[int, Keys]]:
        """Turn scores into order keys a cache's worth at a time: first row of each block, and its keys.

        The keys of a block are put into `out`, and the next block overwrites them.
        """
        values = self._plain(scores)
        for first in range(0, len(scores), out.size):
            if values is not None:
                yield first, self.of_numpy(values[first : first + out.size], out)
            else:
                yield first, self.keys(scores[first : first + out.size])

    def _plain(self, scores: pa.ChunkedArray | pa.Array | AnyArray) -> AnyArray | None:
        """Scores as numbers; None where some are null, or of 128 bits."""
        if isinstance(scores, np.ndarray):
            return scores
        if scores.null_count or self.kind == "decimal":
            return None
        return _numpy(scores.combine_chunks() if isinstance(scores, pa.ChunkedArray) else scores)

    def word_blocks(
        self, scores: pa.ChunkedArray | pa.Array | AnyArray, out: UInt64Array
    ) -> Iterator[tuple[int, AnyArray, int]]:
        """Do as `blocks` does, with words: first row, words, how many are missing.

        Words of 32-bit scores are the upper halves of keys, uint32, where scores are plain; all others are keys.
        """
        values = self._plain(scores) if self.kind == "float32" else None
        if values is None:
            yield from ((first, keys.key, keys.missing) for first, keys in self.blocks(scores, out))
            return
        room, flip = out.view(np.uint32), np.uint32(self.flip >> _HALF_BITS)
        for first in range(0, values.size, room.size):
            some = values[first : first + room.size].astype(np.float32, copy=False)
            with small(some.size):
                missing = float32_words(read_only(some.view(np.uint32)), flip, room)
            yield first, room[: some.size], missing

    def widening(self, bits: int) -> UInt64Array:
        """Give what makes a word of so many bits a key; see `kernels.bins.open_rows`."""
        half = [_HALF_BITS, self.flip & np.uint64(LAST32), np.uint64(LAST32)]
        return np.array(half if bits == 32 else [0, 0, LAST], np.uint64)

    def wide(self, words: AnyArray) -> UInt64Array:
        """Keys of words."""
        if words.dtype == np.uint64:
            return words
        shift, below, gone = self.widening(32)
        return np.where(words == gone, LAST, words.astype(np.uint64) << shift | below)

    def keys(self, scores: pa.ChunkedArray | pa.Array) -> Keys:
        """Turn scores into order keys."""
        array = scores.combine_chunks() if isinstance(scores, pa.ChunkedArray) else scores
        if self.kind == "decimal":
            return self._decimal_keys(array)
        nulls = array.null_count
        plain = np.ascontiguousarray(array.fill_null(0).to_numpy(zero_copy_only=False) if nulls else _numpy(array))
        keys = self.of_numpy(plain, np.empty(plain.size, np.uint64))
        if nulls:
            keys.key[array.is_null().to_numpy(zero_copy_only=False)] = LAST
        return Keys(keys.key, keys.low, keys.missing + nulls)

    def of_numpy(self, scores: AnyArray, out: UInt64Array) -> Keys:
        """Turn a numpy array without nulls into order keys, put into `out`."""
        out = out[: scores.size]
        if self.kind not in ("float32", "float64"):
            signed = self.kind == "signed"
            whole = scores.astype(np.int64 if signed else np.uint64, copy=False).view(np.uint64)
            missing = int64_keys(whole, _SIGN if signed else np.uint64(0), self.flip, out)
            return Keys(out, np.empty(0, np.uint64), missing)
        with small(scores.size):
            if self.kind == "float32":
                bits = read_only(scores.astype(np.float32, copy=False).view(np.uint32))
                missing = float32_keys(bits, self.flip, out)
            else:
                whole = read_only(scores.astype(np.float64, copy=False).view(np.uint64))
                missing = float64_keys(whole, self.flip, out)
        return Keys(out, np.empty(0, np.uint64), missing)

    def scores(self, keys: Keys, kind: pa.DataType) -> pa.Array:
        """Turn order keys back into scores of type `kind`; null for those that were missing, and 0.0 for −0.0."""
        # where nothing is missing, the last key is that of an integer at the end of its range
        gone = keys.key == LAST if keys.missing else np.zeros(keys.key.size, np.bool_)
        if self.kind == "decimal":
            words = np.empty(2 * keys.key.size, np.uint64)
            words[0::2], words[1::2] = keys.low ^ self.flip, keys.key ^ self.flip ^ _SIGN
            wide = pa.decimal128(38, self.scale)
            values = pa.Array.from_buffers(wide, keys.key.size, [None, pa.py_buffer(words)])
            kept = [None if lost else value for value, lost in zip(values, gone.tolist(), strict=True)]
            whole = pa.array([None if value is None else value.as_py() for value in kept], wide)
            return (whole.cast(pa.int64()) if pa.types.is_temporal(kind) else whole).cast(kind)
        if self.kind == "float32":
            return pa.array(self.floats(keys.key).astype(np.float32), mask=gone).cast(kind)
        if self.kind == "float64":
            return pa.array(self.floats(keys.key), mask=gone).cast(kind)
        whole = keys.key ^ self.flip
        if self.kind == "unsigned":
            return pa.array(whole, mask=gone).cast(kind)
        numbers = pa.array((whole ^ _SIGN).view(np.int64), mask=gone)
        narrow = pa.types.is_date32(kind) or pa.types.is_time32(kind)
        return (numbers.cast(pa.int32()) if narrow else numbers).cast(kind)

    def floats(self, keys: UInt64Array) -> FloatArray:
        """Turn order keys of floats, none of them missing, back into float64 scores."""
        if self.kind == "float64":
            return float64_bits(keys, self.flip).view(np.float64)
        up = ((keys ^ self.flip) >> _HALF_BITS).astype(np.uint32)
        return np.where(up >> np.uint32(31), up ^ np.uint32(1 << 31), ~up).view(np.float32).astype(np.float64)

    def _decimal_keys(self, array: pa.Array) -> Keys:
        whole = array.view(pa.int64()) if pa.types.is_temporal(array.type) else array
        wide = whole.cast(pa.decimal128(38, self.scale))
        words = np.frombuffer(wide.buffers()[1], np.uint64)[2 * wide.offset : 2 * (wide.offset + len(wide))]
        key, low = np.empty(len(wide), np.uint64), np.ascontiguousarray(words[0::2]) ^ self.flip
        int64_keys(np.ascontiguousarray(words[1::2]), _SIGN, self.flip, key)
        if wide.null_count:
            gone = wide.is_null().to_numpy(zero_copy_only=False)
            key[gone], low[gone] = LAST, LAST
        return Keys(key, low, wide.null_count)


def _numpy(array: pa.Array) -> AnyArray:
    kind = array.type
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        array = array.view(pa.int32())
    elif pa.types.is_temporal(kind):
        array = array.view(pa.int64())
    values: AnyArray = array.to_numpy(zero_copy_only=False)
    return values


def order_of(types: list[tuple[str, pa.DataType]], score: str, ascending: bool, nan: str = "refuse") -> ScoreOrder:
    """Find the order that the score columns of all files share.

    Args:
        types: Of each file, (path, type). Float widths and integer widths may be mixed: the widest counts.
        score: The column's name, for messages.
        nan ({"refuse", "last"}): What becomes of scores that are null or NaN.

    Raises:
        InputError: Scores that cannot be ordered as numbers or dates, or whose types do not go together.
    """
    kinds = {kind: path for path, kind in reversed(types)}
    if all(pa.types.is_floating(kind) for kind in kinds):
        single = all(kind in (pa.float32(), _HALF) for kind in kinds)
        return ScoreOrder("float32" if single else "float64", ascending)
    if whole := _whole(list(kinds)):
        # 64 bits full of numbers leave no key for what is missing
        full = nan == "last" and any(kind.bit_width == 64 for kind in kinds)
        return ScoreOrder("decimal" if full else whole, ascending)
    if all(pa.types.is_decimal(kind) for kind in kinds):
        scale = max(kind.scale for kind in kinds)
        if all(kind.precision - kind.scale + scale <= _DIGITS for kind in kinds):
            return ScoreOrder("decimal", ascending, scale)
        raise InputError(f"score column '{score}' holds decimals of more than {_DIGITS} digits",
                         f"cast it to DOUBLE, or to a decimal of at most {_DIGITS} digits")  # fmt: skip
    path, kind = types[0]
    for other_path, other in types[1:]:
        if other != kind:
            raise InputError(f"{other_path}: score column '{score}' is {other}, but {kind} in {path}",
                             "use one type in all files: widths of floats may differ, kinds may not")  # fmt: skip
    if pa.types.is_struct(kind):
        raise InputError(f"{path}: score column '{score}' has several values for each item",
                         hint_for(score, pa.schema([(score, kind)]), ()))  # fmt: skip
    raise InputError(f"{path}: score column '{score}' is {kind}, not a number or a date",
                     f"make it a number where it comes from: CAST({score} AS DOUBLE PRECISION) in a query")  # fmt: skip


def _whole(kinds: list[pa.DataType]) -> str | None:
    """Integers that hold all values of some types; None where none do."""
    if all(pa.types.is_unsigned_integer(kind) for kind in kinds):
        return "unsigned" if any(kind.bit_width == 64 for kind in kinds) else "signed"
    signed = all(pa.types.is_signed_integer(kind) for kind in kinds)
    return "signed" if signed or (len(kinds) == 1 and pa.types.is_temporal(kinds[0])) else None


def widest(kinds: list[pa.DataType], order: ScoreOrder) -> pa.DataType:
    """Find the type that holds the scores of all files."""
    if pa.types.is_decimal(kinds[0]):
        return kinds[0] if len(set(kinds)) == 1 else pa.decimal128(_DIGITS, order.scale)
    return max(kinds, key=lambda kind: kind.bit_width)
