"""Two commands in one study at the same time, and what killed ones leave behind."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attack.forks import Trouble
from label_tables import taken_in

import streameval
from streameval.cli import run
from streameval.errors import OutsideError
from streameval.kinds.curve import plan as planning
from streameval.stores import atomic, locks
from streameval.stores.temporary import temporary_folder
from streameval.study import Study

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and flock")


@pytest.fixture
def study(tmp_path):
    n = 60
    pq.write_table(pa.table({"id": np.arange(n)}), tmp_path / "list.parquet")
    streameval.plan(str(tmp_path / "list.parquet"), tmp_path / "study", method="uniform", budget=40, seed=7)
    for name in ("a", "b"):
        rows = pa.table({"rank": np.arange(1, n + 1), "label": np.ones(n, np.int8), "annotator": [name] * n})
        pq.write_table(rows, tmp_path / f"{name}.parquet")
    return tmp_path / "study"


def at_once(forks, *commands):
    """Run commands in processes that set off together; exit statuses and what they said of errors."""
    done = forks.at_once([[str(one) for one in command] for command in commands], Path.cwd())
    return [one.status for one in done], [one.err for one in done]


def here_and_there(forks, verb, study, flag, *values):
    """Run a command in another process, and meanwhile its twin here."""
    there, here = ([verb, str(study), flag, str(value)] for value in values)
    forks.start(there, Path.cwd())
    assert run(here) == 0
    done = forks.finish()
    assert done.status == 0, done.err


def test_two_that_forget_both_forget(study, tmp_path, forks):
    taken_in(study, tmp_path / "a.parquet", tmp_path / "b.parquet")
    here_and_there(forks, "labels", study, "--forget", "a.parquet", "b.parquet")
    assert Study(study).labels.sources() == []


def test_two_evaluations_count_the_labels_of_both(study, tmp_path, forks):
    here_and_there(forks, "evaluate", study, "--labels", tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert Study(study).evaluation().summary["account"]["votes"] == 80
    written = json.loads((study / "manifests" / "evaluate.json").read_text())
    assert written["read"]["evaluation_id"] == Study(study).evaluation().evaluation_id


def test_who_waits_too_long_is_told_to_come_again(study, monkeypatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.0)
    other = subprocess.Popen(
        [sys.executable, "-c", "import sys\nfrom pathlib import Path\n"
         "from streameval.stores.locks import one_at_a_time\n"
         "with one_at_a_time(Path(sys.argv[1])): print('held', flush=True); sys.stdin.readline()", str(study)],
        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    assert other.stdout.readline() == "held\n"
    with pytest.raises(OutsideError, match="another command is at work") as told:
        streameval.labels(study, forget="a")
    assert told.value.exit_status == 3
    Study(study).plan()  # reading waits for nobody
    other.communicate("\n")


def test_a_lock_that_was_removed_with_its_folder_meanwhile_is_made_anew(tmp_path, monkeypatch):
    asked, lock = [], locks.lock

    def removed_first(handle):
        if not asked:
            locks.remove_empty(tmp_path / "s")
            (tmp_path / "s").mkdir()
        asked.append(handle)
        return lock(handle)

    (tmp_path / "s").mkdir()
    monkeypatch.setattr(locks, "lock", removed_first)
    with locks.one_at_a_time(tmp_path / "s"):
        assert len(asked) == 2
        assert os.path.samestat(os.fstat(asked[-1]), (tmp_path / "s" / locks.NAME).stat())


def test_a_place_that_another_cut_filled_meanwhile_is_named(tmp_path):
    best = tmp_path / "best"

    def fill():
        with atomic.folder(best) as room:
            (room / "mine").write_text("mine")
            best.mkdir()
            (best / "theirs").write_text("theirs")

    with pytest.raises(OutsideError, match=f"{best}: another command has just written to it"):
        fill()
    assert os.listdir(tmp_path) == ["best"]


def test_what_killed_processes_left_is_removed_by_the_next_and_what_is_in_use_is_not(tmp_path):
    code = ("import sys; from streameval.stores.temporary import temporary_folder\n"
            "with temporary_folder('best', sys.argv[1]): print('there', flush=True); sys.stdin.readline()")  # fmt: skip
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], text=True, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
        for _ in range(2)
    ]  # fmt: skip
    for one in started:
        assert one.stdout.readline() == "there\n"
    assert len(os.listdir(tmp_path)) == 2
    started[0].send_signal(signal.SIGKILL)
    started[0].communicate()
    with temporary_folder("best", tmp_path):
        assert len(os.listdir(tmp_path)) == 2
    started[1].communicate("\n")
    assert os.listdir(tmp_path) == []


def test_no_room_for_temporary_files_is_worth_a_retry(study, tmp_path, forks):
    labels = tmp_path / "labels.csv.gz"  # packed: it is read in a database of its own, which may spill
    labels.write_bytes(gzip.compress(b"rank,label\n1,1\n"))
    command = ["evaluate", str(study), "--labels", str(labels)]
    done = forks.run(command, tmp_path, Trouble(limits={"RLIMIT_FSIZE": 0}))
    assert done.status == 3
    assert "no temporary file can be written. Hint: make room" in done.err


def plan_at_once(monkeypatch, first, second):
    """Run two `plan`, of which the second writes its plan while the first draws; their exit statuses."""
    draw, found = planning.draw, []

    def overtaken(*given):
        monkeypatch.setattr(planning, "draw", draw)
        found.append(run(second))
        return draw(*given)

    monkeypatch.setattr(planning, "draw", overtaken)
    return [run(first), *found]


@pytest.mark.parametrize("seeds", [[], ["--seed", "7"]], ids=["fresh seeds", "one seed"])
def test_of_two_plans_for_a_new_folder_one_is_told(seeds, study, tmp_path, capsys, monkeypatch):
    command = ["plan", str(tmp_path / "list.parquet"), "--study", str(tmp_path / "new"), *seeds, "--budget"]
    assert plan_at_once(monkeypatch, [*command, "50"], [*command, "60"]) == [3, 0]
    assert (
        "another command has just planned it differently. Hint: run the same command again" in capsys.readouterr().err
    )
    assert Study(tmp_path / "new").plan().parameters["budget"] == 60


def test_of_two_plans_without_a_seed_the_later_one_takes_that_of_the_other(study, tmp_path, monkeypatch):
    command = ["plan", str(tmp_path / "list.parquet"), "--study", str(tmp_path / "new")]
    assert plan_at_once(monkeypatch, command, command) == [3, 0]
    made = Study(tmp_path / "new").plan()
    assert run(command) == 0
    assert Study(tmp_path / "new").plan().plan_id == made.plan_id


def test_two_plans_of_one_seed_are_one_plan(study, tmp_path, monkeypatch):
    command = ["plan", str(tmp_path / "list.parquet"), "--study", str(tmp_path / "new"), "--seed", "7"]
    assert plan_at_once(monkeypatch, command, command) == [0, 0]


@pytest.mark.slow
def test_two_processes_with_plans_of_one_seed_leave_one_plan(study, tmp_path, forks):
    assert run(["plan", str(tmp_path / "list.parquet"), "--study", str(tmp_path / "new"), "--seed", "7"]) == 0
    statuses, said = at_once(
        forks, *(["plan", tmp_path / "list.parquet", "--study", tmp_path / "both", "--seed", "7"],) * 2
    )
    assert statuses == [0, 0], said
    assert Study(tmp_path / "both").plan().plan_id == Study(tmp_path / "new").plan().plan_id


@pytest.mark.slow
@pytest.mark.parametrize("more", [("60", "60"), ("60", "120")], ids=["alike", "different"])
def test_two_requests_for_more_labels_are_one_after_the_other(more, study, tmp_path, forks):
    command = ["plan", tmp_path / "list.parquet", "--study", tmp_path / "looks", "--seed", "7", "--budget", "100"]
    assert run([str(one) for one in (*command, "--method", "loguniform", "--stages", "4:later")]) == 0
    copies = {name: shutil.copytree(tmp_path / "looks", tmp_path / name) for name in "xy"}
    orders = set()
    for folder, order in zip(copies.values(), (more, more[::-1]), strict=True):
        for number in order:
            run(["grow", str(folder), "--budget", number])
        orders.add(Study(folder).plan().plan_id)
    statuses, said = at_once(forks, *(["grow", tmp_path / "looks", "--budget", number] for number in more))
    assert set(statuses) <= {0, 2, 3}, said  # 2: what the other left has no look as small as that
    assert 0 in statuses, said
    if 3 not in statuses:
        assert Study(tmp_path / "looks").plan().plan_id in orders, said
    else:  # the one that was told to come again does so
        assert run(["grow", str(tmp_path / "looks"), "--budget", more[statuses.index(3)]]) == 0
        assert Study(tmp_path / "looks").plan().plan_id in orders
    assert {path.name for path in (tmp_path / "looks").rglob(".*")} <= {".lock"}
