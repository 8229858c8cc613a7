"""Rankings on object stores: the same ranks and items, few requests, few bytes, and no wrong result in any trouble.

By a store in this process; scripts/long asks a server of S3's protocol as well.
"""

import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from bucket import Bucket, Client
from lake import Gate, client, forget, reach, refused, serve
from suite_cases import cases, slow

import streameval
from streameval import stores
from streameval.cli import run
from streameval.errors import InputError, OutsideError, StreamevalError, StudyError
from streameval.kinds import kind_named
from streameval.rankings import open_ranking
from streameval.rows.lake import call_library
from streameval.rows.options import RankingOptions
from streameval.stores import objects, trouble
from streameval.stores.clients import REQUESTS
from streameval.stores.objects import ObjectFile
from streameval.stores.transfer import local_copy
from streameval.verbs.publish import publish

PUBLISHED = ["plan.parquet", "plan.json", *kind_named("curve").result.files(None)]
SMALL = ["--method", "paula(epsilon=0.1, window=20)", "--seed", "0"]
PLACES = cases(["in this process", "a server"], "in this process")


@pytest.fixture(scope="module")
def place(request):
    """Where objects lie."""
    if request.param == "in this process":
        yield Bucket()
        return
    pytest.importorskip("moto", reason="moto[server] is a development dependency")
    with serve() as lake:
        client(lake).create_dir("lake")
        yield lake


def pytest_generate_tests(metafunc):
    if "lake" in metafunc.fixturenames:
        metafunc.parametrize("place", PLACES, indirect=True, scope="module")


@pytest.fixture
def lake(place, monkeypatch):
    """The store, as a new process meets it; no connection outlives a test."""
    reach(place, monkeypatch)
    yield place
    place.reset()
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


def test_a_footer_takes_two_requests(lake, big):
    lake.upload(big, "lake/footers")
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
    lake.upload(tmp_path, "lake/wide")
    lake.reset()
    open_ranking("s3://lake/wide", RankingOptions(threads=1))
    assert len([path for _, path, _ in lake.requests if path.endswith(".parquet")]) == 2 * 6 + 1


def test_a_window_fetch_reads_little_more_than_its_pages(lake, big):
    lake.upload(big, "lake/windows")
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


def test_pages_far_apart_are_in_flight_at_once(lake, tmp_path, monkeypatch):
    """Of eighty, those that are not held already: they lie in the end of the file that was read with its footer."""
    monkeypatch.setattr(objects, "_NEAR_GAP", 0)
    table, ranks = pa.table({"id": np.arange(80_000)}), np.arange(1, 80_000, 1_000)
    pages = {"write_page_index": True, "max_rows_per_page": 100, "use_dictionary": False, "compression": "none"}
    pq.write_table(table, tmp_path / "0.parquet", **pages)
    lake.upload(tmp_path, "lake/flight")
    ranking = open_ranking("s3://lake/flight")
    lake.gate = Gate(60)
    found = ranking.fetch(ranks, ["id"])
    assert found.table.column("id").to_pylist() == (ranks - 1).tolist()
    assert found.pages_read == ranks.size
    assert 60 <= lake.gate.most <= REQUESTS


def test_many_near_ranges_come_in_few_requests_and_few_ranges_in_few_bytes(lake, tmp_path):
    """Of 8 kB, 72 kB apart: fifteen are in flight at once as they are, and a hundred would wait for each other."""
    content = np.random.default_rng(1).bytes(8_000_000)
    (tmp_path / "file").write_bytes(content)
    lake.upload(tmp_path, "lake/apart")
    for many, requests in ((15, 15), (100, 1)):
        lake.reset()
        ranges = [(80_000 * i, 8_000) for i in range(many)]
        with stores.store_of("s3://lake/apart/file").open("s3://lake/apart/file") as file:
            assert file.read(ranges) == [content[at : at + size] for at, size in ranges]
            assert len(lake.gets) == requests
            assert file.bytes_read == lake.n_bytes


