"""`monitor` of several challengers: bounds of all comparisons hold together, however many come."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import altair as alt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused
from suite_cases import examples
from two_rankings import ONE, evaluated, planned, right

import streameval
from streameval.cli import run
from streameval.errors import StudyError
from streameval.kinds import results_of
from streameval.kinds.paired.history import SCHEMA, ComparedStudy, ComparisonHistory
from streameval.kinds.paired.history_page import figure, page
from streameval.kinds.paired.history_says import sentences
from streameval.kinds.paired.results import PairedResult
from streameval.paired.count import ChangedSample, limits
from streameval.questions import Question
from streameval.study import Study
from streameval.study.history import Settings
from streameval.types import Labels
from streameval.verbs.monitor import _with_study
from tests.binomial import binomial_tail

AT = [500, 1_500]
OUT = ["--out", "challengers.parquet"]


def history_of(count):
    """A history of so many comparisons, as its page reads it; of each seventh labels give no estimate."""
    outcomes = ("pass", "fail", "inconclusive")
    each = [{**dict.fromkeys(SCHEMA.names), "number": i, "study": f"c{i}", "b": "B", "a": "A", "labels": 9,
             "missing": 0, "lower": -9.0, "estimate": None if i % 7 == 0 else 1.0, "upper": 9.0,
             "outcome": outcomes[i % 3]}
            for i in range(1, count + 1)]  # fmt: skip
    settings = Settings("gain@10 > 0", kind="paired")
    return ComparisonHistory(settings, pa.Table.from_pylist(each, SCHEMA), given=(count,))


def test_the_picture_is_vega_lite_and_shows_the_last_comparisons():
    history = history_of(75)
    drawn = figure(history)
    assert alt.Chart.from_dict(drawn).to_dict()
    assert [one["number"] for one in drawn["data"]["values"]] == [*range(16, 76)]
    told = page(history)
    assert "The last 60 comparisons" in told
    assert ">c75<" in told
    assert ">c15<" not in told
    assert "<svg" in told


def challenge(both, number, better=0.0, part=None, noise=0.05, **more):
    """Plan and evaluate a challenger, another noise in the old score, against the old one; the study's folder."""
    old, label = both.column("old").to_numpy(), both.column("right").to_numpy()
    shift = noise * np.random.default_rng(number).normal(size=old.size) + better * label
    pq.write_table(both.append_column("new-one", pa.array(old + shift)), f"list-{number}.parquet")
    how = {
        **ONE,
        "score": "new-one",
        "against": f"list-{number}.parquet",
        "at": AT,
        "within": 0.01,
        "seed": 100 + number,
    }
    planned(f"c{number}", f"list-{number}.parquet", {**how, "within": 0.01, **more})
    evaluated(f"c{number}", part)
    return f"c{number}"


def made_once(number, better):
    """A fixture of a challenger that tests copy."""

    @pytest.fixture(scope="module")
    def made(both, tmp_path_factory):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path_factory.mktemp("challengers"))
            return Path(challenge(both, number, better)).absolute()

    return made


alike, superior, inferior = made_once(1, 0.0), made_once(2, 0.6), made_once(3, -0.6)


@pytest.fixture
def copied(home):
    """Copies what tests change to where they work, under its own name."""
    return lambda *studies: [shutil.copytree(study, study.name) for study in studies]


def shown(study, measure):
    """Bounds of a study alone, and its estimate."""
    return results_of(Study(study)).bounds(Question.of(measure).measure)


def rows():
    return pq.read_table("challengers.parquet").to_pylist()


