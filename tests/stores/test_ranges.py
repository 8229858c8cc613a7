"""Ranges that are read together."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

from streameval.stores.local import LOCAL
from streameval.stores.ranges import _join, blocks, join

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=20)


@settings(max_examples=examples(30, 100))
@given(few=RANGES, gap=st.integers(0, 9))
def test_few_ranges_are_joined_as_many_are(few, gap):
    far = [(1_000 * (1 + i), 1) for i in range(17)]  # more than are few, behind all others
    joined, places = blocks(np.array(few + far, np.int64), gap)
    of_few = _join(few, gap)
    assert of_few[0] == joined[:-17].tolist()
    assert of_few[1] == places[:-17].tolist()
    assert join(few, gap) == [tuple(one) for one in of_few[0]]


@settings(max_examples=examples(30, 100))
@given(few=RANGES, gap=st.integers(0, 9))
def test_blocks_are_those_whatever_their_number(few, gap):
    joined, places = blocks(np.array(few, np.int64).reshape(-1, 2), gap)
    assert (joined.shape[1], joined.dtype, places.dtype) == (2, np.int64, np.int64)
    assert (joined.tolist(), places.tolist()) == _join(few, gap)


def test_a_small_file_is_read_once_whatever_is_asked_of_it(tmp_path):
    path = tmp_path / "small"
    path.write_bytes(bytes(range(100)))
    with LOCAL.open(str(path)) as file:
        assert [bytes(part) for part in file.read([(90, 20), (3, 2)])] == [bytes(range(90, 100)), b"\x03\x04"]
        raw, places = file.gather(np.array([[50, 2], [7, 1]]))
        assert [int(raw[at]) for at in places] == [50, 7]
        assert file.bytes_read == 100
