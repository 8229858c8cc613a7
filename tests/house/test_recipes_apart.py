"""Recipes are run with the tools they are for; `scripts/recipes` installs each into an environment of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from guide_pages import recipe
from recipe_lists import NIGHT, answers, at_home, fill_in, make_list

import streameval

pytestmark = pytest.mark.slow
BIN = Path(sys.executable).parent
DBT = {
    "dbt_project.yml": "{name: quality, version: 1.0.0, profile: here, flags: {send_anonymous_usage_stats: false}}",
    "profiles.yml": "{here: {target: dev, outputs: {dev: {type: duckdb, path: warehouse.duckdb}}}}",
    "models/answers.sql": "SELECT * FROM 'answers.parquet'",
    "models/quality.py": recipe("python", "dbt.ref"),
    "tests/precision_is_proven.sql": recipe("jinja", "quality"),
}


def tool(name, *arguments, **environment):
    """Run a tool of this environment; returns how it ended and what it said."""
    path = f"{BIN}:{os.environ['PATH']}"
    command = [BIN / name, *arguments]
    return subprocess.run(command, env={**os.environ, "PATH": path, **environment}, capture_output=True, text=True)


@pytest.fixture
def lake(tmp_path, monkeypatch):
    make_list(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_dbt_builds_the_model_and_runs_its_test(lake):
    pytest.importorskip("dbt.adapters.duckdb", reason="scripts/recipes installs dbt-duckdb")
    streameval.plan("lake/ranked", "my-study", score="confidence", budget=2000, seed=0)
    rows = answers(streameval.select("my-study").table)
    for name, text in DBT.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    for count, wanted, status in ((300, "0.9", 1), (rows.num_rows, "0.9", 0), (rows.num_rows, "0.999", 1)):
        with duckdb.connect() as session:
            session.register("given", rows.slice(0, count))
            session.execute("COPY given TO 'answers.parquet'")
        Path("tests/precision_is_proven.sql").write_text(recipe("jinja", "quality").replace("0.9 AND", f"{wanted} AND"))
        done = tool("dbt", "build", "--profiles-dir", ".")
        assert done.returncode == status, done.stdout
        assert streameval.Study("my-study").evaluation().summary["account"]["labelled"] == count
        shutil.rmtree("target")
    metrics = streameval.Study("my-study").evaluation().metrics
    with duckdb.connect("warehouse.duckdb", read_only=True) as session:
        assert session.sql("SELECT count(*), count(lower) FROM quality").fetchall() == [
            (metrics.num_rows, metrics.num_rows - metrics.column("lower").null_count)
        ]


def test_airflow_runs_the_tasks(lake):
    pytest.importorskip("airflow.sdk", reason="scripts/recipes installs apache-airflow")
    code = at_home(recipe("python", "airflow"), lake).replace("0.9'", "0.989'")
    (lake / "dags").mkdir()
    (lake / "dags" / "quality.py").write_text(code)
    own = {"AIRFLOW_HOME": str(lake), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    assert tool("airflow", "db", "migrate", **own).returncode == 0
    studies = lake / "data" / "studies" / NIGHT
    for dag, states in (("tasks_of_the_night", ["success", "success"]), ("labels_are_in", ["success", "skipped"])):
        done = tool("airflow", "dags", "test", dag, NIGHT, **own)
        assert done.returncode == 0, done.stderr[-3000:]
        found = tool("airflow", "tasks", "states-for-dag-run", dag, f"{NIGHT}T00:00:00+00:00", **own)
        assert [word for word in found.stdout.split() if word in ("success", "skipped", "failed")] == states
        fill_in(studies / "tasks.csv", lake / "data" / "answers" / f"{NIGHT}.csv")


def test_dagster_materializes_the_assets_and_checks_them(lake):
    dagster = pytest.importorskip("dagster", reason="scripts/recipes installs dagster")
    for wanted, passed in (("0.9", True), ("0.999", False)):
        names = {}
        exec(at_home(recipe("python", "dagster"), lake).replace('0.9"', f'{wanted}"'), names)
        assert dagster.materialize([names["tasks"]]).success
        fill_in(lake / "data" / "studies" / "today" / "tasks.csv", lake / "data" / "answers" / "today.csv")
        done = dagster.materialize([names["quality"], names["precision_is_proven"]], raise_on_error=False)
        (found,) = done.get_asset_check_evaluations()
        assert found.passed == passed
        metadata = done.asset_materializations_for_node("quality")[0].metadata
        assert metadata["labelled"].value == streameval.Study("data/studies/today").plan().table.num_rows


def test_mlflow_keeps_bounds_and_the_claim(lake):
    mlflow = pytest.importorskip("mlflow", reason="scripts/recipes installs mlflow-skinny")
    streameval.plan("lake/ranked", "my-study", score="confidence", budget=2000, seed=0)
    streameval.evaluate("my-study", labels=answers(streameval.select("my-study").table), on="id")
    mlflow.set_tracking_uri(f"sqlite:///{lake}/runs.db")
    names = {}
    exec(recipe("python", "mlflow"), names)
    names["track"]("my-study")
    run = mlflow.last_active_run()
    curve = streameval.Study("my-study").evaluation().curve
    sides = tuple(run.data.metrics[f"precision_at/1000/{side}"] for side in ("lower", "estimate", "upper"))
    assert sides == curve.precision_at(1000)
    assert run.data.tags["streameval.assumes"] == curve.claim.assumes
