"""What cannot be compared is refused in one line, which says what, where and what to do, and nothing is written."""

import csv
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from suite_cases import cases, slow

import streameval
from streameval.cli import run

N = 2_000
AT = ["100,1000", "5%,50%", "score:1.5,score:0.5"]
FORMS = ["one table", "two tables"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with `both.parquet`, and the same items in `old.parquet` and `new.parquet`."""
    folder = tmp_path_factory.mktemp("kept")
    rng = np.random.default_rng(3)
    worth = rng.normal(size=N)
    ids = rng.permutation(10 * N)[:N]
    scores = {"old": worth + rng.normal(size=N), "new": worth + 0.3 * rng.normal(size=N)}
    both = pa.table({"id": ids, "text": [f"item {one}" for one in ids], **scores})
    write(both, folder / "both.parquet")
    for name in scores:
        alone = both.select(["id", "text"]).append_column("score", both.column(name))
        write(alone.take(pa.array(rng.permutation(N))), folder / f"{name}.parquet")
    return folder


@pytest.fixture
def lists(kept, tmp_path, monkeypatch):
    """These lists, in the folder where tests work."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(kept, tmp_path, dirs_exist_ok=True)


def write(table, name):
    pq.write_table(table, name, row_group_size=N)


def replaced(table, column, row, value):
    values = table.column(column).to_pylist()
    values[row] = value
    return table.set_column(table.column_names.index(column), column, pa.array(values, table.schema.field(column).type))


def plan(form, changed=None, *more, at="100,1000"):
    """Plan a comparison with the ranking A, or the table of both, changed; the exit status."""
    if form == "one table":
        ranking, score, against = "x.parquet" if changed else "both.parquet", "new", ["--against-score", "old"]
        other = ranking
    else:
        ranking, score, against = "new.parquet", "score", []
        other = "x.parquet" if changed else "old.parquet"
    if changed:
        write(changed(pq.read_table("both.parquet" if form == "one table" else "old.parquet"), score_of(form)), other)
    command = ["plan", ranking, "--score", score, "--against", other, *against, "--key", "id", "--for", f"gain@{at}"]
    return run([*command, "--study", "s", "--seed", "5", *more])


def score_of(form):
    """The column that orders A."""
    return "old" if form == "one table" else "score"


def best(table, score):
    return int(np.argmax(table.column(score).to_numpy()))


def refused(capsys, folder, *said):
    """An error is one line that says what is wrong, where, and what to do; there is no study, and nothing else new."""
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    for one in said:
        assert one in lines[0]
    assert {path.name for path in folder.iterdir()} <= {
        "both.parquet", "old.parquet", "new.parquet", "x.parquet", "there", "x.csv", "empty"}  # fmt: skip


TABLES = {
    "a key is null": (
        lambda table, score: replaced(table, "id", best(table, score), None),
        "x.parquet: row group ", "key column 'id' is null in 1 of the rows that are in a top", "Hint: every item needs",
    ),
    "a key stands twice": (
        lambda table, score: pa.concat_tables([table, table.slice(0, 1_500)]),
        "x.parquet: key 'id' does not tell items apart: ", "have the key of another (first: '", "Hint: name columns",
    ),
    "a score is NaN": (
        lambda table, score: replaced(table, score, 7, float("nan")),
        "x.parquet: row group 0", "1 item has no ", "(null or NaN", "Hint: every item needs a score",
    ),
    "a score is null": (
        lambda table, score: replaced(table, score, 7, None),
        "x.parquet: row group 0", "1 item has no ", "(null or NaN", "Hint: every item needs a score",
    ),
    "scores are texts": (
        lambda table, score: table.set_column(2, score, table.column(score).cast(pa.string())),
        "x.parquet: score column '", "is string, not a number or a date",
    ),
    "no key": (lambda table, score: table.drop_columns("id"), "x.parquet: there is no column 'id'. Hint: "),
    "no score": (lambda table, score: table.drop_columns(score), "x.parquet: there is no column '", "Hint: "),
    "the key is a list": (
        lambda table, score: table.set_column(0, "id", pa.array([[one] for one in table.column("id").to_pylist()])),
        "x.parquet: column 'id' is list", "Hint: ",
    ),
    "no rows": (lambda table, score: table.slice(0, 0), "x.parquet: no rows in 1 file(s). Hint: "),
}  # fmt: skip


BOTH = ("a key is null", "a key stands twice", "a score is NaN")  # are found by other code in each form


@pytest.mark.parametrize("at", cases(AT, AT[0]))
@pytest.mark.parametrize(
    ("wrong", "form"),
    [(wrong, form) for i, wrong in enumerate(TABLES) for form in (FORMS if wrong in BOTH else [FORMS[i % 2]])]
    + slow(*((wrong, FORMS[1 - i % 2]) for i, wrong in enumerate(TABLES) if wrong not in BOTH)),
)
def test_a_table_that_cannot_be_compared(lists, capsys, form, wrong, at):
    changed, *said = TABLES[wrong]
    assert plan(form, changed, at=at) == 2
    refused(capsys, lists, *said)


def as_type(kind):
    return lambda table, score: table.set_column(0, "id", table.column("id").cast(kind))


JOINS = {
    "key types differ": (
        as_type(pa.string()), "the first id is 10106 (int64) in ", "_string) in ", "Hint: give both one type",
    ),
    "numbers and booleans": (
        lambda table, score: table.set_column(0, "id", pc.greater(table.column("id"), 0)),
        "the first id is 10106 (int64) in ", "(bool) in ", "Hint: give both one type",
    ),
    "no common key": (
        lambda table, score: table.set_column(0, "id", pc.add(table.column("id"), 10**9)),
        "no key 'id' of ", "x.parquet is in ", "new.parquet (the first: id is ",
        "(int64)). Hint: name columns that hold the same identifiers",
    ),
}  # fmt: skip


@pytest.mark.parametrize("at", cases(AT, AT[0], AT[2]))
@pytest.mark.parametrize("wrong", JOINS)
def test_two_tables_that_cannot_be_joined(lists, capsys, wrong, at):
    changed, *said = JOINS[wrong]
    assert plan("two tables", changed, at=at) == 2
    refused(capsys, lists, *said)


CUTOFFS = [
    ("100000", "rank 100,000 is outside 1..2,000. Hint: "),
    ("150%", "a share of the list is 150%, outside (0, 1]"),
    (
        "0",
        "rank 0 is below 1, the rank of the best item (at column 6).",
    ),
    ("100,,1000", "gain@100,,1000: a cutoff is a number, 1%, score:0.7, precision:0.9 or recall:0.5 (at column 10)."),
    ("every", "gain@every: a cutoff is a number, 1%, score:0.7, precision:0.9 or recall:0.5 (at column 6)."),
    ("score:100", "no item of either ranking has score 100 or a better one. Hint: "),
    ("score:1,score:100", "no item of either ranking has score 100 or a better one. Hint: "),
    ("score:best", "score is 'best', not a number. Hint: "),
    ("100,score:1", "--for names ranks and scores. Hint: "),
    ("precision:0.9", "two rankings are not compared at precision:0.9. Hint: compare at ranks and scores"),
]


@pytest.mark.parametrize(
    ("form", "at", "said"),
    [(FORMS[i % 2], *one) for i, one in enumerate(CUTOFFS)]
    + slow(*((FORMS[1 - i % 2], *one) for i, one in enumerate(CUTOFFS))),
)
def test_cutoffs_that_are_none(lists, capsys, form, at, said):
    assert plan(form, at=at) == 2
    refused(capsys, lists, said)


def test_one_ranking_against_itself(lists, capsys):
    assert run(["plan", "new.parquet", "--against", "new.parquet", "--key", "id", "--study", "s"]) == 2
    refused(capsys, lists, "a ranking would be compared with itself. Hint: ")
    same = "plan both.parquet --score old --against both.parquet --against-score old --key id --study s"
    assert run(same.split()) == 2
    refused(capsys, lists, "a ranking would be compared with itself. Hint: ")


def against(source, ranking="new.parquet"):
    return run(["plan", ranking, "--score", "score", "--against", source, "--key", "id", "--study", "s"])


def test_a_judge_that_is_no_column_of_both_lists(lists, capsys):
    assert plan("two tables", None, "--judge", "nope") == 2
    refused(capsys, lists, "new.parquet and ", "old.parquet: there is no column 'nope'. Hint: ")
    assert plan("two tables", lambda table, _: table.append_column("nope", table.column("id")), "--judge", "nope") == 2
    refused(capsys, lists, "new.parquet: there is no column 'nope'. Hint: both lists need it; there are: id")


def test_a_comparison_does_not_grow(lists, capsys):
    assert plan("two tables") == 0
    assert run(["grow", "s"]) == 2
    said = capsys.readouterr().err
    assert "s is a study of two rankings, which grow does not read" in said
    assert 'with `plan --for "gain@K within X%" --reuse STUDY`' in said


def test_another_ranking_that_is_none(lists, capsys):
    assert against("nothing.parquet") == 2
    refused(capsys, lists, "nothing.parquet: no such file or folder. Hint: ")
    (lists / "x.parquet").write_text("no table")
    assert against("x.parquet") == 2
    refused(capsys, lists, "x.parquet: 8 bytes are not a Parquet file. Hint: ")
    (lists / "empty").mkdir()
    assert against("empty") == 2
    refused(capsys, lists, "empty: no Parquet file in this folder, and no text. Hint: ")


def test_a_study_is_no_ranking(lists, capsys):
    streameval.plan("new.parquet", "there", score="score")
    assert against("there") == 2
    refused(capsys, lists, "there: a study, and no ranking. Hint: ")
    assert against("old.parquet", "there") == 2
    refused(capsys, lists, "there: a study, and no ranking. Hint: ")


def test_no_key_is_named(lists, capsys):
    assert run(["plan", "new.parquet", "--score", "score", "--against", "old.parquet", "--study", "s"]) == 2
    refused(capsys, lists, "nothing names the items. Hint: name the column that does with --key COL")


def as_text(name):
    pyarrow.csv.write_csv(pq.read_table(f"{name}.parquet"), "x.csv")


def test_texts_are_read_once_in_place_of_either_list(lists, capsys):
    as_text("new")
    assert against("nothing.parquet", "x.csv") == 2
    refused(capsys, lists, "nothing.parquet: no such file or folder. Hint: ")
    assert against("old.parquet", "x.csv") == 0
    copied = streameval.select("s").table
    shutil.rmtree("s")
    as_text("both")
    one = "plan x.csv --score new --against x.csv --against-score old --key id --study s --seed 5 --for gain@100,1000"
    assert run(one.split()) == 0
    assert copied.num_rows
    there = sorted(streameval.select("s").table.column("id").to_pylist())
    shutil.rmtree("s")
    assert plan("one table") == 0
    assert sorted(streameval.select("s").table.column("id").to_pylist()) == there


def test_keys_below_every_top_are_not_looked_at(lists):
    def null(table, score):
        return replaced(table, "id", int(np.argmin(table.column(score).to_numpy())), None)

    for form in FORMS:
        assert plan(form, null) == 0
        shutil.rmtree("s")


def test_scores_that_come_last_are_compared(lists):
    def without_score(table, score):
        return replaced(table, score, int(np.argmax(pc.equal(table.column("id"), missing))), None)

    missing = pq.read_table("both.parquet").column("id")[7].as_py()
    found = []
    for form in FORMS:
        assert plan(form, without_score, "--nan", "last") == 0
        found.append(sorted(streameval.select("s").table.column("id").to_pylist()))
        shutil.rmtree("s")
    assert found[0] == found[1]


@pytest.mark.parametrize("at", ["100,1000", "score:0.5"])
def test_lists_of_different_lengths(lists, capsys, at):
    """All of a list that is shorter than a cutoff is its top, and both sizes are said."""
    assert plan("two tables", lambda table, score: table.slice(0, 700), at=at) == 0
    said = capsys.readouterr().out
    new, old = pq.read_table("new.parquet"), pq.read_table("old.parquet").slice(0, 700)
    at_score = at.startswith("score")
    sizes = [int(np.sum(table.column("score").to_numpy() >= 0.5)) if at_score else min(1_000, table.num_rows)
             for table in (new, old)]  # fmt: skip
    assert f"({sizes[0]:,} in B, {sizes[1]:,} in A)" in said
    assert ("A has only 700 items. At larger cutoffs its top is the whole list" in said) != at_score
    tasks = streameval.select("s").table
    labels = tasks.select(["se_task"]).append_column("label", pa.array(np.ones(tasks.num_rows, np.int8)))
    found = streameval.evaluate("s", labels=labels)
    row = found.tables["differences"].to_pylist()[-1]
    assert (row["items_b"], row["items_a"]) == tuple(sizes)
    assert row["lower"] <= sizes[0] - sizes[1] <= row["upper"]
    assert "precision_gain" not in str(found.metrics.to_pylist()[-1])


@pytest.mark.parametrize("form", FORMS)
def test_a_list_that_changed_since_it_was_planned(lists, capsys, form):
    assert plan(form, lambda table, score: table) == 0
    write(pq.read_table("x.parquet").slice(1), "x.parquet")
    capsys.readouterr()
    assert run(["select", "s"]) == 2
    said = capsys.readouterr().err
    assert "fingerprint" in said
    assert "plan the new list into a new study" in said
    assert not (lists / "s" / "selection.parquet").exists()


def test_nothing_of_a_plan_changes_once_it_is_begun(lists, capsys):
    assert plan("two tables") == 0
    before = (lists / "s" / "plan.json").read_bytes()
    streameval.select("s")
    capsys.readouterr()
    for more, at in (([], "100"), (["--for", "gain@100 within 5%"], "100,1000")):
        assert plan("two tables", None, *more, at=at) != 0
        assert "holds a different plan" in capsys.readouterr().err
        assert (lists / "s" / "plan.json").read_bytes() == before
    assert plan("two tables") == 0  # the same plan again is no other one


def test_labels_that_are_none(lists, capsys):
    """Values other than 0 and 1, rows of one item that contradict each other, and items that were not asked about."""
    assert plan("two tables") == 0
    tasks = streameval.select("s").table
    names = tasks.column("se_task").to_pylist()
    rows = [[names[0], "1"], [names[0], "0"], [names[1], "perhaps"], [names[2], "1"], ["elsewhere", "1"]]
    with open("answers.csv", "w", newline="") as file:
        csv.writer(file).writerows([["se_task", "label"], *rows])
    found = streameval.evaluate("s", labels="answers.csv")
    issues = [one for one in found.tables["issues"].to_pylist() if one["kind"] != "missing"]
    assert sorted(one["kind"] for one in issues) == [
        "contradictory", "contradictory", "undecided", "unknown", "unreadable",
    ]  # fmt: skip
    labels = found.tables["labels"]
    assert labels.num_rows - labels.column("label").null_count == 1


def test_a_text_without_the_key_is_told_that_both_lists_need_it(lists, capsys):
    (lists / "x.csv").write_text("ID,old\n1,0.5\n2,0.25\n")
    command = "plan new.parquet --score score --against x.csv --against-score old --key id --study s"
    assert run(command.split()) == 2
    refused(capsys, lists, "x.csv: there is no column 'id'. Hint: both lists need it; did you mean 'ID'?")
