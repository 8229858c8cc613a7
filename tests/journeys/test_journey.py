"""plan → select → evaluate on files, and every bad input in one line."""

import errno
import json
import os
import re

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

import streameval
from streameval.cli import run
from streameval.errors import StreamevalError
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.study import Study

SMALL = ["--method", "paula(epsilon=0.1, window=20)", "--seed", "0"]


def test_the_journey_end_to_end(ranking, tmp_path, capsys):
    folder, labels, truth = ranking
    study = tmp_path / "study"
    assert run(["plan", str(folder), "--study", str(study), "--score", "conf", *SMALL]) == 0
    assert run(["select", str(study), "--export", str(study / "tasks.csv")]) == 0
    capsys.readouterr()
    assert run(["evaluate", str(study), "--labels", str(labels), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    selection = pq.read_table(study / "selection.parquet")
    assert selection.column("item").to_pylist() == [f"item {r}" for r in selection.column("rank").to_pylist()]
    assert found["account"]["labelled"] == found["account"]["planned"] == selection.num_rows
    assert "conf" not in (study / "tasks.csv").read_text().splitlines()[0]
    facts = [pq.read_schema(study / f"{n}.parquet").metadata[b"streameval"] for n in ("labels", "curve", "metrics")]
    assert {json.loads(one)["evaluation_id"] for one in facts} == {found["evaluation_id"]}
    page = (study / "report.html").read_text()
    assert found["findings"][0].split(",")[0] in page
    assert "http://" not in page.split("</style>")[0]
    curve = pq.read_table(study / "curve.parquet")
    head = curve.slice(0, 50)
    assert np.array_equal(head.column("yield").to_numpy(), np.cumsum(truth)[:50])
    assert all(callable(getattr(streameval, name)) for name in streameval.__all__ if name != "__version__")


def test_sql_gives_the_same_bounds_by_one_asof_lookup(catalogue):
    study = catalogue.path("paula-evaluated")
    found = Study(study).evaluation()
    ranks = pa.table({"r": np.arange(1, found.curve.n_items + 1)})
    sql = duckdb.sql(
        f"""SELECT greatest(yield_lower, next_yield_lower - (next_rank - r)) AS low,
                   least(next_yield_upper, yield_upper + (r - rank)) AS high
            FROM ranks ASOF JOIN '{study}/envelope.parquet' e ON r >= rank ORDER BY r"""
    ).to_arrow_table()
    table = found.curve.at(ranks.column("r").to_numpy())
    assert sql.column("low").to_pylist() == table.column("yield_lower").to_pylist()
    assert sql.column("high").to_pylist() == table.column("yield_upper").to_pylist()


def test_tasks_come_back_as_labels_by_their_number(catalogue, study):
    home = study("curve-planned")
    selection = streameval.select(home, export=home / "tasks.csv").table
    by_task = home / "done.csv"
    duckdb.sql(
        f"""COPY (SELECT t.se_study, t.se_task, CASE l.right WHEN 1 THEN 'yes' ELSE 'No' END AS label
            FROM read_csv('{home}/tasks.csv', all_varchar = true) t
            JOIN '{home}/selection.parquet' s ON s.se_task = t.se_task::BIGINT
            JOIN '{catalogue.lists}/list.parquet' l ON l.id = s.id) TO '{by_task}'"""
    )
    direct = streameval.evaluate(home, labels=by_task)
    assert direct.labels.rank.tolist() == selection.column("rank").to_pylist()
    assert direct.label_table.column("label").to_pylist() == selection.column("right").to_pylist()
    again = streameval.evaluate(home, labels=by_task)
    assert again.evaluation_id == direct.evaluation_id


def test_threads_and_file_cuts_change_nothing(ranking, tmp_path):
    folder, _, _ = ranking
    whole = tmp_path / "whole.parquet"
    pq.write_table(pq.read_table(folder), whole, row_group_size=333)
    ranks = np.sort(np.random.default_rng(1).choice(np.arange(1, 10_001), 500, replace=False))
    tables = [
        open_ranking(str(source), RankingOptions(score="conf", threads=threads)).fetch(ranks, ["item"]).table
        for source in (folder, whole)
        for threads in (1, 8)
    ]
    assert all(table.equals(tables[0]) for table in tables)


def test_partial_labels_widen(catalogue):
    partial, full = (Study(catalogue.path(f"curve-{state}")).evaluation() for state in ("half-labelled", "evaluated"))
    assert partial.summary["account"]["missing"] > 0
    a, b = (one.curve.envelope.at([one.curve.n_items]) for one in (partial, full))
    assert a[0] <= b[0]
    assert a[1] >= b[1]
    assert a[1] - a[0] > b[1] - b[0]


def test_the_same_plan_again_is_harmless_and_another_is_refused(ranking, tmp_path, capsys):
    command = ["plan", str(ranking[0]), "--study", str(tmp_path / "study"), "--score", "conf", *SMALL]
    assert run(command) == 0
    assert run(["select", str(tmp_path / "study")]) == 0
    before = (tmp_path / "study" / "plan.json").read_bytes()
    assert run(command) == 0
    assert (tmp_path / "study" / "plan.json").read_bytes() == before
    capsys.readouterr()
    assert run([word.replace("epsilon=0.1", "epsilon=0.2") for word in command]) == 2
    assert "epsilon 0.1 then, 0.2 now" in capsys.readouterr().err


def test_bad_rankings_are_refused_in_one_line(ranking, tmp_path, capsys):
    folder, _, _ = ranking
    study = tmp_path / "s"

    def plan(source, *flags):
        message = refused(capsys, "plan", source, "--study", study, *flags)
        assert not study.exists()
        return message

    assert "no such file" in plan(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "no Parquet file" in plan(tmp_path / "empty")
    assert "did you mean 'conf'" in plan(folder, "--score", "cnf")
    assert "outside (0, 1]" in plan(folder, "--method", "paula(epsilon=0)")
    assert "outside (0, 1]" in plan(folder, "--method", "paula(epsilon=1.5)")
    assert "window is 0" in plan(folder, "--method", "paula(window=0)")
    assert "not a number or a date" in plan(folder, "--score", "item")
    assert "--ascending any more. Hint: it is --score=-COL" in plan(folder, "--ascending")
    assert "no column 'itm'" in plan(folder, "--score", "conf", "--key", "itm")
    assert "too little" in plan(folder, "--score", "conf", "--memory", "0.001")
    raw = (folder / "part-1.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(raw[:-100])
    assert "cut.parquet" in plan(tmp_path / "cut.parquet")
    (tmp_path / "wild.parquet").write_bytes(raw[:-8] + (2**31 - 1).to_bytes(4, "little") + b"PAR1")
    assert "claims a footer" in plan(tmp_path / "wild.parquet")
    for name in ("delta", "iceberg"):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"a": [1]}), tmp_path / name / "x.parquet")
    (tmp_path / "delta" / "_delta_log").mkdir()
    (tmp_path / "iceberg" / "metadata").mkdir()
    (tmp_path / "iceberg" / "metadata" / "v1.metadata.json").write_text("{}")
    assert "Delta" in plan(tmp_path / "delta")
    assert "Iceberg" in plan(tmp_path / "iceberg")
    os.rename(folder / "part-1.parquet", folder / "part-10.parquet")
    assert "--file-order" in plan(folder)
    pq.write_table(pa.table({"item": [1]}), folder / "part-9.parquet")
    assert "schema" in plan(folder, "--file-order", "lexical")


BAD = {
    "row 1 has too few columns (was the file cut off?). Hint: every row has a cell for each name": "rank,label\n2\n",
    "Hint: labels are 1/0, true/false, yes/no or a grade; a decimal comma is written as a": 'rank,label\n2,"1,0"\n',
    "row 1 has label 'maybe'": "rank,label\n2,maybe\n",
    "row 1 has rank '0'": "rank,label\n0,1\n",
    "ranks of this list are 1..3,000": "rank,label\n3001,1\n",
    "belong to study abc": "se_study,rank,label\nabc,1,1\n",
    "no column 'label'": "rank,x\n1,1\n",
}
SAYS_NOTHING = {
    "no rows": "se_task,label\n",
    "matches nothing": "rank,label\n2999,1\n",
    "row 1 has se_task '99999'": "se_task,label\n99999,1\n",
    "has a label yet": "se_task,label\n{first},\n{second},\n",
}


def refused_labels(study, tmp_path, texts):
    home, table = study("curve-selected"), tmp_path / "labels.csv"
    first, second = pq.read_table(home / "selection.parquet").column("se_task").to_pylist()[:2]
    for why, text in texts.items():
        table.write_text(text.format(first=first, second=second))
        with pytest.raises(StreamevalError, match=re.escape(why)) as refusal:
            streameval.evaluate(home, labels=table)
        assert refusal.value.exit_status == 2
    assert not (home / "votes").exists()
    assert not (home / "labels.parquet").exists()


def test_bad_labels_are_refused_and_nothing_is_written(study, tmp_path):
    refused_labels(study, tmp_path, BAD)


def test_tables_that_say_nothing_are_refused_and_nothing_is_written(study, tmp_path):
    refused_labels(study, tmp_path, SAYS_NOTHING)


def test_a_strict_evaluation_and_one_of_no_file_are_refused(study, tmp_path, capsys):
    home, table = study("curve-selected"), tmp_path / "labels.csv"
    table.write_text("rank,label\n1,1\n2,maybe\n")
    assert "1 unreadable" in refused(capsys, "evaluate", home, "--labels", table, "--strict")
    refused(capsys, "evaluate", home, "--labels", tmp_path / "absent.csv")
    assert "not a file" in refused(capsys, "evaluate", home, "--labels", "/dev/zero")
    assert not (home / "votes").exists()
    assert not (home / "labels.parquet").exists()


def test_tasks_may_be_floats(study, tmp_path):
    home, table = study("curve-selected"), tmp_path / "labels.csv"
    first, second = pq.read_table(home / "selection.parquet").column("se_task").to_pylist()[:2]
    table.write_text(f"se_task,label\n{first}.0,1.0\n{second}.0,0.0\n")
    assert streameval.evaluate(home, labels=table).summary["account"]["labelled"] == 2


def test_a_changed_or_corrupt_ranking_is_named(ranking, tmp_path, capsys):
    folder, _labels, _ = ranking
    study = tmp_path / "study"
    assert run(["plan", str(folder), "--study", str(study), *SMALL]) == 0
    path = folder / "part-2.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:200] + bytes(4000) + whole[4200:])
    assert "part-2.parquet" in refused(capsys, "select", study)
    path.write_bytes(whole)
    pq.write_table(pq.read_table(path), path, row_group_size=100)
    assert "fingerprint" in refused(capsys, "select", study)


def test_mixed_results_are_refused_and_damaged_studies_are_named(catalogue, study, capsys):
    home = study("curve-evaluated")
    page = (home / "report.html").read_text()
    assert run(["report", str(home)]) == 0
    assert (home / "report.html").read_text() == page
    (home / "curve.parquet").write_bytes((catalogue.path("curve-half-labelled") / "curve.parquet").read_bytes())
    assert "run evaluate again" in refused(capsys, "report", home)
    (home / "votes" / "zero.parquet").write_bytes(b"")
    assert "zero.parquet: cannot be read" in refused(capsys, "evaluate", home)
    (home / "evaluation.json").write_text("[]")
    assert "evaluation.json: cannot be read" in refused(capsys, "report", home)
    (home / "plan.json").write_text("[]")
    assert "plan.json: cannot be read" in refused(capsys, "select", home)


@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("verb", ["plan", "evaluate"])
def test_a_full_disk_is_status_3_and_leaves_nothing(verb, after, catalogue, study, tmp_path, capsys, monkeypatch):
    home = tmp_path / "new" if verb == "plan" else study("stored-planned")
    synced = []

    def full(handle):
        synced.append(handle)
        if len(synced) > after:
            raise OSError(errno.ENOSPC, "No space left on device")

    home.mkdir(exist_ok=True)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and path.name != ".lock"}
    (tmp_path / "labels.csv").write_text("rank,label\n1,1\n")
    monkeypatch.setattr(os, "fsync", full)
    commands = {"plan": ["plan", str(catalogue.lists / "stored.parquet"), "--study", str(home), *SMALL],
                "evaluate": ["evaluate", str(home), "--labels", str(tmp_path / "labels.csv")]}  # fmt: skip
    assert run(commands[verb]) == 3
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    now = {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and path.name != ".lock"}
    assert now == before


