"""Two rankings of the same items with truth, in one table and in two, and comparisons of them."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from two_rankings import AT, ONE, TWO, DrawnAgain, N, evaluated, planned

import streameval


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """The lists of `home`."""
    folder = tmp_path_factory.mktemp("pairs")
    rng = np.random.default_rng(4)
    worth = rng.normal(size=N)
    right = (rng.random(N) < 1 / (1 + np.exp(1 - 2 * worth))).astype(np.int8)
    old, new = worth + rng.normal(size=N), worth + 0.3 * rng.normal(size=N)
    ids = rng.permutation(10 * N)[:N]
    items = {"id": ids, "text": [f"item {one}" for one in ids], "right": right}
    both = pa.table({**items, "old": old, "new": new})
    pq.write_table(both, folder / "both.parquet")
    for name in ("old", "new"):
        table = both.select(["id", "text", "right"]).append_column("score", both.column(name))
        pq.write_table(table.take(pa.array(rng.permutation(N))), folder / f"{name}.parquet", row_group_size=3_500)
    return folder


@pytest.fixture(scope="session")
def both(written):
    """The items of both rankings."""
    return pq.read_table(written / "both.parquet")


@pytest.fixture
def home(written, tmp_path, monkeypatch):
    """A folder with `both.parquet` (scores old and new) and, of the same items, `old.parquet` and `new.parquet`.

    The new score is better: it orders the items that the old one put close together.
    """
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def begun(written, tmp_path_factory):
    """A comparison of one table, whose items are selected and have no labels; it is only read."""
    study, source = tmp_path_factory.mktemp("begun") / "s", str(written / "both.parquet")
    planned(study, source, {**ONE, "against": source})
    streameval.select(study)
    return study


@pytest.fixture(scope="session")
def one(begun, tmp_path_factory):
    """The same with every label, evaluated; it is only read."""
    study = shutil.copytree(begun, tmp_path_factory.mktemp("one") / "s")
    evaluated(study)
    return study


@pytest.fixture(scope="session")
def two(written, tmp_path_factory):
    """A comparison of the same rankings in two tables, with every label; it is only read."""
    study = tmp_path_factory.mktemp("two") / "s"
    planned(study, str(written / "new.parquet"), {**TWO, "against": str(written / "old.parquet")})
    evaluated(study)
    return study


@pytest.fixture(scope="session")
def curve(written, tmp_path_factory):
    """A study of the old ranking with every label, whose seed is 11; it is only read."""
    study = tmp_path_factory.mktemp("curve") / "old"
    streameval.plan(str(written / "both.parquet"), study, score="old", on="id", budget=500, seed=11)
    evaluated(study)
    return study


@pytest.fixture(scope="session")
def difference(both):
    """The true difference in positives at each cutoff: of new against old."""
    new, old = (both.sort_by([(score, "descending")]).column("right").to_numpy() for score in ("new", "old"))
    return {k: int(new[:k].sum()) - int(old[:k].sum()) for k in AT}


@pytest.fixture
def scanned_once(monkeypatch):
    """What changed between one pair is the same in every draw: only the first draw scans for it."""
    monkeypatch.setattr("streameval.kinds.paired.plan._draw", DrawnAgain())
