"""A kind of storage is one file: what it does not say follows, and every verb gives of it what it gives of Parquet."""

import importlib
import pkgutil
import subprocess
import sys
import warnings

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from suite_cases import slow
from test_lake_tables import Delta, Iceberg

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
N = 1_200


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    """The same list in every kind of storage; the toy is a file that was put into the folder of kinds."""
    folder = tmp_path_factory.mktemp("lists")
    rng = np.random.default_rng(3)
    score = rng.random(N).round(3)  # of which many tie
    good = (rng.random(N) < score).astype(np.int64)
    land = [("de", "fr")[i % 3 // 2] for i in range(N)]
    table = pa.table({"id": np.arange(N), "s": score, "good": good, "land": land, "day": ["2026-11-20"] * N})
    kinds = folder / "kinds"
    kinds.mkdir()
    (kinds / "toy.py").write_text(TOY)
    csv.write_csv(table, folder / "list.csv")
    pq.write_table(table, folder / "list.parquet", row_group_size=400)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(rows, "__path__", [*rows.__path__, str(kinds)])
        delta, iceberg = Delta(folder), Iceberg(folder, patch, table.schema)
        delta.write(table)
        iceberg.write(table)
        yield {"parquet": str(folder / "list.parquet"), "memory": table, "delta": delta.name, "iceberg": iceberg.name,
               "toy": f"toy:{folder}/list.csv"}  # fmt: skip


KINDS = ("memory", "delta", "iceberg", "toy")
OPTIONS = {"stored": RankingOptions(), "by score": RankingOptions(score="s", key=("id",))}
METHODS = {"whole": {"budget": 120}, "by slice": {"by": "land", "budget": 60}}
# a lake's table has no order of its own
CASES = [(kind, order) for kind in KINDS for order in OPTIONS if order == "by score" or kind in ("memory", "toy")]


def test_every_kind_of_storage_is_tried():
    files = {info.name for info in pkgutil.iter_modules(rows.__path__)}
    found = {name for name in files if hasattr(importlib.import_module(f"streameval.rows.{name}"), "OPENER")}
    assert found - {"toy"} == {"parquet", *KINDS} - {"toy"}


def written(cut, folder, order):
    cut.write(folder, order=order)
    return pq.read_table(folder).column("id").to_pylist()


def journey(source, folder, options, method):
    """Plan, select, evaluate and cut; what came of it."""
    again = {"ranking": source} if isinstance(source, pa.Table) else {}  # a study cannot open a table in memory again
    plan = streameval.plan(source, folder, method="loguniform", options=options, seed=1, **method)
    table = streameval.select(folder, **again).table
    found = streameval.evaluate(folder, labels=table.select(["rank", "good"]), label="good")
    cut = streameval.cut(folder, 200, **again)
    return {
        "ranks": plan.ranks.tolist(),
        "items": table.select(["rank", "draw_weight", "id", "s", "good", "land"]).to_pylist(),
        "curve": found.curve.table.to_pydict(),
        "metrics": found.metrics.to_pydict(),
        "slices": {one.name: one.metrics.to_pydict() for one in found.slices},
        "in rank order": written(cut, folder / "ranked", "rank"),
        "as stored": written(cut, folder / "stored", "storage"),
    }


KNOWN = {}


def check_alike(lists, kind, case, outcome):
    """What comes of a list does not depend on where it is stored."""
    if case not in KNOWN:
        KNOWN[case] = outcome(lists["parquet"], "parquet")
    found = outcome(lists[kind], kind)
    for what, value in KNOWN[case].items():
        assert repr(found[what]) == repr(value), what  # repr: NaN is itself


def known_of_parquet(lists, folder, method):
    """Keep what comes of the Parquet file by score."""
    KNOWN["by score", method] = journey(lists["parquet"], folder, OPTIONS["by score"], METHODS[method])


@pytest.fixture(scope="module")
def whole(lists, tmp_path_factory):
    known_of_parquet(lists, tmp_path_factory.mktemp("whole"), "whole")


@pytest.fixture(scope="module")
def by_slice(lists, tmp_path_factory):
    known_of_parquet(lists, tmp_path_factory.mktemp("by-slice"), "by slice")


@pytest.mark.parametrize(
    ("method", "kind", "order"),
    [
        *(("whole", *one) for one in CASES if one[1] == "by score"),
        *slow(*(("whole", *one) for one in CASES if one[1] != "by score")),
        ("by slice", "delta", "by score"),
        *slow(*(("by slice", *one) for one in CASES if one != ("delta", "by score"))),
    ],
)
def test_every_kind_of_storage_has_every_verb(lists, kind, order, method, tmp_path, request):
    request.getfixturevalue(method.replace(" ", "_"))

    def outcome(source, name):
        return journey(source, tmp_path / name, OPTIONS[order], METHODS[method])

    check_alike(lists, kind, (order, method), outcome)


@pytest.mark.parametrize(("kind", "order"), CASES)
def test_every_kind_of_storage_is_evaluated_exactly(lists, kind, order):
    def outcome(source, name):
        found = streameval.exact(source, label="good", options=OPTIONS[order])
        return {"metrics": found.metrics.to_pydict(), "curve": found.curve.table.to_pydict()}

    check_alike(lists, kind, (order, "exact"), outcome)


@pytest.mark.parametrize(("kind", "order"), CASES)
def test_every_kind_of_storage_is_drawn_from_by_key(lists, kind, order, tmp_path):
    def outcome(source, name):
        made = streameval.plan(source, tmp_path / name, on="id", budget=200, options=OPTIONS[order], seed=1)
        return {"ranks": made.ranks.tolist(), "table": made.table.to_pydict()}

    check_alike(lists, kind, (order, "by key"), outcome)


@pytest.mark.parametrize(("kind", "order"), CASES)
def test_every_kind_of_storage_is_a_lazy_frame(lists, kind, order):
    def outcome(source, name):
        frame, ranks = streameval.scan_ranking(source, options=OPTIONS[order]), [1, 70, 71, 1_199, 1_201]
        columns = ["rank", "id", "s", "good", "land"]
        some = frame.filter(pl.col("rank").is_in(ranks) | (pl.col("s") > 0.99)).select(columns)
        return {"whole": frame.select(columns).collect().rows(), "some": some.collect().rows()}

    check_alike(lists, kind, (order, "lazy"), outcome)
    found = streameval.open_ranking(lists[kind], OPTIONS[order]).fetch(np.arange(1, N + 1), ["id", "land"]).table
    assert [one[:2] for one in KNOWN[order, "lazy"]["whole"]] == list(
        zip(found["rank"].to_pylist(), found["id"].to_pylist(), strict=True)
    )


def test_opening_a_list_imports_no_other_kind_of_storage(lists):
    code = f"import sys, streameval; streameval.open_ranking({lists['parquet']!r}); print(sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(eval(out.stdout))
    kinds = {f"streameval.rows.{name}" for name in ("memory", "lake", "iceberg", "delta")}
    assert loaded & (kinds | {"polars", "duckdb", "streameval.order"}) == set()


@pytest.mark.parametrize("verb", [
    lambda files, out: streameval.plan(files, out, score="s", budget=2, seed=1),
    lambda files, out: streameval.scan_ranking(files, score="s"),
    lambda files, out: streameval.exact(files, label="label", score="s"),
    lambda files, out: streameval.exact(files, label="label", score="s", per="id"),
], ids=["plan", "scan_ranking", "exact", "exact --per"])  # fmt: skip
def test_scores_of_two_types_in_two_files_are_refused_by_every_verb(tmp_path, verb):
    for name, kind in (("a", pa.float32()), ("b", pa.float64())):
        table = pa.table({"id": [1, 2], "s": pa.array([0.1, 0.2], kind), "label": [0, 1]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    with pytest.raises(streameval.InputError, match=r"b.parquet: column 's' is double, but float in .*a.parquet"):
        verb(str(tmp_path), tmp_path / "study")
