"""The watch: evidence that multiplies, runs that hold together whenever one looks, and a file that only grows."""

import json
import shutil
from datetime import timedelta
from itertools import product

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from binomial import binomial_tail
from measured import with_tables
from small_studies import NIGHT, START
from suite_cases import cases, examples

import streameval
from benchmarks.monitor import design, named, trial, year
from streameval.cli import run
from streameval.curve.runs import STAKES, share_of
from streameval.errors import StreamevalError
from streameval.methods import create
from streameval.methods.loguniform.design import Blocks
from streameval.methods.loguniform.method import LogUniform
from streameval.types import Labels


@pytest.mark.parametrize("rank", cases([1, 3, 5, 6], 3))
def test_the_evidence_of_a_day_is_one_in_expectation_at_any_rank(rank, monkeypatch):
    """Over every draw of 6 ranks, for every list; also at ranks inside a block."""
    blocks = Blocks(np.array([1, 2, 4, 6]), np.array([1.0, 0.6, 0.5, 0.3]))
    monkeypatch.setattr(LogUniform, "_at_look", lambda self, plan, look: blocks)
    method, mu = create("loguniform", {"budget": 4}), np.array([0.05, 0.4, 2.0])
    rate = blocks.rate[np.searchsorted(blocks.ends, np.arange(1, 7))]
    mean = np.zeros((64, 2, 3))
    for draw in product([0, 1], repeat=6):
        chance = float(np.prod(np.where(draw, rate, 1 - rate)))
        if chance:
            plan = method.drawn(6, 0, np.flatnonzero(draw) + 1)
            for said in product([0, 1], repeat=plan.ranks.size):  # lists that agree here say the same
                found = method.evidence_at(plan, Labels.of(plan, np.array(said, np.int8)), rank, mu)
                for of_list, v in zip(mean, product([0, 1], repeat=6), strict=True):
                    if [v[one - 1] for one in plan.ranks] == [*said]:
                        y = np.array([sum(v[:rank]), rank - sum(v[:rank])])[:, None]
                        of_list += chance * np.exp(mu * y + np.array(found))
    assert np.abs(mean - 1).max() < 1e-12


def test_a_missing_label_is_worth_no_more_than_any_completion():
    method = create("loguniform", {"budget": 200})
    plan = method.plan(2_000, 5)
    truth = (np.random.default_rng(0).random(2_000) < 0.7).astype(np.int8)
    label = truth[plan.ranks - 1]
    label[::9] = -1
    missing = np.array(method.evidence_at(plan, Labels.of(plan, label), 900, STAKES / 900))
    for fill in (0, 1, truth[plan.ranks - 1]):
        full = method.evidence_at(plan, Labels.of(plan, np.where(label < 0, fill, label)), 900, STAKES / 900)
        assert np.all(missing <= np.array(full) + 1e-9)


def test_all_runs_of_a_history_hold_together():
    """Every run of 30 days, of lists that change from day to day: histories with a run that misses its mean."""
    blocks, rng, missed, histories, delta = design(200), np.random.default_rng(3), 0, examples(15, 60), 0.3
    first, last = (np.array(side) for side in zip(*[(a, b) for a in range(1, 31) for b in range(a, 31)], strict=True))
    for _ in range(histories):
        precision = np.rint(5_000 * rng.uniform(0.4, 0.95, 30)) / 5_000
        low, high = year(blocks, precision, rng).days.means(first, last, delta)
        total = np.concatenate([[0], np.cumsum(precision)])
        mean = (total[last] - total[first - 1]) / (last - first + 1)
        missed += bool(np.any((mean < low) | (mean > high)))
    assert binomial_tail(histories, missed, delta) > 1e-3
    assert share_of(0.05, np.arange(1, 10_000)).sum() < 0.05


def test_calm_days_are_left_alone_and_a_fall_is_named():
    """A small version of `benchmarks.monitor`, whose 1,000 years are in benchmarks/README.md."""
    years = examples(5, 15)
    calm = trial(400, years, 0.0, days=examples(60, 90))
    assert binomial_tail(years, sum(one is not None for one in calm["monitor"]), 0.05) > 1e-3
    fell = trial(400, examples(2, 3), 0.15, days=60)
    assert all(one is not None and one <= 8 for one in fell["monitor"])


