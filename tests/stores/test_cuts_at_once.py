"""Two cuts, or two publications, to one place of a store at once, killed in between: one whole set, and none lost.

In this process, two threads meet at every request that one of them makes; scripts/long has 40 rounds of the same and 40
of different cuts, processes that talk to a server and are killed.
"""

import hashlib
import json
import random
import re
import signal
import threading
import time

import bucket
import pytest
from attack.forks import Forks, strike
from lake import ENVIRONMENT, forget, reach
from lake_apart import serve_apart

import streameval
from streameval.errors import OutsideError, StreamevalError
from streameval.process.marks import own_mark
from streameval.stores import claims
from streameval.stores.claims import claimed
from streameval.stores.publish import staged
from streameval.verbs.publish import publish

PLACE = "s3://lake/best"
PARTS = {"_PART_BYTES": 1_000, "_GROUP_ROWS": 300}
READY = """
from attack.forks import import_all
import_all()
import pyarrow.fs, streameval.stores.publish as partitioned, streameval.rankings.top_items as items
from streameval.stores import trouble
partitioned._PART_BYTES, partitioned._GROUP_ROWS, items._MOST_ROWS, trouble.FIRST_PAUSE = 1_000, 300, 300, 0.02
"""


def bodies(objects):
    """Parts in the order of their names; exactly those that the manifest lists."""
    files = json.loads(objects["_manifest.json"])["files"]
    assert {*files, "_manifest.json"} == set(objects)
    return [objects[name] for name in files]


@pytest.fixture
def store(monkeypatch):
    place = bucket.Bucket()
    reach(place, monkeypatch)
    for name, value in PARTS.items():
        monkeypatch.setattr(f"streameval.stores.publish.{name}", value)
    monkeypatch.setattr("streameval.rankings.top_items._MOST_ROWS", 300)
    yield place
    forget()


@pytest.fixture(scope="module")
def study(catalogue, tmp_path_factory):
    return catalogue.copy("stored-evaluated", tmp_path_factory.mktemp("studies") / "study")


def ended(cut):
    """What becomes of a cut: 0, or the status of its error."""
    try:
        cut.write(PLACE)
    except StreamevalError as error:
        return error.exit_status
    return 0


def status(study):
    """What becomes of what is published: 0, or the status of its error."""
    try:
        publish(study, PLACE)
    except StreamevalError as error:
        return error.exit_status
    return 0


class Meeting:
    """Does something when a request of a number comes; what that asks itself is not counted."""

    def __init__(self, number, work):
        self.left, self.work, self.lock = number, work, threading.Lock()

    def __enter__(self):
        with self.lock:
            self.left -= 1
            now = self.left == 0
        if now:
            self.work()

    def __exit__(self, *error):
        pass


@pytest.mark.parametrize("second", [900, 500], ids=["the same cut", "another cut"])
def test_of_two_cuts_at_once_one_is_there_whole_and_the_other_says_so(store, study, second):
    """The second begins and ends when the first makes its nth request."""
    cuts, statuses = [streameval.cut(study, n) for n in (900, second)], set()
    for meeting in range(1, 120, 13):
        store.contents.clear()
        met = []
        store.gate = Meeting(meeting, lambda met=met: met.append(ended(cuts[1])))
        first = ended(cuts[0])
        store.reset()
        statuses.add((first, *met))
        last = 0 if first == 0 else 1
        assert json.loads(store.objects()["_manifest.json"])["rows"] == (900, second)[last]
        assert ended(cuts[last]) == 0
        assert ended(cuts[1 - last]) == (0 if second == 900 else 2)
        bodies(store.objects())
    assert statuses & {(0, 3), (3, 0)}
    assert statuses <= {(0, 3), (3, 0), (0, 0), (0, 2), (2, 0), (0,)}


def test_of_two_evaluations_published_at_once_one_is_there_whole(store, catalogue):
    studies, statuses = [catalogue.path(name) for name in ("curve-evaluated", "curve-misses")], set()
    for meeting in range(1, 60, 9):
        store.contents.clear()
        met = []
        store.gate = Meeting(meeting, lambda met=met: met.append(status(studies[1])))
        first = status(studies[0])
        store.reset()
        statuses.add((first, *met))
        last = 0 if first == 0 else 1
        there = store.objects()
        files = {file["name"]: file["sha256"] for file in json.loads(there["manifest.json"])["files"]}
        assert {*files, "manifest.json"} == {*there}
        for name, digest in files.items():
            assert there[name] == (studies[last] / name).read_bytes()
            assert hashlib.sha256(there[name]).hexdigest() == digest
    assert (0, 3) in statuses
    assert statuses <= {(0, 3), (3, 0), (0, 0)}


