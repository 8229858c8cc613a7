"""Rankings on object stores: the same ranks and items, few requests, few bytes, and no wrong result in any trouble."""

import hashlib
import json
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from lake import ENVIRONMENT, Gate, client, forget, reach, refused, serve, upload
from suite_cases import cases, slow

from streameval import stores
from streameval.cli import run
from streameval.errors import InputError, OutsideError, StreamevalError, StudyError
from streameval.kinds import named
from streameval.rankings import open_ranking
from streameval.rows.lake import call_library
from streameval.rows.options import RankingOptions
from streameval.stores import trouble
from streameval.stores.clients import REQUESTS
from streameval.stores.objects import ObjectFile, ObjectStore

pytest.importorskip("moto", reason="moto[server] is a development dependency")
PUBLISHED = ["plan.parquet", "plan.json", *named("curve").files(None)]
SMALL = ["--method", "paula", "--seed", "0", "--epsilon", "0.1", "--window", "20"]


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


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """200,000 items in 4 files of 2 row groups, pages of 1,000 rows."""
    n, folder = 200_000, tmp_path_factory.mktemp("big")
    rng = np.random.default_rng(11)
    score = np.sort(rng.random(n))[::-1]
    for i, rows in enumerate(np.array_split(np.arange(n), 4)):
        table = pa.table({"id": rows, "conf": score[rows], "noise": rng.random(rows.size)})
        pq.write_table(table, folder / f"part-{i}.parquet", row_group_size=25_000, max_rows_per_page=1_000,
                       write_page_index=True, use_dictionary=False, compression="none")  # fmt: skip
    return folder


def test_the_whole_journey_on_s3_gives_the_local_items(lake, ranking, tmp_path, capsys):
    folder, labels, _ = ranking
    upload(client(lake), folder, "lake/journey")
    upload(client(lake), labels, "lake/labels")
    tables = []
    for source, study in ((str(folder), tmp_path / "here"), ("s3://lake/journey", tmp_path / "there")):
        for flags in ([], ["--score", "conf"]):
            home = f"{study}{len(flags)}"
            assert run(["plan", source, "--study", home, *SMALL, *flags]) == 0
            assert run(["select", home]) == 0
            assert run(["evaluate", home, "--labels", str(labels)]) == 0
            tables.append([pq.read_table(f"{home}/{name}.parquet") for name in ("selection", "curve", "metrics")])
    for here, there in zip(tables[:2], tables[2:], strict=True):
        assert all(a.equals(b) for a, b in zip(here, there, strict=True))
    plans = [json.loads((tmp_path / f"{name}0" / "plan.json").read_text()) for name in ("here", "there")]
    assert plans[0]["ranking"] == plans[1]["ranking"]
    assert plans[1]["location"]["source"] == ["s3://lake/journey"]
    said = capsys.readouterr()
    for path in tmp_path.rglob("*.json"):
        assert ENVIRONMENT["AWS_SECRET_ACCESS_KEY"] not in path.read_text()
    assert ENVIRONMENT["AWS_SECRET_ACCESS_KEY"] not in said.out + said.err


def test_a_footer_takes_two_requests(lake, big):
    upload(client(lake), big, "lake/footers")
    lake.reset()
    open_ranking("s3://lake/footers")
    listing = [one for one in lake.requests if "list-type" in one[1]]
    assert len(listing) <= 2
    by_file = [path.split("?")[0] for _, path, _ in lake.requests if path.endswith(".parquet")]
    assert {by_file.count(path) for path in set(by_file)} == {2}
    assert len(set(by_file)) == 4


def test_footers_longer_than_the_first_guess_take_a_third_request_only_once_a_length(lake, tmp_path, monkeypatch):
    table = pa.table({f"column {i}": [i] for i in range(700)})
    pq.write_table(table, tmp_path / "0.parquet")
    assert int.from_bytes((tmp_path / "0.parquet").read_bytes()[-8:-4], "little") > 1 << 16
    for i in range(1, 6):
        (tmp_path / f"{i}.parquet").write_bytes((tmp_path / "0.parquet").read_bytes())
    upload(client(lake), tmp_path, "lake/wide")
    lake.reset()
    open_ranking("s3://lake/wide", RankingOptions(threads=1))
    assert len([path for _, path, _ in lake.requests if path.endswith(".parquet")]) == 2 * 6 + 1


