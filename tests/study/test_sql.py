"""One question in SQL and in Python has one answer, and a query reaches nothing but the study."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, nullcontext
from decimal import Decimal
from functools import cache
from io import StringIO

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measured import with_tables
from places import AS_A_COMMAND
from refusals import refused
from small_studies import MACROS, study_of
from suite_cases import LONG, cases, examples, slow

import streameval
from streameval.cli import run
from streameval.curve import Curve
from streameval.curve.envelope import Points, close
from streameval.errors import InputError, OutsideError
from streameval.methods import available
from streameval.study import Study
from streameval.types import Claim
from streameval.verbs.sql import connect

TARGETS = ("0.01", "0.07", "0.3", "0.5", "0.77", "0.9", "0.95", "0.999", "1")


@pytest.fixture(scope="module")
def studies(one_ranking, tmp_path_factory):
    """A study by its method, made once: tests leave it as it is, or change a copy."""
    root = tmp_path_factory.mktemp("studies")
    made = cache(lambda method: study_of(one_ranking, root / method, method, with_tables))
    made("loguniform")
    return made


@pytest.fixture
def study(studies):
    return studies("loguniform")


@pytest.fixture(scope="module")
def sessions(studies):
    """A session about a study by its method, opened once: queries change nothing of it."""
    with ExitStack() as stack:
        opened = cache(lambda method: stack.enter_context(connect(studies(method))))
        opened("loguniform")
        yield opened


@pytest.fixture
def session(sessions):
    return sessions("loguniform")


def same(asked, found):
    values = tuple(None if isinstance(one, float) and np.isnan(one) else one for one in asked)
    return values == (tuple(found.values()) if found else (None, None, None))


AT_RANK = ("precision_at", "recall_at", "yield_at", "f_measure", "threshold_at")
AT_TARGET = ("rank_at_precision", "rank_at_recall")


def check_every_macro(session, curve, ranks, typed=True):
    """All ranks and targets as values of a column, and a few as a person types them."""
    check_questions(session, curve, AT_RANK, ranks, typed)
    check_questions(session, curve, AT_TARGET, TARGETS, typed)


def check_questions(session, curve, macros, values, typed):
    def asked(value):
        return ", ".join(f"{one}({value}{', 0.5' if one == 'f_measure' else ''}) AS {one}" for one in macros)

    column = ", ".join(f"({i}, {value})" for i, value in enumerate(values))
    answers = session.ask(f"SELECT i, {asked('value')} FROM (VALUES {column}) AS given(i, value)").to_pylist()
    assert sorted(row["i"] for row in answers) == list(range(len(values)))
    alone = (0, len(values) // 2) if typed else ()
    answers += [{"i": i} | session.ask(f"SELECT {asked(values[i])}").to_pylist()[0] for i in alone]
    for row in answers:
        value = values[row["i"]]
        for one in macros:
            expected = getattr(curve, one)(value, *([0.5] if one == "f_measure" else []))
            assert same(expected, row[one]), (one, value)


METHODS = sorted(available())


@pytest.mark.parametrize(
    ("method", "misses"),
    [
        *(("loguniform", 0), ("paula", 0), ("loguniform", 40)),
        *slow(*((one, 0) for one in METHODS if one not in ("loguniform", "paula"))),
        *slow(*((one, 40) for one in METHODS if one != "loguniform")),
    ],
)
def test_sql_and_python_agree_to_the_last_bit(method, misses, studies, sessions, tmp_path):
    study = studies(method)
    if misses:
        study = shutil.copytree(study, tmp_path / "study")
        streameval.evaluate(study, misses=misses)
    curve = Study(study).evaluation().curve
    ranks = [1, 2, 3, curve.n_items, *np.random.default_rng(3).integers(1, curve.n_items, 25).tolist()]
    with connect(study) if misses else nullcontext(sessions(method)) as session:
        check_every_macro(session, curve, ranks, typed=not misses)


def test_metrics_and_macros_agree(session):
    rows = session.ask(
        """SELECT metric, argument, lower, estimate, upper FROM metrics
           WHERE metric IN ('precision_at', 'recall_at', 'yield_at', 'rank_at_precision', 'rank_at_recall')"""
    ).to_pylist()
    assert len({row["metric"] for row in rows}) == 5
    for row in rows:
        (asked,) = session.ask(f"SELECT {row['metric']}({row['argument']}) AS found").column("found").to_pylist()
        assert asked == {key: row[key] for key in ("lower", "estimate", "upper")}, row


@settings(max_examples=examples(2, 16))
@given(
    n=st.integers(1, 40),
    seed=st.integers(0, 2**32),
    misses=st.sampled_from([0, 0, 1, 3, 20]),
    more=st.sampled_from([0, 0, 1, 30]),
    scores=st.booleans(),
)
def test_any_envelope_is_answered_alike(n, seed, misses, more, scores, tmp_path_factory):
    from streameval.curve.estimated import join
    from streameval.kinds.curve.database import _BOUNDED, _list_facts
    from streameval.study.database.session import Session
    from streameval.study.database.writer import database

    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < rng.random()).astype(np.int8)
    known = np.flatnonzero(rng.random(n) < rng.random() * 0.8)
    at, total = np.flatnonzero(rng.random(n) < 0.4), np.cumsum(truth)
    spread = rng.choice([1.0, 1.5])  # brackets need not be whole numbers
    points = Points(
        at + 1, total[at] - spread * rng.integers(0, 4, at.size), total[at] + spread * rng.integers(0, 4, at.size)
    )
    envelope = close(n, points, known + 1, truth[known])
    score = pa.table({"rank": np.arange(1, n + 1), "score": np.sort(rng.random(n))[::-1]}) if scores else None
    grid = np.unique(np.append(rng.integers(1, n + 1, 3), n))
    pieces = np.unique(np.append(rng.integers(1, n + 1, 4), n))
    raw = join(pieces, rng.choice([0, 0.3, 0.5, 1.0], pieces.size), known + 1, truth[known])
    curve = Curve(n, envelope, grid, Claim("simultaneous", 0.95, ""), score=score, estimated=rng.choice([raw, None]))
    curve = curve.with_misses(misses, misses + more, misses + rng.random() * more).settled
    curve = curve.with_score(curve.table.select(["rank", "score"])) if scores else curve
    facts = {name: pa.array([value], _BOUNDED[name]) for name, value in _list_facts(curve).items()}
    facts |= {"n_items": [n], "evaluation_id": ["0123456789abcdef"]}
    path = tmp_path_factory.mktemp("any") / "study.duckdb"
    database({"curve": curve.table, "envelope": curve.envelope_table, "provenance": pa.table(facts)})(str(path))
    with Session(path) as session:
        check_every_macro(session, curve, range(1, n + 1), typed=LONG)


class Trouble:
    """A connection that fails whatever it is asked."""

    def __init__(self, message):
        self.message = message

    def cursor(self):
        return nullcontext(self)

    def register(self, name, table):
        raise duckdb.Error(self.message)


def test_exhausted_memory_is_no_reason_to_store_a_column_as_text():
    from streameval.study.database.writer import storable

    table = pa.table({"price": pa.array([1, None], pa.decimal128(9, 2))})
    assert storable(Trouble("Not implemented Error: no such type"), table, {}).column(0).to_pylist() == ["1.00", None]
    with pytest.raises(OutsideError, match="Out of Memory"):
        storable(Trouble("Out of Memory Error: could not allocate block"), table, {})


@pytest.mark.parametrize("error", [KeyboardInterrupt, duckdb.Error])
def test_a_file_that_was_not_finished_is_let_go(error, tmp_path):
    from streameval.labelling.duckdb_session import tables_of_ours
    from streameval.study.database.writer import new_database, plain_database

    path = str(tmp_path / "study.duckdb")

    def stopped():
        with new_database(path) as first, new_database(f"{path}.other"):  # another thread may write at the same time
            first.execute("CREATE TABLE given AS SELECT 1 AS a")
            raise error

    with pytest.raises((KeyboardInterrupt, streameval.InputError)):
        stopped()
    with tables_of_ours() as ours:
        asked = "SELECT count(*) FROM duckdb_databases() WHERE starts_with(path, ?)"
        assert ours.execute(asked, [str(tmp_path)]).fetchall() == [(0,)]
    plain_database(lambda: {"given": pa.table({"a": [2]})}, {"given": "What is given."})(path)
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.execute("FROM given").fetchall() == [(2,)]


def test_macros_take_columns_of_any_name_and_many_rows(session):
    (row,) = session.ask(
        """SELECT bool_and(precision_at(rank).lower = precision_lower AND precision_at(rank).upper = precision_upper
                           AND precision_at(rank).estimate = precision AND recall_at(rank).lower = recall_lower
                           AND f_measure(rank, 1).upper = f1_upper AND threshold_at(rank).score = score) AS alike,
                  count(*) AS rows FROM curve"""
    ).to_pylist()
    assert row["alike"]
    assert row["rows"] > 100
    table = session.ask("FROM precision_at(100)").to_pylist()
    assert table == [{"rank": 100, **session.ask("SELECT precision_at(100) AS p").column("p")[0].as_py()}]


NO_RANK, NO_SHARE = "a rank is a whole number from 1 to 10,000", "a precision or recall is above 0 and at most 1"
REFUSED = (
    *((f"{macro}({k})", f"k is {k}: {NO_RANK}")
      for macro in (*AT_RANK[:3], "threshold_at") for k in (0, -1, 10001, 3000000, 0.01, 1.5)),
    ("precision_at('nan'::DOUBLE)", f"k is nan: {NO_RANK}"),
    ("precision_at('first')", f"k is first: {NO_RANK}"),
    ("precision_at(99999999999999999999)", f"k is 99999999999999999999: {NO_RANK}"),
    ("f_measure(0, 1)", f"k is 0: {NO_RANK}"),
    ("f_measure(10, -1)", "beta is -1: it is a weight of 0 or more"),
    ("f_measure(10, 'inf'::DOUBLE)", "beta is inf: it is a weight of 0 or more"),
    *((f"{macro}({x})", f"x is {x}: {NO_SHARE}") for macro in AT_TARGET for x in (0, 1.5)),
    ("rank_at_recall(0.0000000000001)", f"x is 0.0000000000001: {NO_SHARE}"),
    ("rank_at_precision('inf'::DOUBLE)", f"x is inf: {NO_SHARE}"),
)  # fmt: skip


@pytest.mark.parametrize("method", ["loguniform", "paula"])  # of a picture, as paula's, ranks are null
def test_what_cannot_be_asked_is_an_error(method, sessions):
    session = sessions(method)
    forms = ("SELECT {}", "FROM {}", "SELECT count(*) FROM {}")
    for at, (asked, said) in enumerate(REFUSED):
        for form in forms if LONG else (forms[at % 3],):
            query = form.format(asked)
            with pytest.raises(streameval.InputError, match=f"^{said}"):
                session.ask(query)


@pytest.mark.parametrize("score", ["float", "double", "other", "none"])
def test_no_error_stands_inside_of_a_lookup(score):
    """DuckDB 2 takes `error` for volatile, and looks up row by row what is one join without it."""
    from streameval.study.database.macros import macros

    assert [one.name for one in macros(score) if "error(" in one.body] == []


def test_of_what_is_null_the_answer_is_null(session):
    for macro in MACROS:
        asked = "NULL, 1" if macro == "f_measure" else "NULL"
        (row,) = session.ask(f"SELECT {macro}({asked}) AS found").to_pylist()
        assert row == {"found": None}, macro
        assert session.ask(f"FROM {macro}({asked})").num_rows == 0, macro
    assert session.ask("SELECT f_measure(1, NULL) AS found").to_pylist() == [{"found": None}]
    rows = session.ask("SELECT k, yield_at(k).lower AS y FROM (VALUES (1), (NULL), (10000)) AS t(k)").to_pylist()
    assert [row["y"] is None for row in rows] == [False, True, False]


@pytest.mark.parametrize("method", cases(sorted(available()), "loguniform", "paula"))
def test_tables_and_columns_say_what_they_are(method, studies, sessions):
    study, session = studies(method), sessions(method)
    names = session.ask("SELECT table_name, comment FROM duckdb_tables()").to_pylist()
    assert sorted(row["table_name"] for row in names) == [
        "curve", "envelope", "labels", "metrics", "plan", "provenance", "selection"]  # fmt: skip
    assert all(row["comment"] for row in names)
    columns = session.ask("SELECT column_name, comment FROM duckdb_columns() WHERE NOT internal").to_pylist()
    assert all(row["comment"] for row in columns)
    assert "Column of the method's own." not in {row["comment"] for row in columns}
    made = session.ask("SELECT function_name, comment FROM duckdb_functions() WHERE NOT internal").to_pylist()
    assert {row["function_name"] for row in made if row["comment"]} == {*MACROS, "weighted_mean"}
    (proof,) = session.ask("SELECT * FROM provenance").to_pylist()
    assert proof["command"].splitlines()[0].startswith("streameval plan ")
    assert json.loads(proof["parameters"]) == dict(Study(study).plan().parameters)


def test_answers_follow_the_results_whatever_the_database_for_others_holds(catalogue, tmp_path):
    study = catalogue.copy("curve-evaluated", tmp_path / "study")
    path = study / "study.duckdb"
    first = path.read_bytes()
    asked = "SELECT count(*) AS rows, count(id) AS items FROM selection JOIN labels USING (rank)"
    assert streameval.sql(study, asked).to_pylist()[0]["items"] > 0
    assert path.read_bytes() == first
    streameval.select(study, columns=[])
    path.write_bytes(b"not a database")
    assert "text" not in streameval.sql(study, "FROM selection LIMIT 1").column_names
    path.unlink()
    assert streameval.sql(study, "SELECT 2 AS two").to_pylist() == [{"two": 2}]
    streameval.evaluate(study)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS mine (READ_ONLY)")
        connection.execute("USE mine")
        assert connection.execute("SELECT precision_at(10).lower").fetchall()[0][0] is not None


def test_a_query_reaches_nothing_but_the_study(study, session, tmp_path):
    secret = tmp_path / "secret's.parquet"
    pq.write_table(pa.table({"a": [1]}), secret)
    other = tmp_path / "other.csv"
    other.write_text("rank,team\n1,red\n2,blue\n")
    quoted = str(secret).replace("'", "''")
    refused = (
        f"FROM '{quoted}'",
        f"SELECT * FROM read_text('{quoted}')",
        f"COPY curve TO '{tmp_path}/out.csv'",
        f"ATTACH '{tmp_path}/new.duckdb'",
        f"EXPORT DATABASE '{tmp_path}/all'",
        "DROP TABLE curve",
        "DELETE FROM labels",
        "CREATE TABLE x AS SELECT 1",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "INSTALL httpfs",
        "FROM secret",
        "FROM other",
        "SELEC 1",
        "SELECT precision_at()",
    )
    for query in refused:
        with pytest.raises(streameval.InputError):
            session.ask(query)
    files = {"lake": secret, "o;'\"": other}
    with connect(study, files=files) as allowed:
        assert allowed.ask("SELECT a FROM lake").to_pylist() == [{"a": 1}]
        joined = 'SELECT team FROM "o;\'""" JOIN labels USING (rank) ORDER BY rank'
        assert allowed.ask(joined).to_pylist() == [{"team": "red"}, {"team": "blue"}]
        with pytest.raises(streameval.InputError, match="not allowed"):
            allowed.ask(f"FROM '{study}/curve.parquet'")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.csv", "secret's.parquet"]


