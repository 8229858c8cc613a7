"""Recipes are run: with stand-ins for other people's tools here, and with the tools in test_recipes_apart.py."""

import re
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType, SimpleNamespace

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import shell_here
from guide_pages import PAGES, recipe
from recipe_lists import NIGHT, answers, at_home, fill_in, make_list

import streameval


def shell(code):
    """Exit status of a script that finds the command `streameval`."""
    with TemporaryDirectory() as folder:
        status, said = shell_here.ran("bash", "-e", "-c", code, pipes=Path(folder) / "pipes")
    print(said)
    return status


def test_a_warehouse_and_a_lake_hold_every_metric_once(workplace):
    names = {}
    exec(recipe("python", "to_warehouse"), names)
    rows = streameval.Study("my-study").evaluation().metrics.num_rows
    for _ in range(2):
        names["to_warehouse"]("my-study", "warehouse.duckdb")
        names["to_lake"]("my-study", "lake")
    with duckdb.connect("warehouse.duckdb", read_only=True) as db:
        for table in ("quality", "read_parquet('lake/*/*.parquet')"):
            found = db.execute(f"SELECT count(*), any_value(confidence), count(study) FROM {table}").fetchall()
            assert found == [(rows, 0.95, rows)]


SURVEY = """\
Respondent ID,Collector ID,Start Date,End Date,IP Address,Email Address,First Name,Last Name,Custom Data 1,\
Is this fraud?,,,Anything else?
,,,,,,,,,a1,b2,c3,Open-Ended Response
118763,4421,11/23/2026 04:05:06 AM,11/23/2026 04:07:00 AM,10.0.0.1,,,,,Yes,No,,"a, b"
118764,4421,11/23/2026 05:05:06 AM,11/23/2026 05:06:00 AM,10.0.0.2,,,,,Yes,Yes,No,
"""
CVAT = """\
<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta><job><id>7</id><labels><label><name>fraud</name><type>tag</type></label></labels></job></meta>
  <image id="0" name="a1" width="640" height="480">
    <tag label="fraud" source="manual"></tag>
    <box label="face" source="manual" occluded="0" xtl="1.0" ytl="1.0" xbr="9.0" ybr="9.0" z_order="0"></box>
  </image>
  <image id="1" name="b2" width="640" height="480">
    <tag label="ok" source="manual"><attribute name="sure">true</attribute></tag>
    <tag label="dark" source="manual"></tag>
  </image>
  <image id="2" name="c3" width="640" height="480">
  </image>
</annotations>
"""


def test_a_survey_with_two_heads_and_the_tags_of_images_are_labels(tmp_path):
    names = {}
    exec(recipe("python", "ElementTree"), names)
    (tmp_path / "answers.csv").write_text(SURVEY, encoding="utf-8-sig")
    (tmp_path / "annotations.xml").write_text(CVAT)
    items = pa.table({"id": ["a1", "b2", "c3"]})
    for study, labels, how, expected in (
        ("survey", names["survey"](tmp_path / "answers.csv", "Is this fraud?"), {"on": "item", "negative": "No"}, 5),
        ("cvat", names["cvat"](tmp_path / "annotations.xml"), {"on": "name"}, 2),
    ):
        items = items.rename_columns([how["on"]])
        streameval.plan(items, tmp_path / study, method="uniform", budget=3, seed=0)
        streameval.select(tmp_path / study, ranking=items)
        word = "Yes" if study == "survey" else "fraud"
        account = streameval.evaluate(tmp_path / study, labels=labels, positive=word, **how).summary["account"]
        assert (account["votes"], account["positive"], account["blank"]) == (expected, 1, 1)


class Tracker:
    """MLflow's functions, where it is not installed."""

    def __init__(self):
        self.tags, self.params, self.metrics, self.artifacts = {}, {}, {}, []

    @contextmanager
    def start_run(self, run_name=None):
        yield

    def set_tags(self, tags):
        self.tags |= tags

    def log_params(self, params):
        self.params |= params

    def log_metrics(self, metrics):
        assert all(isinstance(value, float) and re.fullmatch(r"[\w./ -]+", name) for name, value in metrics.items())
        self.metrics |= metrics

    def log_artifact(self, local_path):
        self.artifacts.append(Path(local_path).name)


