"""Look-ups in the groups of a block: untied items as bits give what the same items give as arrays."""

import numpy as np
import pytest

from streameval.counting.block_groups import TiedRows, UntiedRows
from streameval.counting.labelled_rows import packed


@pytest.mark.parametrize("first", [0, 1, 64, 77])
@pytest.mark.parametrize("size", [1, 50, 51, 64, 700])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_untied_items_as_bits_and_as_arrays(first, size, share):
    labels = (np.random.default_rng(size + first).random(first + size + 9) < share).astype(np.uint8)
    mine = labels[first : first + size]
    bits = UntiedRows(packed(labels), first, size)
    arrays = TiedRows(np.arange(size + 1), np.append(0, np.cumsum(mine, dtype=np.int64)))
    assert bits.size == arrays.size
    assert [bits.of_item(i) for i in range(size + 1)] == [arrays.of_item(i) for i in range(size + 1)]
    js = range(int(mine.sum()) + 1)
    assert [bits.of_positive(j) for j in js] == [arrays.of_positive(j) for j in js]
    assert np.array_equal(bits.before(np.arange(size + 1)), arrays.before(np.arange(size + 1)))
    for a, b in [(0, size), (0, 0), (size, size), (size // 3, size // 2), (size // 2, size)]:
        assert np.array_equal(bits.between(a, b), arrays.between(a, b))
