"""Kernels on labels as bits, against naive twins."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

from streameval.counting.labelled_rows import pack
from streameval.kernels import bits, exact
from streameval.kernels.groups import STRETCH
from streameval.kernels.hull import found_before, founds_of

QUICK = settings(max_examples=examples(12, 60), deadline=None)
seeds = st.integers(0, 2**32)


def some(seed, n):
    rng = np.random.default_rng(seed)
    return (rng.random(n) < rng.choice([0.0, 0.03, 0.5, 1.0])).astype(np.uint8)


@QUICK
@given(seeds, st.integers(1, 300), st.integers(0, 130), st.integers(0, 130))
def test_bits_are_copied_and_counted(seed, n, first, at):
    flags = some(seed, n + first)
    out = np.zeros((n + at) // 64 + 2, np.uint64)
    bits.copy_bits(pack(flags), first, n, out, at)
    expected = np.concatenate([np.zeros(at, np.uint8), flags[first:], np.zeros(out.size * 64 - at - n, np.uint8)])
    assert np.array_equal(np.unpackbits(out.view(np.uint8), bitorder="little"), expected)
    places = np.sort(np.random.default_rng(seed).integers(0, n, 9))
    words = pack(flags)
    assert bits.counts_at(words, places, bits.counts_before(words)).tolist() == [
        int(flags[:place].sum()) for place in places
    ]
    assert bits.count_bits(pack(flags), places[0], places[-1]) == flags[places[0] : places[-1]].sum()
    founds = founds_of(words, flags.size)
    assert founds.tolist() == [int(flags[:end].sum()) for end in range(0, flags.size + STRETCH, STRETCH)]
    assert found_before(words, places, founds).tolist() == [int(flags[:place].sum()) for place in places]


@QUICK
@given(st.integers(0, 2**64 - 1))
def test_bits_of_a_word_are_turned_around(word):
    assert f"{int(bits.backwards.plain()(np.uint64(word))):064b}" == f"{word:064b}"[::-1]


@QUICK
@given(seeds, st.sampled_from([1, 2, 63, 64, 65, 100, 2_000]), st.booleans(), st.booleans())
def test_repeats_are_found_in_order(seed, n, falling, broken):
    stretch, bits._STRETCH = bits._STRETCH, 64
    try:
        _repeats_are_found(seed, n, falling, broken)
    finally:
        bits._STRETCH = stretch


def _repeats_are_found(seed, n, falling, broken):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.integers(0, max(2, n // 2), n)).astype(np.float32)
    values = -values if falling else values
    wrong = n
    if broken and n > 1:
        wrong = int(rng.integers(1, n))
        values[wrong] = values[wrong - 1] + (1 if falling else -1) if seed % 2 else np.nan
    words = np.zeros(n // 64 + 1, np.uint64)
    assert bits.repeats(values, int(falling), words) == wrong
    if wrong == n:
        found = np.unpackbits(words.view(np.uint8), count=n, bitorder="little")
        assert np.array_equal(found, np.append(False, values[1:] == values[:-1]))


@QUICK
@given(st.integers(0, 2**64 - 1))
def test_sums_over_a_word(word):
    places = [Fraction(2 * place - 63, 2) for place in range(64) if word >> place & 1]
    each = list(enumerate(places, 1))
    sums = [len(places), sum(places), sum(e * e for e in places)]
    sums += [sum(j for j, _ in each), sum(j * e for j, e in each), sum(j * e * e for j, e in each)]
    assert exact.word_sums.plain()(np.uint64(word), exact.BYTE_SUMS) == tuple(float(one) for one in sums)
