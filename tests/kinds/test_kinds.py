"""Kinds of study: a new one is one file, and files say of which kind and format they are."""

import importlib
import itertools
import json
import shutil
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from label_tables import taken_in
from measured import with_tables

import streameval
from streameval.errors import InputError, StudyError
from streameval.kinds import available, kind_of
from streameval.stores import atomic
from streameval.stores.own_files import read_json

RAFFLE = (Path(__file__).parent / "raffle_kind.py").read_text()
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
def raffle(home, add_file):
    """Put the kind into the package, with two studies of it that nobody has labelled."""
    assert len(RAFFLE.splitlines()) <= 250
    add_file("streameval.kinds", "raffle/__init__.py", RAFFLE)
    for name in ("one", "other"):
        streameval.plan("list.parquet", name, tickets=40, seed=5)
    return home


def labels_of(study):
    chosen = streameval.select(study).table
    return chosen.select(["rank"]).append_column("label", chosen.column("right"))


def filled_in(tasks, right):
    """Label the tasks of an exported file, which shows an item's id, by what is true of the item."""
    rows = pyarrow.csv.read_csv(tasks)
    truth = pa.array([right[one] for one in rows.column("id").to_pylist()])
    pyarrow.csv.write_csv(rows.drop_columns(["label"]).append_column("label", truth), "done.csv")
    return "done.csv"


def test_a_kind_of_one_file_is_planned_labelled_and_evaluated(raffle, capsys):
    right = pq.read_table("list.parquet").column("right").to_pylist()
    plan = streameval.plan("list.parquet", "one", tickets=40, seed=5)
    assert (plan.kind, plan.table.num_rows, plan.seed, kind_of("one").about) == ("raffle", 40, 5, "a raffle")
    assert run(["show", "one"]) == 0
    assert "one: share of positives among 200 items, 40 labels planned, none of which is in." in capsys.readouterr().out
    assert run(["select", "one", "--export", "tasks.csv", "--columns", "id"]) == 0
    drawn = [right[rank - 1] for rank in plan.ranks]
    share = sum(drawn) / 40
    assert run(["evaluate", "one", "--labels", filled_in("tasks.csv", right)]) == 0
    said = capsys.readouterr().out
    assert f"With probability 0.95, {share - 0.2147:.4f} to {min(1, share + 0.2147):.4f} of all items are" in said
    assert "40 of 40 tickets have a label." in said
    assert share - 0.22 < sum(right) / 200 < share + 0.22


def test_a_kind_of_one_file_works_with_every_verb(raffle, capsys):
    truth = labels_of("one")
    share = sum(truth.column("label").to_pylist()) / 40
    found = streameval.evaluate("one", labels=truth)
    assert (found.summary["kind"], found.claim.coverage) == ("raffle", "simultaneous")
    assert "<td>positive</td>" in found._repr_html_()
    assert repr(streameval.show("one", "positive_share")).splitlines()[1].split()[0] == "positive_share"
    assert streameval.show("one", "positive_share").bounds["positive_share"].estimate == share
    gate = streameval.check("one", ["positive_share >= 0.1", "positive_share >= 0.99", "positive_share >= 0.7"])
    assert [one.outcome for one in gate] == ["pass", "fail", "inconclusive"]
    assert streameval.labels("one").account["labelled"] == 40
    assert streameval.sql("one", "SELECT estimate FROM metrics").to_pylist() == [{"estimate": share}]
    with duckdb.connect() as mine:
        streameval.register(mine, "one", "mine")
        assert mine.sql("SELECT count(*) FROM mine.labels").fetchall() == [(40,)]
    (raffle / "one" / "report.html").unlink()
    assert "of all items are positive" in streameval.report("one").read_text()
    assert run(["publish", "one", "there"]) == 0
    assert {one["name"] for one in json.loads((raffle / "there" / "manifest.json").read_text())["files"]} == {
        "plan.parquet", "plan.json", "metrics.parquet", "labels.parquet", "issues.parquet", "report.html",
        "study.duckdb", "evaluation.json"}  # fmt: skip
    for command in (["labels", "one"], ["report", "one"], ["sql", "one", "FROM metrics"], ["evaluate", "one"],
                    ["evaluate", "one", "--dry-run"], ["labels", "one", "--json"], ["show", "one"]):  # fmt: skip
        assert run(command) == 0


