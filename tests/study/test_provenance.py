"""The commands that a study names make it again, run as they are printed, in another folder."""

import html
import json
import shlex
import shutil
from contextlib import chdir
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from label_tables import judged_by, taken_in_by
from measured import write_tables
from suite_cases import cases

import streameval
from streameval.cli import run
from streameval.study import Study
from streameval.study.provenance import commands

N = 1_500
SEED = ("--seed", "7")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with a ranking, which is the current one: everything in it is named by relative paths."""
    here = tmp_path / "at work"
    here.mkdir()
    monkeypatch.chdir(here)
    write_ranking()
    return here


def write_ranking():
    rng = np.random.default_rng(2)
    score = np.round(np.sort(rng.random(N))[::-1], 4)
    truth = (rng.random(N) < score).astype(np.int8)
    items = pa.table({"item": [f"item {i}" for i in range(N)], "conf": score, "team": rng.choice(["red", "blue"], N),
                      "llm": np.where(rng.random(N) < 0.9, truth, 1 - truth), "good": truth})  # fmt: skip
    pq.write_table(items, "ranking.parquet")


def truth_of(rows, name="item"):
    known = pq.read_table("ranking.parquet", columns=["item", "good"]).to_pydict()
    good = dict(zip(known["item"], known["good"], strict=True))
    return [good[one] for one in rows.column(name).to_pylist()]


def do(*arguments):
    """Run a command; of `evaluate`, take its labels in: nobody asks what they come to."""
    if arguments[0] == "evaluate":
        taken_in_by([str(one) for one in arguments])
    else:
        assert run([str(one) for one in arguments]) == 0, arguments


def do_with_tables(*arguments):
    """The same, but for the tables that `evaluate` writes: growing may go by them."""
    if arguments[0] == "evaluate":
        write_tables(arguments[1], found_by(*arguments))
    else:
        do(*arguments)


def found_by(*arguments):
    """What a command `evaluate` finds, without the files of its results."""
    return judged_by([str(one) for one in arguments])


def begin(**options):
    """Plan the ranking in `study`."""
    streameval.plan("ranking.parquet", "study", seed=7, **options)


def tasks(name, *answered, study="study"):
    """Answers by task, but for those of earlier files."""
    rows, done = selection(study), [one for file in answered for one in pq.read_table(file).column("se_task")]
    rows = rows.filter(pa.array([one not in done for one in rows.column("se_task")]))
    pq.write_table(pa.table({"se_task": rows.column("se_task"), "label": truth_of(rows)}), name)
    return name


def keyed(name, rows, **columns):
    """A file of answers by item, in columns of other names."""
    made = pa.table({"item": rows.column("item"), "verdict": pa.array(truth_of(rows)), **columns})
    pq.write_table(made, name)
    return name


def selection(study="study"):
    return streameval.select(study).table


def made_again(expected, tmp_path, monkeypatch, do=do):
    """Run what the study's provenance says in a fresh folder; the commands."""
    told = commands(Study("study").plan(), expected.summary)
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    monkeypatch.chdir(fresh)
    *before, last = [shlex.split(line) for line in told]
    assert {words[0] for words in (*before, last)} == {"streameval"}
    for words in before:
        do(*words[1:])
    found = judged_by(last[1:])
    assert found.evaluation_id == expected.evaluation_id, told
    assert found.metrics.equals(expected.metrics)
    return told


