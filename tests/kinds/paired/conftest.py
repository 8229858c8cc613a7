"""Two rankings of the same items with truth, in one table and in two, and people who answer what they are asked."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streameval.paired_draws import one_table
from streameval.paired_draws.tops import tops_of

N = 20_000
AT = [100, 1_000, 5_000]


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """The lists of `home`."""
    folder = tmp_path_factory.mktemp("pairs")
    rng = np.random.default_rng(8)
    worth = rng.normal(size=N)
    right = (rng.random(N) < 1 / (1 + np.exp(1 - 2 * worth))).astype(np.int8)
    old, new = worth + rng.normal(size=N), worth + 0.3 * rng.normal(size=N)
    ids = rng.permutation(10 * N)[:N]
    items = {"id": ids, "text": [f"item {one}" for one in ids], "right": right}
    both = pa.table({**items, "old": old, "new": new})
    pq.write_table(both, folder / "both.parquet", row_group_size=3_000)
    for name in ("old", "new"):
        table = both.select(["id", "text", "right"]).append_column("score", both.column(name))
        pq.write_table(table.take(pa.array(rng.permutation(N))), folder / f"{name}.parquet", row_group_size=4_000)
    return folder


@pytest.fixture
def home(written, tmp_path, monkeypatch):
    """A folder with `both.parquet` (scores old and new) and, of the same items, `old.parquet` and `new.parquet`.

    The new score is better: it orders the items that the old one put close together.
    """
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tops(table, score, key="id"):
    """Keys of the first items by a score, best first."""
    return table.sort_by([(score, "descending")]).column(key).to_numpy()


@pytest.fixture
def difference(home):
    """The true difference in positives at each cutoff: of new against old."""
    both = pq.read_table("both.parquet")
    right = dict(zip(both.column("id").to_pylist(), both.column("right").to_pylist(), strict=True))
    new, old = ([right[one] for one in tops(both, score).tolist()] for score in ("new", "old"))
    return {k: sum(new[:k]) - sum(old[:k]) for k in AT}


@pytest.fixture
def people(home):
    """People who are always right: labels of a selection, by task."""
    return lambda tasks: tasks.select(["se_task"]).append_column("label", tasks.column("right"))


@pytest.fixture
def tops_found_once(monkeypatch):
    """Where tops end is the same in every draw of one pair: only the first draw scans for them."""
    found = {}

    def once(ranking, draw, side, *rest):
        at = side, tuple(draw.cutoffs)
        found[at] = found[at] if at in found else tops_of(ranking, draw, side, *rest)
        return found[at]

    monkeypatch.setattr(one_table, "tops_of", once)
