"""Column of slices: that of every item of a list, read once, kept as a byte per item in a mapped file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.progress import Progress, silent
from streameval.rankings.ranking import Ranking
from streameval.scans.threads import each_unit
from streameval.scans.units import Unit
from streameval.stores.temporary import mapped_bytes
from streameval.typing import Int64Array, UInt8Array

MOST_SLICES = 200
NONE = "(none)"
"""Name of the slice of items whose value is null."""
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Slices:
    """The slices of a list, the largest first, and which one each item is in.

    Attributes:
        names: Values of the column, as text.
        n_items (int64 array, shape (slices,)): Items of each slice.
        codes (uint8 array, shape (N,)): Slice of the item at each stored position; mapped from a file.
    """

    names: tuple[str, ...]
    n_items: Int64Array
    codes: UInt8Array

    def blocks(self) -> Iterator[tuple[int, UInt8Array]]:
        """Some rows at a time: how many are before them, and their slices."""
        for first in range(0, self.codes.size, _BLOCK):
            yield first, np.asarray(self.codes[first : first + _BLOCK])


def read_slices(ranking: Ranking, column: str, folder: Path, progress: Progress = silent) -> Slices:
    """Read the slice of every item.

    Args:
        column: Strings, integers, booleans or dates; a partition key is not read at all.
        folder: Where the codes may lie: a byte for each item.
        progress (callable(done, total)): Told rows.

    Raises:
        InputError: No such column, a type that names nothing, more than `MOST_SLICES` values, or a file that is damaged
            or changed.
    """
    where = ranking.rows.name
    if column not in ranking.rows.all_names():
        raise InputError(f"{where}: there is no column '{column}'", ranking.rows.hint_for(column))
    _check_type(*ranking.rows.types(column)[0], column)
    units = ranking.rows.units(column)
    codes = mapped_bytes(folder / "slices", sum(unit.rows for unit in units))
    code_of: dict[str | None, int] = {}
    counts = np.zeros(MOST_SLICES, np.int64)
    read = each_unit(lambda unit: _read(unit, column, where), units, ranking.threads, progress)
    for unit, (names, indices) in read:
        unit_codes = _codes_of(names, code_of, f"{where}: column '{column}'")[indices]
        codes[unit.first_position : unit.first_position + unit.rows] = unit_codes
        counts += np.bincount(unit_codes, minlength=MOST_SLICES)
    ranking.rows.check_unchanged()
    if None in code_of and NONE in code_of:
        what = f"{where}: column '{column}' has items without a value, and others of the value '{NONE}'"
        raise InputError(what, "rename it")
    return _largest_first([NONE if name is None else name for name in code_of], counts[: len(code_of)], codes)


def _check_type(where: str, kind: pa.DataType, column: str) -> None:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_integer,
             pa.types.is_boolean, pa.types.is_date)  # fmt: skip
    if not any(test(plain) for test in tests):
        raise InputError(
            f"{where}: column '{column}' is {kind}", "slices are named by strings, integers, booleans or dates"
        )


def _read(unit: Unit, column: str, where: str) -> tuple[list[str | None], Int64Array]:
    """Values of a unit's rows: their names, and which of them each row has."""
    values = unit.read([column]).column(0).combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # more text than one chunk can hold
        values = pa.concat_arrays(values.cast(pa.large_string()).chunks)
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    indices = values.indices.cast(pa.int64()).fill_null(len(values.dictionary)).to_numpy()
    used = np.flatnonzero(np.bincount(indices))  # a dictionary may name what no row has, and far too much of it
    if used.size > MOST_SLICES:
        raise _too_many(f"{where}: column '{column}'")
    named = values.dictionary.take(pa.array(used[used < len(values.dictionary)])).cast(pa.large_string()).to_pylist()
    return [*named, None] if values.indices.null_count else named, np.searchsorted(used, indices)


def _too_many(what: str) -> InputError:
    return InputError(
        f"{what} has more than {MOST_SLICES} values", "every slice takes labels of its own: use a coarser column"
    )


def _codes_of(names: list[str | None], code_of: dict[str | None, int], what: str) -> UInt8Array:
    """Code of each name; new ones are numbered on, as far as there may be."""
    for name in names:
        if name not in code_of:
            if len(code_of) == MOST_SLICES:
                raise _too_many(what)
            code_of[name] = len(code_of)
    return np.array([code_of[name] for name in names], np.uint8)


def _largest_first(names: Sequence[str], counts: Int64Array, codes: UInt8Array) -> Slices:
    """Number the slices by size, those that are alike by name: whatever order they were met in."""
    order = sorted(range(len(names)), key=lambda code: (-int(counts[code]), names[code]))
    table = np.zeros(len(names), np.uint8)
    table[order] = np.arange(len(order), dtype=np.uint8)
    for first in range(0, codes.size, _BLOCK):
        codes[first : first + _BLOCK] = table[codes[first : first + _BLOCK]]
    return Slices(tuple(names[code] for code in order), counts[order], codes)
