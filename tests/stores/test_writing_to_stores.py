"""What is written to object stores: whole or not at all whatever goes wrong, and once however often it is asked for."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from lake import ENVIRONMENT, client, forget, reach, refused, upload
from lake_apart import serve_apart
from places import HOME
from suite_cases import cases, slow

import streameval
from streameval.cli import run
from streameval.errors import InputError, OutsideError
from streameval.rows.options import RankingOptions
from streameval.stores import staged
from streameval.stores.staged import UNFINISHED
from streameval.stores.transfer import put
from streameval.verbs.publish import publish

pytest.importorskip("moto", reason="moto[server] is a development dependency")
STAGED_PART = f"/{UNFINISHED}/part-"


@pytest.fixture(scope="module")
def server():
    with serve_apart() as lake:
        yield lake


@pytest.fixture
def lake(server, monkeypatch):
    reach(server, monkeypatch)
    monkeypatch.setattr("streameval.stores.partitioned._PART_BYTES", 1_000)
    monkeypatch.setattr("streameval.stores.partitioned._GROUP_ROWS", 300)
    monkeypatch.setattr("streameval.rankings.items._MOST_ROWS", 500)
    server.reset()
    yield server
    server.reset()
    forget()
    client(server).delete_dir_contents("lake")


@pytest.fixture(scope="module")
def study(one_ranking, tmp_path_factory):
    folder, labels, _ = one_ranking
    path = tmp_path_factory.mktemp("studies") / "study"
    streameval.plan(str(folder), path, method="loguniform", alpha=0.2, options=RankingOptions(score="conf"), seed=0)
    streameval.evaluate(path, labels=labels)
    return path


def objects(lake, place="s3://lake/best"):
    """Content of every object below a place, folder markers left out."""
    from pyarrow.fs import FileSelector, FileType

    filesystem, root = client(lake), place.removeprefix("s3://")
    found = filesystem.get_file_info(FileSelector(root, recursive=True, allow_not_found=True))
    contents = {}
    for one in found:
        if one.type == FileType.File:
            with filesystem.open_input_stream(one.path) as stream:
                contents[one.path.removeprefix(f"{root}/")] = stream.read()
    return contents


@pytest.mark.parametrize("order", ["storage", "rank"])
def test_a_cut_on_a_store_has_the_bytes_of_a_local_one(lake, study, tmp_path, capsys, order):
    asked = ["cut", str(study), "3000", "--order", order, "--json"]
    capsys.readouterr()
    for out in (str(tmp_path / "best"), "s3://lake/best/"):
        assert run([*asked, "--out", out]) == 0
    here, there = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    local = {path.name: path.read_bytes() for path in (tmp_path / "best").iterdir()}
    remote = objects(lake)
    manifests = [json.loads(found.pop("_manifest.json")) for found in (local, remote)]
    assert remote == local
    assert order == "rank" or len(remote) > 5
    assert here | {"out": None} == there | {"out": None}
    assert there["out"] == "s3://lake/best"
    assert manifests[0].pop("command").replace(str(tmp_path / "best"), "s3://lake/best") == manifests[1].pop("command")
    assert manifests[0] == manifests[1]
    assert lake.open_uploads == []
    written = [path for method, path in lake.requests if method == "PUT" and UNFINISHED not in path and path[-1] != "/"]
    assert written[-1] == "/lake/best/_manifest.json"
    assert streameval.rankings.open_ranking("s3://lake/best").n_items == 3_000


def test_a_large_file_goes_in_parts(lake):
    body = np.random.default_rng(3).bytes(25 << 20)
    with staged.staged("s3://lake/large", "list.json") as sender:
        (sender.room / "a.bin").write_bytes(body)
        (sender.room / "list.json").write_text('{"files": ["a.bin"]}')
        sender.send("a.bin")
        sender.wait()
        assert not (sender.room / "a.bin").exists()
    assert objects(lake, "s3://lake/large") == {"a.bin": body, "list.json": b'{"files": ["a.bin"]}'}
    assert len([path for method, path in lake.requests if "a.bin?partNumber" in path]) == 3
    assert lake.open_uploads == []


def test_memory_does_not_grow_with_what_is_sent(lake):
    code = (
        "import resource\n"
        "from streameval.stores.staged import staged\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10\n"
        "with staged('s3://lake/huge', 'list.json') as sender:\n"
        "    for name, size in (('small', 20), ('large', 90)):\n"
        "        with open(sender.room / name, 'wb') as file: file.truncate(size << 20)\n"
        "        sender.send(name); sender.wait(); print(peak())\n"
        "    (sender.room / 'list.json').write_text('{}')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(HOME)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    small, large = map(int, done.stdout.split())
    assert large - small < 40


def test_the_same_cut_again_writes_nothing_here_or_there(lake, study, tmp_path, capsys):
    for out in (tmp_path / "best", "s3://lake/best"):
        asked = ["cut", str(study), "900", "--out", str(out), "--json"]
        assert run(asked) == 0
        before = objects(lake)
        lake.reset()
        capsys.readouterr()
        assert run(asked) == 0
        assert json.loads(capsys.readouterr().out)["already_there"] is True
        assert not [one for one in lake.requests if one[0] != "GET" and one[0] != "HEAD"]
        assert objects(lake) == before
        assert "is not empty" in refused(capsys, 2, "cut", study, "901", "--out", out)
        assert "is not empty" in refused(capsys, 2, "cut", study, "900", "--order", "rank", "--out", out)
    client(lake).delete_file("lake/best/part-00001.parquet")
    assert "is not empty" in refused(capsys, 2, "cut", study, "900", "--out", "s3://lake/best")


def test_a_place_that_is_taken_or_cannot_be_is_one_line(lake, study, one_ranking, tmp_path, capsys):
    def cut(out, where=study):
        return refused(capsys, 2, "cut", where, "500", "--out", out)

    with client(lake).open_output_stream("lake/mine/part-00000.parquet") as stream:
        stream.write(b"mine")
    assert "is not empty" in cut("s3://lake/mine")
    assert "is a file" in cut("s3://lake/mine/part-00000.parquet")
    assert objects(lake, "s3://lake/mine") == {"part-00000.parquet": b"mine"}
    assert "there is no such bucket" in cut("s3://nowhere-at-all/x")
    assert "there are: s3, gs, az" in cut("s4://lake/x")
    assert "testing-secret" not in cut("s3://key:testing-secret@lake/x")
    plan = json.loads((study / "plan.json").read_text())
    plan["location"]["source"] = ["s3://lake/list"]
    del plan["streameval_checksum"]
    upload(client(lake), one_ranking[0], "lake/list")
    inside = tmp_path / "inside"
    shutil.copytree(study, inside)
    (inside / "plan.json").write_text(json.dumps(plan))
    for place in ("s3://lake/list", "s3://lake/list/best/"):
        assert "lies inside the ranking" in cut(place, inside)


@pytest.mark.parametrize("fault", cases(["503", "500", "drop"], "drop"))
def test_trouble_that_passes_changes_nothing(lake, study, tmp_path, fault):
    streameval.cut(study, 2_000).write(tmp_path / "best")
    lake.reset({"path": f"{STAGED_PART}00001", "method": "PUT", "fault": fault, "last": 2},
               {"path": "best/part-00002", "method": "PUT", "fault": fault, "last": 2},
               {"path": UNFINISHED, "method": "DELETE", "fault": fault, "last": 2})  # fmt: skip
    streameval.cut(study, 2_000).write("s3://lake/best")
    local = {path.name: path.read_bytes() for path in (tmp_path / "best").iterdir() if path.suffix == ".parquet"}
    remote = objects(lake)
    assert {name: body for name, body in remote.items() if name != "_manifest.json"} == local


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        (f"{STAGED_PART}00003", "503"),
        ("best/_manifest", "drop"),
        *slow((f"{STAGED_PART}00003", "drop"), ("best/_manifest", "503")),
        *slow(("best/part-00002", "drop"), ("best/part-00002", "503")),
    ],
)
def test_trouble_that_stays_is_status_three_and_leaves_nothing(lake, study, capsys, fault, path):
    lake.reset({"path": path, "method": "PUT", "fault": fault})
    message = refused(capsys, 3, "cut", study, "3000", "--out", "s3://lake/best")
    assert "does not answer" in message
    assert "nothing half-written" in message
    assert objects(lake) == {}
    assert lake.open_uploads == []
    lake.reset()
    assert run(["cut", str(study), "3000", "--out", "s3://lake/best"]) == 0


def test_a_store_that_is_gone_for_good_says_where_leftovers_lie(lake, study, capsys):
    dead = {"path": "best", "fault": "503"}
    lake.reset({"path": f"{STAGED_PART}00003", "method": "PUT", "fault": "503"}, {**dead, "method": "DELETE"})
    message = refused(capsys, 3, "cut", study, "3000", "--out", "s3://lake/best")
    assert f"what was sent lies in s3://lake/best/{UNFINISHED}; the same command again removes it first" in message
    assert all(name.startswith(f"{UNFINISHED}/") for name in objects(lake))
    lake.reset()
    assert run(["cut", str(study), "3000", "--out", "s3://lake/best"]) == 0
    assert not [name for name in objects(lake) if name.startswith(UNFINISHED)]


def test_a_store_that_denies_writing_is_known_before_the_work(lake, study, capsys, monkeypatch):
    lake.reset({"path": "best", "method": "PUT", "fault": "403"})
    monkeypatch.setattr("streameval.rankings.top_items.read_top", lambda *arguments: pytest.fail("the list was read"))
    assert "denies access" in refused(capsys, 2, "cut", study, "3000", "--out", "s3://lake/best")


def test_a_part_that_fails_late_completes_no_upload(lake):
    """A file in several parts, one of which never arrives."""
    lake.reset({"path": f"{UNFINISHED}/a.bin.*partNumber=2", "fault": "503"})
    with (  # noqa: PT012
        pytest.raises(OutsideError, match="does not answer"),
        staged.staged("s3://lake/large", "list.json") as sender,
    ):
        (sender.room / "a.bin").write_bytes(bytes(25 << 20))
        sender.send("a.bin")
        sender.wait()
    assert objects(lake, "s3://lake/large") == {}


COMMAND = """
import sys, streameval.stores.partitioned as partitioned, streameval.rankings.items as leading
from streameval.cli import run
from streameval.stores import trouble
partitioned._PART_BYTES, partitioned._GROUP_ROWS, leading._MOST_ROWS, trouble._FIRST_PAUSE = 1_000, 300, 500, 0.001
sys.stdin.readline()
sys.exit(run(sys.argv[1:]))
"""
PUBLISH = """
import sys
from streameval.verbs.publish import publish
sys.stdin.readline()
publish(*sys.argv[1:])
"""


def process_of(lake, code, *arguments):
    """A process that waits for a line and then does what `code` says."""
    root = HOME
    environment = {**os.environ, **ENVIRONMENT, "AWS_ENDPOINT_URL": lake.url, "PYTHONPATH": str(root)}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdin=subprocess.PIPE, text=True,
                            stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)  # fmt: skip


@pytest.mark.parametrize("path", cases([f"{STAGED_PART}00002", "best/part-00002", "best/_manifest"], "best/part-00002"))
def test_an_interrupted_cut_leaves_nothing(lake, study, path):
    with process_of(lake, COMMAND, "cut", study, "3000", "--out", "s3://lake/best") as process:
        lake.reset({"path": path, "method": "PUT", "signal": signal.SIGINT, "pid": process.pid, "last": 1})
        message = process.communicate("go\n", timeout=60)[1]
    assert process.returncode == 130
    assert message == "streameval: interrupted; what was complete is kept, nothing half-written was left behind\n"
    assert objects(lake) == {}
    assert lake.open_uploads == []


@pytest.mark.parametrize(
    "path",
    cases(
        [f"{STAGED_PART}00002", "best/part-00002", "best/_manifest", f"{UNFINISHED}/begun"],
        "best/part-00002",
    ),
)
def test_what_a_killed_cut_left_is_removed_by_the_next(lake, study, tmp_path, path):
    """Killed while files are sent, while they get their names, and while what was sent is removed."""
    method = "DELETE" if path.endswith("begun") else "PUT"
    with process_of(lake, COMMAND, "cut", study, "3000", "--out", "s3://lake/best") as process:
        lake.reset({"path": path, "method": method, "signal": signal.SIGKILL, "pid": process.pid, "last": 1})
        process.communicate("go\n", timeout=60)
    assert process.returncode == -signal.SIGKILL
    left = objects(lake)
    assert left
    assert ("_manifest.json" in left) == (method == "DELETE" or "_manifest" in path)
    lake.reset()
    streameval.cut(study, 3_000).write("s3://lake/best")
    streameval.cut(study, 3_000).write(tmp_path / "best")
    remote = objects(lake)
    remote.pop("_manifest.json")
    local = {one.name: one.read_bytes() for one in (tmp_path / "best").iterdir() if one.suffix == ".parquet"}
    assert remote == local
    assert client(lake).get_file_info(f"lake/best/{UNFINISHED}").type.name == "NotFound"  # not even a marker


def test_what_a_killed_cut_left_is_told_from_what_others_put_there(lake, study):
    with process_of(lake, COMMAND, "cut", study, "3000", "--out", "s3://lake/best") as process:
        lake.reset({"path": "best/part-00004", "method": "PUT", "signal": signal.SIGKILL, "pid": process.pid})
        process.communicate("go\n", timeout=60)
    with client(lake).open_output_stream("lake/best/mine.parquet") as stream:
        stream.write(b"mine")
    with pytest.raises(InputError, match="is not empty"):
        streameval.cut(study, 3_000).write("s3://lake/best")
    assert objects(lake)["mine.parquet"] == b"mine"


@pytest.mark.parametrize(
    ("name", "signalled"),
    [("manifest.json", signal.SIGKILL), *slow(("metrics.parquet", signal.SIGINT), ("plan.parquet", signal.SIGKILL))],
)
def test_a_published_set_is_whole_however_often_its_job_is_stopped(lake, study, name, signalled):
    place = "s3://lake/shelf"
    put(f"{place}/manifest.json", b'{"evaluation_id": "another", "files": []}')  # which it replaces
    with process_of(lake, PUBLISH, study, place) as process:
        lake.reset({"path": f"shelf/{name}", "method": "PUT", "signal": signalled, "pid": process.pid, "last": 1})
        process.communicate("go\n", timeout=120)
    assert process.returncode == -signalled
    left = objects(lake, place)
    assert "manifest.json" not in left or whole(left)
    lake.reset()
    first = publish(study, place)
    assert whole(objects(lake, place))
    lake.reset()
    again = publish(study, place)
    assert (again.already_there, again.manifest) == (True, first.manifest)
    assert {method for method, _ in lake.requests} <= {"GET", "HEAD"}


def whole(found):
    """Whether a set has all files that its manifest names, as it names them."""
    files = json.loads(found["manifest.json"])["files"]
    return all(hashlib.sha256(found[one["name"]]).hexdigest() == one["sha256"] for one in files)


def test_a_disk_that_is_full_leaves_nothing_there(lake, study, monkeypatch):
    written = pq.ParquetWriter.write_table
    calls = []

    def full(*arguments, **named):
        calls.append(1)
        if len(calls) > 4:
            raise OSError(28, "No space left on device")
        return written(*arguments, **named)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(OutsideError, match="No space left"):
        streameval.cut(study, 3_000).write("s3://lake/best")
    assert objects(lake) == {}


def test_no_secret_is_kept(lake, study):
    streameval.cut(study, 500).write("s3://lake/best")
    assert not re.search(r"testing-(key|secret)", objects(lake)["_manifest.json"].decode())