def drawn(plan, rate, truth, rng):
    """A study of a fresh draw at a rate, and its labels, of a plan that holds every item that changed."""
    u = rng.integers(0, 2**64, plan.table.num_rows, np.uint64)
    table, rates = plan.table.drop_columns(["u", "probability"]), np.full(u.size, rate)
    table = table.append_column("u", pa.array(u)).append_column("probability", pa.array(rates))
    table = table.filter(pa.array(u < np.uint64(int(rate * 2**64))))
    own = replace(plan, table=table, seed=int(rng.integers(2**53)), notes={**plan.notes, "probability": [rate]})
    labels = Labels.of(own, truth[table.column("rank").to_numpy() - 1])
    summary = {"vote": "majority", "prefer": [], "claim": {"about": labels.about}, "names": {"b": "B", "a": "A"}}
    none = {"labels": labels.table, "differences": pa.table({"cutoff": pa.array([], pa.string())})}
    return ComparedStudy("c", own, PairedResult(str(own.seed), summary, none))


def test_bounds_of_all_challengers_of_a_history_hold_together(tmp_path):
    """No challenger is better, and each follows from what was found of the one before.

    At 50 % confidence, of four each: without shares of the error nine histories of ten would hold a false bound.
    """
    ids, order = np.arange(400), np.r_[0:60, 100:140, 60:100, 140:400]
    items = pa.table({"id": ids, "b": -np.argsort(order), "a": -ids})
    how = {"score": "b", "against": items, "against_score": "a", "key": "id"}
    plan = streameval.plan(items, tmp_path / "s", questions="gain@100 within 0.1%", seed=1, **how)
    rng, missed, histories = np.random.default_rng(6), 0, examples(30, 150)
    for _ in range(histories):
        history, share = ComparisonHistory.begun(Settings("gain@100 > 0", 0.5, kind="paired")), 20
        for _ in range(4):
            truth = np.isin(ids, np.r_[60 : 60 + share, 100 : 100 + share]).astype(np.int8)
            history = _with_study(history, drawn(plan, 0.5, truth, rng), ())
            share = 20 if (history.rows[-1]["estimate"] or 0) > 0 else 10
        missed += any(not row["lower"] <= 0 <= row["upper"] for row in history.rows)
    assert [row["error"] for row in history.rows] == pytest.approx([1 / 4, 1 / 12, 1 / 24, 1 / 40])
    assert binomial_tail(histories, missed, 0.5) > 1e-3
    assert missed > 0.1 * histories  # the bounds are no wider than they need to be


def test_challengers_one_after_another(home, copied, alike, superior, inferior, capsys):
    """No difference, better, worse: the status of each call, and the same again."""
    statuses = []
    for study in copied(alike, superior, inferior):
        asked = ["gain@1500 > 0", *OUT]
        statuses.append(run(["monitor", study, *(asked if study == "c1" else OUT)]))
    assert statuses == [5, 0, 4]
    before = (home / "challengers.parquet").read_bytes()
    capsys.readouterr()
    assert [run(["monitor", f"c{number}", *OUT]) for number in (1, 2, 3)] == statuses
    assert "Nothing was added" in capsys.readouterr().out
    assert run(["monitor", "c2", "c1", *OUT, "--json"]) == 5
    said = json.loads(capsys.readouterr().out)
    assert (said["given"], said["added"], said["outcome"]) == ([1, 2], [], "inconclusive")
    assert [row["outcome"] for row in said["comparisons"]] == ["inconclusive", "pass", "fail"]
    assert any("Proven to meet gain@1500 > 0: 1 of 3 comparisons. Proven not to: 1." in one for one in said["said"])
    assert any("Comparison 2, the order by new-one (B) against the order by old (A)" in one for one in said["said"])
    assert (home / "challengers.parquet").read_bytes() == before
    once = streameval.monitor(["c1", "c2", "c3"], "gain@1500 > 0")
    assert once.table.equals(pq.read_table("challengers.parquet"))
    assert once.outcome == "fail"
    there = (home / "challengers.html").read_text()
    assert "<svg" in there
    assert "<script" not in there
    values = figure(once)["data"]["values"]
    assert [one["lower"] for one in values] == [row["lower"] for row in rows()]
    assert len({one["colour"] for one in values}) == 3


