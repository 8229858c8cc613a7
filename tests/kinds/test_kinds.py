"""Kinds of study: a new one is one file, and files say of which kind and format they are."""

import importlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import taken_in
from measured import with_tables

import streameval
from streameval.errors import InputError, StudyError
from streameval.kinds import available, kind_of
from streameval.stores import atomic
from streameval.stores.own_files import read_json
from streameval.study import Study

TOY = """
import pyarrow as pa
from streameval.kinds import Kind
from streameval.types import Claim

class Toy(Kind):
    name, about, tables = "toy", "a toy study", {"metrics": "How many are positive."}
    def measured(self, folder, plan, tallied, asked):
        row = dict.fromkeys(("lower", "estimate", "upper"), float((tallied.labels.label == 1).sum()))
        metrics = pa.Table.from_pylist([{"metric": "positives", "argument": "", **row}])
        return {"metrics": metrics}, Claim("none", None, "nothing"), {}

KIND = Toy()
"""


READ = "show, check, report, sql and publish"


def run(command):
    """Run a command of the package as it is now: `add_file` has its flags made anew."""
    return importlib.import_module("streameval.cli").run(command)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_list()
    return tmp_path


def write_list():
    right = (np.random.default_rng(3).random(200) < 0.7).astype(np.int8)
    pq.write_table(pa.table({"id": np.arange(200), "user": np.arange(200) // 8, "right": right}), "list.parquet")


@pytest.fixture
def toys(home, add_file):
    """Two studies of a kind that one file added."""
    add_file("streameval.kinds", "toy/__init__.py", TOY)
    for name in ("toy", "other"):
        plan = streameval.plan("list.parquet", f"{name}-plan", budget=40, seed=5)
        Study(name).save_plan(replace(plan, kind="toy"))
        streameval.select(name, export=f"{name}.csv")
    return home


def labels_of(study):
    chosen = streameval.select(study).table
    return chosen.select(["rank"]).append_column("label", chosen.column("right"))


def test_a_kind_of_one_file_works_with_every_verb(toys, capsys):
    truth = labels_of("toy")
    positives = sum(truth.column("label").to_pylist())
    pq.write_table(truth, "truth.parquet")
    assert run(["evaluate", "toy", "--labels", "truth.parquet"]) == 0
    assert run(["publish", "toy", "there"]) == 0
    said = capsys.readouterr().out
    assert f"{truth.num_rows} of {truth.num_rows} labels." in said
    assert f"{positives}.0000" in said
    assert {one["name"] for one in json.loads((toys / "there" / "manifest.json").read_text())["files"]} == {
        "plan.parquet", "plan.json", "metrics.parquet", "report.html", "study.duckdb", "evaluation.json"}  # fmt: skip
    assert streameval.evaluate("toy").summary["kind"] == "toy"
    assert streameval.labels("toy").account["labelled"] == truth.num_rows
    assert streameval.sql("toy", "SELECT estimate FROM metrics").to_pylist() == [{"estimate": positives}]
    with duckdb.connect() as mine:
        streameval.register(mine, "toy", "mine")
        assert mine.sql("SELECT upper FROM mine.metrics").fetchall() == [(positives,)]
    (toys / "toy" / "report.html").unlink()
    assert f"{positives:.6f}" in streameval.report("toy").read_text()
    for command in (["labels", "toy"], ["report", "toy"], ["sql", "toy", "FROM metrics"], ["evaluate", "toy"],
                    ["evaluate", "toy", "--dry-run"], ["labels", "toy", "--json"]):  # fmt: skip
        assert run(command) == 0


REFUSED = [
    (["evaluate", "toy", "--misses", "3"], "a toy study does not go with --misses. Hint: leave it out: it is for"),
    (["compare", "toy", "other"], f"toy is a toy study, which compare does not read. Hint: {READ} do"),
    (["compare", "one", "toy"], "toy is a toy study, which compare does not read"),
    (["report", "toy", "other", "--out", "both.html"], "toy is a toy study, which is drawn alone"),
    (["check", "toy", "precision@10>=0.1"], "there is no mean of 'precision@10'"),
    (["show", "toy", "precision@3"], "there is no mean of 'precision@3'"),
    (["cut", "toy", "precision:0.5"], f"toy is a toy study, which cut does not read. Hint: {READ} do"),
    (["extrapolate", "toy", "precision@recall:0.75"], "which extrapolate does not read"),
    (["grow", "toy", "--labels", "20"], "which grow does not read"),
]


def test_what_a_kind_does_not_do_is_one_sentence(toys, capsys):
    for name in ("toy", "other"):
        streameval.evaluate(name, labels=labels_of(name))
    streameval.plan("list.parquet", "one", budget=40, seed=5)
    with_tables(Path("one"), labels_of("one"))
    for command, said in REFUSED:
        capsys.readouterr()
        assert run(command) == 2
        message = capsys.readouterr().err
        assert (said in message, message.count("\n")) == (True, 1)


EVERY = {"curve": "curve-evaluated", "labelled_list": "labelled-list", "rankings": "labelled-rankings",
         "drawn_rankings": "drawn-rankings-evaluated", "question": "gate-decided",
         "paired": "comparison-evaluated"}  # fmt: skip


@pytest.fixture
def every(catalogue, tmp_path, monkeypatch):
    """Give a study of each kind by its name, a copy that a test may change."""
    monkeypatch.chdir(tmp_path)
    return lambda kind: catalogue.copy(EVERY[kind], tmp_path / kind)


MEASURES = {"curve": "precision@10", "labelled_list": "precision@10", "rankings": "map",
            "drawn_rankings": "precision@5", "question": "precision@500", "paired": "gain@100"}  # fmt: skip


def test_every_kind_is_tried():
    assert {*MEASURES} == {*EVERY} == {*available()}


@pytest.mark.parametrize("name", MEASURES)
def test_the_verbs_that_a_kind_names_read_it_and_all_others_name_them(every, capsys, name):
    shutil.copytree(every(name), "other")
    Path("judge.csv").write_text("se_task,judge\n")
    least = -10 if name == "paired" else 0
    watched = [name, "gain@100 >= -10"] if name == "paired" else [f"2026-01-01={name}", f"{MEASURES[name]} >= 0.1"]
    commands = {
        "show": [name, MEASURES[name]], "check": [name, f"{MEASURES[name]} >= {least}"], "report": [name],
        "sql": [name, "FROM metrics"], "publish": [name, "there"], "compare": [name, "other"], "cut": [name, "10"],
        "extrapolate": [name, "precision@recall:0.75"], "monitor": watched,
        "grow": [name, "--labels", "20"], "judge": [name, "judge.csv"],
    }  # fmt: skip
    read = [verb for kind in available().values() for verb in kind.answers]
    assert {*commands} == {*read}
    kind = kind_of(name)
    *most, last = kind.answers
    for verb, command in commands.items():
        capsys.readouterr()
        status, told = run([verb, *command]), capsys.readouterr().err
        if verb not in (*most, last):
            hint = kind.instead.get(verb, f"{', '.join(most)} and {last} do")
            assert (status, f"which {verb} does not read. Hint: {hint}" in told) == (2, True)
        elif (name, verb) not in (("curve", "grow"), ("curve", "judge"), ("question", "cut")):  # not of these plans
            assert (verb, status, told) == (verb, 0, told)
        assert f"{verb} does not read" not in told or verb not in (*most, last)


def rewrite(path, **changes):
    """Change a file of a study, checksum and all; None takes away."""
    known = {**read_json(path, ""), **changes}
    atomic.write_all({path: atomic.json_object({name: one for name, one in known.items() if one is not None})})


@pytest.mark.parametrize("name", EVERY)
def test_files_say_their_kind_and_format(catalogue, name):
    study = catalogue.path(EVERY[name])
    for path in (study / "plan.json", study / "evaluation.json"):
        if path.exists():
            facts = read_json(path, "")
            assert (facts["kind"], facts["format"]) == (name, 1)
    assert kind_of(study).name == name


@pytest.mark.parametrize("name", sorted({*EVERY} - {"question", "paired"}))  # their plans have always named it
def test_plans_that_name_no_format_are_read_and_files_of_another_refused(every, name):
    study = every(name)
    files = [path for one in ("plan.json", "evaluation.json") if (path := study / one).exists()]
    before = streameval.sql(name, "FROM metrics")
    if len(files) == 2:
        rewrite(files[0], kind=None, format=None)
    assert kind_of(study).name == name
    assert streameval.sql(name, "FROM metrics").equals(before)
    rewrite(files[-1], format=2)
    with pytest.raises(StudyError, match=r"evaluation.json: streameval .* wrote format 2, and this version reads "
                                         "format 1.*run evaluate again"):  # fmt: skip
        streameval.sql(name, "FROM metrics")
    rewrite(files[-1], kind=None, format=None)
    assert kind_of(study).name == name
    with pytest.raises(StudyError, match=r"evaluation.json: streameval .* wrote it, in an earlier format"):
        streameval.sql(name, "FROM metrics")


@pytest.mark.parametrize("name", sorted({*EVERY} - {"question", "paired", "labelled_list", "rankings"}))
def test_evaluating_again_brings_results_of_this_format_where_the_plan_is_of_it(every, name):
    study = every(name)
    before = streameval.sql(name, "FROM metrics")
    rewrite(study / "evaluation.json", kind=None, format=None)
    streameval.evaluate(name)
    assert streameval.sql(name, "FROM metrics").equals(before)
    rewrite(study / "plan.json", format=2)
    with pytest.raises(StudyError, match=r"plan.json: streameval .* wrote format 2"):
        streameval.evaluate(name)


def test_a_kind_that_there_is_not_is_refused(every):
    rewrite(every("curve") / "plan.json", kind="curv")
    with pytest.raises(StudyError, match=r"plan.json: there is no kind of study 'curv' \(did you mean|did you mean"):
        streameval.evaluate("curve")


def test_labels_of_drawn_rankings_are_counted_by_ranking(home, capsys):
    streameval.plan("list.parquet", "st", per="user", rankings=20, at=3, seed=5)
    taken_in("st", labels_of("st").slice(0, 50))
    found = streameval.labels("st")
    assert (found.account["labelled"], found.account["planned"], found.strata.num_rows) == (50, 60, 20)
    assert sum(found.strata.column("labelled").to_pylist()) == 50
    assert set(map(int, found.strata.column("ranking").to_pylist())) <= set(range(25))
    assert run(["labels", "st"]) == 0
    said = capsys.readouterr().out
    assert "50 of 60 planned items labelled" in said
    assert "half-width" not in said.lower()


def test_what_exact_wrote_is_published(every, tmp_path):
    for name in ("labelled_list", "rankings"):
        every(name)
        told = streameval.publish(name, f"{name}-there")
        assert told.manifest["evaluation_id"] == streameval.sql(name, "FROM provenance").to_pylist()[0]["evaluation_id"]
        assert {path.name for path in (tmp_path / f"{name}-there").iterdir()} == {
            "manifest.json", *kind_of(name).files(None)}  # fmt: skip
    with pytest.raises(StudyError, match="nowhere is not a study"):
        streameval.publish("nowhere", "there")


def test_options_of_no_kind_are_guessed(home):
    streameval.plan("list.parquet", "one", budget=40, seed=5)
    with pytest.raises(InputError, match=r"evaluate has no option 'mises'.*misses"):
        streameval.evaluate("one", labels=labels_of("one"), mises=3)