def test_near_ranges_are_one_request(lake, big):
    lake.upload(big, "lake/near")
    ranking = open_ranking("s3://lake/near")
    lake.reset()
    ranking.fetch(np.arange(1, 10_001), ["id"])
    assert len(lake.gets) == 1


def test_scans_by_score_read_the_wanted_columns_only(lake, big):
    lake.upload(big, "lake/score")
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
    lake.upload(tmp_path / "r.parquet", "lake/plain")
    ranking = open_ranking("s3://lake/plain/r.parquet")
    lake.reset()
    found = ranking.fetch(np.array([5, 49_000]), ["id", "tags"])
    assert found.table.column("tags").to_pylist() == [[4, 4], [48_999, 48_999]]
    assert len(lake.gets) <= 12


def test_folders_globs_and_lists_are_found(lake, one_ranking, tmp_path):
    folder, _, _ = one_ranking
    for year in (2025, 2026):
        lake.upload(folder / "part-0.parquet", f"lake/hive/year={year}")
    (tmp_path / "_SUCCESS").write_text("")
    lake.upload(tmp_path / "_SUCCESS", "lake/hive")
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
    lake.upload(Path(__file__), "lake/delta/_delta_log")
    assert "a Delta table" in plan("s3://lake/delta")
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    assert "AZURE_STORAGE_ACCOUNT" in plan("az://container/x")
    lake.reset(lambda count, asked: "503")
    forget()
    assert "does not answer" in plan("s3://lake/journey", 3)


def test_a_store_that_denies_access_is_asked_once(lake, big, capsys, tmp_path):
    lake.upload(big, "lake/denied")

    def deny(count, asked):
        return "403" if asked.method == "HEAD" else None

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
def test_an_answer_that_will_not_change_is_taken_at_once(lake, one_ranking, tmp_path, method, fault, said):
    lake.upload(one_ranking[0], "lake/answers")

    def answer(count, asked):
        return fault if asked.method == method and "part-2" in asked.path else None

    lake.reset(answer)
    with pytest.raises(InputError) as told:
        streameval.plan("s3://lake/answers", tmp_path / "s", seed=1)
    message = str(told.value)
    assert message.startswith("s3://lake/answers/part-2.parquet: ")
    assert said is None or said in message
    assert "\n" not in message
    assert len([path for _, path, _ in lake.requests if "part-2" in path]) <= 2
    assert not (tmp_path / "s").exists()


def test_what_is_no_whole_list_is_one_line(lake, one_ranking, capsys, tmp_path):
    folder, _, _ = one_ranking
    whole = (folder / "part-0.parquet").read_bytes()
    lake.make_folder("lake/odd/empty")
    for name, body in (("truncated", whole[:-100]), ("short", b"PA"), ("zero", b""), ("marks", b"PAR1" * 3)):
        lake.put(f"lake/odd/{name}/x.parquet", body)
        with pytest.raises(InputError, match=f"^s3://lake/odd/{name}/x.parquet: .*$"):
            streameval.plan(f"s3://lake/odd/{name}", tmp_path / "s", seed=1)
    assert "no Parquet file in this folder" in refused(
        capsys, 2, "plan", "s3://lake/odd/empty", "--study", tmp_path / "s"
    )


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

    def trouble(count, asked):
        seen[asked] += 1
        return fault if (count % 6 == 0 if fault == "slow" else seen[asked] <= 2) else None

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
    lake.upload(big, "lake/flaky")
    options = RankingOptions(score=score, memory=0.5)
    ranks = np.arange(1, 200_000, 7_919)
    expected = open_ranking(str(big), options).fetch(ranks, ["id", "conf"]).table
    lake.reset(twice(fault))
    forget()
    assert open_ranking("s3://lake/flaky", options).fetch(ranks, ["id", "conf"]).table.equals(expected)


def test_a_body_that_comes_short_is_asked_for_again(big, monkeypatch):
    """Whatever the client says of it."""
    place, get, asked = Bucket(), Client.get, []
    place.upload(big, "lake/short")
    reach(place, monkeypatch)
    ranking = open_ranking("s3://lake/short")

    def short(*given):
        asked.append(given)
        return get(*given)[: None if len(asked) % 2 == 0 else -1]

    monkeypatch.setattr(Client, "get", short)
    assert ranking.fetch(np.array([1, 120_000]), ["id"]).table.column("id").to_pylist() == [0, 119_999]
    assert len(asked) == 4
    forget()


