"""Two rankings are compared from labels of what changed: the journey of both forms, and what is said of it."""

import json
import math
import re
import shutil
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gain_questions import gain_questions, gain_words
from suite_cases import cases, examples, slow
from two_rankings import AT, ONE, TWO, bounds, evaluated, plan_of, planned, ranks_of, right, task_ids

import streameval
from streameval.cli import run
from streameval.errors import InputError, StudyError
from streameval.kinds import results_of
from streameval.kinds.paired.evaluate import _bounds, at_cutoffs
from streameval.kinds.paired.page import figure, scale_of
from streameval.kinds.paired.plan import ReusedLabels, drawn_plan, open_pair
from streameval.kinds.paired.says import planned_lines, promise, subject, text, verdict
from streameval.paired.bet import BetLimits
from streameval.progress import silent
from streameval.questions.comparing import Comparing
from streameval.rows.options import RankingOptions
from streameval.study import Study
from streameval.study.known_labels import KnownLabels


def results(study):
    return results_of(Study(study))


def test_both_forms_ask_for_the_same_items_whose_bounds_hold(one, two, difference):
    plans = [plan_of(study) for study in (one, two)]
    assert [plan.kind for plan in plans] == ["paired"] * 2
    for name in ("gains", "losses", "probability"):
        assert plans[0].notes[name] == plans[1].notes[name]
    assert {*task_ids(one)} == {*task_ids(two)}
    assert results(one).tables["differences"].equals(results(two).tables["differences"])
    for k, (low, high) in bounds(results(one)).items():
        assert low <= difference[k] <= high
        assert high - low <= 2 * 0.0625 * k
    for study in (one, two):
        assert streameval.check(study, "gain@1500 > 0").outcome == "pass"
        assert streameval.check(study, "precision_gain@1500 > 0.01").outcome == "pass"
        assert streameval.check(study, "gain@1500 <= 0").outcome == "fail"


def test_only_what_changed_is_labelled(one, both):
    orders = [both.sort_by([(score, "descending")]).column("id").to_numpy() for score in ("old", "new")]
    changed = [np.setxor1d(*(order[:k] for order in orders)) for k in AT]
    assert np.isin(task_ids(one), np.concatenate(changed)).all()
    gains = [np.setdiff1d(orders[1][:k], orders[0][:k]).size for k in AT]
    assert plan_of(one).notes["gains"] == gains
    header = json.loads((one / "plan.json").read_text())
    assert header["kind"] == "paired"
    assert header["notes"]["cutoffs"] == [str(k) for k in AT]
    said = "\n".join(planned_lines(plan_of(one)))
    assert "Planned half-width of the bounds on the difference in precision: 0.05, at all cutoffs together." in said
    assert re.search(rf"at 500: .* \({gains[1] / 500:.1%} changed\)", said)


@pytest.mark.parametrize("share", cases([0.3, 1.0], 0.3))
def test_estimates_are_right_on_average_however_far_labelling_came(written, both, share, scanned_once):
    """Items that another cutoff draws more often come first; here the positive ones, which would count twice."""
    new, old = ranks_of(both)
    truth, off = new < AT[1], []
    difference = int(truth[new < AT[2]].sum()) - int(truth[old < AT[2]].sum())
    source = str(written / "both.parquet")
    comparing = Comparing(against=source, against_score="old", questions=gain_questions(AT, 0.1))
    pair = open_pair(source, comparing, RankingOptions(score="new", key="id"))
    reused = ReusedLabels.read(KnownLabels(), pair, Study("none"), None)
    for seed in range(examples(20, 40)):
        plan = drawn_plan(pair, comparing, seed, reused, None, silent)
        turn = plan.table.column("turn").to_numpy()
        label = np.where(turn < share * turn.size, truth[plan.ranks - 1], -1).astype(np.int8)
        off.append(list(at_cutoffs(plan, label))[2].bounds.estimate - difference)
    assert np.std(off) > 0
    assert abs(np.mean(off)) < 3 * np.std(off) / math.sqrt(len(off)), off


