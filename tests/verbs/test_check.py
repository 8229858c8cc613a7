"""Asking at a score, and gates: pass, fail or inconclusive, and no pass that the bounds do not prove."""

import itertools
import json
import shutil
from dataclasses import replace
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from binomial import binomial_tail
from measured import exact_tables, with_tables
from suite_cases import LONG, examples, slow

import streameval
from streameval.cli import run
from streameval.errors import EXIT_DONE, EXIT_FAILS, InputError
from streameval.kinds import results_of
from streameval.methods import create
from streameval.order.by_score import by_score
from streameval.order.count_at_score import count_at_score
from streameval.questions import Condition, Question
from streameval.rows import open_rows
from streameval.rows.options import RankingOptions
from streameval.types import Claim, Labels
from streameval.verbs.check import Checks, _check_question, check
from streameval.verbs.sql import connect

N = 1_200
SCORES = {
    "float32, quantised": lambda rng: np.round(rng.random(N), 2).astype(np.float32),
    "float64": lambda rng: rng.random(N),
    "half tied": lambda rng: np.where(rng.random(N) < 0.5, 0.7, rng.random(N)),
    "int16": lambda rng: rng.integers(-40, 40, N).astype(np.int16),
}


def study_of(folder, score, evaluate=streameval.evaluate, **options):
    """A study of a list by score, its evaluation, and how it is ordered; three files."""
    rng = np.random.default_rng(3)
    truth = (rng.random(N) < 0.3 + 0.6 * (np.argsort(np.argsort(score)) / N)).astype(np.int8)
    (folder / "list").mkdir(parents=True)
    for at, rows in enumerate(np.array_split(rng.permutation(N), 3)):
        table = pa.table({"id": rows, "conf": score[rows], "label": truth[rows]})
        pq.write_table(table, folder / "list" / f"{at}.parquet", row_group_size=300)
    study = folder / "study"
    how = RankingOptions(score="conf", key=("id",), **options)
    streameval.plan(str(folder / "list"), study, seed=1, alpha=0.2, options=how)
    selected = streameval.select(study).table
    labels = pa.table({"rank": selected.column("rank"), "label": truth[selected.column("id").to_numpy()]})
    evaluate(study, labels=labels)
    return study, streameval.Study(study).evaluation(), how


@pytest.fixture(scope="module")
def floats(tmp_path_factory):
    """A study by scores of which hardly two are alike, for tests that only read it; its scores."""
    score = SCORES["float64"](np.random.default_rng(8))
    return study_of(tmp_path_factory.mktemp("floats"), score)[0], score


@pytest.fixture(scope="module")
def eight(tmp_path_factory):
    """Exact results of eight items."""
    return exact_study(tmp_path_factory.mktemp("eight"), np.array([1, 1, 0, 1, 0, 0, 1, 0]))


