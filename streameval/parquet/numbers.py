"""Take wanted numbers out of plain pages, and out of pages of packed differences, many pages at once.

All values of a page are needed to hold it against what is stated of it; but Arrow wants a file of its own for pages and
makes a table of them, which takes longer than decoding. Nulls, other types and encodings are left to Arrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
import pyarrow as pa

from streameval.kernels import page_header as headers
from streameval.kernels import parquet
from streameval.kernels import plain_pages as plain
from streameval.kernels import wanted_pages as kernels
from streameval.kernels.check_chunks import FLIP, SIGNED
from streameval.kernels.jit import is_small, read_only
from streameval.kernels.page_index import BEGIN, END, ROWS
from streameval.parquet.checks import BODY, DATA_PAGE
from streameval.parquet.chunks import UnfitError
from streameval.parquet.pages import Run, stated_of
from streameval.parquet.statistics import NUMBERS, key_rule_of, keys_of, number_type, unproven_keys
from streameval.typing import AnyArray, Int64Array, UInt8Array

_PAGE = 100  # steps: Arrow takes a ten-thousandth of a second longer


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Numbers as kernels take them.

    Attributes:
        stored, narrow: Types as they are stored, and of the column.
        told: See `streameval.kernels.wanted_pages.take_numbers`.
        told_of_keys: See `streameval.kernels.check_chunks.keep_to`.
        least, most: Keys of the smallest and the largest number of the column.
    """

    stored: np.dtype[np.generic]
    narrow: np.dtype[np.generic]
    told: Int64Array
    told_of_keys: Int64Array
    least: int
    most: int


@lru_cache(maxsize=64)
def _numbers(physical: int, kind: pa.DataType, max_def: int) -> _Numbers | None:
    """Numbers of a column; None where kernels do not know them."""
    stored = number_type(NUMBERS[physical], kind)
    whole = pa.types.is_integer(kind) and kind.bit_width <= 8 * stored.itemsize
    if not whole and kind not in (pa.float32(), pa.float64()):
        return None
    coding, of_keys = np.zeros(plain.N_TOLD + 2, np.int64), key_rule_of(stored)
    coding[plain.OPTIONAL], coding[plain.WIDTH] = max_def, stored.itemsize
    coding[[kernels.FLIP, kernels.NEGATIVE]] = of_keys[[FLIP, SIGNED]]
    narrow = np.dtype(f"{stored.kind}{kind.bit_width // 8}")
    ends = (-np.inf, np.inf) if stored.kind == "f" else (np.iinfo(narrow).min, np.iinfo(narrow).max)
    return _Numbers(stored, narrow, coding, of_keys, *keys_of(np.array(ends, stored), of_keys).tolist())


def take(runs: Sequence[Run]) -> pa.Array | None:
    """Take wanted numbers of one leaf.

    Returns:
        pyarrow.Array or None: Of the column's type. None where kernels are not worth it, some pages hold anything but
            numbers at the top level as kernels know them, are damaged, or break what is stated of them.
    """
    leaf = runs[0].pages.chunks.leaf
    kind, encoding = runs[0].heads[0, [headers.PAGE_TYPE, headers.ENCODING]].tolist()
    if len(leaf.path) > 1 or leaf.max_rep or leaf.max_def > 1 or leaf.physical not in NUMBERS or kind != DATA_PAGE:
        return None
    numbers = _numbers(leaf.physical, runs[0].pages.chunks.footer.schema.field(leaf.path[0]).type, leaf.max_def)
    is_decodable = numbers is not None and encoding in (plain.PLAIN, kernels.DELTA_BINARY_PACKED)
    pages = sum(len(run.heads) for run in runs)
    if numbers is None or not is_decodable or is_small(_PAGE * pages):
        return None
    try:
        bits = _of_runs(runs, numbers)
    except (pa.ArrowException, OSError, UnfitError):
        return None
    return pa.array(bits.view(numbers.stored).astype(numbers.narrow, copy=False))


def _of_runs(runs: Sequence[Run], numbers: _Numbers) -> AnyArray:
    """Bits of wanted numbers; an `UnfitError` where a page is unusual or amiss."""
    places, wanted = np.concatenate([run.pages.places for run in runs]), np.concatenate([run.pages.own for run in runs])
    count = places[:, END] - places[:, BEGIN]
    places[:, END] = np.cumsum(count)
    places[:, BEGIN] = places[:, END] - count
    keys, bits, page = np.empty((len(places), 2), np.int64), np.empty(wanted.size, np.int64), 0
    for bodies, heads in chain.from_iterable(map(_plain_bodies, runs)):
        span = slice(page, page + len(heads))
        page = span.stop
        if kernels.take_numbers(read_only(bodies), heads, places[span], numbers.told, keys[span], wanted, bits) >= 0:
            raise UnfitError("they are not known to be sound numbers")
    low, high = np.ascontiguousarray(keys.T)
    inside = low.min() >= numbers.least and high.max() <= numbers.most  # NaN is not
    first = np.cumsum(places[:, ROWS]) - places[:, ROWS]
    if not inside or unproven_keys(first, low, high, numbers.told_of_keys, stated_of(runs)):
        raise UnfitError("they are not known to be what is stated of them")
    return bits.astype(f"i{numbers.stored.itemsize}", copy=False)


def _plain_bodies(run: Run) -> Iterator[tuple[UInt8Array, Int64Array]]:
    """Bodies of data pages, decompressed, and headers with their places; an `UnfitError` where that cannot be done.

    Compressed ones come one by one: to put them behind one another takes new memory, and longer than many calls.
    """
    if not run.pages.chunks.facts[:, parquet.CODEC].any():
        yield run.body, run.heads
        return
    heads = run.heads.copy()
    heads[:, BODY], heads[:, headers.PAGE_COMPRESSED] = 0, heads[:, headers.PAGE_UNCOMPRESSED]
    for page, body in enumerate(run.bodies()):
        yield np.frombuffer(body, np.uint8), heads[page : page + 1]