@pytest.mark.parametrize("end", cases(["csv", "jsonl"], "csv"))
def test_lists_that_are_no_parquet(home, one, end):
    for name in ("new", "old"):
        frame = pl.read_parquet(f"{name}.parquet")
        frame.write_csv(f"{name}.csv") if end == "csv" else frame.write_ndjson(f"{name}.jsonl")
    plan = planned("two", f"new.{end}", {**TWO, "against": f"old.{end}"})
    assert f"new.{end} in order by score (B) against old.{end} in order by score (A)" in subject(plan)
    assert planned("two", f"new.{end}", {**TWO, "against": f"old.{end}"}).plan_id == plan.plan_id
    for name in ("two", f"new.{end}", f"old.{end}"):
        (home / name).rename(home / f"moved-{name}")
    assert Study("moved-two").plan().location["against"] == [str(home / "moved-two" / "against")]
    assert bounds(evaluated("moved-two")) == bounds(results(one))
    assert streameval.check("moved-two", "gain@500 >= -1000").outcome == "pass"


def test_labels_may_come_in_any_part_and_bounds_only_close_in(begun, one, tmp_path, difference):
    study = shutil.copytree(begun, tmp_path / "s")
    few, whole = evaluated(study, 1), bounds(results(one))
    open_ = [row["cutoff"] for row in few.tables["differences"].to_pylist() if row["estimate"] is None]
    assert open_
    remarks, rows = text(few).remarks, {row[0].replace(",", ""): row for row in text(few).table.rows}
    (line,) = (one for one in remarks if one.startswith("There is no estimate at "))
    assert all(one in line.replace(",", "") and rows[one][6:9:2] == ["-", "open"] for one in open_)
    assert not [line for line in text(results(one)).remarks if line.startswith("No estimate")]
    some = evaluated(study, plan_of(one).table.num_rows // 3)
    before = bounds(few)
    for now in (bounds(some), whole):
        for k, (low, high) in now.items():
            assert before[k][0] <= low <= difference[k] <= high <= before[k][1]
        before = now


def test_exchanging_the_rankings_mirrors_every_bound(home, one):
    planned("mirrored", score="old", against_score="new")
    back = bounds(evaluated("mirrored"))
    assert {k: (-high, -low) for k, (low, high) in back.items()} == bounds(results(one))


@pytest.mark.parametrize("j", range(len(AT)))
def test_a_cutoff_looks_at_no_label_beyond_its_own_rate(begun, both, j):
    """Items of several cutoffs are drawn at the largest of their rates; to the others they are not drawn."""
    plan = plan_of(begun)
    first_a, first_b, u = (plan.table.column(name).to_numpy() for name in ("first_a", "first_b", "u"))
    changed = (np.minimum(first_a, first_b) <= j) & (np.maximum(first_a, first_b) > j)
    beyond = changed & (u >= np.uint64(int(plan.notes["probability"][j] * 2**64)))
    label = both.column("right").to_numpy()[plan.ranks - 1]
    found = [list(at_cutoffs(plan, given.astype(np.int8))) for given in (label, np.where(beyond, 1 - label, label))]
    assert found[0][j] == found[1][j]
    assert not j or (beyond.any() and found[0] != found[1])  # the first has the largest of all rates


def test_a_row_that_is_missing_and_an_empty_one_are_the_same(begun, both, tmp_path):
    study, plan = shutil.copytree(begun, tmp_path / "s"), plan_of(begun)
    tasks = streameval.select(study).table
    some = np.random.default_rng(1).random(tasks.num_rows) < 0.3
    label = pa.array(np.where(some, -1, tasks.column("right").to_numpy()), mask=some)
    found = streameval.evaluate(study, labels=right(tasks).set_column(1, "label", label))
    known = np.isin(both.column("id").to_numpy()[plan.ranks - 1], tasks.column("id").to_numpy()[~some])
    missing = np.where(known, both.column("right").to_numpy()[plan.ranks - 1], -1).astype(np.int8)
    assert bounds(found) == bounds(at_cutoffs(plan, missing))


def test_a_judge_of_what_changed(home, begun, both, difference):
    truth = both.column("right").to_numpy()
    says = np.where(np.random.default_rng(2).random(both.num_rows) < 0.1, 1 - truth, truth)
    pq.write_table(both.append_column("model", pa.array(says)), "judged.parquet")
    asked = [f"{question} expect 0.9" for question in gain_questions(AT, 0.05)]
    how = {**ONE, "against": "judged.parquet", "judge": "model", "questions": asked}
    judged = planned("s", "judged.parquet", how)
    assert judged.table.num_rows < 0.65 * plan_of(begun).table.num_rows
    exported = streameval.select("s", export="t.csv").left_out
    assert "model" in exported
    assert "model" not in exported.values()
    found = bounds(evaluated("s"))
    assert all(low <= difference[k] <= high for k, (low, high) in found.items())
    mirrored = planned("mirrored", "judged.parquet", {**how, "score": "old", "against_score": "new"})
    back = bounds(at_cutoffs(mirrored, truth[mirrored.ranks - 1]))
    assert {k: (-high, -low) for k, (low, high) in back.items()} == found


def test_cutoffs_at_scores(home, both):
    """Tops are of different sizes there: they have no share that changed, and no precision."""
    plan = planned("s", at=["score:1.5", "score:0.5"])
    label, new, old = (both.column(name).to_numpy() for name in ("right", "new", "old"))
    results = evaluated("s")
    found, said = results.tables["differences"].to_pylist(), "\n".join(planned_lines(plan))
    assert [row["cutoff"] for row in found] == ["score:1.5", "score:0.5"]
    for row in found:
        at = float(row["cutoff"].partition(":")[2])
        assert (row["items_b"], row["items_a"]) == ((new >= at).sum(), (old >= at).sum())
        assert row["items_b"] != row["items_a"]
        assert f"({row['items_b']:,} in B, {row['items_a']:,} in A)" in said
        assert row["lower"] <= label[new >= at].sum() - label[old >= at].sum() <= row["upper"]
    assert "% changed" not in said
    assert "difference in positives: 0.05 of the larger top" in said
    assert not [name for name in results.measures() if name.startswith("precision")]


def test_stored_order_against_a_score(home, both, one):
    stored = both.sort_by([("old", "descending")])
    pq.write_table(stored, "stored.parquet", row_group_size=2_000)
    plan = planned("s", "stored.parquet", {**ONE, "against": "stored.parquet", "against_score": None})
    labels = stored.column("right").to_numpy()[plan.ranks - 1].astype(np.int8)
    assert bounds(at_cutoffs(plan, labels)) == bounds(results(one))


def test_people_see_neither_score_nor_list(two, tmp_path):
    streameval.select(shutil.copytree(two, tmp_path / "s"), export=tmp_path / "tasks.csv")
    head = (tmp_path / "tasks.csv").read_text().splitlines()[0].split(",")
    assert not {"score", "rank", "first_a", "first_b", "u"} & {*head}
    assert {"id", "text"} <= {*head}


def test_the_command_line(home, begun, one, capsys):
    command = "plan both.parquet --score new --against both.parquet --against-score old --key id --study s --seed 5"
    assert run([*command.split(), *gain_words("100,500,1500", 0.05)]) == 0
    said = capsys.readouterr().out
    assert "the order by new (B) against the order by old (A)" in said
    assert plan_of("s").table.equals(plan_of(begun).table)
    assert run(["show", str(one)]) == 0
    assert "t 1,500, B has" in capsys.readouterr().out
    assert run(["check", str(one), "gain@1500 > 0"]) == 0
    assert run(["report", str(one), "--out", "r.html"]) == 0
    page = (home / "r.html").read_text()
    assert "is B better than A?" in page
    assert "for any two lists, if every label is right" in page
    provenance = re.sub("<[^>]+>", " ", page.partition("Provenance")[2])
    assert re.search(r"ranking B\s+the order by new\s+ranking A\s+the order by old\s", provenance)
    assert "stored" not in provenance
    assert run(["sql", str(one), "SELECT cutoff, lower, upper FROM differences"]) == 0
    assert run(["cost", "--items", "1e6", "--against", "80%", "--for", "gain@1e5", "--json"]) == 0


def test_another_measure_is_refused_with_those_that_there_are(one, capsys):
    for asked in ("precision@500 > 0", "recall@500 > 0", "gain@777 > 0", "gain@5% > 0"):
        assert run(["check", str(one), asked]) == 2
        said = capsys.readouterr().err.splitlines()
        assert len(said) == 1, asked
        assert "there is no" in said[0]
        assert "gain@" in said[0]


def test_cost_of_what_an_overlap_does_not_tell(capsys):
    """Cutoffs at scores share the error, as in a plan; what they take is not left out in silence."""
    alone, beside = (list(streameval.cost(10**6, against="80%", questions=gain_questions(at, 0.02)))
                     for at in (["1000"], ["1000", "score:0.7"]))  # fmt: skip
    assert beside[0]["labels"] > alone[0]["labels"]
    assert (beside[1]["case"], beside[1]["labels"]) == ("score:0.7", None)
    command = ["cost", "--items", "1e6", "--against", "80%", "--for"]
    assert run([*command, "gain@1000,score:0.7"]) == 0
    assert "score:0.7: what this takes depends on how far items moved" in capsys.readouterr().out
    assert run([*command, "gain@score:0.7"]) == 2
    assert "score:0.7: what this takes depends on how far items moved" in capsys.readouterr().err


def test_cost_from_the_overlap():
    rows = list(streameval.cost(10**7, against="80%", questions="gain@1e6"))
    at = {row["case"]: row["labels"] for row in rows}
    assert at["at 1,000,000"] == pytest.approx(1_604, rel=0.1)
    assert at["two curves, and their difference"] > 100_000


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"key": None}, "nothing names the items"),
        ({"against_score": "new"}, "compared with itself"),
        ({"against_score": "olld"}, "did you mean 'old'?"),
        ({"key": "idd"}, "did you mean 'id'?"),
        ({"at": ["precision:0.9"]}, "at ranks and scores"),
        ({"at": ["100", "score:0.5"]}, "ranks and scores"),
        ({"questions": "gain@100 within 200%"}, "that wide it is whatever is labelled"),
        ({"questions": "gain@100 within 0.02"}, "the width of a difference is a part of the cutoff"),
        ({"questions": "precision_gain@100 within 2%"}, "the width of a difference is a part of the cutoff"),
        ({"questions": ["gain@100 within 2%", "gain@500 within 3%"]}, "0.02 and 0.03 are both asked for"),
        ({"questions": ["gain@100 within 2%", "gain@100 > 0 zone 0.03"]}, "0.02 and 0.03 are both asked for"),
        ({"questions": "gain@100 within 2% zone 0.02"}, "a zone is one of a condition"),
        ({"questions": "gain@100 > 0 round 20"}, "a comparison has no round"),
        ({"questions": "gain@100 > 0 together"}, "a comparison has no together"),
        ({"questions": "gain@100 expect 1"}, "a precision of 1 is expected, outside (0, 1)"),
        ({"questions": ["gain@100 expect 0.3", "gain@500 expect 0.4"]}, "expect 0.3 and expect 0.4 are both asked for"),
        ({"questions": "precision@100 >= 0.9"}, "two rankings are compared by gain or precision_gain"),
        ({"confidence": 1}, "--confidence is 1"),
        ({"judge": "text"}, "judge"),
        ({"against": "missing.parquet"}, "missing.parquet"),
        ({"by": "text"}, "--by"),
    ],
)
def test_bad_input(home, given, says):
    with pytest.raises((InputError, StudyError)) as refused:
        planned("s", **given)
    assert says in str(refused.value.line)
    assert not (home / "s").exists()


