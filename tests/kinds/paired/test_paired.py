"""Two rankings are compared from labels of what changed: the journey of both forms, and what is said of it."""

import json
import math
import re
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from suite_cases import cases, examples, slow

import streameval
from streameval.cli import run
from streameval.errors import InputError, StudyError
from streameval.kinds.paired.cutoff import _bounds, at_cutoffs
from streameval.kinds.paired.page import figure, scale_of
from streameval.kinds.paired.results import measures
from streameval.kinds.paired.says import planned_lines, promise, subject, told
from streameval.paired.bet import BetLimits
from streameval.study import Study

AT = [100, 1_000, 5_000]
ONE = {"score": "new", "against": "both.parquet", "against_score": "old", "key": "id", "at": AT}
TWO = {"score": "score", "against": "old.parquet", "key": "id", "at": AT}


def planned(study, source="both.parquet", how=ONE, **more):
    return streameval.plan(source, study, **{**how, "seed": 5, "within": 0.02, **more})


def evaluated(study, people, part=None, **more):
    tasks = streameval.select(study).table.sort_by("se_task")
    return streameval.evaluate(study, labels=people(tasks if part is None else tasks.slice(0, part)), **more)


def bounds(found):
    return {int(row["cutoff"]): (row["lower"], row["upper"]) for row in found.tables["differences"].to_pylist()}


@pytest.mark.parametrize(
    ("source", "how"), [("both.parquet", ONE), ("new.parquet", TWO)], ids=["one table", "two tables"]
)
def test_the_journey(home, people, difference, source, how):
    plan = planned("s", source, how)
    assert plan.kind == "paired"
    found = evaluated("s", people)
    for k, (low, high) in bounds(found).items():
        assert low <= difference[k] <= high
        assert high - low <= 2 * 0.025 * k
    assert streameval.check("s", "gain@5000 > 0").outcome == "pass"
    assert streameval.check("s", "precision_gain@5000 > 0.01").outcome == "pass"
    assert streameval.check("s", "gain@5000 <= 0").outcome == "fail"


@pytest.mark.parametrize("share", cases([0.3, 1.0], 0.3))
def test_estimates_are_right_on_average_however_far_labelling_came(home, share):
    """Items that another cutoff draws more often come first; here the positive ones, which would count twice."""
    both = pq.read_table("both.parquet", columns=["old", "new"])
    old, new = (np.argsort(np.argsort(-both.column(name).to_numpy())) for name in ("old", "new"))
    right, off = new < AT[1], []
    for seed in range(examples(12, 20)):
        plan = planned(f"s{seed}", seed=seed, within=0.05)
        turn = plan.table.column("turn").to_numpy()
        label = np.where(turn < share * turn.size, right[plan.ranks - 1], -1).astype(np.int8)
        truth = int(right[new < AT[2]].sum()) - int(right[old < AT[2]].sum())
        off.append(list(at_cutoffs(plan, label))[2].bounds.estimate - truth)
    assert abs(np.mean(off)) < 3 * np.std(off) / math.sqrt(len(off)), off


def test_one_table_and_two_have_the_same_items_and_bounds(home, people):
    one, two = planned("one"), planned("two", "new.parquet", TWO)
    assert {name: one.notes[name] for name in ("gains", "losses", "probability")} == {
        name: two.notes[name] for name in ("gains", "losses", "probability")}  # fmt: skip
    drawn = [set(streameval.select(study).table.column("id").to_pylist()) for study in ("one", "two")]
    assert drawn[0] == drawn[1]
    first, second = evaluated("one", people), evaluated("two", people)
    assert first.tables["differences"].equals(second.tables["differences"])


@pytest.mark.parametrize("end", cases(["csv", "jsonl"], "csv"))
def test_lists_that_are_no_parquet(home, people, end):
    for name in ("both", "new", "old"):
        frame = pl.read_parquet(f"{name}.parquet")
        frame.write_csv(f"{name}.csv") if end == "csv" else frame.write_ndjson(f"{name}.jsonl")
    planned("stored")
    plans = [planned("one", f"both.{end}", {**ONE, "against": f"both.{end}"}),
             planned("two", f"new.{end}", {**TWO, "against": f"old.{end}"})]  # fmt: skip
    assert f"new.{end} in order by score (B) against old.{end} in order by score (A)" in subject(plans[1])
    assert bounds(evaluated("stored", people)) == bounds(evaluated("one", people)) == bounds(evaluated("two", people))
    assert planned("two", f"new.{end}", {**TWO, "against": f"old.{end}"}).plan_id == plans[1].plan_id
    for name in ("two", f"new.{end}", f"old.{end}"):
        (home / name).rename(home / f"moved-{name}")
    assert Study("moved-two").plan().location["against"] == [str(home / "moved-two" / "against")]
    assert streameval.check("moved-two", "gain@1000 >= -1000").outcome == "pass"
    assert bounds(evaluated("moved-two", people)) == bounds(evaluated("stored", people))


