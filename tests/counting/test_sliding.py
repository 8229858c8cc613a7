"""A.1 and A.2 of the paper over a whole list: by their definitions, over all pairs of ranks, and in one pass."""

import math
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

from streameval.errors import InputError
from streameval.kernels.sliding import EARLIER_YIELD, LATER_YIELD, LOW, LOW_RANK, LOW_WINDOW, LOW_YIELD, RANK, slide
from streameval.methods.checks.sliding import Sliding, smallest_window
from streameval.methods.grid import geometric_grid


def naive(v, window, epsilon):
    """Definitions 2 and 3 as they stand, of labels, in exact fractions."""
    head = math.ceil((window + 2) / epsilon)
    m = geometric_grid(1, epsilon, head).m
    y = [0, *np.cumsum(v, dtype=np.int64).tolist()]

    def p(r):
        return Fraction(y[r], r)

    def p_window(r):
        return Fraction(y[r] - y[r - window], window)

    first1, first2, ranks1, ranks2, rise1, rise2 = 0, 0, 0, 0, Fraction(0), Fraction(0)
    for r2 in range(head + m, len(v) + 1):
        earlier = range(head, r2 - m + 1)
        over1 = p(r2) - min(p(r1) for r1 in earlier)
        over2 = p_window(r2) - min(p_window(r1) for r1 in earlier)
        broken = any(not p_window(r1) >= Fraction(y[r2] - y[r1], r2 - r1) >= p_window(r2) for r1 in earlier)
        ranks1, ranks2 = ranks1 + (over1 > 0), ranks2 + (over2 > 0)
        first1 = first1 or (r2 if over1 > 0 else 0)
        first2 = first2 or (r2 if broken else 0)
        rise1, rise2 = max(rise1, over1), max(rise2, over2)
    return (first1, ranks1, rise1), (first2, ranks2, rise2)


def falling(n, rng):
    """Lists of which the assumptions are true, or nearly: periodic labels, ever thinner, or all alike."""
    kind = rng.integers(0, 5)
    if kind == 0:
        return np.full(n, rng.integers(0, 2), dtype=np.uint8)
    if kind == 1:
        return (np.arange(n) < rng.integers(0, n + 1)).astype(np.uint8)
    if kind == 2:
        return (np.arange(n) % rng.integers(1, 5) == 0).astype(np.uint8)
    if kind == 3:
        edge = rng.integers(0, n + 1)
        return np.where(np.arange(n) < edge, np.arange(n) % 2 == 0, np.arange(n) % 4 == 0).astype(np.uint8)
    return (rng.random(n) < np.linspace(1, rng.random(), n)).astype(np.uint8)


@settings(max_examples=examples(25, 150), deadline=None)
@given(
    n=st.integers(1, examples(45, 70)),
    seed=st.integers(0, 2**32),
    window=st.integers(1, 6),
    epsilon=st.sampled_from(["1", "0.5", "0.75", "0.3"]),
)
def test_one_pass_finds_what_the_definitions_say(n, seed, window, epsilon):
    rng = np.random.default_rng(seed)
    v = falling(n, rng)
    whole, cut = Sliding([(window, epsilon)]), Sliding([(window, epsilon)])
    whole.add(v)
    for part in np.split(v, np.sort(rng.integers(0, n + 1, 5))):
        cut.add(part)
    (found,) = whole.result()
    assert cut.result() == whole.result()
    a1, a2 = naive(v, window, Fraction(epsilon))
    assert (found.a1.first_rank, found.a1.ranks, found.a1.holds) == (a1[0], a1[1], not a1[0])
    assert (found.a2.first_rank, found.a2.ranks, found.a2.holds) == (a2[0], a2[1], not a2[0])
    assert (found.a1.largest_rise, found.a2.largest_rise) == pytest.approx((float(a1[2]), float(a2[2])), abs=1e-15)


def test_both_verdicts_come_up_in_the_property():
    """Among its lists are some of which A.2 is true, some that rise, and some that are broken without a rise."""
    seen = set()
    for seed in range(400):
        v = falling(60, np.random.default_rng(seed))
        sliding = Sliding([(3, "1")])
        sliding.add(v)
        a2 = sliding.result()[0].a2
        seen.add((a2.holds, a2.ranks > 0))
    assert seen >= {(True, False), (False, True), (False, False)}