@pytest.mark.parametrize(
    ("kind", "ascending"),
    [
        *(("float32, quantised", False), ("half tied", True), ("int16", False)),
        *slow(("float64", True), ("half tied", False)),
    ],
)
def test_every_score_is_counted_and_bounded_as_a_full_count_says(tmp_path, kind, ascending):
    score = SCORES[kind](np.random.default_rng(8))
    study, found, how = study_of(tmp_path, score, ascending=ascending)
    order = by_score(open_rows(str(tmp_path / "list"), how), how)
    curve = found.curve
    scores = np.unique(score)
    for one in scores[:: 1 if LONG else 9] if scores.size <= 200 else ():  # every score of a quantised list
        typed = repr(float(one)) if score.dtype.kind == "f" else str(one)
        count = int(np.sum(score <= one if ascending else score >= one))
        first, last = curve.rank_at_score(typed)
        assert count_at_score(order, typed) == count
        assert first <= count <= last
    few = scores[:: max(1, scores.size // (5 if LONG else 2))].tolist()
    asked = [*few, float(scores[0]) - 1, float(scores[-1]) + 1, 0.705, 0.7]
    with duckdb.connect(str(study / "study.duckdb"), read_only=True) as db:
        for one in asked:
            typed = repr(float(np.float32(one))) if score.dtype == np.float32 else repr(one)
            value = score.dtype.type(one) if score.dtype.kind == "f" else one
            count = int(np.sum(score <= value if ascending else score >= value))
            assert count_at_score(order, typed) == count
            first, last = curve.rank_at_score(typed)
            assert first <= count <= last
            if count:
                known = curve.at([count]).to_pylist()[0]
                for name, (low, _, high) in curve.between(first, last).items():
                    if f"{name}_lower" in known:
                        assert low <= known[f"{name}_lower"]
                        assert known[f"{name}_upper"] <= high
            ((rank, share),) = db.execute(f"SELECT rank_at_score({typed}), precision_at_score({typed})").fetchall()
            assert (rank["lower"], rank["upper"]) == (first, last)
            low, _, high = curve.between(first, last)["precision"] if last else [None] * 3
            assert (share["lower"], share["upper"]) == (low, high)


@pytest.mark.slow
def test_ten_million_items_are_counted_at_every_score(tmp_path):
    """256 scores, a third of the items tied in one of them, in files of which some hold few scores."""
    rng, n = np.random.default_rng(4), 10**7
    level = np.where(rng.random(n) < 1 / 3, 128, rng.integers(0, 256, n))
    level[: n // 2] = np.sort(level[: n // 2])
    score = (level / 255).astype(np.float32)
    (tmp_path / "list").mkdir()
    for at, part in enumerate(np.array_split(score, 8)):
        pq.write_table(pa.table({"conf": part}), tmp_path / "list" / f"{at}.parquet", row_group_size=250_000)
    how = RankingOptions(score="conf")
    order = by_score(open_rows(str(tmp_path / "list"), how), how)
    plan = streameval.plan(str(tmp_path / "list"), tmp_path / "study", seed=1, budget=2_000, options=how)
    streameval.select(tmp_path / "study")
    labels = pa.table({"rank": plan.ranks, "label": np.ones(plan.ranks.size, np.int8)})
    curve = streameval.evaluate(tmp_path / "study", labels=labels).curve
    counts = np.cumsum(np.bincount(level, minlength=256)[::-1])[::-1]
    for value, count in zip(np.arange(256) / 255, counts.tolist(), strict=True):
        typed = repr(float(np.float32(value)))
        assert count_at_score(order, typed) == count
        first, last = curve.rank_at_score(typed)
        assert first <= count <= last


def test_the_command_asks_at_a_score_and_cuts_there(floats, tmp_path, capsys):
    study, score = floats
    count = int(np.sum(score >= 0.25))
    assert run(["show", str(study), "rank@score:0.25", "precision@score:0.25", "--json"]) == 0
    rank, precision = json.loads(capsys.readouterr().out)["measures"]
    assert rank["lower"] <= count <= rank["upper"]
    assert precision["lower"] < precision["upper"]
    assert run(["cut", str(study), "score:0.25"]) == 0
    told = capsys.readouterr().out
    assert f"The first {count:,} of {N:,} items, those with a score of at least 0.25. At least " in told
    assert run(["cut", str(study), "score:0.25", "--out", str(tmp_path / "kept")]) == 0
    kept = pq.read_table(tmp_path / "kept").column("conf").to_numpy()
    assert kept.size == count
    assert kept.min() >= 0.25
    assert run(["cut", str(study), "max_f1", "--json"]) == 0
    best = json.loads(capsys.readouterr().out.splitlines()[-1])
    f1 = streameval.Study(study).evaluation().curve.at(np.arange(1, N + 1)).column("f1_lower").to_numpy()
    assert best["f1_lower"] == f1.max()
    for wrong in ("score:high", "score:7", "score:.5, max_f1", "max_f"):
        assert run(["cut", str(study), wrong]) == 2


def exact_study(folder, truth):
    pq.write_table(pa.table({"good": truth}), folder / "list.parquet")
    return exact_tables(str(folder / "list.parquet"), folder / "exact", label="good")


@pytest.mark.parametrize("operator", [">=", ">", "<=", "<"])
def test_outcomes_are_those_of_the_truth_table(operator):
    """All that the bounds allow meets it, nothing does, or some does; by every order of three numbers."""

    meets = {">=": float.__ge__, ">": float.__gt__, "<=": float.__le__, "<": float.__lt__}[operator]
    for lower, upper, wanted in itertools.product((0.2, 0.5, 0.8), repeat=3):
        if lower > upper:
            continue
        inside = [meets(value, wanted) for value in (lower, upper, *((wanted,) if lower <= wanted <= upper else ()))]
        expected = "pass" if all(inside) else "fail" if not any(inside) else "inconclusive"
        assert Condition(operator, Decimal(str(wanted))).outcome(lower, upper) == expected
    assert Condition(operator, Decimal("0.1")).outcome(np.nan, 0.5) == "inconclusive"


def test_gates_end_with_their_status(eight, tmp_path, capsys):
    for checks, status in (
        (["precision@4 >= .75", "recall@4 >= 75%", "yield@1e0 >= 1", "rank@precision:.75 >= 4", "max_f1 > .7"], 0),
        (["positives >= 4", "precision@50%, 8 >= .5", "f1@50% > .7"], 0),
        (["precision@4 >= .75", "precision@4 > .75"], 4),
        (["recall@precision:75%<.5"], 4),
    ):
        assert run(["check", str(eight), *checks, "--out", str(tmp_path / "page.md")]) == status
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == "fail"
    page = (tmp_path / "page.md").read_text()
    assert page.count("### ") == 4
    assert "| precision@4 > 0.75 | 0.7500 | 0.7500 | fail |" in page


def test_a_gate_is_as_good_as_its_worst_check_and_reads_its_study_once(eight, monkeypatch, capsys):
    reads = []
    read = streameval.Study.results
    monkeypatch.setattr(streameval.Study, "results", lambda self, *how: reads.append(1) or read(self, *how))
    assert run(["check", str(eight), "precision@4 >= .5"]) == 0
    assert len(reads) == 1
    one = check(eight, ["precision@4 >= .5"]).checked[0]
    for outcomes in itertools.product(("pass", "fail", "inconclusive"), repeat=3):
        checked = tuple(replace(one, outcome=outcome) for outcome in outcomes)
        gate = Checks(checked, Claim("exact", 1.0, "nothing"), "", "")
        worst = next(each for each in ("fail", "inconclusive", "pass") if each in outcomes)
        assert gate.outcome == worst
        assert gate.table.column("outcome").to_pylist() == list(outcomes)


def test_bounds_that_promise_nothing_are_inconclusive(tmp_path, one_ranking):
    folder, _, truth = one_ranking
    rank = np.arange(1, 2_000, 20)
    labels = pa.table({"rank": rank, "label": truth[rank - 1]})
    streameval.adopt(str(folder), tmp_path / "study", labels, drawn="unknown")
    with_tables(tmp_path / "study")
    asked = ["precision@10 >= 0", "average_precision > .1", "recall@precision:.5 >= 0"]
    assert run(["check", str(tmp_path / "study"), *asked]) == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("precision@4 >= 60", "precision lies in 0..1, and 60 does not"),
        ("mcc@4 >= -2", "mcc lies in -1..1, and -2 does not"),
        ("yield@4 >= 1e999", "is not a number"),
        ("precision@4", ">=, >, <= or < and a number are missing (at column 12)"),
        ("precision@4 within .1", "how wide bounds may be"),
        ("score@4 > .5", "cannot be checked"),
        ("map >= .3", "did you mean 'average_precision'?"),
        ("ndcg@4 > .5", "there is no metric 'ndcg' at 4"),
        ("average_precision@5 > .5", "average_precision is known of the first 8 items, and not of others"),
        ("max_f1_rank > .5", "there is no metric 'max_f1_rank' of the whole list"),
        ("precison@4 >= .5", "there is no metric 'precison' at 4. Hint: did you mean 'precision'?"),
        ("precision@9 >= .5", "rank 9 is outside 1..8"),
        ("precision >= .5", "precision has no cutoff"),
        ("precision@precision:.5 >= .5", "there is no precision at a precision. Hint: there are: recall, rank"),
        ("precision@max_f1 >= .5", "max_f1 is for `streameval cut` alone"),
        ("recall@score:.5 >= .5", "no score of this list is known"),
        ("averageprecision >= .5", "did you mean 'average_precision'?"),
    ],
)
def test_a_check_that_cannot_be_read_points_at_the_place(eight, text, said):
    with pytest.raises(InputError) as refused:
        check(eight, [text])
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_gates_pass_falsely_no_more_than_they_may():
    """Lists whose precision lies just below what is asked for, at a confidence of .9."""
    n, asked, passed, runs = 2_000, 0.7, 0, examples(60, 300)
    method = create("loguniform", {"alpha": 0.2, "confidence": 0.9})
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        truth = np.zeros(n, np.int8)
        truth[rng.choice(n, int(n * asked) - 1, replace=False)] = 1
        plan = method.plan(n, seed)
        low, high = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1])).envelope.at([n])
        passed += Condition(">=", Decimal("0.7")).outcome(low[0] / n, high[0] / n) == "pass"
    assert binomial_tail(runs, passed, 0.1) > 0.01


