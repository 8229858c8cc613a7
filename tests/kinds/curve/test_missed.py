"""Misses that a study of the rest bounds: both samples together, shared δ, and who may not be combined."""

import json
import shutil

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from binomial import binomial_tail
from label_tables import judged, judged_by, told_of
from measured import with_tables
from suite_cases import examples

import streameval
from streameval.cli import run
from streameval.errors import InputError, StudyError
from streameval.kinds.curve.evaluate import Rest, rest_of, sharing, with_rest
from streameval.methods import create
from streameval.rows.options import RankingOptions
from streameval.types import Labels

N, REST = 1_000, 10_000


def study(folder, name, truth, **options):
    pq.write_table(pa.table({name: np.arange(truth.size)}), folder / f"{name}.parquet")
    plan = streameval.plan(str(folder / f"{name}.parquet"), folder / name, seed=3, **options)
    return with_tables(folder / name, pa.table({"rank": plan.ranks, "label": truth[plan.ranks - 1]}))


ELUSION = {"method": "uniform(interval=hypergeometric)", "budget": 600}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("missed"), np.random.default_rng(2)
    returned, rest = (
        (rng.random(N) < np.linspace(0.9, 0.3, N)).astype(np.int8),
        (rng.random(REST) < 0.01).astype(np.int8),
    )
    study(folder, "returned", returned, alpha=0.1)
    study(folder, "rest", rest, **ELUSION)
    return folder, returned, rest