def test_a_tracker_gets_bounds_and_the_claim(workplace, monkeypatch):
    tracker = Tracker()
    monkeypatch.setitem(sys.modules, "mlflow", tracker)
    names = {}
    exec(recipe("python", "mlflow"), names)
    names["track"]("my-study")
    curve = streameval.Study("my-study").evaluation().curve
    sides = tuple(tracker.metrics[f"precision_at/1000/{side}"] for side in ("lower", "estimate", "upper"))
    assert sides == curve.precision_at(1000)
    assert tracker.tags["streameval.coverage"] == "simultaneous"
    assert tracker.tags["streameval.assumes"] == curve.claim.assumes
    assert tracker.artifacts == ["report.html"]


@pytest.mark.parametrize(("least", "otherwise", "status"), [
    ("0.9", "", 0), ("0.999", "", 4), ("0.97", " || [ $? -eq 5 ]", 0),
])  # fmt: skip
def test_a_ci_job_is_stopped_by_what_is_not_proven(workplace, monkeypatch, least, otherwise, status):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(workplace / "summary.md"))
    rows = streameval.Study("my-study").evaluation().label_table.select(["rank", "label"])
    pa.csv.write_csv(rows, "labels.csv")
    lines = recipe("yaml", "check").partition("run: |\n")[2]
    script = "\n".join(line.strip() for line in lines.splitlines())
    if least != "0.9":
        script = script.partition("\n")[2]  # the labels are in, and only the last line is another
    assert shell(script.replace("0.9", least) + otherwise) == status
    assert (workplace / "summary.md").read_text().count("### my-study") == 1


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """Where `my-study` is planned and selected, of the list that recipes for schedulers find."""
    make_list(tmp_path)
    monkeypatch.chdir(tmp_path)
    streameval.plan("lake/ranked", "my-study", score="confidence", budget=2000, seed=0)
    streameval.select("my-study")
    return tmp_path


class Dbt:
    """What dbt hands to a model."""

    def __init__(self, session):
        self.ref = session.table

    def config(self, materialized):
        assert materialized == "table"


@pytest.fixture
def model():
    """What the recipe of dbt defines."""
    names = {}
    exec(recipe("python", "dbt.ref"), names)
    return names


def test_a_model_of_dbt_evaluates_the_answers_that_there_are(lake, model):
    rows = answers(streameval.select("my-study").table)
    with duckdb.connect() as session:
        for count in (100, rows.num_rows):  # those that were there the last time, and more
            session.register("answers", rows.slice(0, count))
            model["model"](Dbt(session), session)
            assert streameval.Study("my-study").evaluation().summary["account"]["labelled"] == count


def test_a_test_of_dbt_asks_for_proof(lake, model):
    with duckdb.connect() as session:
        session.register("answers", answers(streameval.select("my-study").table))
        session.register("quality", model["model"](Dbt(session), session))
        proven = recipe("jinja", "quality").replace("{{ ref('quality') }}", "quality")
        for change, failures in ((), 0), (("0.9 ", "0.999 "), 1), (("'1000'", "'1001'"), 1), (("'none'", "'exact'"), 0):
            assert len(session.sql(proven.replace(*change) if change else proven).fetchall()) == failures
        session.execute("CREATE TABLE picture AS SELECT * REPLACE ('none' AS coverage) FROM quality")
        assert len(session.sql(proven.replace("FROM quality", "FROM picture")).fetchall()) == 1
        session.register("labelled", pa.table({"good": [1, 1, 0], "score": [0.9, 0.8, 0.1]}))
        exact = eval(re.search(r"`(streameval.exact.*?)`", PAGES["recipes.md"])[1], {**model, "dbt": Dbt(session)})
        assert exact.schema == session.table("quality").to_arrow_table().schema


def airflow():
    """Stand-ins for Airflow's decorators; the tasks that they were given, by name."""
    tasks = {}

    class Task:
        def __init__(self, function, how, run):
            self.how, self.run = how, lambda: run(function(ds=NIGHT))
            tasks[function.__name__] = self

        def __rshift__(self, following):
            following.after = self

    def task(**how):
        return lambda function: lambda: Task(function, how, lambda done: done)

    task.bash = lambda **how: lambda function: lambda: Task(function, how, shell)
    sdk = ModuleType("airflow.sdk")
    sdk.task, sdk.dag = task, lambda **how: lambda function: function
    return {"airflow": ModuleType("airflow"), "airflow.sdk": sdk}, tasks


