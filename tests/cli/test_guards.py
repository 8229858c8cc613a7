"""What people made is neither replaced nor taken for something else: files in the way, tasks of another study."""

import csv
import io
import json
import multiprocessing
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import refusals
from suite_cases import cases

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.labelling.match_items import agree
from streameval.reporting import charts
from streameval.stores import atomic
from streameval.study import Study
from streameval.text import identity
from streameval.verbs import report

N = 600
TEXTS = ["=SUM(1)", "MARCH1", "00123", "Zürich, straße", "a\nb\tc", "caffè & <b>té</b>", "x" * 40_000, "1e5", "中文"]


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """Studies of lists of their own, selected, each with its export beside it."""
    root = tmp_path_factory.mktemp("once")
    for folder, name, seed, head in (("", "a", 0, "document"), ("", "b", 1, "document"), ("other", "b", 1, "other")):
        make(root / folder, name, seed, head)
    return root


def make(folder, name, seed, head):
    folder.mkdir(exist_ok=True)
    path, study = folder / f"{name}.parquet", folder / name
    texts = [TEXTS[i] if i < len(TEXTS) and seed == 0 else f"{head} {i}" for i in range(N)]
    ids = np.arange(N) + 123_456_789_012 + seed * 10**9
    pq.write_table(pa.table({"id": ids, "text": texts, "seen": np.random.default_rng(seed).random(N)}), path)
    plan = ["plan", str(path), "--study", str(study), "--method", "loguniform", "--budget", "100", "--seed", str(seed)]
    assert run(plan) == 0
    columns = ["--columns", "id,text,seen"]  # ids that follow the order are shown where they are asked for
    assert run(["select", str(study), *columns, "--export", str(folder / f"{name}.csv")]) == 0


@pytest.fixture
def made(once, tmp_path):
    """Copy one of the studies, and its export, for a test."""

    def copy(name, folder=""):
        shutil.copy(once / folder / f"{name}.csv", tmp_path)
        return shutil.copytree(once / folder / name, tmp_path / name)

    return copy