def test_a_change_is_named_once_and_the_next_run_begins_with_it():
    blocks, rng = design(800), np.random.default_rng(1)
    precision = np.repeat([0.9, 0.6, 0.85], 12)
    assert [kind for _, kind in named(year(blocks, precision, rng).days)] == ["fall", "rise"]


def test_a_nightly_job_appends_and_may_be_run_again(days, catalogue, tmp_path, capsys):
    out = tmp_path / "kept" / "history.parquet"
    asked = ["precision@score:0.5 >= 0.7", "--out", str(out)]
    for night, (folder, _, _) in enumerate(days):
        assert run(["monitor", str(folder), *(asked if not night else asked[-2:])]) == (4 if night > 2 else 0)
    before = out.read_bytes()
    capsys.readouterr()
    assert run(["monitor", *(str(folder) for folder, _, _ in days), *asked, "--json"]) == 4
    assert out.read_bytes() == before
    said = json.loads(capsys.readouterr().out)
    assert [row["change"] for row in said["days"]] == [None, None, None, "fall", None]
    assert any("Established on 2026-01-04: mean precision at score 0.5 fell" in one for one in said["said"])
    page = out.with_suffix(".html").read_text()
    assert "<svg" in page
    assert "<script" not in page
    at_once = pq.read_table(catalogue.path("nights-watched") / "watch.parquet")
    assert at_once.drop_columns(["study"]).equals(pq.read_table(out).drop_columns(["study"]))


def test_a_history_has_a_row_for_each_night_and_names_the_fall(days, catalogue):
    out = catalogue.path("nights-watched") / "watch.parquet"
    rows = pq.read_table(out).to_pylist()
    for row, (_, count, true) in zip(rows, days, strict=True):
        assert row["rank"] == count
        assert row["precision_lower"] <= true <= row["precision_upper"]
    assert [row["outcome"] for row in rows][3:] == ["fail", "fail"]
    with duckdb.connect() as db:
        fell = db.execute(f"SELECT day, run_upper < before_lower FROM '{out}' WHERE change = 'fall'").fetchall()
    assert fell == [(START + timedelta(days=3), True)]


def test_a_run_of_one_night_has_the_bounds_of_that_night(catalogue):
    """Those of its mean alone are further apart."""
    rows = pq.read_table(catalogue.path("nights-watched") / "watch.parquet").to_pylist()
    alone = [row for row in rows if row["run_since"] == row["day"]]
    assert [row["day"] for row in alone] == [START, START + timedelta(days=3)]
    for row in alone:
        assert (row["run_lower"], row["run_upper"]) == (row["precision_lower"], row["precision_upper"])


def test_nights_of_the_catalogue_find_their_lists(days, tmp_path):
    folder = shutil.copytree(days[0][0], tmp_path / "night")
    assert streameval.select(folder, columns=["conf"]).table.num_rows > 0


def test_of_a_night_only_labels_and_their_envelope_are_read(days, tmp_path):
    """Scores at its cutoffs too, where it is by score; a night whose other tables are gone counts all the same."""
    folder = shutil.copytree(days[0][0], tmp_path / "2026-01-01")
    expected = streameval.monitor(folder, "precision@score:0.5").rows
    for name in ("metrics", "issues"):
        (folder / f"{name}.parquet").unlink()
    assert streameval.monitor(folder, "precision@score:0.5").rows == expected
    (folder / "envelope.parquet").unlink()
    with pytest.raises(StreamevalError, match=r"envelope.parquet: a file of the results is missing"):
        streameval.monitor(folder, "precision@score:0.5")


def test_what_is_watched_may_stand_behind_the_studies(days):
    folders = [folder for folder, _, _ in days[:2]]
    watched = "precision@score:0.5 >= 0.7"
    assert streameval.monitor([*folders, watched]).table.equals(streameval.monitor(folders, watched).table)


def test_what_may_differ_is_named_with_commas_too(days, capsys):
    assert run(["monitor", str(days[0][0]), "precision@score:0.5", "--allow", "vote,sore"]) == 2
    assert "nothing that may be allowed is called 'sore'" in capsys.readouterr().err


def test_levels_are_those_of_the_study_at_the_share_of_its_day(days):
    history = streameval.monitor([folder for folder, _, _ in days[:3]], "precision@score:.5", confidence=0.9)
    for number, (row, (folder, _, _)) in enumerate(zip(history.rows, days[:3], strict=True), 1):
        plan, evaluation = streameval.Study(folder).plan(), streameval.Study(folder).evaluation()
        method = create("loguniform", {**plan.parameters, "confidence": 1 - 0.05 / (number * (number + 1))})
        assert row["precision_lower"] == method.curve(plan, evaluation.labels).precision_at(row["rank"]).lower


