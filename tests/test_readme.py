"""What the README shows on a console is what the commands print."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import streameval
import streameval.study
from streameval.cli import run

README = Path(__file__).resolve().parents[1] / "README.md"
QUERIES = re.findall(r"```sql\n(SELECT .*?)```", README.read_text(), re.DOTALL)
SHOWN = re.findall(r"```console\n\$ streameval (.*?)\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.fixture(autouse=True)
def my_study(tmp_path, monkeypatch, request):
    """The studies that the README asks: 100,000 items, two thirds positive at the top and fewer below."""
    monkeypatch.chdir(tmp_path)
    n = 100_000
    rank = np.arange(1, n + 1)
    truth = (rank * 0.6180339887 % 1 < 1 / (1 + rank / 20_000)).astype(np.int8)
    pq.write_table(pa.table({"id": rank * 7, "team": rank % 3}), "ranking.parquet")
    command = getattr(request.node, "callspec", None) and request.node.callspec.params["command"]
    study, by = ("by-team", "team") if command and "by-team" in command else ("my-study", None)
    if command and command.startswith("plan"):
        return
    plan = streameval.plan("ranking.parquet", study, method="loguniform", by=by, seed=0)
    streameval.select(study)
    streameval.evaluate(study, labels=pa.table({"rank": plan.ranks, "label": truth[plan.ranks - 1]}))


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_readme_shows_what_is_printed(command, output, capsys):
    assert run(shlex.split(command)) == 0
    assert capsys.readouterr().out.startswith(output)


def test_there_is_something_to_show():
    assert SHOWN
    assert len(QUERIES) == 2


def expected_of_queries():
    """What Python says to the two recipes."""
    curve = streameval.study.Study(Path("my-study")).evaluation().curve
    bounds = [(rank, curve.precision_at(rank).lower, curve.precision_at(rank).upper) for rank in (1000, 50000)]
    shown = curve.table.filter(pc.greater_equal(curve.table.column("precision_lower"), 0.9))
    deepest = pc.max(shown.column("rank")).as_py()
    selection = pq.read_table("my-study/selection.parquet", columns=["id", "rank"])
    return bounds, [(row["id"], row["rank"]) for row in selection.to_pylist() if row["rank"] <= deepest]


def test_recipes_give_the_same_in_anyones_duckdb():
    with duckdb.connect() as own:
        for name in ("envelope", "curve", "selection"):
            own.execute(f"CREATE VIEW {name} AS FROM 'my-study/{name}.parquet'")
        own.execute("CREATE VIEW lake AS FROM 'ranking.parquet'")
        assert tuple(own.execute(query).fetchall() for query in QUERIES) == expected_of_queries()


def test_recipes_give_the_same_in_postgresql():
    pgserver = pytest.importorskip("pgserver", reason="a real PostgreSQL comes with the package pgserver")
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="needs the extra [db]")
    folder = tempfile.mkdtemp(prefix="streameval-pg-", dir="/tmp")  # the server's own user must get there
    os.chmod(folder, 0o755)
    server = pgserver.get_server(f"{folder}/pg")
    try:
        with dbapi.connect(server.get_uri()) as connection, connection.cursor() as cursor:
            for name in ("envelope", "curve", "selection"):
                table = pq.read_table(f"my-study/{name}.parquet").replace_schema_metadata(None)
                cursor.adbc_ingest(name, table, mode="create")
            cursor.adbc_ingest("lake", pq.read_table("ranking.parquet"), mode="create")
            found = []
            for query in QUERIES:
                cursor.execute(query)
                found.append(cursor.fetchall())
        assert tuple(found) == expected_of_queries()
    finally:
        server.cleanup()
        shutil.rmtree(folder)


IN_SAIL = """
import json, sys
sys.path.insert(0, sys.argv[1])
from spark_cases import session
remote = session("sail")["remote"]
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(remote).getOrCreate()
for name in ("my-study/envelope", "my-study/curve", "my-study/selection", "ranking"):
    spark.read.parquet(f"{sys.argv[2]}/{name}.parquet").createOrReplaceTempView(name.split("/")[-1])
spark.table("ranking").createOrReplaceTempView("lake")
print(json.dumps([[list(row) for row in spark.sql(query).collect()] for query in sys.argv[3:]]))
"""


def test_recipes_give_the_same_in_spark_sql(tmp_path):
    pytest.importorskip("pysail", reason="Sail comes with the package pysail")
    tests = str(Path(__file__).parent)
    command = [sys.executable, "-c", IN_SAIL, tests, str(tmp_path), *QUERIES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(tests).parent)
    found = json.loads(done.stdout.splitlines()[-1])
    assert tuple([tuple(row) for row in rows] for rows in found) == expected_of_queries()
