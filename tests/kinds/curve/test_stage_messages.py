"""What the command line says of a judge's sample, of ties and of bounds that prove nothing."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import judged as found_of
from label_tables import judged_by, told_of
from suite_cases import examples

import streameval
from streameval.cli import run
from streameval.methods import method_of
from streameval.reporting.sentences import half_width_sentence
from streameval.study import Study
from streameval.types import Labels

N = 2_000


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    score = np.repeat(np.arange(4.0), N // 4)
    pq.write_table(pa.table({"item": np.arange(N), "score": score, "word": ["yes", "no"] * (N // 2)}), "list.parquet")


def planned(*more):
    return run(["plan", "list.parquet", "--study", "s", "--seed", "4", "--budget", "111", *more])


def judged(where, values=0.25):
    """A judge's answers to some of what it is asked."""
    rank = Study(Path("s")).plan().judge_sample.column("rank").to_numpy()
    pq.write_table(pa.table({"rank": rank, "label": np.full(rank.size, values)}).filter(where(rank)), "said.parquet")
    return run(["judge", "s", "said.parquet"])


def test_a_judge_who_answered_for_fewer_than_half_is_not_frozen(capsys):
    assert planned("--judge", "sample=1000") == 0
    assert run(["select", "s", "--export", "judge.csv"]) == 0
    before = Study(Path("s")).plan().plan_id
    capsys.readouterr()
    assert judged(lambda rank: pa.array(np.arange(rank.size) < 0.49 * rank.size)) == 2
    said = capsys.readouterr().err
    assert "fewer than half" in said
    assert "judge takes several files" in said
    assert Study(Path("s")).plan().plan_id == before
    assert judged(lambda rank: pa.array(np.arange(rank.size) % 4 > 0)) == 0
    assert "25.0% of the items have no answer: they stay a class of their own for good." in capsys.readouterr().out


def test_answers_after_the_freeze_are_told_apart(capsys):
    assert planned("--judge", "sample=1000") == 0
    assert judged(lambda rank: pa.array(np.arange(rank.size) >= 3)) == 0
    rank = Study(Path("s")).plan().judge_sample.column("rank").to_numpy()
    capsys.readouterr()
    said = np.full(rank.size, 0.25)
    said[[5, 6]] = 0.75
    assert judged(lambda rank: pa.array(np.ones(rank.size, bool)), said) == 2
    told = capsys.readouterr().err
    assert "3 items had no answer then, 2 items have another" in told
    assert judged(lambda rank: pa.array(np.arange(rank.size) >= 4)) == 2
    assert "are frozen: 1 items have none now" in capsys.readouterr().err


def test_a_sample_of_more_items_than_there_are_is_all_of_them(capsys):
    assert planned("--judge", "sample=5000") == 0
    assert "The list has no more, though --judge asks for 5,000." in capsys.readouterr().out
    assert planned("--judge", "sample=0") == 2
    assert "ask about more items than people label" in capsys.readouterr().err


def test_cost_says_how_bounds_narrow_with_each_batch(capsys):
    assert run(["cost", "--items", "6000", "--alpha", "0.2", "--stages", "3", "--judge", "accuracy=0.9", "--json"]) == 0
    found = next(row for row in json.loads(capsys.readouterr().out)["methods"] if row["method"] == "loguniform")
    assert [one["stage"] for one in found["stages"]] == [1, 2, 3]
    widths, labels = ([one[name] for one in found["stages"]] for name in ("half_width", "labels"))
    assert widths[0] > 1.5 * widths[1] > 1.5 * widths[2] == pytest.approx(1.5 * 0.2, rel=0.05)
    assert labels[2] == found["labels"] > labels[1] > labels[0] > found["labels"] / 3
    assert run(["cost", "--items", "1000", "--alpha", "0.4", "--stages", "3"]) == 0
    assert "loguniform, labels in all and half-width by stage: stage 1: " in capsys.readouterr().out


@pytest.mark.parametrize(("score", "tied"), [("score", True), ("item", False)])
def test_a_curve_inside_ties_is_said_to_be_of_the_order_of_the_tie_rule(score, tied, capsys):
    assert planned("--score", score) == run(["select", "s"]) == 0
    assert ("may depend on how ties are broken" in capsys.readouterr().out) == tied


