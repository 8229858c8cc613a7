"""Conditions on another result: exact lists, samples of the same draws, and many rankings."""

import json

import numpy as np
import pyarrow as pa
import pytest
from binomial import binomial_tail
from suite_cases import LONG

import streameval
from streameval.cli import run
from streameval.kinds import kind_named
from streameval.questions import Question
from streameval.questions.printed import measure_of

CLAIM = "approximately 95 %, if these are independent draws: each user"
N = 2_000


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Results of two models for rows of users, as samples and as lists, and for many rankings."""
    folder, rng = tmp_path_factory.mktemp("results"), np.random.default_rng(3)
    label, common = (rng.random(N) < 0.3).astype(np.int8), rng.normal(size=N)
    rows = {"user": rng.integers(0, 200, N), "id": np.arange(N), "label": label}
    for name, better in (("a", 0.6), ("b", 0.9)):
        table = pa.table({**rows, "score": common + 0.3 * rng.normal(size=N) + better * label})
        streameval.exact(table, score="score", out=folder / f"list-{name}")
        streameval.exact(table, score="score", key="id", sample_of="user", out=folder / name)
        streameval.exact(table, score="score", per="user", out=folder / f"means-{name}")
    few = pa.table({"user": [3, 999], "label": [1, 0], "score": [0.2, 0.1]})
    streameval.exact(few, score="score", per="user", out=folder / "means-few")
    streameval.exact(few, score="score", sample_of="user", out=folder / "few")
    return folder


@pytest.fixture
def inside(results, monkeypatch):
    monkeypatch.chdir(results)
    return results


@pytest.mark.parametrize(
    ("condition", "outcome", "status"),
    [
        ("average_precision >= average_precision:a - 0.01", "pass", 0),
        ("roc_auc > roc_auc:a", "pass", 0),
        ("roc_auc <= roc_auc:a", "fail", 4),
        ("roc_auc >= roc_auc:a + 10%", "fail", 4),
        ("average_precision >= average_precision:a + {gap}", "inconclusive", 5),
        ("precision@1000 >= precision@1,000:a", "pass", 0),
        ("precision@1234 >= precision@1234:a", "inconclusive", 5),
    ],
)
def test_samples_are_decided_by_the_interval_of_their_difference(inside, condition, outcome, status, capsys):
    compared = streameval.compare("b", "a").differences.to_pylist()
    gap = next(row["difference"] for row in compared if row["metric"] == "average_precision")
    condition = condition.format(gap=round(gap, 4))
    assert run(["check", "b", condition, "--json"]) == status
    (line,) = json.loads(capsys.readouterr().out)["checks"]
    assert (line["outcome"], line["claim"], line["labels"]) == (outcome, CLAIM, None)
    question = Question.of(condition)
    none = {"low": None, "high": None, "difference": line["lower"]}
    row = next((row for row in compared if measure_of(row["metric"], row["argument"]) == str(question.measure)), none)
    assert (line["low"], line["high"]) == (row["low"], row["high"])
    assert line["lower"] == line["upper"] == pytest.approx(row["difference"], abs=1e-12)
    assert (line["no_interval"] is None) == (row["low"] is not None)
    assert streameval.check("b", condition).outcome == outcome


def test_what_is_approximate_is_never_called_proven(inside, tmp_path, capsys):
    asked = ["check", "b", "roc_auc >= roc_auc:a - 0.01", "average_precision >= 0.2"]
    assert run([*asked, "--out", str(tmp_path / "gate.md")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"Of a difference, low and high decide: {CLAIM}. They prove nothing: a condition is answered wrongly" in out
    assert "lower upper low high outcome" in out
    assert "They prove nothing" in (tmp_path / "gate.md").read_text(encoding="utf-8")
    assert run(["check", "b", "roc_auc <= roc_auc:a", "--out", str(tmp_path / "gate.xml")]) == 4
    assert 'message="fail: the difference is approximately 0.' in (tmp_path / "gate.xml").read_text(encoding="utf-8")
    table = streameval.check("b", asked[2:]).table
    assert table.column("claim").to_pylist() == [CLAIM, None]
    assert table.column_names[-4:] == ["low", "high", "claim", "no_interval"]
    assert streameval.check("b", asked[3]).table.column_names[-1] == "labels"
    capsys.readouterr()
    assert run(["check", "b", "precision@10 >= precision@10:a"]) == 5
    assert (
        "No interval of precision@10 >= precision@10:a: only 10 draws have an item above the cutoff"
        in capsys.readouterr().out
    )


def test_lists_that_are_no_samples_are_held_against_each_other_exactly(inside, capsys):
    assert run(["check", "list-b", "roc_auc > roc_auc:list-a", "precision@1% >= precision@1%:list-a - 0.5"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "A difference is exact of these lists, and not of what they were drawn from." in out
    assert "low high" not in out
    (line,) = streameval.check("list-a", "precision@1234 >= precision@1234:list-b")
    assert line.outcome == "fail"
    assert line.as_dict()["claim"] == "exact, of these lists and not of what they were drawn from"
    assert line.as_dict()["low"] is None


@pytest.mark.parametrize(("operator", "outcome"), [(">=", "pass"), (">", "fail"), ("<=", "pass"), ("<", "fail")])
def test_a_difference_that_is_the_margin_is_not_missed_by_rounding(tmp_path, operator, outcome):
    """0.7 − 0.8 is not −0.1 in binary."""
    for name, positives in (("a", 8), ("b", 7)):
        label = np.arange(10) < positives
        streameval.exact(pa.table({"label": label.astype(np.int8)}), out=tmp_path / name)
    condition = f"precision@10 {operator} precision@10:{tmp_path / 'a'} - 0.1"
    assert streameval.check(tmp_path / "b", condition).outcome == outcome


def test_many_rankings_are_the_sample(inside, capsys):
    assert run(["check", "means-b", "map > map:means-a", "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["checks"]
    (row,) = [row for row in streameval.compare("means-b", "means-a").differences.to_pylist()
              if row["metric"] == "mean_average_precision"]  # fmt: skip
    assert (line["low"], line["high"], line["lower"]) == (row["low"], row["high"], row["lower"])
    assert line["claim"] == "approximately 95 %, if these are independent draws: each ranking"


@pytest.mark.parametrize(
    ("study", "condition", "message"),
    [
        ("b", "roc_auc >= roc_auc:b", "the results would be held against themselves"),
        ("b", "roc_auc >= roc_auc:list-a", "list-a has no sums of a sample"),
        ("b", "roc_auc >= roc_auc:few", "b and few are not of the same items: 2,000 and 2 rows"),
        ("b", "roc_auc >= roc_auc:means-a", "is held against another such list"),
        ("means-b", "map >= map:a", "means over many rankings are held against other such means"),
        ("means-b", "map >= map:means-few", "only one of the two has 200 rankings of all"),
        ("b", "roc_auc >= roc_auc:nowhere", "nowhere: no such folder"),
        ("b", "roc_auc >= average_precision:a", "here 'roc_auc:RESULT' may stand, and a number"),
    ],
)
def test_what_cannot_be_held_against_another_is_refused(inside, study, condition, message):
    with pytest.raises((streameval.InputError, streameval.StudyError), match=message):
        streameval.check(study, condition)


def test_studies_are_planned_and_watched_by_numbers_alone(inside, tmp_path):
    table = pa.table({"id": np.arange(900), "score": np.linspace(1, 0, 900)})
    with pytest.raises(streameval.InputError, match="only `streameval check` holds a metric against another result"):
        streameval.plan(table, tmp_path / "asked", score="score", questions="precision@10 >= precision@10:a")
    streameval.plan(table, tmp_path / "study", score="score")
    tasks = streameval.select(tmp_path / "study", ranking=table).table
    labels = pa.table({"rank": tasks.column("rank"), "label": np.ones(tasks.num_rows, np.int8)})
    streameval.evaluate(tmp_path / "study", labels=labels)
    with pytest.raises(streameval.InputError, match="a study of a curve is not held against another") as refused:
        streameval.check(tmp_path / "study", "precision@10 >= precision@10:a")
    assert "plan B --against A" in refused.value.hint
    with pytest.raises(streameval.InputError, match="only `streameval check` holds"):
        streameval.monitor(tmp_path / "study", "precision@10 >= precision@10:a")


def test_a_gate_of_equal_models_seldom_says_no():
    """The share that is stated, of false answers on either side, where the true difference is the margin."""
    draws, wrong = 400 if LONG else 20, {"fail": 0, "pass": 0}
    rng, hold = np.random.default_rng(11), kind_named("labelled_list").held_against
    question = Question.of("average_precision >= average_precision:a")
    for _ in range(draws):
        label, common = (rng.random(1_000) < 0.3).astype(np.int8), rng.normal(size=1_000)
        lists = [streameval.exact(pa.table({"label": label, "score": common + rng.normal(size=1_000) + label}),
                                  score="score", sample_of="rows") for _ in range(2)]  # fmt: skip
        outcome = hold(question, ["b", "a"], lists).outcome
        wrong[outcome] = wrong.get(outcome, 0) + 1
    assert all(binomial_tail(draws, wrong[outcome], 0.025) > 1e-3 for outcome in ("fail", "pass"))