def test_a_window_fetch_reads_little_more_than_its_pages(lake, big):
    upload(client(lake), big, "lake/windows")
    ranking = open_ranking("s3://lake/windows")
    ranks = np.concatenate([np.arange(r, r + 100) for r in range(5_000, 200_000, 12_345)])
    lake.reset()
    found = ranking.fetch(ranks, ["id", "conf"])
    assert found.table.column("id").to_pylist() == (ranks - 1).tolist()
    pages = found.pages_read * 1_000 * 8
    assert found.bytes_read == lake.n_bytes
    assert pages < lake.n_bytes < 1.3 * pages
    assert len(lake.gets) <= found.pages_read
    assert found.fallbacks == ()


@pytest.fixture
def scattered(tmp_path):
    """3,200,000 items in one file, pages of 4,000 rows, and ranks of which no two are worth one request."""
    folder, pages = tmp_path / "scattered", {"write_page_index": True, "max_rows_per_page": 4_000}
    folder.mkdir()
    table = pa.table({"id": np.arange(3_200_000)})
    pq.write_table(table, folder / "0.parquet", 160_000, use_dictionary=False, compression="none", **pages)
    return folder, np.arange(1, 3_200_001, 40_000)


def test_many_small_requests_are_in_flight_at_once(lake, scattered):
    """More than the 25 connections that Arrow gives a client by itself: each waits longer than it reads."""
    folder, ranks = scattered
    upload(client(lake), folder, "lake/flight")
    ranking = open_ranking("s3://lake/flight")
    lake.gate = Gate(60)
    found = ranking.fetch(ranks, ["id"])
    assert found.table.column("id").to_pylist() == (ranks - 1).tolist()
    assert found.pages_read == ranks.size
    assert lake.gate.most >= 60


def test_many_near_ranges_come_in_few_requests_and_few_ranges_in_few_bytes(lake, tmp_path):
    """Of 8 kB, 72 kB apart: fifteen are in flight at once as they are, and a hundred would wait for each other."""
    content = np.random.default_rng(1).bytes(8_000_000)
    (tmp_path / "file").write_bytes(content)
    upload(client(lake), tmp_path, "lake/apart")
    for many, requests in ((15, 15), (100, 1)):
        lake.reset()
        ranges = [(80_000 * i, 8_000) for i in range(many)]
        with stores.store_of("s3://lake/apart/file").open("s3://lake/apart/file") as file:
            assert file.read(ranges) == [content[at : at + size] for at, size in ranges]
            assert len(lake.gets) == requests
            assert file.bytes_read == lake.n_bytes


def test_requests_are_in_flight_at_once_whatever_the_client(scattered, monkeypatch, tmp_path):
    ranks = scattered[1]
    gates = [nullcontext()]

    class Handle:
        def __init__(self, file):
            self.size, self.metadata, self.file = file.size, file.metadata, file

        def read_at(self, size, at):
            with gates[-1]:
                return self.file.read_at(size, at)

    class Recording:
        def __init__(self, filesystem):
            self.filesystem, self.get_file_info = filesystem, filesystem.get_file_info

        def open_input_file(self, path):
            return Handle(self.filesystem.open_input_file(path))

    local = pa.fs.SubTreeFileSystem(str(tmp_path), pa.fs.LocalFileSystem())
    store = ObjectStore("s3", Recording(local))
    monkeypatch.setattr(stores, "_remote", lambda scheme, root: store)
    ranking = open_ranking("s3://scattered/0.parquet")
    gates.append(Gate(60))
    found = ranking.fetch(ranks, ["id"])
    assert found.table.column("id").to_pylist() == (ranks - 1).tolist()
    assert 60 <= gates[-1].most <= REQUESTS


def test_near_ranges_are_one_request(lake, big):
    upload(client(lake), big, "lake/near")
    ranking = open_ranking("s3://lake/near")
    lake.reset()
    ranking.fetch(np.arange(1, 10_001), ["id"])
    assert len(lake.gets) == 1


