"""Lists that are the answer to a query, or rows that come once."""

import json
import shutil
import sqlite3
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from refusals import refused

import streameval
from streameval.cli import run
from streameval.copies import write
from streameval.errors import InputError
from streameval.labelling.readers import adbc
from streameval.study import Study

ITEMS = 1_000
TABLE = pa.table({"id": [f"{i:05d}" for i in range(ITEMS)], "conf": [(i * 7919 % ITEMS) / ITEMS for i in range(ITEMS)]})
ENDS = "CASE WHEN id::int = 15000 THEN pg_terminate_backend(pg_backend_pid()) END"  # the server, while rows come
QUERY = "SELECT id AS \"item #\", conf FROM preds WHERE id <> '#' ORDER BY id"


def duckdb_file(path, table=TABLE):
    path.unlink(missing_ok=True)
    with duckdb.connect(path) as connection:
        connection.register("t", table)
        connection.execute("CREATE TABLE preds AS SELECT * FROM t")
    return f"duckdb:{path}"


def sqlite_file(path, table=TABLE):
    pytest.importorskip("adbc_driver_sqlite", reason="needs the extra [db]")
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE preds (id TEXT, conf REAL)")
        connection.executemany("INSERT INTO preds VALUES (?, ?)", zip(*table.to_pydict().values(), strict=True))
    connection.close()
    return f"sqlite:///{path}"


SMALL = ["--budget", "300", "--seed", "1"]
BASES = {"duckdb": duckdb_file, "sqlite": sqlite_file}


@pytest.mark.parametrize("kind", BASES)
def test_a_query_is_a_list_and_no_later_verb_asks_it(kind, tmp_path, capsys):
    source, study = f"{BASES[kind](tmp_path / 'db')}#{QUERY};", tmp_path / "study"
    command = ["plan", source, "--score", "conf", "--study", str(study), *SMALL]
    assert run(command) == 0
    assert run(command) == 0  # asked again: the same rows
    (tmp_path / "db").rename(tmp_path / "gone")
    chosen = streameval.select(study).table
    assert chosen.schema.field("item #").type in (pa.string(), pa.large_string())
    best = [row["id"] for row in sorted(TABLE.to_pylist(), key=lambda row: -row["conf"])]
    assert chosen.column("item #").to_pylist() == [best[rank - 1] for rank in chosen.column("rank").to_pylist()]
    copied = Study(study).plan().location["copied"]
    assert copied == {"source": [source], "content": None, "rows": ITEMS, "dictionaries": "columns of few values"}
    assert json.loads((study / "manifests" / "plan.json").read_text())["read"]["source"] == [source]
    if kind == "duckdb":
        streameval.evaluate(study, labels=pa.table({"rank": chosen.column("rank"), "label": [1] * chosen.num_rows}))
        assert run(["report", str(study)]) == 0


@pytest.mark.parametrize("kind", BASES)
def test_a_lost_copy_of_an_answer_is_brought_back_by_the_same_answer_alone(kind, tmp_path, capsys):
    make, study = BASES[kind], tmp_path / "study"
    command = [
        "plan",
        f"{make(tmp_path / 'db')}#{QUERY}",
        "--score",
        "conf",
        "--study",
        str(study),
        "--budget",
        "300",
        "--seed",
        "1",
    ]
    assert run(command) == 0
    streameval.select(study)
    shutil.rmtree(study / "ranking")
    make(tmp_path / "db", TABLE.slice(1))
    assert "gives other rows, or another order, than when" in refused(capsys, *command)
    assert not list(study.glob("*ranking*"))
    make(tmp_path / "db")
    assert run(command) == 0
    assert pq.read_table(study / "ranking").num_rows == ITEMS


@pytest.mark.parametrize(
    ("address", "text", "status", "hint"),
    [
        ("sqlite:///a.db", "no such column: nope", 2, "check the address and the query"),
        ("postgresql://h/d", "password authentication failed", 2, "check the address, the password and the query"),
        ("postgresql://h/d", 'could not translate host name "h" to address: Name or service not known', 3, "the host"),
        ("postgresql://h/d", "could not connect: Connection refused", 3, "when the server is up"),
    ],
)
def test_trouble_of_a_database_is_told_apart(address, text, status, hint):
    trouble = adbc._trouble(address, address, OSError(text))
    assert (trouble.exit_status, hint in trouble.hint) == (status, True)


