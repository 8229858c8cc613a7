"""Label tables of every kind say the same, and nothing in them is a traceback or goes unaccounted for."""

import ast
import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from label_tables import judged_by, small_study, taken_in
from places import AS_A_COMMAND, TESTS
from refusals import refused
from suite_cases import cases, examples, slow

import streameval
from streameval.cli import run
from streameval.errors import InputError, OutsideError, StreamevalError
from streameval.labelling.columns import find
from streameval.labelling.duckdb_session import open_session, tables_of_ours
from streameval.labelling.match_items import Items
from streameval.labelling.options import LabelColumns
from streameval.labelling.readers import open_source
from streameval.labelling.reading import read_votes
from streameval.study import Study

KEYS = np.arange(60) * 7 + 3
TRUTH = (np.arange(60) % 3 == 0).astype(int)
TABLE = pa.table({"id": KEYS, "label": TRUTH, "annotator": ["ann"] * 60})


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return small_study(tmp_path_factory.mktemp("labels"))


@pytest.fixture(scope="module")
def plan(study):
    return Study(study).plan()


def duckdb_file(path):
    with duckdb.connect(path) as connection:
        connection.register("t", TABLE)
        connection.execute("CREATE TABLE votes AS SELECT * FROM t")


def sqlite_file(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE votes (id INTEGER, label INTEGER, annotator TEXT)")
        connection.executemany("INSERT INTO votes VALUES (?, ?, ?)", [tuple(row.values()) for row in TABLE.to_pylist()])
    connection.close()


def source(kind, folder):
    frame, path = TABLE.to_pandas(), folder / "labels.dat"  # the name says nothing
    if kind == "parquet":
        pq.write_table(TABLE, path)
    elif kind in ("csv", "tsv", "semicolons"):
        frame.to_csv(path, index=False, sep={"csv": ",", "tsv": "\t", "semicolons": ";"}[kind])
    elif kind == "excel":
        frame.to_csv(path, index=False, encoding="utf-8-sig", lineterminator="\r\n")
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif kind == "json":
        path.write_text(json.dumps(TABLE.to_pylist(), indent=1))
    elif kind == "duckdb":
        duckdb_file(path)
        return f"duckdb:{path}#SELECT * FROM votes -- all of them"
    elif kind == "sqlite":
        pytest.importorskip("adbc_driver_sqlite", reason="needs the extra [db]")
        sqlite_file(path)
        return f"sqlite:///{path}#SELECT * FROM votes"
    else:
        return {"arrow": TABLE, "polars": pl.from_arrow(TABLE), "lazy": pl.from_arrow(TABLE).lazy(), "pandas": frame}[
            kind
        ]
    return path


KINDS = ["parquet", "csv", "tsv", "semicolons", "excel", "jsonl", "json", "duckdb", "sqlite", "arrow", "polars", "lazy",
         "pandas"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_source_says_the_same(kind, study, plan, tmp_path):
    selection = Study(study).selection(plan)
    votes = read_votes(source(kind, tmp_path), plan, Items(selection), LabelColumns(on="id"))
    assert votes.table.column("rank").to_pylist() == list(range(1, 61))
    assert votes.table.column("value").to_pylist() == TRUTH.tolist()
    assert set(votes.table.column("annotator").to_pylist()) == {"ann"}
    assert (votes.rows, votes.unplanned) == (60, 0)
    again = read_votes(source_again(kind, tmp_path), plan, Items(selection), LabelColumns(on="id"))
    assert again.identity == votes.identity


def source_again(kind, folder):
    path = folder / "labels.dat"
    prefix = {"duckdb": "duckdb:", "sqlite": "sqlite:///"}.get(kind)
    if prefix:
        return f"{prefix}{path}#SELECT * FROM votes ORDER BY id DESC"
    return path if path.exists() else source(kind, folder)


def test_postgresql_by_query(plan, postgresql):
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="needs the extra [db]")
    with dbapi.connect(postgresql, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE votes AS SELECT r AS rank, r % 3 = 1 AS label, 'ann' AS annotator, now() AS time, "
            "(r % 5)::numeric AS grade FROM generate_series(1, 20000) r"
        )
    votes = read_votes(f"{postgresql}#SELECT * FROM votes WHERE rank <= 60", plan)
    assert votes.table.column("value").to_pylist() == TRUTH.tolist()
    assert votes.table.column("time").null_count == 0
    n = 20_000
    whole = streameval.Plan("x", {}, n, 0, pa.table({"rank": np.arange(1, n + 1)}))
    many = read_votes(f"{postgresql}#SELECT rank, label FROM votes", whole)
    assert many.table.num_rows == many.rows == n
    with pytest.raises(InputError, match="nothing_here"):
        read_votes(f"{postgresql}#SELECT * FROM nothing_here", plan)
    with pytest.raises(InputError, match=r"division by zero\. Hint: check"):
        read_votes(f"{postgresql}#SELECT rank, 1 / (rank - 10000) AS label FROM votes", whole)
    ends = "CASE WHEN rank = 10000 THEN pg_terminate_backend(pg_backend_pid()) END AS ended"
    with pytest.raises(OutsideError, match="terminating connection"):
        read_votes(f"{postgresql}#SELECT rank, label, {ends} FROM votes", whole)


def test_where_no_column_tells_what_became_of_work_that_is_an_unknown_text_and_no_number():
    """DuckDB 1.4 stores a null of no type as a number, which meets no text."""
    with open_session() as connection:
        opened = open_source(connection, pa.table({"rank": [1], "label": [1]}))
        columns = find(connection, opened, LabelColumns(), lambda types: [])
        assert connection.execute(f"SELECT typeof({columns.work_status})").fetchall() == [("VARCHAR",)]


def test_duckdb_prints_nothing_and_streams_texts(plan, tmp_path):
    with open_session(str(tmp_path), "1GB") as connection:
        assert connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(False,)]
        for name, text in (("l.csv", "rank,label\n1,1\n"), ("l.jsonl", '{"rank": 1, "label": 1}\n')):
            (tmp_path / name).write_text(text)
            open_source(connection, tmp_path / name)
            connection.register("se_known", pa.table({"key0": plan.ranks}))
            query = "SELECT 1 FROM se_given JOIN se_known ON key0 = TRY_CAST(rank AS BIGINT)"
            ((_, tree),) = connection.execute(f"EXPLAIN (FORMAT json) {query}").fetchall()
            node = json.loads(tree)[0]
            while len(node["children"]) == 1:
                (node,) = node["children"]
            streamed, built = (json.dumps(child) for child in node["children"])
            assert "ARROW" not in streamed.upper()
            assert "ARROW" in built.upper()
            connection.execute("DROP VIEW se_given")