def test_footers_past_two_to_the_32_rows(tmp_path):
    """Row groups that all point at the same bytes: a real file of 8.6 billion rows in a few megabytes."""
    small = tmp_path / "small.parquet"
    rows = 1 << 20
    pq.write_table(pa.table({"x": pa.array(np.arange(rows, dtype=np.int32) % 7)}), small)
    metadata = pq.read_metadata(small)
    total = pq.read_metadata(small)
    while total.num_row_groups < 8192:
        total.append_row_groups(total)
    assert total.num_rows == 8192 * metadata.num_rows
    total.write_metadata_file(tmp_path / "_footer")
    raw, footer = small.read_bytes(), (tmp_path / "_footer").read_bytes()
    body = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    big = tmp_path / "big.parquet"
    big.write_bytes(raw[:body] + footer[4:])
    opened = open_ranking(str(big))
    assert opened.n_items == 8192 * rows > 2**32
    ranks = np.array([1, 2**32 + 5, opened.n_items], dtype=np.int64)
    found = opened.fetch(ranks, ["x"]).table
    assert found.column("x").to_pylist() == [int((r - 1) % rows % 7) for r in ranks]


def test_studies_hold_what_design_says(catalogue, tmp_path):
    folder = catalogue.lists / "stored.parquet"
    plan = streameval.plan(str(folder), tmp_path / "s", method="paula(epsilon=0.1, window=20)", seed=0)
    assert plan.parameters["epsilon"] == "0.1"
    assert plan.table.column_names == ["rank", "stratum"]
    assert Study(tmp_path / "s").plan().plan_id == plan.plan_id


