"""Several studies in one DuckDB connection: each macro answers about its own study, or says why it does not."""

import shutil
from functools import cache

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from suite_cases import LONG, cases, slow

import streameval
from streameval.cli import run
from streameval.study import Study

N = 600
QUESTIONS = (
    ("precision_at", "500"), ("recall_at", "500"), ("yield_at", "500"), ("f_measure", "500, 2"),
    ("threshold_at", "500"), ("rank_at_precision", "0.5"), ("rank_at_recall", "0.5"), ("rank_at_score", "0.5"),
    ("precision_at_score", "0.5"),
)  # fmt: skip
SLICED = tuple((f"slice_{name}", f"'red', {values.replace('500', '50')}") for name, values in QUESTIONS)
FORMS = (
    "SELECT {asked} AS found",
    "SELECT found FROM (FROM {asked}) AS found",
    "SELECT count(*) AS found FROM {asked}",
    "SELECT {asked} AS found FROM range(2)",
)
ASKED = tuple((name, form) for name, _ in QUESTIONS + SLICED for form in FORMS)
VALUES = dict(QUESTIONS + SLICED)


def night(folder, share, seed):
    """A study by slices of a list in which so many of the best items are positive."""
    rng = np.random.default_rng(seed)
    score = np.round(np.sort(rng.random(N))[::-1], 4)
    good = rng.random(N) < share * score
    items = pa.table({"score": score, "team": rng.choice(["red", "blue"], N), "good": good})
    streameval.plan(items, folder, by="team", budget=150, seed=seed, options=streameval.RankingOptions(score="score"))
    chosen = streameval.select(folder, ranking=items).table
    streameval.evaluate(folder, labels=chosen.select(["rank", "good"]), label="good")
    return folder


@pytest.fixture(scope="module")
def good_night(tmp_path_factory):
    return night(tmp_path_factory.mktemp("nights") / "n6", 1.0, 6)


@pytest.fixture(scope="module")
def nights(good_night):
    return {"n6": good_night, "n7": night(good_night.parent / "n7", 0.5, 7)}


