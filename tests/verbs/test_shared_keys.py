"""Ids that several of the planned items have are counted when the items are read."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.cli import run


@pytest.fixture
def planned(tmp_path):
    """A study whose every item is planned: ids 1 to 4 stand at two items each, and two items have none."""
    ids = [1, 1, 2, 2, 3, 3, 4, 4, None, None, *range(10, 20)]
    table = pa.table({"id": pa.array(ids, pa.int64()), "text": ["x"] * 20, "score": np.arange(20.0)})
    pq.write_table(table, tmp_path / "list.parquet")
    streameval.plan(tmp_path / "list.parquet", tmp_path / "s", score="score", key="id", budget=20, seed=1)
    return tmp_path / "s"


def test_select_says_how_many_planned_items_share_their_id(planned, capsys):
    assert run(["select", str(planned)]) == 0
    said = capsys.readouterr().out
    assert "`id` does not tell items apart: 8 of the fetched items share theirs with another one. Labels" in said
    assert run(["select", str(planned), "--json"]) == 0  # again: nothing is read
    assert json.loads(capsys.readouterr().out)["shared_keys"] == 8


def test_ids_that_many_rankings_share_are_none_of_its_business(tmp_path, capsys):
    rows = pa.table({"q": [1] * 5 + [2] * 5, "id": [*range(5), *range(5)], "label": [0, 1] * 5})
    streameval.plan(rows, tmp_path / "s", per="q", budget=10, questions="precision@5", seed=1)
    assert streameval.select(tmp_path / "s", ranking=rows).shared_keys == 0


def test_where_no_key_is_named_none_is_counted(catalogue, study):
    assert streameval.select(study("curve-half-labelled")).shared_keys == 0
