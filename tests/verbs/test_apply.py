"""The threshold of a study, applied to another list: what falls above it there, and that nothing is proven of it."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from measured import with_tables
from suite_cases import slow
from test_check import SCORES, N, floats, study_of  # noqa: F401  (a fixture)

import streameval
from streameval.cli import run
from streameval.errors import InputError


def other_list(folder, score):
    folder.mkdir(parents=True)
    for at, rows in enumerate(np.array_split(np.random.default_rng(1).permutation(score.size), 2)):
        pq.write_table(pa.table({"id": rows, "conf": score[rows]}), folder / f"{at}.parquet", row_group_size=200)
    return folder


@pytest.mark.parametrize(
    ("kind", "ascending"),
    [("float32, quantised", False), ("float64", True), *slow(("half tied", False), ("int16", False))],
)
def test_a_threshold_falls_in_another_list_where_a_full_count_says(tmp_path, kind, ascending):
    study, _, _ = study_of(tmp_path, SCORES[kind](np.random.default_rng(8)), with_tables, ascending=ascending)
    score = SCORES[kind](np.random.default_rng(9))[: N // 2]
    other = other_list(tmp_path / "other", score)
    own = pq.read_table(tmp_path / "list").column("conf").to_numpy()
    best = np.sort(own) if ascending else np.sort(own)[::-1]
    for rank in (1, 40, 500, N - 1):
        count = int(np.sum(score <= best[rank - 1] if ascending else score >= best[rank - 1]))
        if count:
            cut = streameval.cut(study, rank, apply=str(other))
            assert cut.rank == count
        else:
            with pytest.raises(InputError, match="no item has score"):
                streameval.cut(study, rank, apply=str(other))
    assert streameval.cut(study, 40, apply=pq.read_table(other)).plan.n_items == score.size


def test_the_command_keeps_the_items_above_it_and_says_what_is_proven(floats, tmp_path, capsys):  # noqa: F811
    study, _ = floats
    score = SCORES["float64"](np.random.default_rng(9))
    other = other_list(tmp_path / "other", score)
    command = ["cut", str(study), "precision:0.6", "--apply", str(other)]
    assert run(command) == 0
    told = capsys.readouterr().out
    assert f"Nothing is proven about {other}" in told
    assert run([*command, "--out", str(tmp_path / "kept"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["rows"] == said["rank"] == int(np.sum(score >= said["score"]))
    assert pq.read_table(tmp_path / "kept").column("conf").to_numpy().min() >= said["score"]
    assert said["claim"]["coverage"] == "none"
    assert said["precision_lower"] is None
    own = streameval.cut(study, "precision:0.6")
    assert (said["proof"]["rank"], said["proof"]["precision_lower"]) == (own.rank, own.holds["precision_lower"])
    assert said["proof"]["precision_lower"] >= 0.6
    manifest = json.loads((tmp_path / "kept" / "_manifest.json").read_text())
    assert f"precision:0.6 --apply {other}" in manifest["command"]
    assert run([*command, "--out", str(tmp_path / "kept"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["already_there"]
    assert run([*command, "--out", str(tmp_path / "more"), "--dry-run"]) == 0


def test_lists_that_a_threshold_cannot_be_applied_to_are_refused(floats, tmp_path, capsys):  # noqa: F811
    study, _ = floats
    pq.write_table(pa.table({"id": [1], "score": [0.5]}), tmp_path / "named.parquet")
    pq.write_table(pa.table({"id": [1], "conf": [-1.0]}), tmp_path / "below.parquet")
    for other, said in (
        ("named.parquet", "conf"),
        ("below.parquet", "no item has score"),
        (study.parent / "list", "is the list that the study is about"),
        ("nowhere", "nowhere"),
    ):
        assert run(["cut", str(study), "100", "--apply", str(tmp_path / other)]) == 2
        told = capsys.readouterr().err
        assert said in told
        assert told.count("\n") == 1
    stored = tmp_path / "stored"
    plan = streameval.plan(str(study.parent / "list" / "0.parquet"), stored, seed=1, alpha=0.3)
    with_tables(stored, labels=pa.table({"rank": plan.ranks, "label": np.ones(plan.ranks.size, int)}))
    assert run(["cut", str(stored), "10", "--apply", str(tmp_path / "below.parquet")]) == 2
    assert "no score is known at rank 10" in capsys.readouterr().err


@pytest.fixture(scope="module")
def tied(tmp_path_factory):
    """A study by a score that half of its items share, and another list scored alike."""
    folder, score = tmp_path_factory.mktemp("tied"), np.where(np.arange(N) % 2, 0.7, 0.2)
    study, found, _ = study_of(folder, score, with_tables)
    return study, found.curve, score, other_list(folder / "other", score[: N // 2])


@pytest.mark.parametrize("asked", [40, "precision:0.6", "max_f1"])
def test_bounds_of_a_tied_threshold_are_those_of_all_items_that_it_keeps(tied, asked):
    """Half of both lists have one score: a cut at a rank among them keeps some, its score keeps all."""
    study, curve, score, other = tied
    proof = streameval.cut(study, asked, apply=str(other)).proof
    assert proof.rank == int(np.sum(score >= proof.score))
    assert proof.holds["precision_lower"] == curve.precision_at(proof.rank).lower