def test_how_many_labels_may_decide_is_a_forecast_that_holds_up(tmp_path, one_ranking):
    folder, _, truth = one_ranking
    true = truth[:5_000].mean()
    labels = None
    for budget in (150, None):
        study = tmp_path / str(budget)
        streameval.plan(pq.read_table(folder), study, seed=4, budget=budget or labels)  # in memory: offers no question
        plan = streameval.Study(study).plan()
        with_tables(study, pa.table({"rank": plan.ranks, "label": truth[plan.ranks - 1]}))
        (found,) = check(study, [f"precision@5000 >= {true - 0.15:.6f}"])
        if budget:
            assert found.outcome == "inconclusive"
            labels = found.labels
            assert 150 < labels < 1_500
    assert found.outcome == "pass"


def test_every_inconclusive_answer_says_what_may_decide_it(tmp_path, capsys, one_ranking):
    folder, _, truth = one_ranking
    study = tmp_path / "study"
    streameval.plan(pq.read_table(folder), study, seed=4, budget=150)
    plan = streameval.Study(study).plan()
    labels = pa.table({"rank": plan.ranks, "label": truth[plan.ranks - 1]})
    n_items, whole = truth.size, "precision@5000"
    for kept, missing in ((labels, 0), (labels.slice(0, 100), len(plan.ranks) - 100)):
        fresh = tmp_path / f"{missing}"
        shutil.copytree(study, fresh)
        with_tables(fresh, kept)
        (bounds,) = streameval.show(fresh, whole).bounds.values()
        middle = (bounds.lower + bounds.upper) / 2 if missing else bounds.estimate
        near = middle + 0.05 * (bounds.upper - bounds.lower)
        asked = [f"{whole} >= {one:.9f}" for one in (bounds.lower + 1e-6, near, middle, bounds.upper - 1e-6)]
        found = check(fresh, asked)
        for one in found:
            assert (one.outcome == ("waiting" if missing else "inconclusive")) == bool(one.decides)
            assert one.labels is None or one.decides == f"about {one.labels:,} in all"
        if missing:
            assert {one.decides for one in found} == {f"{missing} planned labels are missing"}
        else:
            assert found.checked[1].decides == f"all {n_items:,} items"
            assert found.checked[2].decides == "no forecast: the estimate is too close"
        capsys.readouterr()
        assert run(["check", str(fresh), *asked]) == 5
        told = capsys.readouterr().out
        assert all(one.decides in told for one in found)
        capsys.readouterr()
        assert run(["check", str(fresh), f"{whole} >= 0"]) == 0
        assert "what may decide" not in capsys.readouterr().out


