"""Pages and row groups give the same items, whoever wrote them; what lies is refused."""

import json
import re
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from parquet_tables import pages_of, tables, types, write_options
from suite_cases import cases, examples, slow

from streameval.cli import run
from streameval.errors import InputError
from streameval.parquet import thrift
from streameval.parquet.read_items import WALKED
from streameval.parquet.schema import wide_type
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions

RELAXED = settings(max_examples=examples(15, 150), deadline=None, suppress_health_check=list(HealthCheck))


def truth(path, ranks):
    """The items as Arrow reads them from whole files."""
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    whole = [pq.ParquetFile(file).read() for file in files]
    if any(t.num_rows != pq.read_metadata(file).num_rows for t, file in zip(whole, files, strict=True)):
        raise pa.ArrowInvalid("Arrow loses a single null list that is followed by a page without values")
    wide = [t.cast(pa.schema([(f.name, wide_type(f.type)) for f in t.schema])) for t in whole]
    return pa.concat_tables(wide).take(pa.array(np.asarray(ranks) - 1))


def check(path, ranks, **options):
    try:
        wanted = truth(path, ranks)
    except pa.ArrowException:
        reject()  # Arrow cannot read all that it can write
    ranking = open_ranking(str(path), RankingOptions(**options))
    found = ranking.fetch(np.asarray(ranks, dtype=np.int64), ranking.columns())
    for i, name in enumerate(wanted.column_names):
        got = found.table.column(found.table.num_columns - wanted.num_columns + i)
        assert got.type == wanted.column(name).type
        assert got.combine_chunks().equals(wanted.column(name).combine_chunks()), name
        got.validate()
    return found


def pick(data, n):
    ranks = data.draw(st.sets(st.integers(1, n), min_size=1, max_size=8))
    return sorted(ranks)


