"""Looks: plans that grow after their labels were seen, and a claim that holds over all of them."""

import json
import shutil
from dataclasses import replace
from math import comb

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from label_tables import judged
from measured import with_tables
from suite_cases import cases

import streameval
from streameval.cli import run
from streameval.errors import InputError, StudyError
from streameval.methods import create
from streameval.methods.loguniform.design import look_share
from streameval.stores import atomic
from streameval.study import Study
from streameval.study.plan_files import plan_files
from streameval.types import Labels

N = 600
LISTS = {
    "flat": lambda rng: rng.random(N) < 0.6,
    "falling": lambda rng: rng.random(N) < np.linspace(0.95, 0.1, N),
    "rising tail": lambda rng: rng.random(N) < np.where(np.arange(N) < N // 2, 0.2, 0.9),
}
REPLICATES = [pytest.param(1_000, marks=pytest.mark.slow), 60]


def labelled(plan, truth):
    return Labels.of(plan, truth[plan.ranks - 1])


def test_shares_never_exceed_the_whole():
    assert look_share(0.05, 1, 1) == 0.05
    assert sum(look_share(0.05, look, 64) for look in range(1, 65)) < 0.05


@pytest.mark.parametrize("replicates", REPLICATES)
@pytest.mark.parametrize("shape", cases(LISTS, "falling"))
def test_the_claim_holds_over_all_looks_whatever_stops(shape, replicates):
    """The band is missed at some look, or where a greedy reader stops, no more often than promised (binomial, 1e-4)."""
    truth = LISTS[shape](np.random.default_rng(3)).astype(np.int8)
    y, ranks = np.cumsum(truth), np.arange(1, N + 1)
    delta = 0.5
    method = create("loguniform", {"alpha": 0.5, "confidence": 1 - delta, "stages": 4, "growing": True})
    missed = 0
    for seed in range(replicates):
        plan, wrong = method.plan(N, seed), False
        for look in (2, 4, None):
            curve = method.curve(plan, labelled(plan, truth))
            low, high = curve.envelope.at(ranks)
            wrong |= not (np.all(low <= y) and np.all(y <= high))
            if look is None or curve.half_width().alpha < 0.35:  # what was seen decides
                break
            plan = method.enlarged(plan, look)
        missed += wrong
    tail = sum(comb(replicates, i) * delta**i * (1 - delta) ** (replicates - i) for i in range(missed, replicates + 1))
    assert tail > 1e-4


def test_every_look_keeps_what_was_drawn_and_narrows():
    truth = LISTS["falling"](np.random.default_rng(1)).astype(np.int8)
    method = create("loguniform", {"alpha": 0.3, "stages": 4, "growing": True})
    plan = method.plan(N, 7)
    straight = method.enlarged(plan, 3)
    stepwise = method.enlarged(method.enlarged(plan, 2), 3)
    assert straight.table.drop(["batch"]).equals(stepwise.table.drop(["batch"]))
    assert set(plan.ranks) < set(method.enlarged(plan, 2).ranks) < set(straight.ranks)
    expected = [look.labels for look in method.forecasts(plan)][2]
    assert abs(straight.table.num_rows - expected) < 5 * expected**0.5  # what is forecast is the mean
    before = method.curve(plan, labelled(plan, truth)).envelope.at(np.arange(1, N + 1))
    after = method.curve(straight, labelled(straight, truth)).envelope.at(np.arange(1, N + 1))
    assert np.all(before[0] <= after[0])
    assert np.all(after[1] <= before[1])
    assert [look.look for look in method.forecasts(straight)][straight.look :] == [4]


def test_one_look_is_as_before():
    plan = create("loguniform", {}).plan(10_000)
    assert plan.parameters.keys() == {"alpha", "confidence", "min_precision", "budget"}
    assert plan.table.column_names == ["rank", "stratum", "stratum_last", "probability"]
    assert len(create("loguniform", {}).forecasts(plan)) == 1


def test_looks_cost_labels_and_each_look_narrows():
    one, four = (create("loguniform", how).cost(10**5) for how in ({}, {"stages": 4, "growing": True}))
    assert one["labels"] < four["labels"] < 1.2 * one["labels"]
    widths = [look["half_width"] for look in four["stages"]]
    assert widths == sorted(widths, reverse=True)


GROWING = {"method": "loguniform", "alpha": 0.4, "stages": "4:later", "seed": 0}


@pytest.fixture(scope="module")
def planned(one_ranking, tmp_path_factory):
    """What `study` copies."""
    folder = tmp_path_factory.mktemp("planned")
    streameval.plan(str(one_ranking[0]), folder / "study", **GROWING)
    streameval.select(folder / "study", export=folder / "first.csv")
    return folder


@pytest.fixture
def study(planned, one_ranking, tmp_path):
    shutil.copytree(planned, tmp_path, dirs_exist_ok=True)
    _, labels, truth = one_ranking
    return tmp_path / "study", labels, truth, tmp_path


def test_a_study_grows_and_all_labels_count(study, capsys):
    path, labels, truth, folder = study
    first = streameval.Study(path).plan()
    with_tables(path, labels)
    assert run(["grow", str(path), "--budget", "900", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert 0 < made["more"] <= 900
    grown = streameval.Study(path).plan()
    assert grown.plan_id == made["plan_id"]
    assert set(first.ranks) < set(grown.ranks)
    assert pq.read_table(path / "plans" / f"{first.plan_id}.parquet").num_rows == first.table.num_rows
    with pytest.raises(StudyError, match="has grown since"):
        streameval.report(path)
    # the first plan's command given again is harmless
    streameval.plan(first.location["source"], path, **GROWING)
    assert streameval.Study(path).plan().plan_id == grown.plan_id
    streameval.select(path, export=folder / "second.csv")
    found = judged(path)
    assert found.summary["account"]["labelled"] == first.table.num_rows
    assert found.summary["account"]["missing"] == made["more"]
    # the same table of labels for the whole list says more to the grown plan, and nothing is counted twice
    found = streameval.evaluate(path, labels=labels)
    assert found.summary["account"]["votes"] == grown.table.num_rows
    low, high = found.curve.envelope.at(np.arange(1, truth.size + 1))
    assert np.all((low <= np.cumsum(truth)) & (np.cumsum(truth) <= high))
    assert "after each of 4 stages" in found.curve.findings[0]
    assert streameval.report(path).exists()


def test_tasks_of_the_smaller_plan_stay_good(study):
    path, _, truth, folder = study
    streameval.grow(path, budget=600)
    streameval.select(path)
    tasks = csv.read_csv(folder / "first.csv")
    rank = np.array([int(name.split()[1]) for name in tasks.column("item").to_pylist()])
    done = tasks.drop(["label"]).append_column("label", pa.array(truth[rank - 1]))
    found = judged(path, done)
    known = found.label_table.filter(pc.is_valid(found.label_table.column("label")))
    assert known.num_rows == rank.size
    assert known.column("label").to_numpy().tolist() == truth[known.column("rank").to_numpy() - 1].tolist()


def test_a_half_width_is_reached_by_forecast(study):
    path, labels, _, _ = study
    with_tables(path, labels)
    reached = Study(path).evaluation().summary["half_width"]["alpha"]
    before = Study(path).plan()
    assert streameval.grow(path, alpha=1.1 * reached).plan_id == before.plan_id
    streameval.grow(path, alpha=0.9 * reached)
    streameval.select(path)
    after = judged(path, labels).summary["half_width"]["alpha"]
    assert after < reached
    with pytest.raises(InputError, match="cannot be reached with the stages that are left"):
        streameval.grow(path, alpha=0.001)


def test_a_dry_run_says_what_growing_would_add_and_adds_nothing(study, capsys):
    path = study[0]
    before = (path / "plan.json").read_bytes()
    assert run(["grow", str(path), "--budget", "900", "--dry-run", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (path / "plan.json").read_bytes() == before
    assert run(["grow", str(path), "--budget", "900", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["more"] == said["more"] > 0
    assert run(["grow", str(path), "--budget", "900", "--dry-run"]) == 0
    assert "0 more items would be planned" in capsys.readouterr().out


def test_why_a_study_grew_by_fewer_labels_than_allowed_is_said(study, capsys):
    path = str(study[0])
    assert run(["grow", path, "--budget", "300", "--dry-run"]) == 0
    assert "Up to 300 more were allowed; stages are added whole.\n" in capsys.readouterr().out
    assert run(["grow", path, "--budget", "9999999"]) == 0
    assert (
        "Up to 9,999,999 more were allowed; stages are added whole, and this is the last.\n" in capsys.readouterr().out
    )
    assert run(["grow", path, "--budget", "9"]) == 2
    assert "all 4 stages of its plan are planned already" in capsys.readouterr().err


def test_a_request_that_an_earlier_version_met_is_met(study):
    """Its words for them stand in plan.json."""
    path = study[0]
    grown = streameval.grow(path, budget=600)
    assert grown.notes["grown_by"] == [{"budget": 600}]
    for words, request in (
        ({"labels": 600}, {"budget": 600}),
        ({"half_width": 0.2}, {"alpha": 0.2}),
        ({"rest": 1}, {}),
    ):
        former = replace(grown, notes={**grown.notes, "grown_by": [words]})
        atomic.write_all(plan_files(path, former, "plan"))
        assert Study(path).plan().grown_by == (request,)
        if request:
            assert streameval.grow(path, **request).plan_id == former.plan_id


@pytest.mark.parametrize(("keywords", "hint"), [
    ({"labels": 9}, "it is budget=9"), ({"half_width": 0.1}, "it is alpha=0.1"),
    ({"rest": True}, "it is the command without it: streameval grow STUDY"),
])  # fmt: skip
def test_words_of_an_earlier_version_are_refused_in_python(study, keywords, hint):
    with pytest.raises(InputError, match=f"any more. Hint: {hint}"):
        streameval.grow(study[0], **keywords)


def test_bad_input(study, one_ranking, tmp_path, capsys):
    path = str(study[0])
    for arguments, says in [
        (["--budget", "1"], "1 more labels do not reach the next stage"),
        (["--budget", "9", "--alpha", "0.1"], "grow takes --budget or --alpha. Hint: leave out one of them"),
        (
            [],
            f"as far as --budget or --alpha says. Hint: the next stage is planned by streameval grow {path} --budget ",
        ),
        (["--alpha", "2"], "outside (0, 1)"),
    ]:
        assert run(["grow", path, *arguments]) == 2
        assert says in capsys.readouterr().err
    single = str(tmp_path / "single")
    plan = ["plan", str(one_ranking[0]), "--study", single, "--seed", "0"]
    assert run([*plan, "--method", "paula", "--stages", "3:later"]) == 2
    assert "method paula has no parameter --stages" in capsys.readouterr().err
    assert run(plan) == 0
    assert run(["grow", single, "--budget", "100"]) == 2
    assert "made without stages to grow by" in capsys.readouterr().err
    with pytest.raises(InputError, match="stages is 0"):
        create("loguniform", {"stages": 0})