def test_what_people_own_is_never_taken_for_the_demos(tmp_path, capsys):
    own = tmp_path / "own"
    (own / "ranking").mkdir(parents=True)
    (own / "ranking" / "mine.parquet").write_text("precious")
    assert "holds other files" in refused(capsys, "demo", own)
    assert (own / "ranking" / "mine.parquet").read_text() == "precious"


def test_a_label_path_is_one_file_and_never_a_pattern(study, tmp_path):
    home = study("stored-planned")
    assert set(Study(home).plan().ranks[:4]) == {1, 2, 3, 4}
    (tmp_path / "lab1.csv").write_text("rank,label\n1,0\n2,0\n")
    (tmp_path / "lab[1].csv").write_text("rank,label\n1,1\n2,1\n3,1\n")
    (tmp_path / "lab*.csv").write_text("rank,label\n4,1\n")
    found = streameval.evaluate(home, labels=[tmp_path / "lab[1].csv", tmp_path / "lab*.csv"])
    assert (found.summary["account"]["votes"], found.summary["account"]["positive"]) == (4, 4)


def test_an_items_own_label_does_not_answer_for_people(tmp_path, capsys):
    path, study = tmp_path / "items.parquet", tmp_path / "study"
    pq.write_table(pa.table({"label": [0] * 50, "se_study": ["x"] * 50, "text": ["t"] * 50}), path)
    assert run(["plan", str(path), "--study", str(study), *SMALL]) == 0
    assert run(["select", str(study), "--columns", "label,se_study,text", "--export", str(study / "tasks.csv")]) == 0
    head, *rows = (study / "tasks.csv").read_text(encoding="utf-8-sig").splitlines()
    assert head == "se_study,se_task,label_item,se_study_item,text,label"
    (study / "tasks.csv").write_text("\n".join([head, *(row + "1" for row in rows)]))
    assert streameval.evaluate(study, labels=study / "tasks.csv").summary["account"]["positive"] == 50
    (study / "two.csv").write_text("rank,label,label\n1,1,0\n")
    assert "two columns 'label'" in refused(capsys, "evaluate", study, "--labels", study / "two.csv")