def test_labels_that_are_missing_widen_the_bounds_of_a_raffle(raffle):
    some = labels_of("one").slice(0, 30)
    positive = sum(some.column("label").to_pylist())
    lower, estimate, upper = streameval.evaluate("one", labels=some) and streameval.show(
        "one", "positive_share").bounds["positive_share"]  # fmt: skip
    assert np.isnan(estimate)
    assert lower == pytest.approx(max(0, positive / 40 - 0.2147), abs=1e-4)
    assert upper == pytest.approx(min(1, (positive + 10) / 40 + 0.2147), abs=1e-4)


def test_bounds_of_a_raffle_hold_as_often_as_they_say_for_every_short_list(raffle):
    """Every draw of 4 of 7 items, for every number of positives among them."""
    bounds = importlib.import_module("streameval.kinds.raffle").bounds
    for positives in range(8):
        for confidence in (0.5, 0.8, 0.95):
            draws = [bounds(sum(one < positives for one in drawn), 0, 4, confidence)
                     for drawn in itertools.combinations(range(7), 4)]  # fmt: skip
            assert np.mean([lower <= positives / 7 <= upper for lower, _, upper in draws]) >= confidence


WRONG = [
    ({"tickets": 0}, "tickets is 0, and a raffle draws items"),
    ({"tickets": 201}, "tickets is 201 of 200 items"),
    ({"tickets": 40, "confidence": 1.0}, r"confidence is 1.0, outside \(0, 1\)"),
    ({"tickets": 40, "by": "user"}, "a raffle does not go with by.*it is for a study of a curve"),
    ({"budget": 40, "rounds_off": 3}, "plan has no option 'rounds_off'"),
]


@pytest.mark.parametrize(("given", "message"), WRONG, ids=[message[:24] for _, message in WRONG])
def test_what_a_kind_refuses_to_draw_is_one_sentence(raffle, given, message):
    with pytest.raises(InputError, match=message):
        streameval.plan("list.parquet", "another", **given)
    assert not Path("another").exists()


REFUSED = [
    (["evaluate", "one", "--misses", "3"], "a raffle does not go with --misses. Hint: leave it out: it is for"),
    (["compare", "one", "other"], f"one is a raffle, which compare does not read. Hint: {READ} do"),
    (["compare", "curve", "one"], "one is a raffle, which compare does not read"),
    (["report", "one", "other", "--out", "both.html"], "one is a raffle, which is drawn alone"),
    (["check", "one", "precision@10>=0.1"], "there is no mean of 'precision@10'"),
    (["show", "one", "precision@3"], "there is no mean of 'precision@3'"),
    (["cut", "one", "precision:0.5"], f"one is a raffle, which cut does not read. Hint: {READ} do"),
    (["extrapolate", "one", "precision@recall:0.75"], "which extrapolate does not read"),
    (["grow", "one", "--budget", "20"], "which grow does not read"),
]


def test_what_a_kind_does_not_do_is_one_sentence(raffle, capsys):
    for name in ("one", "other"):
        streameval.evaluate(name, labels=labels_of(name))
    streameval.plan("list.parquet", "curve", budget=40, seed=5)
    with_tables(Path("curve"), labels_of("curve"))
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
        "grow": [name, "--budget", "20"], "judge": [name, "judge.csv"],
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
    streameval.plan("list.parquet", "st", per="user", budget=60, questions="precision@3", seed=5)
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
            "manifest.json", *kind_of(name).result.files(None)}  # fmt: skip
    with pytest.raises(StudyError, match="nowhere is not a study"):
        streameval.publish("nowhere", "there")


def test_options_of_no_kind_are_guessed(home):
    streameval.plan("list.parquet", "one", budget=40, seed=5)
    with pytest.raises(InputError, match=r"evaluate has no option 'mises'.*misses"):
        streameval.evaluate("one", labels=labels_of("one"), mises=3)
