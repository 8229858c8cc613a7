"""Kernels as plain Python, and what numpy does in their place, come to the same bits as what is compiled or defined."""

import copy
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

from streameval.kernels import jit
from streameval.kernels.bins import segment_bins
from streameval.kernels.block_evidence import evidence, factors, least_refused
from streameval.kernels.deciding import decided_at, least_wins, log_evidence
from streameval.kernels.draw import SAMPLE_SEED, draw_strata, mix64, sample_hashes, uniforms
from streameval.kernels.exact import MOST_CORNERS, REALS, WHOLES
from streameval.kernels.group_sums import add_groups
from streameval.kernels.groups import every_group, leading_ties
from streameval.kernels.harmonic import precision_sum, run_sums
from streameval.kernels.hypergeometric import intervals
from streameval.kernels.martingale import _follow
from streameval.kernels.mixture import mixture_roots
from streameval.kernels.order import (
    LAST,
    LAST32,
    add_strings,
    add_words,
    float32_keys,
    float32_words,
    float64_bits,
    float64_keys,
    position_hashes,
)
from streameval.kernels.order import SEED as TIE_SEED
from streameval.kernels.parting import DIGIT, digits_of, gather, partition, parts_of, place_rows
from streameval.kernels.paula import bracket, window_sums
from streameval.kernels.ranking_metrics import AT_CUTOFF, WHOLE
from streameval.kernels.segments import add_up, measure, repeated
from streameval.kernels.stakes import PREDICTED, TOTAL
from streameval.kernels.tied_items import discounts
from streameval.kernels.untied import MOST, measure_untied
from streameval.kernels.window_band import upper_bounds
from streameval.kernels.words import part_words, unpack_words

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
    judged = rng.choice([0.5, 1.0], n) if phases else np.ones(n)
    counts = np.stack([items, drawn, most, np.floor(most / 2) if missing else most])
    return np.stack([width, rate, judged, np.zeros(n)]), counts, state, (table, threshold)


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


def narrow(rng):
    return jit.read_only(scores(rng).astype(np.float32).view(np.uint32))


def strings(rng):
    offsets = np.append(0, np.cumsum(rng.integers(0, 20, 99)))
    data = rng.integers(0, 256, offsets[-1]).astype(np.uint8)
    return words(rng), jit.read_only(offsets), jit.read_only(data), rng.random(99) < 0.9


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
    recalls = np.array([[0.0, 1.0, 0.9], [1.0, 3.0, 2.0], [0.7, 1.0, 0.9], [1.0, 1.0, 0.0]])[rng.random(4) < 0.5]
    persistences = np.array([0.5, 0.95])[rng.random(2) < 0.5]
    tables = np.concatenate([[0.0], 2.0 ** np.arange(1, 128) - 1]), discounts(50), recalls, persistences
    out = np.zeros((12, WHOLE + AT_CUTOFF * cuts.size + len(recalls) + persistences.size + 1, 3))
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
    sums = tuple(np.zeros((m, sides, 2), np.int64) for sides in (3, 3, 1))
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
    rows = words(rng), jit.read_only(rng.integers(0, 2, 99).astype(np.uint8)), bins
    return rows, part, np.uint64(shift), edges, np.empty(99, kind), np.empty((3, 12), np.uint64)