@pytest.mark.parametrize("kind", BASES)
def test_a_query_that_answers_otherwise_is_refused_once_something_was_made(kind, tmp_path, capsys):
    make, study = BASES[kind], tmp_path / "study"
    command = [
        "plan",
        f"{make(tmp_path / 'db')}#{QUERY}",
        "--score",
        "conf",
        "--study",
        str(study),
        "--budget",
        "300",
        "--seed",
        "1",
    ]
    assert run(command) == 0
    make(tmp_path / "db", TABLE.slice(1))
    assert run(command) == 0  # nothing was made of it yet
    assert "Replaces the earlier plan" in capsys.readouterr().out
    streameval.select(study)
    assert run(command) == 0
    assert "as planned before" in capsys.readouterr().out
    make(tmp_path / "db", TABLE.slice(2))
    assert "gives other rows, or another order, than when" in refused(capsys, *command)
    assert pq.read_table(study / "ranking").num_rows == ITEMS - 1
    assert {path.name for path in study.glob(".ranking*")} == set()


@pytest.mark.parametrize(
    ("kind", "query", "says"),
    [
        ("duckdb", "SELECT * FROM nothing", "Table with name nothing does not exist!). Hint"),
        ("duckdb", "SELECT nothing FROM preds", 'column "nothing" not found'),
        ("duckdb", "SELECT * FROM preds WHERE id = 'none'", "no rows. Hint: a ranking needs at least one item"),
        ("duckdb", "SELECT id, id, conf FROM preds", "two columns are named 'id'"),
        ("duckdb", "SELECT id, conf AS cnf FROM preds", "there is no column 'conf'. Hint: did you mean 'cnf'?"),
        ("duckdb", "SELECT id, conf::VARCHAR AS conf FROM preds", "score column 'conf' is string, not a number"),
        ("duckdb", "SELECT *, INTERVAL 1 DAY AS i FROM preds", "column 'i' is month_day_nano_interval"),
        ("duckdb", "SELECT *, error('at ' || id) FROM preds", "at 00000"),
        ("duckdb", "DROP TABLE preds", "cannot be read"),
        ("duckdb", "SELECT * FROM pred", 'Did you mean "preds"?'),
        ("duckdb", "", "no query. Hint: write it behind a #, such as 'duckdb:"),
        (
            "duckdb",
            "SELECT id, CASE WHEN id <> '00999' THEN conf END AS conf FROM preds",
            "row 1,000 has no conf",
        ),
        (
            "duckdb",
            "SELECT id, CASE WHEN id = '00000' THEN 'nan' ELSE conf END::FLOAT AS conf FROM preds",
            "row 1 has no conf. Hint: every item needs a score; plan with nan='last' puts these last",
        ),
        ("sqlite", "SELECT * FROM unknown", "no such table: unknown"),
        ("sqlite", "SELECT * FROM preds WHERE id = 'none'", "no rows"),
    ],
)
def test_queries_that_give_no_list_are_one_line_and_leave_nothing(kind, query, says, tmp_path):
    source = f"{BASES[kind](tmp_path / 'db')}#{query}"
    with pytest.raises(InputError) as told:
        streameval.plan(source, tmp_path / "s", score="conf", seed=1)
    assert says in str(told.value)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "s").exists()


def test_a_list_without_a_query_is_shown_one_that_suits_any_table(tmp_path, capsys):
    source = duckdb_file(tmp_path / "db")
    for command in (["plan", source, "--study", tmp_path / "s"], ["exact", source, "--label", "good"]):
        assert f"no query. Hint: write it behind a #, such as '{source}#SELECT * FROM t'" in refused(capsys, *command)


def test_a_reader_that_was_read_already_may_be_why_no_row_comes(tmp_path):
    reader = TABLE.to_reader()
    streameval.plan(reader, tmp_path / "s", score="conf", budget=200, seed=1)
    with pytest.raises(InputError, match=r"no rows\. Hint: a reader gives its rows once: make a new one, if this was"):
        streameval.plan(reader, tmp_path / "t", score="conf", budget=200, seed=1)
    assert not (tmp_path / "t").exists()