def test_a_query_writes_nothing_where_it_may_read(study, tmp_path):
    lake, one = tmp_path / "lake", tmp_path / "one.parquet"
    lake.mkdir()
    pq.write_table(pa.table({"a": [1]}), lake / "a.parquet")
    pq.write_table(pa.table({"a": [1]}), one)
    (lake / "exp").mkdir()
    (lake / "exp" / "load.sql").write_text("")
    (lake / "exp" / "schema.sql").write_text(f"COPY (SELECT 2 AS a) TO '{lake}/x.parquet';")
    pivot = "(PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b))"
    before = sorted(path.name for path in lake.rglob("*"))
    refused = (
        f"COPY (SELECT 2 AS a) TO '{lake}/a.parquet'",
        f"COPY (SELECT 2 AS a) TO '{one}' (USE_TMP_FILE false)",
        f"/* c */ COPY {pivot} TO '{lake}/a.parquet'",
        f"SELECT 1; COPY (SELECT 2 AS a) TO '{lake}/a.parquet'",
        f"EXPLAIN ANALYZE COPY (SELECT 2 AS a) TO '{lake}/a.parquet'",
        f"EXPLAIN /* d */ ANALYZE COPY (SELECT 2 AS a) TO '{lake}/a.parquet'",
        f"EXPLAIN (ANALYZE) COPY (SELECT 2 AS a) TO '{lake}/a.parquet'",
        f"EXPLAIN ANALYZE COPY {pivot} TO '{lake}/a.parquet'",
        f"PREPARE v AS COPY (SELECT 2 AS a) TO '{lake}/a.parquet'; EXECUTE v",
        f"EXPORT DATABASE '{lake}/all'",
        f"IMPORT DATABASE '{lake}/exp'",
        f"PRAGMA import_database('{lake}/exp')",
        f"CALL import_database('{lake}/exp')",
        f"ATTACH '{lake}/new.duckdb' AS new (READ_WRITE)",
        f"COPY FROM DATABASE study TO '{lake}/new.duckdb'",
    )
    with connect(study, files={"lake": lake, "one": one}) as session:
        for query in refused:
            with pytest.raises(streameval.InputError):
                session.ask(query)
            assert pq.read_table(lake / "a.parquet").to_pylist() == pq.read_table(one).to_pylist() == [{"a": 1}]
            assert sorted(path.name for path in lake.rglob("*")) == before
    answered = (
        ("EXPLAIN SELECT 1", 1), ("EXPLAIN (SELECT 1)", 1), ("EXPLAIN (FORMAT json) FROM lake", 1), ("SHOW TABLES", 8),
        ("EXPLAIN ANALYZE FROM lake", 1), ("DESCRIBE lake", 1), ("SUMMARIZE lake", 1), (f"FROM {pivot}", 1), ("", 0),
        ("CREATE TEMP TABLE mine AS FROM lake; INSERT INTO mine VALUES (2); FROM mine", 2), ("SET VARIABLE x = 1", 0),
    )  # fmt: skip
    with connect(study, files={"lake": lake}) as session:
        for query, rows in answered:
            assert session.ask(query).num_rows == rows, query


