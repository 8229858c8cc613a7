"""Manners of a batch job: limits, rehearsals, records, and runs that are repeated."""

import hashlib
import json
import re
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parquet_tables import pages_of
from places import HOME
from refusals import refused
from suite_cases import cases

from streameval.cli import run
from streameval.engines import engine_facts

SMALL = ["--method", "paula(epsilon=0.1, window=20)", "--seed", "0"]


def events(capsys):
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


@pytest.fixture
def planned(study):
    return study("stored-planned")


def test_a_rehearsal_says_what_is_then_read_and_writes_nothing(planned, capsys):
    before = sorted(planned.iterdir())
    assert run(["select", str(planned), "--dry-run", "--json"]) == 0
    foreseen = json.loads(capsys.readouterr().out)
    assert sorted(planned.iterdir()) == before
    assert run(["select", str(planned), "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert foreseen["would_read"]["row_groups"] == done["row_groups_read"]
    assert foreseen["items"] == done["items"]
    assert foreseen["would_read"]["whole_chunks"] > 0  # these files have no page index
    assert foreseen["would_write"] == [str(planned / "selection.parquet")]


def test_a_rehearsal_counts_pages_and_bytes(tmp_path, capsys):
    path = tmp_path / "r.parquet"
    n = 5_000
    table = pa.table({"id": range(n), "conf": [1 - i / n for i in range(n)]})
    pq.write_table(table, path, write_page_index=True, use_dictionary=False, **pages_of(100))
    assert run(["plan", str(path), "--study", str(tmp_path / "s"), *SMALL]) == 0
    capsys.readouterr()
    assert run(["select", str(tmp_path / "s"), "--dry-run", "--json"]) == 0
    foreseen = json.loads(capsys.readouterr().out)["would_read"]
    assert run(["select", str(tmp_path / "s"), "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert foreseen["pages"] == done["pages_read"]
    assert 0 < foreseen["bytes"] <= done["bytes_read"]
    assert run(["plan", str(path), "--study", str(tmp_path / "new"), "--score", "conf", "--dry-run"]) == 0
    assert "the scores of 5,000 rows, 2 times or more" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()


SHAPE = {"dry_run", "items", "n_items", "source", "labels", "would_read", "would_write"}


def bytes_of(files, *names):
    """Bytes of all chunks of some columns."""
    return sum(
        footer.row_group(i).column(column).total_compressed_size
        for footer in map(pq.read_metadata, files)
        for i in range(footer.num_row_groups)
        for column in range(footer.num_columns)
        if footer.schema.column(column).name in names
    )


def rehearsed(capsys, study, source, labels, tmp_path, depth, *exact):
    """What each verb says when it rehearses."""
    found = {}
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for verb, arguments in {
        "plan": [source, "--study", tmp_path / "new", *exact[2:]],
        "select": [study],
        "evaluate": [study, "--labels", labels],
        "exact": [source, *exact, "--out", tmp_path / "out"],
        "cut": [study, depth, "--out", tmp_path / "out"],
    }.items():
        capsys.readouterr()
        assert run([verb, *map(str, arguments), "--dry-run", "--json"]) == 0
        found[verb] = json.loads(capsys.readouterr().out)
    assert run(["cut", str(study), str(depth), "--out", str(tmp_path / "out"), "--dry-run"]) == 0
    assert "Would write " in capsys.readouterr().out
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert {verb: set(one) for verb, one in found.items()} == dict.fromkeys(found, SHAPE)
    assert len({frozenset(one["would_read"]) for one in found.values()}) == 1
    size, rows = labels.stat().st_size, pq.read_metadata(labels).num_rows
    assert found["evaluate"]["labels"] == [{"source": str(labels), "bytes": size, "rows": rows}]
    assert found["cut"]["items"] == depth
    return found["exact"]["would_read"]["bytes"], found["cut"]["would_read"]


@pytest.fixture
def few_labels(ranking, tmp_path):
    """Labels of the first hundred ranks, in a file."""
    pq.write_table(pq.read_table(ranking[1]).slice(0, 100), tmp_path / "few.parquet")
    return tmp_path / "few.parquet"


def test_rehearsals_of_all_verbs_have_one_shape_and_write_nothing(catalogue, few_labels, tmp_path, capsys):
    study, source = catalogue.path("stored-evaluated"), catalogue.lists / "stored.parquet"
    exact, cut = rehearsed(capsys, study, source, few_labels, tmp_path, 2_000, "--label", "right")
    assert exact == bytes_of([source], "right")
    assert (cut["row_groups"], cut["rows_to_scan"]) == (2, 0)  # 1,500 and 1,500


def test_rehearsals_of_all_verbs_by_score_count_the_rows_that_may_be_above_it(ranking, few_labels, tmp_path, capsys):
    folder, study, order = ranking[0], tmp_path / "study", ["--score", "conf"]
    plan = ["plan", str(folder), "--study", str(study), "--method", "uniform", "--budget", "50", "--seed", "0"]
    assert run([*plan, *order]) == 0
    assert run(["evaluate", str(study), "--labels", str(few_labels)]) == 0
    exact, cut = rehearsed(capsys, study, folder, few_labels, tmp_path, 3_000, "--label", "label", *order)
    assert exact == bytes_of(folder.iterdir(), "label", "conf")
    assert (cut["row_groups"], cut["rows_to_scan"]) == (3, 4_000)  # 1,500 and 1,000 of the first file, and 1,500


def test_rehearsals_find_what_would_go_wrong(planned, catalogue, tmp_path, capsys):
    labels = tmp_path / "labels.csv"
    labels.write_text("rank,label\n1,1\n")

    def would_refuse(*arguments):
        return refused(capsys, *arguments, "--dry-run")

    assert "nowhere.csv: no such file" in would_refuse("evaluate", planned, "--labels", tmp_path / "nowhere.csv")
    assert "no column 'lable'" in would_refuse("exact", catalogue.lists / "stored.parquet", "--label", "lable")
    assert "no results yet" in would_refuse("cut", planned, "5", "--out", tmp_path / "out")
    assert "made without stages to grow by" in would_refuse("grow", planned, "--budget", "5")
    asked = "postgresql://me:secret@host/db#SELECT 1"
    capsys.readouterr()
    assert run(["evaluate", str(planned), "--labels", asked, str(labels), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "secret" not in said
    assert "postgresql://***@host/db (a query)" in said


def test_a_cut_again_is_known_before_it_is_written(study, tmp_path, capsys):
    home = study("stored-evaluated")
    command = ["cut", str(home), "1000", "--out", str(tmp_path / "out")]
    assert run(command) == 0
    kept = (home / "manifests" / "cut.json").read_bytes()
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    capsys.readouterr()
    assert run([*command, "--dry-run"]) == 0
    assert "Would write nothing." in capsys.readouterr().out
    assert run([*command, "--log", "json"]) == 0
    assert next(event for event in events(capsys) if event["event"] == "cut")["already_there"] is True
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()} == files
    assert (home / "manifests" / "cut.json").read_bytes() == kept
    written = json.loads(kept)["written"][0]
    assert hashlib.sha256((tmp_path / "out" / "_manifest.json").read_bytes()).hexdigest() == written["sha256"]


def test_a_manifest_names_what_was_read_and_written(planned, tmp_path, capsys):
    labels = tmp_path / "labels.csv"
    labels.write_text("rank,label\n1,1\n")
    for verb in (["select", str(planned)], ["evaluate", str(planned), "--labels", str(labels)]):
        assert run([*verb, "--log", "json"]) == 0
        seen = events(capsys)
        kept = json.loads((planned / "manifests" / f"{verb[0]}.json").read_text())
        logged = next(event for event in seen if event["event"] == "manifest")
        assert (logged["read"], logged["written"]) == (kept["read"], kept["written"])
        for one in kept["written"]:
            assert hashlib.sha256(Path(one["path"]).read_bytes()).hexdigest() == one["sha256"]
        assert seen[-1]["event"] == "done"
        assert (seen[-1]["verb"], seen[-1]["exit_status"]) == (verb[0], 0)
        assert seen[-1]["seconds"] >= 0
    assert kept["read"]["labels"][0]["source"] == str(labels)
    assert json.loads((planned / "manifests" / "select.json").read_text())["read"]["rows_read"] > 0


def told_by(capsys, verb, *arguments):
    """The event of a verb, which comes once."""
    capsys.readouterr()
    assert run([verb, *map(str, arguments), "--log", "json"]) == 0
    (told,) = (event for event in events(capsys) if event["event"] == verb)
    assert told["seconds"] >= 0
    assert {"rows", "bytes"} <= set(told)
    return told


def manifest(folder, verb):
    kept = json.loads((folder / "manifests" / f"{verb}.json").read_text())
    assert kept["verb"] == verb
    return kept


@pytest.mark.parametrize("score", cases([[], ["--score", "conf"]], ["--score", "conf"]))
def test_each_stage_of_a_study_tells_its_seconds_rows_and_bytes_once(ranking, few_labels, tmp_path, capsys, score):
    study, budget = tmp_path / "study", ["--method", "uniform", "--budget", "50", "--seed", "0"]
    told = told_by(capsys, "plan", ranking[0], "--study", study, *budget, *score)
    assert told["rows"] == told["labels"]
    told = told_by(capsys, "select", study)
    assert told["rows"] >= told["items"]
    assert told["bytes"] > 0
    told = told_by(capsys, "evaluate", study, "--labels", few_labels)
    assert (told["rows"], told["bytes"]) == (100, few_labels.stat().st_size)
    told = told_by(capsys, "cut", study, "3000", "--out", tmp_path / "best")
    parts = [path.stat().st_size for path in (tmp_path / "best").glob("part-*")]
    assert (told["rows"], told["bytes"]) == (3_000, sum(parts))
    read = {verb: manifest(study, verb).get("read") for verb in ("plan", "select", "evaluate", "cut")}
    assert (read["select"]["engine"], read["select"]["server"]) == ("local", None)


@pytest.mark.parametrize("score", cases([[], ["--score", "conf"]], ["--score", "conf"]))
def test_exact_results_and_their_copy_tell_their_seconds_rows_and_bytes_once(ranking, tmp_path, capsys, score):
    out, board = tmp_path / "exact", tmp_path / "board"
    assert told_by(capsys, "exact", ranking[0], "--label", "label", *score, "--out", out)["rows"] == 10_000
    manifest(out, "exact")
    told = told_by(capsys, "publish", out, board)  # its manifest lies with what it copied
    assert told["bytes"] == sum(path.stat().st_size for path in board.iterdir() if path.name != "manifest.json")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("sc://host:15002/;token=secret", "sc://host:15002"),
        ("sc://me:secret@host:15002", "sc://host:15002"),
        ("sc://host;token=secret", "sc://host"),
        ("local[2]", "local[2]"),
        (None, None),
    ],
)
def test_records_of_an_engine_hold_no_secret(given, kept):
    assert engine_facts(f"spark:{given}" if given else "spark") == {"engine": "spark", "server": kept}


def test_the_same_run_again_leaves_the_same_bytes(catalogue, tmp_path):
    study, source = tmp_path / "study", str(catalogue.lists / "stored.parquet")
    (tmp_path / "labels.csv").write_text("rank,label\n1,1\n2,0\n")
    first = None
    for time in range(2):
        assert run(["plan", source, "--study", str(study), *SMALL]) == 0
        assert run(["select", str(study), "--export", str(study / "tasks.csv")]) == 0
        assert run(["evaluate", str(study), "--labels", str(tmp_path / "labels.csv")]) == 0
        files = {path: path.read_bytes() for path in study.rglob("*") if path.is_file()}
        # DuckDB writes the same tables into other bytes each time, and a manifest names their hash
        files = {p: b for p, b in files.items() if p.name not in ("study.duckdb", "evaluate.json")}
        assert time == 0 or files == first
        first = files


@pytest.mark.parametrize("arguments", [["labels", "STUDY"], ["cost", "--items", "1000"]])
def test_the_last_event_of_every_verb_says_that_it_is_done(catalogue, capsys, arguments):
    named = [str(catalogue.path("curve-selected")) if one == "STUDY" else one for one in arguments]
    assert run([*named, "--log", "json"]) == 0
    last = events(capsys)[-1]
    assert (last["event"], last["verb"], last["exit_status"]) == ("done", arguments[0], 0)


def test_a_job_for_cron_can_be_read():
    text = (HOME / "streameval" / "guide" / "batch.md").read_text()
    entries = []
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        assert subprocess.run(["sh", "-n"], input=block, text=True, check=False).returncode == 0
        entries += [line for line in block.splitlines() if re.search(r"[0-9*]+ [0-9*]+ \* \* \*", line)]
    assert entries
    assert not any(line.endswith(("&&", "\\")) or "%" in line for line in entries)


TERMINATED_WHILE_WRITING = """
import os, signal
from streameval.stores import atomic
atomic.sync = lambda path: os.kill(os.getpid(), signal.SIGTERM)
"""


def test_a_scheduler_that_ends_the_job_finds_one_line_and_no_rest(catalogue, forks, tmp_path):
    source = str(catalogue.lists / "stored.parquet")
    arguments = ["plan", source, "--study", str(tmp_path / "ended"), *SMALL, "--log", "json"]
    (ended,) = forks.python(TERMINATED_WHILE_WRITING, cwd=tmp_path, arguments=arguments, first=True)
    last = json.loads(ended.err.splitlines()[-1])
    assert (ended.status, last["event"], last["exit_status"]) == (130, "error", 130)
    assert [path for path in (tmp_path / "ended").rglob("*") if path.is_file()] == []
