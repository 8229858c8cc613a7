"""What is written to object stores: whole or not at all whatever goes wrong, and once however often it is asked for.

By a store in this process, which tells what a command had done at any request; scripts/long asks a server as well, and
kills processes.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

import bucket
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lake import ENVIRONMENT, client, forget, reach, refused
from lake_apart import serve_apart
from measured import with_tables
from places import HOME
from suite_cases import cases

import streameval
from streameval.cli import run
from streameval.errors import InputError, OutsideError
from streameval.stores import publish as staged
from streameval.stores.transfer import put
from streameval.verbs.publish import publish

UNFINISHED = "/_unfinished-"
STAGED_PART = rf"{UNFINISHED}\w+-part-"
INTERRUPTED = "streameval: interrupted; what was complete is kept, nothing half-written was left behind\n"
PLACES = cases(["in this process", "a server"], "in this process")


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("moto", reason="moto[server] is a development dependency")
    with serve_apart() as lake:
        yield lake


def prepared(lake, monkeypatch):
    """A store with nothing in it, as a new process meets it; a list of some thousand rows makes several parts."""
    reach(lake, monkeypatch)
    monkeypatch.setattr("streameval.stores.publish._PART_BYTES", 1_000)
    monkeypatch.setattr("streameval.stores.publish._GROUP_ROWS", 300)
    monkeypatch.setattr("streameval.rankings.top_items._MOST_ROWS", 300)
    lake.reset()
    return lake


@pytest.fixture
def lake_apart(server, monkeypatch):
    """The server, which outlives what is killed."""
    yield prepared(server, monkeypatch)
    server.reset()
    forget()
    client(server).delete_dir_contents("lake")


@pytest.fixture
def here(monkeypatch):
    """A store in this process."""
    yield prepared(bucket.Bucket(), monkeypatch)
    forget()


@pytest.fixture(params=PLACES)
def lake(request):
    return request.getfixturevalue("lake_apart" if request.param == "a server" else "here")


@pytest.fixture(scope="module")
def study(catalogue, tmp_path_factory):
    return catalogue.copy("stored-evaluated", tmp_path_factory.mktemp("studies") / "study")


@pytest.fixture(scope="module")
def by_score(catalogue, tmp_path_factory):
    return catalogue.copy("curve-evaluated", tmp_path_factory.mktemp("studies") / "by-score")


def plainly(objects):
    """Parts by the names that they have here, without the id of the run that wrote them."""
    parts = {re.sub(r"-[0-9a-f]{16}(?=\.)", "", name): body for name, body in objects.items() if "manifest" not in name}
    assert len(parts) == len(objects) - ("_manifest.json" in objects)
    return parts


@pytest.mark.parametrize("order", ["storage", "rank"])
def test_a_cut_on_a_store_has_the_bytes_of_a_local_one(lake, by_score, tmp_path, capsys, order):
    asked = ["cut", str(by_score), "1500", "--order", order, "--json"]
    capsys.readouterr()
    for out in (str(tmp_path / "best"), "s3://lake/best/"):
        assert run([*asked, "--out", out]) == 0
    here, there = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    local = {path.name: path.read_bytes() for path in (tmp_path / "best").iterdir()}
    remote = lake.objects()
    manifests = [json.loads(found.pop("_manifest.json")) for found in (local, remote)]
    assert plainly(remote) == local
    assert order == "rank" or len(remote) > 3
    assert here | {"out": None} == there | {"out": None, "files": here["files"]}
    assert there["out"] == "s3://lake/best"
    assert manifests[1].pop("files") == there["files"] == sorted(remote)
    assert manifests[0].pop("files") == here["files"]
    assert manifests[0].pop("command").replace(str(tmp_path / "best"), "s3://lake/best") == manifests[1].pop("command")
    assert manifests[0] == manifests[1]
    assert lake.open_uploads == []
    written = [
        path for method, path, _ in lake.requests if method == "PUT" and UNFINISHED not in path and path[-1] != "/"
    ]
    assert written[-1].startswith("/lake/best/_manifest.json")
    assert streameval.rankings.open_ranking("s3://lake/best").n_items == 1_500


@pytest.fixture
def small_pieces(here, monkeypatch):
    """Pieces of 16 kB, parts of 10 kB, in place of megabytes."""
    monkeypatch.setattr(staged, "_PIECE", 16 << 10)
    monkeypatch.setattr(bucket, "PART", 10 << 10)
    return here


def test_a_large_file_goes_in_pieces_of_which_memory_holds_one(small_pieces, monkeypatch):
    """Each has arrived before the next is read: the client is told not to write behind our back."""
    lake, body, asked, sent = small_pieces, np.random.default_rng(3).bytes(50 << 10), [], bucket.Client.send_part
    connect = bucket.clients._s3
    monkeypatch.setattr(bucket.clients, "_s3", lambda root, **how: asked.append(how) or connect(root, **how))
    longest = []
    monkeypatch.setattr(bucket.Client, "send_part", lambda *given: longest.append(len(given[-1])) or sent(*given))
    with staged.staged("s3://lake/large", "list.json") as sender:
        (sender.room / "a.bin").write_bytes(body)
        (sender.room / "list.json").write_text(manifest := json.dumps({"files": [sender.named("a.bin")]}))
        sender.send("a.bin")
        sender.wait()
        assert not (sender.room / "a.bin").exists()
    assert lake.objects("s3://lake/large") == {sender.named("a.bin"): body, "list.json": manifest.encode()}
    assert [size for size in longest if size > 1_000] == [16 << 10] * 3 + [2 << 10]
    assert lake.open_uploads == []
    assert [how["background_writes"] for how in asked] == [False]


def test_a_part_that_fails_late_completes_no_upload(small_pieces):
    """A file in several parts, one of which never arrives."""
    lake = small_pieces
    lake.misbehave({"path": rf"{UNFINISHED}\w+-a.bin.*partNumber=2", "fault": "503"})
    with (  # noqa: PT012
        pytest.raises(OutsideError, match="does not answer"),
        staged.staged("s3://lake/large", "list.json") as sender,
    ):
        (sender.room / "a.bin").write_bytes(bytes(50 << 10))
        sender.send("a.bin")
        sender.wait()
    assert lake.objects("s3://lake/large") == {}


@pytest.mark.slow
def test_a_part_that_fails_late_at_a_server_completes_no_upload(lake_apart):
    lake_apart.misbehave({"path": rf"{UNFINISHED}\w+-a.bin.*partNumber=2", "fault": "503"})
    with (  # noqa: PT012
        pytest.raises(OutsideError, match="does not answer"),
        staged.staged("s3://lake/large", "list.json") as sender,
    ):
        (sender.room / "a.bin").write_bytes(bytes(25 << 20))
        sender.send("a.bin")
        sender.wait()
    assert lake_apart.objects("s3://lake/large") == {}


@pytest.mark.slow
def test_memory_does_not_grow_with_what_is_sent(lake_apart):
    code = (
        "import resource\n"
        "from streameval.stores.publish import staged\n"
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


def test_the_same_cut_again_writes_nothing_here_or_there(lake, by_score, tmp_path, capsys):
    for out in (tmp_path / "best", "s3://lake/best"):
        asked = ["cut", str(by_score), "900", "--out", str(out), "--json"]
        assert run(asked) == 0
        before = lake.objects()
        lake.reset()
        capsys.readouterr()
        assert run(asked) == 0
        assert json.loads(capsys.readouterr().out)["already_there"] is True
        assert not [one for one in lake.requests if one[0] != "GET" and one[0] != "HEAD"]
        assert lake.objects() == before
        assert "is not empty" in refused(capsys, 2, "cut", by_score, "901", "--out", out)
        assert "is not empty" in refused(capsys, 2, "cut", by_score, "900", "--order", "rank", "--out", out)


def test_a_cut_that_somebody_damaged_is_made_again(lake, by_score, tmp_path):
    for out in (tmp_path / "best", "s3://lake/best"):
        assert run(["cut", str(by_score), "900", "--out", str(out)]) == 0
    whole = plainly(lake.objects())
    lake.remove(f"lake/best/{max(name for name in lake.objects() if name.startswith('part'))}")
    (tmp_path / "best" / "part-00001.parquet").unlink()
    for out in (tmp_path / "best", "s3://lake/best"):
        assert run(["cut", str(by_score), "900", "--out", str(out)]) == 0
    assert plainly(lake.objects()) == whole
    assert {path.name for path in (tmp_path / "best").iterdir()} == {*whole, "_manifest.json"}


def test_a_place_that_is_taken_or_cannot_be_is_one_line(lake, study, catalogue, tmp_path, capsys):
    def cut(out, where=study):
        return refused(capsys, 2, "cut", where, "500", "--out", out)

    lake.put("lake/mine/part-00000.parquet", b"mine")
    assert "is not empty" in cut("s3://lake/mine")
    assert "is a file" in cut("s3://lake/mine/part-00000.parquet")
    assert lake.objects("s3://lake/mine") == {"part-00000.parquet": b"mine"}
    assert "there is no such bucket" in cut("s3://nowhere-at-all/x")
    assert "there are: s3, gs, az" in cut("s4://lake/x")
    assert "testing-secret" not in cut("s3://key:testing-secret@lake/x")
    plan = json.loads((study / "plan.json").read_text())
    plan["location"]["source"] = ["s3://lake/list"]
    del plan["streameval_checksum"]
    lake.upload(catalogue.lists / "stored.parquet", "lake/list")
    inside = tmp_path / "inside"
    shutil.copytree(study, inside)
    (inside / "plan.json").write_text(json.dumps(plan))
    for place in ("s3://lake/list", "s3://lake/list/best/"):
        assert "lies inside the ranking" in cut(place, inside)


@pytest.mark.parametrize("fault", ["503", "500", "drop"])
def test_trouble_that_passes_changes_nothing(lake, study, tmp_path, fault):
    streameval.cut(study, 1_500).write(tmp_path / "best")
    lake.misbehave({"path": f"{STAGED_PART}00001", "method": "PUT", "fault": fault, "last": 2},
               {"path": "best/part-00002", "method": "PUT", "fault": fault, "last": 2},
               {"path": UNFINISHED, "method": "DELETE", "fault": fault, "last": 2})  # fmt: skip
    streameval.cut(study, 1_500).write("s3://lake/best")
    local = {path.name: path.read_bytes() for path in (tmp_path / "best").iterdir() if path.suffix == ".parquet"}
    remote = lake.objects()
    assert plainly(remote) == local


@pytest.mark.parametrize("fault", ["503", "drop"])
@pytest.mark.parametrize("path", [f"{STAGED_PART}00003", "best/_manifest", "best/part-00002"])
def test_trouble_that_stays_is_status_three_and_leaves_nothing(lake, study, capsys, fault, path):
    lake.misbehave({"path": path, "method": "PUT", "fault": fault})
    message = refused(capsys, 3, "cut", study, "1500", "--out", "s3://lake/best")
    assert "does not answer" in message
    assert "nothing half-written" in message
    assert lake.objects() == {}
    assert lake.open_uploads == []
    lake.reset()
    assert run(["cut", str(study), "1500", "--out", "s3://lake/best"]) == 0


def test_a_store_that_is_gone_for_good_says_where_leftovers_lie(lake, study, capsys):
    dead = {"path": "best", "fault": "503"}
    lake.misbehave({"path": f"{STAGED_PART}00003", "method": "PUT", "fault": "503"}, {**dead, "method": "DELETE"})
    message = refused(capsys, 3, "cut", study, "1500", "--out", "s3://lake/best")
    left = lake.objects()
    (run_id,) = {name.split("-")[1] for name in left}
    assert f"what was sent has {run_id} in its name; the same command again removes it first" in message
    assert all(name.startswith("_unfinished-") for name in left)
    lake.reset()
    assert run(["cut", str(study), "1500", "--out", "s3://lake/best"]) == 0
    assert not [name for name in lake.objects() if name.startswith("_unfinished")]


def refreshed(study, out, lake, capsys):
    """Cut, and cut again once a late label is in: what both say."""
    asked = ["cut", str(study), "recall:0.3", "--out", str(out), "--json"]
    assert run(asked) == 0
    first = json.loads(capsys.readouterr().out)
    late = pq.read_table(study / "plan.parquet").slice(0, 1).select(["rank"])
    with_tables(study, late.append_column("label", pa.array([1])))
    lake.reset()
    assert run(asked) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["replaced"] is not None
    assert second["rows"] == streameval.cut(study, "recall:0.3").rank
    assert run(asked) == 0
    assert json.loads(capsys.readouterr().out)["already_there"] is True
    assert "is not empty" in refused(capsys, 2, "cut", study, "recall:0.31", "--out", out)
    return first, second


def test_a_cut_is_refreshed_when_late_labels_are_in(lake, by_score, tmp_path, capsys):
    """The new set names what it replaces, and lies beside it until its manifest is there."""
    study = shutil.copytree(by_score, tmp_path / "study")
    first, second = refreshed(study, "s3://lake/best", lake, capsys)
    there = lake.objects()
    assert json.loads(there["_manifest.json"])["replaces"] == first["files"]
    assert set(there) == {*second["files"], "_manifest.json"}
    assert run(["cut", str(study), "recall:0.3", "--out", str(tmp_path / "best")]) == 0
    assert plainly(there) == {one.name: one.read_bytes() for one in (tmp_path / "best").glob("part-*")}


def test_a_cut_in_a_folder_is_refreshed_when_late_labels_are_in(here, by_score, tmp_path, capsys):
    _, second = refreshed(shutil.copytree(by_score, tmp_path / "study"), tmp_path / "best", here, capsys)
    assert {one.name for one in (tmp_path / "best").glob("part-*")} == set(second["files"])


def test_a_store_that_denies_writing_is_known_before_the_work(lake, study, capsys, monkeypatch):
    lake.misbehave({"path": "best", "method": "PUT", "fault": "403"})
    monkeypatch.setattr("streameval.rankings.top_items.read_top", lambda *arguments: pytest.fail("the list was read"))
    assert "denies access" in refused(capsys, 2, "cut", study, "1500", "--out", "s3://lake/best")


def interrupted(rule):
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


@pytest.mark.parametrize("path", [f"{STAGED_PART}00002", "best/part-00002", "best/_manifest"])
def test_an_interrupted_cut_leaves_nothing(here, study, path, capsys):
    here.misbehave({"path": path, "method": "PUT", "last": 1}, act=interrupted)
    capsys.readouterr()
    assert run(["cut", str(study), "1500", "--out", "s3://lake/best"]) == 130
    assert capsys.readouterr().err == INTERRUPTED
    assert here.objects() == {}
    assert here.open_uploads == []


def states_at(lake, moments, work):
    """What lies there when each of some requests comes first, were the process killed then; `work` makes them."""
    states = {}

    def keep(rule):
        states[rule["method"], rule["path"]] = dict(lake.contents)

    lake.misbehave(*({"method": method, "path": path, "last": 1} for method, path in moments), act=keep)
    work()
    assert set(states) == set(moments)
    return states


def test_what_a_killed_cut_left_is_removed_by_the_next(here, study, tmp_path):
    """Killed while files are sent, while they get their names, and while what was sent is removed."""
    begun = ("DELETE", rf"{UNFINISHED}\w+-begun")
    moments = [("PUT", f"{STAGED_PART}00002"), ("PUT", "best/part-00002"), ("PUT", "best/_manifest"), begun]
    states = states_at(here, moments, lambda: streameval.cut(study, 1_500).write("s3://lake/best"))
    whole = here.objects()
    streameval.cut(study, 1_500).write(tmp_path / "best")
    local = {one.name: one.read_bytes() for one in (tmp_path / "best").iterdir() if one.suffix == ".parquet"}
    assert plainly(whole) == local
    for moment, left in states.items():
        here.contents = dict(left)
        here.reset()
        forget()
        assert here.objects()
        assert ("_manifest.json" in here.objects()) == (moment == begun)
        streameval.cut(study, 1_500).write("s3://lake/best")
        assert plainly(here.objects()) == local
        assert not [key for key in here.contents if "_unfinished" in key]
        if moment != begun:
            here.contents = left | {"lake/best/mine.parquet": b"mine"}
            forget()
            with pytest.raises(InputError, match="is not empty"):
                streameval.cut(study, 1_500).write("s3://lake/best")
            assert here.objects()["mine.parquet"] == b"mine"


@pytest.mark.parametrize("name", ["manifest.json", "metrics.parquet", "plan.parquet"])
def test_a_published_set_is_whole_however_often_its_job_is_stopped(here, study, name):
    place = "s3://lake/shelf"
    put(f"{place}/manifest.json", b'{"evaluation_id": "another", "files": []}')  # which it replaces
    moment = ("PUT", f"shelf/{name}")
    here.contents = states_at(here, [moment], lambda: publish(study, place))[moment]
    forget()
    left = here.objects(place)
    assert "manifest.json" not in left or whole(left)
    check_published(here, study, place)


def check_published(lake, study, place):
    """A job that was stopped is done by the next, and the one after it has nothing to do."""
    lake.reset()
    first = publish(study, place)
    assert whole(lake.objects(place))
    lake.reset()
    again = publish(study, place)
    assert (again.already_there, again.manifest) == (True, first.manifest)
    assert {method for method, *_ in lake.requests} <= {"GET", "HEAD"}


def whole(found):
    """Whether a set has all files that its manifest names, as it names them."""
    files = json.loads(found["manifest.json"])["files"]
    return all(hashlib.sha256(found[one["name"]]).hexdigest() == one["sha256"] for one in files)


def test_what_arrives_short_is_no_set(here, study, monkeypatch):
    """Parts of a cut that are copied short, and files of results that come short."""
    put_whole = here.put
    monkeypatch.setattr(here, "put", lambda key, body: put_whole(key, body[:-1] if "-00002" in key else body))
    with pytest.raises(OutsideError, match=r"best/part-00002-\w+\.parquet: arrived incomplete"):
        streameval.cut(study, 1_500).write("s3://lake/best")
    assert here.objects() == {}
    monkeypatch.setattr(here, "put", lambda key, body: put_whole(key, body[:-1] if "metrics" in key else body))
    with pytest.raises(OutsideError, match=r"metrics\.parquet: arrived incomplete"):
        publish(study, "s3://lake/shelf")
    assert "manifest.json" not in here.objects("s3://lake/shelf")


def test_a_disk_that_is_full_leaves_nothing_there(lake, study, monkeypatch):
    written = pq.ParquetWriter.write_table
    calls = []

    def full(*arguments, **named):
        calls.append(1)
        if len(calls) > 3:
            raise OSError(28, "No space left on device")
        return written(*arguments, **named)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(OutsideError, match="No space left"):
        streameval.cut(study, 1_500).write("s3://lake/best")
    assert lake.objects() == {}


def test_no_secret_is_kept(lake, study):
    streameval.cut(study, 500).write("s3://lake/best")
    assert not re.search(r"testing-(key|secret)", lake.objects()["_manifest.json"].decode())


COMMAND = """
import sys, streameval.stores.publish as partitioned, streameval.rankings.top_items as leading
from streameval.cli import run
from streameval.stores import trouble
partitioned._PART_BYTES, partitioned._GROUP_ROWS, leading._MOST_ROWS, trouble.FIRST_PAUSE = 1_000, 300, 300, 0.001
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