def test_a_comparison_is_bounded_with_the_share_of_its_place(home, both, superior):
    """The same study first and second: as its plan splits it over its cutoffs, half of it a side."""
    made = [challenge(both, 1, 0.1, look="one"), superior]
    for studies, error in ((made, 0.025), (made[::-1], 0.05 / 6)):
        row = streameval.monitor(studies, "gain@1500").rows[studies.index("c1")]
        (found,) = [one for one in streameval.sql("c1", "FROM differences").to_pylist() if one["cutoff"] == "1500"]
        sides = (ChangedSample(*(found[f"{side}{of}"] for of in ("", "_drawn", "_positive")))
                 for side in ("gains", "losses"))  # fmt: skip
        assert (row["error"], row["outcome"]) == (pytest.approx(error), None)
        assert (row["lower"], row["upper"]) == limits(*sides, error / 2 / len(AT))
        assert row["lower"] <= found["lower"] < found["upper"] <= row["upper"]
    assert streameval.monitor(made, "gain@1500").outcome is None


def test_every_measure_of_a_comparison_may_be_watched(home, both):
    study = challenge(both, 1, 0.1, noise=0.2, at=AT)
    for measure in ("precision_gain@1500", "gain@1500 < 2000"):
        assert run(["monitor", study, measure, "--out", f"{measure}.parquet"]) == 0
        (row,), (lower, _, upper) = pq.read_table(f"{measure}.parquet").to_pylist(), shown(study, measure)
        assert row["lower"] < lower <= upper < row["upper"]


def test_labels_that_come_late_close_the_bounds_in(home, both, copied, alike, capsys):
    study, (other,) = challenge(both, 4, 0.1, part=40, noise=0.2), copied(alike)
    assert run(["monitor", study, "gain@1500 > 0", *OUT]) == 5
    said = capsys.readouterr().out
    assert said.startswith("c4: planned labels are missing: ")
    assert said.endswith("\nwaiting\n")
    assert not Path(OUT[-1]).exists()
    assert run(["monitor", study, "gain@1500 > 0", *OUT, "--allow", "incomplete"]) == 5
    assert "c4 counts with 40 of" in capsys.readouterr().out
    assert run(["monitor", other, *OUT]) == 5
    early = rows()[0]
    evaluated(study)
    assert run(["monitor", study, *OUT]) == 0
    late = rows()[0]
    assert early["lower"] < late["lower"] <= late["upper"] < early["upper"]
    assert (early["error"], late["missing"]) == (late["error"], 0)
    assert streameval.monitor([study, other], "gain@1500 > 0").table.equals(pq.read_table("challengers.parquet"))
    tasks = right(streameval.select(study).table).slice(0, 2)
    other_words = pa.array([not one for one in tasks.column("label").to_pylist()])
    streameval.evaluate(study, labels=pa.concat_tables([tasks.set_column(1, "label", other_words.cast(pa.int8()))] * 3))
    assert run(["monitor", study, *OUT]) == 2
    assert "labels that the history counts for c4 have changed since: 2" in capsys.readouterr().err


def test_bounds_that_exclude_those_from_fewer_labels_stand_for_themselves(alike):
    study = Study(alike)
    entry = ComparedStudy("c1", study.plan(), results_of(study)).estimate(Settings("gain@1500", kind="paired"), 0.025)
    lower, _, upper = entry.bounds
    assert entry.replacing({"lower": lower + 1, "upper": upper + 9}).bounds[::2] == (lower + 1, upper)
    assert entry.replacing({"lower": upper + 1, "upper": upper + 9}).bounds[::2] == (lower, upper)


