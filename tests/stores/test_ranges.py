"""Ranges that are read together."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streameval.stores.ranges import _few_blocks, blocks

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=20)


@given(few=RANGES, gap=st.integers(0, 9))
def test_few_ranges_are_joined_as_many_are(few, gap):
    far = [(1_000 * (1 + i), 1) for i in range(17)]  # more than are few, behind all others
    joined, places = blocks(np.array(few + far, np.int64), gap)
    of_few = _few_blocks([list(one) for one in few], gap)
    assert of_few[0].tolist() == joined[:-17].tolist()
    assert of_few[1].tolist() == places[:-17].tolist()
