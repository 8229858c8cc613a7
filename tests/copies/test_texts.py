"""Lists in text files: a list in CSV goes the whole journey, and whatever cannot be read is one line."""

import csv
import gzip
import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused
from suite_cases import cases

import streameval
from streameval.cli import run
from streameval.copies import texts
from streameval.copies import write as write_module
from streameval.errors import InputError, StudyError
from streameval.rows.options import RankingOptions
from streameval.stores import atomic, publish
from streameval.stores.local import LocalStore
from streameval.stores.own_files import read_json

ITEMS = 600
CONF = np.round(np.random.default_rng(3).permutation(ITEMS) / ITEMS, 4)
ROWS = [(f"{i:05d}", f'said "{i}",\nand more', conf, i % 3 == 0, f"2026-01-{i % 28 + 1:02d}", 1 << 60, f"{i % 10}.50")
        for i, conf in enumerate(CONF.tolist())]  # fmt: skip
HEAD = ["id", "text", "conf", "good", "day", "big", "version"]
KINDS = ["csv", "tsv", "csv.gz", "jsonl", "json", "odd name"]


def write(path, rows=ROWS, head=HEAD):
    """A list as the file's name says."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        if ".json" in path.name:
            objects = [json.dumps(dict(zip(head, row, strict=True))) for row in rows]
            file.write("[" + ",".join(objects) + "]" if path.suffix == ".json" else "\n".join(objects))
        else:
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerows([head, *rows])
    return path


@pytest.mark.parametrize("name", cases(KINDS, "csv.gz"))
def test_a_list_in_a_text_file_goes_the_whole_journey(name, tmp_path, capsys):
    source = write(tmp_path / (name if name == "odd name" else f"preds.{name}"))
    study = tmp_path / "study"
    assert run(["plan", str(source), "--score", "conf", "--study", str(study), "--budget", "300", "--seed", "5"]) == 0
    assert f"The list was read into {study}/ranking" in capsys.readouterr().out
    source.unlink()  # nothing reads it any more
    study.rename(tmp_path / "elsewhere")
    study = tmp_path / "elsewhere"
    assert run(["select", str(study), "--export", str(tmp_path / "tasks.csv"), "--columns", "id,text"]) == 0
    with open(tmp_path / "tasks.csv", newline="") as file:
        tasks = list(csv.DictReader(file))
    with open(tmp_path / "labels.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, tasks[0])
        writer.writeheader()
        writer.writerows({**task, "label": int(int(task["id"]) % 3 == 0)} for task in tasks)
    assert run(["evaluate", str(study), "--labels", str(tmp_path / "labels.csv")]) == 0
    assert run(["cut", str(study), "50", "--out", str(tmp_path / "best"), "--order", "rank"]) == 0
    best = pq.read_table(tmp_path / "best")
    assert best.column("conf").to_pylist() == sorted(CONF.tolist(), reverse=True)[:50]
    for verb in (["report"], ["show", "precision@100"], ["check", "precision@600 > 0"]):
        assert run([verb[0], str(study), *verb[1:]]) == 0


@pytest.mark.parametrize("name", cases(KINDS[:5], *KINDS[:5:2]))
def test_columns_keep_every_value_as_it_is_written(name, tmp_path):
    study = tmp_path / "study"
    streameval.plan(write(tmp_path / f"preds.{name}"), study, budget=100, score="conf", seed=1)
    table = pq.read_table(study / "ranking")
    kinds = dict(zip(table.schema.names, table.schema.types, strict=True))
    day = pa.date32()
    assert kinds == {"id": pa.string(), "text": pa.string(), "conf": pa.float64(), "good": pa.bool_(), "day": day,
                     "big": pa.int64(), "version": pa.string()}  # fmt: skip
    written = [[str(one) for one in (*row[:2], float(row[2]), *row[3:])] for row in ROWS]
    assert [[str(one) for one in row.values()] for row in table.to_pylist()] == written


def test_stored_order_is_that_of_the_rows_and_of_the_files(tmp_path, capsys):
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in (1, 2):
        write(folder / f"part_{part}.csv", ROWS[part * 200 - 200 : part * 200])
    for number, source in enumerate([folder, folder / "part_*.csv"]):
        study = tmp_path / f"study-{number}"
        assert run(["plan", str(source), "--study", str(study), "--budget", "100", "--seed", "1"]) == 0
        assert "by none of its columns conf: --score COLUMN would rank by it" in capsys.readouterr().out
        assert pq.read_table(study / "ranking", columns=["id"]).column("id").to_pylist() == [r[0] for r in ROWS[:400]]
    write(folder / "part_10.csv", ROWS[:5])
    assert "--file-order natural" in refused(capsys, "plan", folder, "--study", tmp_path / "s")
    write(folder / "part_10.csv", [row[:3] for row in ROWS[:5]], HEAD[:3])
    message = refused(capsys, "plan", folder, "--study", tmp_path / "s", "--file-order", "natural")
    assert "part_10.csv: its columns are not those of" in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the table is empty (0 bytes)"),
        ("id,conf\n", "no rows. Hint: a ranking needs at least one item"),
        ("id,conf\n1,.5\n2,.4,9\n", "row 2 has too many columns (is a cell with a comma in quotes?). Hint: mend"),
        ("id,conf\n1,.5\n2\n", "row 2 has too few columns (was the file cut off?). Hint: mend"),
        ("id,conf\n1,.5\n\n2,high\n", "1 row has a conf that is no number, such as 'high' (first: row 2, line 4)"),
        ("id;conf\n1;0,5\n2;0,4\n", "such as '0,5' (first: row 1, line 2). Hint: write numbers with a point, as 0.95"),
        ("id,conf\n1,.5\n2,\n3,NA\n", "2 rows have no conf (first: row 2, line 3). Hint: every item needs a score"),
        ("id,cnf\n1,.5\n", "there is no column 'conf'. Hint: did you mean 'cnf'?"),
        ("id,conf,id\n1,.5,2\n", "two columns are named 'id'"),
        ("a,0.95\nb,0.94\n", "its first line holds '0.95', so it is no row of column names"),
        ("id,conf\n1,caf\xe9\n".encode("latin-1"), "line 2 is not UTF-8"),
        ("id,conf\n1,.5\n".encode("utf-16"), "this is a text in UTF-16"),
        (b"\x28\xb5\x2f\xfd" + bytes(40), "this is a file packed by zstd"),
        (gzip.compress(b"id,conf\n" + b"%d,1\n" * 9999 % tuple(range(9999)))[:9000], "Hint: the file is cut short"),
        (b"id,conf\n1," + b"x" * (33 << 20) + b"\n", "line 2 has more than 32 MiB"),
        ('{"id": 1, "conf": .5}\n', "none of its lines is a JSON object"),
        ('{"id": 1, "conf": 0.5}\nno\n', "row 2 cannot be read: no JSON object: no. Hint: mend"),
        ('[{"id": 1, "conf": 0.5}, {"id"', "object 2 is not JSON"),
    ],
)  # fmt: skip
def test_texts_that_cannot_be_ranked_are_one_line_and_leave_nothing(text, says, tmp_path):
    path = tmp_path / "preds.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as told:
        streameval.plan(path, tmp_path / "s", score="conf", seed=1)
    message = str(told.value)
    assert says in message
    assert str(path) in message
    assert "\n" not in message
    assert not (tmp_path / "s").exists()


def test_missing_scores_may_come_last(tmp_path):
    (tmp_path / "p.csv").write_text("id,conf\n" + "".join(f"{i},{i / 64}\n" for i in range(60)) + "x,\ny,NaN\n")
    plan = streameval.plan(tmp_path / "p.csv", tmp_path / "s", score="conf", nan="last", budget=62, seed=1)
    assert plan.n_items == 62
    chosen = streameval.select(tmp_path / "s").table
    assert set(chosen.column("id").to_pylist()[-2:]) == {"x", "y"}


def test_the_same_plan_again_reads_nothing_and_another_list_is_refused_once_something_was_made(tmp_path, capsys):
    source, study = write(tmp_path / "p.csv"), tmp_path / "study"
    how = {"score": "conf", "budget": 100, "seed": 1}
    command = ["plan", str(source), "--score", "conf", "--study", str(study), "--budget", "100", "--seed", "1"]
    streameval.plan(source, study, **how)
    before = {path: path.stat().st_ino for path in (study / "ranking").iterdir()}
    streameval.plan(source, study, **how)
    assert {path: path.stat().st_ino for path in (study / "ranking").iterdir()} == before
    write(source, ROWS[:500])  # nothing was made of the plan: the new list takes its place
    capsys.readouterr()
    assert run(command) == 0
    assert "Replaces the earlier plan" in capsys.readouterr().out
    assert streameval.select(study).table.column("id").to_pylist() < [ROWS[500][0]]
    write(source, ROWS[:400])
    with pytest.raises(StudyError, match="holds a plan of another list"):
        streameval.plan(source, study, **how)
    assert pq.read_table(study / "ranking").num_rows == 500


def test_a_copy_that_was_changed_is_refused(tmp_path, capsys):
    streameval.plan(write(tmp_path / "p.csv"), tmp_path / "s", score="conf", budget=100, seed=1)
    (part,) = (tmp_path / "s" / "ranking").glob("*.parquet")
    pq.write_table(pq.read_table(part).slice(1), part)
    assert "p.csv is damaged, or that of another list. Hint: restore" in refused(capsys, "select", tmp_path / "s")


def swap_parts(copy):
    first, second, *_ = sorted(copy.glob("part-*"))
    first.rename(copy / "held")
    second.rename(first)
    (copy / "held").rename(second)


PARTS = {  # what may happen to the parts of a copy, each of them a valid file by itself
    "swapped": swap_parts,
    "one gone": lambda copy: sorted(copy.glob("part-*"))[1].unlink(),
    "one twice": lambda copy: shutil.copy(copy / "part-00000.parquet", copy / "part-00099.parquet"),
    "another's": lambda copy: pq.write_table(
        pq.read_table(copy / "part-00000.parquet").slice(1), copy / "part-00000.parquet"
    ),
}


@pytest.mark.parametrize("harm", PARTS.values(), ids=PARTS)
def test_parts_that_are_not_those_that_were_written_are_read_from_the_source_again(harm, tmp_path, monkeypatch):
    monkeypatch.setattr(publish, "_PART_BYTES", 100)
    monkeypatch.setattr(write_module, "_STEP", 200)
    monkeypatch.setattr(write_module, "_GROUP_ROWS", 200)
    source, study = write(tmp_path / "p.csv", [(*row[:2], 7, *row[3:]) for row in ROWS]), tmp_path / "study"
    how = {"budget": 300, "seed": 5}
    streameval.plan(source, study, **how)
    copy = study / "ranking"
    digests = json.loads((copy / "_source.json").read_text())["parts"]
    assert sorted(digests) == sorted(path.name for path in copy.glob("part-*")) != []
    assert len(set(digests.values())) == len(digests)
    before = pq.read_table(copy)
    harm(copy)
    streameval.plan(source, study, **how)  # nothing was selected
    assert pq.read_table(copy).equals(before)
    chosen = streameval.select(study).table
    harm(copy)
    with pytest.raises(StudyError, match=r"this study's copy of .*p\.csv is damaged, or that of another list"):
        streameval.select(study)
    streameval.plan(source, study, **how)
    assert streameval.select(study).table.equals(chosen)


def test_a_copy_that_is_gone_is_said_to_be_and_the_same_plan_brings_it_back(tmp_path, capsys):
    source, study = write(tmp_path / "preds.csv"), tmp_path / "study"
    command = ["plan", source, "--score", "conf", "--study", study, "--budget", "300", "--seed", "5"]
    assert run([str(one) for one in command]) == 0
    chosen = streameval.select(study).table
    shutil.rmtree(study / "ranking")
    said = refused(capsys, "select", study, "--export", tmp_path / "tasks.csv")
    assert f"ranking: this study's copy of {source} is gone. Hint: restore the folder, or plan {source} into" in said
    assert "with seed 5" in said
    other = write(tmp_path / "other.csv", ROWS[1:])
    assert "a plan of another list" in refused(capsys, command[0], other, *command[2:])
    assert not (study / "ranking").exists()
    assert run([str(one) for one in command]) == 0
    assert "as planned before" in capsys.readouterr().out
    assert streameval.select(study).table.equals(chosen)


@pytest.fixture
def two_studies(tmp_path):
    """Studies of two lists with the same options, something made of both: their folder, and how they were planned."""
    how = {"score": "conf", "budget": 200, "seed": 5}
    for name, rows in (("mine", ROWS[:300]), ("other", ROWS[300:])):
        streameval.plan(write(tmp_path / f"{name}.csv", rows), tmp_path / name, **how)
        streameval.select(tmp_path / name)
    return tmp_path, how


def take_copy(mine, other):
    shutil.rmtree(mine / "ranking")
    shutil.copytree(other / "ranking", mine / "ranking")


def test_the_whole_copy_of_another_study_is_a_lost_copy(two_studies, capsys):
    folder, how = two_studies
    mine, before = folder / "mine", pq.read_table(folder / "mine" / "ranking")
    chosen = streameval.select(mine).table
    take_copy(mine, folder / "other")
    said = refused(capsys, "select", mine)
    assert "mine.csv is damaged, or that of another list" in said
    assert f"plan {folder / 'mine.csv'} into this study again, with seed 5" in said
    with pytest.raises(StudyError, match=r"a plan of another list than .*other\.csv.*that is there: of .*mine\.csv"):
        streameval.plan(folder / "other.csv", mine, **how)  # whose copy it is
    streameval.plan(folder / "mine.csv", mine, **how)
    assert pq.read_table(mine / "ranking").equals(before)
    assert streameval.select(mine).table.equals(chosen)


def harm_footer(part):
    content = bytearray(part.read_bytes())
    content[-20] ^= 1
    part.write_bytes(content)


def test_a_footer_that_is_damaged_is_mended_by_the_same_plan(two_studies, capsys):
    folder, how = two_studies
    (part,) = (folder / "mine" / "ranking").glob("part-*")
    harm_footer(part)
    assert f"plan {folder / 'mine.csv'} into this study again" in refused(capsys, "select", folder / "mine")
    streameval.plan(folder / "mine.csv", folder / "mine", **how)
    assert streameval.select(folder / "mine").table.num_rows == 179


def harm_pages(part):
    content = bytearray(part.read_bytes())
    content[100 : len(content) // 2] = bytes(len(content) // 2 - 100)
    part.write_bytes(content)


def test_pages_that_are_damaged_say_what_reads_the_list_again(two_studies, capsys):
    folder, how = two_studies
    mine = folder / "mine"
    harm_pages(next((mine / "ranking").glob("part-*")))
    (mine / "selection.parquet").unlink()
    said = refused(capsys, "select", mine)
    assert f"{mine / 'ranking'}: this study's copy of {folder / 'mine.csv'} is damaged (part-00000.parquet: " in said
    assert f"or move it away and plan {folder / 'mine.csv'} into this study again, with seed 5" in said
    said = refused(capsys, "plan", folder / "mine.csv", "--study", mine, "--by", "good", "--score", "conf")
    assert f"Hint: move {mine / 'ranking'} away and run the same command again" in said
    (mine / "ranking").rename(folder / "away")
    streameval.plan(folder / "mine.csv", mine, **how)
    assert streameval.select(mine).table.num_rows == 179


def test_a_copy_that_was_set_aside_when_a_plan_was_killed_is_put_back_or_removed(two_studies):
    folder, how = two_studies
    copy, aside = folder / "mine" / "ranking", folder / "mine" / ".ranking.old"
    before = {path.name: path.stat().st_ino for path in copy.iterdir()}
    copy.rename(aside)  # killed before the new copy came to its place
    streameval.plan(folder / "mine.csv", folder / "mine", **how)
    assert {path.name: path.stat().st_ino for path in copy.iterdir()} == before
    shutil.copytree(folder / "other" / "ranking", aside)  # killed after it
    streameval.plan(folder / "mine.csv", folder / "mine", **how)
    assert {path.name: path.stat().st_ino for path in copy.iterdir()} == before
    assert not aside.exists()


PAIR = {"score": "conf", "key": "id", "seed": 5, "questions": "gain@50"}


def test_of_two_lists_each_is_named_in_errors_and_brought_back(tmp_path, capsys):
    turned = [(*row[:2], 1 - row[2], *row[3:]) for row in ROWS[:200]]
    b, a, study = write(tmp_path / "b.csv", ROWS[:200]), write(tmp_path / "a.csv", turned), tmp_path / "study"
    streameval.plan(b, study, against=a, **PAIR)
    chosen = streameval.select(study).table
    for name, source in (("against", a), ("ranking", b)):
        shutil.rmtree(study / name)
        assert f"{name}: this study's copy of {source} is gone" in refused(capsys, "select", study)
    streameval.plan(b, study, against=a, **PAIR)
    assert streameval.select(study).table.equals(chosen)


def test_of_two_lists_one_in_the_place_of_the_other_is_a_lost_copy(tmp_path, capsys):
    turned = [(*row[:2], 1 - row[2], *row[3:]) for row in ROWS[:60]]
    b, a, study = write(tmp_path / "b.csv", ROWS[:60]), write(tmp_path / "a.csv", turned), tmp_path / "study"
    streameval.plan(b, study, against=a, **PAIR)
    streameval.select(study)
    before = pq.read_table(study / "against")
    shutil.rmtree(study / "against")
    shutil.copytree(study / "ranking", study / "against")
    assert f"this study's copy of {a} is damaged, or that of another list" in refused(capsys, "select", study)
    streameval.plan(b, study, against=a, **PAIR)
    assert pq.read_table(study / "against").equals(before)


def test_what_is_wrong_in_the_other_list_is_told_of_it(tmp_path):
    b, twice = write(tmp_path / "b.csv", ROWS[:200]), write(tmp_path / "twice.csv", [ROWS[0], *ROWS[:200]])
    with pytest.raises(InputError, match=f"^{re.escape(str(twice))}: "):
        streameval.plan(b, tmp_path / "other", against=twice, **{**PAIR, "questions": "gain@200"})


def test_a_study_without_its_ranks_is_a_study_that_misses_them(tmp_path, capsys):
    source, study = write(tmp_path / "preds.csv"), tmp_path / "study"
    command = ["plan", str(source), "--score", "conf", "--study", str(study), "--budget", "300", "--seed", "5"]
    assert run(command) == 0
    (study / "plan.parquet").unlink()
    assert f"{study / 'plan.parquet'} is missing from this study. Hint: restore it, or repeat" in refused(
        capsys, "select", study
    )
    assert run(command) == 0
    assert run(["select", str(study)]) == 0


@pytest.fixture
def labelled(tmp_path, monkeypatch):
    """A text whose every row has a label."""
    monkeypatch.chdir(tmp_path)
    return write(tmp_path / "p.csv", [(*row[:3], int(row[3])) for row in ROWS], ["id", "text", "conf", "good"])


def test_exact_cost_and_simulate_read_a_text_as_a_table(labelled, tmp_path):
    source = labelled
    pq.write_table(pa.table({"conf": CONF, "good": [int(row[3]) for row in ROWS]}), tmp_path / "p.parquet")
    of_text = streameval.exact(source, label="good", score="conf")
    of_table = streameval.exact(tmp_path / "p.parquet", label="good", score="conf")
    assert of_text.curve.precision_at(100) == of_table.curve.precision_at(100)
    assert streameval.cost(source).n_items == ITEMS
    assert streameval.simulate(source, label="good", score="conf", replicates=1).rows
    assert {path.name for path in tmp_path.iterdir()} == {"p.csv", "p.parquet"}


def test_dry_runs_read_a_text_and_leave_nothing(labelled, tmp_path, capsys):
    before = set(tmp_path.iterdir())
    for command in (["plan", "p.csv", "--study", "s"], ["exact", "p.csv", "--label", "good"]):
        assert run([*command, "--score", "conf", "--dry-run"]) == 0
    assert set(tmp_path.iterdir()) == before
    assert "workers read Parquet files" in refused(capsys, "exact", "p.csv", "--label", "good", "--engine", "spark")


def test_a_text_or_query_is_looked_at_by_rank_once_it_is_planned(tmp_path):
    source, study = write(tmp_path / "p.csv"), tmp_path / "s"
    write(tmp_path / "p.jsonl")
    for one in (source, [str(tmp_path / "p.jsonl")], tmp_path / "*.csv", "duckdb:x.db#SELECT 1", "trec:a#b"):
        for opened in (streameval.open_ranking, streameval.scan_ranking):
            with pytest.raises(InputError, match=r"plan it first, then give 'STUDY/ranking', with the same score"):
                opened(one, score="conf") if opened is streameval.scan_ranking else opened(one)
    streameval.plan(source, study, score="conf", budget=100, seed=1)
    frame = streameval.scan_ranking(study / "ranking", score="conf")
    assert frame.head(50).collect()["conf"].to_list() == sorted(CONF.tolist(), reverse=True)[:50]
    table = pa.table({"x": [1, 2]})
    pq.write_table(table, tmp_path / "named.csv")  # its bytes are those of Parquet
    assert streameval.open_ranking(tmp_path / "named.csv").n_items == 2


def test_a_dry_run_names_what_the_plan_of_a_text_writes(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "p.csv")
    plan = ["plan", "p.csv", "--study", "s", "--score", "conf", "--seed", "1"]
    assert run([*plan, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "The list would be read into s/ranking." in said
    assert "row group" not in said
    assert run([*plan, "--dry-run", "--json"]) == 0
    foreseen = json.loads(capsys.readouterr().out)
    assert foreseen["source"] == ["p.csv"]
    assert run(plan) == 0
    written = {str(path.relative_to(tmp_path)) for path in (tmp_path / "s").iterdir()} - {"s/.lock"}
    assert {"/".join(name.split("/")[:2]) for name in foreseen["would_write"]} == written


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("exact p.csv --label grade --score conf", "streameval: p.csv: row 451: label 4.5 is not 0 or 1. Hint: "),
        ("exact p.csv --label text --score conf", "streameval: p.csv: row 1: text is 'said \"0\", and more'"),
        ("exact q.csv p.csv --label grade", "q.csv and 1 more: row 451: label 4.5 is not 0 or 1. Hint: "),
        ("plan p.csv --study s --score conf --judge text", "streameval: p.csv: row 1: judge column 'text' has "),
        ("plan p.csv --study s --by nope", "streameval: p.csv: there is no column 'nope'. Hint: "),
    ],
)
def test_what_is_wrong_in_a_copy_is_told_of_its_source(command, says, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(write_module, "_STEP", 128)
    monkeypatch.setattr(write_module, "_GROUP_ROWS", 128)
    grades = [(*row[:3], 4.5 if i == 450 else float(row[3])) for i, row in enumerate(ROWS)]
    for name in ("p.csv", "q.csv"):
        write(tmp_path / name, grades, ["id", "text", "conf", "grade"])
    said = refused(capsys, *command.split())
    assert says in said
    assert "part-0" not in said


def test_a_dry_run_takes_the_copy_of_the_study_while_the_text_is_the_same(tmp_path, monkeypatch, capsys):
    source, plan = write(tmp_path / "p.csv"), ["--study", str(tmp_path / "s"), "--score", "conf", "--seed", "1"]
    assert run(["plan", str(source), *plan]) == 0
    monkeypatch.setattr(write_module, "write_copy", lambda unread, *_: pytest.fail(f"{unread.name} was read again"))
    assert run(["plan", str(source), *plan, "--dry-run"]) == 0
    assert f"of {ITEMS:,} items would be planned" in capsys.readouterr().out
    write(source, ROWS[1:])
    with pytest.raises(pytest.fail.Exception, match=r"p\.csv was read again"):
        run(["plan", str(source), *plan, "--dry-run"])


def test_a_file_of_the_list_may_not_change_while_it_is_read(tmp_path, monkeypatch):
    source, states = write(tmp_path / "p.csv"), iter([(1, 1), (2, 2)])
    monkeypatch.setattr(LocalStore, "state", lambda self, path: next(states))
    with pytest.raises(InputError, match=r"p\.csv: changed or removed while it was read"):
        streameval.plan(source, tmp_path / "s", score="conf", seed=1)
    assert not (tmp_path / "s" / "ranking").exists()


def test_a_file_that_goes_away_while_it_is_read_is_named(tmp_path, monkeypatch):
    source, whole = write(tmp_path / "p.csv"), texts.in_batches

    def removed_at_its_end(*given):
        yield from whole(*given)
        source.unlink()

    monkeypatch.setattr(texts, "in_batches", removed_at_its_end)
    with pytest.raises(InputError, match=r"p\.csv: changed or removed while it was read"):
        streameval.plan(source, tmp_path / "s", score="conf", seed=1)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(("name", "says"), [("list.xlsx", "what is read: Parquet, and CSV"), ("-", "no standard input"),
                                            ("list.parquet", "cut short or damaged: write it again")])  # fmt: skip
def test_what_is_no_list_is_told_what_is(name, says, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.xlsx").write_bytes(b"PK\3\4" + bytes(100))
    (tmp_path / "list.parquet").write_bytes(b"PAR1" + bytes(100))
    assert says in refused(capsys, "plan", name, "--study", "s")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("name", cases(["list.csv", "list.jsonl"], "list.csv"))
def test_rows_of_a_text_that_is_read_in_parallel_come_in_its_order(name, tmp_path, monkeypatch):
    """The ranking of equal scores rests on it, and so does going on behind complete parts."""
    n = 30_000
    for reader in ("delimited", "lines"):
        monkeypatch.setattr(f"streameval.labelling.readers.{reader}.LINE", 1 << 15)  # what DuckDB reads at once
    path = tmp_path / name
    with path.open("w") as file:
        file.write("id,s\n" if name.endswith("csv") else "")
        line = "{},{}\n" if name.endswith("csv") else '{{"id":{},"s":{}}}\n'
        file.writelines(line.format(i, i * 7919 % 100) for i in range(n))
    for _ in range(2):
        with texts.open_list(path, RankingOptions(score="s")) as unread:
            ids = np.concatenate([batch.column("id").to_numpy() for batch in unread.batches()])
        assert np.array_equal(ids, np.arange(n))


def test_whole_numbers_that_would_be_rounded_are_no_scores(tmp_path):
    for name, scores in (("beyond", [(1 << 64) + i for i in range(9)]), ("mixed", [(1 << 60) + 1, 0.5])):
        path = write(tmp_path / f"{name}.csv", [(f"{i}a", score) for i, score in enumerate(scores)], ["id", "s"])
        with pytest.raises(InputError, match="whole numbers that are rounded"):
            streameval.plan(path, tmp_path / name, score="s", seed=1)
    fine = [(f"{i}a", score) for i, score in enumerate([1 << 53, 0.5, "1e3", -7])]
    path = write(tmp_path / "fine.csv", fine, ["id", "s"])
    assert (
        run(["plan", str(path), "--score", "s", "--study", str(tmp_path / "fine"), "--budget", "4", "--seed", "1"]) == 0
    )


def test_exact_cost_and_simulate_take_the_copy_that_a_study_beside_the_list_has(labelled, tmp_path, monkeypatch):
    exact = streameval.exact(labelled, label="good", score="conf").metrics
    streameval.plan(labelled, tmp_path / "s", score="conf", seed=1)
    monkeypatch.setattr(write_module, "write_copy", lambda unread, *_: pytest.fail(f"{unread.name} was read again"))
    assert streameval.exact(labelled, label="good", score="conf").metrics.equals(exact)
    assert streameval.cost(labelled, score="conf").n_items == ITEMS
    assert streameval.simulate(labelled, label="good", score="conf", replicates=1).rows
    again = pytest.raises(pytest.fail.Exception, match=r"p\.csv was read again")
    with again:  # whose scores may be of another type
        streameval.exact(labelled, label="good", score="good")
    shutil.move(tmp_path / "s" / "ranking" / "part-00000.parquet", tmp_path / "part-00001.parquet")
    with again:
        streameval.exact(labelled, label="good", score="conf")
    shutil.move(tmp_path / "part-00001.parquet", tmp_path / "s" / "ranking" / "part-00000.parquet")
    text = labelled.read_text()
    labelled.write_text(text.replace("0.5", "0.6"))
    with again:
        streameval.exact(labelled, label="good", score="conf")


def test_columns_of_few_values_alone_have_dictionaries(tmp_path):
    streameval.plan(write(tmp_path / "p.csv"), tmp_path / "study", budget=300, seed=5)
    group = pq.read_metadata(tmp_path / "study/ranking/part-00000.parquet").row_group(0)
    coded = [group.column(i).path_in_schema for i in range(7) if group.column(i).has_dictionary_page]
    assert coded == ["good", "day", "big", "version"][1:]  # booleans have none


def test_a_lost_copy_that_a_former_version_wrote_is_written_as_it_was(tmp_path):
    source, study = write(tmp_path / "p.csv"), tmp_path / "study"
    how, copy = {"budget": 300, "seed": 5}, study / "ranking"
    study.mkdir()
    with texts.open_list(source, RankingOptions()) as unread:
        write_module.write_copy(unread, copy, lambda *_: None, "every column")
    record = read_json(copy / "_source.json", "")
    assert record.pop("dictionaries") == "every column"
    atomic.write_all({copy / "_source.json": atomic.json_object(record)})  # former versions said nothing of it
    planned = streameval.plan(source, study, **how)
    assert "dictionaries" not in planned.location["copied"]
    streameval.select(study)
    before = {path.name: path.read_bytes() for path in copy.glob("part-*")}
    shutil.rmtree(copy)
    streameval.plan(source, study, **how)
    assert {path.name: path.read_bytes() for path in copy.glob("part-*")} == before
    other = streameval.plan(source, tmp_path / "other", **how)
    assert other.ranking["fingerprint"] != planned.ranking["fingerprint"]