def segments(rng):
    low, shift = np.uint64(rng.integers(0, 1 << 62)), np.uint64(rng.integers(50, 61))
    high, inner = np.uint64(1 << 63), rng.integers(30, 50, 1 << 13).astype(np.uint64)
    bounds, first = np.array([low, high, shift]), np.sort(rng.integers(1, 1 << 20, (1 << 13) + 1))
    return bounds, first, inner, np.empty(99, np.uint32)


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
    (precision_sum, lambda rng: (float(rng.integers(1, 99)), float(rng.integers(1, 999)), float(rng.integers(0, 99)))),
    *[(_follow, lambda rng, how=how: martingale(rng, *how)) for how in itertools.product((False, True), repeat=2)],
    (intervals, found),
    (mixture_roots, lambda rng: (np.geomspace(2, 2000, 16), rng.normal(0, 9, (20, 16)), rng.uniform(3, 9, 20))),
    (upper_bounds, lambda rng: (rng.integers(0, 99, 30), rng.integers(0, 20, 30),
                                rng.random((2, 30)), 20, np.geomspace(1e-3, 2, 9), 0.03)),
    (log_evidence, lambda rng: (*tables(rng), rng.integers(0, 50, 20), rng.integers(0, 50, 20))),
    (least_wins, lambda rng: (*tables(rng), 3.0, 60)),
    (decided_at, lambda rng: (np.arange(40) // 2 + 4, np.arange(40) // 3 - 3, 0, 0, (0.5, 1.0, 1.0))),
    (factors, blocks),
    (evidence, lambda rng: (factors(*blocks(rng)), int(rng.integers(1, 200)))),
    (least_refused, lambda rng: (factors(*blocks(rng)), 3.0)),
    (draw_strata, lambda rng: (np.array([10, 500, 10**12]), np.array([10, 60, 90]), SEED)),
    (float64_keys, lambda rng: (jit.read_only(scores(rng).view(np.uint64)), flip(rng), np.empty(99, np.uint64))),
    (float32_keys, lambda rng: (narrow(rng), flip(rng), np.empty(99, np.uint64))),
    (float32_words, lambda rng: (narrow(rng), np.uint32(flip(rng) & LAST32), np.empty(99, np.uint32))),
    (add_words, lambda rng: (words(rng), words(rng))),
    (add_strings, strings),
    (partition, lambda rng: (rng.integers(0, 8, 99).astype(np.int32), np.empty(99, np.int64), np.zeros(9, np.int64))),
    (parts_of, lambda rng: (words(rng), SEED, 3, 3, np.empty(99, np.int32))),
    *[(gather, lambda rng, how=how: named(rng, *how)) for how in
      ((np.uint64, 9, 0), (np.uint32, 9, 0), (np.uint64, 1 << 60, 0), (np.uint64, 9, 3), (np.uint32, 1, 1))],
    (place_rows, lambda rng: (rng.integers(0, 7, 99).astype(np.int32), rng.integers(126, 130, 99).astype(np.uint8),
                              np.zeros(8, np.int64), np.zeros(8, np.int64))),
    *[(part_words, lambda rng, how=how: parted(rng, *how))
      for how in ((np.uint32, 32), (np.uint64, 0), (np.uint64, 3))],
    (segment_bins, lambda rng: (words(rng), *segments(rng))),
    *[(add_groups, lambda rng, most=most: groups(rng, most)) for most in (2, 20, 3000)],
    (every_group, lambda rng: (groups(rng, 9)[0], (0, 2000), np.zeros(2500, np.int64), np.zeros(2500, np.int64))),
    (repeated, lambda rng: (words(rng) & np.uint64(63), np.array([0, 20, 20, 99]))),
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
    one, other = (given_by(np.random.default_rng(seed)) for _ in range(2))  # a copy could be written to
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit._thread, "plain", True)
        plain = kernel(*one)
    compiled = kernel.compiled()(*other)
    for mine, theirs in zip(arrays((one, plain)), arrays((other, compiled)), strict=True):
        assert mine.tobytes() == theirs.astype(mine.dtype).tobytes()


def naive_window_sums(values, last, window):
    return [sum(values[max(0, end - window + 1) : end + 1]) for end in last]


def naive_bracket(head, gaps, sums, window, shift):
    return list(itertools.accumulate((g * sums[k + shift] for k, g in enumerate(gaps)), initial=head * window))


def naive_run_sums(positives, negatives):
    each = (precision_sum.plain()(a + 1.0, b, n) for a, b, n in zip(positives, positives[1:], negatives, strict=False))
    return list(itertools.accumulate(each, initial=0.0))


def naive_hash(value, *words):
    for word in words:
        value = mix64.plain()(value ^ word)
    return value


def naive_leading_ties(repeats, rows):
    bits = np.unpackbits(repeats.view(np.uint8), bitorder="little")[:rows]
    return next((i for i in range(rows) if not bits[i]), rows)


def naive_digits(low, salts):
    def digit(name, salt):
        bits = int(name ^ mix64.plain()(name >> np.uint64(DIGIT) ^ salt)) % 2**DIGIT
        return int(f"{bits:0{DIGIT}b}"[::-1], 2)

    return [sum(digit(name, salt) << DIGIT * i for i, salt in enumerate(salts[::-1])) for name in low]


def naive_words(words, top, shift):
    return [(int(word) >> 1 << int(shift)) % 2**64 | int(top) for word in words], [int(word) & 1 for word in words]


def unpacked(words, top, shift):
    keys, labels = np.empty(words.size, np.uint64), np.empty(words.size, np.uint8)
    unpack_words(words, top, shift, keys, labels)
    return keys, labels


IN_NUMPY = [
    (window_sums, naive_window_sums, lambda rng: (rng.integers(0, 2, 500), np.sort(rng.integers(0, 500, 40)), 20)),
    (bracket, naive_bracket, lambda rng: (17, rng.integers(1, 10**9, 40), rng.integers(0, 20, 41), 20, 1)),
    (bracket, naive_bracket, lambda rng: (17, rng.integers(1, 10**9, 40), rng.integers(0, 20, 41), 20, 0)),
    (run_sums, naive_run_sums, lambda rng: runs(rng)[:2]),
    (uniforms, lambda rank, stream: [int(mix64.plain()(stream + np.uint64(r) * np.uint64(0x9E3779B97F4A7C15))) // 2**11
                                     * 2.0**-53 for r in rank],
     lambda rng: (np.sort(rng.integers(1, 10**12, 99)), SEED)),
    (sample_hashes, lambda keys, seed: [naive_hash(key, naive_hash(SAMPLE_SEED, seed)) for key in keys],
     lambda rng: (words(rng), SEED)),
    (position_hashes, lambda positions: [naive_hash(TIE_SEED, np.uint64(at)) for at in positions],
     lambda rng: (rng.integers(0, 2**40, 99),)),
    (leading_ties, naive_leading_ties,
     lambda rng: (words(rng, 2) | LAST >> np.uint64(rng.integers(0, 64)), int(rng.integers(0, 129)))),
    (digits_of, naive_digits, lambda rng: (words(rng), words(rng)[:3])),
    (float64_bits, lambda keys, flip: [k ^ np.uint64(1 << 63) if k >> np.uint64(63) else ~k for k in keys ^ flip],
     lambda rng: (words(rng), flip(rng))),
    (discounts, lambda count: [1 / math.log2(rank + 1) for rank in range(1, count + 1)],
     lambda rng: (int(rng.integers(0, 99)),)),
    (unpacked, naive_words, lambda rng: (words(rng).astype(rng.choice([np.uint32, np.uint64])), np.uint64(1 << 63),
                                         np.uint64(rng.integers(0, 9)))),
]  # fmt: skip


@pytest.mark.parametrize(("function", "naive", "given_by"), IN_NUMPY)
@settings(max_examples=examples(3, 10), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_is_done_in_numpy_is_what_its_definition_says(function, naive, given_by, seed):
    given = given_by(np.random.default_rng(seed))
    with np.errstate(all="ignore"):
        mine, theirs = function(*given), naive(*given)
    for one, other in zip(arrays(mine), arrays(theirs), strict=True):
        assert one.tobytes() == other.astype(one.dtype).tobytes()