def test_addresses_that_lead_nowhere_or_came_in_pieces(tmp_path, capsys):
    where = ["--study", tmp_path / "s"]
    assert "no such DuckDB file" in refused(capsys, "plan", f"duckdb:{tmp_path}/none#SELECT 1", *where)
    assert "no such SQLite file" in refused(capsys, "plan", f"sqlite:///{tmp_path}/none#SELECT 1", *where)
    (tmp_path / "table.csv").write_text("id,conf\n1,0.5\n")
    assert "not a DuckDB file" in refused(capsys, "plan", f"duckdb:{tmp_path}/table.csv#SELECT 1", *where)
    message = refused(capsys, "plan", "mysql://me:secret@host/db#SELECT 1", *where)
    assert "Hint: queries are of duckdb:, sqlite:// and postgresql://" in message
    assert "secret" not in message
    pieces = f"duckdb:{tmp_path}/db#SELECT id FROM t".split()
    assert "a query is a list by itself. Hint: quote it" in refused(capsys, "plan", *pieces, *where)
    assert not (tmp_path / "s").exists()


class Pretended:
    """A driver of PostgreSQL that answers out of an SQLite file; what went wrong at its server says `fails`."""

    def __init__(self, path):
        self.sqlite = pytest.importorskip("adbc_driver_sqlite.dbapi", reason="needs the extra [db]")
        self.path, self.asked, self.fails, self.Error = path, [], None, self.sqlite.Error

    def connect(self, target):
        self.asked.append(target)
        if self.fails:
            raise OSError(self.fails.format(target=target))
        return self.sqlite.connect(str(self.path))


def test_the_password_of_an_address_goes_to_its_server_and_is_kept_nowhere(tmp_path, capsys, monkeypatch):
    sqlite_file(tmp_path / "db")
    driver = Pretended(tmp_path / "db")
    monkeypatch.setitem(adbc._DRIVERS, "postgresql", "pretended")
    monkeypatch.setitem(sys.modules, "pretended", driver)
    address, study = "postgresql://reader:tell-nobody@host/base", tmp_path / "study"
    command = ["plan", f"{address}#{QUERY}", "--score", "conf", "--study", str(study), *SMALL]
    assert run(command) == 0
    assert set(driver.asked) == {address}
    assert Study(study).plan().location["copied"]["source"][0].endswith(f"#{QUERY}")
    for path in study.rglob("*"):
        assert path.is_dir() or b"tell-nobody" not in path.read_bytes()
    said = capsys.readouterr()
    assert "tell-nobody" not in said.out + said.err
    for fails, status, shown in (
        ('FATAL: role "reader" does not exist ({target})', 2, 'role "***" does not exist'),
        ("server closed the connection unexpectedly", 3, "Hint: run the command again when"),
    ):
        driver.fails = fails
        message = refused(capsys, *command[:5], tmp_path / "s", *SMALL, status=status)
        assert shown in message
        assert "tell-nobody" not in message
    assert not (tmp_path / "s").exists()


