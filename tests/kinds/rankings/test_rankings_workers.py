"""Many rankings measured on workers: the same as here, to the bit, and everything that goes wrong in one line."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_cluster import Cluster
from suite_cases import slow

import streameval
from streameval import InputError, RankingOptions
from streameval.errors import OutsideError
from streameval.per_query import scattered
from streameval.scans import workers


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Rankings scattered over several files, and positives beside them."""
    monkeypatch.setattr(workers, "_LEAST_ROWS", 100)
    monkeypatch.setattr(scattered, "_WORKER_ROWS", 150)
    rng = np.random.default_rng(3)
    query = rng.integers(-3, 90, 1_000)
    table = pa.table({"query": query, "name": [f"q{one}" for one in query], "doc": [f"d{i}" for i in range(1_000)],
                      "score": rng.integers(0, 9, 1_000).astype(np.float32), "row": rng.permutation(1_000),
                      "label": rng.integers(0, 3, 1_000) * (query % 3 > 0)})  # fmt: skip
    for i in range(4):
        pq.write_table(table.slice(250 * i, 250), tmp_path / f"part-{i}.parquet", row_group_size=90)
    pq.write_table(pa.table({"query": [1, 500, 7], "doc": ["d0", "x", "y"], "label": [1, 1, 0]}), tmp_path / "qrels")
    return tmp_path


@pytest.mark.parametrize("options", [
    {"per": "name,query", "options": RankingOptions("score")},
    {"per": "name"},
    {"per": "query(ties=trec_eval)", "key": "doc", "options": RankingOptions("score")},
    {"per": "query", "key": "doc", "positives": "qrels", "options": RankingOptions("score")},
    *slow(({"per": "query", "options": RankingOptions("score")},),
          ({"per": "query", "options": RankingOptions("row")},)),
], ids=["names", "stored", "trec_eval", "positives", "score", "whole numbers"])  # fmt: skip
def test_workers_find_what_this_process_finds(runs, options, monkeypatch):
    monkeypatch.chdir(runs)
    here, there = (
        streameval.exact("part-*.parquet", label="label", engine=engine, **options) for engine in ("local", Cluster(1))
    )
    assert there.metrics.equals(here.metrics)
    assert there.by_size.equals(here.by_size)
    assert there.histograms.equals(here.histograms)
    order = [(name, "ascending") for name in options["per"].partition("(")[0].split(",")]
    assert there.rankings.sort_by(order).equals(here.rankings.sort_by(order))
    assert (there.summary["how"], there.summary["positives_left_out"]) == (
        "parted by ranking on workers", here.summary["positives_left_out"])  # fmt: skip


def test_files_are_the_same(runs, capsys):
    source = str(runs / "part-*.parquet")
    for name, engine in (("here", "local"), ("there", Cluster(2))):
        streameval.exact(source, label="label", per="query", out=runs / name, engine=engine)
    for name in ("metrics", "by_size", "histograms"):
        assert (runs / "here" / f"{name}.parquet").read_bytes() == (runs / "there" / f"{name}.parquet").read_bytes()
    assert streameval.compare(runs / "here", runs / "there").rankings == 93


@dataclass(frozen=True)
class Losing(Cluster):
    """A cluster that loses a share, or does one twice."""

    shares: int = 0

    def run_job(self, request):
        rows = pa.Table.from_batches(workers.run_shares(request.payload, [*range(request.shares), 0][: self.shares]))
        parts = [rows.filter(pa.compute.equal(rows.column("at"), at)) for at in rows.column("at").unique()]
        return pa.concat_tables([workers.reduce_rows(request.reduction, part) for part in parts])


@pytest.mark.parametrize("shares", [5, 21])
def test_rows_that_are_lost_or_come_twice_are_noticed(runs, shares):
    with pytest.raises(OutsideError, match=r"1,000 rows were to be measured, and [0-9,]+ were"):
        streameval.exact(str(runs / "part-*.parquet"), label="label", per="query", engine=Losing(0, shares))


def test_what_a_worker_refuses_is_one_line(runs):
    table = pq.read_table(runs / "part-2.parquet")
    pq.write_table(table.set_column(5, "label", pa.array([200] * 250)), runs / "part-2.parquet", row_group_size=90)
    with pytest.raises(RuntimeError) as caught:
        streameval.exact(str(runs / "part-*.parquet"), label="label", per="query", engine=Cluster())
    error = workers.reported_error(str(caught.value))
    assert isinstance(error, InputError)
    assert "part-2.parquet: row group" in str(error)
    assert ": label 200 is above 127" in str(error)
    with pytest.raises(InputError, match="a table in memory cannot be scanned elsewhere"):
        streameval.exact(table, label="label", per="query", engine=Cluster())
