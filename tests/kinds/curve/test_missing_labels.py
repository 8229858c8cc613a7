"""Estimates while labels are missing: those of a random part of the tasks, or none; and one estimate in every verb."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import judged, judged_by, told_of
from measured import with_tables

import streameval
from streameval.cli import run
from streameval.study import Study
from streameval.study.tasks import task_numbers

N = 20_000
SIDES = ("lower", "estimate", "upper")


@pytest.fixture
def study(tmp_path):
    """A planned study, its planned ranks, and the truth of all items."""
    truth = (np.random.default_rng(2).random(N) < np.linspace(0.98, 0.85, N)).astype(np.int8)
    pq.write_table(pa.table({"id": np.arange(N)}), tmp_path / "list.parquet")
    plan = streameval.plan(str(tmp_path / "list.parquet"), tmp_path / "study", method="loguniform", budget=827, seed=5)
    return tmp_path / "study", plan, truth


def labels_of(plan, truth, answered, path):
    ranks = plan.ranks[answered]
    pq.write_table(pa.table({"rank": ranks, "label": truth[ranks - 1]}), path)
    return path


def places(plan):
    numbers = task_numbers(plan)
    return numbers - numbers.min()


PARTS = {
    "the first tasks": lambda plan: places(plan) < 0.4 * plan.ranks.size,
    "a random part": lambda plan: np.random.default_rng(1).random(plan.ranks.size) < 0.4,
}


@pytest.mark.parametrize("part", PARTS)
def test_a_random_part_estimates_the_rest(part, study, tmp_path, capsys):
    folder, plan, truth = study
    answered = PARTS[part](plan)
    some = labels_of(plan, truth, answered, tmp_path / "some.parquet")
    assert run(["evaluate", str(folder), "--labels", str(some)]) == 0
    told = capsys.readouterr().out
    assert f" labels; {int((~answered).sum()):,} open.)" in told.splitlines()[0]
    assert "Estimates are those of the labels at hand" in told
    curve = Study(folder).evaluation().curve  # as the files have it
    low, middle, high = curve.precision_at(N)
    assert high - low > 0.4
    assert abs(middle - truth.mean()) < 0.03  # the middle of these bounds is far from it
    assert json.loads((folder / "evaluation.json").read_text())["estimates"] == "labels at hand"
    rows = {(r["metric"], r["argument"]): r for r in pq.read_table(folder / "metrics.parquet").to_pylist()}
    assert rows["precision_at", str(N)]["estimate"] == middle
    page = (folder / "report.html").read_text()
    assert "Estimates are those of the labels at hand" in page
    assert " open). " in page.split('class="verdict"')[1].split("</p>")[0]
    for row in rows.values():
        if None not in [row[side] for side in SIDES]:
            assert row["lower"] <= row["estimate"] <= row["upper"]
    table = streameval.sql(folder, "SELECT precision_at(1000) AS p, estimates FROM provenance").to_pylist()[0]
    assert table["estimates"] == "labels at hand"
    assert table["p"]["estimate"] == curve.precision_at(1_000).estimate


def test_the_best_ranks_alone_estimate_nothing(study, tmp_path, capsys):
    folder, plan, truth = study
    answered = np.arange(plan.ranks.size) < 0.4 * plan.ranks.size
    some = labels_of(plan, truth, answered, tmp_path / "some.parquet")
    assert run(["evaluate", str(folder), "--labels", str(some)]) == 0
    told = capsys.readouterr().out
    assert "There are no estimates" in told
    assert "–" in told
    found = Study(folder).evaluation()
    assert found.curve.at([1_000, N]).column("precision").to_pylist() == [None, None]
    assert np.isnan(found.curve.precision_at(N).estimate)
    assert {row["estimate"] for row in found.metrics.to_pylist()} == {None}
    for command in (
        ["show", "precision@1000", "rank@precision:0.9"],
        ["cut", "1000"],
        ["extrapolate", "precision@recall:.5"],
    ):
        name, *flags = command
        assert run([name, str(folder), *flags]) == 0
    assert run(["report", str(folder)]) == 0
    assert streameval.sql(folder, "SELECT precision_at(1000).estimate AS e").to_pylist() == [{"e": None}]


def test_all_labels_or_skips_alone_leave_estimates_as_they_were(study, tmp_path):
    folder, plan, truth = study
    labels = np.where(np.arange(plan.ranks.size) % 50 == 0, "skip", truth[plan.ranks - 1].astype(str))
    pq.write_table(pa.table({"rank": plan.ranks, "label": labels}), tmp_path / "all.parquet")
    found = judged_by(["evaluate", str(folder), "--labels", str(tmp_path / "all.parquet")])
    told = told_of(folder, found)
    assert found.curve.basis == "labels"
    assert f" labels; {-(-plan.ranks.size // 50):,} skipped.)" in told
    assert "stimates" not in told


def test_every_verb_has_the_same_estimate(catalogue):
    folder, other = catalogue.path("curve-evaluated"), catalogue.path("uniform-evaluated")
    compared, found = streameval.compare(folder, other), Study(folder).evaluation()
    known = {(r["metric"], r["argument"]): r["estimate"] for r in found.metrics.to_pylist()}
    rows = compared.differences.to_pylist()
    assert len(rows) > 50
    for row in [one for one in rows if one["metric"] != "precision_at_score"]:  # at the scores of both
        assert row["a"] == pytest.approx(known[row["metric"], row["argument"]], rel=1e-14)
    n, shown = found.curve.n_items, compared.curves.to_pylist()[-1]
    assert shown["precision_a"] == found.curve.precision_at(n).estimate
    assert streameval.sql(folder, f"SELECT precision_at({n}).estimate AS e").to_pylist() == [
        {"e": shown["precision_a"]}
    ]


@pytest.mark.parametrize("method", ["paula", "uniform", "stratified"])
def test_estimates_of_every_method_lie_between_its_bounds(method, tmp_path):
    truth = (np.random.default_rng(4).random(5_000) < np.linspace(0.95, 0.5, 5_000)).astype(np.int8)
    items = pa.table({"id": np.arange(5_000)})
    options = {"method": method, "budget": 1_000} if method != "paula" else {"method": "paula(assume=independent)"}
    plan = streameval.plan(items, tmp_path / "s", seed=2, **options)
    half = np.flatnonzero(places(plan) < plan.ranks.size / 2)
    ranks = plan.ranks[half]
    found = judged(tmp_path / "s", pa.table({"rank": ranks, "label": truth[ranks - 1]}))
    table = found.curve.table.to_pandas()
    assert found.curve.basis == "labels at hand"
    assert ((table.precision_lower <= table.precision) & (table.precision <= table.precision_upper)).all()
    assert abs(found.curve.precision_at(5_000).estimate - truth.mean()) < 0.1


def test_slices_have_estimates_on_the_same_terms(tmp_path, capsys):
    rng = np.random.default_rng(6)
    truth = (rng.random(6_000) < 0.9).astype(np.int8)
    table = pa.table({"id": np.arange(6_000), "land": rng.choice(["de", "fr"], 6_000)})
    pq.write_table(table, tmp_path / "list.parquet")
    plan = streameval.plan(str(tmp_path / "list.parquet"), tmp_path / "s", seed=1, budget=800, by="land")
    for part, basis in ((PARTS["the first tasks"](plan), "labels at hand"), (np.arange(plan.ranks.size) < 150, "none")):
        some = labels_of(plan, truth, part, tmp_path / f"{basis}.parquet")
        with_tables(tmp_path / "s", some)
        found = Study(tmp_path / "s").evaluation()  # as the files have it
        for curve in (found.curve, *(one.curve for one in found.slices)):
            middle = curve.precision_at(curve.n_items).estimate
            assert curve.basis == basis
            assert np.isnan(middle) if basis == "none" else abs(middle - 0.9) < 0.08
        assert run(["show", str(tmp_path / "s"), "precision@100", "--slice", "de"]) == 0
        assert run(["labels", str(tmp_path / "s"), "--forget", f"{basis}.parquet"]) == 0
    capsys.readouterr()
