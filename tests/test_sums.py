"""Partial sums of fully labelled lists: naive twin, chunks, merging, sizes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streameval import sums
from streameval.errors import InputError
from streameval.kernels import exact
from streameval.sums import Block, Sums


@pytest.fixture(params=[8, 64, exact.BLOCK])
def block(request, monkeypatch):
    """The size of a block decides bytes, not values: small ones put many into a short list."""
    monkeypatch.setattr(sums, "BLOCK", request.param)
    return request.param


def summed(labels, cuts=()):
    made = Sums()
    for part in np.split(labels, sorted(cuts)):
        made.add(part)
    return made


def truth(labels):
    ranks = np.flatnonzero(labels) + 1
    return sum(Fraction(j, int(r)) for j, r in enumerate(ranks, 1)), int(ranks.sum())


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.9, 1.0])
def test_sums_agree_with_their_naive_twin(block, share):
    labels = (np.random.default_rng(4).random(700) < share).astype(np.uint8)
    found = summed(labels).compute()
    precisions, ranks = truth(labels)
    assert found.precision_sum == pytest.approx(float(precisions), rel=1e-14)
    assert found.rank_sum == ranks
    assert found.positives == labels.sum()
    y, r = np.cumsum(labels, dtype=np.int64), np.arange(1, 701)
    assert all(y[x - 1] == found_y for x, found_y in found.corner.tolist())
    for missing in (0, 1, 50, 10_000):
        best = (y / (r + missing)).max()
        on_corners = found.corner[:, 1] / (found.corner[:, 0] + missing)
        assert on_corners.max(initial=0) == best


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), share=st.floats(0, 1), cuts=st.lists(st.integers(0, 300), max_size=6))
def test_chunks_change_no_byte_and_merging_is_associative(seed, share, cuts):
    size, sums.BLOCK = sums.BLOCK, 64
    try:
        labels = (np.random.default_rng(seed).random(300) < share).astype(np.uint8)
        whole = summed(labels)
        _same(whole, summed(labels, cuts))
        a, b, c = (Sums(before=at) for at in (0, 128, 192))
        for one, end in ((a, 128), (b, 192), (c, 300)):
            one.add(labels[one.before : end])
        _same(whole, a.merge(b).merge(c))
        _same(whole, a.merge(b.merge(c)))
        _same(whole, Sums().merge(whole).merge(Sums()))
    finally:
        sums.BLOCK = size


def _same(one, other):
    a, b = one.compute(), other.compute()
    assert (a.n_items, a.rank_sum, a.precision_sum) == (b.n_items, b.rank_sum, b.precision_sum)
    assert np.array_equal(a.block_yield, b.block_yield)
    assert np.array_equal(a.corner, b.corner)


def test_nothing_wraps_past_two_to_the_63():
    """5·10⁹ ranks, every second positive: Σ r_j is 6.25·10¹⁸ and P·(N − P) likewise; with all of them 1.25·10¹⁹."""
    n_blocks = 5_000
    every = exact.BLOCK * (exact.BLOCK + 1) // 2
    full = Block(exact.BLOCK, exact.BLOCK, every, 0.0, 0.0, np.array([[exact.BLOCK, exact.BLOCK]]))
    found = Sums(blocks=[full] * n_blocks).compute()
    n = n_blocks * exact.BLOCK
    assert found.rank_sum == n * (n + 1) // 2 > 2**63
    assert found.positives == n


def test_bad_labels_and_gaps_are_named(block):
    one = Sums()
    one.add(np.zeros(20, np.uint8))
    with pytest.raises(InputError, match="rank 23 is 7"):
        one.add(np.array([1, 0, 7], np.uint8))
    with pytest.raises(InputError, match="multiples"):
        Sums(before=3)
    late = Sums(before=5 * block)
    late.add(np.ones(1, np.uint8))
    with pytest.raises(InputError, match="merge neighbours"):
        summed(np.ones(3, np.uint8)).merge(late)
    with pytest.raises(InputError, match="missing"):
        late.compute()


def test_yields_at_agrees_with_its_naive_twin():
    labels = np.random.default_rng(2).integers(0, 2, 100).astype(np.uint8)
    at = np.array([0, 0, 3, 50, 50, 100])
    assert exact.yields_at(labels, at).tolist() == [labels[:p].sum() for p in at]