def test_a_key_that_stands_twice(home):
    both = pq.read_table("both.parquet")
    pq.write_table(pa.concat_tables([both, both.slice(0, 4_000)]), "twice.parquet")
    with pytest.raises(InputError, match="does not tell items apart"):
        planned("s", "twice.parquet", {**ONE, "against": "twice.parquet"})


def test_lists_without_a_common_item(home):
    old = pq.read_table("old.parquet")
    pq.write_table(old.set_column(0, "id", pa.array(old.column("id").to_numpy() + 10**9)), "other.parquet")
    with pytest.raises(InputError):
        planned("s", "new.parquet", {**TWO, "against": "other.parquet"})


def test_tables_in_memory(written, tmp_path, one):
    new, old = (pq.read_table(written / f"{name}.parquet") for name in ("new", "old"))
    planned(tmp_path / "s", new, {**TWO, "against": old})
    tasks = streameval.select(tmp_path / "s", ranking=(new, old)).table
    assert bounds(streameval.evaluate(tmp_path / "s", labels=right(tasks))) == bounds(results(one))


@pytest.mark.parametrize(("look", "when"), [("one", ", for any two lists"), *slow(("any", ", whenever"))])
def test_when_bounds_may_be_looked_at(home, one, look, when):
    planned("s", look=look, at=[100])
    assert f"hold at once with 95 % confidence{when}" in promise(evaluated("s"))
    assert "hold at once with 95 % confidence, whenever" in promise(results(one))  # both


