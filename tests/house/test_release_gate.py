"""The scripts of a release gate in the guide are run by a shell as they stand, in folders whose names have spaces."""

import os
import shlex
import shutil
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from guide_pages import BLOCKS

N = 20_000


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """The scripts of the guide to comparing."""
    return scripts_of("comparing.md", tmp_path_factory.mktemp("the scripts"))


def scripts_of(guide, folder):
    """A folder with the scripts of a guide, and beside them a `streameval` that is this interpreter's."""
    code = [block for page, of, block in BLOCKS if page == guide and of == "sh" and block.startswith("# gate")]
    for block in code:
        (folder / block.split()[1]).write_text(block)
    command = folder / "streameval"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m streameval "$@"\n')
    command.chmod(0o755)
    assert {path.name for path in folder.iterdir()} == {"gate.sh", "gate-answers.sh", "streameval"}
    return folder


def ran(scripts, name, data, study):
    """Exit status of a script, and what it printed; `data` is where the lists are."""
    path = os.pathsep.join([str(scripts), os.environ["PATH"]])
    done = subprocess.run(["bash", str(scripts / name), study], cwd=data, env={**os.environ, "PATH": path},
                          capture_output=True, text=True, check=False)  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def lists(data, noise):
    """Two lists of the same items, each a folder; the order of the new one differs by so much noise."""
    rng = np.random.default_rng(6)
    scores = rng.normal(size=N)
    for name, by in (("old", scores), ("new", scores + noise * rng.normal(size=N))):
        (data / name).mkdir(parents=True)
        items = pl.DataFrame({"id": np.arange(N), "text": [f"item {one}" for one in range(N)], "score": by})
        items.write_parquet(data / name / "part.parquet")


def answered(study, of_gains, first=N):
    """Fill in the task file: the items that only the new top holds have one label, and all others the other."""
    planned = pl.read_parquet(study / "plan.parquet").select("rank", gain=pl.col("first_b") < pl.col("first_a"))
    items = pl.read_parquet(study / "selection.parquet").join(planned, on="rank")
    label = items.select(
        "se_task", label=pl.col("gain").cast(pl.Int8) if of_gains else 1 - pl.col("gain").cast(pl.Int8)
    )
    tasks = pl.read_csv(study / "tasks.csv")
    label = label.filter(pl.col("se_task").is_in(tasks["se_task"].head(first).implode()))
    tasks.drop("label").join(label, on="se_task", how="left").write_csv(study / "tasks.csv")


def test_it_waits_for_labels_and_then_releases_or_holds_back(scripts, tmp_path):
    data, study = tmp_path / "of today", tmp_path / "of today" / "the study"
    lists(data, 0.2)
    assert ran(scripts, "gate.sh", data, "the study")[0] == 0
    status, said = ran(scripts, "gate-answers.sh", data, "the study")
    assert status == 2
    assert "has a label yet" in said
    answered(study, True, 10)
    status, said = ran(scripts, "gate-answers.sh", data, "the study")
    assert status == 5, said
    shutil.copytree(study, data / "worse")
    for folder, better, outcome in ((study, True, 0), (data / "worse", False, 4)):
        answered(folder, better)
        status, said = ran(scripts, "gate-answers.sh", data, folder.name)
        assert status == outcome, said
        assert ("<failure" in (folder / "gate.xml").read_text()) == (outcome == 4)


@pytest.mark.slow
def test_it_releases_where_nothing_changed(scripts, tmp_path):
    """Two files with the same bytes are two lists."""
    data = tmp_path / "of today"
    lists(data, 0)
    status, said = ran(scripts, "gate.sh", data, "the study")
    assert status == 0, said
    assert "nothing to label" in said
    assert not (data / "the study" / "tasks.csv").exists()
    status, said = ran(scripts, "gate-answers.sh", data, "the study")
    assert status == 0, said


def asked(tmp_path):
    """The scripts of a gate of one question, and a folder with a list and the settings of its plan."""
    scripts, data = tmp_path / "of a question", tmp_path / "of today"
    scripts.mkdir()
    (data / "ranked").mkdir(parents=True)
    scripts = scripts_of("question.md", scripts)
    (scripts / "gate.sh").write_text((scripts / "gate.sh").read_text().replace("@1000000", "@10000"))
    ids = np.random.default_rng(6).permutation(N)
    items = pl.DataFrame({"id": ids, "text": [f"item {one}" for one in ids], "confidence": np.linspace(1, 0, N)})
    items.write_parquet(data / "ranked" / "part.parquet")
    (data / "streameval.toml").write_text("[plan]\nseed = 3\n")
    return scripts, data


def answer_first(study, tasks):
    """Answer so many tasks of a round; its sheet as it was."""
    sheet = pl.read_csv(study / "tasks.csv")
    place = pl.int_range(pl.len())
    right = pl.when(place < tasks).then((place > 1) & (pl.col("id") % 40 != 0))
    sheet.with_columns(label=right.cast(pl.Int8)).write_csv(study / "tasks.csv")
    return sheet


def test_a_gate_of_one_question_goes_on_where_only_some_tasks_are_answered(tmp_path):
    scripts, data = asked(tmp_path)
    assert ran(scripts, "gate.sh", data, "the study")[0] == 0
    sheet = answer_first(data / "the study", 20)
    status, said = ran(scripts, "gate-answers.sh", data, "the study")
    assert status == 5, said
    assert not set(pl.read_csv(data / "the study" / "tasks.csv")["id"]) & set(sheet["id"].head(20))


@pytest.mark.slow
def test_a_gate_of_one_question_goes_on_until_it_is_answered(tmp_path):
    """Round after round, also where only some tasks are answered, by two scripts that may be run again at any time."""
    scripts, data = asked(tmp_path)
    study = data / "the study"
    for name, expected in (("gate.sh", 0), ("gate-answers.sh", 2), ("gate.sh", 0)):  # nobody has answered
        status, said = ran(scripts, name, data, "the study")
        assert status == expected, said
    for tasks in (20, *[N] * 9):
        sheet = answer_first(study, tasks)
        status, said = ran(scripts, "gate-answers.sh", data, "the study")
        if status != 5:
            break
        assert not set(pl.read_csv(study / "tasks.csv")["id"]) & set(sheet["id"].head(tasks))
    assert status == 0, said
    assert len(list(study.glob("tasks-*.csv"))) >= 2
    assert "no claim about the truth" not in said
    assert ran(scripts, "gate-answers.sh", data, "the study")[0] == 0
