"""PAULA's bracket is claimed only where no label contradicts A.2, and the same labels give bounds that do hold."""

import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import judged
from suite_cases import examples

import streameval
from streameval.cli import run
from streameval.methods import create
from streameval.methods.paula.method import ASSUMES_A2
from streameval.study import Study
from streameval.types import Labels

N = 12_000
SHORT, FEW = (
    3_000,
    ["--method", "paula(epsilon=0.1, window=20)", "--seed", "0"],
)  # a study of fewer labels
FALLS = [(6_000, 1_500), (4_000, 1_000), (3_000, 1_000)]  # where the probability is a half, and how slowly it falls


def falling(middle, scale, seed, n=N):
    """Labels of independent items whose probability of being positive falls by rank along a logistic curve."""
    probability = 1 / (1 + np.exp((np.arange(1, n + 1) - middle) / scale))
    return (np.random.default_rng(seed).random(n) < probability).astype(np.int8)


def written(folder, truth, name="list.parquet"):
    """Files of a short list and of its labels."""
    items = np.arange(truth.size)
    pq.write_table(pa.table({"id": items, "team": items % 2}), folder / name)
    pq.write_table(pa.table({"rank": items + 1, "label": truth}), folder / "labels.parquet")
    return str(folder / name), ["--labels", str(folder / "labels.parquet")]


def curve_of(truth, parameters):
    plan = create("paula", parameters).plan(N)
    return create("paula", dict(plan.parameters)).curve(plan, Labels.of(plan, truth[plan.ranks - 1]))


def inside(curve, truth):
    low, high = curve.envelope.at(np.arange(1, N + 1))
    yields = np.cumsum(truth)
    return bool(np.all((low <= yields) & (yields <= high)))


@pytest.mark.parametrize("fall", FALLS)
@pytest.mark.parametrize("parameters", [{}, {"epsilon": "0.1", "window": 50}, {"tail": "closed"}])
def test_where_the_bracket_is_claimed_the_truth_is_inside(fall, parameters):
    for seed in range(examples(4, 20)):
        truth = falling(*fall, seed)
        curve = curve_of(truth, parameters)
        assert curve.claim.coverage == "none" or inside(curve, truth)


@pytest.mark.parametrize("fall", FALLS)
def test_what_the_same_labels_say_under_independence_holds(fall):
    lists = examples(6, 20)
    curves = [
        (curve_of(truth, {"assume": "independent"}), truth) for truth in (falling(*fall, s) for s in range(lists))
    ]
    claimed = [inside(*one) for one in curves if one[0].claim.coverage == "conditional"]
    assert len(claimed) >= 0.9 * lists
    assert sum(claimed) >= len(claimed) - examples(1, 3)  # each with probability .95


def test_a_list_that_satisfies_the_assumption_keeps_its_claim():
    truth = (np.arange(1, N + 1) <= 5_000).astype(np.int8)
    curve = curve_of(truth, {})
    assert curve.claim.coverage == "conditional"
    assert curve.claim.assumes == ASSUMES_A2
    assert inside(curve, truth)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_rise_by_one_label_takes_the_claim_away(missing):
    """A window may be compared with any before it: what stands between them can be unknown."""
    plan = create("paula", {}).plan(N)
    label = np.zeros(plan.ranks.size, dtype=np.int8)
    label[:2_000] = 1
    label[-1] = 1  # the last window holds one positive, those before it none
    gone = np.random.default_rng(1).random(label.size) < missing
    gone[-100:] = False
    gone[3_992:4_092] = False  # one whole window of negatives before it
    curve = create("paula", dict(plan.parameters)).curve(plan, Labels.of(plan, np.where(gone, -1, label)))
    assert curve.claim.coverage == "none"
    assert "proves nothing here" in curve.findings[0]


