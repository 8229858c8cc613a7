"""Partial sums of fully labelled lists: naive twins, every order of tied items, blocks, merging, sizes."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import cases, examples, slow

from streameval.counting import block_sums as sums
from streameval.counting.block_sums import UnorderedError, sum_groups, sum_labels, sum_rows
from streameval.counting.labelled_rows import pack
from streameval.counting.totals import fold
from streameval.errors import InputError
from streameval.kernels import exact, group_sums, hull

QUICK = settings(max_examples=examples(12, 30), deadline=None)
NO_CUTS = np.empty(0, np.int64)


def total_of(keys, labels, block, cutoffs=NO_CUTS):
    """Fold a list cut into blocks of some size; untied where there are no keys."""
    parts = []
    for at in range(0, labels.size, block):
        piece = labels[at : at + block]
        if keys is None:
            parts.append(sum_labels(at, piece, cutoffs))
        else:
            previous = int(keys[at - 1]) if at else None
            parts.append(sum_rows(at, keys[at : at + block], piece, previous, cutoffs))
    return fold(parts, cutoffs)


def groups_of(keys, labels):
    _, starts = np.unique(keys, return_index=True)
    ends = np.append(starts[1:], keys.size)
    return [(int(e - s), int(labels[s:e].sum())) for s, e in zip(starts, ends, strict=True)]


def orders(groups):
    """Every order of tied items."""
    for places in product(*(combinations(range(n), p) for n, p in groups)):
        yield np.concatenate([np.isin(np.arange(n), place) for (n, _), place in zip(groups, places, strict=True)])


def precisions(labels):
    return sum((Fraction(j, int(r)) for j, r in enumerate(np.flatnonzero(labels) + 1, 1)), Fraction(0))


def naive(groups):
    early = np.concatenate([np.arange(n) < p for n, p in groups])
    late = np.concatenate([np.arange(n) >= n - p for n, p in groups])
    y, r = np.cumsum([p for _, p in groups]), np.cumsum([n for n, _ in groups])
    grouped = sum((Fraction(int(p * f), int(s)) for (_, p), f, s in zip(groups, y, r, strict=True)), Fraction(0))
    return early, late, grouped


@settings(max_examples=examples(10, 60), deadline=None)
@given(seed=st.integers(0, 2**32), block=st.sampled_from([1, 2, 5, 64]))
def test_every_order_of_ties_is_summed(seed, block):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    keys = np.sort(rng.integers(0, rng.integers(1, 6), n)).astype(np.uint64)
    labels = rng.integers(0, 2, n).astype(np.uint8)
    groups = groups_of(keys, labels)
    every = [precisions(v) for v in orders(groups)]
    early, late, grouped = naive(groups)
    found = total_of(keys, labels, block)
    expected = {"early": max(every), "late": min(every), "expected": sum(every) / len(every), "grouped": grouped}
    assert {k: float(v) for k, v in expected.items()} == pytest.approx(found.precision_sum, rel=1e-13, abs=1e-15)
    for name, v in (("early", early), ("late", late)):
        assert found.rank_sum[name] == (np.flatnonzero(v) + 1).sum()
    assert found.mixed == any(0 < p < n for n, p in groups)
    assert (found.n_items, found.positives) == (n, labels.sum())


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("block", cases([8, 64, exact.BLOCK], 8, exact.BLOCK))
@pytest.mark.parametrize("values", [None, 700, 40, 2, 1])
def test_long_lists_agree_with_their_naive_twin(share, block, values):
    rng = np.random.default_rng(4)
    n = 700
    labels = (rng.random(n) < share).astype(np.uint8)
    keys = None if values is None else np.sort(rng.integers(0, values, n)).astype(np.uint64)
    groups = [(1, int(v)) for v in labels] if keys is None else groups_of(keys, labels)
    cutoffs = np.unique(np.r_[rng.integers(1, n + 1, 40), n])
    found = total_of(keys, labels, block, cutoffs)
    early, late, grouped = naive(groups)
    for name, value in (("early", precisions(early)), ("late", precisions(late)), ("grouped", grouped)):
        assert found.precision_sum[name] == pytest.approx(float(value), rel=1e-13)
    r = np.arange(1, n + 1)
    ends = np.cumsum([size for size, _ in groups])
    for name, y, at in (("early", np.cumsum(early), r), ("ends", np.cumsum(late)[ends - 1], ends)):
        corner = found.corner[name][0]
        lookup = np.zeros(n + 1, np.int64)
        lookup[at] = y
        assert np.array_equal(lookup[corner[:, 0]], corner[:, 1])
        for missing in (0, 1, 50, 10_000):
            assert (corner[:, 1] / (corner[:, 0] + missing)).max(initial=0) == (y / (at + missing)).max()
    for k, (s, f, size, p) in zip(cutoffs.tolist(), found.cut.tolist(), strict=True):
        group = int(np.searchsorted(ends, k))
        before = int(ends[group - 1]) if group else 0
        assert (s, f) == (before, int(labels[:before].sum()))
        assert (size, p) == groups[group]


@settings(max_examples=examples(8, 40), deadline=None)
@given(seed=st.integers(0, 2**32), values=st.sampled_from([1, 3, 30, 10**6]))
def test_rows_and_groups_are_summed_alike(seed, values):
    size, sums.BLOCK = sums.BLOCK, 64
    try:
        rng = np.random.default_rng(seed)
        keys = np.sort(rng.integers(0, values, 300)).astype(np.uint64)
        labels = rng.integers(0, 2, 300).astype(np.uint8)
        cutoffs = np.array([1, 7, 64, 65, 200, 300])
        a = total_of(keys, labels, 64, cutoffs)
        n, p = (np.array(one) for one in zip(*groups_of(keys, labels), strict=True))
        b = fold(list(sum_groups(n, p, cutoffs)), cutoffs)
        assert a.rank_sum == b.rank_sum
        assert a.precision_sum == pytest.approx(b.precision_sum, rel=1e-14)
        assert np.array_equal(a.start, b.start)
        assert np.array_equal(a.start_yield, b.start_yield)
        assert np.array_equal(a.cut, b.cut)
        for name in a.corner:
            for missing in (0, 10, 1_000):
                best = [(c[:, 1] / (c[:, 0] + missing)).max(initial=0) for c in (a.corner[name][0], b.corner[name][0])]
                assert best[0] == best[1]
    finally:
        sums.BLOCK = size


def total(fractions):
    """Their sum, by halves: one after the other, thousands of them have long denominators from early on."""
    if len(fractions) < 3:
        return sum(fractions, Fraction(0))
    half = len(fractions) // 2
    return total(fractions[:half]) + total(fractions[half:])


BEFORE = (0, 3, 2_000, 10**7, 10**12)


@pytest.mark.parametrize(
    ("n", "p", "before"),
    [
        *((*one, before) for one in [(1, 1), (2, 1), (3, 2), (16, 5), (17, 17), (400, 1)] for before in BEFORE),
        (9_000, 8_000, 2_000),
        *slow(*((9_000, 8_000, before) for before in BEFORE if before != 2_000)),
    ],
)
def test_sums_of_a_group_agree_with_fractions(n, p, before):
    found = before // 3
    each = [Fraction(1, before + i) for i in range(1, n + 1)]
    early = total([(found + i) * each[i - 1] for i in range(1, p + 1)])
    late = total([(found + i) * each[n - p + i - 1] for i in range(1, p + 1)])
    slope = Fraction(p - 1, n - 1) if n > 1 else Fraction(0)
    expected = Fraction(p, n) * total([(found + 1 + slope * (i - 1)) * each[i - 1] for i in range(1, n + 1)])
    sums_of = group_sums.group_sums.plain()(float(before), float(found), float(n), float(p))
    inverses = total(each[:p]), total(each[n - p :]), Fraction(p, n) * total(each)
    exactly = [float(v) for pair in zip((early, late, expected), inverses, strict=True) for v in pair]
    assert sums_of == pytest.approx(exactly, rel=2e-14)


@pytest.mark.parametrize("order", ["early", "late", "expected", "grouped"])
def test_nothing_wraps_past_two_to_the_63(order):
    """5·10⁹ items of one score, half of them positive: every sum is one formula, here in whole numbers."""
    n, p = 5 * 10**9, 25 * 10**8
    found = fold(list(sum_groups(np.array([n]), np.array([p]), NO_CUTS)), NO_CUTS)
    assert found.rank_sum["early"] == p * (p + 1) // 2
    assert found.rank_sum["late"] == p * (n - p) + p * (p + 1) // 2 > 2**63
    assert found.positives * (found.n_items - found.positives) > 2**62
    ln2 = float(np.log(2))
    limit = {"early": 1.0, "late": 1 - ln2, "expected": 0.5, "grouped": 0.5}[order]
    assert found.precision_sum[order] / p == pytest.approx(limit, rel=1e-8)


def test_five_billion_positives_one_by_one_do_not_wrap():
    n_blocks = 5_000
    part = sum_labels(0, np.ones(exact.BLOCK, np.uint8), NO_CUTS)
    found = fold((part for _ in range(n_blocks)), NO_CUTS)
    n = n_blocks * exact.BLOCK
    assert found.rank_sum["late"] == n * (n + 1) // 2 > 2**63


@settings(max_examples=examples(8, 40), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.sampled_from([1, 7, 8, 9, 255, 257, 3_000, 20_000]),
    share=st.sampled_from([0.0, 0.01, 0.5, 1.0]),
    before=st.sampled_from([exact.FAR_RANKS, 10**8 + 3, 2 * 10**9 + 1, 10**13]),
)
def test_far_down_a_list_bits_sum_to_what_labels_do(seed, n, share, before):
    """Within 10⁻¹⁵ of the truth; whole numbers and the hull are those of the twin that takes one label at a time."""
    labels = (np.random.default_rng(seed).random(n) < share).astype(np.uint8)
    cutoffs = np.unique(before + np.random.default_rng(seed).integers(1, n + 1, 5))
    found = sum_labels(before, labels, cutoffs)
    twin = np.zeros(exact.WHOLES, np.int64), np.zeros(exact.REALS)
    exact.add_labels(pack(labels), n, before, *twin)
    ranks = np.flatnonzero(labels) + 1
    corners = hull_of(ranks.tolist())
    twin[0][exact.EARLY] = len(corners)
    assert found.whole.tolist() == twin[0].tolist()
    assert found.corner[0].tolist() == corners
    weighted = math.fsum(j / (before + r) for j, r in enumerate(ranks.tolist(), 1))
    inverse = math.fsum(1 / (before + r) for r in ranks.tolist())
    assert found.real[:2].tolist() == pytest.approx([weighted, inverse], rel=1e-15, abs=0)
    assert found.real[:2] == pytest.approx(twin[1][:2], rel=1e-12, abs=0)
    y = np.cumsum(labels)[cutoffs - before - 1]
    assert np.array_equal(found.cut[:, 1] + found.cut[:, 3], y)


def hull_of(ranks):
    """Corners of the upper hull of (rank, positives) from (0, 0) on, one point after another."""
    corners = [[0, 0]]
    for y, r in enumerate(ranks, 1):
        while len(corners) > 1:
            (x0, y0), (x1, y1) = corners[-2:]
            if (y1 - y0) * (r - x1) > (y - y1) * (x1 - x0):
                break
            corners.pop()
        corners.append([r, y])
    return corners[1:]


@QUICK
@given(seed=st.integers(0, 2**32), n=st.sampled_from([1, 64, 255, 257, 3_000]), share=st.sampled_from([0.0, 0.2, 1.0]))
def test_the_first_ranks_are_summed_one_after_another(seed, n, share):
    """To the last bit, and the hull in plain Python is the compiled one."""
    labels = (np.random.default_rng(seed).random(n) < share).astype(np.uint8)
    weighted, inverse = 0.0, 0.0
    for found, rank in enumerate((np.flatnonzero(labels) + 1).tolist(), 1):
        weighted, inverse = weighted + found * (1.0 / (17 + rank)), inverse + 1.0 / (17 + rank)
    plain = sum_labels(17, labels, NO_CUTS)
    assert plain.real[:2].tolist() == [weighted, inverse]
    words, room = pack(labels), exact.corners()
    size = hull.hull_of_labels.compiled()(words, n, hull.founds_of(words, n), room[2], room[0])
    assert room[0, :size].tolist() == plain.corner[0].tolist() == hull_of((np.flatnonzero(labels) + 1).tolist())


def test_bad_labels_and_orders_are_named():
    with pytest.raises(InputError, match=f"rank {exact.FAR_RANKS + 3:,} is 2, not 0 or 1"):
        sum_labels(exact.FAR_RANKS, np.array([1, 0, 2, 1], np.uint8), NO_CUTS)
    with pytest.raises(InputError, match="rank 23 is 7"):
        sum_labels(20, np.array([1, 0, 7], np.uint8), NO_CUTS)
    keys = np.array([4, 4, 5, 5, 5], np.uint64)
    for at in range(5):
        labels = np.zeros(5, np.uint8)
        labels[at] = 9
        if at < 3:  # the last group is still open
            with pytest.raises(InputError, match=f"rank {at + 101} is 9"):
                sum_rows(100, keys, labels, 4, NO_CUTS)
    with pytest.raises(UnorderedError) as error:
        sum_rows(100, keys[::-1].copy(), np.zeros(5, np.uint8), None, NO_CUTS)
    assert error.value.rank == 104
    with pytest.raises(UnorderedError) as error:
        sum_rows(100, keys, np.zeros(5, np.uint8), 9, NO_CUTS)
    assert error.value.rank == 101