@pytest.mark.parametrize("fault", cases(["503", "500", "drop", "cut"], "503"))
def test_trouble_that_stays_is_status_three_and_leaves_nothing_behind(lake, big, fault, tmp_path, capsys):
    lake.upload(big, "lake/dead")
    study = tmp_path / "study"
    assert run(["plan", "s3://lake/dead", "--study", str(study), *SMALL]) == 0
    forget()
    lake.reset(lambda count, asked: fault if asked.method == "GET" and count > 8 else None)
    assert "does not answer" in refused(capsys, 3, "select", study)
    assert not (study / "selection.parquet").exists()
    lake.reset()
    forget()
    assert run(["select", str(study)]) == 0


def test_an_object_that_changes_is_never_read_half_old_half_new(lake, big):
    lake.upload(big, "lake/changing")
    for score in (None, "noise"):
        ranking = open_ranking("s3://lake/changing", RankingOptions(score=score, memory=0.5))
        body = (big / "part-2.parquet").read_bytes()
        lake.put("lake/changing/part-2.parquet", body[:99] + bytes([body[99] ^ 1]) + body[100:])
        with pytest.raises(InputError, match="changed while it was read"):
            ranking.fetch(np.array([1, 120_000]), ["id"])
        lake.upload(big, "lake/changing")
        forget()


def label_object(lake, table, name):
    """Put a label table on the store."""
    lake.put(f"lake/asked/{name}", csv_of(table))


def csv_of(table):
    sink = pa.BufferOutputStream()
    pa.csv.write_csv(table, sink)
    return sink.getvalue().to_pybytes()


@pytest.fixture(scope="module")
def truth(catalogue):
    """The label of each rank of the stored list."""
    labels = pq.read_table(catalogue.lists / "stored.parquet").column("right")
    return pa.table({"rank": range(1, len(labels) + 1), "label": labels})


