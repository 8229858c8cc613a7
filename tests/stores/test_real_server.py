"""A real server of S3's protocol and pyarrow's own client: what the bucket in this process cannot vouch for."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bucket import ANSWERS, Bucket
from lake import ENVIRONMENT, Gate, Lake, client, forget, reach, serve
from pyarrow.fs import FileSelector
from suite_cases import LONG

import streameval
from streameval import stores
from streameval.cli import run
from streameval.errors import InputError, OutsideError
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.stores import clients, objects, publish

pytest.importorskip("moto", reason="moto[server] is a development dependency")


@pytest.fixture(scope="module")
def server():
    with serve() as lake:
        client(lake).create_dir("lake")
        yield lake


@pytest.fixture
def lake(server, monkeypatch):
    """The server, reached as a user would: by the environment; no connection outlives a test."""
    reach(server, monkeypatch)
    yield server
    server.reset()
    forget()
    client(server).delete_dir_contents("lake")


def send(filesystem, key, *pieces):
    with filesystem.open_output_stream(key, buffer_size=0) as stream:
        for piece in pieces:
            stream.write(piece)


def below(filesystem, folder):
    found = filesystem.get_file_info(FileSelector(folder, recursive=True, allow_not_found=True))
    return sorted((one.path, one.type.name, one.size) for one in found)


def told_of(file):
    metadata = file.metadata()
    return file.size(), {"Content-Length", "ETag"} <= set(metadata)


STEPS = {  # what the package asks of pyarrow, in an order in which it works
    "send": lambda fs: send(fs.of_parts, "lake/a/x", b"abc"),
    "send small": lambda fs: send(fs.for_writing, "lake/a/b/y", b"abcd"),
    "send nothing": lambda fs: send(fs.for_writing, "lake/a/e"),
    "send nowhere": lambda fs: send(fs.of_parts, "none/a/x", b"abc"),
    "send small nowhere": lambda fs: send(fs.for_writing, "none/a/x", b"abc"),
    "find": lambda fs: fs.of_parts.get_file_info("lake/a/x"),
    "find folder": lambda fs: fs.of_parts.get_file_info("lake/a"),
    "find none": lambda fs: fs.of_parts.get_file_info("lake/none"),
    "find bucket": lambda fs: fs.of_parts.get_file_info("lake"),
    "find no bucket": lambda fs: fs.of_parts.get_file_info("none"),
    "find in no bucket": lambda fs: fs.of_parts.get_file_info("none/x"),
    "open": lambda fs: told_of(fs.of_parts.open_input_file("lake/a/x")),
    "open none": lambda fs: fs.of_parts.open_input_file("lake/none"),
    "read": lambda fs: fs.opened().read_at(2, 1),
    "read over the end": lambda fs: fs.opened().read_at(20, 1),
    "stream": lambda fs: fs.of_parts.open_input_stream("lake/a/x").read(),
    "list": lambda fs: below(fs.of_parts, "lake"),
    "list folder": lambda fs: below(fs.of_parts, "lake/a"),
    "list none": lambda fs: below(fs.of_parts, "lake/none"),
    "list nowhere": lambda fs: below(fs.of_parts, "none/x"),
    "copy": lambda fs: fs.of_parts.copy_file("lake/a/x", "lake/a/c"),
    "copy none": lambda fs: fs.of_parts.copy_file("lake/none", "lake/a/c"),
    "remove": lambda fs: fs.of_parts.delete_file("lake/a/b/y"),
    "remove none": lambda fs: fs.of_parts.delete_file("lake/a/b/y"),
    "what is left": lambda fs: below(fs.of_parts, "lake"),
    "remove marked": lambda fs: fs.of_parts.delete_dir("lake/a/b"),
    "remove no folder": lambda fs: fs.of_parts.delete_dir("lake/a/b"),
    "remove folder": lambda fs: fs.of_parts.delete_dir("lake/a"),
    "nothing is left": lambda fs: below(fs.of_parts, "lake"),
}
UNDER_TROUBLE = ["send", "send small", "find", "open", "read", "list", "copy", "remove", "remove folder"]

IN_SHORT = {
    "503": UNDER_TROUBLE, "403": ["open", "read"], "404": ["find", "open", "read", "list"],
    "drop": ["open", "copy"], "cut": ["read", "list", "copy"],
}  # fmt: skip


class Filesystems:
    """What the package reaches a place by."""

    def __init__(self):
        self.of_parts = clients.connect("s3", "lake")
        self.for_writing = clients.connect_for_writing("s3", "lake")
        self.handle = None

    def opened(self):
        """A file that was found before the trouble."""
        self.handle = self.handle or self.of_parts.open_input_file("lake/a/x")
        return self.handle


def answer(lake, step, filesystems):
    """What a step gives or raises, and the requests that it makes."""
    lake.requests.clear()
    try:
        found = repr(step(filesystems))
    except OSError as error:
        text = re.sub(r" \(Request ID.*|; Details.*", "", str(error))
        kind = FileNotFoundError if isinstance(error, FileNotFoundError) else OSError
        found = kind, text[text.find("AWS Error") :] if "AWS Error" in text else ""
    return found, [(method, re.sub("uploadId=.*", "", path)) for method, path, _ in lake.requests]


def answers(lake):
    filesystems, found = Filesystems(), {}
    for name, step in STEPS.items():
        found[name] = answer(lake, step, filesystems)
    send(filesystems.of_parts, "lake/a/x", b"abc")
    filesystems.opened()
    for fault in [*ANSWERS, "cut"] if LONG else IN_SHORT:
        for name in UNDER_TROUBLE if LONG else IN_SHORT[fault]:
            lake.trouble = lambda count, asked, fault=fault: fault
            if (fault, name) != ("cut", "send small"):  # its answer has no body
                found[fault, name] = answer(lake, STEPS[name], filesystems)
            lake.trouble = None
            send(filesystems.of_parts, "lake/a/x", b"abc")
    return found


def test_the_bucket_of_other_tests_answers_as_a_real_one(lake, monkeypatch):
    """Every step of the package, every trouble: the same results, the same errors, the same requests."""
    real = answers(lake)
    bucket = Bucket()
    bucket.reach(monkeypatch)
    made_up = answers(bucket)
    assert {name: (made_up[name], real[name]) for name in real if made_up[name] != real[name]} == {}


def refuse_secrets(capsys, *texts):
    """No secret is shown, or kept in a text."""
    said = capsys.readouterr()
    for kept in (*texts, said.out, said.err):
        assert ENVIRONMENT["AWS_SECRET_ACCESS_KEY"] not in kept
        assert ENVIRONMENT["AWS_ACCESS_KEY_ID"] not in kept


def test_a_study_of_a_list_on_s3_is_that_of_the_local_list(lake, catalogue, tmp_path, capsys):
    """Planned, read and labelled there."""
    lake.upload(catalogue.lists / "stored.parquet", "lake/journey")
    here, there = catalogue.path("stored-evaluated"), tmp_path / "there"
    assert run(["plan", "s3://lake/journey", "--study", str(there), "--budget", "300", "--seed", "7"]) == 0
    assert run(["select", str(there)]) == 0
    tasks = pq.read_table(there / "selection.parquet")
    pq.write_table(tasks.select(["se_task", "right"]).rename_columns(["se_task", "label"]), tmp_path / "said.parquet")
    lake.upload(tmp_path / "said.parquet", "lake")
    assert run(["evaluate", str(there), "--labels", "s3://lake/said.parquet"]) == 0
    for name in ("selection", "curve", "metrics"):
        assert pq.read_table(there / f"{name}.parquet").equals(pq.read_table(here / f"{name}.parquet")), name
    plans = [json.loads((one / "plan.json").read_text()) for one in (here, there)]
    assert plans[0]["ranking"] == plans[1]["ranking"]
    assert plans[1]["location"]["source"] == ["s3://lake/journey"]
    refuse_secrets(capsys, *(path.read_text() for path in tmp_path.rglob("*.json")))


def test_items_and_results_are_written_there_whole(lake, study, tmp_path, capsys):
    evaluated = study("stored-evaluated")
    assert run(["cut", str(evaluated), "700", "--out", "s3://lake/best"]) == 0
    streameval.cut(evaluated, 700).write(tmp_path / "best")
    cut = lake.objects()
    (part,) = json.loads(cut["_manifest.json"])["files"]
    assert set(cut) == {part, "_manifest.json"}
    assert cut[part] == (tmp_path / "best" / "part-00000.parquet").read_bytes()
    assert run(["publish", str(evaluated), "s3://lake/shelf"]) == 0
    shelf = lake.objects("s3://lake/shelf")
    files = json.loads(shelf["manifest.json"])["files"]
    assert set(shelf) == {"manifest.json", *(file["name"] for file in files)}
    assert all(shelf[file["name"]] == (evaluated / file["name"]).read_bytes() for file in files)
    refuse_secrets(capsys, cut["_manifest.json"].decode(), shelf["manifest.json"].decode())


def test_many_small_requests_are_in_flight_at_once(lake, monkeypatch):
    """More than the 25 connections that Arrow gives a client by itself: each waits longer than it reads."""
    monkeypatch.setattr(objects, "_NEAR_GAP", 0)
    body = np.random.default_rng(1).bytes(200_000)
    lake.put("lake/flight", body)
    ranges = [(2_500 * i, 10) for i in range(80)]
    with stores.store_of("s3://lake/flight").open("s3://lake/flight") as file:
        lake.gate = Gate(60)
        assert file.read(ranges) == [body[at : at + size] for at, size in ranges]
    assert len(lake.gets) == 80
    assert lake.gate.most >= 60


def test_a_large_file_goes_in_parts(lake):
    body = bytes(10_500_000)
    with publish.staged("s3://lake/large", "list.json") as sender:
        (sender.room / "a.bin").write_bytes(body)
        (sender.room / "list.json").write_text(manifest := json.dumps({"files": [sender.named("a.bin")]}))
        sender.send("a.bin")
        sender.wait()
        assert not (sender.room / "a.bin").exists()
    assert lake.objects("s3://lake/large") == {sender.named("a.bin"): body, "list.json": manifest.encode()}
    assert len([path for method, path, _ in lake.requests if "a.bin.sent?partNumber" in path]) == 2


def test_a_delta_table_lies_there_or_is_refused_in_one_line(lake, monkeypatch):
    """Its library has a client of its own."""
    deltalake = pytest.importorskip("deltalake", reason="pip install 'streameval[delta]'")
    settings = {"AWS_ENDPOINT_URL": lake.url, "AWS_ALLOW_HTTP": "true"}
    score = RankingOptions(score="conf")
    for first in (0, 500):
        rows = pa.table({"id": np.arange(first, first + 500), "conf": np.arange(first, first + 500) % 500 / 500})
        deltalake.write_deltalake("s3://lake/t", rows, mode="append", storage_options=settings)
    ranking = open_ranking("delta:s3://lake/t", score)
    assert ranking.location()["source"] == ["delta:s3://lake/t@1"]
    best = ranking.fetch(np.array([1, 2, 999, 1_000]), ["id"]).table
    assert set(best.column("id").to_pylist()[:2]) == {499, 999}
    assert set(best.column("id").to_pylist()[2:]) == {0, 500}
    for source, said in (
        ("delta:s3://lake/none", "delta:s3://lake/none: no Delta table there"),
        ("delta:s3://nowhere-at-all/x", "delta:s3://nowhere-at-all/x: there is no such bucket"),
    ):
        with pytest.raises(InputError, match=said):
            open_ranking(source, score)
    lake.reset(lambda count, asked: "403")
    with pytest.raises(InputError, match="delta:s3://lake/none: the store denies access"):
        open_ranking("delta:s3://lake/none", score)


def test_a_server_that_is_not_there_is_worth_a_retry(monkeypatch):
    reach(Lake(url="http://127.0.0.1:9"), monkeypatch)
    with pytest.raises(OutsideError, match="s3://lake/journey: the store does not answer"):
        open_ranking("s3://lake/journey")
    forget()
