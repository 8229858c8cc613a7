"""No flag is passed over where it is given with --per: it does something, or it is refused by name."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from drawn_found import found_by

from streameval.cli import flags_of, run

GOES, REFUSED = "goes", "refused"
# each flag with a value, and what becomes of it; those that go with --per have tests of their own
COMMON = {"--score score": GOES, "--file-order lexical": GOES, "--memory 1": GOES,
          "--threads 1": GOES, "--verify off": GOES, "--where day>='1'": REFUSED,
          "--json": GOES, "--log json": GOES, "--quiet": GOES,
          "--dry-run": REFUSED}  # fmt: skip
EXACT = {**COMMON, "--label label": GOES, "--labels x.csv": REFUSED, "--on id": REFUSED, "--misses 1": REFUSED,
         "--sample-of rows": REFUSED,
         "--method paula": REFUSED, "--out results": GOES,
         "--per query": GOES, "--at 1,3": GOES,
         "--key id": GOES, "--positives qrels.parquet": GOES, "--relevant >=1": GOES,
         "--positive 1 --negative 0": GOES, "--negative 0": GOES, "--labels-are positives": REFUSED,
         "--engine sparc": REFUSED, "--engine local:sc://x": REFUSED}  # fmt: skip
PLAN = {**COMMON, "--key id --score score": REFUSED, "--study new": GOES,
        "--per query": GOES, "--budget 30": GOES, "--for precision@2": GOES,
        "--confidence 0.9": GOES, "--seed 3": GOES, "--nan last --score score": REFUSED, "--method uniform": REFUSED,
        "--by query": REFUSED,
        "--judge label": GOES, "--judge label(0.5)": REFUSED, "--for precision@1,5": GOES, "--stages adaptive": REFUSED,
        "--alpha 0.1": REFUSED,
        "--judge accuracy=0.9": REFUSED, "--judge sample=5": REFUSED,
        "--label label": REFUSED, "--labels-unseen-by-model yes": REFUSED,
        "--stages 2": REFUSED, "--min-precision 0.5": REFUSED, "--on id": REFUSED,
        "--for precision@1>=0.5": REFUSED,
        "--against runs.parquet": REFUSED, "--against-score score": REFUSED, "--engine local:sc://x": REFUSED,
        "--reuse x.csv": REFUSED}  # fmt: skip
EVALUATE = {"--labels done.csv": GOES, "--misses 2": REFUSED,
            "--positives qrels.parquet": GOES,
            "--key id": REFUSED, "--key id --positives items.parquet": GOES,
            "--assume complete --positives qrels.parquet": GOES,
            "--dry-run": GOES, "--label-error 0.1": REFUSED,
            "--assume a2": REFUSED, "--on id": GOES, "--label label": GOES, "--annotator who": REFUSED,
            "--time when": REFUSED, "--source kind": REFUSED,
            "--positive yes": GOES, "--negative no": GOES, "--vote any": GOES,
            "--labels-are positives --labels done.csv": GOES, "--prefer done": GOES,
            "--strict": GOES, "--json": GOES, "--log json": GOES, "--quiet": GOES}  # fmt: skip


RUNS = ("--labels", "--dry-run", "--json", "--log", "--quiet")  # flags that are no option of the verb


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """What `home` copies."""
    folder = tmp_path_factory.mktemp("answered")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_list()
        assert run(["plan", "runs.parquet", "--study", "study", "--per", "query", "--budget", "50", "--seed", "1"]) == 0
        assert run(["select", "study", "--export", "tasks.csv"]) == 0
    tasks = csv.read_csv(folder / "tasks.csv")
    done = tasks.drop_columns("label").append_column("label", pa.array([1] * len(tasks)))
    csv.write_csv(done, folder / "done.csv")
    return folder


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lists")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_list()
    return folder


@pytest.fixture(autouse=True)
def home(lists, tmp_path, monkeypatch):
    """The folder of a list of rankings."""
    monkeypatch.chdir(shutil.copytree(lists, tmp_path / "home"))


def write_list():
    rng = np.random.default_rng(1)
    table = pa.table({"query": np.repeat(np.arange(20), 4), "id": rng.permutation(80), "score": rng.random(80),
                      "label": (rng.random(80) < 0.4).astype(int)})  # fmt: skip
    pq.write_table(table, "runs.parquet")
    pq.write_table(pa.table({"query": [1], "label": [1]}), "qrels.parquet")
    pq.write_table(pa.table({"query": [1], "id": [9]}), "items.parquet")


def outcome(arguments, capsys):
    capsys.readouterr()
    status = run(arguments)
    return status, capsys.readouterr().err


@pytest.mark.parametrize("given", EXACT)
def test_every_flag_of_exact(given, capsys):
    rest = [] if given.startswith("--label ") else ["--label", "label"]
    rest += [] if given.startswith("--per") else ["--per", "query"]
    judge(["exact", "runs.parquet", *given.split(), *rest], given, EXACT[given], capsys)


@pytest.mark.parametrize("given", PLAN)
def test_every_flag_of_plan(given, capsys):
    rest = {"--per": "query", "--study": "study", "--budget": "50"}
    rest = [one for pair in rest.items() for one in pair if not given.startswith(pair[0] + " ")]
    judge(["plan", "runs.parquet", *given.split(), *rest], given, PLAN[given], capsys)


@pytest.mark.parametrize("given", EVALUATE)
def test_every_flag_of_evaluate(given, answered, capsys):
    shutil.copytree(answered, ".", dirs_exist_ok=True)
    rest = [] if given.startswith("--labels") else ["--labels", "done.csv"]
    if EVALUATE[given] == GOES and given.split()[0] not in RUNS:
        assert found_by("study", *given.split(), *rest).metrics.num_rows
    else:
        judge(["evaluate", "study", *given.split(), *rest], given, EVALUATE[given], capsys)


def judge(arguments, given, wanted, capsys):
    status, said = outcome(arguments, capsys)
    if wanted == GOES:
        assert status == 0, said
        return
    assert (status, said.count("\n")) == (2, 1), said
    words = given.split()[0][2:].replace("-", " ").split()
    assert all(word in said.lower() for word in words), said


@pytest.mark.parametrize(("verb", "table"), [("exact", EXACT), ("plan", PLAN), ("evaluate", EVALUATE)])
def test_no_flag_is_forgotten(verb, table):
    assert {given.split()[0] for given in table} == {name for name in flags_of(verb) if name.startswith("--")}
