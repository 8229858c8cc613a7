"""Metrics of arrays agree with scikit-learn, degenerate input included."""

import warnings

import numpy as np
import pytest
import sklearn.metrics as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

import streameval


def array(seed, n, values, share):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n) if values is None else rng.integers(0, values, n).astype(float)
    return (rng.random(n) < share).astype(int), scores


@settings(max_examples=examples(24, 60), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.sampled_from([1, 2, 30, 1000]),
    values=st.sampled_from([None, 1, 4, 100]),
    share=st.sampled_from([0.0, 0.1, 0.6, 1.0]),
)
def test_scikit_learn_agrees(seed, n, values, share):
    y, s = array(seed, n, values, share)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ap, curve = peer.average_precision_score(y, s), peer.precision_recall_curve(y, s)
        roc = peer.roc_curve(y, s, drop_intermediate=False)
        auc = peer.roc_auc_score(y, s) if 0 < y.sum() < n else np.nan
    assert streameval.average_precision_score(y, s) == pytest.approx(ap, rel=1e-12)
    assert streameval.roc_auc_score(y, s) == pytest.approx(auc, rel=1e-12, nan_ok=True)
    for mine, theirs in zip(streameval.precision_recall_curve(y, s), curve, strict=True):
        assert np.allclose(mine, theirs, rtol=1e-12)
    for mine, theirs in zip(streameval.roc_curve(y, s), roc, strict=True):
        assert np.allclose(mine, theirs, rtol=1e-12, equal_nan=True)


@settings(max_examples=examples(24, 60), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.sampled_from([2, 30, 1000]),
    values=st.sampled_from([None, 1, 4, 100]),
    label=st.sampled_from([0, 1, -1, "yes"]),
)
def test_scikit_learn_agrees_on_weights_and_labels(seed, n, values, label):
    y, s = array(seed, n, values, 0.4)
    rng = np.random.default_rng(seed)
    weight = rng.choice([0.0, 0.3, 1.0, 7.0], n)
    weight[:2], y[:2] = 1.0, (0, 1)  # both kinds have weight, or scikit-learn refuses
    others = {0: 1, 1: 0, -1: 1, "yes": "no"}
    y_true = np.where(y == 1, label, others[label])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how = {"sample_weight": weight, "pos_label": label}
        assert streameval.average_precision_score(y_true, s, **how) == pytest.approx(
            peer.average_precision_score(y_true, s, **how), rel=1e-12
        )
        assert streameval.roc_auc_score(y_true, s, **how) == pytest.approx(
            peer.roc_auc_score(y, s, sample_weight=weight), rel=1e-12
        )
        for mine, theirs in (
            (streameval.precision_recall_curve(y_true, s, **how), peer.precision_recall_curve(y_true, s, **how)),
            (streameval.roc_curve(y_true, s, **how), peer.roc_curve(y_true, s, drop_intermediate=False, **how)),
        ):
            for ours, other in zip(mine, theirs, strict=True):
                assert np.allclose(ours, other, rtol=1e-12, equal_nan=True)


def test_whole_weights_are_repeated_items():
    y, s = array(3, 200, 20, 0.4)
    weight = np.random.default_rng(4).integers(0, 4, 200)
    for name in ("average_precision_score", "roc_auc_score"):
        once = getattr(streameval, name)(y, s, sample_weight=weight, misses=5)
        assert once == pytest.approx(getattr(streameval, name)(y.repeat(weight), s.repeat(weight), misses=5), rel=1e-12)


@pytest.mark.parametrize(("weight", "message"), [
    ([1.0], r"sample_weight has shape \(1,\)"), ([1, -1], r"sample_weight\[1\] is -1"), ([0, 0], "all weights are 0"),
    ([1, float("nan")], r"sample_weight\[1\] is nan"), (["a", "b"], "sample_weight holds <U1"),
])  # fmt: skip
def test_bad_weights_are_named(weight, message):
    with pytest.raises(streameval.InputError, match=message):
        streameval.roc_auc_score([1, 0], [1, 2], sample_weight=weight)


def test_only_grouped_ties_know_weights():
    for function in (streameval.average_precision_score, streameval.roc_auc_score):
        with pytest.raises(streameval.InputError, match="weights work only with grouped ties"):
            function([1, 0], [1, 2], sample_weight=[1, 2], ties="expected")


@pytest.mark.parametrize("n", [10**5, *(pytest.param(n, marks=pytest.mark.slow) for n in (10**6, 10**7))])
def test_many_agree_with_scikit_learn(n):
    y, s = array(0, n, n // 10, 0.3)
    assert streameval.average_precision_score(y, s) == pytest.approx(peer.average_precision_score(y, s), rel=1e-12)
    assert streameval.roc_auc_score(y, s) == pytest.approx(peer.roc_auc_score(y, s), rel=1e-12)


def test_ties_and_misses_are_counted():
    y, s = [0] * 10 + [1] * 10, [1.0] * 10 + [0.0] * 10  # no order of the tied positives reaches .5
    assert streameval.average_precision_score(y, s) == pytest.approx(0.5)
    each = [streameval.average_precision_score(y, s, ties=t) for t in ("pessimistic", "expected", "optimistic")]
    assert each == pytest.approx([0.3312286] * 3, abs=1e-7)
    assert streameval.roc_auc_score([1, 0], [1, 1], ties="pessimistic") == 0
    assert streameval.roc_auc_score([1, 0], [1, 1], ties="optimistic") == 1
    assert streameval.roc_auc_score([1, 0], [2, 1], misses=1) == 0.5
    assert streameval.average_precision_score([1, 0], [2, 1], misses=3) == 0.25
    assert streameval.precision_recall_curve([1, 0], [2, 1], misses=1)[1].tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize(
    ("y", "s", "message"),
    [
        ([1, 0], [1.0], "two rows of equal length"),
        ([], [], "empty"),
        ([1, 2], [1, 2], r"y_true\[1\] is 2"),
        ([1, 0], [1, float("nan")], r"y_score\[1\] is NaN"),
        (["0", "1"], [1, 2], "y_true holds <U1, not numbers"),
        ([0, 1], np.array([0.3, None], dtype=object), "y_score holds object, not numbers"),
        ([0, 1], np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"), "not numbers"),
        ([[0], [1, 1]], [1, 2], "y_true is not an array"),
    ],
)
def test_bad_arrays_are_named(y, s, message):
    with pytest.raises(streameval.InputError, match=message):
        streameval.average_precision_score(y, s)


@pytest.mark.parametrize("misses", [-1, 1.5, True, float("nan"), "3"])
def test_misses_are_a_count(misses):
    for function in (streameval.average_precision_score, streameval.roc_auc_score, streameval.roc_curve,
                     streameval.precision_recall_curve):  # fmt: skip
        with pytest.raises(streameval.InputError, match="misses is"):
            function([0, 1], [1, 2], misses=misses)


def test_ties_are_of_four_kinds():
    with pytest.raises(streameval.InputError, match="one of grouped, pessimistic, expected, optimistic"):
        streameval.average_precision_score([0, 1], [1, 2], ties="x")