def test_a_bound_has_the_digits_that_tell_it_from_what_is_asked(tmp_path, capsys):
    study = exact_study(tmp_path, np.array([1, 0, 0, 1, 0, 0, 1, 0, 0]))
    for wanted, shown in (("0.5", "0.3333"), ("0.3333", "0.33333"), ("0.333333", "0.3333333")):
        run(["check", str(study), f"precision@9 >= {wanted}"])
        line = capsys.readouterr().out.splitlines()[1].split()
        assert line[3:5] == [shown, shown]
    assert streameval.show(study, "precision@9").cells("precision@9") == ["0.3333"] * 3


def test_no_item_of_a_score_passes_nothing(floats, capsys):
    """A cutoff of no items has no precision; one that may be empty is inconclusive."""
    study, found = floats[0], results_of(streameval.Study(floats[0]))
    for metric in ("precision", "recall", "f1", "yield"):
        assert run(["check", str(study), f"{metric}@score:999 >= 0"]) == 2
        told = capsys.readouterr().err
        assert "no item has score 999 or a better one" in told
        assert told.count("\n") == 1
    with connect(study) as session:
        for name, nothing in (("rank_at_score", 0.0), ("precision_at_score", None)):
            (row,) = session.ask(f"SELECT lower, estimate, upper FROM {name}(999)").to_pylist()
            assert set(row.values()) == {nothing}
            with pytest.raises(InputError, match="x is nan"):
                session.ask(f"SELECT {name}('nan'::DOUBLE)")
    later = replace(found.curve, score=found.curve.score.slice(1))  # the best score is not known
    assert later.rank_at_score(1.5)[0] == 0 < later.rank_at_score(1.5)[1]
    doubtful = replace(found, curve=later)
    assert _check_question(Question.of("precision@score:1.5 >= 0"), doubtful, "").outcome == "inconclusive"
    assert _check_question(Question.of("precision@score:0.1 >= 0"), doubtful, "").outcome == "pass"


