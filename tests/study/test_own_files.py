"""A study's own files: every bit of them counts, stale results answer nothing, and a request that was met is met."""

import json
import random
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import taken_in
from refusals import refused
from suite_cases import examples

import streameval
from streameval.cli import run
from streameval.errors import StudyError
from streameval.parquet import own_tables
from streameval.stores import atomic
from streameval.study import Study

FLIPS = examples(4, 20)  # of each file


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study by score with every file: selected, labelled from two sources, one of them forgotten, evaluated."""
    home = tmp_path_factory.mktemp("own")
    n = 400
    score = np.linspace(1, 0, n)
    truth = (np.arange(n) % 3 > 0).astype(np.int8)
    pq.write_table(pa.table({"id": np.arange(n), "conf": score}), home / "list.parquet")
    streameval.plan(str(home / "list.parquet"), home / "study", method="loguniform", seed=3, alpha=0.2,
                    stages="3:later", options=streameval.RankingOptions(score="conf", key=("id",)))  # fmt: skip
    streameval.select(home / "study")
    ranks = np.arange(1, n + 1)
    pq.write_table(pa.table({"rank": ranks, "label": truth}), home / "good.parquet")
    pq.write_table(pa.table({"rank": ranks[:50], "label": 1 - truth[:50]}), home / "bad.parquet")
    taken_in(home / "study", home / "good.parquet", home / "bad.parquet")
    assert run(["labels", str(home / "study"), "--forget", "bad.parquet"]) == 0
    streameval.evaluate(home / "study")
    return home


@pytest.fixture
def study(whole, tmp_path):
    return shutil.copytree(whole / "study", tmp_path / "study")


def everything(folder):
    """All that the program reads of a study."""
    study = Study(folder)
    plan = study.plan()
    found = study.evaluation()
    votes = [(one.identity, dict(one.facts), one.table.to_pydict()) for one in study.labels.sources()]
    tables = (plan.table, study.selection(plan), study.thresholds(plan), found.label_table, found.issues,
              found.curve_table, found.curve.envelope.table, found.metrics)  # fmt: skip
    return repr((plan.header(), plan.location, found.summary, votes, [table.to_pydict() for table in tables]))


def said(folder, before):
    """Name of the file that is refused with a hint; nothing where every value is as before."""
    try:
        return "" if everything(folder) == before else "other values"
    except StudyError as error:
        return error.what.partition(": ")[0].rpartition("/")[2] if error.hint else "no hint"


def test_every_flipped_bit_is_refused_by_name_or_changes_nothing(study):
    before = everything(study)
    files = [
        path for path in study.rglob("*") if path.suffix in (".parquet", ".json") and path.parent.name != "manifests"
    ]
    assert {"forgotten.json", "thresholds.parquet", "evaluation.json"} <= {path.name for path in files}
    chance = random.Random(1)
    wrong = []
    for path in files:
        content = path.read_bytes()
        ends = [*range(64), *range(8 * len(content) - 64, 8 * len(content))]  # magic bytes, the footer's length
        for bit in chance.sample(range(8 * len(content)), FLIPS) + chance.sample(ends, examples(4, 8)):
            damaged = bytearray(content)
            damaged[bit // 8] ^= 1 << bit % 8
            path.write_bytes(damaged)
            if said(study, before) not in ("", path.name):
                wrong.append((path.name, bit))
        path.write_bytes(content)
    assert wrong == []


def test_manifests_are_a_record_that_no_verb_reads(study, capsys):
    tables = ("selection", "labels", "metrics", "provenance")
    rows = ", ".join(f"(SELECT list(one::VARCHAR ORDER BY one::VARCHAR) FROM {table} AS one)" for table in tables)
    asked = ["sql", str(study), f"SELECT {rows}", "--json"]
    questions = [asked, ["show", str(study), "precision@50", "--json"], ["labels", str(study), "--json"]]

    def answers():
        return [(run(question), capsys.readouterr().out) for question in questions]

    assert run(["evaluate", str(study)]) == 0
    capsys.readouterr()
    before = answers()
    assert {status for status, _ in before} == {0}
    manifests = sorted((study / "manifests").glob("*.json"))
    for path in manifests:
        path.write_bytes(path.read_bytes()[::-1])
    assert answers() == before
    assert manifests


def test_a_damaged_file_of_votes_is_one_line_that_says_what_to_do(study, capsys):
    votes = max((study / "votes").glob("*.parquet"), key=lambda path: path.stat().st_size)
    damaged = bytearray(votes.read_bytes())
    damaged[len(damaged) // 3] ^= 4
    votes.write_bytes(damaged)
    shown = ["show", study], ["show", study, "precision@5"]
    for command in (["labels", study], ["evaluate", study], *shown, ["sql", study, "SELECT 1"]):
        error = refused(capsys, *command)
        assert votes.name in error
        assert "give its label table again" in error


def test_the_same_plan_again_restores_its_damaged_files(whole, study):
    before = everything(study)
    again = ["plan", whole / "list.parquet", "--study", study, "--method", "loguniform", "--seed", "3",
             "--alpha", "0.2", "--stages", "3:later", "--score", "conf", "--key", "id"]  # fmt: skip
    for name in ("plan.json", "plan.parquet"):
        (study / name).write_bytes((study / name).read_bytes()[:-40])
        its_seed = "its seed, which `plan` printed" if name == "plan.json" else "its seed"
        with pytest.raises(StudyError, match=f"{name}: cannot be read.* with {its_seed}"):
            everything(study)
        assert run([str(one) for one in again]) == 0
        assert everything(study) == before


def test_results_of_other_labels_answer_nothing(whole, study, tmp_path, capsys):
    other = shutil.copytree(study, tmp_path / "other")
    assert run(["labels", str(study), "--forget", "good.parquet"]) == 0
    for command in (
        ["show", study, "precision@5"],
        ["cut", study, 5],
        ["sql", study, "SELECT precision_at(5)"],
        ["report", study],
        ["compare", study, other],
        ["extrapolate", study, "precision@recall:0.5"],
    ):
        error = refused(capsys, *command)
        assert "labels have changed" in error
        assert "no label counts any more: run evaluate with --labels FILE" in error
    assert run(["evaluate", str(study), "--labels", str(whole / "good.parquet")]) == 0
    assert run(["show", str(study), "precision@5"]) == 0
    shutil.rmtree(other / "votes")  # results that are handed on without their votes stand alone
    assert run(["show", str(other), "precision@5"]) == 0


def test_a_source_that_is_forgotten_again_is_forgotten_already(study, capsys):
    before = {path: path.read_bytes() for path in study.rglob("*") if path.is_file()}
    assert run(["labels", str(study), "--forget", "bad.parquet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["forgotten"] == {"bad.parquet": 0}
    assert before == {path: path.read_bytes() for path in study.rglob("*") if path.is_file()}
    assert "no source 'nobody'" in refused(capsys, "labels", study, "--forget", "nobody")


def test_a_request_for_more_labels_is_met_once(whole, study, capsys):
    def more(*arguments):
        capsys.readouterr()
        assert run(["grow", str(study), *arguments, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        return found["notes"]["look"], found["already_there"]

    look, there = more("--budget", "350")
    assert look > 1
    assert not there
    assert more("--budget", "350") == (look, True)
    streameval.select(study)
    assert run(["evaluate", str(study), "--labels", str(whole / "good.parquet")]) == 0
    assert more("--budget", "350") == (look, True)


def test_a_half_width_is_asked_for_once_until_the_labels_say_that_it_was_missed(whole, study, capsys):
    reached = Study(study).evaluation().summary["half_width"]["alpha"]
    looks = []
    for _ in range(2):
        assert run(["grow", str(study), "--alpha", str(0.98 * reached), "--json"]) == 0
        looks.append(json.loads(capsys.readouterr().out.splitlines()[-1])["notes"]["look"])
    assert looks[0] == looks[1] > 1


def test_growing_that_was_interrupted_leaves_the_plan_that_was_there(study, monkeypatch):
    before = Study(study).plan()
    replace, moved = atomic.os.replace, []

    def stop(source, target):
        if str(target).endswith("study/plan.json"):
            raise KeyboardInterrupt
        moved.append(target)
        replace(source, target)

    monkeypatch.setattr(atomic.os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        streameval.grow(study, budget=350)
    monkeypatch.undo()
    assert study / "plan.parquet" in moved
    assert Study(study).plan().plan_id == before.plan_id
    assert streameval.grow(study, budget=350).table.num_rows > before.table.num_rows


def test_a_run_that_is_repeated_writes_the_same_evaluation(whole, study, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("rank,label\n1,1\n2,1\n")
    written = []
    for _ in range(2):
        assert run(["evaluate", str(study), "--labels", str(new)]) == 0
        written.append((study / "evaluation.json").read_bytes())
    assert written[0] == written[1]


def test_a_new_folder_is_safe_before_what_is_written_after_it(tmp_path, monkeypatch):
    synced = []
    sync = atomic.sync
    monkeypatch.setattr(atomic, "sync", lambda path: synced.append(str(path)) or sync(path))
    atomic.write_all({tmp_path / "study" / "votes" / "a.json": atomic.json_object({})})
    assert synced.index(str(tmp_path / "study")) < next(i for i, path in enumerate(synced) if path.endswith("a.json"))


def test_memory_changed_by_hand_is_one_line(study, capsys):
    text = (study / "plan.json").read_text()
    (study / "plan.json").write_text(text.replace('"memory": 2.0', '"memory": "much"'))
    assert "plan.json" in refused(capsys, "select", study)


def test_results_of_another_plan_are_called_so(whole, study, tmp_path, capsys):
    other = tmp_path / "other"
    streameval.plan(str(whole / "list.parquet"), other, method="loguniform", seed=4, alpha=0.2,
                    options=streameval.RankingOptions(score="conf", key=("id",)))  # fmt: skip
    for name in ("plan.json", "plan.parquet"):
        shutil.copy(other / name, study / name)
    assert "its results are of another plan" in refused(capsys, "show", study, "precision@9")


def test_a_file_that_did_not_change_is_decoded_once_and_one_that_did_again(study, monkeypatch):
    decoded, decode = [], own_tables._decode
    monkeypatch.setattr(own_tables, "_decode", lambda path, content: decoded.append(path) or decode(path, content))
    own_tables._kept.cache_clear()
    first, again = Study(study).plan(), Study(study).plan()
    assert first.table.equals(again.table)
    assert len(decoded) == len(set(decoded))
    path = study / "plan.parquet"
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.write_bytes(body)
    for _ in range(2):  # what is refused is not kept
        with pytest.raises(StudyError, match=r"plan\.parquet"):
            Study(study).plan()
