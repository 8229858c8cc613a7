"""The studies that the guides ask, for the tests of guides and of recipes."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import streameval


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The studies that the guides ask: 100,000 items, two thirds positive at the top and fewer below."""
    home = tmp_path_factory.mktemp("guide")
    n = 100_000
    rank = np.arange(1, n + 1)
    truth = (rank * 0.6180339887 % 1 < 1 / (1 + rank / 20_000)).astype(np.int8)
    pq.write_table(pa.table({"id": rank * 7, "team": rank % 3}), home / "ranking.parquet")
    pq.write_table(pa.table({"good": truth, "score": -rank}), home / "labelled.parquet")
    drawn = np.sort(np.random.default_rng(0).choice(n, 2_000, replace=False))
    pa.csv.write_csv(pa.table({"id": (drawn + 1) * 7, "label": truth[drawn]}), home / "sample.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        for study, by in (("my-study", None), ("by-team", "team")):
            plan = streameval.plan("ranking.parquet", study, method="loguniform", by=by, seed=0)
            streameval.select(study)
            streameval.evaluate(study, labels=pa.table({"rank": plan.ranks, "label": truth[plan.ranks - 1]}))
    return home


@pytest.fixture
def workplace(prepared, tmp_path, monkeypatch):
    """A copy of the prepared folder, which is the current one."""
    home = shutil.copytree(prepared, tmp_path / "here")
    monkeypatch.chdir(home)
    return home