def test_sources_at_once_and_keys_of_several_columns(study, tmp_path):
    half = TABLE.slice(0, 30).append_column("name", pa.array([f"n{i}" for i in range(30)]))
    rest = tmp_path / "rest.csv"
    rest.write_text("ID,Name,Label,annotator\n" + "".join(f"{k}.0,n{i},{t},ann\n" for i, (k, t) in
                    enumerate(zip(KEYS, TRUTH, strict=True)) if i >= 30))  # fmt: skip
    study = shutil.copytree(study, tmp_path / "study")
    for on in (["--on", "id", "--on", "name"], ["--on", "id,name"]):
        read = judged_by(["evaluate", str(study), "--labels", str(rest), *on]).summary["sources"]
        assert [one["columns"]["on"] for one in read] == ["ID\0Name"]
    found = taken_in(study, half, rest, on="id,name").tallied.labels
    assert found.label.tolist() == TRUTH.tolist()
    with pytest.raises(InputError, match="does not tell items apart"):
        taken_in(study, half.append_column("text", pa.array(["t"] * 30)), on="text")
    with pytest.raises(InputError, match="no column 'nme'"):
        taken_in(study, half, on="id,nme")


@pytest.mark.parametrize("n", cases([10**4, 10**6], 10**4))
def test_many_rows_by_query_from_sqlite(plan, tmp_path, n):
    pytest.importorskip("adbc_driver_sqlite", reason="needs the extra [db]")
    path = tmp_path / "many.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE votes (rank INTEGER, label INTEGER)")
        connection.executemany("INSERT INTO votes VALUES (?, ?)", ((r, r % 3 == 1) for r in range(1, n + 1)))
    connection.close()
    longer = streameval.Plan("x", {}, n, 0, plan.table)
    votes = read_votes(f"sqlite:///{path}#SELECT * FROM votes", longer)
    assert (votes.rows, votes.table.num_rows, votes.unplanned) == (n, 60, n - 60)
    assert votes.table.column("value").to_pylist() == TRUTH.tolist()
    short = read_votes(f"sqlite:///{path}#SELECT * FROM votes", plan)
    assert short.table.num_rows + short.unlisted["unknown"] == n