def test_scans_by_score_read_the_wanted_columns_only(lake, big):
    upload(client(lake), big, "lake/score")
    ranking = open_ranking("s3://lake/score", RankingOptions(score="noise", memory=0.5))
    lake.reset()
    found = ranking.fetch(np.array([1, 2, 3, 100_000]), [])
    one_scan = 200_000 * 8
    assert found.scans * one_scan < lake.n_bytes < 1.1 * (found.scans + 1) * one_scan
    local = open_ranking(str(big), RankingOptions(score="noise", memory=0.5)).fetch(np.array([1, 2, 3, 100_000]), [])
    assert local.table.equals(found.table)


def test_files_without_a_page_index_are_read_in_few_requests(lake, tmp_path):
    n = 50_000
    table = pa.table({"id": np.arange(n), "tags": [[i, i] for i in range(n)]})
    pq.write_table(table, tmp_path / "r.parquet", use_dictionary=False, compression="none", data_page_size=1 << 14)
    upload(client(lake), tmp_path / "r.parquet", "lake/plain")
    ranking = open_ranking("s3://lake/plain/r.parquet")
    lake.reset()
    found = ranking.fetch(np.array([5, 49_000]), ["id", "tags"])
    assert found.table.column("tags").to_pylist() == [[4, 4], [48_999, 48_999]]
    assert len(lake.gets) <= 12


def test_folders_globs_and_lists_are_found(lake, ranking, tmp_path, capsys):
    folder, _, _ = ranking
    for year in (2025, 2026):
        upload(client(lake), folder / "part-0.parquet", f"lake/hive/year={year}")
    (tmp_path / "_SUCCESS").write_text("")
    upload(client(lake), tmp_path / "_SUCCESS", "lake/hive")
    whole = open_ranking("s3://lake/hive/")
    assert whole.n_items == 5_000
    assert whole.columns() == ["item", "conf", "label", "year"]
    assert whole.fetch(np.array([1, 2_501]), ["year"]).table.column("year").to_pylist() == ["2025", "2026"]
    assert (
        open_ranking("s3://lake/hive/*/part-?.parquet").fingerprint
        == open_ranking("s3://lake/hive/**/*.parquet").fingerprint
    )
    parts = [f"s3://lake/hive/year={year}/part-0.parquet" for year in (2026, 2025)]
    assert open_ranking(parts).n_items == 5_000
    with pytest.raises(InputError, match="named twice"):
        open_ranking([parts[0], parts[0]])


def test_what_is_not_there_or_not_allowed_is_one_line(lake, tmp_path, capsys, monkeypatch):
    study = tmp_path / "study"

    def plan(source, status=2):
        message = refused(capsys, status, "plan", source, "--study", study)
        assert not study.exists()
        return message

    assert "s3://nowhere-at-all/x: there is no such bucket" in plan("s3://nowhere-at-all/x")
    assert "no such file" in plan("s3://lake/nothing")
    assert "no file matches" in plan("s3://lake/nothing/*.parquet")
    assert "there are: s3, gs, az" in plan("s4://lake/x")
    assert "testing-secret" not in plan("s3://key:testing-secret@lake/x")
    assert "testing-secret" not in plan("az://lake/x?sv=1&sig=testing-secret")
    assert "no bucket" in plan("s3:///x")
    upload(client(lake), Path(__file__), "lake/delta/_delta_log")
    assert "a Delta table" in plan("s3://lake/delta")
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    assert "AZURE_STORAGE_ACCOUNT" in plan("az://container/x")
    lake.reset(lambda count, environ: "503")
    forget()
    assert "does not answer" in plan("s3://lake/journey", 3)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    forget()
    assert "does not answer" in plan("s3://lake/journey", 3)


def test_a_store_that_denies_access_is_asked_once(lake, big, capsys, tmp_path):
    upload(client(lake), big, "lake/denied")

    def deny(count, environ):
        return "403" if environ["REQUEST_METHOD"] == "HEAD" else None

    lake.reset(deny)
    assert "denies access" in refused(capsys, 2, "plan", "s3://lake/denied", "--study", tmp_path / "s")
    assert lake.count == 1


