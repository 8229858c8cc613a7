"""Wanted numbers of pages: as Arrow reads whole columns, and none where something is amiss with their page."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streameval.errors import InputError
from streameval.kernels import page_header as headers
from streameval.kernels.check_chunks import FLIP, SIGNED
from streameval.kernels.jit import read_only
from streameval.kernels.wanted_pages import take_numbers
from streameval.parquet import numbers
from streameval.rows import open_rows
from streameval.rows.options import RankingOptions

N = 3000
KINDS = [pa.int8(), pa.uint8(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()]
OPTIONS = {"use_dictionary": False, "max_rows_per_page": 500, "write_page_index": True}


def values(kind):
    """Numbers of a type, its extremes among them; of floating ones both zeros and both infinities."""
    narrow, rng = np.dtype(kind.to_pandas_dtype()), np.random.default_rng(3)
    if narrow.kind == "f":
        found = rng.normal(0, 1e9, N).astype(narrow)
        found[[1, 700, 1300, 1301, 2999]] = [-np.inf, np.inf, -0.0, 0.0, np.finfo(narrow).tiny]
        found[1500:2000] = -np.abs(found[1500:2000])
        return found
    ends = np.iinfo(narrow)
    found = rng.integers(ends.min, ends.max, N, narrow, endpoint=True)
    found[[1, 700]] = ends.min, ends.max
    return found


@pytest.fixture
def taken(monkeypatch):
    """Whether kernels took each column that was read."""
    found, take = [], numbers.take

    def told(runs):
        found.append(take(runs))
        return found[-1]

    monkeypatch.setattr(numbers, "is_small", lambda steps: False)
    monkeypatch.setattr(numbers, "take", told)
    return found


@pytest.mark.parametrize("compression", ["none", "lz4", "snappy"])
@pytest.mark.parametrize("nullable", [False, True])
def test_wanted_numbers_are_those_of_the_columns(tmp_path, taken, compression, nullable):
    columns = {str(kind): pa.array(values(kind), kind) for kind in KINDS}
    table = pa.table(columns, pa.schema([pa.field(name, of.type, nullable) for name, of in columns.items()]))
    # pages of 77 rows: where levels precede them, numbers begin at bytes that are no multiple of their width
    pq.write_table(table, tmp_path / "list.parquet", row_group_size=800, compression=compression,
                   **OPTIONS | {"max_rows_per_page": 77})  # fmt: skip
    wanted = np.unique([0, 1, 76, 77, 700, 799, 800, 1300, 1301, 1999, 2000, N - 1])
    rows = open_rows(str(tmp_path / "list.parquet"), RankingOptions(threads=1))
    found = rows.take(wanted, list(columns)).table
    for name, of in columns.items():
        assert found.column(name).to_numpy().tobytes() == of.to_numpy()[wanted].tobytes(), name
    assert len(taken) == len(KINDS)
    assert all(one is not None for one in taken)


@pytest.mark.parametrize("nan", [np.nan, -np.nan])
def test_pages_with_a_nan_are_left_to_others(tmp_path, taken, nan):
    scores = np.linspace(0, 1, N)
    scores[70] = nan
    pq.write_table(pa.table({"score": scores}), tmp_path / "list.parquet", **OPTIONS)
    found = open_rows(str(tmp_path / "list.parquet"), RankingOptions()).take(np.array([70, 71]), ["score"]).table
    assert found.column("score").to_numpy().tobytes() == scores[[70, 71]].tobytes()
    assert taken == [None]


def test_a_number_beyond_what_is_stated_is_refused_wherever_it_is_stated(tmp_path, taken):
    """In statistics of the chunk, of its index and of the page; old fields, whose order was never said, say nothing."""
    ids = np.arange(2**40, 2**40 + N)
    pq.write_table(pa.table({"id": ids}), tmp_path / "list", compression="none", **OPTIONS)
    whole, (first, other) = (tmp_path / "list").read_bytes(), ((2**40).to_bytes(8, "little"), bytes([*[255] * 7, 0]))
    places, refused = [at for at in range(len(whole)) if whole[at : at + 8] == first], 0
    for number, at in enumerate(places):
        path = tmp_path / f"{number}.parquet"
        path.write_bytes(whole[:at] + other + whole[at + 8 :])
        try:
            found = open_rows(str(path), RankingOptions()).take(np.array([1]), ["id"]).table
        except InputError:
            refused += 1
        else:
            assert found.column("id").to_pylist() == [ids[1]]
    assert refused >= 3
    assert sum(one is None for one in taken) == refused


@pytest.mark.parametrize("kind", KINDS[2:], ids=str)
def test_the_ends_of_a_page_are_its_smallest_and_its_largest_number(kind):
    stored = values(kind)
    physical = {"i4": 1, "u4": 1, "i8": 2, "u8": 2, "f4": 4, "f8": 5}[stored.dtype.str[1:]]
    told = numbers._numbers(physical, kind, 0)
    heads, places = np.zeros((3, headers.N_HEADER + 2), np.int64), np.zeros((3, 7), np.int64)
    for page, (begin, end) in enumerate(((0, 10), (1300, 1302), (1500, 2000))):
        heads[page, [headers.PAGE_VALUES, headers.PAGE_COMPRESSED]] = end - begin, (end - begin) * stored.itemsize
        heads[page, headers.N_HEADER + 1] = begin * stored.itemsize
    keys, nothing = np.empty((3, 2), np.int64), np.empty(0, np.int64)
    raw = read_only(np.frombuffer(stored.tobytes(), np.uint8))
    assert take_numbers(raw, heads, places, told.told, keys, nothing, nothing) == -1
    pages = [stored[0:10], stored[1300:1302], stored[1500:2000]]
    flip, signed = told.told_of_keys[[FLIP, SIGNED]]
    bits = keys ^ flip ^ (keys >> 63 & signed)  # they are made of keys as keys are of them
    low, high = bits.T.astype(stored.dtype.str.replace(stored.dtype.kind, "i")).view(stored.dtype)
    assert (low.tolist(), high.tolist()) == ([page.min() for page in pages], [page.max() for page in pages])