@pytest.mark.slow
def test_postgresql_is_a_list_and_its_password_is_kept_nowhere(postgresql, tmp_path, capsys):
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="needs the extra [db]")
    with dbapi.connect(postgresql, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS preds")
        cursor.execute("CREATE TABLE preds AS SELECT lpad(i::text, 6, '0') AS id, (i * 7919 % 20000) / 20000.0::float8"
                       " AS conf, (i / 3)::numeric AS price, now() AS at FROM generate_series(0, 19999) i")  # fmt: skip
        cursor.execute("CREATE ROLE reader LOGIN PASSWORD 'tell-nobody'")
        cursor.execute("GRANT SELECT ON preds TO reader")
    base = postgresql.replace("postgres:@", "reader:tell-nobody@")
    assert base != postgresql
    query, study = "SELECT * FROM preds ORDER BY id", tmp_path / "study"
    command = ["plan", f"{base}#{query}", "--score", "conf", "--study", str(study), *SMALL]
    assert run(command) == 0
    assert run(["select", str(study)]) == 0
    assert run(command) == 0
    assert pq.read_table(study / "ranking").column("price")[5].as_py() == "1"
    for path in study.rglob("*"):
        assert path.is_dir() or b"tell-nobody" not in path.read_bytes()
    assert Study(study).plan().location["copied"]["source"][0].endswith(f"#{query}")
    where = ["--study", tmp_path / "s"]
    assert "nothing_here" in refused(capsys, "plan", f"{base}#SELECT * FROM nothing_here", *where)
    divided = f"{base}#SELECT 1 / (id::int - 15000) AS x FROM preds"
    assert "division by zero. Hint: check the address" in refused(capsys, "plan", divided, *where)
    numeric = refused(capsys, "plan", f"{base}#SELECT id, price FROM preds", *where, "--score", "price")
    assert "is string, not a number or a date. Hint: make it a number where it comes from: CAST(price" in numeric
    gone = f"{base}#SELECT id, {ENDS} AS x FROM preds"
    assert "Hint: run the command again when" in refused(capsys, "plan", gone, *where, status=3)
    nobody = base.replace("reader:tell-nobody", "nobody:tell-nobody")
    message = refused(capsys, "plan", f"{nobody}#{query}", *where)
    assert "tell-nobody" not in message
    assert 'role "***" does not exist' in message
    assert not (tmp_path / "s").exists()


def test_a_server_that_is_not_there_is_worth_a_retry(tmp_path, capsys):
    pytest.importorskip("adbc_driver_postgresql.dbapi", reason="needs the extra [db]")
    address = "postgresql://me:secret@127.0.0.1:1/db#SELECT 1 AS x"
    message = refused(capsys, "plan", address, "--study", tmp_path / "s", status=3)
    assert "when the server is up" in message
    assert "secret" not in message


class Mine:
    """A stranger's class that speaks the Arrow protocol."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


def makers(folder):
    """What makes rows that come once, by kind."""
    pq.write_table(TABLE, folder / "list.parquet")
    dataset = pyarrow.dataset.dataset(folder / "list.parquet")
    return {
        "relation": lambda: duckdb.from_arrow(TABLE),
        "reader": TABLE.to_reader,
        "dataset": lambda: dataset,
        "filtered dataset": lambda: dataset.filter(pyarrow.dataset.field("conf") >= 0),
        "lazy frame": pl.from_arrow(TABLE).lazy,
        "stranger": Mine,
    }


@pytest.mark.parametrize("kind", ["relation", "reader", "dataset", "filtered dataset", "lazy frame", "stranger"])
def test_rows_that_come_once_are_kept_by_the_study(kind, tmp_path):
    make, study = makers(tmp_path)[kind], tmp_path / "study"
    plan = streameval.plan(make(), study, score="conf", budget=200, seed=1)
    assert plan.location["copied"]["source"] == ["(a table in memory)"]
    chosen = streameval.select(study).table
    whole = streameval.plan(TABLE, tmp_path / "whole", score="conf", budget=200, seed=1)
    of_table = streameval.select(tmp_path / "whole", ranking=TABLE).table
    assert chosen.column("id").to_pylist() == of_table.column("id").to_pylist()
    assert whole.ranks.tolist() == plan.ranks.tolist()
    assert streameval.plan(make(), study, score="conf", budget=200, seed=1).plan_id == plan.plan_id
    with pytest.raises(streameval.InputError, match="holds a copy of its ranking"):
        streameval.select(study, ranking=make())
    with pytest.raises(streameval.StudyError, match="the rows that were given: gives other rows"):
        streameval.plan(TABLE.slice(1).to_reader(), study, score="conf", budget=200, seed=1)


def test_rows_that_fail_on_the_way_are_one_line_and_leave_nothing(tmp_path):
    def batches():
        yield TABLE.to_batches()[0]
        raise OSError("the line is dead")

    reader = pa.RecordBatchReader.from_batches(TABLE.schema, batches())
    with pytest.raises(streameval.InputError, match=r"^the rows that were given: .*the line is dead"):
        streameval.plan(reader, tmp_path / "s", seed=1)
    assert not list((tmp_path / "s").glob("*.json"))
    assert not (tmp_path / "s" / "ranking").exists()


def test_rows_make_the_same_files_however_they_are_cut(tmp_path, monkeypatch):
    """Groups are closed by their rows, and by their bytes."""
    monkeypatch.setattr(write, "_STEP", 128)
    monkeypatch.setattr(write, "_GROUP_ROWS", 2_048)
    monkeypatch.setattr(write, "_GROUP_BYTES", 200_000)
    table = pa.table({"id": range(9_400), "text": [f"{i}" * (i % 50) for i in range(9_400)]})
    sizes = (31, 128, 9_400)
    prints = {
        streameval.plan(table.to_reader(max_chunksize=size), tmp_path / str(size), budget=50, seed=1).ranking[
            "fingerprint"
        ]
        for size in sizes
    }
    (part,) = (tmp_path / "31" / "ranking").glob("part-*")
    groups = pq.read_metadata(part)
    rows = [groups.row_group(i).num_rows for i in range(groups.num_row_groups)]
    assert rows[0] == 2_048
    assert 0 < rows[-2] < 2_048
    assert len(prints) == 1
