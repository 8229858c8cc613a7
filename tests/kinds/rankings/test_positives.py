"""Positives that rankings never returned: tables of relevance judgements, and what cannot be one."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import streameval
from streameval import InputError, RankingOptions
from streameval.cli import run

RUNS = {"q": ["x", "x", "x", "y", "y"], "doc": ["a", "b", "c", "a", "d"], "score": [3.0, 2, 1, 2, 1],
        "label": [1, 0, 2, 0, 0]}  # fmt: skip
QRELS = {"q": ["x", "x", "x", "x", "y", "x"], "doc": ["a", "c", "e", "b", "e", "e"], "label": [1, 2, 1, 0, 1, 1]}


def evaluated(tmp_path, positives, **options):
    pq.write_table(pa.table(positives), tmp_path / "qrels.parquet")
    found = streameval.exact(pa.table(RUNS), label="label", at=[2], positives=tmp_path / "qrels.parquet",
                             **{"per": "q", "options": RankingOptions("score"), **options})  # fmt: skip
    return {row["q"]: row for row in found.rankings.to_pylist()}, found.summary


@pytest.mark.parametrize("ties", ["all", "trec_eval"])
def test_what_a_ranking_returned_is_no_miss(tmp_path, ties):
    rows, summary = evaluated(tmp_path, QRELS, key="doc", per=f"q(ties={ties})")
    assert [(rows[q]["positives"], rows[q]["misses"]) for q in "xy"] == [(2, 1), (0, 1)]
    assert rows["x"]["average_precision"] == pytest.approx((1 + 2 / 3) / 3)
    assert summary["positives_left_out"] == 1  # e is there twice; a and c were returned, and so judged


def test_positives_that_a_ranking_returned_are_left_out_where_the_table_has_no_judgements(tmp_path):
    positives = pa.table(QRELS).filter(pc.greater(pa.table(QRELS).column("label"), 0))
    _, summary = evaluated(tmp_path, positives, key="doc")
    assert summary["positives_left_out"] == 3


def test_the_command_says_how_many_were_left_out(tmp_path, capsys):
    pq.write_table(pa.table(RUNS), tmp_path / "runs.parquet")
    pq.write_table(pa.table(QRELS), tmp_path / "qrels.parquet")
    arguments = ["exact", str(tmp_path / "runs.parquet"), "--per", "q", "--label", "label", "--score", "score"]
    arguments += ["--positives", str(tmp_path / "qrels.parquet")]
    assert run([*arguments, "--key", "doc"]) == 0
    assert "1 row of the table of positives was left out" in " ".join(capsys.readouterr().out.split())
    assert run(arguments) == 2
    assert "has a column 'doc' of unknown meaning" in capsys.readouterr().err
    pq.write_table(pa.table(QRELS).drop_columns("doc"), tmp_path / "qrels.parquet")
    assert run(arguments) == 2
    assert "1 row of grade 0" in capsys.readouterr().err
    assert run([*arguments, "--key", "q"]) == 2
    assert "'q' names the ranking, and cannot name the item" in capsys.readouterr().err
    assert run([*arguments[:-2], "--method", "paula(window=50)"]) == 2
    assert "does not go with --method" in capsys.readouterr().err
    assert run([*arguments[:2], "--label", "label", "--positives", "qrels.parquet"]) == 2
    assert "--positives is for many rankings, and needs --per" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("positives", "said"),
    [({"x": [1]}, "no column 'q'"),
     ({"q": [1], "label": [1]}, r"q is 1 \(int64\) in the first row, q is x \(string\) in the list"),
     ({"q": ["x"], "doc": [1], "label": [1]}, r"doc is 1 \(int64\) in the first row, doc is a \(string\) in the list"),
     ({"q": ["x"]}, "has no grades"),
     ({"q": ["x"], "doc": [None], "label": [1]}, "doc"),
     ({"q": ["x"], "doc": ["e"], "grade": [0]}, "a column 'grade' of unknown meaning. Hint: .* grades 'label'"),
     ({"q": ["x"], "label": pa.array([None], pa.int64())}, "1 label missing. Hint: give every row of the table")],
    ids=["no ranking", "other names", "other items", "no grades", "no item", "grades by another name", "no grade"],
)  # fmt: skip
def test_what_cannot_be_used_is_one_line(tmp_path, positives, said):
    with pytest.raises(InputError, match=said) as caught:
        evaluated(tmp_path, positives, key="doc")
    assert "\n" not in str(caught.value)


def test_an_empty_table_is_no_miss(tmp_path):
    rows, summary = evaluated(tmp_path, pa.table(QRELS).slice(0, 0), key="doc")
    assert (rows["x"]["misses"], summary["misses"], summary["rankings"]) == (0, 0, 2)
