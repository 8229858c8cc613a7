"""The geometric mean of average precision, and F at cutoffs with other weights of recall."""

import json
import shutil

import pyarrow as pa
import pytest
from places import RECORDED
from sklearn.metrics import fbeta_score

import streameval
from streameval.cli import run

LIST = pa.table({"query": [*"aaaabbbbcccc"], "score": [4, 3, 2, 1] * 3, "label": [1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0]})
PRECISIONS = [(1 + 2 / 4) / 2, 1 / 3]  # of a and b; c has no positive


def evaluated(parameters="no_positives=zero", **options):
    return streameval.exact(LIST, label="label", score="score", per=f"query({parameters})", at="1,3", **options)


def test_a_ranking_without_a_positive_counts_as_the_floor_or_is_left_out():
    zero, skipped = evaluated(), evaluated("no_positives=skip")
    assert zero.mean("gm_map") == pytest.approx((PRECISIONS[0] * PRECISIONS[1] * 1e-5) ** (1 / 3))
    assert skipped.mean("gm_map") == pytest.approx((PRECISIONS[0] * PRECISIONS[1]) ** 0.5)
    both = [row for row in zero.metrics.to_pylist() if row["metric"] == "gm_map"]
    assert [(row["no_positives"], row["rankings"]) for row in both] == [("zero", 3), ("skip", 2)]


def test_trec_eval_has_the_same():
    recorded = json.loads((RECORDED / "trec_eval.json").read_text())
    query, document, score, grade = zip(*recorded["rows"], strict=True)
    rows = pa.table({"query": query, "document": document, "score": score, "label": grade})
    never = pa.table(dict(zip(("query", "document", "label"), zip(*recorded["never"], strict=True), strict=True)))
    found = streameval.exact(rows, label="label", score="score", per="query(ties=trec_eval)", key="document",
                             positives=never)  # fmt: skip
    precisions = [max(one["map"], 1e-5) for one in recorded["results"].values()]
    product = 1.0
    for one in precisions:
        product *= one ** (1 / len(precisions))
    assert found.mean("gm_map") == pytest.approx(product)


def test_worst_and_best_order_of_ties_bound_it():
    tied = pa.table({"query": ["a"] * 3 + ["b"] * 2, "score": [1, 1, 1, 2, 1], "label": [1, 0, 0, 0, 1]})
    found = streameval.exact(tied, label="label", score="score", per="query", at="1")
    row = next(row for row in found.metrics.to_pylist() if row["metric"] == "gm_map")
    expected = (1 + 1 / 2 + 1 / 3) / 3
    assert [row[side] for side in ("lower", "estimate", "upper")] == pytest.approx(
        [(1 / 3 / 2) ** 0.5, (expected / 2) ** 0.5, 0.5**0.5]
    )


@pytest.mark.parametrize("beta", [0.5, 1, 2])
def test_f_at_cutoffs_is_that_of_scikit_learn(beta):
    rows = evaluated().rankings.sort_by("query").to_pylist()
    labels = {"a": [1, 0, 0, 1], "b": [0, 0, 1, 0]}
    for row in rows[:2]:
        for k in (1, 3):
            theirs = fbeta_score(labels[row["query"]], [1] * k + [0] * (4 - k), beta=beta)
            assert row[f"f{beta}_at_{k}"] == pytest.approx(theirs)
    assert rows[2][f"f{beta}_at_3"] is None


def test_conditions_name_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    evaluated(out="e")
    assert run(["check", "e", "gm_map >= 0.01", "f0.5@3 >= 0.1", "f2@1 >= 0.1"]) == 0
    assert run(["check", "e", "gm_map >= 0.02"]) == 4
    capsys.readouterr()
    assert run(["show", "e", "gm_map"]) == 0
    assert "0.0136" in capsys.readouterr().out
    assert run(["sql", "e", "SELECT estimate FROM metrics WHERE metric = 'gm_map'"]) == 0
    evaluated("no_positives=skip", out="f")
    shutil.copytree("e", "g")
    assert run(["compare", "e", "g"]) == 0