def test_other_methods_and_labels_that_may_be_wrong_bring_their_levels_alone(days, catalogue, tmp_path):
    folder = shutil.copytree(days[1][0], tmp_path / "2026-02-01")
    with_tables(folder, label_error=0.02)
    history = streameval.monitor([days[0][0], folder], "precision@score:0.5", allow="label_error")
    assert history.rows[1]["positives"] is None
    assert history.rows[0]["positives"] is not None
    assert history.rows[1]["run_lower"] < history.rows[0]["run_lower"]
    uniform = tmp_path / "2026-02-02"
    plan = streameval.plan(str(catalogue.lists / "list-0.parquet"), uniform, method="uniform", budget=500, seed=0)
    assert 300 < plan.notes["head"] < NIGHT
    with_tables(uniform, labels=pa.table({"rank": plan.ranks, "label": np.ones(plan.ranks.size, int)}))
    assert streameval.monitor(uniform, "precision@300").rows[0]["precision_lower"] == 1.0


def test_what_does_not_belong_in_a_history_is_one_line(days, catalogue, tmp_path, capsys):
    first, second = days[0][0], days[1][0]
    out = tmp_path / "history.parquet"
    assert run(["monitor", str(second), "precision@score:0.5", "--out", str(out)]) == 0
    other, judged, nameless = tmp_path / "2026-01-02", tmp_path / "2026-03-01", tmp_path / "study"
    for copy in (other, judged, nameless):
        shutil.copytree(first, copy)
    with_tables(judged, vote="any")
    never = tmp_path / "2026-03-02"
    streameval.plan(str(catalogue.lists / "list-0.parquet"), never, budget=200, seed=0)
    pq.write_table(pa.table({"day": [1]}), tmp_path / "mine.parquet")
    capsys.readouterr()
    for arguments, said in (
        ([str(first), "--out", str(out)], "is of 2026-01-01, and the history has 2026-01-02"),
        ([str(other), "--out", str(out)], "2026-01-02: the history has"),
        (
            [str(judged), "--out", str(out)],
            "asks another question than the studies before: vote is any, and was majority",
        ),
        ([str(judged), "--out", str(out), "--allow", "votes"], "did you mean 'vote'"),
        ([str(nameless), "--out", str(out)], "there is no date in its name"),
        ([f"2026-02-30={nameless}", "--out", str(out)], "'2026-02-30' is no day"),
        (
            [str(second), "precision@score:0.6", "--out", str(out)],
            "was begun with measure precision@score:0.5",
        ),
        ([str(second), "--out", str(tmp_path / "mine.parquet")], "mine.parquet"),
        ([str(second), "precision@score:7"], "no item has score 7 or a better one"),
        ([str(second), "precision@score:high"], "score is 'high', not a number"),
        ([str(second), "precision@601"], "rank 601 is outside 1..600"),
        ([str(second), "precision@9, score:0.5"], "has several cutoffs"),
        ([str(second)], "monitor needs a measure to watch"),
        ([str(second), str(first), "precision@9"], "is of 2026-01-01, and the history has 2026-01-02"),
        ([str(never), "precision@9"], "no results yet"),
        ([str(second), "precision@9 >= 2"], "what is to be kept is a precision in (0, 1]"),
        ([], "no study is given"),
    ):
        assert run(["monitor", *arguments]) == 2, arguments
        told = capsys.readouterr().err
        assert said in told
        assert told.count("\n") == 1
    assert run(["monitor", str(judged), "--out", str(out), "--allow", "vote"]) == 0
    copy = tmp_path / "latest"
    shutil.copytree(first, copy)
    history = streameval.monitor([f"2026-02-01={copy}", f"20260202={second}"], "precision@9")
    assert [str(row["day"]) for row in history.rows] == ["2026-02-01", "2026-02-02"]