@pytest.mark.parametrize("kind", ["int8", "int64", "uint8", "bool", "double", "string"])
def test_typed_columns_are_read_by_their_type(kind, plan, tmp_path):
    label = pa.array([1, 0, None]).cast(pa.bool_() if kind == "bool" else getattr(pa, kind, pa.float64)()
                                        if kind != "double" else pa.float64())  # fmt: skip
    for rank in (pa.array([1, 2, 3], pa.int32()), pa.array([1.0, 2.0, 3.0]), pa.array(["1", "2.0", " 3 "])):
        pq.write_table(pa.table({"rank": rank, "label": label}), tmp_path / "l.parquet")
        votes = read_votes(tmp_path / "l.parquet", plan)
        assert votes.table.column("value").to_pylist() == [1.0, 0.0, None]
        assert votes.table.column("state").to_pylist() == ["answer", "answer", "blank"]


@pytest.mark.parametrize(("kind", "databases"), [("memory", 0), ("small", 0), ("packed", 1), ("long", 1)])
def test_only_what_may_be_large_opens_a_database_of_its_own(kind, databases, plan, tmp_path, monkeypatch):
    """To open one takes a tenth of a small evaluation."""
    text, path = f"rank,label\n{plan.ranks[0]},1\n{plan.ranks[1]},0\n", tmp_path / "labels.csv"
    path.write_text(text + ("0,0\n" * (1 << 18) if kind == "long" else ""))
    if kind == "packed":
        path.write_bytes(gzip.compress(text.encode()))
    labels, opened, connect = pa.table({"rank": plan.ranks[:2], "label": [1, 0]}), [], duckdb.connect
    with tables_of_ours():  # that of the process is there
        monkeypatch.setattr(duckdb, "connect", lambda *how: opened.append(how) or connect(*how))
        votes = read_votes(labels if kind == "memory" else path, plan).table
    assert votes.filter(pa.compute.equal(votes.column("state"), "answer")).num_rows == 2
    assert len(opened) == databases
    with tables_of_ours() as connection:  # a text keeps what it set to itself
        assert connection.execute("SELECT current_setting('disabled_optimizers')").fetchall() == [("",)]


def test_a_file_is_read_as_it_is_now_though_its_size_and_its_time_are_as_before(plan, tmp_path):
    for name, write in (("l.csv", pyarrow.csv.write_csv), ("l.parquet", pq.write_table)):
        for label in (0, 1):
            write(pa.table({"rank": plan.ranks[:1], "label": [label]}), tmp_path / name)
            os.utime(tmp_path / name, (1, 1))
            assert read_votes(tmp_path / name, plan).table.column("value").to_pylist() == [label]


def test_a_database_in_which_duckdb_failed_is_not_asked_again():
    def failing():
        with tables_of_ours() as connection:
            connection.execute("CREATE TABLE here AS SELECT 1")
            raise duckdb.FatalException("as DuckDB says that it was invalidated")

    with pytest.raises(duckdb.FatalException):
        failing()
    with tables_of_ours() as connection:
        assert connection.execute("SHOW TABLES").fetchall() == []


def test_ranks_outside_the_list_are_counted_whatever_the_type(plan, tmp_path):
    for rank in (pa.array([1, 0, 61, None]), pa.array([1.0, 1.5, float("nan"), 1e300]), pa.array(["1", "x", "", "-4"])):
        pq.write_table(pa.table({"rank": rank, "label": [1, 1, 1, 1]}), tmp_path / "l.parquet")
        votes = read_votes(tmp_path / "l.parquet", plan)
        assert Counter(votes.table.column("state").to_pylist()) == {"answer": 1, "unknown": 3}


