"""Interpolated precision at recalls, the mean of eleven, rank-biased precision: of many rankings, and of one list."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from suite_cases import examples

import streameval
from streameval import InputError
from streameval.cli import run

RECALLS, PERSISTENCE = ("0.05", "0.3", "0.5", "1"), 0.8


def in_one_order(labels, missed):
    """Every measure of labels in their order, by its definition."""
    relevant, y = sum(labels) + missed, np.cumsum(labels)
    precision = y / np.arange(1, len(labels) + 1)
    found = {"rbp.8": sum((1 - PERSISTENCE) * PERSISTENCE**at for at, label in enumerate(labels) if label)}
    for recall in RECALLS:
        reached = [at for at, many in enumerate(y) if many and many >= Fraction(recall) * relevant]
        found[f"precision_at_recall_{recall}"] = max((precision[at] for at in reached), default=0.0)
    return found


def on_the_mean_path(scores, labels, missed, recall):
    """Interpolated precision where a part of the positives of tied items comes with each of them."""
    y, path = Fraction(0), []
    for _, group in itertools.groupby(sorted(zip(scores, labels, strict=True), reverse=True), key=lambda one: one[0]):
        own = [label for _, label in group]
        path += [y + Fraction(sum(own) * i, len(own)) for i in range(1, len(own) + 1)]
        y = path[-1]
    wanted = max(Fraction(recall) * (sum(labels) + missed), Fraction(1, 10**9))
    return float(max((one / at for at, one in enumerate(path, 1) if one >= wanted), default=0))


def orders(scores, labels):
    groups = [[one for s, one in zip(scores, labels, strict=True) if s == score]
              for score in sorted(set(scores), reverse=True)]  # fmt: skip
    for combined in itertools.product(*(list(itertools.permutations(group)) for group in groups)):
        yield [one for group in combined for one in group]


def test_measures_are_those_of_every_order_of_tied_items_written_out():
    rng = np.random.default_rng(8)
    lists = [(rng.integers(0, rng.integers(1, 7), n := int(rng.integers(1, 6))).tolist(),
              rng.integers(0, 2, n).tolist(), int(rng.integers(0, 3)) * int(rng.random() < 0.4))
             for _ in range(examples(60, 200))]  # fmt: skip
    table = pa.table({"q": [i for i, (scores, _, _) in enumerate(lists) for _ in scores],
                      "score": [s for scores, _, _ in lists for s in scores],
                      "label": [one for _, labels, _ in lists for one in labels]})  # fmt: skip
    never = pa.table({"q": [i for i, (_, _, missed) in enumerate(lists) for _ in range(missed)]})
    at = [*(f"iprec@{recall}" for recall in RECALLS), "rbp@0.8"]
    found = streameval.exact(table, label="label", score="score", per="q", at=at, positives=never)
    rows = {row["q"]: row for row in found.rankings.to_pylist()}
    for i, (scores, labels, missed) in enumerate(lists):
        if sum(labels) + missed == 0:
            assert (rows[i]["rbp.8"], rows[i]["precision_at_recall_0.3"]) == (0.0, None)
            continue
        every = [in_one_order(order, missed) for order in orders(scores, labels)]
        for name in every[0]:
            own = [one[name] for one in every]
            recall = name.removeprefix("precision_at_recall_")
            middle = np.mean(own) if recall == name else on_the_mean_path(scores, labels, missed, recall)
            got = [rows[i][name + end] for end in ("_worst", "", "_best")]
            np.testing.assert_allclose(got, [min(own), middle, max(own)], atol=1e-12, err_msg=f"{name} of {lists[i]}")


def test_the_residual_is_what_unjudged_and_unreturned_items_could_add():
    table = pa.table({"q": ["a"] * 4, "item": [1, 2, 3, 4], "score": [4, 3, 2, 1], "label": [1, 0, 0, 1]})
    how = {"label": "label", "score": "score", "per": "q", "at": "rbp@.5"}
    alone = streameval.exact(table, **how).rankings.to_pylist()[0]
    assert (alone["rbp.5"], alone["rbp.5_residual"]) == pytest.approx((1 / 2 + 1 / 16, 1 / 16))
    judged = pa.table({"q": ["a", "a", "a"], "item": [1, 3, 9], "label": [1, 0, 1]})
    table = table.set_column(3, "label", pa.array([1, 0, 0, 0]))
    row = streameval.exact(table, **how, key="item", positives=judged).rankings.to_pylist()[0]
    assert (row["rbp.5"], row["rbp.5_residual"]) == pytest.approx((1 / 2, 1 / 4 + 1 / 16 + 1 / 16))


LIST = pa.table({"query": [*"aaaabbbbcccc"], "score": [4, 3, 2, 1] * 3, "label": [1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0]})


def evaluated(per="query", **options):
    return streameval.exact(LIST, label="label", score="score", per=per, **options)


def test_means_count_rankings_without_a_positive_as_zero_or_leave_them_out():
    asked = "2,iprec@0.5,11pt,rbp@0.8"
    zero, skipped = evaluated(at=asked), evaluated("query(no_positives=skip)", at=asked)
    a, b = (6 + 5 * 0.5) / 11, 1 / 3
    assert zero.mean("eleven_point_precision") == pytest.approx((a + b) / 3)
    assert skipped.mean("eleven_point_precision") == pytest.approx((a + b) / 2)
    biased = 0.2 * (1 + 0.8**3), 0.2 * 0.8**2
    assert (zero.mean("rbp.8"), skipped.mean("rbp.8")) == pytest.approx((sum(biased) / 3, sum(biased) / 2))
    assert skipped.mean("rbp.8_residual") == pytest.approx(0.8**4)


def test_conditions_name_them_as_the_field_does(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    evaluated(out="e", at="2,iprec@0.5,11pt,rbp@0.8")
    evaluated(out="f", at="iprec@0.50,rbp.8")
    assert run(["check", "e", "iprec@0.5 >= 0.4", "11pt >= 0.3", "rbp@0.8 >= 0.1", "precision@recall:0.5 < 0.5"]) == 0
    assert run(["check", "f", "11pt >= 0.3"]) == 2
    assert "there is no mean of 'eleven_point_precision'" in capsys.readouterr().err
    assert run(["show", "e", "iprec@0.5", "rbp@0.8"]) == 0
    said = capsys.readouterr().out
    assert "precision@recall:0.5" in said
    assert "0.4444" in said
    assert run(["compare", "e", "f"]) == 0
    assert "precision@recall:0.5" in capsys.readouterr().out
    assert run(["sql", "e", 'SELECT "rbp.8", eleven_point_precision FROM rankings ORDER BY query LIMIT 1']) == 0
    assert json.loads((tmp_path / "f" / "evaluation.json").read_text())["parameters"]["at"] == []


def test_precision_at_no_recall_is_asked_for_as_its_table_names_it(tmp_path, monkeypatch, capsys, catalogue):
    monkeypatch.chdir(tmp_path)
    evaluated(out="e", at="2,11pt")
    evaluated(out="f", at="iprec@0")
    for name in "ef":
        assert run(["check", name, "precision@recall:0 >= 0.44", "iprec@0 < 0.45"]) == 0
    assert run(["show", str(catalogue.path("curve-evaluated")), "iprec@0"]) == 2
    assert capsys.readouterr().err == "streameval: recall is 0, outside (0, 1]\n"


@pytest.mark.parametrize(
    ("at", "said"),
    [("iprec@1.1", "recall is 1.1, outside [0, 1]"), ("rbp@1", "persistence is '1', no decimal in (0, 1)"),
     ("rbp", "at is 'rbp', not a whole number from 1"), ("ndcg@10", "at is 'ndcg@10', not a whole number from 1"),
     ("11pt > .5", "at is '11pt > .5', not"), ([f"rbp@.{i}" for i in range(101, 142)], "give 40 at most")],
)  # fmt: skip
def test_what_is_no_such_measure_is_refused(at, said):
    with pytest.raises(InputError) as refused:
        evaluated(at=at)
    assert said in str(refused.value)


def test_a_labelled_list_has_rank_biased_precision_in_every_order_of_ties(tmp_path, capsys):
    table = pa.table({"score": [5, 4, 4, 4, 1, 1], "label": [0, 1, 0, 0, 1, 1]})
    streameval.exact(table, score="score", out=tmp_path / "e")
    every = [in_one_order(order, 0)["rbp.8"] for order in orders(*(table.column(i).to_pylist() for i in range(2)))]
    row = next(row for row in streameval.exact(table, score="score").metrics.to_pylist() if row["metric"] == "rbp.8")
    assert [row[side] for side in ("lower", "estimate", "upper")] == pytest.approx(
        [min(every), math.fsum(every) / len(every), max(every)]
    )
    assert run(["check", str(tmp_path / "e"), "rbp@0.8 > 0.2", "iprec@0.5 >= 0.5", "11pt > 0.3"]) == 0
    assert run(["show", str(tmp_path / "e"), "rbp@0.7"]) == 2
    assert "there is no rbp.7. Hint: there are: rbp.5, rbp.8, rbp.95" in capsys.readouterr().err


def test_a_study_has_no_rank_biased_precision(catalogue, capsys):
    assert run(["show", str(catalogue.path("curve-evaluated")), "rbp@0.8"]) == 2
    assert "rbp.8 is known of lists whose every item has a label" in capsys.readouterr().err
