"""Pages of packed differences: wanted values and ends as Arrow decodes them, and nothing from damaged pages."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streameval.kernels import deltas
from streameval.kernels import page_header as headers
from streameval.kernels.thrift import varint, zigzag
from streameval.parquet import numbers
from streameval.rows import open_rows
from streameval.rows.options import RankingOptions

take_deltas = deltas.take_deltas.plain()  # no verb calls it by itself: nothing has compiled it
KINDS = {
    "any 64 bits": lambda rng, n: rng.integers(-(2**63), 2**63 - 1, n),
    "59 bits": lambda rng, n: rng.integers(0, 2**58, n),
    "30 bits": lambda rng, n: rng.integers(0, 2**30, n),
    "steps of one": lambda rng, n: np.arange(n) - 7,
    "all the same": lambda rng, n: np.full(n, 5),
}


def _page(folder, values):
    """Body of the one page that holds the values, and where they begin in it."""
    path = folder / "page.parquet"
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    encoding = {"use_dictionary": False, "column_encoding": {"id": "DELTA_BINARY_PACKED"}, "compression": "none"}
    pq.write_table(pa.table({"id": values}, schema), path, max_rows_per_page=values.size, **encoding)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    raw = np.frombuffer(path.read_bytes(), np.uint8)[chunk.data_page_offset :][: chunk.total_compressed_size]
    pages = np.empty((4, headers.N_HEADER + 2), np.int64)
    assert headers.page_headers(raw, values.size, pages) == 1
    return raw[pages[0, headers.N_HEADER + 1] :].copy()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 33, 1000])
def test_wanted_values_and_ends_are_those_of_the_page(tmp_path, kind, n):
    rng = np.random.default_rng(n)
    values = KINDS[kind](rng, n).astype(np.int64)
    raw, ends = _page(tmp_path, values), np.empty(2, np.int64)
    for rows in (np.arange(n), np.array([n - 1]), np.unique(rng.integers(0, n, 5)), np.array([0])):
        found = np.empty(rows.size, np.int64)
        with np.errstate(over="ignore"):  # differences of 64 bits wrap around
            assert take_deltas(raw, 0, n, rows, found, ends) == 0
        assert found.tolist() == values[rows].tolist()
        assert ends.tolist() == [values.min(), values.max()]


def test_a_damaged_page_gives_nothing(tmp_path):
    values = np.random.default_rng(1).integers(0, 2**40, 500)
    raw, found, ends = _page(tmp_path, values), np.empty(1, np.int64), np.empty(2, np.int64)
    rows = np.array([499])
    assert take_deltas(raw, 0, 501, rows, found, ends) == -1  # another number of values
    for size in range(0, raw.size - 64, 37):
        assert take_deltas(raw[:size].copy(), 0, 500, rows, found, ends) == -1
    for at in range(12):  # whatever a header says, nothing is read beyond the page
        broken = raw.copy()
        broken[at] ^= 0xFF
        take_deltas(broken, 0, 500, rows, found, ends)


@pytest.mark.parametrize("nulls", [0, 3])
def test_items_are_the_same_by_either_way(tmp_path, monkeypatch, nulls):
    """Those with nulls are left to Arrow."""
    n = 20_000
    ids = pa.array(np.random.default_rng(2).permutation(n), mask=np.arange(n) % n < nulls)
    encoding = {"use_dictionary": False, "column_encoding": {"id": "DELTA_BINARY_PACKED"}, "compression": "lz4"}
    pq.write_table(pa.table({"id": ids}), tmp_path / "list.parquet", max_rows_per_page=5000, write_page_index=True,
                   **encoding)  # fmt: skip
    rows, wanted = open_rows(str(tmp_path / "list.parquet"), RankingOptions()), np.arange(0, n, 4321)
    taken, took = [], numbers.take
    monkeypatch.setattr(numbers, "is_small", lambda steps: False)
    monkeypatch.setattr(numbers, "take", lambda *given: taken.append(took(*given)) or taken[-1])
    assert rows.take(wanted, ["id"]).table.column("id").to_pylist() == ids.take(pa.array(wanted)).to_pylist()
    assert taken
    assert any(one is None for one in taken) == (nulls > 0)


@pytest.mark.parametrize(("last", "number"), [(0, -(2**62)), (1, -(2**63)), (2, None), (0x7F, None), (0x80, None)])
def test_a_number_beyond_64_bits_is_damage(last, number):
    """Arrow refuses it too; its highest bits were dropped."""
    raw = np.array([*[255] * 9, last, 0], np.uint8)
    value, at = zigzag.plain()(raw, 0)
    assert (at, varint.plain()(raw, 0)[1]) == ((10, 10) if number is not None else (-1, -1))
    assert number is None or value == number
