"""Numbers held against what is stated of them, by their keys: as comparing the numbers has it."""

import itertools

import numpy as np
import pytest

from streameval.kernels import parquet as kernels
from streameval.parquet.statistics import WHOLE, Statistics, unproven

NUMBERS = {
    "f8": [-np.inf, -1.5, -0.0, 0.0, 2.0, np.inf, np.nan, -np.nan],
    "f4": [-np.inf, -1.5, -0.0, 0.0, 2.0, np.nan],
    "i4": [-(2**31), -1, 0, 5, 2**31 - 1],
    "u4": [0, 1, 2**31, 2**32 - 1],
    "i8": [-(2**63), -1, 0, 2**63 - 1],
    "u8": [0, 2**63, 2**64 - 1],
    "i1": [0, 1],
}


def stated(bounds, kind, rows, nulls=0):
    raw, fields = b"xyz", np.full((len(bounds), kernels.N_STATED), kernels.ABSENT)
    fields[:, kernels.STATED_NULLS] = nulls
    for field, pair in zip(fields, bounds, strict=True):
        for at, bound in zip((kernels.LOW_AT, kernels.HIGH_AT), pair, strict=True):
            if bound is not None:
                field[[at, at + 1]] = len(raw), np.dtype(kind).itemsize
                raw += np.array([bound], kind).tobytes()
    rows = np.array(rows)
    return Statistics(WHOLE, np.cumsum(rows) - rows, rows, memoryview(raw), fields)


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_keep_to_bounds_that_they_do_not_exceed_and_nothing_is_known_of_nan(kind):
    numbers = NUMBERS[kind]
    for least, most, one, other in itertools.product([*numbers, None], [*numbers, None], numbers, numbers):
        low, high = np.minimum(*np.array([[one], [other]], kind)), np.maximum(*np.array([[one], [other]], kind))
        kept = least is None or low >= np.array([least], kind)
        kept = kept and (most is None or high <= np.array([most], kind))
        said = stated([(least, most)], kind, [4])
        assert unproven(np.array([0]), low, high, [said]) == ([] if kept else [said]), (least, most, one, other)


def test_what_is_stated_of_several_stretches_is_held_against_all_of_them():
    begin, low, high = np.array([0, 4, 8, 12]), np.array([1, 5, 2, 0]), np.array([3, 9, 2, 7])
    whole = stated([(1, 9), (0, 7)], "i8", [8, 8])
    assert unproven(begin, low, high, [whole]) == []
    for bounds in ([(2, 9), (0, 7)], [(1, 8), (0, 7)], [(1, 9), (1, 7)], [(1, 9), (0, 6)]):
        assert len(unproven(begin, low, high, [whole, stated(bounds, "i8", [8, 8])])) == 1


def test_nothing_is_known_where_nulls_are_stated_or_a_bound_is_of_another_length_or_outside():
    begin, low, high = np.array([0]), np.array([1]), np.array([1])
    assert unproven(begin, low, high, [stated([(0, 2)], "i8", [4])]) == []
    assert len(unproven(begin, low, high, [stated([(0, 2)], "i8", [4], nulls=1)])) == 1
    assert len(unproven(begin, low, high, [stated([(0, 2)], "i4", [4])])) == 1
    assert len(unproven(begin, low, high, [stated([(0, 2)], "i8", [0])])) == 1
    short = stated([(0, 2)], "i8", [4])
    cut = Statistics(WHOLE, short.first, short.rows, short.raw[:-1], short.fields)
    assert len(unproven(begin, low, high, [cut])) == 1