def test_all_label_files_come_again_in_their_order_with_their_options(home, tmp_path, monkeypatch):
    begin(budget=300, score="conf", confidence=0.9)
    rows = selection()
    who = pa.array(["ann", "bob"] * (rows.num_rows // 2) + ["ann"] * (rows.num_rows % 2))
    keyed("first night.parquet", rows.slice(0, 150), person=who.slice(0, 150))
    keyed("second.parquet", rows.slice(150), person=who.slice(150))
    options = ("--on", "item", "--label", "verdict", "--annotator", "person")
    do("evaluate", "study", "--labels", "first night.parquet", "second.parquet", *options)
    found = found_by("evaluate", "study", "--misses", "7", "--label-error", "0.01")
    said = made_again(found, tmp_path, monkeypatch)
    assert [line.split()[1] for line in said] == ["plan", "select", "evaluate"]
    files = f"'{home}/first night.parquet' '{home}/second.parquet' --on item --label verdict --annotator person"
    assert said[2].endswith(f"{files} --misses 7 --label-error 0.01")


def test_answers_that_came_later_come_again_after_those_before(home, tmp_path, monkeypatch):
    begin(budget=300)
    rows = selection()
    keyed("first.parquet", rows, person=pa.array(["ann"] * rows.num_rows))
    wrong = pa.array([1 - one for one in truth_of(rows.slice(0, 40))])
    late = {"label": wrong, "when": pa.array(["2026-11-16T10:00:00"] * 40), "by": pa.array(["ann"] * 40)}
    csv.write_csv(pa.table({"rank": rows.column("rank").slice(0, 40), **late}), "late.csv")
    do("evaluate", "study", "--labels", "first.parquet", "--on", "item", "--label", "verdict", "--annotator", "person")
    found = found_by(
        "evaluate", "study", "--labels", "late.csv", "--annotator", "by", "--time", "when", "--vote", "latest"
    )
    said = made_again(found, tmp_path, monkeypatch)
    assert [line.split()[1] for line in said] == ["plan", "select", "evaluate", "evaluate"]
    assert said[2].endswith(f"'{home}/first.parquet' --on item --label verdict --annotator person --vote latest")
    assert said[3].endswith("--annotator by --time when --vote latest")


def test_grades_a_preferred_source_and_what_was_forgotten(home, tmp_path, monkeypatch):
    begin(budget=500)
    rows = selection()
    grades = [3 if one else 1 for one in truth_of(rows)]
    kinds = ["human" if i % 3 else "llm" for i in range(rows.num_rows)]
    csv.write_csv(pa.table({"rank": rows.column("rank"), "label": grades, "source": kinds}), "graded.csv")
    csv.write_csv(pa.table({"rank": rows.column("rank"), "label": [0] * rows.num_rows}), "mistake.csv")
    csv.write_csv(pa.table({"rank": rows.column("rank").slice(9, 50), "label": [3] * 50}), "more.csv")
    do("evaluate", "study", "--labels", "graded.csv", "mistake.csv", "more.csv", "--vote", "mean>=2")
    do("labels", "study", "--forget", "mistake.csv")
    do("labels", "study", "--forget", "llm")
    found = found_by("evaluate", "study", "--vote", "mean>=2", "--prefer", "human,more")
    said = made_again(found, tmp_path, monkeypatch)
    assert "mistake.csv" not in "\n".join(said)
    assert [line.split()[1] for line in said] == ["plan", "select", "evaluate", "labels", "evaluate"]


def test_exports_of_label_tools(home, tmp_path, monkeypatch):
    begin(budget=200)
    rows = selection()
    task, good = rows.column("se_task").to_pylist(), truth_of(rows)
    prodigy = [{"se_task": one, "answer": "accept" if yes else "reject", "_annotator_id": "ann", "_timestamp": 1e9 + i}
               for i, (one, yes) in enumerate(zip(task[:100], good[:100], strict=True))]  # fmt: skip
    Path("prodigy.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in prodigy))
    studio = [{"id": i, "data": {"se_task": one}, "annotations": [
                {"id": i, "completed_by": {"email": "bob@x"}, "updated_at": "2026-11-16T10:00:00Z",
                 "result": [{"value": {"choices": ["positive" if yes else "negative"]}}]}]}
              for i, (one, yes) in enumerate(zip(task[100:], good[100:], strict=True))]  # fmt: skip
    Path("studio.json").write_text(json.dumps(studio))
    found = found_by("evaluate", "study", "--labels", "prodigy.jsonl", "studio.json")
    assert found.summary["account"]["labelled"] == rows.num_rows > 150
    made_again(found, tmp_path, monkeypatch)


def test_answers_of_a_query(home, tmp_path, monkeypatch):
    begin(budget=200)
    rows = selection()
    with duckdb.connect("labels.duckdb") as database:
        database.register("given", pa.table({"rank": rows.column("rank"), "label": truth_of(rows)}))
        database.execute("CREATE TABLE answers AS SELECT * FROM given")
    query = f"duckdb:{home}/labels.duckdb#SELECT rank, label FROM answers"
    found = found_by("evaluate", "study", "--labels", query)
    assert found.summary["account"]["labelled"] == rows.num_rows
    made_again(found, tmp_path, monkeypatch)


PLANS = {
    "slices": {"by": "team", "score": "conf", "key": "item", "budget": 500},
    "judge": {"judge": "llm", "judge_classes": "0.5", "budget": 500},
    "drawn by key": {"on": "item", "budget": 500},
    "stages": {"stages": 2, "budget": 500},
    "paula": {"method": "paula(epsilon=0.1, window=20)"},
    "uniform": {"method": "uniform(interval=hypergeometric)"},
    "stratified": {"method": "stratified(epsilon=0.3)", "alpha": 0.5},
}


@pytest.mark.parametrize("name", cases(PLANS, "slices", "paula"))
def test_plan_flags_come_again(name, home, tmp_path, monkeypatch):
    begin(**PLANS[name])
    found = found_by("evaluate", "study", "--labels", tasks("tasks.parquet"))
    made_again(found, tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def half_way(tmp_path_factory):
    """A folder like that of `home`, with a study that has its first labels and may grow."""
    here = tmp_path_factory.mktemp("half") / "at work"
    here.mkdir()
    with chdir(here):
        write_ranking()
        begin(stages="6:later", budget=200)
        do_with_tables("evaluate", "study", "--labels", tasks("one.parquet"))
    return here


@pytest.fixture
def may_grow(half_way, tmp_path, monkeypatch):
    """A copy of it, which is the current folder."""
    monkeypatch.chdir(shutil.copytree(half_way, tmp_path / "at work"))


def test_a_study_that_grew_with_its_labels(may_grow, tmp_path, monkeypatch):
    do("grow", "study", "--budget", "120")
    found = found_by("evaluate", "study", "--labels", tasks("two.parquet", "one.parquet"))
    said = made_again(found, tmp_path, monkeypatch)
    assert "--budget 120" in said[-3]


def test_a_study_that_grew_by_the_half_width_that_was_reached(may_grow, tmp_path, monkeypatch):
    do("grow", "study", "--alpha", "0.2")
    found = found_by("evaluate", "study", "--labels", tasks("two.parquet", "one.parquet"))
    said = made_again(found, tmp_path, monkeypatch, do=do_with_tables)
    assert "--alpha 0.2" in said[-3]


def test_the_second_batch_goes_by_the_labels_of_the_first(home, tmp_path, monkeypatch):
    begin(stages="adaptive", budget=400)
    do("evaluate", "study", "--labels", tasks("one.parquet"))
    streameval.grow("study")
    found = found_by("evaluate", "study", "--labels", tasks("two.parquet", "one.parquet"))
    said = made_again(found, tmp_path, monkeypatch)
    assert [line.split()[1] for line in said] == ["plan", "select", "evaluate", "grow", "select", "evaluate"]


def test_a_judge_that_was_asked(home, tmp_path, monkeypatch):
    begin(judge="sample=500, accuracy=0.9", budget=300, score="conf")
    do("select", "study", "--export", "asked.csv")
    rows = csv.read_csv("asked.csv")
    csv.write_csv(pa.table({"se_task": rows.column("se_task"), "says": truth_of(rows)}), "answers.csv")
    do("judge", "study", "answers.csv", "--label", "says")
    found = found_by("evaluate", "study", "--labels", tasks("tasks.parquet"))
    said = made_again(found, tmp_path, monkeypatch)
    assert f"judge STUDY '{home}/answers.csv' --label says" in said[2]


def test_labels_that_were_reused(home, tmp_path, monkeypatch):
    known = pq.read_table("ranking.parquet").slice(0, 700)
    csv.write_csv(pa.table({"item": known.column("item"), "verdict": truth_of(known)}), "v1.csv")
    begin(reuse="v1.csv", on="item", label="verdict", labels_unseen_by_model="yes", budget=400)
    found = found_by("evaluate", "study", "--labels", tasks("rest.parquet"))
    said = made_again(found, tmp_path, monkeypatch)
    assert f"--reuse '{home}/v1.csv' --on item --label verdict --labels-unseen-by-model yes" in said[0]


@pytest.mark.parametrize("design", cases(["uniform", "strata", "poisson"], "strata"))
def test_labels_that_were_adopted(design, home, tmp_path, monkeypatch):
    ranking, rng = pq.read_table("ranking.parquet"), np.random.default_rng(4)
    chance = np.where(np.arange(N) < 1_000, 0.4, 0.1)
    taken = np.flatnonzero(rng.random(N) < (chance if design == "poisson" else 0.15))
    rows = ranking.take(taken)
    csv.write_csv(pa.table({"thing": rows.column("item"), "yes": truth_of(rows), "p": chance[taken]}), "sample.csv")
    above = int(np.sum(taken < 1_000))
    csv.write_csv(pa.table({"last_rank": [1_000, N], "drawn": [above, taken.size - above]}), "strata.csv")
    pq.write_table(ranking.rename_columns(["thing", *ranking.column_names[1:]]), "ranking.parquet")
    drawn = {"uniform": f"uniform(size={taken.size})", "strata": "strata(sizes=strata.csv)",
             "poisson": "poisson(probability=p, least=0.1)"}[design]  # fmt: skip
    do("adopt", "ranking.parquet", "--study", "study", "--labels", "sample.csv", "--on", "thing", "--label", "yes",
       "--drawn", drawn, "--confidence", "0.9", *SEED)  # fmt: skip
    found = found_by("evaluate", "study")
    said = made_again(found, tmp_path, monkeypatch)
    assert said[0].startswith("streameval adopt ")


def test_misses_that_another_study_bounds(home, tmp_path, monkeypatch):
    rest = pa.table({"other": range(2_000)})
    pq.write_table(rest, "rest.parquet")
    do("plan", "rest.parquet", "--study", "rest", "--budget", "300", "--seed", "1")
    rows = selection("rest")
    csv.write_csv(pa.table({"rank": rows.column("rank"), "label": [0] * rows.num_rows}), "rest.csv")
    do_with_tables("evaluate", "rest", "--labels", "rest.csv")
    begin(budget=500)
    found = found_by("evaluate", "study", "--labels", tasks("tasks.parquet"), "--misses", "rest")
    said = made_again(found, tmp_path, monkeypatch)
    assert f"--misses '{home}/rest'" in said[-1]


def test_the_page_and_the_database_say_these_commands(catalogue):
    study = Study(catalogue.path("grown-evaluated"))
    said = commands(study.plan(), study.summary())
    assert [line.split()[1] for line in said] == ["plan", "grow", "select", "evaluate"]
    (row,) = streameval.sql(study.folder, "SELECT command FROM provenance").to_pylist()
    assert row["command"].splitlines() == said
    page = (study.folder / "report.html").read_text()
    assert all(html.escape(line) in page for line in said)
