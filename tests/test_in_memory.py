"""Rankings in memory: whatever hands out Arrow data is one, and gives what the table gives."""

import duckdb
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import streameval

TABLE = pa.table({"id": range(1000)})


class Mine:
    """A stranger's class that speaks the Arrow protocol."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.fixture
def source(tmp_path):
    """Makes a source of some kind: each time anew, since a reader can be read once."""
    pq.write_table(TABLE, tmp_path / "list.parquet")
    dataset = pyarrow.dataset.dataset(tmp_path / "list.parquet")
    makers = {
        "relation": lambda: duckdb.from_arrow(TABLE),
        "reader": TABLE.to_reader,
        "dataset": lambda: dataset,
        "filtered dataset": lambda: dataset.filter(pyarrow.dataset.field("id") >= 0),
        "batch": lambda: TABLE.to_batches()[0],
        "stranger": Mine,
    }
    return lambda kind: makers[kind]()


@pytest.mark.parametrize("kind", ["relation", "reader", "dataset", "filtered dataset", "batch", "stranger"])
def test_whatever_hands_out_arrow_data_is_a_ranking(tmp_path, source, kind):
    plan = streameval.plan(source(kind), tmp_path / "study", budget=50, seed=1)
    assert plan.plan_id == streameval.plan(TABLE, tmp_path / "other", budget=50, seed=1).plan_id
    found = streameval.select(tmp_path / "study", ranking=source(kind)).table
    assert found.column("id").to_pylist() == [rank - 1 for rank in plan.ranks.tolist()]


@pytest.mark.parametrize("thing", [5, [1, 2], {"a": 1}, object()])
def test_anything_else_is_none(tmp_path, thing):
    with pytest.raises(streameval.InputError, match=f"a {type(thing).__name__} is no ranking"):
        streameval.plan(thing, tmp_path / "study")