def test_neither_is_explained(home, one):
    planned("s", within=0.3)
    for found, expected in ((results(one), False), (evaluated("s"), True)):
        assert ("neither" in found.tables["differences"].column("better").to_pylist()) == expected
        assert any(line.startswith("Neither:") for line in text(found).remarks) == expected


def test_a_sign_that_the_look_at_the_end_excludes_was_not_certain():
    """Both kinds of bounds may miss; where they exclude one another, what the bet decided is not said to be certain."""
    ahead = BetLimits(np.array([10]), np.array([3]), np.array([50]), 1, 4)
    parameters = {"confidence": "0.95", "look": "both"}
    sizes = np.array([[[100, 0], [100, 0]]])
    of = {
        "plan": SimpleNamespace(parameters=parameters, notes={}),
        "rates": np.array([0.1]),
        "sizes": sizes,
        "bounded": 1,
    }
    items = SimpleNamespace(**of, walk=lambda *_: ahead, shares=lambda *_: (0.0, 0.0))
    for limits, expected in (((-40, -5), (-40, -5, None)), ((-9, 30), (3, 30, 4)), ((-9, 2), (-9, 2, None))):
        sample = SimpleNamespace(limits=lambda _, limits=limits: limits, estimate=lambda *shares: sum(shares))
        found = _bounds(items, 0, np.zeros(0, bool), sample)
        assert (found.lower, found.upper, found.decided_after) == expected