def test_pictures_are_no_bounds_to_watch(tmp_path):
    rank = np.arange(1, 400, 20)
    study = tmp_path / "2026-01-01"
    labels = pa.table({"rank": rank, "label": rank % 3 == 0})
    streameval.adopt(pa.table({"id": np.arange(400)}), study, labels, drawn="unknown")
    with_tables(study)
    with pytest.raises(StreamevalError, match="its bounds promise nothing"):
        streameval.monitor(study, "precision@100")
    paula = tmp_path / "2026-01-02"
    falls = (np.arange(4_000) < 2_000).astype(int)
    plan = streameval.plan(pa.table({"id": np.arange(4_000)}), paula, method="paula(epsilon=0.1, window=20)", seed=0)
    with_tables(paula, labels=pa.table({"rank": plan.ranks, "label": falls[plan.ranks - 1]}))
    with pytest.raises(StreamevalError, match="hold on a condition, and with no probability"):
        streameval.monitor(paula, "precision@100")


def pooled(root, day, seed, **planned):
    """A study of a list of some 300 items, half of them positive."""
    folder = root / str(START + timedelta(days=day))
    truth = np.random.default_rng(day).random(300 + day) < 0.5
    plan = streameval.plan(pa.table({"id": np.arange(300 + day)}), folder, seed=seed, budget=120, **planned)
    return with_tables(folder, pa.table({"rank": plan.ranks, "label": truth[plan.ranks - 1]}))


def test_a_draw_counts_once(tmp_path, capsys):
    """One seed draws the same ranks each day, and evidence that is repeated proves nothing more."""
    first, again, other = pooled(tmp_path, 0, 7), pooled(tmp_path, 1, 7), pooled(tmp_path, 2, 8)
    out = tmp_path / "history.parquet"
    assert run(["monitor", str(first), "precision@100", "--out", str(out)]) == 0
    for arguments, said in (
        ([str(again)], "was drawn with seed 7, as that of 2026-01-01"),
        ([f"2026-02-01={first}"], "its plan is the one that the history has for 2026-01-01"),
    ):
        assert run(["monitor", *arguments, "--out", str(out)]) == 2
        told = capsys.readouterr().err
        assert said in told
        assert told.count("\n") == 1
    assert run(["monitor", str(other), "--out", str(out)]) == 0
    assert pq.read_table(out).column("seed").to_pylist()[0] == "7"
    with pytest.raises(StreamevalError, match="seed 7"):
        streameval.monitor([first, again], "precision@100")


def test_draws_by_key_are_not_pooled(tmp_path):
    """They share one seed by design, so each day brings its own bounds alone."""
    folders = []
    for day in (1, 2):
        folders.append(tmp_path / f"2026-01-0{day}")
        table = pa.table({"id": np.arange(300)})
        plan = streameval.plan(table, folders[-1], on="id", seed=7, budget=120 + day)
        with_tables(folders[-1], labels=pa.table({"rank": plan.ranks, "label": plan.ranks % 2}))
    rows = streameval.monitor(folders, "precision@100").rows
    assert [(row["positives"], row["seed"]) for row in rows] == [(None, None)] * 2


def test_days_that_are_fully_labelled_may_share_a_seed(tmp_path):
    folders = []
    for day in (1, 2):
        folders.append(tmp_path / f"2026-01-0{day}")
        plan = streameval.plan(pa.table({"id": np.arange(20 + day)}), folders[-1], seed=7, budget=20 + day)
        with_tables(folders[-1], labels=pa.table({"rank": plan.ranks, "label": plan.ranks % 2}))
    assert len(streameval.monitor(folders, "precision@10").rows) == 2


def test_one_day_is_told_once_and_with_nothing_to_add_the_mean_is_told_again(tmp_path, capsys):
    first, second = pooled(tmp_path, 0, 1), pooled(tmp_path, 1, 2)
    out = tmp_path / "history.parquet"
    asked = ["--out", str(out)]
    assert run(["monitor", str(first), "precision@100 >= 99%", *asked]) == 4
    told = capsys.readouterr().out
    assert "history.html: 1 day\n" in told
    assert "between  " not in told
    (row,) = pq.read_table(out).to_pylist()
    assert row["precision_lower"] <= row["run_lower"] <= row["run_upper"] <= row["precision_upper"]
    assert run(["monitor", str(second), "precision@100 >= .990", *asked]) == 4
    capsys.readouterr()
    for folder in (first, second):
        assert run(["monitor", str(folder), *asked]) == 4
        told = capsys.readouterr().out
        assert "it is proven to be below 0.99." in told
        assert "Nothing was added" in told
        assert told.endswith("\nfail\n")
