"""Copies that are interrupted: never half, and what reads the same again goes on where it stopped."""

import errno
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from suite_cases import cases

import streameval
from streameval.cli import run
from streameval.copies import write
from streameval.stores import publish
from streameval.study import list_copy

ITEMS = 3_000
STEP, PART_BYTES = 256, 5_000  # which make six parts of it


@pytest.fixture
def source(tmp_path):
    """A list that makes several parts where parts are small."""
    conf = np.random.default_rng(2).random(ITEMS).round(6)
    path = tmp_path / "p.csv"
    path.write_text("id,conf\n" + "".join(f"{i:06d},{one}\n" for i, one in enumerate(conf)))
    return path


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(write, "_STEP", STEP)
    monkeypatch.setattr(write, "_GROUP_ROWS", STEP)
    monkeypatch.setattr(publish, "_PART_BYTES", PART_BYTES)


def plan(source, study):
    return streameval.plan(source, study, score="conf", budget=100, seed=1)


class StoppedError(BaseException):
    """What a signal raises."""


@pytest.mark.parametrize("stopped_after", cases([1, 2, 3], 2))
def test_a_text_goes_on_behind_its_complete_parts(stopped_after, source, tmp_path, monkeypatch):
    whole, written = plan(source, tmp_path / "whole"), []
    save = write._Begun.save

    def stopping(begun, room):
        save(begun, room)
        written.append(begun.parts)
        if len(written) == stopped_after:
            raise StoppedError

    monkeypatch.setattr(write._Begun, "save", stopping)
    with pytest.raises(StoppedError):
        plan(source, tmp_path / "s")
    assert not (tmp_path / "s" / "ranking").exists()
    assert not (tmp_path / "s" / "plan.json").exists()
    again = plan(source, tmp_path / "s")
    assert written[stopped_after] == stopped_after + 1  # the parts before it were kept
    assert again.plan_id == whole.plan_id
    for name in os.listdir(tmp_path / "whole" / "ranking"):
        same = [(tmp_path / study / "ranking" / name).read_bytes() for study in ("s", "whole")]
        assert same[0] == same[1]
    assert not list((tmp_path / "s").glob(".ranking*"))


def test_another_text_or_a_query_begins_again(source, tmp_path, monkeypatch):
    save = write._Begun.save

    def stopping(begun, room):
        save(begun, room)
        raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(write._Begun, "save", stopping)
        with pytest.raises(StoppedError):
            plan(source, tmp_path / "s")
        with pytest.raises(StoppedError):
            plan(pa.table({"id": [1], "conf": [0.5]}).to_reader(), tmp_path / "t")
    assert not list((tmp_path / "t").glob(".ranking*"))
    source.write_text(source.read_text().replace("000001,", "changed,"))
    plan(source, tmp_path / "s")
    assert pq.read_table(tmp_path / "s" / "ranking").column("id")[1].as_py() == "changed"


def test_a_full_disk_is_status_three_and_leaves_nothing_half(source, tmp_path, capsys, monkeypatch):
    def full(*given, **named):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pq.ParquetWriter, "write_table", full)
        assert run(["plan", str(source), "--score", "conf", "--study", str(tmp_path / "s"), "--seed", "1"]) == 3
        assert "make room and run the same command again" in capsys.readouterr().err
        assert not (tmp_path / "s").exists()
    plan(source, tmp_path / "s")


MOMENTS = ["parts", "record", "before", "after"]


def check_mended(study, source, at):
    """What a kill left is no half list, and the same command makes it whole."""
    assert (study / "ranking").exists() == (at == "after")
    assert not (study / "plan.json").exists()
    assert plan(source, study).n_items == ITEMS
    assert pq.read_table(study / "ranking").num_rows == ITEMS
    assert not list(study.glob(".ranking*"))


def test_a_kill_leaves_no_half_list_and_the_same_command_mends_it(source, tmp_path, monkeypatch):
    """By copies of what lies there when a kill could come: while parts are written, and around the move."""
    save, as_json, move = write._Begun.save, write.atomic.json_object, list_copy.replace_copy

    def keep(at):
        if not (tmp_path / at).exists():
            shutil.copytree(tmp_path / "s", tmp_path / at)

    def saved(begun, room):
        if begun.parts == 3:
            keep("parts")
        save(begun, room)

    def moved(*given):
        keep("before")
        move(*given)
        keep("after")

    with monkeypatch.context() as patch:
        patch.setattr(write._Begun, "save", saved)
        patch.setattr(write.atomic, "json_object", lambda *given: keep("record") or as_json(*given))
        patch.setattr(list_copy, "replace_copy", moved)
        plan(source, tmp_path / "s")
    for at in MOMENTS:
        check_mended(tmp_path / at, source, at)


KILLED = f"""
import os, signal, sys
from streameval.copies import write
from streameval.stores import publish
write._STEP = write._GROUP_ROWS = {STEP}
publish._PART_BYTES = {PART_BYTES}
"""
KILLED += """
at, replace_copy, fill = sys.argv[1], write.replace_copy, write._fill

def killed(*given):
    os.kill(os.getpid(), signal.SIGKILL)

def save(begun, room):
    if begun.parts == 3:
        killed()

if at == "parts":
    write._Begun.save = save
elif at == "record":
    write.atomic.json_object = killed
else:
    import streameval.study.list_copy as list_copy
    list_copy.replace_copy = killed if at == "before" else lambda *given: (replace_copy(*given), killed())
from streameval.cli import run
run(sys.argv[2:])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no SIGKILL")
@pytest.mark.parametrize("at", MOMENTS)
def test_a_killed_process_leaves_no_half_list(at, source, tmp_path):
    command = ["plan", str(source), "--score", "conf", "--study", str(tmp_path / "s"), "--budget", "100", "--seed", "1"]
    done = subprocess.run([sys.executable, "-c", KILLED, at, *command], capture_output=True)
    assert done.returncode == -signal.SIGKILL
    check_mended(tmp_path / "s", source, at)


def test_a_copy_of_a_plan_that_was_replaced_leaves_nothing_behind(source, tmp_path):
    plan(source, tmp_path / "s")
    plan(pa.table({"id": range(200), "conf": np.arange(200) / 200}).to_reader(), tmp_path / "s")
    assert pq.read_table(tmp_path / "s" / "ranking").num_rows == 200
    assert {path.name for path in (tmp_path / "s").iterdir()} <= {"ranking", "plan.json", "plan.parquet", ".lock"}