@pytest.mark.parametrize("pieces", [1, 2, 7, 1_000])
def test_chunks_and_companions_change_nothing(pieces):
    rng = np.random.default_rng(1)
    v = (rng.random(400_000) < np.linspace(0.9, 0.1, 400_000)).astype(np.uint8)
    together = Sliding([(window, epsilon) for window in (10, 100, 1_000) for epsilon in ("0.03", "0.5")])
    for part in np.array_split(v, pieces):
        together.add(part)
    alone = []
    for window in (10, 100, 1_000):
        for epsilon in ("0.03", "0.5"):
            one = Sliding([(window, epsilon)])
            one.add(v)
            alone += one.result()
    assert together.result() == tuple(alone)


def test_quotients_that_are_equal_as_floats_are_told_apart():
    """Near rank 5·10⁹ one negative among ten ranks more is the same float, and products pass 2⁶³; the state is set."""
    r1 = 5 * 10**9
    assert (r1 - 1) / r1 == (r1 + 9) / (r1 + 10)
    for negatives in (1, 2):
        one = Sliding([(1, "1")])._slides[0]
        one.whole[[RANK, LATER_YIELD, EARLIER_YIELD]] = r1 + 9, r1 + 9 - negatives, r1 + 9 - one.shape[1] - 1
        one.whole[[LOW_YIELD, LOW_RANK, LOW_WINDOW]] = r1 - 1, r1, 1
        one.real[LOW] = (r1 - 1) / r1
        labels = np.ones(one.reach + 1, dtype=np.uint8)
        slide(labels, one.reach, one.shape, one.whole, one.real)
        assert one.result().a1.ranks == (1 if negatives == 1 else 0)
        assert (one.whole[LOW_YIELD], one.whole[LOW_RANK]) == (r1 - 1, r1)


def test_the_smallest_window_that_holds():
    """A regular list of three positives in four: windows of a multiple of four never rise, but their edges do."""
    v = np.tile([1, 1, 1, 0], 5_000).astype(np.uint8)
    v[10_000:] = 0
    sliding = Sliding([(window, "0.03") for window in (3, 4, 8, 50)])
    sliding.add(v)
    results = sliding.result()
    assert [one.window for one in results if one.a2.ranks == 0] == [4, 8]
    assert all(one.a2.largest_rise > 0 for one in results if one.window in (3, 50))
    assert smallest_window(results) is None
    constant = Sliding([(window, epsilon) for window in (50, 5) for epsilon in ("0.03", "0.1")])
    constant.add(np.ones(9_000, dtype=np.uint8))
    best = smallest_window(constant.result())
    assert (best.window, best.epsilon) == (5, 0.1)
    assert best.as_dict()["A.2"]["holds"]
    short = Sliding([(100, "0.03")])
    short.add(np.ones(500, dtype=np.uint8))
    assert short.result()[0].ranks_compared == 0
    assert smallest_window(short.result()) is None


@pytest.mark.parametrize("name", ["ppdb_human", "nyt10_reside", "skin_logreg", "clef_tar2017_amc"])
def test_real_lists_agree_with_numpy(real, name):
    """Windows of 100 rise on every one of them, as METHODS says: that is what inverts PAULA's bracket."""
    v = pq.read_table(real(name), columns=["label"]).column("label").to_numpy().astype(np.int64)
    sliding = Sliding([(100, "0.03"), (1_000, "0.03")])
    sliding.add(v.astype(np.uint8))
    for found in sliding.result():
        ranks = np.arange(found.head, v.size + 1)
        total = np.concatenate([[0], np.cumsum(v)])
        precision, windows = total[ranks] / ranks, total[ranks] - total[ranks - found.window]
        for rises, values, scale in ((found.a1, precision, 1), (found.a2, windows, found.window)):
            over = values[found.m :] - np.minimum.accumulate(values)[: -found.m]
            assert rises.ranks == np.sum(over > 0)
            assert rises.largest_rise == pytest.approx(max(0, over.max()) / scale)
        assert found.window == 1_000 or not found.a2.holds


def test_bad_input_is_named():
    with pytest.raises(InputError, match="one at least"):
        Sliding([])
    with pytest.raises(InputError, match="of one label or more"):
        Sliding([(0, "0.03")])
    with pytest.raises(InputError, match="epsilon"):
        Sliding([(10, "2")])
    sliding = Sliding([(10, "0.03")])
    sliding.add(np.zeros(70_000, dtype=np.uint8))
    with pytest.raises(InputError, match="label at rank 70,003 is 7, not 0 or 1"):
        sliding.add(np.array([0, 1, 7], dtype=np.uint8))
