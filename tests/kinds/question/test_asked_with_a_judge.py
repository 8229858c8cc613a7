"""A question with a judge: its column is read once, when it is planned, and people are asked fewer items."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

import streameval
from streameval.cli import run
from streameval.kinds.question.plan import load_design
from streameval.kinds.question.tree import known_of
from streameval.slices.judge import shared_out
from streameval.study import Study

GATE = "precision@1000 >= 0.6"
PLAN = ["plan", "stored.parquet", "--study", "q", "--seed", "3"]


@pytest.fixture(scope="module")
def judged(made, tmp_path_factory):
    """The folder of `judged.parquet`, by score, and `stored.parquet`, as it is; and what the judge says of each rank.

    The judge is wrong of one item in 25, and says nothing of one in 50.
    """
    folder, rng = tmp_path_factory.mktemp("judged"), np.random.default_rng(5)
    table = pq.read_table(made.root / "list.parquet").sort_by([("score", "descending")])
    truth = table.column("right").to_numpy()
    right = np.where(rng.random(truth.size) < 0.96, truth, 1 - truth).astype(float)
    right[rng.random(truth.size) < 0.02] = np.nan
    table = table.append_column("llm", pa.array(right, from_pandas=True))
    pq.write_table(table, folder / "stored.parquet", row_group_size=1_500)
    pq.write_table(table.take(rng.permutation(truth.size)), folder / "judged.parquet", row_group_size=1_500)
    return folder, right


@pytest.fixture
def said(judged, home):
    """What the judge says of each rank (null of some); the test is in the folder of both lists."""
    shutil.copytree(judged[0], home, dirs_exist_ok=True)
    return judged[1]


def classes_of(said):
    return np.where(np.isnan(said), 2, said >= 0.5).astype(int)


@pytest.mark.parametrize("how", [{"ranking": "judged.parquet", "score": "score"}, {"ranking": "stored.parquet"}])
def test_classes_are_counted_and_their_items_are_in_a_random_order(said, how):
    plan = streameval.plan(study="q", questions=GATE, judge="llm", seed=3, **how)
    counts, first, classes = plan.judge_counts.to_pylist(), plan.judge_sample.to_pydict(), classes_of(said)
    for row in counts:
        start = 0 if row["stratum_last"] == 1_000 else 1_000
        assert row["items"] == (classes[start : row["stratum_last"]] == row["judge_class"]).sum()
    ranks = np.array(first["rank"])
    assert (classes[ranks - 1] == first["judge_class"]).all()
    assert np.unique(ranks).size == ranks.size == 4_000
    in_top = (ranks <= 1_000) & (np.array(first["judge_class"]) == 1)
    order = ranks[in_top][np.argsort(np.array(first["place"])[in_top])]
    assert abs(np.corrcoef(order, np.arange(order.size))[0, 1]) < 3.6 / np.sqrt(order.size)
    blocks = load_design(plan, known_of(plan))[0].blocks
    asked = plan.table
    assert (blocks.kind[asked["block"].to_numpy()] == classes[asked["rank"].to_numpy() - 1]).all()


def test_a_gate_with_a_judge_is_decided_by_fewer_labels(said, home, people, capsys):
    for study, judge in (("q", ["--judge", "llm"]), ("alone", [])):
        assert run([*PLAN[:3], study, *PLAN[4:], "--for", f"{GATE} round 60", *judge]) == 0
    assert "Items by what the judge says: 0 to 0.5: " in capsys.readouterr().out
    assert run(["select", "q", "--export", "shown.csv"]) == 0
    assert "llm" not in (home / "shown.csv").read_text().splitlines()[0]  # people would be swayed
    with_judge, alone = (
        streameval.evaluate(study, labels=people(streameval.select(study).table)).summary for study in ("q", "alone")
    )
    assert with_judge["account"]["labelled"] == alone["account"]["labelled"] == 60
    assert (with_judge["outcome"], alone["outcome"]) == ("pass", "open")
    assert run(["check", "q"]) == 0


def test_a_question_of_a_study_may_have_a_judge_too_and_known_items_have_its_class(said, people, labelled):
    streameval.plan("stored.parquet", "c", budget=100, seed=1)
    streameval.evaluate("c", labels=people(streameval.select("c").table))
    asked = {"questions": "precision@1000 >= 0.85 round 120", "confidence": "0.99", "judge": "llm", "seed": 9}
    plan = streameval.plan(None, "c", **asked)
    known = plan.known.to_pydict()
    assert len(known["rank"]) > 50
    assert (classes_of(said)[np.array(known["rank"]) - 1] == known["judge_class"]).all()
    assert not set(known["rank"]) & set(plan.judge_sample["rank"].to_pylist())
    assert streameval.plan(None, "c", **asked).plan_id == plan.plan_id  # the same again is the one that is there
    found, _ = labelled("c/question-1")
    assert found.summary["outcome"] == "fail"  # it is .75


def test_the_order_of_the_items_of_a_class_does_not_depend_on_where_rounds_begin(said, people):
    """Two rounds of 20 ask more of the classes that the first says more of; of each class, the first in one order."""
    orders = []
    for study, size in (("one", 20), ("other", 40)):
        streameval.plan("stored.parquet", study, questions=f"{GATE} round {size}", judge="llm", seed=3)
        if study == "one":
            streameval.evaluate(study, labels=people(streameval.select(study).table))
            streameval.select(study)
        asked = Study(study).plan().table.sort_by("draw").to_pydict()
        orders.append([[rank for rank, block in zip(asked["rank"], asked["block"], strict=True) if block == one]
                       for one in range(3)])  # fmt: skip
    sizes = [[len(ranks) for ranks in order] for order in orders]
    assert sizes == [[19, 18, 3], [11, 26, 3]]
    for one, other in zip(*orders, strict=True):
        common = min(len(one), len(other))
        assert one[:common] == other[:common]


@pytest.mark.parametrize(("given", "told"), [
    (["cut precision 0.8", "--judge", "llm"], "a judge is of no use to this"),
    (["precision@100 within 0.1", "--judge", "llm"], "a judge is of no use to this"),
    ([f"{GATE} zone 0.05", "--judge", "llm"], "with a judge there is no zone"),
    ([GATE, "--judge", "lm"], "the ranking has no column 'lm'"),
    ([GATE, "--judge", "text"], "judge column 'text'"),
    ([GATE, "--judge", "(0.5)"], "--judge '(0.5)' names no column"),
    (["recall@100 >= 0.5 expect 0.9", "--judge", "llm"], "only a condition on precision@K has a zone"),
])  # fmt: skip
def test_what_does_not_go_with_a_judge_is_one_line(said, home, capsys, given, told):
    assert told in refused(capsys, *PLAN, "--for", *given)
    assert not (home / "q" / "plan.json").exists()


def test_a_question_ends_where_no_item_that_was_put_in_order_is_left(said, labelled, monkeypatch):
    monkeypatch.setattr("streameval.kinds.question.plan.KEPT", 12)
    asked = "precision@1000 >= 0.74"
    plan = streameval.plan("stored.parquet", "q", questions=f"{asked} round 100", judge="llm", seed=3)
    assert plan.judge_sample.num_rows == 12
    found, _ = labelled("q")
    assert found.summary["outcome"] == "open"
    assert found.summary["ended"].startswith("All items that were put in order for the judge have been asked for")


def test_room_for_items_goes_to_small_classes_first():
    assert shared_out(np.array([5, 1_000, 300, 0]), 605).tolist() == [5, 300, 300, 0]
    assert shared_out(np.array([5, 10]), 100).tolist() == [5, 10]