def test_labels_that_grew_are_read_whole_by_the_same_process(lake, study, truth, capsys):
    place, planned = "s3://lake/asked/growing.csv", study("stored-planned")
    label_object(lake, truth.slice(0, 100), "growing.csv")
    with local_copy(place) as copy:
        assert Path(copy).read_bytes() == csv_of(truth.slice(0, 100))
    label_object(lake, truth, "growing.csv")
    capsys.readouterr()
    assert run(["evaluate", str(planned), "--labels", place, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sources"][0]["source"] == place
    table = pq.read_table(planned / "labels.parquet")
    assert table.num_rows > 100
    assert table.column("label").null_count == 0


def test_labels_that_change_while_they_are_read_are_refused(lake, study, truth, capsys, monkeypatch):
    planned, before = study("stored-planned"), ObjectFile.read
    label_object(lake, truth.slice(0, 100), "changing.csv")

    def read_and_replace(file, ranges):
        found = before(file, ranges)
        label_object(lake, truth.slice(0, 200), "changing.csv")
        return found

    monkeypatch.setattr(ObjectFile, "read", read_and_replace)
    said = refused(capsys, 2, "evaluate", planned, "--labels", "s3://lake/asked/changing.csv")
    assert "changed while it was read" in said
    assert not (planned / "labels.parquet").exists()
    monkeypatch.undo()


def test_label_tables_that_are_not_there_or_none_are_one_line(lake, catalogue, study, capsys):
    planned = study("stored-planned")
    assert "no such file" in refused(capsys, 2, "evaluate", planned, "--labels", "s3://lake/none.csv")
    lake.upload(catalogue.lists / "rest.parquet", "lake/wrong")
    message = refused(capsys, 2, "evaluate", planned, "--labels", "s3://lake/wrong/rest.parquet")
    assert message.startswith("streameval: s3://lake/wrong/rest.parquet: ")


def test_labels_that_a_comparison_takes_off_are_fetched_once(lake, catalogue, tmp_path):
    both = pq.read_table(catalogue.lists / "both.parquet", columns=["id", "right"]).slice(0, 500)
    label_object(lake, both, "known.csv")
    lake.reset()
    given = {"against": str(catalogue.lists / "both.parquet"), "against_score": "old", "score": "new", "key": "id"}
    streameval.plan(given["against"], tmp_path / "s", **given, questions="gain@500", label="right",
                    reuse="s3://lake/asked/known.csv")  # fmt: skip
    assert [path for method, path, _ in lake.requests if method == "GET" and path.endswith("known.csv")] == [
        "/lake/asked/known.csv"
    ]
    (source,) = streameval.Study(tmp_path / "s").labels.sources()
    assert source.facts["source"] == "s3://lake/asked/known.csv"


def test_every_label_table_may_lie_there(lake, catalogue, truth, tmp_path, capsys):
    listed = str(catalogue.lists / "stored.parquet")
    items = pq.read_table(listed, columns=["id", "text", "right"]).rename_columns(["id", "text", "label"])
    label_object(lake, items, "items.csv")
    label_object(lake, truth.rename_columns(["rank", "right"]), "truth.csv")
    by_item = ["--reuse", "s3://lake/asked/items.csv", "--on", "id", "--labels-unseen-by-model", "yes"]
    reused, small = str(tmp_path / "reused"), ["--budget", "100", "--seed", "0"]
    capsys.readouterr()
    assert run(["plan", listed, "--study", reused, *small, "--json", *by_item]) == 0
    assert json.loads(capsys.readouterr().out)["to_label"] == 0
    assert run(["labels", reused, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sources"][0]["source"] == "s3://lake/asked/items.csv"
    tasks = ["--export", str(tmp_path / "tasks.csv"), "--columns", "text"]
    assert run(["select", reused, *tasks, "--controls", "s3://lake/asked/items.csv"]) == 0
    exact = ["exact", listed, "--label", "right"]
    found = streameval.exact(listed, label="right", labels="s3://lake/asked/truth.csv")
    assert found.metrics.equals(streameval.exact(listed, label="right").metrics)
    for wrong in ("s3://lake/asked/none.csv", "s3://lake/ranked"):
        assert wrong in refused(capsys, 2, *exact, "--labels", wrong)
        assert wrong in refused(capsys, 2, "plan", listed, "--study", tmp_path / "w", *small,
                                "--reuse", wrong, *by_item[2:])  # fmt: skip


def published(lake, place):
    """What lies at a place, and its manifest, whose files are there as it says."""
    found = lake.objects(place)
    manifest = json.loads(found["manifest.json"])
    for file in manifest["files"]:
        body = found[file["name"]]
        assert (len(body), hashlib.sha256(body).hexdigest()) == (file["bytes"], file["sha256"])
    return found, manifest


def test_results_are_published_manifest_last(lake, catalogue, study, tmp_path, capsys):
    mine, place = study("curve-evaluated"), "s3://lake/reports/today"
    lake.reset()
    assert run(["publish", str(mine), place, "--quiet"]) == 0
    written = [path.split("?")[0] for method, path, _ in lake.requests if method == "PUT"]
    written = [path for path in written if "_unfinished-" not in path and not path.endswith("/")]  # of the claim
    assert written[-1] == "/lake/reports/today/manifest.json"
    assert written.count(written[-1]) == 1
    found, manifest = published(lake, place)
    assert all(body == (mine / name).read_bytes() for name, body in found.items() if name != "manifest.json")
    lake.reset()
    assert streameval.evaluate(mine, misses=0).summary["evaluation_id"] == manifest["evaluation_id"]
    assert run(["publish", str(mine), place]) == 0
    assert not [path for method, path, _ in lake.requests if method == "PUT"]
    lake.reset()
    assert run(["publish", str(catalogue.path("curve-misses")), place]) == 0
    changes = [(method, path.split("?")[0]) for method, path, _ in lake.requests
               if method in ("PUT", "DELETE") and "_unfinished-" not in path]  # fmt: skip
    assert changes[0] == ("DELETE", "/lake/reports/today/manifest.json")
    assert published(lake, place)[1]["evaluation_id"] != manifest["evaluation_id"]


@pytest.mark.parametrize(
    "arguments",
    [["plan", "RANKING", "--study", "s3://lake/study"], ["exact", "RANKING", "--label", "label", "--out", "s3://lake/x"],
     ["demo", "gs://lake/demo"], ["exact", "RANKING", "--label", "label", "--out", "file:///tmp/x"]],
)  # fmt: skip
def test_addresses_where_local_paths_belong_are_refused(one_ranking, tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    said = refused(capsys, 2, *(str(one_ranking[0]) if one == "RANKING" else one for one in arguments))
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


def test_what_was_published_is_read_from_a_copy(catalogue, tmp_path):
    copy = tmp_path / "copy"
    assert run(["publish", str(catalogue.path("curve-evaluated")), str(copy)]) == 0
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
    monkeypatch.setattr(trouble, "FIRST_PAUSE", 0.0)

    def ask():
        raise OSError(said)

    with pytest.raises(StreamevalError) as caught:
        trouble.with_retries("s3://b/a", ask)
    assert caught.value.exit_status == status
    assert "signatures" not in str(caught.value)


def test_a_fully_labelled_list_is_evaluated_exactly(lake, catalogue):
    lake.upload(catalogue.lists / "stored.parquet", "lake/exact")
    for options in (RankingOptions(), RankingOptions(score="score")):
        sources = (str(catalogue.lists / "stored.parquet"), "s3://lake/exact")
        here, there = (streameval.exact(source, label="right", options=options).metrics for source in sources)
        assert here.equals(there)
    out = catalogue.path("labelled-list")
    assert run(["publish", str(out), "s3://lake/results"]) == 0
    names = {file["name"] for file in published(lake, "s3://lake/results")[1]["files"]}
    assert names == {path.name for path in out.iterdir() if path.is_file() and path.name != ".lock"}


@pytest.mark.parametrize("fault", ["503", "drop"])
def test_a_set_that_was_not_published_whole_has_no_manifest(lake, catalogue, capsys, fault):
    place, later = f"s3://lake/half-{fault}", catalogue.path("curve-misses")
    assert run(["publish", str(catalogue.path("curve-evaluated")), place]) == 0

    def trouble(count, asked):
        return fault if "metrics.parquet" in asked.path and asked.method != "GET" else None

    lake.reset(trouble)
    forget()
    assert "does not answer" in refused(capsys, 3, "publish", later, place)
    lake.reset()
    forget()
    assert "manifest.json" not in lake.objects(place)
    assert run(["publish", str(later), place]) == 0
    assert len(published(lake, place)[1]["files"]) == len(PUBLISHED)


def test_publishing_where_nothing_can_be_written_is_one_line(lake, catalogue, tmp_path, capsys):
    with pytest.raises(StudyError, match="no results yet"):
        publish(catalogue.path("curve-selected"), "s3://lake/x")
    evaluated = catalogue.path("curve-evaluated")
    assert "no such bucket" in refused(capsys, 2, "publish", evaluated, "s3://nowhere-at-all/x")
    local = tmp_path / "shelf"
    for _ in range(2):
        assert run(["publish", str(evaluated), str(local)]) == 0
    assert sorted(path.name for path in local.iterdir()) == sorted([*PUBLISHED, "manifest.json"])


def test_a_list_that_was_written_anew_is_seen_by_the_same_process(lake, big):
    lake.upload(big, "lake/again")
    before = open_ranking("s3://lake/again").fingerprint
    lake.put("lake/again/part-3.parquet", (big / "part-0.parquet").read_bytes())
    after = open_ranking("s3://lake/again")
    assert after.fingerprint != before
    assert after.fetch(np.array([150_001]), ["id"]).table.column("id").to_pylist() == [0]


def test_a_ranking_on_google_cloud_storage(one_ranking, monkeypatch):
    folder, _, _ = one_ranking
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