def test_a_file_cannot_stand_in_for_a_table(study, tmp_path):
    pq.write_table(pa.table({"rank": [1]}), tmp_path / "other.parquet")
    with pytest.raises(streameval.InputError, match="Envelope is a table of the study"):
        streameval.sql(study, "SELECT precision_at(1)", files={"Envelope": tmp_path / "other.parquet"})


def test_hostile_columns_are_stored_as_they_are(tmp_path):
    hostile = [
        "<script>alert(1)</script>",
        'a"; DROP TABLE plan; --',
        "it's",
        "\x1b[2J",
        "Item",
        "item",
        "",
        "new\nline",
    ]
    columns = {f"c{i}": [f"{name}{r}" for r in range(50)] for i, name in enumerate(hostile)}
    table = pa.table(columns).rename_columns(hostile)
    table = table.append_column("odd", pa.array([1] * 50, pa.decimal256(60, 2)))
    study = tmp_path / "a 'study'"
    streameval.plan(table, study, method="uniform", budget=50, seed=0)
    streameval.select(study, ranking=table)
    streameval.evaluate(study, labels=pa.table({"rank": np.arange(1, 51), "label": np.ones(50, np.int8)}))
    found = streameval.sql(study, "FROM selection ORDER BY rank")
    assert found.num_rows == 50
    for name in hostile[:5]:
        assert found.column(name).to_pylist() == [f"{name}{r}" for r in range(50)]
    assert {"item_2", "column"} <= set(found.column_names)


