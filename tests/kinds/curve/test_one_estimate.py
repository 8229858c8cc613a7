"""Every estimate that a study prints, in whatever verb, is of one curve, and inside its bounds."""

import base64
import gzip
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from measured import with_tables
from suite_cases import cases

import streameval
from streameval.cli import run
from streameval.reporting.chart_rows import by_false_positive_rate, by_rank, by_recall, by_yield
from streameval.study import Study

N = 30_000
TRUTH = (np.random.default_rng(2).random(N) < np.linspace(0.95, 0.1, N)).astype(np.int8)
SIDES = ("lower", "estimate", "upper")
ASKED = {
    "loguniform": {"method": "loguniform", "budget": 500},
    "uniform": {"method": "uniform", "budget": 700},
    "paula, a picture": {"method": "paula(epsilon=0.1, window=20)"},
    "a judge": {"method": "loguniform", "budget": 400, "judge": "says"},
    "slices": {"method": "loguniform", "budget": 400, "by": "team"},
}


@pytest.fixture(scope="module", params=cases(ASKED, "slices", "a judge"))
def study(request, tmp_path_factory):
    home = tmp_path_factory.mktemp("one")
    says = np.where(np.random.default_rng(1).random(N) < 0.85, TRUTH, 1 - TRUTH)
    columns = {"id": np.arange(N), "says": says, "team": np.arange(N) % 2, "score": np.linspace(1, 0, N)}
    pq.write_table(pa.table(columns), home / "list.parquet")
    options = streameval.RankingOptions(score="score")
    plan = streameval.plan(str(home / "list.parquet"), home / "s", seed=4, options=options, **ASKED[request.param])
    streameval.select(home / "s")
    streameval.evaluate(home / "s", labels=pa.table({"rank": plan.ranks, "label": TRUTH[plan.ranks - 1]}))
    return home / "s"