def test_a_judge_is_not_named_by_a_column_that_is_none(capsys):
    assert planned("--judge", "sample=1000") == 0
    assert judged(lambda rank: pa.array(np.ones(rank.size, bool))) == 0
    ranks = Study(Path("s")).plan().ranks
    found = found_of("s", pa.table({"rank": ranks, "label": ranks % 4 == 0}))
    assert f"The judge agrees with people on {np.mean(ranks % 4 != 0):.1%} of {ranks.size:,} labelled items" in str(
        found.curve.findings
    )


def test_where_no_positive_is_proven_no_half_is_forecast(capsys):
    assert planned() == run(["select", "s"]) == 0
    ranks = Study(Path("s")).plan().ranks
    pq.write_table(pa.table({"rank": ranks, "label": (ranks > N / 2).astype(np.int8)}), "labels.parquet")
    assert run(["evaluate", "s", "--labels", "labels.parquet"]) == 0
    told = capsys.readouterr().out
    found = Study(Path("s")).evaluation()
    half = found.summary["half_width"]
    low, _, high = found.curve.precision_at(half["rank"])
    assert (low, half["alpha"], half["labels_for_half"]) == (0, 1, None)
    line = f"No half-width: no positive is proven among the first {half['rank']:,} items, so precision there may be 0"
    assert f"{line}, and is at most {high:.2%}." in told
    assert "Widest bounds" not in told
    assert "Half of it would take" not in told
    assert run(["labels", "s"]) == 0
    assert f"{line}." in capsys.readouterr().out