def test_addresses_that_lead_nowhere_are_named(study, tmp_path, capsys):
    (tmp_path / "x.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    (tmp_path / "text.csv").write_text("no labels here")
    duckdb.connect(tmp_path / "one.db").close()
    wrong = {
        f"duckdb:{tmp_path}/none.db#SELECT 1": "no such DuckDB file",
        f"duckdb:{tmp_path}/none.db": "no query",
        f"{tmp_path}/x.db": "not a table that can be read (NUL bytes in it)",
        f"duckdb:{tmp_path}/one.db#SELECT 1; SELECT 2": "2 queries behind the #",
        f"duckdb:{tmp_path}/one.db#-- nothing": "0 queries behind the #",
        f"duckdb:{tmp_path}/text.csv#SELECT 1": "text.csv",
        f"{tmp_path}/text.csv": "no column",
    }
    if pytest.importorskip("adbc_driver_sqlite", reason="needs the extra [db]"):
        wrong |= {
            f"sqlite:///{tmp_path}/none.db#SELECT 1": "no such SQLite file",
            f"sqlite:///{tmp_path}/x.db#SELECT ';'; SELECT 2": "several queries behind the #",
        }
    for address, message in wrong.items():
        assert run(["evaluate", str(study), "--labels", address]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert len(error.strip().splitlines()) == 1


def test_a_packed_table_that_was_cut_is_to_be_got_again(study, tmp_path, capsys):
    packed = gzip.compress(b"rank,label\n" + b"".join(b"%d,%d\n" % (i, i * i % 7 < 3) for i in range(9999)))
    for size in (len(packed) // 2, 40):  # amid its rows, and in what is read to know what it is
        (tmp_path / "cut.csv.gz").write_bytes(packed[:size])
        said = refused(capsys, "evaluate", study, "--labels", tmp_path / "cut.csv.gz")
        assert "Hint: the file is cut short or damaged: get it again" in said


def test_lines_are_those_of_the_file_though_cells_hold_line_breaks(plan, tmp_path):
    path = tmp_path / "l.csv"
    path.write_text('rank,label,note\n1,1,"two\nlines"\n\n2,maybe,x\n3,0\n4,1,y\n5,huh,z\n')
    votes = read_votes(path, plan).table.sort_by("row")
    states = dict(zip(votes.column("row").to_pylist(), zip(votes.column("state").to_pylist(),
                  votes.column("line").to_pylist(), strict=True), strict=True))  # fmt: skip
    assert states == {1: ("answer", 2), 2: ("unreadable", 5), 3: ("unreadable", 6), 4: ("answer", 7),
                      5: ("unreadable", 8)}  # fmt: skip


CELL = st.one_of(
    st.sampled_from(["1", "0", "yes", "No", "", "skip", "maybe", "3", "61", "-1", "1.5", "nan", "1e400", "inf"]),
    st.text(max_size=6),
    st.binary(max_size=4).map(lambda raw: raw.decode("latin-1")),
)
LINES = st.lists(st.lists(CELL, min_size=0, max_size=4), max_size=8)
SEARCH = settings(max_examples=examples(3, 30), suppress_health_check=list(HealthCheck))


def read_or_refuse(path, plan):
    """Every row accounted for, or a refusal."""
    try:
        votes = read_votes(path, plan)
    except StreamevalError:  # anything else fails the test
        return None
    assert votes.table.num_rows + votes.unplanned + sum(votes.unlisted.values()) == votes.rows
    return votes


@SEARCH
@given(st.sampled_from(",\t;|"), LINES, st.sampled_from(["utf-8", "latin-1", "utf-8-sig", "utf-16"]), st.booleans())
def test_made_up_delimited_files(tmp_path_factory, plan, delimiter, lines, encoding, quoted):
    text = "".join(delimiter.join(json.dumps(c) if quoted else c for c in line) + "\n" for line in lines)
    path = tmp_path_factory.getbasetemp() / "made-up"
    path.write_bytes(f"rank{delimiter}label\n{text}".encode(encoding, "replace"))
    votes = read_or_refuse(path, plan)
    plain = not quoted and encoding == "utf-8" and not set('"\n\r\0') & set("".join(c for line in lines for c in line))
    if votes is not None and plain and all(len(line) == 2 for line in lines):
        assert votes.rows == len(lines)


@SEARCH
@given(
    st.binary(max_size=200), st.sampled_from([b"", b"rank,label\n1,1\n", b'{"rank": 1, "label": 1}\n', b"[", b"PAR1"])
)
def test_bytes_of_any_kind(tmp_path_factory, plan, raw, head):
    path = tmp_path_factory.getbasetemp() / "bytes"
    path.write_bytes(head + raw)
    read_or_refuse(path, plan)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=4), inner, max_size=2)),
    max_leaves=4,
)
RECORD = st.dictionaries(
    st.sampled_from(["rank", "label", "annotator", "time", "answer", "accept", "_timestamp", "annotations", "data"]),
    st.one_of(st.integers(-1, 70), JSON), max_size=7,
)  # fmt: skip