def printed(capsys, *command):
    capsys.readouterr()
    assert run([*map(str, command), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_all_verbs_print_estimates_of_one_curve(study, capsys):
    curve = Study(study).evaluation().curve
    one = curve.plug_in
    rows = {(r["metric"], r["argument"]): r for r in pq.read_table(study / "metrics.parquet").to_pylist()}
    for (metric, _), row in rows.items():
        low, value, high = (row[side] for side in SIDES)
        assert value is not None or metric == "max_f1_rank" or low is None
        if None not in (low, value, high):
            assert low <= value <= high, row
    f, k = one.found, 1_000
    found = rows["yield_at", str(N)]["estimate"]
    assert found == pytest.approx(f)
    p, r = (rows[name, str(k)]["estimate"] for name in ("precision_at", "recall_at"))
    assert r * f == pytest.approx(p * k)
    assert rows["pr_area", "step"]["estimate"] == rows["average_precision", "positives"]["estimate"]

    # areas follow from the same yields, rank by rank
    y = one.at("yield", np.arange(1, N + 1))
    rise = np.diff(y, prepend=0.0)
    whole = np.floor(y - rise) + 1
    assert rows["average_precision", "positives"]["estimate"] == pytest.approx(
        float(np.sum(rise * whole / np.arange(1, N + 1)) / f), abs=2e-4
    )
    wrong = np.sum(rise * (np.arange(1, N + 1) - y + rise / 2 - 0.5)) / (f * (N - f))
    assert rows["roc_auc", ""]["estimate"] == pytest.approx(1 - float(wrong), abs=2e-4)

    asked = [f"precision@{k}", f"recall@{k}", "rank@recall:0.9", "rank@precision:0.8", "rank@score:0.5",
             "precision@score:0.5"]  # fmt: skip
    said = {row["measure"]: row["estimate"] for row in printed(capsys, "show", study, *asked)["measures"]}
    assert (said["precision@1000"], said["recall@1000"]) == (p, r)
    reached = said["rank@recall:0.9"]
    assert reached == rows["rank_at_recall", "0.9"]["estimate"]
    assert curve.recall_at(int(reached)).estimate >= 0.9 > curve.recall_at(int(reached) - 1).estimate
    assert said["rank@precision:0.8"] == rows["rank_at_precision", "0.8"]["estimate"]
    middle = said["rank@score:0.5"]
    assert said["precision@score:0.5"] == pytest.approx(float(one.curve.at(middle)) / middle)

    if curve.proves:
        cut = printed(capsys, "cut", study, k)
        assert (cut["precision"], cut["recall"]) == (p, r)
    (row,) = printed(capsys, "extrapolate", study, "precision@recall:0.9", "--at", k)["curve"]
    assert (row["precision"], row["recall"]) == (p, pytest.approx(r))
    query = f"""SELECT precision_at({k}) AS p, recall_at({k}) AS r, rank_at_recall(.9) AS reached,
                    precision_at_score(.5) AS s, rank_at_precision(.8) AS kept,
                    (SELECT sum(weight * label) FROM labels) AS positives, (SELECT sum(weight) FROM labels) AS items"""
    (row,) = printed(capsys, "sql", study, query)["rows"]
    assert (row["p"]["estimate"], row["r"]["estimate"], row["reached"]["estimate"]) == (p, r, reached)
    assert row["kept"]["estimate"] == rows["rank_at_precision", "0.8"]["estimate"]
    assert row["s"]["estimate"] == said["precision@score:0.5"]
    assert (row["positives"], row["items"]) == (pytest.approx(f, rel=1e-3), pytest.approx(N))


def test_the_report_draws_that_curve(study):
    curve = Study(study).evaluation().curve
    one = curve.plug_in
    page = (study / "report.html").read_text()
    (packed,) = re.findall(r'const STUDIES = "(.*?)"', page)
    (read,) = json.loads(gzip.decompress(base64.b64decode(packed)))
    values, found = read["yield"]["runs"], []
    for value, length in zip(values[::2], values[1::2], strict=True):
        found += [value] * length
    runs = read["rank"]["runs"]
    ranks = np.cumsum(np.repeat(runs[::2], runs[1::2]))
    assert found == pytest.approx(one.curve.at(ranks).tolist(), rel=1e-6)
    for row in by_rank(curve)[::50]:
        assert row["estimate"] == pytest.approx(float(one.at("precision", [row["rank"]])[0]), abs=1e-5)
    x, y = one.at("false_positive_rate", np.arange(1, N + 1)), one.at("recall", np.arange(1, N + 1))
    drawn = by_false_positive_rate(curve)
    inside = [row for row in drawn if 0.05 < row["rate"] < 0.95 and "estimate" in row]
    for row in inside[::10]:
        assert row["estimate"] == pytest.approx(float(np.interp(row["rate"], x, y)), abs=5e-4)
    if curve.proves:  # the line of the area that is printed
        line = [row for row in drawn if "estimate" in row]
        area = np.trapezoid([row["estimate"] for row in line], [row["rate"] for row in line])
        assert area == pytest.approx(one.roc_auc(), abs=0.01)
    for rows in (by_recall(curve), by_yield(curve), drawn):
        for row in rows:
            if "lower" in row and "estimate" in row:
                assert row["lower"] - 1e-5 <= row["estimate"] <= row["upper"] + 1e-5


def test_two_studies_differ_by_their_estimates(study, tmp_path):
    other = tmp_path / "other"
    items = str(study.parent / "list.parquet")
    options = streameval.RankingOptions(score="score")
    plan = streameval.plan(items, other, seed=9, budget=400, options=options)
    streameval.select(other)
    with_tables(other, pa.table({"rank": plan.ranks, "label": TRUTH[plan.ranks - 1]}))
    known = [
        {(r["metric"], r["argument"]): r["estimate"] for r in Study(one).evaluation().metrics.to_pylist()}
        for one in (study, other)
    ]
    rows = streameval.compare(study, other).differences.to_pylist()
    assert len(rows) > 50
    for row in rows:
        name = row["metric"], row["argument"]
        if row["metric"] != "precision_at_score" and row["a"] is not None and row["b"] is not None:
            assert (row["a"], row["b"]) == tuple(pytest.approx(each[name], rel=1e-9) for each in known), name


def test_labels_that_crowd_the_top_no_longer_pull_the_estimates_down(tmp_path):
    """A list in random order, 80 % positive: ROC AUC is one half, and each part of it keeps 80 %."""
    truth = (np.random.default_rng(3).random(50_000) < 0.8).astype(np.int8)
    plan = streameval.plan(pa.table({"id": np.arange(50_000)}), tmp_path, seed=1, budget=600)
    found = streameval.evaluate(tmp_path, labels=pa.table({"rank": plan.ranks, "label": truth[plan.ranks - 1]}))
    rows = {(r["metric"], r["argument"]): r["estimate"] for r in found.metrics.to_pylist()}
    assert abs(rows["roc_auc", ""] - 0.5) < 0.1  # it was .23 to .34
    for k in (1_000, 10_000, 50_000):
        assert abs(found.curve.precision_at(k).estimate - 0.8) < 0.1
