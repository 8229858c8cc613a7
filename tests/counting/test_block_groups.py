"""The groups of a block: as bits, as numbers and as arrays they are the same, and so are look-ups in them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

from streameval.counting.block_groups import TiedRows, UntiedRows
from streameval.counting.labelled_rows import pack
from streameval.kernels import exact, group_sums, groups


@pytest.mark.parametrize("first", [0, 1, 64, 77])
@pytest.mark.parametrize("size", [1, 50, 51, 64, 700])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_untied_items_as_bits_and_as_arrays(first, size, share):
    labels = (np.random.default_rng(size + first).random(first + size + 9) < share).astype(np.uint8)
    mine = labels[first : first + size]
    bits = UntiedRows(pack(labels), first, size)
    arrays = TiedRows(np.arange(size + 1), np.append(0, np.cumsum(mine, dtype=np.int64)))
    assert bits.size == arrays.size
    assert [bits.of_item(i) for i in range(size + 1)] == [arrays.of_item(i) for i in range(size + 1)]
    js = range(int(mine.sum()) + 1)
    assert [bits.of_positive(j) for j in js] == [arrays.of_positive(j) for j in js]
    assert np.array_equal(bits.before(np.arange(size + 1)), arrays.before(np.arange(size + 1)))
    for a, b in [(0, size), (0, 0), (size, size), (size // 3, size // 2), (size // 2, size)]:
        assert np.array_equal(bits.between(a, b), arrays.between(a, b))
    assert np.array_equal(bits.with_positives(), arrays.with_positives())


def test_groups_with_positives_leave_out_the_others():
    groups_of = TiedRows(np.array([0, 2, 3, 7]), np.array([0, 1, 1, 4]))
    assert [one.tolist() for one in groups_of.with_positives()] == [[0, 3], [2, 7], [1, 3]]


@settings(max_examples=examples(10, 60), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.sampled_from([1, 64, 257, 3_000]),
    share=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
    begin=st.sampled_from([0, 1, 63, 100]),
    kind=st.sampled_from([np.uint8, np.uint16, np.uint32, np.int64]),
)
def test_groups_are_read_alike_from_bits_and_from_numbers(seed, n, share, begin, kind):
    """Against a naive twin; and their sums are the same to the last bit, however they are stored."""
    rng = np.random.default_rng(seed)
    fresh, labels = rng.random(begin + n) < share, (rng.random(begin + n) < 0.4).astype(np.uint8)
    fresh[begin] = True
    starts = np.append(np.flatnonzero(fresh[begin:]), n)
    founds = np.array([int(labels[begin : begin + start].sum()) for start in starts])
    bits = groups.of_bits(pack(labels), pack((~fresh).astype(np.uint8)))
    kind = np.promote_types(kind, np.min_scalar_type(int(np.diff(starts).max())))
    numbers = groups.of_numbers(np.diff(np.stack([starts, founds])).astype(kind))
    read = (bits, (begin, begin + n)), (numbers, (0, starts.size - 1))
    last = begin + int(starts[-2])
    assert groups.last_group(bits[1], begin + n) == last
    ranks, sums = np.unique(rng.integers(1, n + 1, 5)), []
    for source, rows in read:
        found = TiedRows.from_rows(source, rows, n)
        assert (found.starts.tolist(), found.founds.tolist()) == (starts.tolist(), founds.tolist())
        whole, real, corner = np.zeros(exact.WHOLES, np.int64), np.zeros(exact.REALS), exact.corners()
        cut = np.empty((ranks.size, 4), np.int64)
        group_sums.add_groups(source, rows, 10**6, ranks, whole, real, corner, cut)
        hulls = [corner[side, : whole[exact.EARLY + side]].tolist() for side in range(2)]
        sums.append((whole.tolist(), real.tolist(), hulls, cut.tolist()))
        at = np.searchsorted(starts, ranks) - 1
        assert cut[:, :2].tolist() == np.stack([starts[at], founds[at]], axis=1).tolist()
        assert cut[:, 2:].tolist() == np.stack([np.diff(starts)[at], np.diff(founds)[at]], axis=1).tolist()
    assert sums[0] == sums[1]
    sizes = zip(np.diff(starts).tolist(), np.diff(founds).tolist(), strict=True)
    tied = [(s, f, n, p) for s, f, (n, p) in zip(starts[:-1], founds[:-1], sizes, strict=True) if n > 1 and p]
    each = [group_sums.group_sums.plain()(1e6 + s, float(f), float(n), float(p)) for s, f, n, p in tied]
    expected = [0.0] * 6
    for group in each:  # one after another
        expected = [a + b for a, b in zip(expected, group, strict=True)]
    assert sums[0][1][2:8] == expected