@SEARCH
@given(st.lists(st.one_of(RECORD, RECORD, JSON), max_size=6), st.booleans())
def test_made_up_json(tmp_path_factory, plan, records, lines):
    path = tmp_path_factory.getbasetemp() / "made-up-json"
    texts = [json.dumps(record) for record in records]
    path.write_text("\n".join(texts) if lines else json.dumps(records))
    votes = read_or_refuse(path, plan)
    if votes is not None and lines:
        assert votes.rows == len(records)


def test_a_key_that_appears_late_in_json_lines_is_a_column(plan, tmp_path):
    rows = [{"rank": i % 60 + 1, "label": 1} for i in range(1500)]
    rows[1200] |= {"annotator": "late", "time": "2026-01-31T09:30:00Z"}
    path = tmp_path / "l.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    votes = read_votes(path, plan).table.to_pylist()
    assert [(v["row"], v["annotator"], v["time"].hour) for v in votes if v["annotator"]] == [(1201, "late", 9)]
    path.write_text("\n".join(json.dumps({"rank": 1, "label": 1, f"k{i}": 1}) for i in range(10_001)))
    with pytest.raises(InputError, match="more than 10,000 different keys"):
        read_votes(path, plan)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("rank,label,note\n1,1,caf\xe9\n".encode("cp1252"), "line 2 is not UTF-8. Hint: save the table as CSV UTF-8"),
        (b"rank,label,note\n" + b"1,1,x\n" * 60_000 + b"2,1,\xe9\n", "line 60,002 is not UTF-8"),
        (b"rank,label\n1,1\n2,\xc3", "line 3 is not UTF-8"),
        ("rank,label\n1,1\n".encode("utf-16"), "this is a text in UTF-16. Hint: save it as CSV UTF-8"),
        (b"PK\3\4" + bytes(40), "this is a ZIP archive, and no whole Excel workbook"),
    ],
)
def test_texts_that_are_not_utf8_are_refused_whole(raw, says, plan, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(raw)
    with pytest.raises(InputError, match=says.replace(".", "\\.")):
        read_votes(path, plan)


@pytest.mark.parametrize("end", cases(["\n", "\r\n"], "\r\n"))
@pytest.mark.parametrize("lead", ["", "\n\n", "sep=;\n", '\n"sep=;"\n\n', "\ufeffsep=;\n"])
def test_what_stands_before_the_column_names_is_no_row(lead, end, plan, tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(lead + "rank;label\n1;1\n\n2;0;9\n3;maybe\n4;Käse\n", newline=end, encoding="utf-8")
    votes = read_votes(path, plan).table.sort_by("row").to_pylist()
    before = lead.count("\n")
    assert [(v["row"], v["state"], v["line"]) for v in votes] == [
        (1, "answer", 2 + before), (2, "unreadable", 4 + before), (3, "unreadable", 5 + before),
        (4, "unreadable", 6 + before)]  # fmt: skip


ROUNDED = ["1e1", "1.7E+01", "1.23457E+11", "1,23457E+11", "1.7e2"]


def test_a_name_that_two_columns_of_the_items_have_in_other_capitals_is_refused(tmp_path):
    items = pa.table({"Id": [1, 2, 3], "ID": [3, 1, 2]})
    labels = pa.table({"id": [1, 2, 3], "label": [1, 0, 0]})
    exact = labels.rename_columns(["ID", "label"])
    said = r"labels come with 'id', and the items have 'Id' and 'ID'"
    streameval.plan(items, tmp_path / "s", budget=3, seed=1)
    streameval.select(tmp_path / "s", ranking=items)
    with pytest.raises(InputError, match=said):
        streameval.evaluate(tmp_path / "s", labels=labels, on="id")
    with pytest.raises(InputError, match=said):
        streameval.exact(items, labels=labels, on="id", label="label")
    with pytest.raises(InputError, match=said):
        streameval.adopt(items, tmp_path / "a", labels=labels, on="id", drawn="unknown")
    found = streameval.evaluate(tmp_path / "s", labels=exact, on="ID")
    assert found.curve.precision_at(2).estimate == 0.5
    assert found.curve.precision_at(1).estimate == 0


@pytest.mark.parametrize(
    ("key", "rounded"),
    [
        *(("id", one) for one in ROUNDED),
        *((key, one) for key in ("rank", "se_task") for one in ROUNDED[1:3]),
        *slow(*((key, one) for key in ("rank", "se_task") for one in (ROUNDED[0], *ROUNDED[3:]))),
    ],
)
def test_numbers_that_a_spreadsheet_shortened_are_refused(key, rounded, study, plan, tmp_path):
    path, items = tmp_path / "t.csv", Study(study).items(plan)
    known = items.selection.column("se_task")[0] if key == "se_task" else 3
    path.write_text(f"{key};label\n{known};1\n{rounded};1\n")
    if rounded == "1.7E+01":  # all its digits are there
        assert read_votes(path, plan, items, LabelColumns(on=key)).rows == 2
        return
    with pytest.raises(InputError, match=r"lost its last digits, in 1 row[.]"):
        read_votes(path, plan, items, LabelColumns(on=key))
    by_text = read_votes(pa.table({"name": ["n1", rounded], "label": [1, 0]}), plan, items, LabelColumns(on="name"))
    assert (by_text.table.num_rows, by_text.unplanned) == (1, 1)
    floats = pa.table({"id": [3.0, 1e16], "label": [1, 0]})  # nobody can tell which number it was
    with pytest.raises(InputError, match=r"id '1e[+]16' is a float that is no exact whole number, in 1 row[.]"):
        read_votes(floats, plan, items, LabelColumns(on="id"))


@pytest.mark.parametrize("others", [("\n", "LF"), ("\r\n", "CR LF"), ("\r", "CR")])
@pytest.mark.parametrize("first", [("\n", "LF"), ("\r\n", "CR LF"), ("\r", "CR")])
def test_rows_that_end_in_several_ways_are_refused_by_line(first, others, plan, tmp_path):
    path, (end, name), (other, of_other) = tmp_path / "t.csv", first, others
    path.write_text(f'rank,label{end}1,1{end}"2"{other}3,0{end}', newline="")
    if first == others:
        votes = read_votes(path, plan).table.to_pylist()
        assert sorted((vote["row"], vote["state"]) for vote in votes) == [
            (1, "answer"),
            (2, "unreadable"),
            (3, "answer"),
        ]
        return
    with pytest.raises(InputError, match=f"line 3 ends in {of_other}, those before it in {name}"):
        read_votes(path, plan)


def test_line_ends_within_a_cell_are_of_any_kind(plan, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('rank,label,why\r\n1,1,"a\nb\rc"\r\n2,0,5" wide\r\n3,1,"d\ne"\r\n', newline="")
    assert [vote["state"] for vote in read_votes(path, plan).table.to_pylist()] == ["answer"] * 3


@pytest.mark.parametrize(
    ("head", "row", "named"),
    [
        ("text,ID,label", "t,10,1", "ID"),  # `text` tells no items apart
        ("note,name,label", "x,n1,1", "name"),
        ("name,label", "nobody,1", None),  # no value matches
        ("text,label", "t,1", None),
        ("other,label", "x,1", None),
    ],
)
def test_a_column_that_both_tables_have_is_proposed(tmp_path, capsys, head, row, named):
    study = small_study(tmp_path)
    (tmp_path / "l.csv").write_text(f"{head}\n{row}\n")
    evaluate = ["evaluate", str(study), "--labels", str(tmp_path / "l.csv")]
    assert run(evaluate) == 2
    told = capsys.readouterr().err
    assert "l.csv: the label table has no column 'rank'" in told
    if named is None:
        assert "named with --on COL, one of ranks is called rank, one of the tasks' numbers se_task" in told
    else:
        assert told.endswith(f"the items have '{named}' too: --on {named} says which item a row is about\n")
        assert taken_in(study, tmp_path / "l.csv", on=named).tallied.labels.account["labelled"] == 1


def test_a_name_that_list_and_labels_share_is_proposed_where_nothing_is_planned(tmp_path, capsys):
    small_study(tmp_path)
    (tmp_path / "l.csv").write_text("id,label\n" + "".join(f"{7 * i + 3},{i % 2}\n" for i in range(60)))
    listed, labels = str(tmp_path / "items.parquet"), ["--labels", str(tmp_path / "l.csv")]
    adopt = ["adopt", listed, "--study", str(tmp_path / "ours"), "--drawn", "uniform(size=60)"]
    for command in (["exact", listed, "--label", "label"], adopt):
        assert run([*command, *labels]) == 2
        assert "the items have 'id' too: --on id" in capsys.readouterr().err
        assert command is adopt or run([*command, *labels, "--on", "id"]) == 0


def test_a_key_that_was_not_selected_is_named(tmp_path, capsys):
    study = small_study(tmp_path)
    (tmp_path / "l.csv").write_text("id,label\n3,1\n")
    labels = [str(study), "--labels", str(tmp_path / "l.csv"), "--on", "id"]
    streameval.select(study, columns=["name"])
    assert run(["evaluate", *labels]) == 2
    told = capsys.readouterr().err
    assert "labels come with 'id', which the study's selection does not have" in told
    assert f"`streameval select {study} --columns name,id` fetches it" in told
    (study / "selection.parquet").unlink()
    assert run(["evaluate", *labels]) == 2
    assert f"Hint: run `streameval select {study}` first" in capsys.readouterr().err


@pytest.mark.parametrize("zone", cases(["UTC", "Pacific/Auckland"], "Pacific/Auckland"))
def test_a_time_without_a_zone_is_utc_whatever_the_zone_of_the_machine(zone, study, tmp_path):
    """A file that is read where clocks stand otherwise has the same answers in the same order."""
    moments = [datetime(2026, 11, 16, 23, 30), datetime(2026, 11, 17, 1, 15)]
    rows = {"id": KEYS[:2], "label": TRUTH[:2]}
    texts = [one.isoformat(" ") for one in moments]
    numbers = [one.replace(tzinfo=UTC).timestamp() for one in moments]
    zoned = ["2026-11-17T12:30:00+13:00", "2026-11-16T20:15:00-05:00"]
    pq.write_table(pa.table({**rows, "time": moments}), tmp_path / "naive.parquet")
    for name, values in (("naive", texts), ("unix", numbers), ("zoned", zoned)):
        pa.csv.write_csv(pa.table({**rows, "time": values}), tmp_path / f"{name}.csv")
    files = sorted(map(str, tmp_path.iterdir()))
    code = f"{AS_A_COMMAND}import sys; from label_times import times_of; print(times_of(sys.argv[1], sys.argv[2:]))"
    environment = {**os.environ, "TZ": zone, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", code, str(study), *files]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == [[f"{one.isoformat()}+00:00" for one in moments]] * len(files)


def test_numbers_of_tasks_under_another_name_are_led_to_the_name_that_is_read(catalogue, tmp_path, capsys):
    table = tmp_path / "l.csv"
    table.write_text("Task,label\n17,1\n")
    assert run(["evaluate", str(catalogue.path("curve-selected")), "--labels", str(table), "--on", "Task"]) == 2
    said = capsys.readouterr().err
    assert "columns of the items: id, text, country, llm, right; one of the tasks' numbers is called se_task" in said


def test_a_label_file_that_is_not_there_is_said_not_to_be(catalogue, tmp_path, capsys):
    assert run(["evaluate", str(catalogue.path("curve-selected")), "--labels", str(tmp_path / "l.csv")]) == 2
    assert "l.csv: no such file. Hint: check the spelling; a path without a leading /" in capsys.readouterr().err


def test_rows_of_a_spreadsheet_without_any_value_are_no_rows(study, plan, tmp_path):
    lines = [f"{key};{label};" for key, label in zip(KEYS.tolist(), TRUTH.tolist(), strict=True)]
    text = "\r\n".join(["id;label;Comment", *lines[:30], ";;", " ; ;", *lines[30:], ";1;", "9999;1;", ";;", ""])
    (tmp_path / "excel.csv").write_text(text, encoding="utf-8-sig", newline="")
    items = Items(Study(study).selection(plan))
    votes = read_votes(tmp_path / "excel.csv", plan, items, LabelColumns(on="id"))
    states = Counter(votes.table.column("state").to_pylist())
    assert (votes.rows, states) == (62, {"answer": 60, "unknown": 1})  # 9999 may be an item's that was not planned