def test_what_a_run_that_ended_has_claimed_is_removed_by_the_next_that_publishes(store, catalogue):
    store.put("lake/best/_unfinished-00000000000000aa-begun", json.dumps(own_mark()).encode())
    assert status(catalogue.path("curve-evaluated")) == 0
    assert not [name for name in store.objects() if "_unfinished" in name]


def test_a_set_that_another_run_named_is_not_cleared(store):
    """Of two runs at the same place, be it that somebody removed the claim of the first."""

    def write(name):
        with staged(PLACE, "list.json") as sender:
            (sender.room / name).write_bytes(b"abc")
            (sender.room / "list.json").write_text(json.dumps({"files": [sender.named(name)]}))
            sender.send(name)
            sender.wait()
            if name == "a.bin":
                [store.remove(key) for key in list(store.contents) if "_unfinished" in key]
                write("b.bin")

    with pytest.raises(OutsideError, match="written there meanwhile"):
        write("a.bin")
    there = store.objects()
    assert json.loads(there["list.json"])["files"] == [name for name in there if name != "list.json"]
    assert [name[0] for name in there if name != "list.json"] == ["b"]


def test_a_run_of_another_machine_is_named_with_what_a_person_has_to_do(store):
    mark = {"host": "elsewhere", "machine": "another boot", "process": "17", "start": "5"}
    store.put("lake/best/_unfinished-00000000000000aa-begun", json.dumps(mark).encode())
    with (
        pytest.raises(OutsideError, match=r"another run writes there \(process 17 of elsewhere\).*00000000000000aa"),
        claimed(PLACE, lambda run: claims.remove_unfinished(PLACE, run)),
    ):
        pass
    assert len(store.objects()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("second", ["900", "500"], ids=["the same cut", "another cut"])
def test_of_two_processes_that_cut_at_once_and_are_killed_one_whole_set_is_left(study, tmp_path, monkeypatch, second):
    """40 rounds; every killed command is given again."""
    rng = random.Random(f"at once {second}")
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with serve_apart() as lake:
        monkeypatch.setenv("AWS_ENDPOINT_URL", lake.url)
        forks, tally = Forks(tmp_path, READY), []
        try:
            for number in range(40):
                tally.append(_round(forks, lake, study, f"s3://lake/{number}", ("900", second), rng, tmp_path))
        finally:
            forks.stop()
    print(sorted({one: tally.count(one) for one in tally}.items(), key=str))


def _round(forks, lake, study, place, cuts, rng, home):
    commands = [["cut", str(study), one, "--out", place] for one in cuts]
    pids = forks._begin([{"arguments": one, "cwd": str(home)} for one in commands])
    for pid in pids:
        if rng.random() < 0.6:
            time.sleep(rng.random() * 0.5)
            strike(pid, signal.SIGKILL)
    first = forks._finish()
    for one in first:
        assert one.status in (0, 2, 3, -signal.SIGKILL), one.err
        assert one.status < 0 or len(one.err.splitlines()) == (one.status != 0), one.err
        assert "Traceback" not in one.err
    left = lake.objects(place)
    kept = [cut for cut, one in zip(cuts, first, strict=True) if one.status == 0]
    assert len(set(kept)) <= 1
    if kept:
        manifest = json.loads(left["_manifest.json"])
        assert manifest["asked"]["cutoff"] == kept[0]
        assert set(manifest["files"]) <= set(left)
    again = [forks.run(command, home) for command in commands]
    there = lake.objects(place)
    assert not [name for name in there if "_unfinished" in name]
    size = json.loads(there["_manifest.json"])["bytes"]
    assert sum(map(len, bodies(there))) == size
    asked = json.loads(there["_manifest.json"])["asked"]["cutoff"]
    assert not kept or asked == kept[0]
    assert [one.status for one in again] == [0 if cut == asked else 2 for cut in cuts], [one.err for one in again]
    assert all(one.status == 0 or re.search("is not empty", one.err) for one in again)
    return tuple(one.status for one in first)