@RELAXED
@given(st.data(), tables(), write_options())
def test_pages_give_what_whole_files_give(data, table, options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.parquet"
        try:
            pq.write_table(table, path, **options)
        except pa.ArrowNotImplementedError:
            reject()  # Arrow 22 writes no lists of fixed size within structs that are null
        found = check(path, pick(data, table.num_rows), threads=1)
        if options["write_page_index"]:
            assert found.fallbacks == ()


@settings(RELAXED, max_examples=examples(8, 50))
@given(st.data(), st.sampled_from(["polars", "duckdb v1", "duckdb v2"]))
def test_other_writers(data, writer):
    table = data.draw(tables().filter(lambda t: not any("decimal256" in str(f.type) for f in t.schema)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.parquet"
        try:
            if writer == "polars":
                codec = data.draw(st.sampled_from(["lz4", "zstd", "snappy", "gzip", "brotli", "uncompressed"]))
                pl.from_arrow(table).write_parquet(path, compression=codec, row_group_size=40, data_page_size=64)
            else:
                codec = data.draw(st.sampled_from(["lz4_raw", "zstd", "snappy", "gzip", "brotli", "uncompressed"]))
                with duckdb.connect() as con:
                    con.register("t", table)
                    con.execute(f"COPY t TO '{path}' (COMPRESSION {codec}, PARQUET_VERSION {writer[-2:]})")
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, duckdb.Error, pa.ArrowException, ValueError):
            reject()  # a type that this writer does not have
        check(path, pick(data, table.num_rows), threads=1)


@settings(RELAXED, max_examples=examples(12, 60))
@given(st.data(), st.lists(st.tuples(tables(n_rows=(0, 0)) | st.none(), write_options()), min_size=2, max_size=5))
def test_files_written_in_different_ways_make_one_ranking(data, ways):
    kind, values = data.draw(types())
    with tempfile.TemporaryDirectory() as folder:
        for i, (empty, options) in enumerate(ways):
            # without Arrow's schema a duration is a number: another type
            options["store_schema"] = ways[0][1]["store_schema"]
            rows = [] if empty is not None else data.draw(st.lists(values, min_size=1, max_size=60))
            pq.write_table(pa.table({"a": pa.array(rows, kind)}), Path(folder) / f"{i}.parquet", **options)
        n = sum(pq.read_metadata(path).num_rows for path in Path(folder).glob("*.parquet"))
        if n:
            check(Path(folder), pick(data, n), threads=2, memory=1e-3)


def sorted_list(path, n=5000, score=None, **options):
    """Scores with ties; the item is its own rank."""
    score = np.sort(np.random.default_rng(3).integers(0, n // 3, n))[::-1] / 8 if score is None else score
    table = pa.table({"item": np.arange(1, n + 1), "conf": score, "text": [f"text {i}" * 3 for i in range(n)]})
    defaults = {"row_group_size": 900, "write_page_index": True, "use_dictionary": False, **pages_of(50)}
    pq.write_table(table, path, **(defaults | options))
    return score


def offset_index(path, column, group=0):
    """Place and content of a column's offset index, found by reading the footer in the slow way."""
    raw = path.read_bytes()
    footer, _ = thrift.read_struct(raw[-8 - int.from_bytes(raw[-8:-4], "little") : -8])
    chunk = footer[4][1][1][group][1][1][1][column]
    at, size = chunk[4][1], chunk[5][1]
    return at, size, thrift.read_struct(raw[at : at + size])[0]


def lie(path, change, column=0):
    at, size, index = offset_index(path, column)
    change(index[1][1][1])
    told = thrift.write_struct(index)
    assert len(told) <= size
    raw = path.read_bytes()
    path.write_bytes(raw[:at] + told.ljust(size, b"\0") + raw[at + size :])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pages: pages[0].update({3: (6, 1)}), "do not begin with row 0"),
        (lambda pages: pages[1].pop(3), "cannot be read"),
        (lambda pages: pages[1].update({1: (6, pages[0][1][1] + 5)}), "overlap"),
        (lambda pages: pages[-1].update({2: (5, 4000)}), "outside"),
        (lambda pages: pages[-1].update({1: (6, pages[-1][1][1] + 900)}), "outside"),
        (lambda pages: pages[3].update({3: (6, 10)}), "do not follow one another"),
        (lambda pages: pages[2].update({3: (6, 101)}), "is said to have 49 from row 101"),
        (lambda pages: pages[2].update({3: (6, 99)}), "is said to have 51 from row 99"),
        (lambda pages: pages[2].update({2: (5, pages[2][2][1] - 1)}), "there is no page"),
        (lambda pages: pages[2].update({1: (6, pages[2][1][1] + 1), 2: (5, pages[2][2][1] - 1)}), "page at|said to"),
    ],
)
def test_an_index_that_lies_is_an_error_that_names_the_place(tmp_path, change, message):
    path = tmp_path / "r.parquet"
    sorted_list(path)
    lie(path, change)
    with pytest.raises(InputError, match=rf"r\.parquet: row group 0, column item: .*({message})"):
        open_ranking(str(path)).fetch(np.array([120]), ["item"])


def test_nested_pages_are_held_to_their_rows_too(tmp_path):
    path = tmp_path / "r.parquet"
    table = pa.table({"tags": [[i, i] * (i % 3) for i in range(1000)]})
    pq.write_table(table, path, write_batch_size=10, data_page_size=200, write_page_index=True)
    _, _, index = offset_index(path, 0)
    assert len(index[1][1][1]) > 3
    lie(path, lambda pages: pages[2].update({3: (6, pages[2][3][1] + 1)}))
    with pytest.raises(InputError, match=r"row group 0, column tags\.list\.element: the page at"):
        open_ranking(str(path)).fetch(np.array([index[1][1][1][2][3][1] + 3]), ["tags"])


@pytest.mark.parametrize("kind", ["index", "walk", "whole"])
def test_checksums_are_verified(tmp_path, kind):
    path = tmp_path / "r.parquet"
    table = pa.table({"tags": pa.array([[i] for i in range(4000)]) if kind == "whole" else pa.array(range(4000))})
    pq.write_table(
        table, path, write_page_index=kind == "index", write_page_checksum=True, use_dictionary=False,
        compression="none", **pages_of(500),
    )  # fmt: skip
    ranks = np.array([3, 1700])
    assert open_ranking(str(path)).fetch(ranks, ["tags"]).table.num_rows == 2
    raw = bytearray(path.read_bytes())
    at = raw.index((1998).to_bytes(8, "little"))
    raw[at] ^= 1
    path.write_bytes(raw)
    with pytest.raises(InputError, match=r"r\.parquet: row group 0, column tags.*(checksum|CRC)"):
        open_ranking(str(path)).fetch(ranks, ["tags"])


@pytest.mark.parametrize(("columns", "files"), [(600, 150), *slow((3_000, 1_000))])
def test_many_columns_and_many_files(tmp_path, columns, files):
    wide = tmp_path / "wide.parquet"
    pq.write_table(
        pa.table({f"c{i}": np.arange(30) + i for i in range(columns)}), wide, write_page_index=True, row_group_size=10
    )
    ranking = open_ranking(str(wide))
    found = ranking.fetch(np.array([2, 29]), ["c7", f"c{columns - 1}"])
    assert found.table.column(f"c{columns - 1}").to_pylist() == [columns, columns + 27]
    assert found.pages_read == 4
    folder = tmp_path / "many"
    folder.mkdir()
    pq.write_table(pa.table({"x": [1, 2, 3]}), folder / "00000.parquet", write_page_index=True)
    first = (folder / "00000.parquet").read_bytes()
    for i in range(1, files):
        (folder / f"{i:05d}.parquet").write_bytes(first)
    ranking = open_ranking(str(folder))
    found = ranking.fetch(np.array([1, 3 * files // 2 - 1, 3 * files]), ["x"])
    assert found.table.column("x").to_pylist() == [1, 2, 3]
    assert found.row_groups_read == 3


@pytest.mark.parametrize("n", [4_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_row_group_larger_than_the_memory_limit_is_streamed(tmp_path, n):
    """Lists of 2 kB a row in one row group without an index, under a limit of a fifth of them."""
    path, limit = tmp_path / "r.parquet", 0.4e-6 * n
    table = pa.table({"v": pa.array([[i] * 250 for i in range(n)]), "t": ["x" * 300] * n})
    pq.write_table(table, path, use_dictionary=False, data_page_size=1 << 16)
    del table
    before = pa.total_allocated_bytes()
    pool = pa.default_memory_pool()
    found = open_ranking(str(path), RankingOptions(memory=limit, threads=1)).fetch(np.array([5, n - 3]), ["v", "t"])
    assert found.table.column("v").to_pylist() == [[4] * 250, [n - 4] * 250]
    assert found.table.column("t").to_pylist() == ["x" * 300] * 2
    assert {one.column for one in found.fallbacks} == {"v", "t"}
    assert pa.total_allocated_bytes() - before < 50 * n
    assert pool.bytes_allocated() < before + 50 * n
    with pytest.raises(InputError, match="too much for the memory limit"):
        open_ranking(str(path), RankingOptions(memory=1e-5, threads=1)).fetch(np.array([5]), ["t"])


@pytest.mark.parametrize("name", cases(["skin_logreg", "ppdb_human", "nyt10_reside"], "ppdb_human"))
def test_real_lists_read_by_pages_and_by_row_groups_alike(real, tmp_path, name):
    table = pq.read_table(real(name))
    ranks = np.sort(np.random.default_rng(1).choice(table.num_rows, 300, replace=False)) + 1
    found = []
    for index in (True, False):
        path = tmp_path / f"{name}-{index}.parquet"
        pq.write_table(table, path, write_page_index=index, **pages_of(500), row_group_size=50_000)
        found.append(check(path, ranks))
    assert found[0].table.equals(found[1].table)
    assert found[0].fallbacks == ()


def test_the_log_says_what_was_not_read_by_a_page_index(tmp_path, capsys):
    sorted_list(tmp_path / "r.parquet", write_page_index=False)
    study = str(tmp_path / "study")
    small = ["--method", "paula(epsilon=0.1, window=20)"]
    assert run(["plan", str(tmp_path / "r.parquet"), "--study", study, "--seed", "1", *small]) == 0
    capsys.readouterr()
    assert run(["select", study, "--log", "json", "--columns", "item"]) == 0
    lines = map(json.loads, capsys.readouterr().err.splitlines())
    events = [line for line in lines if line["event"] != "notice"]  # where a kernel is compiled first
    fallback = {"event": "fallback", "level": "info", "study": study}
    fallback |= {"column": "item", "why": WALKED, "row_groups": 6, "files": 1}
    assert {key: value for key, value in events[0].items() if key != "time"} == fallback
    assert events[1]["event"] == "select"
    assert events[1]["pages_read"] > 0


def test_old_maps_are_read_by_pages(tmp_path):
    """Spark's old writer marks the group inside of a map, not only the map."""
    path = tmp_path / "r.parquet"
    table = pa.table({"m": pa.array([[("k", i)] * (i % 3) for i in range(500)], pa.map_(pa.string(), pa.int64()))})
    pq.write_table(table, path, **pages_of(50), write_page_index=True, store_schema=False)
    raw = path.read_bytes()
    length = int.from_bytes(raw[-8:-4], "little")
    footer, _ = thrift.read_struct(raw[-8 - length : -8])
    elements = footer[2][1][1]
    elements[2][6] = (thrift.I32, 2)
    elements[1].pop(10)
    told = thrift.write_struct(footer)
    path.write_bytes(raw[: -8 - length] + told + len(told).to_bytes(4, "little") + b"PAR1")
    assert check(path, [1, 2, 3, 400]).fallbacks == ()


def test_files_without_countable_pages_are_read_one_after_another(tmp_path):
    kind = pa.struct([("a", pa.int8()), ("b", pa.list_(pa.int8()))])
    for i, rows in enumerate(([None], [{"a": 1, "b": [2]}], [])):
        table = pa.table({"a": pa.array(rows, kind)})
        pq.write_table(table, tmp_path / f"{i}.parquet", compression="none", data_page_version="1.0")
    found = open_ranking(str(tmp_path)).fetch(np.array([1, 2]), ["a"]).table
    assert found.column("a").to_pylist() == [None, {"a": 1, "b": [2]}]


def test_long_texts_in_dictionaries_are_not_written_out_before_they_are_taken(tmp_path):
    """3,000 rows of 50 texts of 4 kB: 12 MB written out, 0.2 MB as they are stored."""
    path = tmp_path / "r.parquet"
    texts = [f"{i:04d}" * 1000 for i in range(50)]
    pq.write_table(pa.table({"t": [texts[i % 50] for i in range(3_000)] + [None]}), path, write_page_index=True)
    assert check(path, [1, 2, 777, 3_000, 3_001]).fallbacks == ()


@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_pages_of_lists_whose_headers_count_values_as_rows_are_read(tmp_path, compression):
    """So Arrow up to 8 wrote pages of version 2: here 30 rows of 3 values, 5 rows a page."""
    path = tmp_path / "r.parquet"
    table = pa.table({"l": [[i, i + 1, i + 2] for i in range(30)], "score": [float(30 - i) for i in range(30)]})
    pq.write_table(table, path, data_page_version="2.0", compression=compression, use_dictionary=False, **pages_of(15))
    pages = re.compile(rb"(?s)\x15(.)\x15\x00\x15(.)(?=\x15\x00)")  # values, no nulls, rows, as Thrift has them
    raw = path.read_bytes()
    assert sum(3 * rows[0] == values[0] for values, rows in pages.findall(raw)) == 7
    path.write_bytes(pages.sub(lambda page: page[0][:-1] + page[1], raw))
    for score in (None, "score"):
        found = check(path, [1, 7, 8, 30], score=score)
        assert [one.why for one in found.fallbacks if one.column == "l"] == [WALKED]
    (unit,) = open_ranking(str(path)).rows.units()
    assert unit.read(["l"]).column("l").to_pylist() == table.column("l").to_pylist()


def test_every_file_without_an_index_is_read(tmp_path):
    for i in range(3):
        lists = pa.array([[i, j] for j in range(30)])
        pq.write_table(pa.table({"l": lists, "i": range(30)}), tmp_path / f"{i}.parquet", row_group_size=10)
    found = check(tmp_path, [1, 15, 30, 31, 62, 90])
    assert [(one.column, one.row_groups, one.files) for one in found.fallbacks] == [("i", 6, 3), ("l", 6, 3)]


@pytest.mark.parametrize("options", [RankingOptions(), RankingOptions(score="conf")])
@pytest.mark.parametrize("source", ["files", "table"])
def test_ranks_that_do_not_exist_are_refused(ranking, options, source):
    folder, _, _ = ranking
    found = open_ranking(str(folder) if source == "files" else pq.read_table(folder), options)
    assert found.fetch(np.array([1, 10_000]), ["item"]).table.column("item").to_pylist() == ["item 1", "item 10000"]
    wrongs = {"no rank 0": [0], "no rank -3": [-3, 5], "no rank 10,001": [5, 10_001], "no rank 4,6": [2**62]}
    wrongs |= {"rank 7 follows rank 7": [7, 7], "rank 8 follows rank 9": [9, 8, 10]}
    for wrong, ranks in wrongs.items():
        with pytest.raises(InputError, match=wrong):
            found.fetch(np.array(ranks), ["item"])
    if options.score:
        with pytest.raises(InputError, match="no rank 10,001"):
            found.fetch(np.array([1]), ["item"], cutoffs=np.array([1, 10_001]))