@pytest.mark.slow
def test_tasks_of_airflow_plan_select_evaluate_and_gate(lake, monkeypatch):
    code = at_home(recipe("python", "airflow"), lake)
    for wanted, status in (("0.9", 0), ("0.999", 4), ("0.989", 5)):
        modules, tasks = airflow()
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        exec(code.replace("0.9'", f"{wanted}'"), {})
        if not status:
            for name in ("plan", "select", "plan", "select"):  # a day that is cleared runs again
                tasks[name].run()
            fill_in(lake / "data" / "studies" / NIGHT / "tasks.csv", lake / "data" / "answers" / f"{NIGHT}.csv")
            assert tasks["evaluate"].run() == 0
        assert tasks["gate"].run() == status
    assert tasks["gate"].how == {"skip_on_exit_code": 5}
    assert (tasks["select"].after, tasks["gate"].after) == (tasks["plan"], tasks["evaluate"])


def dagster():
    """Stand-ins for what Dagster has, which hand back what they are given."""
    module = ModuleType("dagster")
    module.RetryPolicy = module.MaterializeResult = module.AssetCheckResult = SimpleNamespace
    module.AssetCheckSeverity = SimpleNamespace(WARN="WARN", ERROR="ERROR")
    module.asset = lambda function=None, **how: function or (lambda function: function)
    module.asset_check = lambda **how: lambda function: function
    module.Definitions = SimpleNamespace
    return module


def test_assets_of_dagster_say_what_was_found_and_their_check_is_a_gate(lake, monkeypatch):
    monkeypatch.setitem(sys.modules, "dagster", dagster())
    code = at_home(recipe("python", "dagster"), lake)
    for wanted, passed, severity in (("0.9", True, "ERROR"), ("0.999", False, "ERROR"), ("0.989", False, "WARN")):
        names = {}
        exec(code.replace('0.9"', f'{wanted}"'), names)
        if passed:
            items = names["tasks"]().metadata["items"]
            assert items > 1_000
            fill_in(lake / "data" / "studies" / "today" / "tasks.csv", lake / "data" / "answers" / "today.csv")
            assert names["quality"]().metadata["labelled"] == items
            assert names["tasks"]().metadata["items"] == items  # a day that is cleared runs again
        check = names["precision_is_proven"]()
        assert (check.passed, check.severity) == (passed, severity)
        assert check.description


def planned_again():
    pa.parquet.write_table(pa.table({"id": [f"item {i * 7 % 400}" for i in range(400)]}), "short.parquet")
    streameval.plan("short.parquet", "again", budget=200, seed=3)


def test_label_studio_gets_every_task_and_gives_the_answers_back(workplace):
    planned_again()
    pushed, names = [], {}
    exec(recipe("python", "import_tasks"), names)

    def exported(project):
        assert project == 7
        choice = {"from_name": "label", "type": "choices", "value": {"choices": ["positive"]}}
        return [{"id": i, **task, "annotations": [{"id": i, "completed_by": 1, "result": [choice]}]}
                for i, task in enumerate(pushed)]  # fmt: skip

    projects = SimpleNamespace(
        create=lambda title, label_config: SimpleNamespace(id=7 if "<View>" in label_config else 0),
        import_tasks=lambda id, request: pushed.extend(request),
        exports=SimpleNamespace(as_json=exported),
    )
    client = SimpleNamespace(projects=projects)
    assert names["push"](client, "again") == 7
    for _ in range(2):
        account = names["pull"](client, "again", 7).summary["account"]
        assert account["labelled"] == account["positive"] == account["votes"] == len(pushed) > 0


def test_argilla_gets_every_task_and_gives_the_answers_back(workplace, monkeypatch):
    planned_again()
    logged, names = [], {}

    def answered(with_responses):
        for i, record in enumerate(logged):
            status = ("submitted", "discarded", "draft")[i % 3]
            yield SimpleNamespace(id=record.id, responses=[SimpleNamespace(status=status, value="1", user_id="u-1")])

    class Records:
        log = staticmethod(logged.extend)
        __call__ = staticmethod(answered)

    def dataset(name, settings, client):
        assert {field.name for field in settings.fields} == {"id"}
        return SimpleNamespace(create=lambda: SimpleNamespace(records=Records()))

    parts = dict.fromkeys(("LabelQuestion", "TextField", "Settings", "Record"), SimpleNamespace)
    monkeypatch.setitem(sys.modules, "argilla", SimpleNamespace(Dataset=dataset, **parts))
    exec(recipe("python", "argilla"), names)
    client = SimpleNamespace(datasets=lambda name: SimpleNamespace(records=Records()))
    names["push"](client, "again", ["id"])
    account = names["pull"](client, "again").summary["account"]
    assert account["planned"] == len(logged)
    assert (account["labelled"], account["skipped"]) == (-(-len(logged) // 3), (len(logged) + 1) // 3)