def test_the_command_asks_and_prints(study, printed):
    curve = Study(study).evaluation().curve
    questions = (("precision_at", 777), ("rank_at_precision", 0.5), ("rank_at_recall", 0.5))
    every = ", ".join(f"{method}({asked}) AS {method}" for method, asked in questions)
    (answers,) = json.loads(printed("sql", study, f"SELECT {every}", "--json"))["rows"]
    for method, asked in questions:
        assert same(getattr(curve, method)(asked), answers[method])
        metric, _, kind = method.partition("_at")
        measure = f"{metric}@{kind.removeprefix('_')}{':' * bool(kind)}{asked}"
        (row,) = json.loads(printed("show", study, measure, "--json"))["measures"]
        assert same(getattr(curve, method)(asked), {key: row[key] for key in ("lower", "estimate", "upper")})
    (row,) = json.loads(printed("show", study, "f2@777", "--json"))["measures"]
    assert (row["lower"], row["estimate"], row["upper"]) == tuple(curve.f_measure(777, 2.0))


@pytest.fixture
def printed(capsys):
    """Run a command that succeeds; what it prints."""

    def run_it(*arguments):
        capsys.readouterr()
        assert run([str(one) for one in arguments]) == 0
        return capsys.readouterr().out

    return run_it


def test_rows_go_into_a_file_by_its_ending_and_a_query_may_be_piped_in(study, tmp_path, printed, monkeypatch):
    columns = Study(study).evaluation().curve.table.column_names
    assert printed("sql", study, "SELECT 1 AS a, NULL AS b, 'x,y' AS c", "--out", "-") == 'a,b,c\n1,,"x,y"\n'
    printed("sql", study, "FROM curve", "--out", tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").column_names == [*columns, "evaluation_id"]
    printed("sql", study, "SELECT 1 AS a, team FROM t", "--out", tmp_path / "out.csv", "--with", f"t={_csv(tmp_path)}")
    assert (tmp_path / "out.csv").read_text() == "a,team\n1,red\n"
    monkeypatch.setattr("sys.stdin.read", lambda: "SELECT 41 + 1 AS answer, NULL AS b", raising=False)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert printed("sql", study).split() == ["answer", "b", "42", "NULL"]


def test_texts_that_a_spreadsheet_would_run_get_an_apostrophe_in_a_file_of_csv(study, tmp_path, capsys):
    cells = "SELECT '=1+1' AS \"@b\", -1.5 AS c, [1, -2] AS d, '-x' AS e"
    assert run(["sql", str(study), cells, "--out", str(tmp_path / "cells.csv")]) == 0
    assert (tmp_path / "cells.csv").read_text() == "'@b,c,d,e\n'=1+1,-1.5,\"[1, -2]\",'-x\n"
    capsys.readouterr()
    assert run(["sql", str(study), "SELECT '=1+1' AS b", "--out", "-"]) == 0
    assert capsys.readouterr().out == "b\n=1+1\n"


def test_without_a_query_tables_and_macros_are_listed(study, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", StringIO("\n"))
    capsys.readouterr()
    assert run(["sql", str(study), "--with", f"mine={_csv(tmp_path)}"]) == 0
    listed = dict(line.split("  ", 1) if "  " in line else (line, "") for line in capsys.readouterr().out.splitlines())
    listed = {name: comment.strip() for name, comment in listed.items()}
    shown = streameval.sql(study, "SHOW TABLES").column("name").to_pylist()
    assert set(shown) | {"mine", "precision_at(k)", "rank_at_recall(x)", "weighted_mean(x, w)"} <= listed.keys()
    assert listed["precision_at(k)"] == "Share of positives among the first k items."
    assert all(comment for name, comment in listed.items() if name != "mine")
    assert "se_triple" not in str(listed)
    monkeypatch.setattr("sys.stdin", StringIO(""))
    assert run(["sql", str(study), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["kind"] for row in rows} == {"table", "macro"}


def test_values_of_every_type_are_printed(study, printed):
    query = """SELECT sum(1) AS whole, 0.5 AS part, 'nan'::DOUBLE AS n, DATE '2026-01-02' AS d, MAP {'k': 1} AS m,
        [0.5, NULL, 'inf'::DOUBLE] AS l, {'a': [1]} AS s, 'ab\\x00'::BLOB AS b, true AS t, 1 AS a, 2 AS a, 3 AS "A\""""
    (row,) = json.loads(printed("sql", study, query, "--json"))["rows"]
    assert row == {"whole": 1, "part": 0.5, "n": None, "d": "2026-01-02", "m": [["k", 1]], "l": [0.5, None, None],
                   "s": {"a": [1]}, "b": "ab\\x00", "t": True, "a": 1, "a_2": 2, "A_3": 3}  # fmt: skip
    few = "SELECT [1, NULL] AS l, 'a\\x00'::BLOB AS b"
    assert printed("sql", study, few).splitlines()[1].split() == ["[1,", "NULL]", "a\\x00"]
    floats = "SELECT [1, NULL, 'nan'::DOUBLE] AS l, 1 AS a, 2 AS a, 3 AS \"A\""
    assert printed("sql", study, floats, "--out", "-") == 'l,a,a_2,A_3\n"[1.0, null, null]",1,2,3\n'


DAY, MOMENT = "SELECT 'infinity'::DATE AS d", "SELECT '290000-01-01'::TIMESTAMP AS d"


@pytest.mark.parametrize(
    ("cast", "words"),
    [("d::VARCHAR", [DAY, "--out", "-"]), ("d::VARCHAR", [MOMENT, "--json"]), ("d::VARCHAR", [MOMENT]),
     *slow(("d::VARCHAR", [DAY])), ("i::VARCHAR", ["SELECT INTERVAL 1 DAY AS i", "--out", "out.parquet"])],
)  # fmt: skip
def test_a_value_that_cannot_be_printed_is_to_be_asked_for_as_text(cast, words, study, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cast in refused(capsys, "sql", study, *words)
    assert not (tmp_path / "out.parquet").exists()


def test_a_name_of_a_file_that_is_given_twice_is_refused(study, capsys):
    assert "given twice" in refused(capsys, "sql", study, "SELECT 1", "--with", "x=a", "--with", "x=b")


def _csv(folder):
    (folder / "t.csv").write_text("rank,team\n1,red\n")
    return folder / "t.csv"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sql", "STUDY", "SELEC"], "syntax error"),
        (["sql", "STUDY", "FROM 'x.csv'"], "--with NAME=PATH"),
        (["sql", "STUDY", "SELECT 1", "--with", "x"], "not NAME=PATH"),
        (["sql", "STUDY", "SELECT 1", "--with", "x=/no/such"], "no such file"),
        (["sql", "STUDY", "SELECT 1", "--out", "-", "--json"], "one form"),
        (["sql", "STUDY", "SELECT 1", "--out", "rows.xlsx"], "end it in .parquet or .csv"),
        (["sql", "NOWHERE", "SELECT 1"], "make a study with `streameval plan`"),
        (["show", "STUDY", "precision@10001"], "rank 10,001 is outside 1..10,000"),
        (["show", "STUDY", "rank@recall:1.5"], "outside [0, 1]"),
        (["show", "STUDY", "rank@precision:high"], "not a number"),
        (["show", "STUDY", "precison@5"], "did you mean 'precision'?"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(arguments, said, study, tmp_path, capsys):
    places = {"STUDY": str(study), "NOWHERE": str(tmp_path / "nowhere")}
    capsys.readouterr()
    assert run([places.get(one, one) for one in arguments]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert len(message.strip().splitlines()) == 1


HOSTILE = "SELECT chr(27) || '[2J' || chr(155) || chr(8238) || '[red]' AS \"\x1b]0;x\x07\", 1 AS b"


def test_nothing_in_a_value_reaches_what_is_printed(study, capsys):
    assert run(["sql", str(study), HOSTILE, "--json"]) == 0
    assert not set(capsys.readouterr().out) & {"\x1b", "\x07", "\x9b", "\u202e"}
    assert run(["sql", str(study), "SELECT \x1b[2J"]) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("flags", [[], ["--out", "-"]])
def test_a_terminal_is_shown_what_a_value_holds_and_is_told_nothing_by_it(flags, study, printed, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    out = printed("sql", study, HOSTILE, *flags)
    assert "\\x1b[2J" in out
    assert "[red]" in out
    assert not set(out) & {"\x07", "\x9b", "\u202e"}


def test_a_database_is_written_in_one_transaction_whatever_types_it_cannot_store(tmp_path, monkeypatch):
    """Each statement alone was written to the log and synced; a type that fails must not end what holds the others."""
    from streameval.study.database import writer

    logged, log = [], tmp_path / "a.wal"

    def macros(*given):
        logged.append(log.stat().st_size if log.exists() else 0)  # after all tables, before what follows them
        return ["SELECT 1"]

    monkeypatch.setattr(writer, "macro_statements", macros)
    odd = pa.array([1, None], pa.decimal256(60, 2))
    tables = {"labels": pa.table({"id": [1, 2], "odd": odd}), "provenance": pa.table({"evaluation_id": ["0123"]})}
    writer.database(tables)(str(tmp_path / "a"))
    assert logged == [0]
    with duckdb.connect(tmp_path / "a", read_only=True) as connection:
        assert connection.execute("SELECT id, odd FROM labels ORDER BY id").fetchall() == [(1, "1.00"), (2, None)]


CATALOG = (
    "SELECT table_name, column_name, column_index, data_type, column_default, is_nullable, comment "
    "FROM duckdb_columns() WHERE NOT internal ORDER BY ALL",
    "SELECT table_name, comment, sql FROM duckdb_tables() WHERE NOT internal ORDER BY ALL",
    "SELECT constraint_text FROM duckdb_constraints() ORDER BY ALL",
    "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
    "SELECT function_name, function_type, parameters, macro_definition, comment FROM duckdb_functions() "
    "WHERE NOT internal ORDER BY ALL",
)
ODD = {
    "Rank": pa.array([1, 2], pa.uint8()), "rank": pa.array([1, 2], pa.int16()), "half": pa.array([1, 2], pa.float16()),
    'a "b"': pa.array([{"c d": 1, 'e"f': ["x"]}, None]), "told": pa.array(["a", "a"]).dictionary_encode(),
    "when": pa.array([0, 1], pa.timestamp("us", "Europe/Berlin")), "day": pa.array([0, 1], pa.date32()),
    "price": pa.array([1, None], pa.decimal128(9, 2)), "long": pa.array([1, None], pa.decimal256(60, 2)),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())), "raw": pa.array([b"a", None]),
    "took": pa.array([1, 2], pa.duration("s")), "none": pa.nulls(2),
}  # fmt: skip


def test_what_is_copied_from_a_template_is_what_its_statements_make(studies, tmp_path, monkeypatch):
    from streameval.kinds.curve import database as made_of
    from streameval.study.database import writer

    study = Study(studies("loguniform"))
    tables, _ = made_of._contents(study, study.plan(), study.evaluation())
    tables["selection"], caution = pa.table(ODD), "Of the claim: it's none."
    catalogs, copy = [], writer._copy_template
    monkeypatch.setattr(writer, "_copy_template", lambda *given: (catalogs.append(given[1]), copy(*given)))
    for path in ("first", "again"):  # the second time the template is there
        writer.database(tables, caution)(str(tmp_path / path))
    assert catalogs[0] == catalogs[1]
    with writer.new_database(str(tmp_path / "plain")) as plain:
        plain.execute(catalogs[0])
        plain.execute(";".join(writer.macro_statements(tables, caution)))
    with duckdb.connect(tmp_path / "plain", read_only=True) as plain:
        expected = [plain.execute(asked).fetchall() for asked in CATALOG]
    assert len(expected[0]) > 60
    assert len(expected[4]) > 15
    for path in ("first", "again"):
        with duckdb.connect(tmp_path / path, read_only=True) as connection:
            assert [connection.execute(asked).fetchall() for asked in CATALOG] == expected
            for name, table in tables.items():
                assert connection.execute(f"SELECT count(*) FROM {name}").fetchall() == [(table.num_rows,)]
            assert connection.execute('SELECT "Rank", "rank_2", half, long, price FROM selection').fetchall() == [
                (1, 1, 1.0, "1.00", Decimal("1.00")), (2, 2, 2.0, None, None)
            ]  # fmt: skip


@pytest.mark.parametrize(("rows", "compressed"), [(1024, False), (1025, True)])
def test_only_databases_of_long_tables_are_compressed(rows, compressed, tmp_path, monkeypatch):
    from streameval.study.database import writer

    monkeypatch.setattr(writer, "macro_statements", lambda *given: ["SELECT 1"])
    provenance = pa.table({"evaluation_id": ["0123"]})
    for name, many in (("before", 1024), ("study", rows)):  # what the one before chose says nothing
        tables = {"plan": pa.table({"rank": np.arange(many) // 100}), "provenance": provenance}
        writer.database(tables)(str(tmp_path / name))
    with duckdb.connect(tmp_path / "study", read_only=True) as connection:
        asked = "SELECT DISTINCT compression FROM pragma_storage_info('plan')"
        assert (("RLE",) in connection.execute(asked).fetchall()) == compressed
        assert connection.execute("SELECT count(*), max(rank) FROM plan").fetchall() == [(rows, 10)]


def test_a_process_keeps_few_templates_and_none_that_was_not_finished(tmp_path, monkeypatch):
    from streameval.labelling.duckdb_session import tables_of_ours
    from streameval.study.database import writer

    def templates():
        asked = f"SELECT database_name FROM duckdb_databases() WHERE starts_with(database_name, '{writer._TEMPLATE}')"
        with tables_of_ours() as ours:
            return {name for (name,) in ours.execute(asked).fetchall()}

    monkeypatch.setattr(writer, "_TEMPLATES", 2)
    there = templates()
    with writer.new_database(str(tmp_path / "none")) as connection:
        with pytest.raises(duckdb.Error, match="no_such_type"):
            writer._copy_template(connection, "CREATE TABLE a (b INTEGER); CREATE TABLE c (d no_such_type)")
        assert templates() <= there
        writer._copy_template(connection, "CREATE TABLE first (b INTEGER)")
        (first,) = templates() - there
    for name in ("second", "third", "third"):
        with writer.new_database(str(tmp_path / "more")) as connection:
            writer._copy_template(connection, f"CREATE TABLE {name} (b INTEGER)")
            assert connection.execute("SHOW TABLES").fetchall() == [(name,)]
    assert len(templates()) == 2
    assert first not in templates()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what a process may write to")
def test_texts_that_a_function_makes_stay_within_the_memory_that_was_given(study):
    """Which DuckDB does not count."""
    with pytest.raises(InputError, match="takes more memory than it may"):
        streameval.sql(study, "SELECT length(repeat('x', 2000000000))", memory=0.05)
    assert streameval.sql(study, "SELECT 2 AS a", memory=0.05).to_pylist() == [{"a": 2}]


HELD = f"""
{AS_A_COMMAND}
import os, signal, sys, threading
from streameval.verbs.sql import connect
never = threading.Event()
def hold(a):
    os.kill(os.getpid(), signal.SIGINT)
    never.wait()
with connect(sys.argv[1]) as session:
    session._connection.create_function("hold", hold, ["BIGINT"], "BIGINT")
    session.ask("SELECT hold(1)")
"""


def test_an_interrupt_ends_a_query_within_one_call(study):
    """Within which DuckDB hears nothing."""
    called, go_on = [], threading.Event()

    def hold(number):
        called.append(number)
        os.kill(os.getpid(), signal.SIGINT)
        go_on.wait()
        return number

    with connect(study) as session:
        session._connection.create_function("hold", hold, ["BIGINT"], "BIGINT")
        with pytest.raises(KeyboardInterrupt):
            session.ask("SELECT hold(7)")
    assert called == [7]
    go_on.set()


@pytest.mark.slow
def test_a_program_ends_though_a_query_that_was_interrupted_goes_on(study):
    ended = subprocess.run([sys.executable, "-c", HELD, str(study)], capture_output=True, timeout=60, check=False)
    assert ended.returncode == -signal.SIGINT
    assert ended.stderr.decode().splitlines()[-1] == "KeyboardInterrupt"
