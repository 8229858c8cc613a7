"""The metric table of a study: what it holds, and that it holds the truth."""

import numpy as np
import pyarrow as pa
import pytest
from label_tables import judged
from small_studies import curve_of
from suite_cases import examples

import streameval
from streameval.metrics.bounded import metrics


def rows_of(table):
    return {(row["metric"], row["argument"]): row for row in table.to_pylist()}


@pytest.mark.parametrize("misses", [0, 25])
def test_a_band_that_holds_the_curve_holds_every_metric(misses):
    rng = np.random.default_rng(5)
    n, draws = examples(6_000, 30_000), examples(4, 12)
    truth = (rng.random(n) < 0.9 - 0.6 * np.arange(n) / n).astype(np.int8)
    everything = rows_of(metrics(curve_of(truth, misses, budget=n)))
    total, inside = np.cumsum(truth), 0
    for seed in range(draws):
        curve = curve_of(truth, misses, seed=seed, budget=examples(800, 2_000))
        if not np.all((curve.envelope.lower <= np.r_[0, total][curve.envelope.rank]) &
                      (np.r_[0, total][curve.envelope.rank] <= curve.envelope.upper)):  # fmt: skip
            continue
        inside += 1
        for name, row in rows_of(metrics(curve)).items():
            if name[0] == "max_f1_rank" or everything[name]["estimate"] is None:
                continue
            true = everything[name]
            if name != ("pr_area", "interpolated"):
                assert true["lower"] == pytest.approx(true["upper"], rel=1e-12), name
            assert row["lower"] <= true["upper"] * (1 + 1e-12), name
            assert row["upper"] >= true["lower"] * (1 - 1e-12), name
            assert row["lower"] <= row["estimate"] <= row["upper"], name
    assert inside >= 2 * draws / 3


def test_a_fully_labelled_study_is_exact_and_counts_misses():
    truth = np.array([0, 1, 1, 1, 0, 0], dtype=np.int8)  # the notes' ranking x a y b c z has 0 1 0 1 1 0
    notes = np.array([0, 1, 0, 1, 1, 0], dtype=np.int8)
    rows = rows_of(metrics(curve_of(notes, 0, method="uniform", budget=6)))
    assert rows["average_precision", "positives"]["estimate"] == pytest.approx((1 / 2 + 1 / 2 + 3 / 5) / 3)
    assert rows["precision_at", "6"]["lower"] == 0.5
    rows = rows_of(metrics(curve_of(truth, 1, method="uniform", budget=6)))
    assert rows["recall_at", "6"]["estimate"] == 0.75
    assert rows["average_precision", "found"]["estimate"] == pytest.approx((1 / 2 + 2 / 3 + 3 / 4) / 3)
    assert rows["average_precision", "positives"]["estimate"] == pytest.approx((1 / 2 + 2 / 3 + 3 / 4) / 4)
    assert rows["precision_at_recall", "1"]["upper"] == 0


def test_misses_go_through_the_journey(tmp_path):
    labels = pa.table({"rank": np.arange(1, 101), "label": np.arange(100) % 3 != 0})
    streameval.plan(pa.table({"id": np.arange(100)}), tmp_path, method="uniform", budget=100, seed=0)
    none = judged(tmp_path, labels)
    some = streameval.evaluate(tmp_path, labels=labels, misses=66)
    assert none.evaluation_id != some.evaluation_id
    last = streameval.Study(tmp_path).evaluation().curve.at([100]).to_pylist()[0]
    assert last["recall"] == pytest.approx(0.5)
    assert last["f1"] == pytest.approx(2 * 66 / (100 + 132))
    with pytest.raises(streameval.InputError, match="misses is -1"):
        streameval.evaluate(tmp_path, labels=labels, misses=-1)


def test_a_picture_has_no_bounds_on_metrics_of_the_whole_list():
    rng = np.random.default_rng(1)
    curve = curve_of((rng.random(60_000) < 0.5).astype(np.int8), 0, method="paula")
    assert curve.claim.coverage == "none"
    of_the_list = [row for (name, _), row in rows_of(metrics(curve)).items() if not name.endswith("_at")]
    assert {(row["lower"], row["upper"]) for row in of_the_list if "_at_" not in row["metric"]} == {(None, None)}
    assert abs(rows_of(metrics(curve))["roc_auc", ""]["estimate"] - 0.5) < 0.03