def test_only_what_changed_is_labelled(home):
    planned("s")
    both = pq.read_table("both.parquet")
    tops = {score: both.sort_by([(score, "descending")]).column("id").to_numpy() for score in ("old", "new")}
    chosen = streameval.select("s").table.column("id").to_numpy()
    changed = [np.setxor1d(tops["old"][:k], tops["new"][:k]) for k in AT]
    assert np.isin(chosen, np.concatenate(changed)).all()
    gains = [np.setdiff1d(tops["new"][:k], tops["old"][:k]).size for k in AT]
    assert Study("s").plan().notes["gains"] == gains


def test_labels_may_come_in_any_part_and_bounds_only_close_in(home, people, difference):
    planned("s")
    count = Study("s").plan().table.num_rows
    before = None
    for part in (count // 5, count // 2, count):
        now = bounds(evaluated("s", people, part))
        for k, (low, high) in now.items():
            assert low <= difference[k] <= high
            assert before is None or (low >= before[k][0] and high <= before[k][1])
        before = now


def test_exchanging_the_rankings_mirrors_every_bound(home, people):
    planned("s")
    planned("mirrored", score="old", against_score="new")
    there, back = bounds(evaluated("s", people)), bounds(evaluated("mirrored", people))
    assert {k: (-high, -low) for k, (low, high) in back.items()} == there


def test_a_cutoff_looks_at_no_label_beyond_its_own_rate(home):
    """Items of several cutoffs are drawn at the largest of their rates; to the others they are not drawn."""
    plan = planned("s", at=[1_000, 5_000])
    tasks = streameval.select("s").table
    first_a, first_b, u = (plan.table.column(name).to_numpy() for name in ("first_a", "first_b", "u"))
    j = 1
    changed = np.minimum(first_a, first_b) <= j
    beyond = changed & (np.maximum(first_a, first_b) > j) & (u >= np.uint64(int(plan.notes["probability"][j] * 2**64)))
    assert beyond.any()
    rows = []
    for study, flip in (("s", False), ("other", True)):
        if flip:
            planned("other", at=[1_000, 5_000])
            tasks = streameval.select("other").table
        label = tasks.column("right").to_numpy()
        given = pa.table(
            {"se_task": tasks.column("se_task"), "label": np.where(beyond, 1 - label, label) if flip else label}
        )
        rows.append(streameval.evaluate(study, labels=given).tables["differences"].to_pylist())
    assert rows[0][1] == rows[1][1]
    assert rows[0][0] != rows[1][0]


def test_a_row_that_is_missing_and_an_empty_one_are_the_same(home, people):
    planned("s")
    planned("empty")
    tasks = streameval.select("s").table
    streameval.select("empty")
    some = np.random.default_rng(1).random(tasks.num_rows) < 0.3
    missing = people(tasks.filter(pa.array(~some)))
    empty = people(tasks).set_column(
        1, "label", pa.array(np.where(some, -1, tasks.column("right").to_numpy()), mask=some)
    )
    found = [streameval.evaluate(study, labels=labels) for study, labels in (("s", missing), ("empty", empty))]
    assert found[0].tables["differences"].equals(found[1].tables["differences"])


def test_a_judge_of_what_changed(home, people, difference):
    both = pq.read_table("both.parquet")
    wrong = np.random.default_rng(2).random(both.num_rows) < 0.1
    says = np.where(wrong, 1 - both.column("right").to_numpy(), both.column("right").to_numpy())
    pq.write_table(both.append_column("model", pa.array(says)), "judged.parquet")
    how = {**ONE, "against": "judged.parquet"}
    plain, judged = planned("plain"), planned("s", "judged.parquet", how, judge="model", min_precision=0.9)
    assert judged.table.num_rows < 0.65 * plain.table.num_rows
    assert "model" not in streameval.select("s", export="t.csv").left_out.values()
    assert "model" in streameval.select("s").left_out or "model" in streameval.select("s", export="t.csv").left_out
    found = bounds(evaluated("s", people))
    assert all(low <= difference[k] <= high for k, (low, high) in found.items())
    planned("mirrored", "judged.parquet", {**how, "score": "old", "against_score": "new"}, judge="model",
            min_precision=0.9)  # fmt: skip
    back = bounds(evaluated("mirrored", people))
    assert {k: (-high, -low) for k, (low, high) in back.items()} == found


def test_cutoffs_at_scores(home, people):
    both = pq.read_table("both.parquet")
    planned("s", at=["score:1.5", "score:0.5"])
    right = both.column("right").to_numpy()
    new, old = (both.column(name).to_numpy() for name in ("new", "old"))
    found = evaluated("s", people).tables["differences"].to_pylist()
    assert [row["cutoff"] for row in found] == ["score:1.5", "score:0.5"]
    for row in found:
        at = float(row["cutoff"].partition(":")[2])
        assert (row["items_b"], row["items_a"]) == ((new >= at).sum(), (old >= at).sum())
        assert row["lower"] <= right[new >= at].sum() - right[old >= at].sum() <= row["upper"]


def test_stored_order_against_a_score(home, people):
    both = pq.read_table("both.parquet").sort_by([("old", "descending")])
    pq.write_table(both, "stored.parquet")
    planned("s", "stored.parquet", {**ONE, "against": "stored.parquet", "against_score": None})
    planned("scored")
    assert bounds(evaluated("s", people)) == bounds(evaluated("scored", people))


def test_people_see_neither_score_nor_list(home):
    planned("s", "new.parquet", TWO)
    streameval.select("s", export="tasks.csv")
    head = (home / "tasks.csv").read_text().splitlines()[0].split(",")
    assert not {"score", "rank", "first_a", "first_b", "u"} & {*head}
    assert {"id", "text"} <= {*head}


def test_the_command_line(home, people, capsys):
    command = (
        "plan both.parquet --score new --against both.parquet --against-score old --key id --study s --at 100,1000"
    )
    assert run([*command.split(), "--within", "2%", "--seed", "5"]) == 0
    said = capsys.readouterr().out
    assert "the order by new (B) against the order by old (A)" in said
    evaluated("s", people)
    assert run(["show", "s"]) == 0
    assert "at 1,000, B has" in capsys.readouterr().out
    assert run(["check", "s", "gain@1000 > 0"]) == 0
    assert run(["report", "s", "--out", "r.html"]) == 0
    page = (home / "r.html").read_text()
    assert "is B better than A?" in page
    assert "assumed: nothing of the lists: only that the planned items, drawn at random, are the ones" in page
    provenance = re.sub("<[^>]+>", " ", page.partition("Provenance")[2])
    assert re.search(r"ranking B\s+the order by new\s+ranking A\s+the order by old\s", provenance)
    assert "stored" not in provenance
    assert run(["sql", "s", "SELECT cutoff, lower, upper FROM differences"]) == 0
    assert run(["cost", "--items", "1e6", "--against", "80%", "--at", "1e5", "--json"]) == 0


def test_another_measure_is_refused_with_those_that_there_are(home, people, capsys):
    planned("s")
    evaluated("s", people)
    for asked in ("precision@1000 > 0", "recall@1000 > 0", "gain@777 > 0", "gain@5% > 0"):
        assert run(["check", "s", asked]) == 2
        said = capsys.readouterr().err.splitlines()
        assert len(said) == 1, asked
        assert "there is no" in said[0]
        assert "gain@" in said[0]


def test_cost_of_what_an_overlap_does_not_tell(home, capsys):
    """Measures share the error, as in a plan; what they take is not left out in silence."""
    alone, beside = (list(streameval.cost(10**6, against="80%", at=at, within=0.02))
                     for at in (["1000"], ["1000", "dcg@1000", "score:0.7"]))  # fmt: skip
    assert beside[0]["labels"] > alone[0]["labels"]
    assert (beside[1]["case"], beside[1]["labels"]) == ("score:0.7, dcg@1000", None)
    command = ["cost", "--items", "1e6", "--against", "80%", "--at"]
    assert run([*command, "1000,dcg@1000"]) == 0
    assert "dcg@1000: what this takes depends on how far items moved" in capsys.readouterr().out
    assert run([*command, "dcg@1000"]) == 2
    assert "dcg@1000: what this takes depends on how far items moved" in capsys.readouterr().err


def test_cost_from_the_overlap(home):
    rows = list(streameval.cost(10**7, against="80%", at=["1e6"], within=0.01))
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
        ({"at": []}, "names no cutoff"),
        ({"within": 2}, "--within is 2"),
        ({"confidence": 1}, "--confidence is 1"),
        ({"look": "often"}, "--look is 'often'"),
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
    pq.write_table(pa.concat_tables([both, both.slice(0, 5_000)]), "twice.parquet")
    with pytest.raises(InputError, match="does not tell items apart"):
        planned("s", "twice.parquet", {**ONE, "against": "twice.parquet"})


def test_lists_without_a_common_item(home):
    old = pq.read_table("old.parquet")
    pq.write_table(old.set_column(0, "id", pa.array(old.column("id").to_numpy() + 10**9)), "other.parquet")
    with pytest.raises(InputError):
        planned("s", "new.parquet", {**TWO, "against": "other.parquet"})


def test_a_changed_list_is_refused(home, people):
    planned("s", "new.parquet", TWO)
    pq.write_table(pq.read_table("old.parquet").slice(1), "old.parquet")
    with pytest.raises(StudyError, match="fingerprint"):
        streameval.select("s")


def test_tables_in_memory(home, people, difference):
    new, old = pq.read_table("new.parquet"), pq.read_table("old.parquet")
    streameval.plan(new, "s", score="score", against=old, key="id", at=AT, seed=5)
    tasks = streameval.select("s", ranking=(new, old)).table
    found = streameval.evaluate("s", labels=people(tasks))
    assert all(low <= difference[k] <= high for k, (low, high) in bounds(found).items())


def test_the_plan_says_what_changed(home):
    planned("s")
    header = json.loads((home / "s" / "plan.json").read_text())
    assert header["kind"] == "paired"
    assert header["notes"]["cutoffs"] == [str(k) for k in AT]


def test_the_plan_says_how_wide_the_bounds_will_be(home):
    said = "\n".join(planned_lines(planned("s")))
    assert "Planned half-width of the bounds on the difference in precision: 0.02, at all cutoffs together." in said
    both = pq.read_table("both.parquet")
    new, old = (both.sort_by([(name, "descending")]).column("id").to_numpy()[:1_000] for name in ("new", "old"))
    share = np.setdiff1d(new, old).size / 1_000
    assert re.search(rf"at 1,000: .* \({share:.1%} changed\)", said)


def test_tops_of_different_sizes_have_no_changed_share_and_no_precision(home, people):
    both = pq.read_table("both.parquet")
    new, old = (int((both.column(name).to_numpy() >= 2).sum()) for name in ("new", "old"))
    said = "\n".join(planned_lines(planned("s", at=["score:2"])))
    assert new != old
    assert f"({new:,} in B, {old:,} in A)" in said
    assert "% changed" not in said
    assert "difference in positives: 0.02 of the larger top" in said
    assert not [name for name in measures(evaluated("s", people)) if name.startswith("precision")]


@pytest.mark.parametrize(
    ("look", "when"), [("one", " (one look: "), ("any", ", whenever"), *slow(("both", ", whenever"))]
)
def test_when_bounds_may_be_looked_at(home, people, look, when):
    planned("s", look=look)
    assert f"hold together with probability 0.95{when}" in promise(evaluated("s", people))


def test_why_there_is_no_estimate(home, people):
    planned("s")
    few = evaluated("s", people, 1)
    open_ = [row["cutoff"] for row in few.tables["differences"].to_pylist() if row["estimate"] is None]
    assert open_
    remarks, rows = told(few).remarks, {row[0].replace(",", ""): row for row in told(few).table.rows}
    (line,) = (one for one in remarks if one.startswith("No estimate ("))
    assert all(one in line.replace(",", "") and rows[one][6:9:2] == ["-", "open"] for one in open_)
    assert not [one for one in told(evaluated("s", people)).remarks if one.startswith("No estimate")]


def test_neither_is_explained(home, people):
    planned("s", within=0.3)
    found = evaluated("s", people)
    neither = "neither" in found.tables["differences"].column("better").to_pylist()
    assert neither == any(line.startswith("Neither:") for line in told(found).remarks)


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


def test_the_figure_shows_what_the_table_says(home, people):
    """Bounds on the difference as shares of the top, on a scale that they fill; losses and gains, to its end."""
    planned("s")
    found = evaluated("s", people)
    rows = found.tables["differences"].to_pylist()
    widest = max(max(-row["lower"], row["upper"]) / row["items_b"] for row in rows)
    end = scale_of(rows)
    assert widest <= end <= 1.5 * widest < max(row["gains"] / row["items_b"] for row in rows)
    line = r'<line x1="([\d.e+]+)" x2="([\d.e+]+)" y1="([\d.]+)" y2="\3"'
    drawn = [(float(begin), float(end)) for begin, end, _ in re.findall(line, figure(rows))]
    zero, scale = drawn[0][0], max(abs(one - drawn[0][0]) for _, one in drawn) / end
    beyond = sum(row[side] / row["items_b"] > end for row in rows for side in ("gains", "losses"))
    assert figure(rows).count("<path ") == beyond > 0
    for row, (gains, losses, bounds) in zip(rows, zip(*[iter(drawn)] * 3, strict=True), strict=True):
        size = row["items_b"]
        assert gains == pytest.approx((zero, zero + scale * min(end, row["gains"] / size)), abs=0.01)
        assert losses == pytest.approx((zero, zero - scale * min(end, row["losses"] / size)), abs=0.01)
        assert bounds[0] == pytest.approx(zero + scale * row["lower"] / size, abs=0.01)
        assert bounds[1] == pytest.approx(max(zero + scale * row["upper"] / size, bounds[0] + 2), abs=0.01)
