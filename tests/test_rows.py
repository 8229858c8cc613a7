"""A kind of storage is one file: what it does not say follows, and every verb works on it."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval import rows
from streameval.rows.options import RankingOptions

TOY = """
import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from streameval.rows import Rows, Taken


class CsvRows(Rows):
    def __init__(self, path):
        self.path, self.table = path, csv.read_csv(path)

    source = property(lambda self: [f"toy:{self.path}"])
    n_rows = property(lambda self: self.table.num_rows)
    schema = property(lambda self: self.table.schema)
    fingerprint = property(lambda self: f"{abs(hash(tuple(self.table.column(0).to_pylist()))):016x}"[:16])

    def take(self, positions, columns, progress=None):
        return Taken(self.table.select(list(columns)).take(pa.array(positions)))


class _Opener:
    def accepts(self, source):
        return True

    def open(self, source, options):
        return CsvRows((source if isinstance(source, str) else source[0]).removeprefix("toy:"))


OPENER = _Opener()
"""
N = 3_000


@pytest.fixture
def both(tmp_path, monkeypatch):
    """The same list in the toy storage and in Parquet."""
    rng = np.random.default_rng(3)
    score = rng.random(N)
    good = (rng.random(N) < score).astype(np.int64)
    columns = {"id": np.arange(N), "s": score, "good": good, "land": [("de", "fr", "it")[i % 3] for i in range(N)]}
    table = pa.table(columns)
    kinds = tmp_path / "kinds"
    kinds.mkdir()
    (kinds / "toy.py").write_text(TOY)
    monkeypatch.setattr(rows, "__path__", [*rows.__path__, str(kinds)])
    monkeypatch.delitem(sys.modules, "streameval.rows.toy", raising=False)
    import pyarrow.csv as csv

    csv.write_csv(table, tmp_path / "list.csv")
    pq.write_table(table, tmp_path / "list.parquet", row_group_size=400)
    return f"toy:{tmp_path}/list.csv", str(tmp_path / "list.parquet")


OPTIONS = {"stored": RankingOptions(), "by score": RankingOptions(score="s", key=("id",))}


def journey(source, folder, options, **more):
    """Plan, select, evaluate and cut; what came of it."""
    method = {"by": "land", "alpha": 0.3} if more.pop("slices", False) else {"budget": 300}
    plan = streameval.plan(source, folder, method="loguniform", options=options, seed=1, **method)
    table = streameval.select(folder).table
    found = streameval.evaluate(folder, labels=table.select(["rank", "good"]), label="good")
    items = streameval.cut(folder, rank=500).write(folder / "items", order="rank")
    return plan.ranks.tolist(), table.column("id").to_pylist(), found.curve.table, found.slices, items.rows


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("slices", [False, True], ids=["whole", "by slice"])
def test_a_new_kind_of_storage_gets_every_verb_from_one_file(both, tmp_path, options, slices):
    toy, parquet = (
        journey(source, tmp_path / name, options, slices=slices) for source, name in zip(both, "ab", strict=True)
    )
    assert toy[:2] == parquet[:2]
    assert toy[2].equals(parquet[2])
    assert [one.name for one in toy[3]] == [one.name for one in parquet[3]]
    assert toy[4] == parquet[4] == 500


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_new_kind_of_storage_is_evaluated_exactly(both, options):
    toy, parquet = (streameval.exact(source, label="good", options=options) for source in both)
    assert toy.metrics.equals(parquet.metrics)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_new_kind_of_storage_is_drawn_from_by_key(both, tmp_path, options):
    plans = [
        streameval.plan_by_key(source, tmp_path / name, by=streameval.ByKey(("id",)), method="loguniform", budget=200,
                               options=options, seed=1)
        for source, name in zip(both, "ab", strict=True)
    ]  # fmt: skip
    assert plans[0].plan.ranks.tolist() == plans[1].plan.ranks.tolist()


def test_opening_a_list_imports_no_other_kind_of_storage(both):
    code = f"import sys, streameval; streameval.open_ranking({both[1]!r}); print(sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(eval(out.stdout))
    kinds = {f"streameval.rows.{name}" for name in ("memory", "lake", "iceberg", "delta")}
    assert loaded & (kinds | {"polars", "duckdb", "streameval.order"}) == set()