def test_the_figure_shows_what_the_table_says(one):
    """Bounds on the difference as shares of the top, on a scale that they fill; losses and gains, to its end."""
    rows = results(one).tables["differences"].to_pylist()
    widest = max(max(-row["lower"], row["upper"]) / row["items_b"] for row in rows)
    end = scale_of(rows)
    assert widest <= end <= 1.5 * widest < max(row["gains"] / row["items_b"] for row in rows)
    line = r'<line x1="([\d.e+]+)" x2="([\d.e+]+)" y1="([\d.]+)" y2="\3"'
    drawn = [(float(begin), float(end)) for begin, end, _ in re.findall(line, figure(rows))]
    zero, scale = drawn[0][0], max(abs(one - drawn[0][0]) for _, one in drawn) / end
    beyond = sum(row[side] / row["items_b"] > end for row in rows for side in ("gains", "losses"))
    assert figure(rows).count("<path ") == beyond > 0
    for row, (gains, losses, both) in zip(rows, zip(*[iter(drawn)] * 3, strict=True), strict=True):
        size = row["items_b"]
        assert gains == pytest.approx((zero, zero + scale * min(end, row["gains"] / size)), abs=0.01)
        assert losses == pytest.approx((zero, zero - scale * min(end, row["losses"] / size)), abs=0.01)
        assert both[0] == pytest.approx(zero + scale * row["lower"] / size, abs=0.01)
        assert both[1] == pytest.approx(max(zero + scale * row["upper"] / size, both[0] + 2), abs=0.01)


def test_a_rule_of_a_comparison_that_was_chosen_after_labels_were_in_is_told_with_what_the_first_says(begun, tmp_path):
    """Of three people one is right, and two say no: by the rule of most nothing is better."""
    study = shutil.copytree(begun, tmp_path / "s")
    votes = right(streameval.select(study).table)
    no = votes.set_column(1, "label", pa.array([0] * votes.num_rows, votes.column("label").type))
    named = [one.append_column("annotator", pa.array([name] * one.num_rows))
             for one, name in ((votes, "ann"), (no, "ben"), (no, "cem"))]  # fmt: skip
    first = streameval.evaluate(study, labels=pa.concat_tables(named))
    late = streameval.evaluate(study, vote="any")
    said = (
        f"Counted by the rule 'any', chosen after labels were in. By the rule 'majority', the first: {verdict(first)}"
    )
    assert said in promise(late)
    assert bounds(late) != bounds(first)
    assert "chosen after" not in promise(streameval.evaluate(study))
