"""What is done where nothing was said, and what is refused instead of being dropped or guessed."""

import json
import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

import streameval
from streameval.cli import digits as demo
from streameval.cli import run
from streameval.curve import Curve
from streameval.curve.envelope import Points, close
from streameval.study import Study
from streameval.types import Claim


def said(capsys, *arguments):
    capsys.readouterr()
    status = run([str(one) for one in arguments])
    out = capsys.readouterr()
    return status, out.out if status == 0 else out.err


@pytest.fixture
def items(catalogue):
    """The path of a list of 3,000 items."""
    return str(catalogue.lists / "list.parquet")


def test_the_default_method_is_the_one_whose_claim_holds(items, catalogue, tmp_path, capsys):
    status, out = said(capsys, "plan", items, "--study", tmp_path / "s", "--json")
    assert (status, json.loads(out)["method"]) == (0, "loguniform")
    assert streameval.plan(items, tmp_path / "p").method == "loguniform"
    study = Study(catalogue.path("curve-evaluated"))
    assert study.plan().method == "loguniform"
    assert study.evaluation().curve.claim.coverage == "simultaneous"


@pytest.mark.parametrize(("parameter", "owners"), [
    ("epsilon=0.05", ["paula", "stratified"]), ("window=50", ["paula"]), ("head=5000", ["paula", "stratified"]),
    ("tail=closed", ["paula", "stratified"]), ("assume=independent", ["paula"]), ("claim=factor", ["stratified"]),
    ("interval=hypergeometric", ["uniform"]),
])  # fmt: skip
def test_a_parameter_of_another_method_says_whose_it_is(items, tmp_path, capsys, parameter, owners):
    err = refused(capsys, "plan", items, "--study", tmp_path / "s", "--method", f"loguniform({parameter})")
    name = parameter.partition("=")[0]
    assert f"loguniform has no parameter '{name}'. Hint: it is one of {' and '.join(owners)}" in err
    assert not (tmp_path / "s").exists()
    for owner in owners:
        method = f"{owner}({parameter})"
        status, out = said(capsys, "plan", items, "--study", tmp_path / owner, "--method", method)
        assert (status, out.partition(":")[0]) == (0, method), out


def test_alpha_beside_budget_is_refused_and_neither_dropped(items, tmp_path, capsys):
    both = ["--alpha", "0.05", "--budget", "500"]
    known = ["--reuse", items, "--on", "id", "--label", "right", "--labels-unseen-by-model", "yes", "--seed", "1"]
    for arguments in (["plan", items, "--study", tmp_path / "s", *both], ["cost", "--items", "9000", *both],
                      ["plan", items, "--study", tmp_path / "s", "--method", "paula", *both],
                      ["plan", items, "--study", tmp_path / "s", *known, *both],
                      ["simulate", items, "--label", "right", *both]):  # fmt: skip
        assert "--alpha and --budget were both given" in refused(capsys, *arguments)
    assert not (tmp_path / "s").exists()


def test_a_study_grows_as_it_was_planned_and_options_beside_are_refused(study, capsys):
    folder = study("stages-planned")
    before = (folder / "plan.json").read_bytes()
    for option in (["--alpha", "0.05"], ["--seed", "5"], ["--score", "score"], ["--confidence", "0.99"]):
        err = refused(capsys, "grow", folder, "--budget", "500", *option)
        assert option[0] in err
    assert (folder / "plan.json").read_bytes() == before
    assert run(["grow", str(folder), "--budget", "500"]) == 0


