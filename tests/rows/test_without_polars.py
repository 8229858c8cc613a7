"""Polars may be left out of an installation: only conditions on partitions and `scan_ranking` need it."""

import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.errors import InputError


def test_a_study_needs_no_polars_and_what_does_says_so(ranking, tmp_path, monkeypatch):
    for name in [one for one in sys.modules if one.partition(".")[0] == "polars"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "polars", None)
    folder, *_ = ranking
    streameval.plan(folder, tmp_path / "s", score="conf", budget=200, seed=1)
    rank = streameval.select(tmp_path / "s").table.column("rank")
    found = streameval.evaluate(tmp_path / "s", labels=pa.table({"rank": rank, "label": [1] * len(rank)}))
    assert found.curve.precision_at(100)[0] > 0.5
    streameval.cut(tmp_path / "s", "100").write(tmp_path / "best")
    for call in (
        lambda: streameval.scan_ranking(folder),
        lambda: streameval.plan(partitioned(tmp_path), tmp_path / "t", where="day = 1", seed=1),
    ):
        with pytest.raises(InputError, match=r"needs Polars, which is not installed\. Hint: pip install polars"):
            call()
    assert not (tmp_path / "t").exists()


def partitioned(tmp_path):
    (tmp_path / "lake" / "day=1").mkdir(parents=True)
    pq.write_table(pa.table({"id": list(range(1000))}), tmp_path / "lake" / "day=1" / "a.parquet")
    return tmp_path / "lake"