@pytest.mark.parametrize("method", ["HEAD", "GET"])
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("301", "lies in another region. Hint: set AWS_REGION"),
        ("400", "refuses the request (unknown (HTTP status 400)). Hint: is AWS_REGION that of the bucket?"),
        ("401", "denies access"),
        ("403", "denies access"),
        ("404", None),
    ],
)
def test_an_answer_that_will_not_change_is_taken_at_once(lake, big, capsys, tmp_path, method, fault, said):
    upload(client(lake), big, "lake/answers")

    def answer(count, environ):
        return fault if environ["REQUEST_METHOD"] == method and "part-2" in environ["PATH_INFO"] else None

    lake.reset(answer)
    message = refused(capsys, 2, "plan", "s3://lake/answers", "--study", tmp_path / "s")
    assert message.startswith("streameval: s3://lake/answers/part-2.parquet: ")
    assert said is None or said in message
    assert len([path for _, path, _ in lake.requests if "part-2" in path]) <= 2
    assert not (tmp_path / "s").exists()


def test_what_is_no_whole_list_is_one_line(lake, ranking, capsys, tmp_path):
    folder, _, _ = ranking
    whole = (folder / "part-0.parquet").read_bytes()
    client(lake).create_dir("lake/odd/empty")
    for name, body in (("truncated", whole[:-100]), ("short", b"PA"), ("zero", b""), ("marks", b"PAR1" * 3)):
        with client(lake).open_output_stream(f"lake/odd/{name}/x.parquet") as stream:
            stream.write(body)
        message = refused(capsys, 2, "plan", f"s3://lake/odd/{name}", "--study", tmp_path / "s")
        assert message.startswith(f"streameval: s3://lake/odd/{name}/x.parquet: ")
    assert "no Parquet file in this folder" in refused(
        capsys, 2, "plan", "s3://lake/odd/empty", "--study", tmp_path / "s"
    )


def test_a_delta_table_on_a_store_that_refuses_is_one_line(lake, capsys, tmp_path):
    pytest.importorskip("deltalake", reason="deltalake is a development dependency")

    def plan(source):
        return refused(capsys, 2, "plan", source, "--study", tmp_path / "s", "--score", "conf")

    assert "delta:s3://lake/none: no Delta table there" in plan("delta:s3://lake/none")
    assert "delta:s3://nowhere-at-all/x: there is no such bucket" in plan("delta:s3://nowhere-at-all/x")
    lake.reset(lambda count, environ: "403")
    assert "delta:s3://lake/none: the store denies access" in plan("delta:s3://lake/none")


@pytest.mark.parametrize(
    "said",
    [
        "Kernel error -> Generic S3 error\n ↳ Error performing GET http://127.0.0.1:9/lake/_delta_log in 5.589224296s, "
        "after 10 retries, max_retries\n ↳ HTTP error\n ↳ tcp connect error\n ↳ Connection refused (os error 111)",
        "Kernel error -> Generic S3 error\n ↳ Server returned non-2xx status code\n ↳ 503 Service Unavailable",
        "When getting information for key 'x' in bucket 'y': AWS Error NETWORK_CONNECTION during HeadObject operation",
    ],
)
def test_a_table_whose_store_is_away_is_worth_a_retry(said):
    def ask():
        raise OSError(said)

    with pytest.raises(OutsideError, match="delta:s3://lake/x: its store does not answer"):
        call_library("delta:s3://lake/x", ask)


def twice(fault):
    """Every request fails twice, in whatever order they come; a slow answer comes now and then."""
    seen = Counter()

    def trouble(count, environ):
        request = (environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("HTTP_RANGE"))
        seen[request] += 1
        return fault if (count % 6 == 0 if fault == "slow" else seen[request] <= 2) else None

    return trouble


