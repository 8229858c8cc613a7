"""Scans that are shared out, interrupted or repeated: the same ranks, and nothing is read twice."""

import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import HOME
from score_lists import SCORES, scan_of
from suite_cases import examples, slow

import streameval
from streameval.cli import run
from streameval.cli.meter import Meter
from streameval.errors import InputError, StudyError
from streameval.order.locate import least_memory, locate
from streameval.progress import Step
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.rows.row_groups import RowGroup
from streameval.scans import threads as sweeping
from streameval.scans.checkpoints import Checkpoints, Scans, Shard, UnfinishedError, forget
from streameval.scans.jobs import merge, partial_of

N = 4_800
FILES = 8


@pytest.fixture
def listed(tmp_path):
    """4,800 rows with ties in 8 files of 3 row groups."""
    rng = np.random.default_rng(3)
    folder = tmp_path / "list"
    folder.mkdir()
    for i in range(FILES):
        rows = N // FILES
        table = pa.table({"id": rng.permutation(rows) + i * rows, "conf": rng.integers(0, 140, rows) / 200})
        pq.write_table(table, folder / f"p{i}.parquet", row_group_size=N // FILES // 3)
    return folder


def planned(folder, study, **options):
    streameval.plan(
        str(folder), study, method="loguniform", budget=200, options=RankingOptions(score="conf", **options), seed=0
    )
    return study


def selected(study):
    """The selection and thresholds of a study."""
    streameval.select(study)
    assert not (study / "scan").exists()
    return [pq.read_table(study / f"{name}.parquet") for name in ("selection", "thresholds")]


@settings(max_examples=examples(4, 40), deadline=None)
@given(
    name=st.sampled_from(["quantised", "half tied", "float64 beta", "all equal", "correlated"]),
    seed=st.integers(0, 2**32),
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    key=st.booleans(),
)
def test_shards_of_any_number_in_any_order_find_the_same_rows(name, seed, counts, key, tmp_path_factory):
    """With the least memory, so that bins are split: every stage is merged from shares."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(50, examples(3_000, 12_000)))
    table = pa.table({"s": SCORES[name](n, rng), "k": rng.permutation(n)})
    wanted = np.sort(rng.choice(np.arange(1, n + 1), min(n, 30), replace=False))
    memory, columns = float(least_memory(wanted.size)), ("k",) if key else ()
    expected = locate(scan_of(table, 7, columns), wanted, memory)
    folder = tmp_path_factory.mktemp("kept")
    shares = [Shard(i, count) for count in counts for i in range(1, count + 1)]
    for _ in range(50):
        share = shares[rng.integers(len(shares))]
        try:
            found = locate(scan_of(table, 7, columns), wanted, memory, checkpoints=Checkpoints("list", folder, share))
        except UnfinishedError as unfinished:
            shares = list(unfinished.state.missing) if rng.random() < 0.5 else shares
        else:
            break
    else:
        found = locate(scan_of(table, 7, columns), wanted, memory, checkpoints=Checkpoints("list", folder, Shard()))
    assert found.position.tolist() == expected.position.tolist()
    assert found.tied.tolist() == expected.tied.tolist()
    again = locate(scan_of(table, 7, columns), wanted, memory, checkpoints=Checkpoints("list", folder))
    assert again.position.tolist() == expected.position.tolist()


@settings(max_examples=examples(4, 20))
@given(seed=st.integers(0, 2**32))
def test_partials_merge_in_any_grouping_and_tasks_can_be_sent(seed, tmp_path_factory):
    rng = np.random.default_rng(seed)
    scan = scan_of(pa.table({"s": rng.random(500)}), 6)
    tasks = []

    class Spy(Checkpoints):
        def run(self, scan, task, progress):
            tasks.append(task)
            return super().run(scan, task, progress)

    locate(scan, np.array([3, 77, 400]), 1e8, checkpoints=Spy("list", tmp_path_factory.mktemp("kept"), Shard()))
    assert [task.name for task in tasks] == ["sample", "count", "candidates"]
    for task in tasks:
        sent = pickle.loads(pickle.dumps(task))
        assert sent.digest == task.digest
        numbers = rng.permutation(task.units(scan))
        whole = partial_of(task, scan, numbers)
        pieces = [partial_of(sent, scan, piece) for piece in np.array_split(numbers, 4)]
        left = merge([merge(pieces[:2]), merge(pieces[2:])])
        right = merge([pieces[3], merge([pieces[1], pieces[0], pieces[2]])])
        for one in (left, right):
            assert one.units.tolist() == whole.units.tolist()
            assert one.missing == whole.missing
            for name, values in whole.columns.items():
                got = one.columns[name]
                assert (got if name == "count" else np.sort(got)).tolist() == (
                    values if name == "count" else np.sort(values)
                ).tolist()


def test_shards_of_a_study_on_the_command_line(listed, tmp_path, capsys):
    expected = selected(planned(listed, tmp_path / "plain"))
    study = planned(listed, tmp_path / "shared")
    assert run(["scan", str(study), "--shard", "2/3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["missing"] == ["1/3", "3/3"]
    assert (told["scan"], told["row_groups_done"], told["row_groups"]) == ("count", 8, 24)
    assert run(["select", str(study)]) == 2
    error = capsys.readouterr().err
    assert "scan 'count' has read 8 of 24 row groups; missing: shard 1, 3 of 3" in error
    assert f"streameval scan {study} --shard 1/3" in error
    for shard in ("3/3", "2/3", "1/3", "1/3"):
        assert run(["scan", str(study), "--shard", shard]) == 0
    assert "Scan 'candidates': 8 of 24 row groups read; missing: shard 2/3, 3/3" in capsys.readouterr().out
    with ThreadPoolExecutor(3) as pool:  # at once, one of them twice, and by other shares
        done = list(pool.map(lambda shard: streameval.scan(study, shard=shard), ("3/3", "2/3", "2/3", "1/2", "2/2")))
    assert {state.step for state in done} == {"candidates"}
    assert run(["scan", str(study)]) == 0
    assert "All scans are done" in capsys.readouterr().out
    opened = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowGroup, "read", lambda self, columns: opened.append(self.path))
        streameval.scan(study, shard="1/9")
    assert opened == []
    assert all(a.equals(b) for a, b in zip(selected(study), expected, strict=True))
    assert streameval.scan(study).step == "selection"


@pytest.mark.slow
def test_shards_in_several_processes(listed, tmp_path):
    expected = selected(planned(listed, tmp_path / "plain"))
    study = planned(listed, tmp_path / "shared", threads=1)
    for _ in range(2):
        command = [sys.executable, "-m", "streameval", "scan", str(study), "--shard"]
        shares = [subprocess.Popen([*command, f"{i}/2"], stdout=subprocess.DEVNULL) for i in (1, 2)]
        assert [share.wait() for share in shares] == [0, 0]
    assert streameval.scan(study).missing == ()
    assert all(a.equals(b) for a, b in zip(selected(study), expected, strict=True))


@pytest.mark.parametrize("shard", ["0/3", "4/3", "x", "1", "1/0", "-1/2", "1/2/3"])
def test_shards_that_do_not_exist(listed, tmp_path, shard):
    with pytest.raises(InputError, match="shard"):
        streameval.scan(planned(listed, tmp_path / "s"), shard=shard)


def test_a_stored_order_has_nothing_to_scan(listed, tmp_path):
    streameval.plan(str(listed), tmp_path / "s", method="loguniform", budget=400, seed=0)
    with pytest.raises(StudyError, match="nothing to scan"):
        streameval.scan(tmp_path / "s")


class InterruptedReadError(Exception):
    pass


def reading(monkeypatch, opened, limit=None):
    """Note every row group that is read; raise after so many."""
    plain = RowGroup.read

    def read(self, columns):
        if limit is not None and len(opened) >= limit:
            raise InterruptedReadError
        opened.append((os.path.basename(self.footer.file.path), self.index))
        return plain(self, columns)

    monkeypatch.setattr(RowGroup, "read", read)


@pytest.mark.parametrize(
    ("threads", "after"),
    [(1, 30), (3, 26), *slow((1, 3), (3, 45), (1, 26), (1, 45), (3, 3), (3, 30))],
)
def test_an_interrupted_run_is_resumed_without_reading_again(listed, tmp_path, after, threads):
    """24 row groups are sampled and counted; after an interruption, the rest of that, and candidates are collected."""
    expected = selected(planned(listed, tmp_path / "plain"))
    study = planned(listed, tmp_path / "study", threads=threads)
    first, second = [], []
    with pytest.MonkeyPatch.context() as patch:
        reading(patch, first, after)
        with pytest.raises(InterruptedReadError):
            streameval.select(study)
    assert not (study / "selection.parquet").exists()
    with pytest.MonkeyPatch.context() as patch:
        reading(patch, second)
        found = selected(study)
    assert len(first) + len(second) == (72 if after > 24 else 48)
    assert all(a.equals(b) for a, b in zip(found, expected, strict=True))


def test_a_run_that_ends_after_a_checkpoint_is_resumed_from_it(listed, tmp_path):
    study, saved = planned(listed, tmp_path / "study", threads=1), []
    plain = Checkpoints.save

    def save(self):
        plain(self)
        saved.append(1)
        if len(saved) == 30:
            raise InterruptedReadError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeping, "CHECKPOINT_SECONDS", 0.0)
        patch.setattr(Checkpoints, "save", save)
        with pytest.raises(InterruptedReadError):
            streameval.select(study)
    assert len(saved) >= 30
    opened = []
    with pytest.MonkeyPatch.context() as patch:
        reading(patch, opened)
        found = selected(study)
    assert len(opened) <= 72 - 30
    assert all(a.equals(b) for a, b in zip(found, selected(planned(listed, tmp_path / "plain")), strict=True))


@pytest.mark.slow
def test_a_killed_run_is_resumed(listed, tmp_path, monkeypatch):
    study = planned(listed, tmp_path / "study", threads=1)
    code = f"""
import os
import streameval
from streameval.scans import checkpoints as keeping, threads as sweep
sweep.CHECKPOINT_SECONDS = 0
plain, saved = keeping.Checkpoints.save, []
def save(self):
    plain(self)
    saved.append(1)
    if len(saved) == 30:
        os.kill(os.getpid(), 9)
keeping.Checkpoints.save = save
streameval.select({str(study)!r})
"""
    assert subprocess.run([sys.executable, "-c", code], cwd=HOME, check=False).returncode == -9
    opened = []
    reading(monkeypatch, opened)
    found = selected(study)
    assert len(opened) <= 72 - 30  # 24 were sampled, and 6 at least counted, when the last checkpoint was written
    monkeypatch.undo()
    assert all(a.equals(b) for a, b in zip(found, selected(planned(listed, tmp_path / "plain")), strict=True))


def test_scans_of_something_else_are_not_used_and_damaged_ones_are_named(listed, tmp_path, monkeypatch):
    study = planned(listed, tmp_path / "study")
    streameval.scan(study, shard="1/2")
    kept = sorted((study / "scan").iterdir())
    planned(listed, study, memory=1.5)  # other bins
    opened = []
    reading(monkeypatch, opened)
    found = selected(study)
    assert len(opened) == 48
    monkeypatch.undo()
    assert all(a.equals(b) for a, b in zip(found, selected(planned(listed, tmp_path / "plain")), strict=True))
    other = planned(listed, tmp_path / "other")
    streameval.scan(other, shard="1/2")
    assert [path.name.split("-")[0] for path in sorted((other / "scan").iterdir())] == [
        path.name.split("-")[0] for path in kept
    ]
    for path in (other / "scan").iterdir():
        path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StudyError, match=r"cannot be read .* remove the file"):
        streameval.scan(other, shard="2/2")


def test_a_list_that_changed_is_refused_by_every_shard(listed, tmp_path):
    study = planned(listed, tmp_path / "study")
    streameval.scan(study, shard="1/2")
    pq.write_table(pa.table({"id": np.arange(3000), "conf": np.zeros(3000)}), listed / "p7.parquet")
    with pytest.raises(StudyError, match="fingerprint"):
        streameval.scan(study, shard="2/2")


def test_checkpoints_hold_whole_row_groups(listed, tmp_path, monkeypatch):
    """A checkpoint after every row group, by eight threads, adds up to the same ranks."""
    monkeypatch.setattr(sweeping, "CHECKPOINT_SECONDS", 0.0)
    options = RankingOptions(score="conf", threads=8)
    ranks = np.arange(1, N + 1, 97)
    expected = open_ranking(str(listed), options).fetch(ranks, ["id"]).table
    scans = Scans(tmp_path / "kept")
    assert open_ranking(str(listed), options).fetch(ranks, ["id"], scans=scans).table.equals(expected)
    files = [pq.read_table(path) for path in (tmp_path / "kept").iterdir()]
    assert N in [sum(table.column("count").to_pylist()) for table in files if "count" in table.column_names]
    forget(scans.folder)
    assert not (tmp_path / "kept").exists()


def test_progress_tells_rows_bytes_rate_and_time_left(listed, tmp_path, capsys):
    study = planned(listed, tmp_path / "study")
    capsys.readouterr()
    assert run(["select", str(study), "--log", "json", "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    ends = {event["step"]: event for event in events if event["event"] == "step_ends"}
    assert list(ends) == ["sample", "count", "items"]
    for name in ("sample", "count"):
        assert ends[name]["rows"] == ends[name]["of_rows"] == N
        assert ends[name]["bytes"] > N
        assert ends[name]["rows_per_second"] > 0
    now, told, drawn = [0.0], [], []
    meter = Meter("scan", lambda name, **facts: told.append((name, facts)), lambda *args: drawn.append(args),
                  lambda: now[0])  # fmt: skip
    meter.begin(Step("count", 4_000_000, 20_000_000))
    for now[0] in (5.0, 10.0):
        meter(int(now[0] * 100_000), 4_000_000)
    assert told[1][0] == "step"
    assert told[1][1]["seconds_left"] == 30.0
    assert (told[1][1]["bytes"], told[1][1]["rows_per_second"]) == (5_000_000, 100_000)
    assert drawn[-1] == ("scan: count", 1_000_000, 4_000_000, "1,000,000 rows, 5 MB, 0.1 M rows/s")
    meter.end()
    assert told[-1][0] == "step_ends"
