"""Drawing by key, and labels taken over from another version of a ranking."""

import json
from itertools import pairwise
from math import comb

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from label_tables import judged
from measured import with_tables
from suite_cases import examples

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.kernels.draw import SAMPLE_SEED, mix64, sample_hashes
from streameval.methods import create
from streameval.order.scan import key_hashes
from streameval.rankings.draw_by_key import are_drawn, draw_by_key
from streameval.study.known_labels import KnownLabels
from streameval.types import Labels

N = 3_000


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """One list of items under two models, and their truth."""
    rng = np.random.default_rng(5)
    truth = (rng.random(N) < np.linspace(0.95, 0.1, N)).astype(np.int8)
    base = np.linspace(1, 0, N)
    table = {"id": np.array([f"item {i}" for i in range(N)]), "label": truth}
    path = tmp_path_factory.mktemp("versions") / "items.parquet"
    second = base + 0.05 * rng.standard_normal(N)
    pq.write_table(pa.table({**table, "v1": base, "v2": second}), path, row_group_size=1_000)
    return path, truth, np.argsort(-second, kind="stable")


def test_hashes_are_golden():
    keys = np.array([0, 1, 2**63], dtype=np.uint64)
    expected = [int(mix64(k ^ mix64(SAMPLE_SEED ^ np.uint64(7)))) for k in keys]
    assert sample_hashes(keys, np.uint64(7)).tolist() == expected
    assert expected[0] == 1_361_791_969_079_430_639


@given(seed=st.integers(0, 2**32), cuts=st.lists(st.integers(0, 60), max_size=4))
def test_parts_merge_into_the_whole(seed, cuts):
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 2**64, 60, dtype=np.uint64)
    hashes[rng.random(60) < 0.1] = 2**64 - 1
    rates = np.array([4, 30, 60]), np.array([1.0, 0.5, 0.1])
    rate = rates[1][np.searchsorted(rates[0], np.arange(1, 61))]
    naive = [r for r in range(60) if rate[r] == 1 or int(hashes[r]) < int(rate[r] * 2**64)]
    edges = [0, *sorted(cuts), 60]
    parts = [are_drawn(hashes[a:b], a + 1, rates) + a for a, b in pairwise(edges)]
    assert np.concatenate(parts).tolist() == naive == are_drawn(hashes, 1, rates).tolist()


@pytest.mark.parametrize("score", [None, "v2"])
def test_the_draw_is_the_naive_one_whatever_the_runs(versions, score, monkeypatch):
    path, _, _ = versions
    opened = streameval.open_ranking(str(path), streameval.RankingOptions(score=score))
    rates = create("loguniform", {"alpha": 0.3}).rates(N)
    monkeypatch.setattr("streameval.rankings.draw_by_key._LEAST_RUN", 700)
    drawn = draw_by_key(opened, rates, ("id",), 3, memory=1e-9)
    keys = opened.fetch(np.arange(1, N + 1), ["id"]).table.column("id")
    hashes = sample_hashes(key_hashes(pa.table({"id": keys})), np.uint64(3))
    rate = rates[1][np.searchsorted(rates[0], np.arange(1, N + 1))]
    assert drawn.tolist() == [r + 1 for r in range(N) if rate[r] == 1 or hashes[r] / 2**64 < rate[r]]


def test_the_band_holds_for_draws_by_key(versions):
    """Over seeds, for one order that has nothing to do with the hashes (binomial, p = 1e-4)."""
    path, truth, _ = versions
    opened = streameval.open_ranking(str(path))
    method = create("loguniform", {"alpha": 0.4, "confidence": 0.5})
    y, missed, replicates = np.cumsum(truth), 0, examples(25, 150)
    for seed in range(replicates):
        plan = method.drawn(N, seed, draw_by_key(opened, method.rates(N), ("id",), seed))
        low, high = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1])).envelope.at(np.arange(1, N + 1))
        missed += not (np.all(low <= y) and np.all(y <= high))
    assert sum(comb(replicates, i) for i in range(missed, replicates + 1)) / 2**replicates > 1e-4


@pytest.fixture(scope="module")
def first(versions, tmp_path_factory):
    """The first version's study, and its labels by id."""
    path, truth, _ = versions
    folder = tmp_path_factory.mktemp("first")
    made = streameval.plan(str(path), folder / "v1", on="id", score="v1", alpha=0.2, seed=0)
    ids = [f"item {rank - 1}" for rank in made.ranks]
    labels = folder / "labels.parquet"
    pq.write_table(pa.table({"id": ids, "label": truth[made.ranks - 1]}), labels)
    return labels