@pytest.mark.parametrize(
    ("score", "fault"),
    [
        (None, "503"),
        ("noise", "cut"),
        *slow(*((None, fault) for fault in ("500", "cut", "slow", "drop"))),
        *slow(*(("noise", fault) for fault in ("503", "500", "drop", "slow"))),
    ],
)
def test_trouble_that_passes_changes_nothing(lake, big, fault, score):
    upload(client(lake), big, "lake/flaky")
    options = RankingOptions(score=score, memory=0.5)
    ranks = np.arange(1, 200_000, 7_919)
    expected = open_ranking(str(big), options).fetch(ranks, ["id", "conf"]).table
    lake.reset(twice(fault))
    forget()
    assert open_ranking("s3://lake/flaky", options).fetch(ranks, ["id", "conf"]).table.equals(expected)


@pytest.mark.parametrize("fault", cases(["503", "500", "drop", "cut"], "503"))
def test_trouble_that_stays_is_status_three_and_leaves_nothing_behind(lake, big, fault, tmp_path, capsys):
    upload(client(lake), big, "lake/dead")
    study = tmp_path / "study"
    assert run(["plan", "s3://lake/dead", "--study", str(study), *SMALL]) == 0
    forget()
    lake.reset(lambda count, environ: fault if environ["REQUEST_METHOD"] == "GET" and count > 8 else None)
    assert "does not answer" in refused(capsys, 3, "select", study)
    assert not (study / "selection.parquet").exists()
    lake.reset()
    forget()
    assert run(["select", str(study)]) == 0


def test_an_object_that_changes_is_never_read_half_old_half_new(lake, big):
    filesystem = client(lake)
    upload(filesystem, big, "lake/changing")
    for score in (None, "noise"):
        ranking = open_ranking("s3://lake/changing", RankingOptions(score=score, memory=0.5))
        body = (big / "part-2.parquet").read_bytes()
        with filesystem.open_output_stream("lake/changing/part-2.parquet") as stream:
            stream.write(body[:99] + bytes([body[99] ^ 1]) + body[100:])
        with pytest.raises(InputError, match="changed while it was read"):
            ranking.fetch(np.array([1, 120_000]), ["id"])
        upload(filesystem, big, "lake/changing")
        forget()


