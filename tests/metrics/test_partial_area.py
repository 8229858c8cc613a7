"""The area under the ROC curve up to a false positive rate agrees with scikit-learn, and is what the curve has."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn.metrics as peer

import streameval
from streameval.cli import run
from streameval.errors import InputError

RATES = ["0.001", "0.01", "0.05", "0.1", "0.2"]


def drawn(seed, n, values):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n) if values is None else rng.integers(0, values, n).astype(float)
    labels = (rng.random(n) < 0.3).astype(int)
    labels[:2] = 0, 1
    return labels, scores


def values(found):
    return {(row["metric"], row["argument"]): row for row in found.metrics.to_pylist()}


def area(negatives, positives, rate):
    """Under straight lines, of the negatives and positives of every group of tied items."""
    x = np.append(0, np.cumsum(negatives)) / np.sum(negatives)
    y = np.append(0, np.cumsum(positives)) / np.sum(positives)
    inside = x < rate
    x, y = np.append(x[inside], rate), np.append(y[inside], np.interp(rate, x, y))
    return np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [2, 3, 40, 1_000])
@pytest.mark.parametrize("tied", [None, 1, 4, 100])
def test_scikit_learn_agrees(seed, n, tied):
    labels, scores = drawn(seed, n, tied)
    for rate in (0.001, 0.07, 1 / 3, 0.5, 0.999, 1.0):
        theirs = peer.roc_auc_score(labels, scores, max_fpr=rate)
        assert streameval.roc_auc_score(labels, scores, max_fpr=rate) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("tied", [None, 10])
def test_exact_has_both_areas_at_five_rates(tied):
    labels, scores = drawn(1, 500, tied)
    found = values(streameval.exact(pa.table({"label": labels, "score": scores}), label="label", score="score"))
    for rate in RATES:
        scaled, plain = found["roc_auc_at_fpr", rate], found["roc_area_at_fpr", rate]
        assert scaled["lower"] == scaled["estimate"] == scaled["upper"]
        theirs = peer.roc_auc_score(labels, scores, max_fpr=float(rate))
        assert scaled["estimate"] == pytest.approx(theirs, rel=1e-9)
        best, chance = float(rate), float(rate) ** 2 / 2
        assert plain["estimate"] == pytest.approx(chance + (2 * theirs - 1) * (best - chance), rel=1e-9)


def test_a_list_of_several_blocks_is_looked_into_where_the_rate_is_reached():
    rng = np.random.default_rng(7)
    sizes = rng.multinomial(2_500_000, rng.dirichlet(np.ones(40)))
    positives = rng.binomial(sizes, np.linspace(0.9, 0.1, 40))
    label = np.concatenate([np.arange(size) < some for size, some in zip(sizes, positives, strict=True)])
    table = pa.table({"label": label, "score": np.repeat(np.arange(40, 0, -1, dtype=np.float32), sizes)})
    found = values(streameval.exact(table, label="label", score="score"))
    for rate in RATES:
        expected = area(sizes - positives, positives, float(rate))
        assert found["roc_area_at_fpr", rate]["estimate"] == pytest.approx(expected, rel=1e-12)


def test_positives_that_were_never_returned_are_never_found():
    labels, scores = drawn(2, 100, None)
    whole = streameval.roc_auc_score(labels, scores, max_fpr=0.2)
    half = streameval.roc_auc_score(labels, scores, max_fpr=0.2, misses=int(labels.sum()))
    assert (2 * half - 1) * 0.18 + 0.02 == pytest.approx(((2 * whole - 1) * 0.18 + 0.02) / 2)


@pytest.mark.parametrize("label", [[0, 0, 0], [1, 1, 1]])
def test_there_is_none_without_both_kinds_of_items(label):
    found = values(streameval.exact(pa.table({"label": label}), label="label"))
    assert {found[name, "0.1"]["estimate"] for name in ("roc_auc_at_fpr", "roc_area_at_fpr")} == {None}
    assert np.isnan(streameval.roc_auc_score(label, [3, 2, 1], max_fpr=0.1))


def test_conditions_name_it_by_its_rate(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    labels, scores = drawn(3, 300, None)
    scores = scores + labels
    pq.write_table(pa.table({"label": labels, "score": scores}), "list.parquet")
    assert run(["exact", "list.parquet", "--score", "score", "--out", "e"]) == 0
    theirs = peer.roc_auc_score(labels, scores, max_fpr=0.1)
    capsys.readouterr()
    assert run(["show", "e", "roc_auc@fpr:0.1", "roc_area@fpr:20%"]) == 0
    assert f"{theirs:.4f}" in capsys.readouterr().out
    assert run(["check", "e", "roc_auc@fpr:0.1 >= 0.5"]) == 0
    assert run(["check", "e", "roc_auc@fpr:0.1 >= 0.99"]) == 4
    for asked, message in (("roc_auc@fpr:0.3", "known up to the rates 0.001, 0.01, 0.05, 0.1, 0.2, and not up to"),
                           ("recall@fpr:0.1", "no recall at a false positive rate. Hint: there are: roc_auc, roc_area"),
                           ("pauc", "we call it roc_auc@fpr:0.1")):  # fmt: skip
        assert run(["show", "e", asked]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_fpr": 0}, r"max_fpr is 0, outside \(0, 1\]"),
        ({"max_fpr": 0.1, "ties": "expected"}, "ties is 'expected', and max_fpr is given"),
        ({"max_fpr": 0.1, "sample_weight": [1, 1]}, "max_fpr does not go with weights"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        streameval.roc_auc_score([0, 1], [0.1, 0.2], **given)


OTHERS = {
    "cut": ["cut", "STUDY", "fpr:0.1"],
    "question": ["plan", "--study", "STUDY", "--for", "precision@fpr:0.1 >= 0.8"],
    "area": ["plan", "--study", "STUDY", "--for", "roc_auc@fpr:0.1 >= 0.8"],
    "extrapolate": ["extrapolate", "STUDY", "precision@fpr:0.1"],
}


@pytest.mark.parametrize("arguments", OTHERS.values(), ids=OTHERS)
def test_a_rate_is_no_cutoff_of_anything_else(arguments, study, capsys):
    folder = str(study("curve-evaluated"))
    assert run([folder if one == "STUDY" else one for one in arguments]) == 2
    assert "fpr:0.1" in capsys.readouterr().err


def test_a_study_says_that_it_is_of_labelled_lists(study):
    with pytest.raises(InputError, match="it is known of lists whose every item has a label"):
        streameval.show(study("curve-evaluated"), "roc_auc@fpr:0.1")