def test_cut_refuses_and_the_way_out_that_it_names_works(tmp_path, capsys):
    truth = falling(1_500, 375, 5, SHORT)
    source, labels = written(tmp_path, truth)
    study = str(tmp_path / "study")
    assert run(["plan", source, "--study", study, *FEW]) == 0
    assert run(["evaluate", study, *labels]) == 0
    said = capsys.readouterr().out
    assert "contradict A.2 taken literally" in said
    assert "proves nothing here" in said
    assert run(["cut", study, "precision:0.9"]) == 2
    refused = capsys.readouterr().err
    assert len(refused.strip().splitlines()) == 1
    assert "prove nothing. The PAULA bracket proves nothing here" in refused
    way_out = refused.split("`")[1]
    assert way_out == f"streameval evaluate {study} --assume independent"
    assert run(way_out.split()[1:]) == 0
    assert "if labels are independent" in capsys.readouterr().out
    cut = streameval.cut(study, "precision:0.9")
    assert (cut.claim.coverage, cut.claim.confidence) == ("conditional", 0.95)
    assert truth[: cut.rank].mean() >= 0.9
    assert cut.holds["precision_lower"] >= 0.9
    assert run(["labels", study]) == 0  # judged as in the last evaluation
    assert "Widest bounds" in capsys.readouterr().out


def test_cut_refuses_where_the_condition_is_assumed_again(tmp_path):
    source, labels = written(tmp_path, falling(1_500, 375, 5, SHORT))
    study = str(tmp_path / "study")
    assert run(["plan", source, "--study", study, *FEW]) == 0
    assert run(["evaluate", study, *labels, "--assume", "independent"]) == 0
    assert run(["cut", study, "precision:0.9"]) == 0
    assert run(["evaluate", study, "--assume", "a2"]) == 0
    assert run(["cut", study, "precision:0.9"]) == 2


def test_where_labels_rise_beyond_noise_the_first_evaluate_and_cut_name_what_works(tmp_path, capsys):
    """No assumption of PAULA's is true of a list whose probability rises, so neither is offered."""
    source, labels = written(tmp_path, falling(1_500, 375, 5, SHORT)[::-1].copy(), "my list.parquet")
    study = str(tmp_path / "study")
    assert run(["plan", source, "--study", study, *FEW]) == 0
    capsys.readouterr()
    assert run(["evaluate", study, *labels]) == 0
    told = capsys.readouterr().out
    assert "The assumption fails" in told
    assert run(["cut", study, "precision:0.9"]) == 2
    way_out = capsys.readouterr().err.split("`")[1]
    assert f"Next: `{way_out}`" in told
    assert run(shlex.split(way_out)[1:]) == 0
    new = Study(Path(f"{study}-loguniform"))
    assert new.plan().method == "loguniform"
    assert judged(new.folder, tmp_path / "labels.parquet").curve.proves


def test_the_way_out_keeps_how_labels_are_judged(tmp_path, capsys):
    source, labels = written(tmp_path, falling(1_500, 375, 5, SHORT))
    study = str(tmp_path / "study")
    assert run(["plan", source, "--study", study, *FEW]) == 0
    assert run(["evaluate", study, *labels, "--label-error", "0.01", "--vote", "all"]) == 0
    way_out = f"streameval evaluate {study} --vote all --label-error 0.01 --assume independent"
    assert f"Next: `{way_out}`" in capsys.readouterr().out
    assert run(way_out.split()[1:]) == 0
    told = capsys.readouterr().out
    assert Study(Path(study)).evaluation().curve.proves
    assert told.startswith("With probability 0.95, the truth lies inside the bounds at every rank at once, if labels")
    assert "also where labels are wrong with probability up to 0.01 each" in told
    assert "0.975" not in told  # what the method keeps for itself, so that half is left for the errors


def test_only_paula_has_assumptions_to_choose_from(tmp_path, capsys):
    items = pa.table({"id": np.arange(100)})
    streameval.plan(items, tmp_path / "study", method="loguniform", budget=20, seed=0)
    assert run(["evaluate", str(tmp_path / "study"), "--assume", "independent"]) == 2
    assert "has no parameter assume" in capsys.readouterr().err