def test_most_labels_are_reused_and_the_truth_is_inside(versions, first, tmp_path, capsys):
    path, truth, order = versions
    study = str(tmp_path / "v2")
    arguments = ["plan", str(path), "--study", study, "--method", "loguniform", "--alpha", "0.2", "--score", "v2",
                 "--reuse", str(first), "--on", "id", "--seed", "0"]  # fmt: skip
    assert run([*arguments, "--labels-unseen-by-model", "yes", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["reused"] > 0.6 * made["labels"]
    position_drawn = create("loguniform", {"alpha": 0.2}).plan(N).ranks
    by_chance = np.isin(order[position_drawn - 1], np.array([int(i.split()[1]) for i in
                        pq.read_table(first).column("id").to_pylist()])).sum()  # fmt: skip
    assert made["reused"] > 1.5 * by_chance
    assert made["to_label"] == made["labels"] - made["reused"]
    found = judged(study)
    assert found.summary["account"]["labelled"] == made["reused"]
    y = np.cumsum(truth[order])
    low, high = found.curve.envelope.at(np.arange(1, N + 1))
    assert np.all((low <= y) & (y <= high))
    assert found.curve.claim.coverage == "simultaneous"
    assert run([*arguments, "--labels-unseen-by-model", "yes"]) == 0  # again is harmless
    assert "are left to ask for" in capsys.readouterr().out


def test_labels_that_the_model_has_seen_promise_nothing(versions, first, tmp_path, capsys):
    path, _, _ = versions
    reused = {"reuse": str(first), "on": "id", "labels_unseen_by_model": "no"}
    streameval.plan(str(path), tmp_path / "v2", **reused, score="v2", alpha=0.2, seed=0)
    found = judged(tmp_path / "v2")
    assert found.curve.claim.coverage == "none"
    assert "has seen labels" in found.curve.findings[0]


def test_bad_input(versions, first, tmp_path, capsys):
    path, _, _ = versions
    base = ["plan", str(path), "--study", str(tmp_path / "x"), "--score", "v2", "--seed", "0"]
    twice = tmp_path / "twice.csv"
    ids = pq.read_table(first).column("id").to_pylist()[:3]
    twice.write_text("id,label\n" + "".join(f"{i},1\n{i},0\n" for i in ids))
    reuse = ["--method", "loguniform", "--reuse", str(first)]
    for arguments, says in [
        (["--method", "paula", "--on", "id"], "method paula does not draw each rank by itself"),
        (["--method", "loguniform", "--on", "idd"], "no column 'idd'. Hint: did you mean 'id'"),
        (["--method", "loguniform", "--on", "label"], "does not tell items apart"),
        (["--on", "id", "--stages", "2:later"], "--stages 2:later does not go with draws by key"),
        (reuse, "name it with --on COL"),
        (["--method", "loguniform", "--label", "label"], "no labels are reused. Hint: give them with --reuse"),
        ([*reuse, "--on", "id"], "not said whether the model has seen them"),
        (["--method", "loguniform", "--reuse", str(twice), "--on", "id", "--labels-unseen-by-model", "yes"],
         "3 items have contradictory labels"),
    ]:  # fmt: skip
        assert run([*base, *arguments]) == 2, arguments
        said = capsys.readouterr().err
        assert says in said
        assert said.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_keys_that_are_null_are_refused(tmp_path):
    table = pa.table({"id": pa.array([1, None, 3])})
    opened = streameval.open_ranking(table)
    with pytest.raises(InputError, match="null at 1 items"):
        draw_by_key(opened, create("loguniform", {}).rates(3), ("id",), 0)


@pytest.mark.parametrize("order", [[], ["--score", "v1"]])
def test_drawn_keys_that_stand_at_several_items_are_refused(tmp_path, capsys, order):
    """A user's items are drawn all or none, so no stratum's draw is random: 86 of 150 such bands missed."""
    n = 20_000
    users = np.arange(n)
    users[-1], users[n // 2] = users[0], users[7]  # no two in one stratum: the head is labelled, and they are far below
    path, study = tmp_path / "items.parquet", tmp_path / "x"
    pq.write_table(pa.table({"user": users, "v1": np.linspace(1, 0, n)}), path, row_group_size=3_000)
    plan = ["plan", str(path), "--study", str(study), "--method", "loguniform", "--on", "user", *order]
    plan += ["--seed", "7"]
    assert run(plan) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "key 'user' does not tell items apart: 2 of " in said
    assert "belong to several items (first: '0' at 2, '7' at 2). Hint: draw by columns that are unique together" in said
    assert not study.exists()


def test_a_key_of_two_columns_may_repeat_in_each(tmp_path, capsys):
    pairs = pa.table({"day": np.arange(6_000) // 3_000, "user": np.arange(6_000) % 3_000})
    pq.write_table(pairs, tmp_path / "items.parquet")
    plan = ["plan", str(tmp_path / "items.parquet"), "--method", "loguniform", "--study", str(tmp_path / "x")]
    plan += ["--seed", "7"]
    assert run([*plan, "--on", "user"]) == 2
    assert "does not tell items apart" in capsys.readouterr().err
    assert run([*plan, "--on", "day,user"]) == 0


def test_a_tasks_file_of_another_study_is_reused_by_key(versions, tmp_path, capsys):
    path, _, _ = versions
    old = tmp_path / "v1"
    streameval.plan(str(path), old, on="id", score="v1", alpha=0.2, seed=0)
    streameval.select(old, export=tmp_path / "tasks.csv")
    text = (tmp_path / "tasks.csv").read_text(encoding="utf-8-sig").splitlines()
    filled = tmp_path / "filled.csv"
    filled.write_text("\n".join([text[0], *(line + "1" for line in text[1:])]) + "\n")
    arguments = ["plan", str(path), "--study", str(tmp_path / "v2"), "--method", "loguniform", "--alpha", "0.2",
                 "--score", "v2", "--seed", "0", "--reuse", str(filled), "--on", "id",
                 "--labels-unseen-by-model", "yes"]  # fmt: skip
    assert run([*arguments, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["reused"] > 0.6 * made["labels"]
    found = judged(tmp_path / "v2").summary["account"]
    assert (found["labelled"], found["unknown"]) == (made["reused"], 0)


@pytest.fixture(scope="module")
def studied(versions, tmp_path_factory):
    """The first version's study, drawn by key, of which all but 9 items are labelled."""
    path, truth, _ = versions
    study = tmp_path_factory.mktemp("studied") / "v1"
    plan = streameval.plan(str(path), study, on="id", score="v1", alpha=0.2, seed=5)
    streameval.select(study)
    labels = pa.table({"rank": plan.ranks, "label": truth[plan.ranks - 1]})
    return with_tables(study, labels.slice(0, plan.ranks.size - 9))


def test_a_dry_run_says_what_an_earlier_study_is_worth_and_plans_nothing(versions, studied, tmp_path, capsys):
    path, _, order = versions
    command = ["plan", str(path), "--study", str(tmp_path / "v2"), "--score", "v2", "--alpha", "0.2"]
    command += ["--reuse", str(studied)]
    assert run([*command, "--dry-run", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert not (tmp_path / "v2").exists()
    assert run([*command, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert f"{said['reused']:,} have a label already: {said['to_label']:,} are left to ask for." in told
    known = set((streameval.Study(studied).plan().ranks[:-9] - 1).tolist())
    # planned, it is what was said, and as many of these items have a label in the earlier study
    assert run([*command, "--labels-unseen-by-model", "yes", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    plan = streameval.Study(tmp_path / "v2").plan()
    assert (plan.seed, plan.draw_by) == (5, ("id",))
    assert (made["reused"], made["to_label"], made["labels"]) == (said["reused"], said["to_label"], said["items"])
    assert made["reused"] == len(known & set(order[plan.ranks - 1].tolist())) > 0.6 * made["labels"]
    stands = streameval.show(tmp_path / "v2")
    assert f"{made['labels']:,} labels planned of which {made['reused']:,} are in." in stands.head
    assert stands.next == f"streameval select {tmp_path / 'v2'} --remaining --export tasks.csv"
    assert stands.leads_to == f"writes the {made['to_label']:,} tasks"
    assert judged(tmp_path / "v2").summary["account"]["labelled"] == made["reused"]


def test_a_study_that_cannot_be_reused_is_refused(versions, studied, tmp_path, capsys):
    path, _, _ = versions
    command = ["plan", str(path), "--study", str(tmp_path / "v2"), "--score", "v2", "--reuse"]
    streameval.plan(str(path), tmp_path / "unkeyed", seed=1, budget=50)
    for arguments, says in [
        ([str(studied)], "not said whether the model has seen them"),
        ([str(studied), "--on", "v3", "--dry-run"], "no column 'v3'"),
        ([str(tmp_path / "unkeyed"), "--dry-run"], "no column to draw by"),
        ([str(tmp_path / "unkeyed"), "--on", "id", "--dry-run"], "nothing is selected yet"),
    ]:
        assert run([*command, *arguments]) == 2, arguments
        said = capsys.readouterr().err
        assert says in said
        assert said.count("\n") == 1
    assert not (tmp_path / "v2").exists()


@pytest.mark.parametrize("place", ["s3://lake/labels.parquet", "duckdb:labels.db#SELECT * FROM labels", "labels.csv"])
def test_labels_that_lie_elsewhere_are_no_study(place):
    assert KnownLabels(place).study is None