@pytest.mark.slow
@pytest.mark.parametrize("path", [f"{STAGED_PART}00002", "best/part-00002", "best/_manifest"])
def test_an_interrupted_process_leaves_nothing(lake_apart, study, path):
    with process_of(lake_apart, COMMAND, "cut", study, "1500", "--out", "s3://lake/best") as process:
        lake_apart.misbehave({"path": path, "method": "PUT", "signal": signal.SIGINT, "pid": process.pid, "last": 1})
        message = process.communicate("go\n", timeout=60)[1]
    assert process.returncode == 130
    assert message == INTERRUPTED
    left = lake_apart.objects()
    if "_manifest" in path and left:  # the server had it: a whole set stays
        assert set(left) == {*json.loads(left["_manifest.json"])["files"], "_manifest.json"}
    else:
        assert left == {}
    assert lake_apart.open_uploads == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [f"{STAGED_PART}00002", "best/part-00002", "best/_manifest", rf"{UNFINISHED}\w+-begun"],
)
def test_what_a_killed_process_left_is_removed_by_the_next(lake_apart, study, tmp_path, path):
    """Killed while files are sent, while they get their names, and while what was sent is removed."""
    method = "DELETE" if path.endswith("begun") else "PUT"
    with process_of(lake_apart, COMMAND, "cut", study, "1500", "--out", "s3://lake/best") as process:
        lake_apart.misbehave({"path": path, "method": method, "signal": signal.SIGKILL, "pid": process.pid, "last": 1})
        process.communicate("go\n", timeout=60)
    assert process.returncode == -signal.SIGKILL
    left = lake_apart.objects()
    assert left
    assert "_manifest" in path or ("_manifest.json" in left) == (method == "DELETE")
    lake_apart.reset()
    streameval.cut(study, 1_500).write("s3://lake/best")
    streameval.cut(study, 1_500).write(tmp_path / "best")
    local = {one.name: one.read_bytes() for one in (tmp_path / "best").iterdir() if one.suffix == ".parquet"}
    assert plainly(lake_apart.objects()) == local


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "signalled"),
    [("manifest.json", signal.SIGKILL), ("metrics.parquet", signal.SIGINT), ("plan.parquet", signal.SIGKILL)],
)
def test_a_published_set_is_whole_however_often_its_process_is_stopped(lake_apart, study, name, signalled):
    place = "s3://lake/shelf"
    put(f"{place}/manifest.json", b'{"evaluation_id": "another", "files": []}')  # which it replaces
    with process_of(lake_apart, PUBLISH, study, place) as process:
        lake_apart.misbehave(
            {"path": f"shelf/{name}", "method": "PUT", "signal": signalled, "pid": process.pid, "last": 1}
        )
        process.communicate("go\n", timeout=120)
    assert process.returncode == -signalled
    left = lake_apart.objects(place)
    assert "manifest.json" not in left or whole(left)
    check_published(lake_apart, study, place)