def filled(path, drop=(), **more):
    """Rows of a task file as a person gives it back."""
    with open(path, encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    kept = [{k: v for k, v in row.items() if k not in drop} | {"label": i % 2, **more} for i, row in enumerate(rows)]
    text = io.StringIO()
    out = csv.DictWriter(text, kept[0])
    out.writeheader()
    out.writerows(kept)
    return text.getvalue()


def refused(capsys, *arguments):
    message = refusals.refused(capsys, *arguments)
    assert "Hint: " in message
    return message


def test_tasks_of_another_study_that_lost_its_name_are_refused(made, tmp_path, capsys):
    a, b = made("a"), made("b")
    lost = tmp_path / "lost.csv"
    lost.write_text(filled(tmp_path / "b.csv", drop=("se_study",)), encoding="utf-8")
    said = refused(capsys, "evaluate", a, "--labels", lost)
    assert "give the table that was made from this study's tasks" in said
    assert not (a / "votes").exists()
    assert run(["evaluate", str(b), "--labels", str(lost)]) == 0


def test_numbers_of_tasks_are_short_exact_and_say_no_rank(once):
    selection = pq.read_table(once / "a" / "selection.parquet")
    tasks = selection.column("se_task").to_numpy()
    assert np.all((tasks >= 10**9) & (tasks < 10**10))
    assert np.array_equal(np.sort(tasks), np.arange(tasks.min(), tasks.min() + tasks.size))
    assert abs(np.corrcoef(tasks, selection.column("rank").to_numpy())[0, 1]) < 0.3
    plan = Study(once / "a").plan()
    assert tasks.min() == 10**9 + int(plan.plan_id, 16) % (15 * 10**8)


def test_numbers_that_a_study_has_given_out_stay(tmp_path, capsys):
    """Studies planned before numbered their tasks from 1; so do they still, when they are selected again or grow."""
    path, study = tmp_path / "x.parquet", tmp_path / "x"
    pq.write_table(pa.table({"id": np.arange(N)}), path)
    plan = ["plan", str(path), "--study", str(study), "--budget", "100", "--stages", "3:later", "--seed", "1"]
    assert run(plan) == 0
    assert run(["select", str(study)]) == 0
    table = pq.read_table(study / "selection.parquet")
    old = table.column("se_task").to_numpy() - table.column("se_task").to_numpy().min() + 1
    at = table.column_names.index("se_task")
    kept = {key: value for key, value in table.schema.metadata.items() if key != b"streameval_checksum"}
    earlier = table.set_column(at, "se_task", pa.array(old)).replace_schema_metadata(kept)
    pq.write_table(earlier, study / "selection.parquet")
    rows = zip(old.tolist(), table.column("id").to_pylist(), strict=True)
    (tmp_path / "done.csv").write_text("se_task,id,label\n" + "".join(f"{task},{item},1\n" for task, item in rows))
    assert run(["select", str(study)]) == 0
    assert pq.read_table(study / "selection.parquet").column("se_task").to_pylist() == old.tolist()
    assert run(["grow", str(study), "--budget", "50"]) == 0
    assert run(["select", str(study)]) == 0
    grown = pq.read_table(study / "selection.parquet")
    known = dict(zip(grown.column("rank").to_pylist(), grown.column("se_task").to_pylist(), strict=True))
    assert [known[rank] for rank in table.column("rank").to_pylist()] == old.tolist()
    assert run(["evaluate", str(study), "--labels", str(tmp_path / "done.csv")]) == 0


def test_new_numbers_stay_when_a_study_grows_and_with_repeats(tmp_path):
    path, study = tmp_path / "x.parquet", tmp_path / "x"
    pq.write_table(pa.table({"id": np.arange(N)}), path)
    plan = ["plan", str(path), "--study", str(study), "--budget", "100", "--stages", "3:later", "--seed", "1"]
    assert run(plan) == 0
    assert run(["select", str(study), "--export", str(tmp_path / "one.csv"), "--columns", "id", "--repeats", "5"]) == 0
    (tmp_path / "done.csv").write_text(filled(tmp_path / "one.csv"), encoding="utf-8")
    extra = pq.read_table(study / "extra_tasks.parquet").column("se_task").to_numpy()
    assert np.all((extra >= 10**9) & (extra < 10**10))
    assert run(["grow", str(study), "--budget", "50"]) == 0
    assert run(["select", str(study), "--export", str(tmp_path / "two.csv"), "--columns", "id", "--repeats", "5"]) == 0
    assert run(["evaluate", str(study), "--labels", str(tmp_path / "done.csv")]) == 0
    found = json.loads((study / "evaluation.json").read_text())
    assert found["account"]["labelled"] == len(csv_lines(tmp_path / "one.csv")) - 5


def test_rows_that_show_other_items_are_refused(made, tmp_path, capsys):
    """Numbers of tasks that were typed again, or ranks of another list: what stands beside them tells."""
    a = made("a")
    made("b", "other")
    mine, theirs = (filled(tmp_path / f"{name}.csv", drop=("se_study",)).splitlines() for name in "ab")
    numbers = csv_lines(tmp_path / "a.csv")
    with open(tmp_path / "b.csv", encoding="utf-8-sig", newline="") as stream:
        other = list(csv.DictReader(stream))
    assert mine[0] == theirs[0]
    wrong = tmp_path / "wrong.csv"
    with open(wrong, "w", newline="", encoding="utf-8") as stream:
        out = csv.writer(stream)
        out.writerow(["se_task", "id", "text", "label"])
        out.writerows([number, row["id"], row["text"], 1] for number, row in zip(numbers, other, strict=False))
    said = refused(capsys, "evaluate", a, "--labels", wrong)
    assert f"other items than this study's in {min(len(numbers), len(other))} rows: row 1 has id" in said
    assert said.count("its item") == 3
    assert "row 4" not in said
    assert not (a / "votes").exists()
    rank = pq.read_table(a / "selection.parquet").column("rank").to_pylist()[:20]
    wrong.write_text("rank,text,label\n" + "".join(f"{r},other {r},1\n" for r in rank))
    assert "row 1 has text 'other" in refused(capsys, "evaluate", a, "--labels", wrong)
    wrong.write_text("rank,their text,label\n" + "".join(f"{r},other {r},1\n" for r in rank))
    assert run(["evaluate", str(a), "--labels", str(wrong)]) == 0


def csv_lines(path):
    """Numbers of the tasks of an export."""
    with open(path, encoding="utf-8-sig", newline="") as stream:
        return [row["se_task"] for row in csv.DictReader(stream)]


def test_what_programs_make_of_a_value_agrees_with_it():
    honest = [
        ("=SUM(1)", "'=SUM(1)"), ("=SUM(1)", "#NAME?"), ("MARCH1", "1-Mar"), ("March 2001", "Mar-01"),
        ("3-4", "04.03.2026"), ("00123", "123"),
        ("123456789012", "1.23457E+11"), ("123456789012", "123457000000.0"), ("12345678901234567890", "1.23457E+19"),
        ("caffè", "caff\u00c3\u00a8"), ("caffè", "caff?"), ("中文", "??"), ("AT&T <b>", "AT&amp;T &lt;b&gt;"),
        ("a\r\nb", "a b"), (" x ", "x"), ("x" * 40_000, "x" * 32_767), ("text", ""), ("7", "7.0"), ("7", "NaN"),
        ("TRUE", "True"), ("1e5", "100000"), ("“quoted”", '"quoted"'), ("-5", "'-5"), ("1234", "1,234"),
    ]  # fmt: skip
    assert [pair for pair in honest if not agree(*pair)] == []
    for pair in [("7", "8"), ("cat", "dog"), ("123456789012", "123456789013.5e9"), ("document 5", "document 6"),
                 ("x" * 30, "y" * 30), ("other 1", "other 2"), ("doc-11", "doc-12"), ("Zürich", "Genève"),
                 ("10000000001", "10000000002")]:  # fmt: skip
        assert not agree(*pair), pair


NUMBERS = ["7e09422642878561", "0012345678901234", "1234567890123456", "00000000000000e5", "123456789012345d"]


@pytest.mark.parametrize("digits", NUMBERS)
def test_a_study_id_that_looks_like_a_number_is_read_as_text(digits, once, tmp_path, capsys):
    rows = {"csv": f"se_study,se_task,label\n{digits},1,1\n", "tsv": f"se_study\tse_task\tlabel\n{digits}\t1\t1\n"}
    rows["jsonl"] = f'{{"se_study": "{digits}", "se_task": 1, "label": 1}}\n'
    for kind, text in rows.items():
        (tmp_path / f"one.{kind}").write_text(text)
        assert f"belong to study {digits}, this one" in refused(
            capsys, "evaluate", once / "a", "--labels", tmp_path / f"one.{kind}"
        )


@pytest.mark.parametrize("digits", [*NUMBERS, "7e09422642878561" * 2, "0" * 30])
def test_no_study_has_an_id_that_other_programs_take_for_a_number(digits, tmp_path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    made_of = identity(digits + "b" + digits + "c" + digits)
    (tmp_path / "tasks.csv").write_text(f"se_study\n{made_of}\n")
    assert len(made_of) == 16
    for read in (pandas.read_csv, polars.read_csv, pyarrow.csv.read_csv):
        assert str(read(tmp_path / "tasks.csv")["se_study"][0]) == made_of
    plain = "7e0942264287856a"
    assert identity(plain + digits) != plain
    assert identity("7e094226428785a1" + digits) == "7e094226428785a1"


def test_an_honest_round_trip_is_taken(made, tmp_path):
    study, duckdb, pandas = made("a"), pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    programs = ["as it is", "pandas", "duckdb", "excel"]
    given = {name: filled(tmp_path / "a.csv", annotator=name) for name in programs}
    files = {name: tmp_path / f"{name}.csv" for name in programs}
    files["as it is"].write_text(given["as it is"], encoding="utf-8")
    pandas.read_csv(io.StringIO(given["pandas"])).to_csv(files["pandas"], index=False)
    (tmp_path / "given.csv").write_text(given["duckdb"], encoding="utf-8")
    duckdb.sql(f"COPY (FROM read_csv('{tmp_path}/given.csv')) TO '{files['duckdb']}'")
    files["excel"].write_bytes(as_excel_saves(given["excel"]))
    found = streameval.evaluate(study, labels=list(files.values())).summary["account"]
    planned = pq.read_metadata(study / "plan.parquet").num_rows
    assert found["labelled"] == found["planned"] == planned
    assert (found["votes"], found["again"]) == (len(programs) * planned, 0)


def as_excel_saves(text):
    """Numbers of twelve digits in six, texts cut, semicolons, no formula mark, letters that UTF-8 alone has kept."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";")
    for row in csv.reader(io.StringIO(text)):
        cells = [f"{float(cell):.5E}" if cell.isdigit() and len(cell) > 11 else cell[:32_767] for cell in row]
        writer.writerow([cell.lstrip("'") for cell in cells])
    return out.getvalue().encode("utf-8-sig")


@pytest.mark.parametrize(
    "name", cases(["tasks.csv", "tasks.jsonl", "tasks.label-studio.json", "tasks.html"], "tasks.csv", "tasks.html")
)
def test_an_export_never_replaces_what_people_filled_in(name, made, tmp_path, capsys):
    study, tasks = made("a"), tmp_path / name
    export = ["select", str(study), "--export", str(tasks)]
    assert run(export) == 0
    before = tasks.stat().st_mtime_ns
    assert run(export) == 0  # the same again leaves it alone
    assert tasks.stat().st_mtime_ns == before
    done = tasks.read_bytes().replace(b'"', b"'", 1) + b"\n"
    tasks.write_bytes(done)
    said = refused(capsys, *export)
    assert f"{name} exists already, and differs from what would be written" in said
    assert "so it is not replaced: export to another name" in said
    assert tasks.read_bytes() == done
    other = made("b")
    refused(capsys, "select", other, "--export", tasks)
    refused(capsys, *export, "--repeats", "3")
    assert tasks.read_bytes() == done
    assert not list(tmp_path.glob(".*.part"))


RESULTS = {  # a file, and the command that writes it
    "r.html": ("report", "A", "--out", "mine/r.html"),
    "precision.svg": ("report", "A", "--plot", "mine"),
    "q.parquet": ("sql", "A", "SELECT 1 AS one", "--out", "mine/q.parquet"),
    "c.svg": ("compare", "A", "B", "--plot", "mine/c.svg"),
    "curves.parquet": ("compare", "A", "B", "--out", "mine"),
    "s.svg": ("simulate", "T", "--label", "right", "--method", "uniform", "--replicates", "2", "--plot", "mine/s.svg"),
}


@pytest.mark.parametrize("drawn", cases([False, True], False))
@pytest.mark.parametrize("name", RESULTS)
def test_results_replace_no_file_of_somebody_else(name, drawn, catalogue, study, tmp_path, capsys, monkeypatch):
    """Pictures, which take long to draw, are here what would be drawn."""
    monkeypatch.chdir(tmp_path)
    if not drawn:
        for place in (charts, report):
            monkeypatch.setattr(place, "picture", lambda chart, kind: json.dumps(chart).encode())
    places = {"A": study("curve-evaluated"), "B": study("stored-evaluated"), "T": catalogue.lists / "stored.parquet"}
    words, file = [str(places.get(word, word)) for word in RESULTS[name]], tmp_path / "mine" / name
    file.parent.mkdir()
    file.write_text("mine")
    assert "replace it with --overwrite" in refused(capsys, *words)
    assert file.read_text() == "mine"
    assert run([*words, "--overwrite"]) == 0
    written = file.read_bytes()
    assert written != b"mine"
    assert run(words) == 0  # the same again is harmless
    assert file.read_bytes() == written


def test_exact_replaces_no_page_of_somebody_else_and_its_own(tmp_path, capsys):
    truth, mine = tmp_path / "truth.parquet", tmp_path / "mine"
    pq.write_table(pa.table({"label": np.random.default_rng(1).integers(0, 2, 400)}), truth)
    mine.mkdir()
    (mine / "report.html").write_text("mine")
    assert "was not written by exact" in refused(capsys, "exact", truth, "--label", "label", "--out", mine)
    assert (mine / "report.html").read_text() == "mine"
    exact = ["exact", str(truth), "--label", "label", "--out", str(tmp_path / "whole")]
    assert run(exact) == run(exact) == 0


def _write_own(path, start, found, number):
    def content(temporary):
        with open(temporary, "w") as stream:
            stream.write(str(number))
        start.wait()

    try:
        atomic.write_out({path: content})
        found.put(number)
    except InputError:
        found.put(-1)


def test_of_two_processes_one_writes_and_the_other_is_refused(tmp_path):
    context = multiprocessing.get_context("fork")
    start, found = context.Barrier(2), context.Queue()
    both = [context.Process(target=_write_own, args=(tmp_path / "x", start, found, n)) for n in (1, 2)]
    for one in both:
        one.start()
    said = sorted(found.get(timeout=60) for _ in both)
    for one in both:
        one.join()
    assert said[0] == -1
    assert (tmp_path / "x").read_text() == str(said[1])
