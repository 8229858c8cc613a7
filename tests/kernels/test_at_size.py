"""What small studies run as plain Python comes to the same, to the last bit, as what is compiled."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

from streameval.kernels import jit, system_math
from streameval.kernels.bins import segment_bins
from streameval.kernels.block_evidence import evidence, factors, least_refused
from streameval.kernels.deciding import decided_at, least_wins, log_evidence
from streameval.kernels.discounts import discounts
from streameval.kernels.draw import draw_strata, mix64, uniforms
from streameval.kernels.exact import MOST_CORNERS, REALS, WHOLES
from streameval.kernels.few_blocks import follow
from streameval.kernels.group_sums import add_groups
from streameval.kernels.groups import every_group, leading_ties
from streameval.kernels.harmonic import _add_runs, precision_sum
from streameval.kernels.hypergeometric import intervals
from streameval.kernels.martingale import _follow
from streameval.kernels.mixture import mixture_roots
from streameval.kernels.order_keys import (
    LAST,
    LAST32,
    float32_keys,
    float32_words,
    float64_bits,
    float64_keys,
    int64_keys,
)
from streameval.kernels.parting import BACKWARDS, digits_of, gather, parts_of, place_rows, put, renumber
from streameval.kernels.paula import bracket, window_sums
from streameval.kernels.ranking_metrics import AT_CUTOFF, WHOLE
from streameval.kernels.segments import add_up, measure, repeated
from streameval.kernels.stakes import PREDICTED, STAKE, TOTAL
from streameval.kernels.tie_hash import add_strings, add_words
from streameval.kernels.untied import MOST, measure_untied
from streameval.kernels.window_band import upper_bounds
from streameval.kernels.words import part_words, sort_words, unpack_words

SEED = np.uint64(7)


def runs(rng):
    counts = rng.integers(0, 60, 200).astype(float)
    return np.append(0, np.cumsum(counts)), np.cumsum(rng.integers(0, 9, 200)).astype(float), np.zeros(201)


def martingale(rng, missing, phases, n=40, rows=2, threshold=5.3):
    classes, mu = 2, np.geomspace(0.01, 3, 7)
    width = rng.integers(1, 50, n).astype(float)
    rate = np.where(rng.random(n) < 0.2, 1.0, rng.uniform(0.01, 0.9, n))
    items = rng.integers(0, 30, (n, classes)).astype(float)
    drawn = np.floor(items * rng.random((n, classes)))
    most = np.floor(drawn * rng.random((n, classes)))
    state, table = np.zeros((PREDICTED + 1, classes)), np.zeros((TOTAL + rows, mu.size))
    state[PREDICTED], table[0] = (0.4, 0.7), mu
    counts, fewest = np.stack([items, drawn, most]), np.floor(most / 2) if missing else None
    judged = rng.choice([0.5, 1.0], n) if phases else None
    return np.stack([width, rate, np.zeros(n)]), judged, counts, fewest, state, (table, threshold)


def found(rng):
    items = rng.integers(1, 10**6, 20)
    drawn = np.minimum(items, rng.integers(0, 300, 20))
    low = (drawn * rng.random(20)).astype(np.int64)
    return low, np.minimum(drawn, low + 3), drawn, items, 0.05


def tables(rng):
    won = np.log(rng.random((8, 1))) + np.append(np.zeros((8, 1)), rng.random((8, 60)).cumsum(axis=1), axis=1)
    return won, np.append(np.zeros((8, 1)), -rng.random((8, 60)).cumsum(axis=1), axis=1), 40


def blocks(rng):
    n, size, m = 30, 4, 6
    draws = rng.integers(0, size, n), rng.integers(0, 2, n), np.sort(rng.integers(0, 2, n))
    rates, share, eta = rng.random((2, size)), rng.random((2, size)), rng.random((2, m)) / 100
    return draws, (rng.integers(1, 9, size), rng.integers(n, 99, size), rates, share, eta)


def words(rng, n=99):
    return rng.integers(0, 1 << 63, n).astype(np.uint64) << np.uint64(1) | np.uint64(rng.integers(2))


def flip(rng):
    return LAST if rng.integers(2) else np.uint64(0)


def scores(rng):
    return rng.choice([-0.0, 0.0, -1.5, 2.5, np.nan, -np.nan, np.inf, -np.inf, *rng.normal(0, 1, 3)], 99)


def strings(rng):
    offsets = np.append(0, np.cumsum(rng.integers(0, 20, 99)))
    return words(rng), offsets, rng.integers(0, 256, offsets[-1]).astype(np.uint8), rng.random(99) < 0.9


def named(rng, kind, most, high):
    low = rng.integers(0, most, 200).astype(kind)
    first = np.full(200, -1, np.int32)
    return low, rng.integers(0, max(1, high), 200 if high else 0).astype(np.uint64), 0, np.empty(200, np.int32), first


def rankings(rng, kind, most, grades):
    sizes = rng.choice([0, 1, 7, 90, 300], 12)
    starts, never = np.append(0, np.cumsum(sizes)), np.sort(rng.integers(0, 20, 13)) * rng.integers(0, 2)
    never -= never[0]
    labels = np.where(rng.random(starts[-1]) < rng.choice([0.02, 0.5]), rng.integers(1, grades, starts[-1]), 0)
    cuts = np.array([1, 5, 100])
    tables = np.concatenate([[0.0], 2.0 ** np.arange(1, 128) - 1]), discounts.py_func(50)
    out = np.zeros((12, WHOLE + AT_CUTOFF * cuts.size + 1, 3))
    missed = never, rng.integers(1, grades, never[-1]).astype(np.uint8)
    keys = rng.integers(0, most, starts[-1]).astype(kind)
    if rng.random() < 0.3:
        keys[rng.integers(0, keys.size, keys.size // 20)] = np.iinfo(kind).max
    facts, which = np.zeros((12, 3), np.int64), np.arange(12)
    return keys, labels.astype(np.uint8), starts, missed, cuts, tables, facts, out, which


def untied(rng, *how):
    return *rankings(rng, *how)[:-1], np.zeros(12, np.int64)


@pytest.mark.parametrize(("kind", "most", "grades"), [(np.uint32, 1 << 31, 2), (np.uint64, 1 << 40, 2),
                                                      (np.uint32, 1000, 5), (np.uint64, 1 << 40, 5)])  # fmt: skip
@settings(max_examples=examples(20, 100), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_rankings_without_ties_are_measured_as_all_are(kind, most, grades, seed):
    """To the bit; those with ties, or too many positives, are left, and nothing is put down of them."""
    given_all = rankings(np.random.default_rng(seed), kind, most, grades)
    keys, labels, starts, (missed, _) = copy.deepcopy(given_all[:4])
    rest, left = copy.deepcopy(given_all[:-1]), np.zeros(12, np.int64)
    rest[-1].fill(-5)
    others = measure_untied.compiled()(*rest, left)
    measure.compiled()(*given_all)
    for r in range(12):
        own, at = keys[starts[r] : starts[r + 1]], np.flatnonzero(labels[starts[r] : starts[r + 1]])
        tied = any((own == key).sum() > 1 or key == np.iinfo(kind).max for key in own[at])
        assert (r in left[:others]) == (tied or at.size + missed[r + 1] - missed[r] > MOST)
        if r in left[:others]:
            assert (rest[-1][r] == -5).all()
            assert not rest[-2][r].any()
        else:
            assert rest[-1][r].tobytes() == given_all[-2][r].tobytes()
            assert np.array_equal(rest[-2][r], given_all[-3][r])


def measured(rng):
    given = rankings(rng, np.uint64, 9, 2)
    measure.compiled()(*given)
    facts, values = given[-3:-1]
    m = values.shape[1] - 1
    sums = np.zeros((m, 3, 2), np.int64), np.zeros((m, 3, 2), np.int64)
    return (
        facts,
        values,
        sums,
        (np.zeros((20, 2), np.int64), np.zeros((20, m, 2), np.int64)),
        np.zeros((m, 10), np.int64),
    )


def parted(rng, kind, shift):
    bins, edges = rng.integers(0, 9, 99).astype(np.uint32), np.zeros(13, np.int64)
    part = np.sort(rng.integers(0, 6, 9)).astype(np.uint32)
    rows = words(rng), rng.integers(0, 2, 99).astype(np.uint8), bins
    return rows, part, np.uint64(shift), edges, np.empty(99, kind), np.empty((3, 12), np.uint64)


def segments(rng):
    low, shift = np.uint64(rng.integers(0, 1 << 62)), np.uint64(rng.integers(50, 61))
    high, inner = np.uint64(1 << 63), rng.integers(30, 50, 1 << 13).astype(np.uint64)
    bounds, first = np.array([low, high, shift]), np.sort(rng.integers(1, 1 << 20, (1 << 13) + 1))
    return bounds, first, inner, np.empty(99, np.uint32)


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
def test_words_are_sorted_in_numpy_as_by_the_kernel(kind):
    given = words(np.random.default_rng(3), 5000).astype(kind) & kind(0x3FF)
    sorts = sort_words._plain, sort_words.compiled()
    found = []
    for sort in sorts:
        one, spare = given.copy(), np.empty_like(given)
        found.append(spare if sort(one, spare) else one)
    assert np.array_equal(*found)


def groups(rng, most):
    n = 2000
    repeats, labels = rng.integers(0, most, n) > 0, rng.random(n) < rng.random(n)
    repeats[0] = False
    padded = [np.append(one, np.zeros(2112 - n, bool)) for one in (labels, repeats)]
    bits = [np.packbits(one, bitorder="little").view(np.uint64) for one in padded]
    source = *bits, np.empty((2, 0), np.uint8), 0
    room = np.zeros(WHOLES, np.int64), np.zeros(REALS), np.zeros((3, MOST_CORNERS, 2), np.int64)
    return source, (0, n), int(rng.choice([0, 10**9])), np.array([1, 500, n]), *room, np.zeros((3, 4), np.int64)


CASES = [
    (_add_runs, runs),
    (precision_sum, lambda rng: (float(rng.integers(1, 99)), float(rng.integers(1, 999)), float(rng.integers(0, 99)))),
    *[(_follow, lambda rng, how=how: martingale(rng, *how)) for how in ((True, False), (True, True))],
    (intervals, found),
    (mixture_roots, lambda rng: (np.geomspace(2, 2000, 16), rng.normal(0, 9, (20, 16)), rng.uniform(3, 9, 20))),
    (window_sums, lambda rng: (rng.integers(0, 2, 500), np.sort(rng.integers(0, 500, 40)), 20)),
    (bracket, lambda rng: (17, rng.integers(1, 10**9, 40), rng.integers(0, 20, 41), 20, 1)),
    (upper_bounds, lambda rng: (rng.integers(0, 99, 30), rng.integers(0, 20, 30),
                                np.asfortranarray(rng.random((2, 30))), 20, np.geomspace(1e-3, 2, 9), 0.03)),
    (log_evidence, lambda rng: (*tables(rng), rng.integers(0, 50, 20), rng.integers(0, 50, 20))),
    (least_wins, lambda rng: (*tables(rng), 3.0, 60)),
    (decided_at, lambda rng: (np.arange(40) // 2 + 4, np.arange(40) // 3 - 3, 0, 0, (0.5, 1.0, 1.0))),
    (factors, blocks),
    (evidence, lambda rng: (factors(*blocks(rng)), int(rng.integers(1, 200)))),
    (least_refused, lambda rng: (factors(*blocks(rng)), 3.0)),
    (draw_strata, lambda rng: (np.array([10, 500, 10**12]), np.array([10, 60, 90]), SEED)),
    (uniforms, lambda rng: (np.sort(rng.integers(1, 10**12, 99)), SEED)),
    (mix64, lambda rng: (SEED,)),
    (float64_keys, lambda rng: (scores(rng).view(np.uint64), flip(rng), np.empty(99, np.uint64))),
    (float32_keys, lambda rng: (scores(rng).astype(np.float32).view(np.uint32), flip(rng), np.empty(99, np.uint64))),
    (float32_words, lambda rng: (scores(rng).astype(np.float32).view(np.uint32), np.uint32(flip(rng) & LAST32),
                                 np.empty(99, np.uint32))),
    (int64_keys, lambda rng: (words(rng), np.uint64(1 << 63), flip(rng), np.empty(99, np.uint64))),
    (float64_bits, lambda rng: (words(rng), flip(rng))),
    (leading_ties, lambda rng: (words(rng, 2) | LAST >> np.uint64(rng.integers(0, 64)), int(rng.integers(0, 129)))),
    (add_words, lambda rng: (words(rng), words(rng))),
    (add_strings, strings),
    (digits_of, lambda rng: (words(rng), words(rng)[:3], BACKWARDS, np.empty(99, np.uint64))),
    (renumber, lambda rng: (rng.integers(0, 40, 99).astype(np.int32), rng.permutation(40))),
    (parts_of, lambda rng: (words(rng), SEED, 3, np.empty(99, np.int32), np.zeros(9, np.int64))),
    (put, lambda rng: (words(rng), rng.permutation(99).astype(np.int32), np.zeros(99, np.uint32))),
    *[(gather, lambda rng, how=how: named(rng, *how)) for how in
      ((np.uint64, 9, 0), (np.uint32, 9, 0), (np.uint64, 1 << 60, 0), (np.uint64, 9, 3), (np.uint32, 1, 1))],
    (place_rows, lambda rng: (rng.integers(0, 7, 99).astype(np.int32), rng.integers(126, 130, 99).astype(np.uint8),
                              np.zeros(8, np.int64), np.zeros(8, np.int64))),
    *[(part_words, lambda rng, how=how: parted(rng, *how))
      for how in ((np.uint32, 32), (np.uint64, 0), (np.uint64, 3))],
    *[(unpack_words, lambda rng, kind=kind: (words(rng).astype(kind), np.uint64(1 << 63), np.uint64(rng.integers(0, 9)),
                                             np.empty(99, np.uint64), np.empty(99, np.uint8)))
      for kind in (np.uint32, np.uint64)],
    (segment_bins, lambda rng: (words(rng), *segments(rng))),
    *[(add_groups, lambda rng, most=most: groups(rng, most)) for most in (2, 20, 3000)],
    (every_group, lambda rng: (groups(rng, 9)[0], (0, 2000), np.zeros(2500, np.int64), np.zeros(2500, np.int64))),
    (repeated, lambda rng: (words(rng) & np.uint64(63), np.array([0, 20, 20, 99]))),
    (discounts, lambda rng: (int(rng.integers(0, 99)),)),
    *[(measure, lambda rng, how=how: rankings(rng, *how)) for how in
      ((np.uint32, 9, 2), (np.uint64, 1 << 40, 2), (np.uint64, 9, 2), (np.uint64, 50, 5))],
    *[(measure_untied, lambda rng, how=how: untied(rng, *how)) for how in
      ((np.uint32, 1 << 32, 2), (np.uint64, 1 << 60, 2), (np.uint32, 99, 2), (np.uint64, 1 << 60, 5))],
    (add_up, measured),
]  # fmt: skip


def arrays(value):
    if isinstance(value, tuple):
        return [one for part in value for one in arrays(part)]
    return [np.asarray(value)]


@pytest.mark.parametrize(("kernel", "given_by"), CASES)
@settings(max_examples=examples(3, 10), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_plain_python_comes_to_the_same_bits(kernel, given_by, seed):
    one = given_by(np.random.default_rng(seed))
    other = copy.deepcopy(one)
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit._thread, "interprets", True)
        plain = kernel(*one)
    compiled = kernel.compiled()(*other)
    for mine, theirs in zip(arrays((one, plain)), arrays((other, compiled)), strict=True):
        assert mine.tobytes() == theirs.astype(mine.dtype).tobytes()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), blocks=st.sampled_from([1, 40, 1500]), rows=st.sampled_from([1, 2, 1500]),
       threshold=st.sampled_from([math.log(200), 40.0, math.inf]))  # fmt: skip
def test_few_blocks_are_followed_in_numpy_to_the_same_bits(seed, blocks, rows, threshold):
    one = martingale(np.random.default_rng(seed), missing=False, phases=False, n=blocks, rows=rows, threshold=threshold)
    other = copy.deepcopy(one)
    with np.errstate(all="ignore"):
        follow(one[0], one[2], *one[4:])
    _follow.compiled()(*other)
    for arguments in one, other:
        arguments[-1][0][STAKE:TOTAL] = 0  # room
    for mine, theirs in zip(arrays(one), arrays(other), strict=True):
        assert mine.tobytes() == theirs.tobytes()


@given(st.lists(st.floats(), min_size=1), st.sampled_from(["exp", "expm1", "log", "log1p"]))
def test_exponentials_and_logarithms_of_arrays_are_those_of_the_system(values, name):
    def alone(value):
        try:
            return getattr(math, name)(value)
        except OverflowError:
            return math.inf
        except ValueError:  # which Python refuses
            return -math.inf if value == (name == "log1p") * -1 else math.nan

    mine = getattr(system_math, name)(np.array([values, values]))
    assert np.array_equal(mine, [list(map(alone, values))] * 2, equal_nan=True)


def test_few_steps_are_taken_as_plain_python_and_many_are_not(monkeypatch):
    monkeypatch.setattr(jit, "_spent", jit.defaultdict(float))
    how = []
    kernel = jit.Kernel(lambda: how.append("plain"))
    monkeypatch.setattr(kernel, "_compiled", lambda: how.append("compiled"))
    kernel.at_size(1)()
    kernel.at_size(10**9)()
    assert how == ["plain", "compiled"]


def test_no_block_of_a_long_list_is_done_in_numpy(monkeypatch):
    monkeypatch.setattr(jit, "_spent", jit.defaultdict(float))
    monkeypatch.setattr(jit, "_rows", [0])
    how = []
    kernel = jit.Kernel(lambda: how.append("plain"))
    monkeypatch.setattr(kernel, "_compiled", lambda: how.append("compiled"))
    for rows in 10**6, 10**8, 10**6:
        jit.expect(rows)
        kernel.for_rows(1)()
    assert how == ["plain", "compiled", "plain"]


@pytest.mark.parametrize(("ready", "rows", "ran"), [
    (False, 5 * 10**6, "numpy"), (False, 10**8, "compiled"), (True, 5 * 10**6, "compiled"), (True, 10**6, "numpy"),
])  # fmt: skip
def test_a_kernel_is_compiled_where_that_takes_less_than_the_whole_list(monkeypatch, ready, rows, ran):
    monkeypatch.setattr(jit, "_spent", jit.defaultdict(float))
    monkeypatch.setattr(jit, "_rows", [rows])
    monkeypatch.setattr(jit, "_found", [False])
    monkeypatch.setattr(jit.Kernel, "ready", ready)
    how = []
    kernel = jit.Kernel(lambda: None)
    kernel.in_numpy(32)(lambda: how.append("numpy"))
    monkeypatch.setattr(kernel, "_compiled", lambda: how.append("compiled"))
    kernel.for_rows(10**5)()
    assert how == [ran]


@pytest.mark.parametrize(("steps", "ran"), [(900, "plain"), (1100, "compiled")])
def test_few_steps_among_many_rows_are_plain_python_whatever_was_done_before(monkeypatch, steps, ran):
    monkeypatch.setattr(jit, "_spent", jit.defaultdict(float, another=99.0))
    monkeypatch.setattr(jit.Kernel, "ready", True)
    how = []
    kernel = jit.Kernel(lambda: how.append("plain"))
    monkeypatch.setattr(kernel, "_compiled", lambda: how.append("compiled"))
    kernel.at_size(steps, 1 << 20)()
    assert how == [ran]


def test_what_plain_python_refuses_is_compiled(monkeypatch):
    kernel = jit.Kernel(lambda x: math.log(x))
    monkeypatch.setattr(kernel, "_compiled", lambda x: -math.inf)
    assert kernel.at_size(1)(0.0) == -math.inf


def test_plain_python_may_take_longer_the_more_there_is_to_compile(monkeypatch):
    monkeypatch.setattr(jit.Kernel, "ready", False)
    assert _follow.size > 3 * _add_runs.size > _add_runs.size > precision_sum.size
    assert jit._limit(_follow) > jit._limit(_add_runs) > 0