def test_results_are_published_manifest_last(lake, ranking, tmp_path, capsys):
    folder, labels, _ = ranking
    study = str(tmp_path / "study")
    upload(client(lake), labels, "lake/asked")
    upload(client(lake), folder, "lake/ranked")
    place = "s3://lake/reports/today"
    assert run(["plan", "s3://lake/ranked", "--study", study, *SMALL]) == 0
    assert run(["select", study]) == 0
    evaluate = ["evaluate", study, "--labels", f"s3://lake/asked/{labels.name}", "--json"]
    lake.reset()
    capsys.readouterr()
    assert run(evaluate) == 0
    assert run(["publish", study, place, "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[0])
    assert said["sources"][0]["source"] == f"s3://lake/asked/{labels.name}"
    written = [path.split("?")[0] for method, path, _ in lake.requests if method == "PUT"]
    assert written[-1] == "/lake/reports/today/manifest.json"
    assert written.count(written[-1]) == 1
    manifest = json.loads(read(lake, "reports/today/manifest.json"))
    assert manifest["evaluation_id"] == said["evaluation_id"]
    for file in manifest["files"]:
        body = read(lake, f"reports/today/{file['name']}")
        assert (len(body), hashlib.sha256(body).hexdigest()) == (file["bytes"], file["sha256"])
        assert body == (tmp_path / "study" / file["name"]).read_bytes()
    lake.reset()
    assert run([*evaluate, "--misses", "0"]) == 0
    assert run(["publish", study, place]) == 0
    assert not [path for method, path, _ in lake.requests if method == "PUT"]
    lake.reset()
    assert run([*evaluate, "--misses", "5"]) == 0
    assert run(["publish", study, place]) == 0
    changes = [(method, path.split("?")[0]) for method, path, _ in lake.requests if method in ("PUT", "DELETE")]
    assert changes[0] == ("DELETE", "/lake/reports/today/manifest.json")


def label_object(lake, labels, name, rows):
    """Put the first rows of a label table on the store."""
    table = pq.read_table(labels).slice(0, rows)
    with client(lake).open_output_stream(f"lake/asked/{name}") as stream:
        stream.write(csv_of(table))


def csv_of(table):
    sink = pa.BufferOutputStream()
    pa.csv.write_csv(table, sink)
    return sink.getvalue()


def test_labels_that_grew_are_read_whole_by_the_same_process(lake, ranking, tmp_path):
    folder, labels, _ = ranking
    study = tmp_path / "study"
    assert run(["plan", str(folder), "--study", str(study), *SMALL]) == 0
    for rows in (100, 1_000_000):
        label_object(lake, labels, "growing.csv", rows)
        assert run(["evaluate", str(study), "--labels", "s3://lake/asked/growing.csv"]) == 0
    table = pq.read_table(study / "labels.parquet")
    assert table.num_rows > 100
    assert table.column("label").null_count == 0


def test_labels_that_change_while_they_are_read_are_refused(lake, ranking, tmp_path, capsys, monkeypatch):
    folder, labels, _ = ranking
    study = tmp_path / "study"
    assert run(["plan", str(folder), "--study", str(study), *SMALL]) == 0
    label_object(lake, labels, "changing.csv", 100)
    before = ObjectFile.read

    def read_and_replace(file, ranges):
        found = before(file, ranges)
        label_object(lake, labels, "changing.csv", 200)
        return found

    monkeypatch.setattr(ObjectFile, "read", read_and_replace)
    said = refused(capsys, 2, "evaluate", study, "--labels", "s3://lake/asked/changing.csv")
    assert "changed while it was read" in said
    assert not (study / "labels.parquet").exists()


def test_every_label_table_may_lie_there(lake, ranking, tmp_path, capsys):
    folder, labels, truth = ranking
    upload(client(lake), labels, "lake/told")
    items = pa.table({"item": [f"item {i + 1}" for i in range(truth.size)], "label": truth})
    with client(lake).open_output_stream("lake/told/items.csv") as stream:
        stream.write(csv_of(items))
    by_item = ["--reuse", "s3://lake/told/items.csv", "--on", "item", "--labels-unseen-by-model", "yes"]
    study = ["--study", str(tmp_path / "reused"), "--seed", "0", "--json"]
    capsys.readouterr()
    assert run(["plan", str(folder), *study, *by_item]) == 0
    assert json.loads(capsys.readouterr().out)["to_label"] == 0
    assert run(["labels", str(tmp_path / "reused"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sources"][0]["source"] == "s3://lake/told/items.csv"
    tasks = ["--export", str(tmp_path / "tasks.csv"), "--columns", "item"]
    assert run(["select", str(tmp_path / "reused"), *tasks, "--controls", "s3://lake/told/items.csv"]) == 0
    exact = ["exact", str(folder), "--label", "label", "--json"]
    found = []
    for beside in ("s3://lake/told/truth.parquet", str(labels)):
        capsys.readouterr()
        assert run([*exact, "--labels", beside]) == 0
        found.append(json.loads(capsys.readouterr().out)["metrics"])
    assert found[0] == found[1]
    for wrong in ("s3://lake/told/none.csv", "s3://lake/ranked"):
        assert wrong in refused(capsys, 2, *exact, "--labels", wrong)
        assert wrong in refused(capsys, 2, "plan", folder, "--study", tmp_path / "w", "--seed", "0",
                                "--reuse", wrong, *by_item[2:])  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [["plan", "RANKING", "--study", "s3://lake/study"], ["exact", "RANKING", "--label", "label", "--out", "s3://lake/x"],
     ["demo", "gs://lake/demo"], ["exact", "RANKING", "--label", "label", "--out", "file:///tmp/x"]],
)  # fmt: skip
def test_addresses_where_local_paths_belong_are_refused(ranking, tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    said = refused(capsys, 2, *(str(ranking[0]) if one == "RANKING" else one for one in arguments))
    assert "is not a local path" in said
    assert sorted(tmp_path.iterdir()) == before


READING = {
    "show": ["precision@10"], "check": ["precision@10 >= .9"], "report": [], "labels": [], "sql": ["SELECT 1"],
    "cut": ["10"], "select": [], "evaluate": [], "monitor": ["precision@10"],
}  # fmt: skip


@pytest.mark.parametrize("verb", READING)
def test_results_at_an_address_are_said_to_be_read_here(verb, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    said = refused(capsys, 2, verb, "s3://lake/reports/night", *READING[verb])
    assert "s3://lake/reports/night: is not a local path. Hint: studies and results are read on this machine" in said
    assert list(tmp_path.iterdir()) == []


def test_what_was_published_is_read_from_a_copy(ranking, tmp_path, capsys):
    study, copy = tmp_path / "study", tmp_path / "copy"
    assert run(["plan", str(ranking[0]), "--study", str(study), "--budget", "300"]) == 0
    assert run(["select", str(study)]) == 0
    assert run(["evaluate", str(study), "--labels", str(ranking[1])]) == 0
    assert run(["publish", str(study), str(copy)]) == 0
    for verb in ("show", "check", "report", "sql"):
        status = run([verb, str(copy), *READING[verb]])
        assert status == 0 or (verb, status) == ("check", 5), verb


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (
            "When reading key 'credential/SIGNATURES' in bucket 'b': AWS Error SLOW_DOWN during HeadObject operation: ",
            3,
        ),
        ("When reading key 'it's INVALID_' in bucket 'b': AWS Error UNKNOWN (HTTP status 503) during HeadObject", 3),
        ("google::cloud::Status(UNAVAILABLE: object 'gs://b/credentials' HTTP 503)", 3),
        ("When reading key 'a' in bucket 'b': AWS Error ACCESS_DENIED during HeadObject operation: ", 2),
    ],
)
def test_names_of_objects_are_no_reasons(monkeypatch, said, status):
    monkeypatch.setattr(trouble, "_FIRST_PAUSE", 0.0)

    def ask():
        raise OSError(said)

    with pytest.raises(StreamevalError) as caught:
        trouble.with_retries("s3://b/a", ask)
    assert caught.value.exit_status == status
    assert "signatures" not in str(caught.value)


def test_a_fully_labelled_list_is_evaluated_exactly(lake, ranking, tmp_path, capsys):
    folder, _, _ = ranking
    upload(client(lake), folder, "lake/exact")
    for flags in ([], ["--score", "conf"]):
        said = []
        for source, out in ((str(folder), tmp_path / "here"), ("s3://lake/exact", tmp_path / "there")):
            place = f"s3://lake/results/{out.name}{len(flags)}"
            capsys.readouterr()
            command = ["exact", source, "--label", "label", "--out", str(out), "--json", *flags]
            assert run(command) == 0
            said.append(json.loads(capsys.readouterr().out)["metrics"])
            assert run(["publish", str(out), place]) == 0
            manifest = json.loads(read(lake, place.removeprefix("s3://lake/") + "/manifest.json"))
            names = [file["name"] for file in manifest["files"]]
            assert sorted(names) == sorted(
                path.name for path in out.iterdir() if path.is_file() and path.name != ".lock"
            )
        assert said[0] == said[1]


def test_a_cut_of_a_list_on_a_store_is_written_here(lake, ranking, tmp_path):
    folder, labels, _ = ranking
    upload(client(lake), folder, "lake/whole")
    found = []
    for source in (str(folder), "s3://lake/whole"):
        study, out = str(tmp_path / f"study{len(found)}"), str(tmp_path / f"best{len(found)}")
        method = ["--method", "loguniform", "--alpha", "0.2", "--score", "conf"]
        assert run(["plan", source, "--study", study, *method, "--seed", "0"]) == 0
        assert run(["evaluate", study, "--labels", str(labels)]) == 0
        assert run(["cut", study, "700", "--out", out]) == 0
        found.append(pq.read_table(out))
    assert found[0].equals(found[1])


def read(lake, key):
    with client(lake).open_input_stream(f"lake/{key}") as stream:
        return stream.read()


@pytest.mark.parametrize("fault", cases(["503", "drop"], "drop"))
def test_a_set_that_was_not_published_whole_has_no_manifest(lake, ranking, tmp_path, capsys, fault):
    folder, labels, _ = ranking
    study, place = str(tmp_path / "study"), f"s3://lake/half-{fault}"
    assert run(["plan", str(folder), "--study", study, *SMALL]) == 0
    assert run(["evaluate", study, "--labels", str(labels)]) == 0
    assert run(["publish", study, place]) == 0
    assert run(["evaluate", study, "--misses", "3"]) == 0

    def trouble(count, environ):
        return fault if "metrics.parquet" in environ["PATH_INFO"] and environ["REQUEST_METHOD"] != "GET" else None

    lake.reset(trouble)
    forget()
    assert "does not answer" in refused(capsys, 3, "publish", study, place)
    lake.reset()
    forget()
    with pytest.raises(FileNotFoundError):
        read(lake, f"half-{fault}/manifest.json")
    assert run(["publish", study, place]) == 0
    assert len(json.loads(read(lake, f"half-{fault}/manifest.json"))["files"]) == len(PUBLISHED)


def test_publishing_where_nothing_can_be_written_is_one_line(lake, ranking, tmp_path, capsys):
    folder, labels, _ = ranking
    study = str(tmp_path / "study")
    assert run(["plan", str(folder), "--study", study, *SMALL]) == 0
    assert "no results yet" in refused_publish(capsys, study)
    assert run(["evaluate", study, "--labels", str(labels)]) == 0
    assert "no such bucket" in refused(capsys, 2, "publish", study, "s3://nowhere-at-all/x")
    assert "no such file" in refused(capsys, 2, "evaluate", study, "--labels", "s3://lake/none.csv")
    local = tmp_path / "shelf"
    for _ in range(2):
        assert run(["publish", study, str(local)]) == 0
    assert sorted(path.name for path in local.iterdir()) == sorted([*PUBLISHED, "manifest.json"])
    upload(client(lake), folder / "part-0.parquet", "lake/wrong")
    message = refused(capsys, 2, "evaluate", study, "--labels", "s3://lake/wrong/part-0.parquet")
    assert message.startswith("streameval: s3://lake/wrong/part-0.parquet: ")


def refused_publish(capsys, study):
    from streameval.verbs.publish import publish

    with pytest.raises(StudyError) as caught:
        publish(study, "s3://lake/x")
    return str(caught.value)


def test_a_list_that_was_written_anew_is_seen_by_the_same_process(lake, big):
    filesystem = client(lake)
    upload(filesystem, big, "lake/again")
    before = open_ranking("s3://lake/again").fingerprint
    with filesystem.open_output_stream("lake/again/part-3.parquet") as stream:
        stream.write((big / "part-0.parquet").read_bytes())
    after = open_ranking("s3://lake/again")
    assert after.fingerprint != before
    assert after.fetch(np.array([150_001]), ["id"]).table.column("id").to_pylist() == [0]


def test_a_ranking_on_google_cloud_storage(ranking, monkeypatch):
    folder, _, _ = ranking
    stub = Path(__file__).with_name("gcs_stub.py")
    with subprocess.Popen([sys.executable, stub, folder.parent], stdout=subprocess.PIPE, text=True) as server:
        try:
            monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{server.stdout.readline().strip()}")
            forget()
            there, here = open_ranking(f"gs://{folder.name}"), open_ranking(str(folder))
            ranks = np.array([1, 5_000, 9_999])
            assert there.fingerprint == here.fingerprint
            assert there.fetch(ranks, ["item"]).table.equals(here.fetch(ranks, ["item"]).table)
            with pytest.raises(InputError, match="no such file or folder"):
                open_ranking(f"gs://{folder.name}/nothing")
        finally:
            server.terminate()
            forget()


def test_pauses_grow_between_tries(monkeypatch):
    pauses = []
    monkeypatch.setattr(trouble.time, "sleep", pauses.append)

    def fail():
        raise OSError("AWS Error SLOW_DOWN during GetObject operation: please, secret-thing")

    with pytest.raises(OutsideError, match="slow down; 6 tries") as caught:
        trouble.with_retries("s3://lake/x", fail)
    assert "secret-thing" not in str(caught.value)
    assert len(pauses) == 5
    assert all(later > earlier for earlier, later in zip(pauses, pauses[2:], strict=False))
