"""Labels that are joined by the key of the list, and by columns whose names differ."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streameval
from streameval.cli import run
from streameval.errors import InputError

N = 2_000


@pytest.fixture
def items(tmp_path, monkeypatch):
    """A list by score whose items have an id; the labels of all of them, by another name of it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    ids = rng.permutation(N)
    truth = (rng.random(N) < 0.7).astype(np.int8)
    pq.write_table(pa.table({"id": ids, "score": rng.random(N), "right": truth}), "list.parquet")
    pq.write_table(pa.table({"thing": ids, "label": truth}), "by-thing.parquet")
    pq.write_table(pa.table({"id": ids, "label": truth}), "by-id.parquet")
    return tmp_path


def test_a_study_is_joined_by_its_key_and_by_another_name_of_it(items, capsys):
    said = []
    for study, ways in (("keyed", [[]]), ("plain", [["--on", "id"], ["--key", "id"], ["--on", "id=thing"]])):
        key = ["--key", "id"] if study == "keyed" else []
        for way in ways:
            folder = f"{study}{len(said)}"
            plan = ["plan", "list.parquet", "--study", folder, "--score", "score", "--budget", "200", "--seed", "1"]
            assert run([*plan, *key]) == 0
            assert run(["select", folder, "--columns", "id"]) == 0
            labels = "by-thing.parquet" if "id=thing" in way else "by-id.parquet"
            assert run(["evaluate", folder, "--labels", labels, *way]) == 0
            evaluation = streameval.study.Study(items / folder).evaluation()
            said.append((evaluation.summary["account"]["labelled"], evaluation.curve.envelope.at(np.arange(1, N + 1))))
    assert all(labelled > 100 for labelled, _ in said)
    for _, (low, high) in said[2:]:
        assert np.array_equal(low, said[1][1][0])
        assert np.array_equal(high, said[1][1][1])
    assert "--on id=thing" in (items / "plain3" / "report.html").read_text()
    capsys.readouterr()
    assert run(["evaluate", "plain1", "--labels", "by-thing.parquet"]) == 2
    assert "the label table has no column 'rank'" in capsys.readouterr().err


def test_a_list_and_a_sample_are_joined_by_the_key(items, capsys):
    named = {"label": "right", "score": "score"}
    expected = streameval.exact("list.parquet", key="id", **named).metrics
    for labels, more in (("by-id.parquet", {}), ("by-thing.parquet", {"on": "id=thing"})):
        found = streameval.exact("list.parquet", key="id", labels=labels, score="score", **more)
        assert found.metrics.equals(expected)
    taken = pq.read_table("by-thing.parquet").slice(100, 300)
    streameval.adopt("list.parquet", "a", taken.rename_columns(["id", "label"]), drawn="uniform(size=300)",
                     score="score", key="id")  # fmt: skip
    streameval.adopt("list.parquet", "b", taken, drawn="uniform(size=300)", score="score", key="id",
                     on="id=thing")  # fmt: skip
    one, other = (streameval.evaluate(study) for study in ("a", "b"))
    assert one.metrics.equals(other.metrics)
    with pytest.raises(InputError, match="no column"):
        streameval.exact("list.parquet", labels="by-id.parquet", score="score", on="id=thing")
    for on, hint in (("thing=id", "first: --on id=thing"), ("id==thing", "--on id=thing")):
        assert run(["exact", "list.parquet", "--labels", "by-thing.parquet", "--on", on]) == 2
        assert hint in capsys.readouterr().err


@given(st.text("-abc", min_size=1, max_size=4))
def test_a_score_that_is_written_is_read(column):
    from streameval.rows.options import order_typed, typed_score

    for ascending in (False, True) if not column.startswith("-") else ():
        assert order_typed(typed_score(column, ascending)) == {"score": column, "ascending": ascending}


def test_a_minus_may_be_of_the_name_of_a_score(tmp_path):
    table = pa.table({"-loss": np.arange(50.0)})
    streameval.plan(table, tmp_path / "st", score="-loss", budget=10, seed=1)
    order = streameval.study.Study(tmp_path / "st").plan().ranking
    assert (order["score"], order["ascending"]) == ("-loss", False)
    with pytest.raises(InputError, match="no column 'lose'"):
        streameval.plan(table, tmp_path / "no", score="-lose", budget=10, seed=1)
