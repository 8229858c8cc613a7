"""The order of files is asked for only where something depends on it."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from refusals import refused

import streameval
from streameval.cli import run


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    for kind, write in (("csv", csv.write_csv), ("parquet", pq.write_table)):
        for number in (9, 10):
            rows = pa.table({"id": np.arange(50) + 100 * number, "score": np.round(rng.random(50), 1)})
            write(rows, f"preds_{number}.{kind}")


@pytest.mark.parametrize("files", ["preds_*.csv", "preds_*.parquet"])
def test_scores_and_a_key_are_enough(home, capsys, files):
    plan = ["plan", files, "--budget", "20", "--seed", "1"]
    for options in ([], ["--score", "score"]):
        assert "the order of its files is unclear" in refused(capsys, *plan, "--study", "refused", *options)
    found = []
    for study, order in (("a", []), ("b", ["--file-order", "lexical"])):
        assert run([*plan, "--study", study, "--score", "score", "--key", "id", *order]) == 0
        found.append(streameval.select(study).table.column("id"))
    assert found[0].equals(found[1])