def test_recall_with_misses_from_a_study_holds_and_is_said_everywhere(made, tmp_path, capsys):
    folder, returned, rest = made
    main = shutil.copytree(folder / "returned", tmp_path / "returned")
    assert run(["evaluate", str(main), "--misses", str(folder / "rest"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["misses"] <= rest.sum() <= said["misses_upper"]
    assert said["misses_from"]["n_items"] == REST
    curve, positives = streameval.Study(main).evaluation().curve, returned.sum() + rest.sum()
    assert (curve.misses, curve.misses_upper) == (said["misses"], said["misses_upper"])
    for rank in (10, 500, N):
        found = curve.recall_at(rank)
        assert found.lower <= returned[:rank].sum() / positives <= found.upper
    assert curve.claim.confidence == 0.95
    assert "all that the ranking never returned" in curve.claim.assumes
    assert any("recall, F and all that counts them" in one for one in curve.findings)
    alone = streameval.Study(folder / "returned").evaluation().curve
    assert curve.precision_at(500).lower <= alone.precision_at(500).lower
    report = (main / "report.html").read_text()
    assert f"{said['misses']:,} to {said['misses_upper']:,}" in report
    assert f"--misses {folder / 'rest'}" in report
    with duckdb.connect(str(main / "study.duckdb"), read_only=True) as db:
        ((recall, first),) = db.execute("SELECT recall_at(500), rank_at_recall(0.2)").fetchall()
    assert (recall["lower"], recall["upper"]) == curve.recall_at(500)[::2]
    assert (first["lower"], first["upper"]) == curve.rank_at_recall(0.2)[::2]
    table, _ = streameval.extrapolate_study(main, to=0.5)
    assert table.column("documents_upper")[0].as_py() <= N + REST
    assert run(["check", str(main), f"recall@{N} >= .3"]) == 0
    with pytest.raises(StudyError, match="another study bounds its misses"):
        streameval.compare(main, folder / "returned")
    assert judged(main).curve.misses_upper is None


def test_cut_asks_the_rest_as_evaluate_does(made, tmp_path, capsys):
    folder, _, _ = made
    main = shutil.copytree(folder / "returned", tmp_path / "returned")
    command = ["cut", str(main), "recall:0.25", "--json"]
    assert run([*command, "--misses", str(folder / "rest")]) == 0
    asked = json.loads(capsys.readouterr().out)
    with_tables(main, misses=folder / "rest")
    assert run(command) == 0
    stored = json.loads(capsys.readouterr().out)
    assert {**asked, "asked": 0} == {**stored, "asked": 0}


def test_misses_that_are_counted_take_no_share(made, tmp_path, capsys):
    folder, _, rest = made
    pq.write_table(pa.table({"good": rest}), tmp_path / "rest.parquet")
    streameval.exact(str(tmp_path / "rest.parquet"), label="good", out=tmp_path / "exact")
    main = shutil.copytree(folder / "returned", tmp_path / "returned")
    counted = judged(main, misses=tmp_path / "exact").curve
    known = judged(main, misses=int(rest.sum())).curve
    counted_line = f"{rest.sum():,} positives that the list never returned are counted."
    counting = ["--misses", str(rest.sum())]
    for command in (["evaluate", str(main), *counting], ["show", str(main)], ["cut", str(main), "100", *counting]):
        assert run(command) == 0
        assert counted_line in capsys.readouterr().out
    assert (counted.misses, counted.misses_upper) == (rest.sum(), None)
    assert counted.recall_at(500) == known.recall_at(500)


def test_what_cannot_be_the_rest_is_refused_in_a_line(made, tmp_path, capsys):
    folder, returned, _ = made
    main = shutil.copytree(folder / "returned", tmp_path / "returned")
    pq.write_table(pa.table({"x": np.arange(9), "part": ["a"] * 5 + ["b"] * 4}), tmp_path / "x.parquet")
    streameval.plan(str(tmp_path / "x.parquet"), tmp_path / "unlabelled", seed=1)
    streameval.plan(str(tmp_path / "x.parquet"), tmp_path / "sliced", by="part", seed=1)
    systematic = pa.table({"rank": np.arange(1, N, 20), "label": returned[::20]})
    pq.write_table(pa.table({"other": np.arange(N)}), tmp_path / "other.parquet")
    streameval.adopt(str(tmp_path / "other.parquet"), tmp_path / "adopted", systematic, drawn="unknown")
    with_tables(tmp_path / "adopted")
    for rest, said in (
        (main, "is a study of the ranking itself"),
        (tmp_path / "unlabelled", "no results yet"),
        (tmp_path / "nowhere", "nowhere"),
        (tmp_path / "adopted", "its bounds hold with no stated probability"),
    ):
        assert run(["evaluate", str(main), "--misses", str(rest)]) == 2
        told = capsys.readouterr().err
        assert said in told
        assert told.count("\n") == 1
    with pytest.raises(InputError, match="belong to no slice"):
        streameval.evaluate(tmp_path / "sliced", misses=folder / "rest")


def test_recall_is_covered_with_both_samples(made):
    """At 80 %: draws of both samples whose bounds on recall fail at some cutoff."""
    folder, returned, rest = made
    rng, missed, draws, confidence = np.random.default_rng(0), 0, examples(30, 150), 0.8
    method = create("loguniform", {"budget": 150, "confidence": confidence})
    other = rest_of(folder / "rest", streameval.Study(folder / "returned").plan())
    ranks = np.unique(np.geomspace(1, N, 60).astype(int))
    true = np.cumsum(returned)[ranks - 1] / (returned.sum() + rest.sum())
    for seed in range(draws):
        plan = method.plan(N, seed)
        drawn = rng.choice(REST, other.plan.ranks.size, replace=False)
        labels = pa.table({"rank": other.plan.ranks, "label": rest[np.sort(drawn)]})
        now = Rest(other.folder, other.plan, with_labels(other.evaluation, labels), other.judging)
        curve = method_curve(sharing(plan, now), returned)
        found = with_rest(curve, plan, now).at(ranks)
        low, high = (found.column(f"recall_{side}").to_numpy() for side in ("lower", "upper"))
        missed += bool(np.any((true < low - 1e-12) | (true > high + 1e-12)))
    assert binomial_tail(draws, missed, 1 - confidence) > 1e-3


def method_curve(plan, truth):
    return create(plan.method, dict(plan.parameters)).curve(plan, Labels.of(plan, truth[plan.ranks - 1]))


def with_labels(evaluation, labels):
    from dataclasses import replace

    known = {name: np.asarray(labels.column(name)) for name in ("rank", "label")}
    ones = np.ones(known["rank"].size, np.int64)
    labels = pa.table({**known, "votes": ones, "positive_votes": ones})
    return replace(evaluation, tables={**evaluation.tables, "labels": labels})


def test_a_rest_of_the_rankings_own_items_is_refused_and_one_probability_is_told(tmp_path, capsys):
    """By the keys that both selections hold; a rest of other items says one probability, of all together."""
    for name, items in (("main", range(200)), ("inside", range(50, 350)), ("beyond", range(200, 450))):
        made = pa.table({"id": items, "conf": np.random.default_rng(1).random(len(items))})
        pq.write_table(made, tmp_path / f"{name}.parquet")
        how = RankingOptions(score="conf", key=("id",))
        plan = streameval.plan(str(tmp_path / f"{name}.parquet"), tmp_path / name, budget=100, options=how, seed=5)
        streameval.select(tmp_path / name)
        with_tables(tmp_path / name, labels=pa.table({"rank": plan.ranks, "label": plan.ranks % 2}))
    ids = [set(streameval.Study(tmp_path / name).selection(streameval.Study(tmp_path / name).plan())["id"].to_pylist())
           for name in ("main", "inside")]  # fmt: skip
    main, beyond = str(tmp_path / "main"), str(tmp_path / "beyond")
    for command in (["evaluate", main], ["cut", main, "recall:.1"]):
        assert run([*command, "--misses", str(tmp_path / "inside")]) == 2
        told = capsys.readouterr().err
        assert f"{len(ids[0] & ids[1]):,} of its labelled items are items of {tmp_path / 'main'} too, by id" in told
        assert told.count("\n") == 1
    assert run(["cut", main, "recall:.1", "--misses", beyond]) == 0
    of_cut = capsys.readouterr().out
    for told in (of_cut, told_of(main, judged_by(["evaluate", main, "--misses", beyond]))):
        assert "0.975" not in told
        assert "probability 0.95" in told or "with 95 % confidence" in told
    assert "for any two lists, if every label is right and the items of" in of_cut
