"""The mistakes of a newcomer: each ends in one line that says what to do, and nothing is written."""

import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streameval.cli import run

# a command, and words of the line that answers it
MISTAKES = {
    # the command itself
    "plann list.parquet --study s": "plan",
    "plan list.parquet": "--study",
    "plan --study s": "no ranking",
    "plan list.parquet --study": "--study",
    "plan list.parquet --study s --scoer conf": "--score",
    "plan list.parquet --study ''": "--study is empty",
    "plan list.parquet --study s --seed x": "'x' is not a whole number",
    "plan list.parquet --study s --seed 1.5": "'1.5' is not a whole number",
    "plan list.parquet --study s --method loguniforn": "did you mean 'loguniform'",
    "select": "STUDY",
    "select nowhere": "nowhere",
    "evaluate done labels.csv": "labels are given by name: --labels labels.csv",
    "cut": "STUDY",
    "show done precision@many": "at column 11",
    "evaluate done --log yaml": "yaml",
    "cost": "--items",
    "cost --items -5": "-5",
    "guide cooking": "cooking",
    # the ranking
    "plan missing.parquet --study s": "missing.parquet",
    "plan 'miss*.parquet' --study s": "miss*.parquet",
    "plan empty --study s": "empty",
    "plan torn.parquet --study s": "torn.parquet",
    "plan none.parquet --study s": "none.parquet",
    "plan list.parquet other.parquet --study s": "other.parquet",
    "plan s3:// --study s": "there is no bucket",
    "plan list.parquet --study s --score nope": "nope",
    "plan list.parquet --study s --score text": "text",
    "plan list.parquet --study s --key id": "--key is for a ranking by score, and no score is named",
    "plan list.parquet --study s --ascending": "--score=-COL, as in --score=-loss",
    "plan list.parquet --study s --by nope": "nope",
    "plan list.parquet --study s --where 'id > 3'": "id",
    # what is asked of a plan
    "plan list.parquet --study s --alpha 2": "alpha",
    "plan list.parquet --study s --alpha -0.1": "alpha",
    "plan list.parquet --study s --confidence 95": "confidence",
    "plan list.parquet --study s --budget 0": "budget",
    "plan list.parquet --study s --budget 100 --alpha 0.1": "--alpha and --budget were both given",
    "plan list.parquet --study s --window 50": "--method 'paula(window=50)'",
    "plan list.parquet --study s --memory 0": "memory",
    "plan list.parquet --study s --threads 0": "threads",
    "plan list.parquet --study labels.csv": "labels.csv",
    "plan list.parquet --study done --alpha 0.2": "done",
    "grow done --budget 100": "stage",
    "plan list.parquet --study s --reuse labels.csv": "--on",
    # tasks
    "select done --export tasks.txt": "tasks.txt",
    "select done --columns nope": "nope",
    "select done --remaining": "--export",
    "select done --export labels.csv": "labels.csv",
    # labels
    "evaluate fresh --labels missing.csv": "missing.csv",
    "evaluate fresh --labels words.csv": "perhaps",
    "evaluate fresh --labels nolabel.csv": "label",
    "evaluate fresh --labels labels.csv --on nope": "nope",
    "evaluate fresh --labels labels.csv --vote most": "most",
    "evaluate fresh --labels torn.parquet": "torn.parquet",
    "evaluate nowhere --labels labels.csv": "nowhere",
    "evaluate fresh --labels labels.csv --label-error 2": "label",
    "labels nowhere": "nowhere",
    "labels done --forget nobody": "nobody",
    # results
    "cut fresh precision:0.9": "evaluate",
    "cut done precision:90": "90",
    "cut done": "CUTOFF",
    "cut done 'precision:0.9, 10'": "one",
    "show done precision@0": "rank 0",
    "show done precision@99999": "rank 99,999",
    "sql done 'SELEC 1'": "SELEC",
    "sql done 'SELECT * FROM nowhere'": "nowhere",
    "compare done nowhere": "nowhere",
    "report nowhere": "nowhere",
    "exact list.parquet --out e": "--label",
    "exact list.parquet --label id --out e": "--relevant",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A list, a study that is planned and selected, one that is evaluated, and files that a newcomer has about."""
    home = tmp_path_factory.mktemp("home")
    rng = np.random.default_rng(0)
    items = pa.table({"id": range(500), "text": ["t"] * 500, "conf": np.sort(rng.random(500))[::-1]})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        pq.write_table(items, "list.parquet")
        pq.write_table(pa.table({"else": ["x"]}), "other.parquet")
        pq.write_table(items.slice(0, 0), "none.parquet")
        (home / "torn.parquet").write_bytes((home / "list.parquet").read_bytes()[:200])
        (home / "empty").mkdir()
        for study in ("done", "fresh"):
            assert run(["plan", "list.parquet", "--study", study, "--budget", "100", "--seed", "1"]) == 0
            assert run(["select", study]) == 0
        ranks = pq.read_table("done/plan.parquet").column("rank").to_pylist()
        for name, column, value in (("labels", "label", 1), ("words", "label", "perhaps"), ("nolabel", "answer", 1)):
            (home / f"{name}.csv").write_text(f"rank,{column}\n" + "".join(f"{rank},{value}\n" for rank in ranks))
        assert run(["evaluate", "done", "--labels", "labels.csv"]) == 0
    return home


def content(folder):
    """Every file but locks, by path, with its time and size."""
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*") if path.name != ".lock"
            if path.is_file()} | {path: None for path in folder.rglob("*") if path.is_dir()}  # fmt: skip


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_one_line_and_nothing_is_written(home, monkeypatch, capsys, command):
    monkeypatch.chdir(home)
    before = content(home)
    capsys.readouterr()
    status = run(shlex.split(command))
    out, err = capsys.readouterr()
    assert (status, err.count("\n"), out) == (2, 1, ""), err
    assert err.startswith("streameval: ")
    assert MISTAKES[command] in err
    assert content(home) == before


def test_there_are_sixty_of_them():
    assert len(MISTAKES) >= 60
