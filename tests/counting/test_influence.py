"""Sums of influence functions by bin: a naive twin, derivatives in weights of items, ties that span blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

from streameval.counting.block_groups import TiedRows
from streameval.counting.block_sums import before_each
from streameval.counting.blocks import sum_range
from streameval.counting.influence import by_bin, tops_of
from streameval.counting.labelled_rows import RowRange
from streameval.counting.lookups import Places
from streameval.counting.totals import fold
from streameval.kernels.influence import BINS
from streameval.metrics.exact import Counted
from streameval.metrics.intervals import AT_CUTOFF, SampledList

CUTOFFS = np.array([10, 100], np.int64)


def total_of(keys, labels, bins, block=1 << 20, cutoffs=CUTOFFS):
    """Fold a list in its order, cut into blocks of some size; untied where there are no keys."""
    parts = []
    for at in range(0, labels.size, block):
        rows = slice(at, at + block)
        previous = int(keys[at - 1]) if keys is not None and at else None
        here = RowRange(at, labels[rows], None if keys is None else keys[rows], previous, bins[rows])
        parts.append(sum_range(here, cutoffs)[0])
    return fold(parts, cutoffs)


def sampled(keys, labels, bins, cutoffs=CUTOFFS):
    """A list as metrics see it."""
    sizes = np.bincount(keys.astype(np.int64))
    positives = np.bincount(keys.astype(np.int64), labels).astype(np.int64)
    totals = total_of(keys, labels, bins, cutoffs=cutoffs)
    places = Places(totals, lambda _: TiedRows(before_each(sizes), before_each(positives)))
    return SampledList(Counted(places, 0), totals.influence)


def drawn(seed, n, values, share=0.3, bins=7):
    """Keys that begin at 0 and leave out none, labels, and bins."""
    rng = np.random.default_rng(seed)
    keys = np.sort(rng.integers(0, values, n))
    keys = np.cumsum(np.append(0, np.diff(keys) > 0)).astype(np.uint64)
    labels = (rng.random(n) < share).astype(np.uint8)
    return keys, labels, rng.integers(0, bins, n).astype(np.uint16)


def naive(keys, labels, bins):
    """n, p, L, W and U of each bin, item by item from their definition; A and B."""
    sums, inverse, square = np.zeros((5, BINS)), 0.0, 0.0
    for key in np.unique(keys):
        group = np.flatnonzero(keys == key)
        p, before, rank = int(labels[group].sum()), group[0], group[-1] + 1
        found = int(labels[:before].sum())
        share = (found + p) / rank
        for item in group:
            at = bins[item]
            sums[0, at] += 1
            if labels[item]:
                sums[1, at] += 1
                sums[2, at] += 2 * (before - found) + group.size - p
                sums[4, at] += share - inverse + square
            else:
                sums[3, at] += 2 * found + p
                sums[4, at] += square
        inverse += p / rank
        square += p * share / rank
    return sums, inverse, square


@settings(max_examples=examples(8, 60), deadline=None)
@given(seed=st.integers(0, 2**32), n=st.sampled_from([1, 2, 9, 90]), values=st.sampled_from([1, 3, 20, 10_000]),
       share=st.sampled_from([0.0, 0.3, 1.0]))  # fmt: skip
def test_sums_agree_with_their_naive_twin(seed, n, values, share):
    keys, labels, bins = drawn(seed, n, values, share)
    expected, inverse, square = naive(keys, labels, bins)
    found = total_of(keys, labels, bins).influence
    for name, row in zip(("items", "positives", "losses", "wins"), expected, strict=False):
        assert getattr(found, name).tolist() == row.tolist()
    assert found.precision == pytest.approx(expected[4], abs=1e-12)
    assert (found.inverse, found.square) == pytest.approx((inverse, square), abs=1e-13)


@settings(max_examples=examples(7, 60), deadline=None)
@given(
    seed=st.integers(0, 2**32), block=st.sampled_from([1, 2, 5, 64]), values=st.sampled_from([None, 1, 4, 60, 10_000])
)
def test_a_list_cut_into_blocks_has_the_same_sums(seed, block, values):
    """Ties may span several blocks, of which some begin no group."""
    keys, labels, bins = drawn(seed, 150, values or 1)
    keys = None if values is None else keys
    whole, cut = total_of(keys, labels, bins).influence, total_of(keys, labels, bins, block).influence
    for name in ("items", "positives", "losses", "wins"):
        assert getattr(whole, name).tolist() == getattr(cut, name).tolist()
    assert cut.precision == pytest.approx(whole.precision, abs=1e-11)
    assert {k: top.tolist() for k, top in cut.tops.items()} == {k: top.tolist() for k, top in whole.tops.items()}


def test_items_are_counted_by_bin_up_to_each_power_of_ten_and_the_last_cutoff():
    keys, labels, bins = drawn(1, 150, 10_000)
    found = total_of(keys, labels, bins, cutoffs=np.array([3, 10, 100, 140], np.int64)).influence
    assert list(found.tops) == [10, 100, 140]
    for k, (items, positives) in found.tops.items():
        assert items.tolist() == np.bincount(bins[:k], minlength=BINS).tolist()
        assert positives.tolist() == np.bincount(bins[:k], labels[:k], minlength=BINS).astype(int).tolist()
    assert tops_of(np.empty(0, np.int64)).size == 0


def weighted(keys, labels, weights):
    """Average precision and AUC of items that count several times, tied items as one step."""
    y = np.bincount(keys.astype(np.int64), labels * weights)
    n = np.bincount(keys.astype(np.int64), weights)
    precision = np.cumsum(y) / np.cumsum(n)
    negatives = n - y
    above = np.cumsum(y) - y / 2
    return {"AP": np.sum(y * precision) / y.sum(), "AUC": np.sum(negatives * above) / (y.sum() * negatives.sum())}


@pytest.mark.parametrize("values", [4, 30, 10_000])
def test_influence_is_the_derivative_in_the_weight_of_each_item(values):
    keys, labels, _ = drawn(3, 120, values)
    bins, step = np.arange(120, dtype=np.uint16), 1e-5
    found = sampled(keys, labels, bins)
    for name, derived in (("AP", found.average_precision()), ("AUC", found.roc_auc())):
        ends = []
        for sign in (1, -1):
            ends.append([weighted(keys, labels, 1 + sign * step * (np.arange(120) == i))[name] for i in range(120)])
        slopes = (np.array(ends[0]) - np.array(ends[1])) / (2 * step)
        assert derived.influence[:120] == pytest.approx(slopes, abs=2e-10)
        assert derived.value == pytest.approx(weighted(keys, labels, np.ones(120))[name], rel=1e-12)
        assert float(np.sum(derived.influence)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("metric", AT_CUTOFF)
def test_slopes_of_metrics_at_a_cutoff_are_their_derivatives_in_its_four_counts(metric):
    counts, step = [60.0, 100.0, 150.0, 1_000.0], 1e-4
    _, slopes = AT_CUTOFF[metric](tuple(counts))
    for i, slope in enumerate(slopes):
        ends = [
            AT_CUTOFF[metric](tuple(c + sign * step * (j == i) for j, c in enumerate(counts)))[0] for sign in (1, -1)
        ]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-9)
    assert np.dot(slopes, counts) == pytest.approx(0, abs=1e-12)  # twice as much of all is the same metric


@pytest.mark.parametrize("metric", AT_CUTOFF)
def test_influence_at_a_cutoff_sums_to_nothing(metric):
    keys, labels, bins = drawn(5, 400, 10**9)
    assert float(np.sum(sampled(keys, labels, bins).at_cutoff(metric, 100).influence)) == pytest.approx(0, abs=1e-12)


def test_variance_of_auc_is_delongs_where_each_item_has_a_bin():
    keys, labels, _ = drawn(4, 300, 10**9)
    influence = sampled(keys, labels, np.arange(300, dtype=np.uint16)).roc_auc().influence[:300]
    scores, positive = -keys.astype(float), labels == 1
    order = np.sign(scores[positive][:, None] - scores[~positive][None, :]) / 2 + 0.5
    of_positives, of_negatives = order.mean(axis=1), order.mean(axis=0)
    delong = of_positives.var(ddof=1) / of_positives.size + of_negatives.var(ddof=1) / of_negatives.size
    squares = influence**2
    m, n = int(positive.sum()), int((~positive).sum())
    found = squares[positive].sum() * m / (m - 1) + squares[~positive].sum() * n / (n - 1)
    assert found == pytest.approx(delong, rel=1e-12)


def test_influence_on_r_precision_sums_to_nothing():
    keys, labels, bins = drawn(6, 400, 10**9)
    rank = int(labels.sum())
    found = sampled(keys, labels, bins)
    top = found.influence.with_top(rank, by_bin(bins[:rank], labels[:rank]))
    derived = SampledList(found.counted, top).r_precision()
    assert derived.value == labels[:rank].mean()
    assert float(np.sum(derived.influence)) == pytest.approx(0, abs=1e-12)
