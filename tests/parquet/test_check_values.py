"""What a file states of its values, held against all of them at once: as page by page, with plain Python."""

import datetime
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from streameval.errors import InputError
from streameval.kernels import parquet as kernels
from streameval.parquet.statistics import Statistics, check_values, unproven_of

ROWS = [3, 1, 4, 2]
FIRST = np.cumsum(ROWS) - ROWS
DAY = datetime.date(2026, 1, 1)
# physical type, type of its bounds, values
KINDS = {
    "int8": (1, "<i4", pa.array([-5, 3, 7, 0, 1, 1, 9, -2, 4, 4], pa.int8())),
    "uint32": (1, "<u4", pa.array([2**31 + i for i in range(10)], pa.uint32())),
    "int64": (2, "<i8", pa.array([(-3) ** i for i in range(10)], pa.int64())),
    "float": (4, "<f4", pa.array([0.5 * i - 2 for i in range(10)], pa.float32())),
    "double with NaN": (5, "<f8", pa.array([float("nan"), 1.5, -2, 3, 1, 2, 3, 8, 9, 10], pa.float64())),
    "date": (1, "<i4", pa.array([DAY + datetime.timedelta(i % 4) for i in range(10)], pa.date32())),
    "bool": (0, "<i1", pa.array([i % 3 == 0 for i in range(10)])),
    "int32 with nulls": (1, "<i4", pa.array([1, None, 3, 4, 5, None, 7, 8, 9, 10], pa.int32())),
}


def plain(values):
    shown = values.cast(pa.int32()).to_pylist() if pa.types.is_date32(values.type) else values.to_pylist()
    return [one for one in shown if one is not None and one == one]


def stated(kind, page=None, end=None, by=0):
    """Statistics that hold, but for one bound of one page, moved inwards by some amount, or its number of nulls."""
    _, number, values = KINDS[kind]
    raw, told = b"", np.empty((4, kernels.N_STATED), np.int64)
    for i, (at, n) in enumerate(zip(FIRST.tolist(), ROWS, strict=True)):
        part = plain(values.slice(at, n))
        ends = [min(part) + by * (i == page and end == 0), max(part) - by * (i == page and end == 1)]
        size = np.dtype(number).itemsize
        nulls = values.slice(at, n).null_count + (i == page and end == 2)
        told[i] = nulls, len(raw), size, len(raw) + size, size
        raw += b"".join(np.array(int(one) if number[1] != "f" else one).astype(number).tobytes() for one in ends)
    return Statistics("pages", FIRST, np.array(ROWS), memoryview(raw), told)


def check(kind, pages, first=0, end=10):
    physical, _, values = KINDS[kind]
    leaf = SimpleNamespace(physical=physical)
    check_values(pa.chunked_array([values.slice(first, end - first)]), first, [pages], leaf, "here")


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_of_pages_that_hold_are_believed_of_all_rows_and_of_parts(kind):
    for first in range(10):
        for end in range(first + 1, 11):
            check(kind, stated(kind), first, end)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("page", range(4))
@pytest.mark.parametrize("end", range(3))
def test_one_page_that_lies_is_found(kind, page, end):
    if kind == "bool" and end < 2:
        pytest.skip("there is nothing between false and true")
    lying = stated(kind, page, end, 1)
    with pytest.raises(InputError, match=r"here: .* pages say"):
        check(kind, lying)


@pytest.mark.parametrize("kind", KINDS)
def test_a_chunk_that_lies_is_found_by_the_ends_of_its_pages(kind):
    physical, number, values = KINDS[kind]
    low = np.array(min(plain(values))).astype(number).tobytes()
    fields = np.array([[values.null_count, kernels.ABSENT, kernels.ABSENT, 0, len(low)]])
    told = [stated(kind), Statistics("its statistics", np.array([0]), np.array([10]), memoryview(low), fields)]
    with pytest.raises(InputError, match="its statistics say None to"):
        check_values(pa.chunked_array([values]), 0, told, SimpleNamespace(physical=physical), "here")


@pytest.mark.parametrize("kind", [name for name in KINDS if "null" not in name and "NaN" not in name])
def test_pages_of_several_chunks_are_held_together(kind):
    physical, _, values = KINDS[kind]
    leaf = SimpleNamespace(physical=physical)
    both, first = pa.chunked_array([pa.concat_arrays([values.slice(3, 5), values.slice(0, 3)])]), np.array([0, 1, 5])

    def of(i, page, *lies):
        return replace(stated(kind, page, *lies).chosen(slice(page, page + 1)), first=first[i : i + 1])

    def told(one):
        return one.first.tolist(), one.raw.tobytes(), one.fields.tolist()

    def unproven(pages):
        return list(map(told, unproven_of(both, 0, [one for page in pages for one in page], leaf)))

    pages = [[of(0, 1)], [of(1, 2), of(1, 2)], [of(2, 0)]]
    assert unproven(pages) == []
    for i, end in product(range(3), range(2 * (kind == "bool"), 3)):
        lie = of(i, [1, 2, 0][i], end, 1)
        lying = [[*one, lie] if i == page else one for page, one in enumerate(pages)]
        assert unproven(lying) == [told(lie)]
    short = of(0, 1).fields.copy()
    short[:, kernels.LOW_SIZE] = 3
    assert len(unproven([[replace(of(0, 1), fields=short)]])) == 1  # of another length
    silent = of(0, 1).fields.copy()
    silent[:, kernels.LOW_AT :] = kernels.ABSENT
    assert unproven([[replace(of(0, 1), fields=silent)], pages[2]]) == []
