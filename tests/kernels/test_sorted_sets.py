"""Sets by sorting are those of numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from suite_cases import examples

from streameval.kernels.sorted_sets import isin, setdiff1d, unique

KINDS = ["i8", "u8", "i4", "f8", "?"]
FEW = st.integers(-5, 5)


def few(kind: str):
    """Arrays with few different values, so that many are equal; of floats some are NaN."""
    elements = {"f": st.sampled_from([0.0, -0.0, 0.5, -3.0, np.inf, -np.inf, np.nan]), "b": st.booleans()}
    size = st.one_of(st.integers(0, 30), st.tuples(st.integers(0, 4), st.integers(0, 4)))
    return arrays(kind, size, elements=elements.get(np.dtype(kind).kind, st.integers(0, 9)))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(30, 100))
@given(data=st.data())
def test_sets_are_those_of_numpy(kind, data):
    a, b = data.draw(few(kind)), data.draw(few(kind))
    before = a.copy()
    for found, wanted in [
        (unique(a), np.unique(a)),
        (unique(a, b), np.union1d(a, b)),
        (isin(a, b), np.isin(a, b)),
        (setdiff1d(a, b), np.setdiff1d(a, b)),
    ]:
        np.testing.assert_array_equal(found, wanted)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(a, before)


@given(st.lists(FEW), st.lists(FEW))
def test_lists_and_types_mix_as_with_numpy(a, b):
    np.testing.assert_array_equal(unique(a, np.array(b, float)), np.union1d(a, np.array(b, float)))
    np.testing.assert_array_equal(isin(np.array(a, float), b), np.isin(np.array(a, float), b))