def test_cost_counts_the_rows_of_a_list(ranking, tmp_path, capsys):
    folder, _, _ = ranking
    assert run(["cost", "--items", "10000", "--budget", "300"]) == 0
    asked = capsys.readouterr().out
    assert run(["cost", *map(str, sorted(folder.iterdir())), "--budget", "300"]) == 0
    assert capsys.readouterr().out == asked
    assert run(["cost", str(folder), "--score", "conf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == 10_000
    assert streameval.cost(pa.table({"item": range(5000)})).n_items == 5000
    asked = "Hint: cost ranking/, or cost --items 2e9"
    assert f"neither a list nor a number of items is given. {asked}" in refused(capsys, "cost")
    assert f"a list and a number of items were given. {asked}" in refused(
        capsys, "cost", "list.parquet", "--items", "9")  # fmt: skip
    assert "no such file or folder" in refused(capsys, "cost", "nowhere")


def test_numbers_are_never_rounded_silently(capsys):
    assert run(["cost", "--items", "2e4", "--json"]) == 0
    assert "not a whole number" in refused(capsys, "cost", "--items", "2.9")
    assert "not a whole number" in refused(capsys, "cost", "--items", "1000", "--budget", "2.5")
    assert "too fine" in refused(capsys, "cost", "--items", "1000", "--method", "paula(epsilon=1e-300)")
    for bad in ("alpha=0", "alpha=nan", "confidence=1", "confidence=0", "min-precision=0", "min-precision=1.1"):
        assert "outside" in refused(capsys, "cost", "--items", "1000", f"--{bad}")
    assert "below the smallest plan" in refused(capsys, "cost", "--items", "1000000", "--budget", "1")
    many = refused(capsys, "cost", "--items", "20000", "--against", "80%", "--for", "gain@1,100")
    assert "1,100 is one cutoff or two (at column 6). Hint: write 1_100 for one, 1, 100 for two" in many
    for asked in ([], ["--for", "precision@10 >= 0.9"], ["--against", "80%"]):
        assert "cannot be planned" in refused(capsys, "cost", "--items", "-5", *asked)
    assert run(["cost", "--items", "20000", "--alpha=1e-300"]) == 0
