"""The area under interpolated precision: exact however long the list, by every way of reading it."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import cases, examples
from test_exact import WAYS, evaluate, list_of, small_blocks  # noqa: F401  (a fixture)

import streameval
from streameval.counting import kept
from streameval.counting.labelled_rows import pack
from streameval.kernels import exact, groups
from streameval.kernels import interpolated as kernels


def area(labels):
    """By definition, in the order given."""
    precision = np.cumsum(labels) / np.arange(1, labels.size + 1)
    best = np.maximum.accumulate(precision[::-1])[::-1]
    return best[labels == 1].sum() / labels.sum()


def row_of(found):
    (row,) = [r for r in found.metrics.to_pylist() if (r["metric"], r["argument"]) == ("pr_area", "interpolated")]
    return row


@settings(max_examples=examples(20, 100), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.sampled_from([1, 63, 64, 65, 300]),
    before=st.sampled_from([(0, 0), (70, 3), (70, 70), (10**10, 10**10 - 5), (10**10, 9)]),
    fall=st.sampled_from([0.0, 1.0, -1.0]),
    best=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_sums_from_the_end_are_those_of_the_definition(seed, n, before, fall, best):
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.5 + fall * np.linspace(0.5, -0.5, n)).astype(np.uint8)
    begin = int(rng.integers(0, n))
    expected, highest = 0, Fraction(best)
    for i in range(n - 1, begin - 1, -1):
        if labels[i]:
            reached = before[1] + int(labels[begin : i + 1].sum())
            highest = max(highest, Fraction(float(Fraction(reached, before[0] + i + 1 - begin))))
            expected += int(highest * 2**kernels.UNIT_BITS)
    high, low = kernels.best_of_labels(pack(labels), (begin, n), before, best)
    assert (high << kernels.HALF_BITS) + low == expected
    numbers, ends = np.stack([np.ones(n - begin, np.uint8), labels[begin:]]), (n - begin, int(labels[begin:].sum()))
    alone = groups.of_bits(pack(labels), np.zeros(n // 64 + 2, np.uint64))
    for late in (0, 1):
        assert kernels.best_of_groups(alone, (begin, n), ends, before, late, best) == (high, low)
        of_numbers = groups.of_numbers(numbers), (0, n - begin)
        assert kernels.best_of_groups(*of_numbers, ends, before, late, best) == (high, low)


@pytest.mark.parametrize("values", cases([None, 1, 3, 40, 2_000], None, 3, 2_000))
@pytest.mark.parametrize("share", cases([0.02, 0.5, 1.0], 0.02, 0.5))
def test_both_orders_of_ties_in_many_blocks(values, share, small_blocks, monkeypatch):  # noqa: F811
    monkeypatch.setattr(kept, "_HELD", 100)  # the rest in a file
    labels, scores = list_of(5, 1_500, values, share)
    late, early = (area(labels[np.lexsort([sign * labels, -scores])]) for sign in (1, -1))
    rows = [row_of(evaluate(labels, scores, way)) for way in WAYS]
    assert [row["lower"] for row in rows] == [rows[0]["lower"]] * len(WAYS)
    for row in rows:
        assert row == rows[0]
    assert (rows[0]["lower"], rows[0]["upper"]) == pytest.approx((late, early), rel=1e-13)
    assert rows[0]["coverage"] == "exact"


@pytest.mark.parametrize("fall", cases([0.0, 0.3, 0.9], 0.3))
def test_a_list_longer_than_a_block_has_one_value(fall):
    n = exact.BLOCK + 4_321
    labels = np.random.default_rng(3).random(n) < 0.95 - fall * np.linspace(0, 1, n)
    found = streameval.exact(pa.table({"label": labels}), label="label", misses=7)
    row, expected = row_of(found), area(labels.astype(np.int64)) * labels.sum() / (labels.sum() + 7)
    assert row["lower"] == row["estimate"] == row["upper"] == pytest.approx(expected, rel=1e-12)
    assert set(found.metrics.column("coverage").to_pylist()) == {"exact"}