def some(number):
    """Every third question in one of its forms; in scripts/long all, and also in the first."""
    return [
        (name, form)
        for at, name in enumerate(VALUES)
        if LONG or (at + number) % 3 == 0
        for form in {FORMS[(at + number // 2) % len(FORMS)]} | ({FORMS[0]} if LONG else set())
    ]


@cache
def without_others(study):
    """A connection in which a study is alone."""
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{study}/study.duckdb' AS it (READ_ONLY)")
    connection.execute("USE it")
    return connection


@cache
def alone(study, name, form):
    """What a macro says of a study where no other is near."""
    return without_others(study).execute(query("", name, form)).fetchall()


def answer_alike(connection, prefix, asked, study):
    """Whether macros answer as they do where no other study is near."""
    return all(
        connection.execute(query(prefix, name, form)).fetchall() == alone(study, name, form) for name, form in asked
    )


def query(prefix, name, form):
    return form.format(asked=f"{prefix}{name}({VALUES[name]})")


@pytest.fixture
def both(nights, tmp_path):
    """A connection of somebody's own database, with both studies attached as they are."""
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as connection:
        connection.execute("CREATE TABLE mine AS SELECT 500 AS k UNION ALL SELECT 550")
        for name, study in nights.items():
            connection.execute(f"ATTACH '{study}/study.duckdb' AS {name} (READ_ONLY)")
        yield connection


USING = (
    ("USE n6",),
    ("USE n7",),
    ("SET search_path = 'n7,n6'",),
    ("SET search_path = 'warehouse,n7'",),
    *((f"CREATE TEMP TABLE {table} AS FROM n7.{table}", "USE n6")
      for table in ("provenance", "envelope", "curve", "slices", "slice_envelope", "slice_curve")),
    ("CREATE TEMP VIEW curve AS FROM n7.curve", "USE n6"),
    ("CREATE TABLE envelope AS FROM n7.envelope", "SET search_path = 'warehouse,n6'"),
)  # fmt: skip


FEW = (0, 2, 3, 5, len(USING) - 1)  # of the six tables of one statement, one


@pytest.mark.parametrize("number", cases(range(len(USING)), *FEW), ids=lambda number: " and ".join(USING[number]))
def test_no_macro_answers_about_another_study(number, both, nights):
    for statement in USING[number]:
        both.execute(statement)
    answered = 0
    for study, folder in nights.items():
        evaluation_id = Study(folder).evaluation().evaluation_id
        for name, form in some(number):
            try:
                found = both.execute(query(f"{study}.", name, form)).fetchall()
            except duckdb.Error as error:
                said = str(error).splitlines()
                assert evaluation_id in said[0], (study, name, said)
                assert "USE its own database first" in said[0]
                assert "streameval sql STUDY --macros NAME" in said[0]
            else:
                assert found == alone(folder, name, form), (study, name, form)
                answered += 1
    assert answered


def test_without_a_study_in_use_its_macros_say_what_is_missing(both):
    for name, values in QUESTIONS + SLICED:
        with pytest.raises(duckdb.CatalogException, match=r"does not exist!\nDid you mean .*n6\."):
            both.execute(f"SELECT n6.{name}({values})")


@pytest.fixture(scope="module")
def registered(nights, tmp_path_factory):
    """A connection of somebody's own database, in which both studies are registered; tests change what is in use."""
    with duckdb.connect(str(tmp_path_factory.mktemp("registered") / "warehouse.duckdb")) as connection:
        connection.execute("CREATE TABLE mine AS SELECT 500 AS k UNION ALL SELECT 550")
        for name, study in nights.items():
            streameval.register(connection, study, name)
        yield connection


@pytest.mark.parametrize(
    "given",
    [
        (("USE warehouse", some(2)), ("USE n7", some(3)[:3])),
        pytest.param((("USE warehouse", ASKED), ("USE n6", some(0)), ("USE n7", some(1))), marks=pytest.mark.slow),
    ],
    ids=["some", "all"],
)
def test_registered_studies_answer_side_by_side(given, nights, registered):
    for using, asked in given:
        registered.execute(using)
        assert all(answer_alike(registered, f"{name}_", asked, study) for name, study in nights.items())


@pytest.mark.parametrize("using", cases(["USE warehouse", "USE n6", "USE n7"], "USE n7"))
def test_macros_of_registered_studies_are_asked_beside_tables_of_somebody_else(using, nights, registered):
    registered.execute(using)
    curves = {name: Study(study).evaluation().curve for name, study in nights.items()}
    rows = registered.execute("""SELECT k, n6_precision_at(k).lower, n7_precision_at(k).lower
                                 FROM warehouse.mine ORDER BY k""").fetchall()  # fmt: skip
    assert rows == [(k, *(curve.precision_at(k).lower for curve in curves.values())) for k in (500, 550)]
    averages = "SELECT n6.weighted_mean(label, weight).known FROM n6.labels"
    assert registered.execute(averages).fetchall() == [(1.0,)]
    with pytest.raises(duckdb.InvalidInputException, match="k is 3000000: a rank is a whole number from 1 to 600"):
        registered.execute("SELECT n7_precision_at(3000000)")


def test_registering_leaves_everything_as_it_was(nights, tmp_path):
    path, before = tmp_path / "warehouse.duckdb", {p: p.stat().st_mtime_ns for p in nights["n6"].rglob("*")}
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE mine AS SELECT 1 AS k")
        streameval.register(connection, nights["n6"], "n6")
        for change in ("DELETE FROM n6.curve", "DROP TABLE n6.plan", "CREATE TABLE n6.mine AS SELECT 1 AS k"):
            with pytest.raises(duckdb.Error, match="read-only"):
                connection.execute(change)
        assert connection.execute("SHOW TABLES").fetchall() == [("mine",)]
    with duckdb.connect(str(path)) as connection:
        macros = "SELECT count(*) FROM duckdb_functions() WHERE function_name LIKE 'n6%'"
        assert connection.execute(macros).fetchall() == [(0,)]
        assert ("n6",) not in connection.execute("SELECT database_name FROM duckdb_databases()").fetchall()
    assert {p: p.stat().st_mtime_ns for p in nights["n6"].rglob("*")} == before


def test_what_is_in_use_may_be_registered_again_where_its_results_are_the_same(good_night):
    with duckdb.connect() as connection:
        streameval.register(connection, good_night, "n6")
        connection.execute("USE n6")
        streameval.register(connection, good_night, "n6")
        assert answer_alike(connection, "n6_", [("recall_at", FORMS[0])], good_night)


def test_macros_are_of_one_cursor_and_tables_of_all(good_night):
    with duckdb.connect() as connection:
        streameval.register(connection, good_night, "n6")
        cursor = connection.cursor()
        streameval.register(cursor, good_night, "n6")
        assert answer_alike(cursor, "n6_", [("recall_at", FORMS[0])], good_night)


def test_registering_again_takes_the_results_as_they_are(study):
    study = study("curve-evaluated")
    asked = "SELECT n6_recall_at(500).lower"
    with duckdb.connect() as connection:
        streameval.register(connection, study, "n6")
        first = connection.execute(asked).fetchall()
        connection.execute("USE n6")
        streameval.evaluate(study, label_error=0.05)
        assert connection.execute(asked).fetchall() == first
        with pytest.raises(streameval.InputError, match="Cannot detach database"):  # DuckDB says to USE another first
            streameval.register(connection, study, "n6")
        connection.execute("USE memory")
        streameval.register(connection, study, "n6")
        assert (
            connection.execute(asked).fetchall() == [(Study(study).evaluation().curve.recall_at(500).lower,)] != first
        )


@pytest.fixture(scope="module")
def other(nights):
    """A connection with one study, for tests that leave it as it is."""
    with duckdb.connect() as connection:
        streameval.register(connection, nights["n7"], "other")
        yield connection


@pytest.mark.parametrize(
    ("before", "name", "said", "after"),
    [
        ("", "2026-11-16", "'2026-11-16' is no name for SQL", ""),
        ("", 'n6"; DROP TABLE mine; --', "is no name for SQL", ""),
        ("", "", "is no name for SQL", ""),
        ("", "Memory", "Memory is a database of this connection already", ""),
        ("", "main", "main is a schema", ""),
        ("", "other", "other is another study in this connection", ""),
        ("CREATE SCHEMA n6", "N6", "N6 is a schema of the database memory", "DROP SCHEMA n6"),
        ("CREATE MACRO n6_precision_at(k) AS k", "n6", "n6_precision_at is a function of this connection already",
         "DROP MACRO n6_precision_at"),
        ("CREATE TEMP MACRO n6_recall_at(k) AS TABLE SELECT k", "n6", "n6_recall_at is a function of this connection",
         "DROP MACRO TABLE n6_recall_at"),
        ("", "other_slice", "other_slice_f_measure is a function of this connection already", ""),
        *slow(
            ("", "temp", "temp is a database of this connection already", ""),
            ("ATTACH ':memory:' AS n6", "n6", "n6 is a database of this connection already", "DETACH n6"),
        ),
    ],
)  # fmt: skip
def test_a_name_that_is_taken_is_refused(before, name, said, after, other, nights, catalogue):
    other.execute(before) if before else None
    known = known_names(other)
    with pytest.raises(streameval.InputError, match=said) as refused:
        streameval.register(other, catalogue.path("curve-evaluated"), name)
    assert len(str(refused.value).splitlines()) == 1
    assert known_names(other) == known
    other.execute(after) if after else None
    assert answer_alike(other, "other_", [("recall_at", FORMS[0])], nights["n7"])


def known_names(connection):
    """All databases, and all macros with what they stand for."""
    databases = "SELECT database_name, NULL, NULL FROM duckdb_databases()"
    macros = "SELECT database_name, function_name, macro_definition FROM duckdb_functions() WHERE NOT internal"
    return connection.execute(f"{databases} UNION ALL {macros} ORDER BY ALL").fetchall()


def test_what_is_no_connection_or_no_study_is_refused(catalogue, tmp_path):
    with pytest.raises(streameval.InputError, match="a str is no connection of DuckDB"):
        streameval.register("warehouse.duckdb", catalogue.path("curve-evaluated"), "n6")
    with duckdb.connect() as connection, pytest.raises(streameval.StudyError, match="make a study"):
        streameval.register(connection, tmp_path / "nowhere", "n6")


def test_what_is_called_study_duckdb_is_not_opened(nights, tmp_path):
    study = shutil.copytree(nights["n6"], tmp_path / "study")
    (study / "study.duckdb").unlink()
    with duckdb.connect(str(study / "study.duckdb")) as hostile:
        hostile.execute("CREATE VIEW curve AS SELECT * FROM read_text('/etc/hostname')")
    with duckdb.connect() as connection:
        streameval.register(connection, study, "n6")
        assert answer_alike(connection, "n6_", some(2), nights["n6"])


def test_many_rankings_are_tables_without_macros(catalogue):
    with duckdb.connect() as connection:
        streameval.register(connection, catalogue.path("labelled-rankings"), "runs")
        assert connection.execute("SELECT count(*) FROM runs.rankings").fetchall() == [(60,)]


def test_the_command_prints_what_does_the_same(nights, tmp_path, capsys):
    study = shutil.copytree(nights["n6"], tmp_path / "one's study")
    printed = []
    for name, folder in (("n6", study), ("n7", nights["n7"])):
        assert run(["sql", str(folder), "--macros", name]) == 0
        printed.append(capsys.readouterr().out)
    with duckdb.connect() as connection:
        for statements in (*printed, printed[0]):  # a script may run it again
            connection.execute(statements)
        for name, folder in nights.items():
            assert answer_alike(connection, f"{name}_", some(1), folder)


def test_macros_of_other_results_say_that_they_are_out_of_date(study, capsys):
    folder = study("curve-evaluated")
    assert run(["sql", str(folder), "--macros", "n6"]) == 0
    printed = capsys.readouterr().out
    streameval.evaluate(folder, label_error=0.05)
    with duckdb.connect() as connection:
        connection.execute(printed)
        with pytest.raises(duckdb.Error, match=r"^[^\n]*n6 has other results than when its macros .*--macros n6"):
            connection.execute("SELECT n6_precision_at(500)")


def test_macros_go_with_no_query_and_no_file(nights, tmp_path, capsys):
    study = shutil.copytree(nights["n6"], tmp_path / "study")
    assert run(["sql", str(study), "--macros", "n6", "--json"]) == 0
    assert '"ATTACH IF NOT EXISTS' in capsys.readouterr().out
    for wrong, said in ((["SELECT 1"], "asks nothing"), (["--out", "-"], "asks nothing")):
        assert run(["sql", str(study), *wrong, "--macros", "n6"]) == 2
        assert said in capsys.readouterr().err
    (study / "study.duckdb").unlink()
    assert run(["sql", str(study), "--macros", "n6"]) == 2
    assert "run `streameval evaluate` again" in capsys.readouterr().err
