"""Which pages hold wanted rows, by indexes that may lie."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

from streameval.errors import InputError
from streameval.kernels import parquet as kernels
from streameval.parquet.chunks import Chunks
from streameval.parquet.find_pages import _choose, _Leaves, _PageIndex

QUICK = settings(max_examples=examples(24, 60), deadline=None)
START, SPACE = 100, 1000  # where the first chunk begins, and from chunk to chunk


def chunks(rows, size=SPACE, start=START):
    """Chunks of some row groups, one behind the other."""
    facts = np.zeros((len(rows), kernels.N_FACTS), np.int64)
    facts[:, kernels.DATA_AT] = start + SPACE * np.arange(len(rows))
    facts[:, kernels.COMPRESSED] = size
    file = SimpleNamespace(path="f")
    footer = SimpleNamespace(row_group_rows=np.array(rows), file=file, verify="on")
    return Chunks(footer, SimpleNamespace(path=("x",), max_rep=0), np.arange(len(rows)), facts, b"", b"")


def index(pages):
    """An index that says nothing of values; `pages` by chunk."""
    flat = np.array([page for of in pages for page in of], np.int64).reshape(-1, 3)
    told = np.full((len(flat), kernels.N_STATED), kernels.ABSENT)
    return _PageIndex(flat, told, np.cumsum([0, *map(len, pages)]), np.zeros(0, np.uint8))


@QUICK
@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=12), min_size=1, max_size=4), st.data())
def test_chosen_pages_hold_the_wanted_rows(sizes, data):
    for of in sizes:
        of[0] += 1
    firsts = [np.concatenate([[0], np.cumsum(of)]) for of in sizes]
    rows = [np.array(sorted(data.draw(st.sets(st.integers(0, first[-1] - 1), min_size=1)))) for first in firsts]
    pages = [
        [[START + SPACE * chunk + 5 + 10 * i, 10, first[i]] for i in range(len(of))]
        for chunk, (of, first) in enumerate(zip(sizes, firsts, strict=True))
    ]
    every = _Leaves([chunks([first[-1] for first in firsts])])
    (found,) = _choose(every, index(pages), rows)
    expected, held, begin = [], [], 0
    for chunk, (of, first, mine) in enumerate(zip(sizes, firsts, rows, strict=True)):
        page_of = [max(p for p in range(len(of)) if first[p] <= row) for row in mine]
        for p in sorted(set(page_of)):
            end = begin + page_of.count(p)
            expected.append([*pages[chunk][p], of[p], chunk, begin, end])
            held += [(chunk, row) for row in range(first[p], first[p + 1])]
            begin = end
    assert found.places.tolist() == expected
    wanted = [(chunk, row) for chunk, mine in enumerate(rows) for row in mine]
    assert found.positions.tolist() == [held.index(row) for row in wanted]
    cut = data.draw(st.integers(1, len(expected)))
    parts = [found.part(0, cut), *([found.part(cut, len(expected))] if cut < len(expected) else [])]
    at = [part.positions + before for part, before in zip(parts, (0, parts[0].n_rows), strict=False)]
    assert np.concatenate(at).tolist() == found.positions.tolist()
    assert found.dictionaries.tolist() == [[START + SPACE * chunk, 5] for chunk in range(len(sizes))]


@pytest.mark.parametrize("sound", [0, 2])  # chunks before
@pytest.mark.parametrize(
    ("pages", "wrong"),
    [
        ([], "begin with row 0"),
        ([[10, 5, 1]], "begin with row 0"),
        ([[9, 5, 0]], "lie outside"),
        ([[10, 2**62, 0]], "lie outside"),
        ([[-(2**63), 5, 0]], "lie outside"),
        ([[2**63 - 1, 5, 0]], "lie outside"),
        ([[10, 0, 0]], "lie outside"),
        ([[10, 5, 0], [14, 5, 3]], "overlap"),
        ([[10, 5, 0], [15, 5, 11]], "do not follow one another"),
        ([[10, 5, 0], [15, 5, 5], [20, 5, 4]], "do not follow one another"),
    ],
)
def test_indexes_that_cannot_be_true(pages, wrong, sound):
    given = [[[10 + SPACE * i, 5, 0]] for i in range(sound)]
    there = [[at + SPACE * sound if abs(at) < 2**40 else at, *rest] for at, *rest in pages]
    found = index([*given, there, [[10 + SPACE * (sound + 1), 5, 0]]])  # and one after it
    every = chunks([10] * (sound + 2), size=20, start=10)
    with pytest.raises(InputError, match=f"f: row group {sound}, column x: the pages of its index .*{wrong}"):
        _choose(_Leaves([every]), found, [np.array([9])] * (sound + 2))
