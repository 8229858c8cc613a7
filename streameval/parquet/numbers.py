"""Take wanted numbers out of plain pages, and out of pages of packed differences, many pages at once.

All values of a page are needed to hold it against what is stated of it; but Arrow wants a file of its own for pages and
makes a table of them, which takes longer than decoding. Nulls, other types and encodings are left to Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streameval.kernels import page_header as headers
from streameval.kernels import plain_pages as plain
from streameval.kernels.codecs import SLACK
from streameval.kernels.deltas import delta_pages
from streameval.kernels.jit import worth_compiling
from streameval.parquet.check_values import all_keep
from streameval.parquet.checks import DATA_PAGE
from streameval.parquet.chunks import UnfitError
from streameval.parquet.codecs import LZ4
from streameval.parquet.pages import BEGIN, END, FIRST, Run
from streameval.parquet.statistics import NUMBERS, number_type
from streameval.parquet.wanted_pages import plain_bodies
from streameval.typing import AnyArray, Int64Array

_DELTA_BINARY_PACKED = 5
_PAGE = 1e-4  # seconds that Arrow takes longer for a page
# wanted values, and the smallest and the largest of each page
_NumbersTaken = tuple[AnyArray, AnyArray, AnyArray]


def fit(runs: Sequence[Run]) -> bool:
    """Whether these are pages of numbers at the top level, of version 1 and encoded alike, and kernels are worth it."""
    leaf = runs[0].pages.chunks.leaf
    if len(leaf.path) > 1 or leaf.max_rep or leaf.max_def > 1 or leaf.physical not in NUMBERS:
        return False
    kind, stored = _types(runs[0])
    whole = pa.types.is_integer(kind) and kind.bit_width <= 8 * stored.itemsize
    heads = np.concatenate([run.heads for run in runs])
    if not whole and kind not in (pa.float32(), pa.float64()):
        return False
    kinds, encoding = heads[:, headers.PAGE_TYPE], heads[:, headers.ENCODING]
    known = encoding[0] == plain.PLAIN or (encoding[0] == _DELTA_BINARY_PACKED and kind == pa.int64())
    alike = np.all(kinds == DATA_PAGE) and np.all(encoding == encoding[0])
    single = all(len(run.codecs) == 1 for run in runs)
    kernel = plain.chunk_numbers if encoding[0] == plain.PLAIN else delta_pages
    return bool(known and alike and single and worth_compiling(_PAGE * len(heads), kernel))


def _types(run: Run) -> tuple[pa.DataType, np.dtype[np.generic]]:
    """Type of the column, and that of numbers as they are stored."""
    chunks = run.pages.chunks
    kind = chunks.footer.schema.field(chunks.leaf.path[0]).type
    return kind, number_type(NUMBERS[chunks.leaf.physical], kind)


def take(runs: Sequence[Run]) -> pa.Array | None:
    """Take wanted numbers; None where some are null, pages damaged, or statements broken."""
    kind, stored = _types(runs[0])
    counted = np.concatenate([run.heads[:, headers.PAGE_VALUES] for run in runs])
    read = _plain if runs[0].heads[0, headers.ENCODING] == plain.PLAIN else _packed
    try:
        found = read(runs, stored) if counted.min() > 0 else None
    except (pa.ArrowException, OSError, UnfitError):
        return None
    if found is None:
        return None
    values, low, high = found
    narrow = np.dtype(kind.to_pandas_dtype())
    if narrow.kind in "iu" and not np.iinfo(narrow).min <= low.min() <= high.max() <= np.iinfo(narrow).max:
        return None
    told = [(len(run.heads), run.stated) for run in runs]
    return pa.array(values.astype(narrow)) if all_keep(low, high, told) else None


def _plain(runs: Sequence[Run], stored: np.dtype[np.generic]) -> _NumbersTaken | None:
    counted = np.concatenate([run.heads[:, headers.PAGE_VALUES] for run in runs])
    values, done, at = np.empty(int(counted.sum()), stored), 0, []
    told, room = _told(runs, stored.itemsize)
    for run in runs:
        raw, heads = plain_bodies(run)
        at.append(run.pages.positions + done)
        told[plain.IS_LZ4] = LZ4 in run.codecs
        done = int(plain.chunk_numbers(raw, heads, told, room, done, values.view(np.uint8)))
        if done < 0:
            return None
    begin = np.cumsum(counted) - counted
    return values[np.concatenate(at)], np.minimum.reduceat(values, begin), np.maximum.reduceat(values, begin)


def _packed(runs: Sequence[Run], stored: np.dtype[np.generic]) -> _NumbersTaken | None:
    values, ends = list[AnyArray](), list[Int64Array]()
    told, room = _told(runs, stored.itemsize)
    for run in runs:
        raw, heads = plain_bodies(run)
        told[plain.IS_LZ4] = LZ4 in run.codecs
        places, wanted = run.pages.places, run.pages.wanted
        begin, end = int(places[0, BEGIN]), int(places[-1, END])
        spans = np.stack([places[:, FIRST], places[:, BEGIN] - begin, places[:, END] - begin], axis=1)
        found = wanted[begin:end].copy()
        if delta_pages(raw, heads, told, room, spans, found) < 0:
            return None
        values.append(found)
        ends.append(spans[:, :2])
    low, high = np.concatenate(ends).T
    return np.concatenate(values), low, high


def _told(runs: Sequence[Run], width: int) -> tuple[Int64Array, AnyArray]:
    """What kernels are told of the pages, but for their codec, and room for the largest of them."""
    told = np.zeros(plain.N_TOLD, np.int64)
    told[plain.OPTIONAL], told[plain.WIDTH] = runs[0].pages.chunks.leaf.max_def, width
    largest = max(int(run.heads[:, headers.PAGE_UNCOMPRESSED].max()) for run in runs)
    return told, np.empty(largest + SLACK, np.uint8)
