"""A ranking as a lazy frame: the rows are those of the loaded list, and only what a query asks for is read."""

import decimal
import os
import pickle
import shutil
from contextlib import contextmanager
from functools import reduce
from operator import and_, or_, xor

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parquet_tables import pages_of
from suite_cases import cases, examples
from test_cut import ORDERS, lake  # noqa: F401  (a fixture)

import streameval
from streameval.errors import InputError
from streameval.rankings import lazy_frame
from streameval.rankings.top_items import ItemReader
from streameval.rows.options import RankingOptions
from streameval.rows.parquet import ParquetRows

RANK, CONF = pl.col("rank"), pl.col("conf")
N = 40_000
WINDOWS = [*range(1, 100), *range(9_000, 9_050), 31_000, 39_999]


@contextmanager
def small_batches():
    """Little is read at once, so that there are many batches."""
    with pytest.MonkeyPatch.context() as patch:
        for name, rows in {
            "top_items._MOST_ROWS": 900,
            "top_items._FIRST_ROWS": 90,
            "lazy_frame._READ_TOGETHER": 900,
        }.items():
            patch.setattr(f"streameval.rankings.{name}", rows)
        yield


@pytest.fixture(scope="module")
def frames(lake):  # noqa: F811
    """Of each order, the lazy frame and all its rows."""
    found = {name: streameval.scan_ranking(str(lake[0]), options=options) for name, options in ORDERS.items()}
    with small_batches():
        return {name: (frame, frame.collect()) for name, frame in found.items()}


@pytest.mark.parametrize("name", cases(ORDERS, "stored", "ascending", "key"))
def test_the_rows_are_those_that_a_fetch_of_their_ranks_brings(lake, frames, name):  # noqa: F811
    ranking = streameval.open_ranking(str(lake[0]), ORDERS[name])
    frame, rows = frames[name]
    fetched = ranking.fetch(np.arange(1, lake[1] + 1), ranking.columns()).table
    assert rows.columns == ["rank", *(one if one != "rank" else "rank_item" for one in ranking.columns())]
    assert rows["rank"].to_list() == fetched["rank"].to_pylist()
    for mine, column in zip(rows.columns[1:], fetched.columns[-len(ranking.columns()) :], strict=True):
        assert rows[mine].to_list() == column.to_pylist(), mine
    assert frame.collect_schema() == rows.schema