def test_f1_is_shown_where_it_is_asked_for(floats, capsys):
    assert run(["cut", str(floats[0]), "max_f1"]) == 0
    assert "\nf1 " in capsys.readouterr().out


def test_what_is_no_study_is_said_to_be_none(tmp_path, capsys):
    (tmp_path / "list.parquet").write_bytes(b"")
    for verb, day, measure in (("check", "", "precision@5 >= .3"), ("monitor", "2026-01-01=", "precision@5")):
        for place, said in (("list.parquet", "list.parquet: is a file, and no folder"), ("nowhere", "no such f")):
            assert run([verb, f"{day}{tmp_path / place}", measure]) == 2
            assert said in capsys.readouterr().err


def test_a_gate_may_demand_a_claim_about_the_truth(floats, tmp_path, capsys):
    """Of what annotators would say nothing can be told about the truth, however clear it is; of the truth, all is."""
    study = shutil.copytree(floats[0], tmp_path / "study")
    evaluation = streameval.Study(study).evaluation()
    clear, false = "precision@1000 >= 0.01", "precision@1000 <= 0.01"
    for arguments, status in (([], EXIT_DONE), ([clear], EXIT_DONE), ([false], EXIT_FAILS)):
        assert run(["check", str(study), *arguments, "--about", "truth"]) == status
        assert "This is a claim about the truth." in capsys.readouterr().out
    ranks = evaluation.label_table.filter(pc.is_valid(evaluation.label_table.column("label"))).slice(0, 3)
    with_tables(study, pa.table({"rank": ranks.column("rank"), "label": [0, 0, 0]}), vote="any")
    for arguments in ([], [clear], [false]):
        assert run(["check", str(study), *arguments, "--about", "truth", "--out", str(tmp_path / "said.md")]) == 5
        told = capsys.readouterr().out
        assert "This is a claim about the truth only if every label is right. " in told
        assert "inconclusive" in told
        assert "Next:" not in told
    assert (tmp_path / "said.md").read_text().count("a claim about the truth only if every label is right. ") == 3
    assert run(["check", str(study), clear]) == 0
    assert [one.outcome for one in check(study, [clear], about="truth")] == ["inconclusive"]
    assert check(study, about="truth").outcome == "inconclusive"
    with pytest.raises(InputError, match="about is 'lies'"):
        check(study, about="lies")
    assert run(["check", str(study)]) == 2
