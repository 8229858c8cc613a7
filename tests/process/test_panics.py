"""A panic inside a library that is written in Rust, which is no Exception of Python, ends in one line."""

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streameval.cli import run
from streameval.errors import InputError
from streameval.rankings import open_ranking
from streameval.rows.lake import call_library


def panic(*arguments, **named):
    raise pl.exceptions.PanicException("index out of bounds: the len is 0 but the index is 0")


@pytest.mark.parametrize(("place", "name"), [(pl, "sql_expr"), (pl.DataFrame, "select")])
def test_a_panic_over_a_condition_is_one_line(tmp_path, capsys, monkeypatch, place, name):
    (tmp_path / "day=1").mkdir()
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "day=1" / "a.parquet")
    monkeypatch.setattr(place, name, panic)
    command = ["plan", str(tmp_path), "--study", str(tmp_path / "s"), "--method", "uniform", "--budget", "1"]
    assert run([*command, "--where", "day = '1'"]) == 2
    error = capsys.readouterr().err
    assert "cannot be understood (index out of bounds" in error
    assert error.count("\n") == 1


def test_a_panic_within_a_lazy_frame_is_one_line(monkeypatch):
    monkeypatch.setattr(pl.LazyFrame, "collect_batches", panic)
    with pytest.raises(InputError, match="the lazy frame: index out of bounds"):
        open_ranking(pl.LazyFrame({"id": [1, 2]}))


def test_a_panic_over_a_table_is_one_line_and_an_interruption_stays_one():
    with pytest.raises(InputError, match="a table: index out of bounds"):
        call_library("a table", panic)

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call_library("a table", stop)