def test_where_labels_say_nothing_it_is_said_plainly():
    streameval.plan("list.parquet", "s", budget=60, seed=1)
    plan = Study(Path("s")).plan()
    rank = plan.ranks[len(plan.ranks) // 2 :]
    found = found_of("s", pa.table({"rank": rank, "label": np.ones(len(rank), np.int8)}))
    half = found.summary["half_width"]
    assert tuple(found.curve.precision_at(half["rank"]))[::2] == (0, 1)
    items = "item" if half["rank"] == 1 else f"{half['rank']:,} items"
    said = half_width_sentence(found)
    assert said.startswith(f"No half-width: the labels say nothing of the first {items}, so precision may be 0")
    assert "1 items" not in said


def test_what_a_judge_saves_is_said_where_the_widest_place_hides_it():
    """No positive is proven at the top, with the judge or without: below it, the judge saves what is said."""
    truth = np.arange(N) >= 30
    pq.write_table(pa.table({"said": truth * 1.0, "constant": np.ones(N)}), "list.parquet")
    means, told = {}, {}
    for judge in ("said", "constant", None):
        more = [] if judge is None else ["--judge", f"{judge}(accuracy=0.9)"]
        study = f"by-{judge}"
        assert run(["plan", "list.parquet", "--study", study, "--seed", "4", "--budget", "111", *more]) == 0
        ranks = Study(Path(study)).plan().ranks
        pq.write_table(pa.table({"rank": ranks, "label": truth[ranks - 1].astype(np.int8)}), "labels.parquet")
        evaluation = judged_by(["evaluate", study, "--labels", "labels.parquet"])
        curve = evaluation.curve
        assert curve.half_width().alpha == 1
        found = curve.at(np.unique(np.rint(np.exp(np.arange(8)))).astype(int)).to_pydict()
        low, high = (np.array(found[f"precision_{side}"]) for side in ("lower", "upper"))
        means[judge] = np.mean(np.where(high > 0, (high - low) / np.maximum(high + low, 1e-9), 0))
        told[judge] = told_of(study, evaluation)
    for judge in ("said", "constant"):
        line = f"e, e² and so on is {means[judge]:.2%} with it and {means[None]:.2%} without."
        assert (
            f"Where they are widest, the bounds are no narrower for it. The mean half-width at ranks 1, {line}"
            in (told[judge])
        )
    assert means["said"] < 0.9 * means[None]


@pytest.mark.parametrize("classes", ["0.5", "0.9"])
def test_agreement_says_what_it_counts(classes):
    """A judge says .8 of every positive and .2 of every other item; with one class below .9, that is no."""
    truth = np.arange(N) % 2
    pq.write_table(pa.table({"said": 0.2 + 0.6 * truth}), "list.parquet")
    assert planned("--judge", f"said({classes})") == 0
    ranks = Study(Path("s")).plan().ranks
    pq.write_table(pa.table({"rank": ranks, "label": truth[ranks - 1]}), "labels.parquet")
    told = told_of("s", judged_by(["evaluate", "s", "--labels", "labels.parquet"]))
    share = 1.0 if classes == "0.5" else 1 - truth[ranks - 1].mean()
    by_class = ", if a class whose middle is .5 or more counts as positive" if classes == "0.9" else ""
    assert f"agrees with people on {share:.1%} of {ranks.size:,} labelled items{by_class}, most of" in told


JUDGES = {
    "right on the first half alone": lambda rng, truth: np.where(
        np.arange(truth.size) < truth.size / 2, truth, 1 - truth
    ),
    "chance": lambda rng, truth: rng.integers(0, 2, truth.size),
    "constant": lambda rng, truth: np.ones(truth.size, np.int64),
    "nearly right": lambda rng, truth: np.where(rng.random(truth.size) < 0.97, truth, 1 - truth),
    "silent on the second half": lambda rng, truth: np.where(np.arange(truth.size) < truth.size / 2, truth, -1),
}


@pytest.mark.parametrize("name", JUDGES)
def test_a_judge_agrees_as_often_as_it_does_over_the_list(name):
    """In the mean over draws, what is said of the list is so; that of the labels is of the top."""
    rng, n = np.random.default_rng(5), 20_000
    truth = (rng.random(n) < np.linspace(0.95, 0.3, n)).astype(np.int64)
    said = JUDGES[name](rng, truth)
    table = pa.table({"judge": pa.array(said, mask=said < 0)})
    found = []
    for seed in range(examples(8, 30)):
        plan = streameval.plan(table, f"s{seed}", judge="judge", budget=500, seed=seed)
        found.append(method_of(plan).curve(plan, Labels.of(plan, truth[plan.ranks - 1])))
    shares = [one.diagnostics["judge"]["share_of_list"] for one in found]
    right = np.mean((said == truth)[said >= 0])
    assert abs(np.mean(shares) - right) < 4 * np.std(shares) / len(shares) ** 0.5 + 1e-9
    for one, share in zip(found, shares, strict=True):
        of_list = f"{'all items that it answers for' if name.startswith('silent') else 'the whole list'}"
        told = next(finding for finding in one.findings if "The judge agrees" in finding)
        top = "most of which are in the first tenth of the list"
        assert f"labelled items, {top}, and on about {share:.0%} of {of_list}." in told
        assert ("It agrees least at ranks 10,000 to 20,000, on 0.0% of" in told) == name.startswith("right")
        assert_saves(one, told)


def assert_saves(curve, told):
    """What is said of the widths is so, and no judge helped that narrows nothing by a fiftieth."""
    judge = curve.diagnostics["judge"]
    reached, without = curve.half_width().alpha, judge["half_width_without"]
    ranks = np.unique(np.rint(np.exp(np.arange(np.log(curve.n_items)))).astype(int))
    low, high = curve.envelope.at(ranks)
    mean, other = np.mean((high - low) / np.maximum(high + low, 1)), judge["mean_half_width_without"]
    assert ("This judge did not help" in told) == (reached > 0.98 * without and mean > 0.98 * other)
    assert f"{reached:.2%}" in told or f"{mean:.2%}" in told
    more = (without / reached) ** 2
    expected = f"about {more:.1f} times the labels" if more >= 1.5 else f"about {more - 1:.0%} more labels"
    assert (expected in told) == (reached <= 0.98 * without < 0.98)
    assert "about 1.0 times" not in told
    assert "about 0% more" not in told


def test_judges_that_help_and_that_do_not_are_both_met(capsys):
    """Lest the test above says nothing of one of the sentences."""
    rng = np.random.default_rng(5)
    truth = (rng.random(N) < 0.6).astype(np.int64)
    told = {}
    for name in ("chance", "nearly right"):
        plan = streameval.plan(pa.table({"judge": JUDGES[name](rng, truth)}), name, judge="judge", budget=300, seed=1)
        curve = method_of(plan).curve(plan, Labels.of(plan, truth[plan.ranks - 1]))
        told[name] = next(one for one in curve.findings if "udge" in one)
        assert "least" not in told[name]
    assert "This judge did not help: the half-width is" in told["chance"]
    assert "times the labels" in told["nearly right"]