NUMBERS = st.integers(-5, 3_100) | st.floats(-5, 3_100) | st.sampled_from([np.inf, -np.inf, np.nan, 2**40, None])
LEAVES = st.one_of(
    st.builds(lambda x, name: getattr(RANK, name)(x), NUMBERS, st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"])),
    st.builds(lambda x: pl.lit(x) < RANK, st.integers(-5, 3_100)),
    st.builds(
        lambda a, b, closed: RANK.is_between(a, b, closed=closed),
        *[st.integers(-5, 3_100) | st.floats(-5, 3_100)] * 2,
        st.sampled_from(["both", "left", "right", "none"]),
    ),
    st.builds(RANK.is_in, st.lists(st.integers(-5, 3_100) | st.none(), max_size=9)),
    st.builds(
        lambda ranks, kind: RANK.is_in(pl.Series(ranks, dtype=kind).implode()),
        st.lists(st.integers(0, 3_100), min_size=1, max_size=200),
        st.sampled_from([pl.Int64, pl.UInt64, pl.Int16]),
    ),
    st.builds(lambda x, y: RANK % x == y, st.integers(1, 9), st.integers(0, 3)),
    st.builds(lambda x: RANK.cast(pl.Int32) * 2 - 1 < x, st.integers(0, 6_000)),
    st.builds(lambda x: RANK.eq_missing(x), st.integers(1, 3_000)),
    st.builds(lambda x: pl.when(x > RANK).then(None).otherwise(CONF > 0.5), st.integers(0, 3_100)),
    st.builds(lambda x: x < CONF, st.sampled_from([0.0, 0.5, 0.9])),
    st.sampled_from([pl.col("text").is_null(), pl.col("id") < RANK, pl.col("rank_item") == 3, RANK.is_null()]),
)
CONDITIONS = st.recursive(
    LEAVES, lambda some: st.builds(lambda a, b, by: by(a, b), some, some, st.sampled_from([and_, or_, xor])) | some.map(
        lambda a: ~a
    ), max_leaves=8
)  # fmt: skip
STEPS = st.one_of(
    CONDITIONS.map(lambda condition: ("filter", condition)),
    st.integers(0, 50).map(lambda n: ("head", n)),
    st.integers(0, 50).map(lambda n: ("tail", n)),
    st.tuples(st.integers(-60, 3_100), st.integers(0, 60)).map(lambda run: ("slice", *run)),
)
COLUMNS = st.lists(st.sampled_from(["rank", "id", "text", "rank_item", "day"]), unique=True, min_size=1) | st.none()


@pytest.mark.filterwarnings("ignore:Comparisons with None:UserWarning")  # what Polars says of it, here on purpose
@settings(max_examples=examples(12, 100))
@given(
    st.sampled_from(["stored", "stored", "key"]),
    st.lists(STEPS, max_size=3),
    COLUMNS,
    st.sampled_from(["in-memory", "streaming"]),
)
def test_queries_give_what_the_loaded_list_gives(frames, name, steps, columns, engine):
    def asked(frame):
        for step, *what in steps:
            frame = getattr(frame, step)(*what)
        return (frame if columns is None else frame.select(columns)).collect(engine=engine)

    frame, rows = frames[name]
    with small_batches():
        found = asked(frame)
    assert found.equals(asked(rows.lazy()))


def test_joins_groups_and_counts_are_those_of_polars(frames):
    frame, rows = frames["score"]
    labels = pl.LazyFrame({"rank": [3, 5, 3_001], "label": [1, 0, 1]})
    assert frame.join(labels, on="rank").select("rank", "label").sort("rank").collect().rows() == [(3, 1), (5, 0)]
    assert frame.select(pl.len()).collect().item() == rows.height
    counted = frame.group_by("day").len().sort("day").collect()
    for by in ("id", "rank"):
        best = frame.filter(RANK > 5).sort(by, descending=True).head(3).collect()
        assert best.equals(rows.lazy().filter(RANK > 5).sort(by, descending=True).head(3).collect())
    assert counted.equals(rows.lazy().group_by("day").len().sort("day").collect())


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "list.parquet"
    rng = np.random.default_rng(1)
    table = pa.table(
        {"id": rng.permutation(N), "conf": rng.random(N), "label": rng.integers(0, 2, N), "text": ["x" * 50] * N}
    )
    pages = {"write_page_index": True, "use_dictionary": False, **pages_of(500)}
    pq.write_table(table, path, row_group_size=10_000, **pages)
    return str(path)


@pytest.fixture
def read(monkeypatch):
    """What is read while a test runs: (ranks, columns) of each time that items are."""
    seen = []
    read_ranks = ItemReader.read_ranks
    monkeypatch.setattr(
        ItemReader,
        "read_ranks",
        lambda self, ranks: seen.append((ranks.tolist(), self.columns)) or read_ranks(self, ranks),
    )
    return seen


UNDERSTOOD = {
    "is_in": (RANK.is_in(WINDOWS), WINDOWS),
    "is_in of a series": (RANK.is_in(pl.Series(WINDOWS).implode()), WINDOWS),
    "is_between": (RANK.is_between(500, 502), [500, 501, 502]),
    "half open": (RANK.is_between(500, 502, closed="none"), [501]),
    "comparisons": ((RANK > 7) & (RANK <= 9), [8, 9]),
    "equality": (RANK == 8, [8]),
    "floats": (RANK < 0.0001 * N, [1, 2, 3]),
    "windows": (reduce(or_, [RANK.is_between(g, g + 1) for g in (1, 10, 100)]), [1, 2, 10, 11, 100, 101]),
    "not": (~(RANK > 2), [1, 2]),
    "beside another": ((CONF > 0.5) & (RANK < 4), [1, 2, 3]),
    "or beside another": (((CONF > 0.5) & (RANK < 4)) | (RANK == 7), [1, 2, 3, 7]),
    "systematic": (RANK % 10_000 == 1, [1, 10_001, 20_001, 30_001]),
    "none": (RANK > N, []),
}


@pytest.mark.parametrize("name", UNDERSTOOD)
@pytest.mark.parametrize("options", [{}, {"score": "conf"}])
def test_ranks_that_a_condition_rules_out_are_not_read(stored, read, name, options):
    condition, ranks = UNDERSTOOD[name]
    streameval.scan_ranking(stored, **options).filter(condition).select("id").collect()
    assert [rank for some, _ in read for rank in some] == ranks
    needed = {"id", "conf"} if "another" in name else {"id"}
    assert all({*columns} == needed for _, columns in read)


@pytest.fixture
def bytes_read(monkeypatch):
    """Bytes of each time that rows are read page by page."""
    seen = []
    take = ParquetRows.take

    def counted(self, *given):
        taken = take(self, *given)
        seen.append(taken.bytes_read)
        return taken

    monkeypatch.setattr(ParquetRows, "take", counted)
    return seen


@pytest.mark.parametrize("options", [{}, {"score": "conf"}])
def test_what_is_read_is_what_a_fetch_reads(stored, bytes_read, options):
    ranking = streameval.open_ranking(stored, RankingOptions(**options))
    frame = streameval.scan_ranking(stored, **options)
    frame.collect_schema()
    bytes_read.clear()
    found = frame.filter(RANK.is_in(WINDOWS)).select("id").collect()
    mine = [*bytes_read]
    fetched = ranking.fetch(np.array(WINDOWS), ["id"])
    assert found["id"].to_list() == fetched.table["id"].to_pylist()
    assert sum(mine) == fetched.bytes_read < os.path.getsize(stored) / (2 if options else 5)


def test_the_first_rows_of_a_long_list_are_those_of_its_first_page(stored, bytes_read, read):
    frame = streameval.scan_ranking(stored)
    assert frame.head(7).collect().height == 7
    assert [len(ranks) for ranks, _ in read] == [7]
    assert sum(bytes_read) < os.path.getsize(stored) / 5
    assert frame.filter(RANK > 39_000).head(7).collect(engine="streaming")["rank"].to_list() == [*range(39_001, 39_008)]


def test_ranks_alone_are_not_read_at_all(stored, read):
    frame = streameval.scan_ranking(stored)
    assert frame.filter(RANK % 2 == 0).select("rank").collect().height == N // 2
    assert frame.select(pl.len()).collect().item() == N
    assert read == []


def test_rows_are_read_in_batches_that_fit_the_memory(tmp_path, monkeypatch):
    """The first row is short, and tells nothing of the others."""
    sizes = []
    made = lazy_frame._frame
    monkeypatch.setattr(lazy_frame, "_frame", lambda *given: sizes.append(given[2].nbytes) or made(*given))
    path = tmp_path / "texts.parquet"
    pq.write_table(pa.table({"text": ["", *["x" * 1_000] * 29_999]}), path, row_group_size=30_000, compression="zstd")
    frame = streameval.scan_ranking(str(path), memory=0.025)
    assert frame.filter(RANK % 5 == 0).select(pl.col("text").str.len_bytes().sum()).collect().item() == 6_000_000
    assert frame.select(pl.col("text").str.len_bytes().sum()).collect().item() == 29_999_000
    assert max(sizes) < 25_000_000 / 4


def duck(frame):
    connection = duckdb.connect()
    connection.register("items", frame)
    return connection


@pytest.mark.skipif(duckdb.__version__ < "2", reason="DuckDB 1 reads a lazy frame whole")
@pytest.mark.parametrize(
    ("condition", "ranks"),
    [
        ("rank BETWEEN 500 AND 502", [500, 501, 502]),
        ("rank IN (8, 400, 39000, 50000)", [8, 400, 39_000]),
        ("rank < 3 OR rank = 9", [1, 2, 9]),
        ("rank <= 3 AND label = 1", [1, 2, 3]),
    ],
)
def test_duckdb_hands_its_conditions_on(stored, read, condition, ranks):
    frame = streameval.scan_ranking(stored)
    connection = duck(frame)
    found = connection.sql(f"SELECT id FROM items WHERE {condition} ORDER BY rank").fetchall()
    assert [rank for some, _ in read for rank in some] == ranks
    assert all("text" not in columns for _, columns in read)
    loaded = frame.filter(pl.sql_expr(condition)).select("id").collect()
    assert found == loaded.rows()


def test_duckdb_does_by_itself_what_it_does_not_hand_on(stored):
    connection = duck(streameval.scan_ranking(stored))
    found = connection.sql(
        "SELECT count(*), min(rank), max(rank) FROM items WHERE rank % 7 = 0 AND rank IN (SELECT unnest([7, 8, 14]))"
    )
    assert found.fetchall() == [(2, 7, 14)]


def test_files_that_change_or_are_damaged_are_named(stored, tmp_path):
    path = tmp_path / "list.parquet"
    shutil.copy(stored, path)
    frame = streameval.scan_ranking(path)
    frame.collect_schema()
    whole = path.read_bytes()
    state = path.stat()
    at = 4_000
    for damaged, said in (
        (whole[:at] + bytes(3_000) + whole[at + 3_000 :], "no valid page"),
        (whole + b"x", "changed"),
    ):
        path.write_bytes(damaged)
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        with pytest.raises((InputError, pl.exceptions.ComputeError), match=f"list.parquet.*{said}"):
            frame.collect()


def test_types_that_polars_lacks_are_met():
    table = pa.table({"wide": pa.array([decimal.Decimal("1.25")], pa.decimal256(60, 2)), "id": [1]})
    assert streameval.scan_ranking(table).collect().rows() == [(1, decimal.Decimal("1.25"), 1)]
    odd = pa.table({"odd": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})
    with pytest.raises(InputError, match="month_day_nano"):
        streameval.scan_ranking(odd)


def test_a_column_without_a_name_has_none(tmp_path):
    pq.write_table(pa.table({"": [7, 8, 9], "id": [1, 2, 3]}), tmp_path / "list.parquet")
    frame = streameval.scan_ranking(str(tmp_path / "list.parquet"))
    assert frame.filter(pl.col("") > 7).collect().to_dict(as_series=False) == {"rank": [2, 3], "": [8, 9], "id": [2, 3]}


def test_what_is_no_ranking_is_refused_at_once(stored):
    with pytest.raises(InputError, match="no column 'confidence'"):
        streameval.scan_ranking(stored, score="confidence")
    with pytest.raises(InputError, match="scan_ranking has no option 'scores'"):
        streameval.scan_ranking(stored, scores="conf")


def test_a_frame_goes_to_another_process(stored):
    frame = streameval.scan_ranking(stored, score="conf")
    again = pickle.loads(pickle.dumps(frame))
    assert again.head(3).collect().equals(frame.head(3).collect())


@pytest.mark.parametrize("kind", [pl.UInt8, pl.Int8, pl.Int16, pl.UInt64, pl.Int128])
def test_ranks_may_be_given_in_types_that_n_does_not_fit_into(kind):
    frame = streameval.scan_ranking(pa.table({"id": np.arange(70_000)}))
    few = frame.filter(pl.col("rank").is_in(pl.Series([3, 20], dtype=kind).implode())).collect()
    assert few["id"].to_list() == [2, 19]