def test_what_does_not_belong_in_a_history_of_comparisons_is_one_line(home, both, copied, alike, curve, capsys):
    (first,), again = copied(alike), challenge(both, 2, seed=101)
    shutil.copytree(curve, "2026-01-01")
    assert run(["monitor", "2026-01-01", "precision@100", "--out", "days.parquet"]) == 0
    assert run(["monitor", first, "gain@500 > 0", *OUT]) == 5
    before = (home / "challengers.parquet").read_bytes()
    capsys.readouterr()
    for arguments, said in (
        ([again, *OUT], "c2: was drawn with seed 101, as that of c1, so its draw is not a fresh one"),
        (["2026-01-01", *OUT], "2026-01-01 is a study of a curve, and this history began with a study of two"),
        ([first, "--out", "days.parquet"], "c1 is a study of two rankings, and this history began with a study of a"),
        ([first, "2026-01-01", "gain@500"], "2026-01-01 is a study of a curve, and this history began with"),
        (["2026-01-01", "gain@500"], "gain@500 is the difference of two rankings, and these studies are of one each"),
        ([first, "precision@1000"], "precision@1000 is of one ranking, and these are studies of two"),
        ([first, "gain@500 within 5"], "how wide bounds may be is asked when a study is planned"),
        ([first, "gain@500 > 0 zone 0.02"], "zone says how labels are planned, and these labels are there"),
        ([first, "gain@500,1500"], "has several cutoffs"),
        ([first, "gain@300 > 0"], "c1: there is no gain@300 here. Hint: did you mean"),
        ([first, "dcg_gain@500 > 0"], "c1: there is no dcg_gain@500 here"),
        ([first, "gain@1500 > 0", *OUT], "was begun with measure gain@500 > 0, not gain@1500 > 0"),
        ([first], "monitor needs a measure to watch. Hint: give a measure: gain@10000"),
        ([f"2026-02-01={first}", *OUT], "c1: a study of two rankings has a place and no day"),
        (["nowhere", *OUT], "nowhere"),
    ):
        assert said in refused(capsys, "monitor", *arguments)
        assert (home / "challengers.parquet").read_bytes() == before


def test_a_comparison_that_asks_another_question_is_refused_unless_it_is_allowed(
    home, both, copied, alike, inferior, capsys
):
    first, judged = copied(alike, inferior)
    pq.write_table(both.append_column("other", both.column("id")), "keyed.parquet")
    planned("keyed", "keyed.parquet", {**ONE, "against": "keyed.parquet", "key": "other", "at": AT})
    evaluated("keyed")
    streameval.evaluate(judged, vote="any")
    assert run(["monitor", first, "gain@500 > 0", *OUT]) == 5
    before = (home / "challengers.parquet").read_bytes()
    for arguments, said in (
        ([judged], "c3: asks another question than the studies before: vote is any, and was majority"),
        (["keyed"], "keyed: asks another question than the studies before: key is ['other'], and was ['id']"),
        (["keyed", "--allow", "keys"], "did you mean 'key'"),
    ):
        assert said in refused(capsys, "monitor", *arguments, *OUT)
        assert (home / "challengers.parquet").read_bytes() == before
    assert run(["monitor", "keyed", *OUT, "--allow", "key"]) == 5 - 5 * (rows()[-1]["lower"] > 0)


def test_labels_that_the_same_seed_drew_are_no_fresh_draw(home, curve):
    """Studies that share a draw hold alone; counted exactly, in a draw of its own, the same labels are welcome."""
    for study, seed in (("same", {"seed": 11, "labels_unseen_by_model": "yes"}), ("fresh", {"seed": None})):
        planned(study, reuse=str(curve), **seed)
        evaluated(study)
    with pytest.raises(StudyError, match=r"same: counts labels that its seed drew before.*reuse and no seed"):
        streameval.monitor("same", "gain@1500")
    assert streameval.monitor("fresh", "gain@1500").rows[0]["seed"] != "11"


def test_comparisons_with_every_label_may_share_a_seed(home, both):
    made = [challenge(both, number, 0.6, noise=0.001 * number, within=0.0001, at=[100], seed=5) for number in (1, 2)]
    history = streameval.monitor(made, "gain@100 >= -100")
    assert [row["seed"] for row in history.rows] == [None, None]
    assert [row["lower"] for row in history.rows] == [row["upper"] for row in history.rows]
    assert history.outcome == "pass"
    assert f"gain@100 is {history.rows[0]['lower']:.0f}: it is proven that gain@100 >= -100." in sentences(history)[2]