def test_an_empty_argument_is_not_the_current_folder(items, tmp_path, capsys, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert "--study is empty" in refused(capsys, "plan", items, "--study", "")
    assert "--study is empty" in refused(capsys, "plan", items, "--study=")
    assert "an argument is empty" in refused(capsys, "select", "")
    assert "--out is empty" in refused(capsys, "exact", items, "--label", "right", "--out", "")
    assert "an argument is empty" in refused(capsys, "demo", "")
    assert "no such file" in refused(capsys, "evaluate", "evaluated")  # no flag that lacks its value
    with pytest.raises(streameval.InputError, match="name is empty"):
        streameval.plan(items, "")
    assert os.listdir(here) == []
    assert run(["plan", items, "--study", "."]) == 0  # who says so, may
    assert "plan.json" in os.listdir(here)


@pytest.mark.parametrize("query", [
    "SELECT 1; SELECT 2", "SHOW TABLES; SELECT 2;", "EXPLAIN SELECT 1; SELECT 2",
    "PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b); SELECT 2",
])  # fmt: skip
def test_no_answer_of_several_queries_is_dropped(catalogue, capsys, query):
    evaluated = catalogue.path("curve-evaluated")
    assert "only the last would be answered. Hint: ask one at a time" in refused(capsys, "sql", evaluated, query)


def test_several_queries_that_are_typed_or_end_in_one_answer_are_told_apart(catalogue, capsys, monkeypatch):
    evaluated = catalogue.path("curve-evaluated")
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    monkeypatch.setattr("sys.stdin.read", lambda: "SELECT 1;\nSELECT 2;\n", raising=False)
    assert "ask one at a time" in refused(capsys, "sql", evaluated)
    _, out = said(capsys, "sql", evaluated, "CREATE TEMP TABLE t AS SELECT 5 AS a; SELECT a FROM t;", "--json")
    assert json.loads(out)["rows"] == [{"a": 5}]


def test_without_labels_no_half_width_is_reached(study, tmp_path, capsys):
    study, tie = study("curve-planned"), tmp_path / "tie.csv"
    _, out = said(capsys, "labels", study)
    assert "Half-width" not in out
    assert "No half-width: no planned item has a label yet." in out
    tie.write_text("rank,label\n1,1\n1,0\n")  # two votes that decide nothing
    status, out = said(capsys, "evaluate", study, "--labels", tie)
    assert status == 0, out
    for shown in (out, (study / "report.html").read_text(encoding="utf-8")):
        assert "Widest bounds" not in shown
        assert "No planned item has a label yet" in shown
    low, high = Study(study).evaluation().curve.envelope.at([1, 1_500, 3_000])
    assert (low.tolist(), high.tolist()) == ([0, 0, 0], [1, 1_500, 3_000])  # the bounds of any list, as it says


def test_a_score_between_two_equal_ones_is_known():
    score = pa.table({"rank": [2, 5, 9, 10], "score": [0.9, 0.5, 0.5, 0.1]})
    curve = Curve(10, close(10, Points.none(), np.array([1]), np.array([1])), np.arange(1, 11), Claim("none", None, ""))
    curve = curve.with_score(score)
    assert curve.threshold_at(7) == (0.5, 0.5, 0.5)
    assert curve.threshold_at(3) == (0.5, None, 0.9)
    assert curve.threshold_at(5) == (0.5, 0.5, 0.5)


@pytest.fixture
def tied(tmp_path):
    """A list of two scores, so that most ranks lie between items of their own score."""
    score = np.repeat([0.9, 0.3], [120, 80])
    pq.write_table(pa.table({"id": np.arange(200), "score": score}), tmp_path / "tied.parquet")
    pq.write_table(pa.table({"rank": np.arange(1, 201), "label": np.ones(200, np.int8)}), tmp_path / "ones.parquet")
    study = tmp_path / "s"
    plan = ["plan", tmp_path / "tied.parquet", "--study", study, "--score", "score", "--budget", "30", "--seed", "1"]
    for arguments in (plan, ["select", study], ["evaluate", study, "--labels", tmp_path / "ones.parquet"]):
        assert run([str(one) for one in arguments]) == 0
    return study, score


def test_thresholds_of_tied_scores_are_known_in_sql_and_python(tied, capsys):
    study, score = tied
    curve = Study(study).evaluation().curve
    _, out = said(capsys, "sql", study, "SELECT k, threshold_at(k) AS t FROM range(1, 201) AS r(k)", "--json")
    rows = json.loads(out)["rows"]
    assert len(rows) == 200
    for row in rows:
        low, here, high = row["t"].values()
        assert (low, here, high) == curve.threshold_at(row["k"])
        assert here == (low if low == high else None)
        assert here in (None, score[row["k"] - 1])


@pytest.fixture
def holed(tmp_path):
    table = {"id": np.arange(500), "conf": np.linspace(1, 0, 500), "null": pa.nulls(500, pa.float64())}
    table["nan"] = np.full(500, np.nan)  # which no statistics count
    table["holed"] = np.array([np.nan if i == 7 else float(i) for i in range(500)])
    pq.write_table(pa.table(table), tmp_path / "holed.parquet")
    return str(tmp_path / "holed.parquet")


def test_scores_that_footers_count_as_null_are_refused_before_a_plan_is_made(holed, tmp_path, capsys):
    study = tmp_path / "s"
    message = f"500 items have no null (null), first: {holed}: row group 0, row 0 (from 0)."
    for more in ([], ["--dry-run"]):
        assert message in refused(capsys, "plan", holed, "--study", study, "--score", "null", *more)
    assert not study.exists()
    table = pa.table({"score": pa.array([None, 1.0, 2.0])})
    with pytest.raises(streameval.InputError, match=r"1 item has no score .*nan='last'"):
        streameval.plan(table, study, score="score")
    assert run(["plan", holed, "--study", str(study), "--score", "null", "--nan", "last"]) == 0


@pytest.mark.parametrize("score", ["nan", "holed"])
def test_a_plan_that_cannot_be_selected_can_be_replaced(holed, tmp_path, capsys, score):
    study = tmp_path / "s"
    assert run(["plan", holed, "--study", str(study), "--score", score, "--budget", "50", "--seed", "1"]) == 0
    assert "every item needs a score" in refused(capsys, "select", study)
    status, out = said(capsys, "plan", holed, "--study", study, "--score", "conf", "--budget", "50", "--seed", "1")
    assert status == 0
    assert (
        "Replaces the earlier plan, of which nothing was selected or labelled: "
        f"order by `{score}` then, order by `conf` now.\n" in out
    )
    assert run(["select", str(study)]) == 0
    assert Study(study).plan().ranking["score"] == "conf"
    err = refused(capsys, "plan", holed, "--study", study, "--score", "conf", "--budget", "60")
    assert "budget 50 then, 60 now" in err


def test_a_plan_that_is_replaced_is_told_apart_in_all_that_differs(holed, tmp_path, capsys):
    plan = ["plan", holed, "--study", tmp_path / "s", "--seed", "1"]
    assert said(capsys, *plan, "--budget", "50")[0] == 0
    told = said(capsys, *plan, "--budget", "60", "--stages", "3", "--confidence", "0.9")[1]
    assert "no stages then, 3 now" in told
    assert "confidence 0.95 then, 0.9 now" in told
    assert "budget 50 then, 60 now" in told
    told = said(capsys, *plan, "--alpha", "0.3", "--score", "conf", "--stages", "2:later", "--min-precision", "0.7")[1]
    assert re.search(r" now; and \d more\.", told)


def test_a_plan_of_which_something_was_made_is_never_replaced(holed, tmp_path, capsys):
    labels = tmp_path / "l.csv"
    labels.write_text("rank,label\n1,1\n")
    plan = ["plan", holed, "--budget", "50", "--seed", "1"]
    for name, made in (("selected", ["select"]), ("labelled", ["evaluate", "--labels", labels])):
        study = tmp_path / name
        assert run([*plan, "--study", str(study)]) == 0
        assert run([str(one) for one in [made[0], study, *made[1:]]]) == 0
        before = (study / "plan.json").read_bytes()
        assert "budget 50 then" in refused(capsys, *plan[:2], "--budget", "40", "--study", study)
        assert (study / "plan.json").read_bytes() == before
    grown = tmp_path / "grown"
    assert run([*plan, "--stages", "3:later", "--study", str(grown)]) == 0
    assert run(["grow", str(grown), "--budget", "200"]) == 0
    assert "stages 3:later then" in refused(capsys, *plan, "--study", grown)


def test_a_plan_by_slices_leaves_nothing_behind_when_it_is_replaced(tmp_path):
    study = tmp_path / "s"
    items = pa.table({"by": np.arange(900) % 3})
    streameval.plan(items, study, by="by", seed=1)
    assert (study / "slice_counts.parquet").exists()
    streameval.plan(items, study, seed=1)
    assert sorted(path.name for path in study.iterdir()) == [".lock", "plan.json", "plan.parquet"]


@pytest.fixture
def digits(monkeypatch):
    """The truth of a short list in place of the digits, whose 1.6 million pairs take a while."""
    n = 2_000
    truth = (np.random.default_rng(2).random(n) < np.linspace(1, 0.2, n)).astype(np.int8)

    def short(folder):
        (folder / "ranking").mkdir()
        ids, picture = np.random.default_rng(3).permutation(n), pa.array([b""] * n)
        items = pa.table({"id": ids, "left_picture": picture, "right_picture": picture})
        pq.write_table(items, folder / "ranking" / "0.parquet")
        pq.write_table(pa.table({"rank": np.arange(1, n + 1), "label": truth}), folder / "truth.parquet")
        return truth

    monkeypatch.setattr(demo, "write_ranking", short)
    monkeypatch.setattr(demo, "_CUTOFFS", (500, 1_000))
    return truth


def test_the_demo_shows_both_methods_on_one_list(digits, tmp_path, capsys):
    status, out = said(capsys, "demo", tmp_path / "d")
    assert status == 0, out
    ours, papers = (Study(tmp_path / "d" / name) for name in ("study", "study-paula"))
    shown = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}
    assert shown["labels"].split()[1:] == [f"{one.plan().table.num_rows:,}" for one in (ours, papers)]
    assert "hold with probability 0.95" in shown["bounds"]
    for k in (500, 1_000, digits.size):
        (line,) = [one for one in out.splitlines() if f"k = {k:,} " in one]
        true = digits[:k].mean()
        assert line.endswith(f"{true:.4f}")
        inside = []
        for study in (ours, papers):
            low, _, high = study.evaluation().curve.precision_at(k)
            assert f"{low:.4f} .. {high:.4f}" in line
            inside.append(low <= true <= high)
        assert line.count("(missed)") == inside.count(False)


def test_the_demo_as_json_names_both_methods(digits, tmp_path, capsys):
    _, out = said(capsys, "demo", tmp_path / "d", "--json")
    assert [one["method"] for one in json.loads(out)["methods"]] == ["loguniform", "paula"]


def test_a_demo_that_fails_leaves_nothing(tmp_path, capsys, monkeypatch):
    def full(folder):
        (folder / "ranking").mkdir()
        raise OSError(28, "No space left on device", str(folder / "ranking/part-00.parquet"))

    monkeypatch.setattr(demo, "write_ranking", full)
    assert run(["demo", str(tmp_path / "d")]) == 3
    assert "part-00.parquet: No space left on device" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


def test_a_number_in_place_of_a_list_is_told_how_it_is_given(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["cost", "1000000", "--for", "precision@1000 >= 0.9"]) == 2
    assert capsys.readouterr().err == (
        "streameval: 1000000 is a number of items, not a list. Hint: cost --items 1000000\n"
    )
