"""Kernels that read Thrift against slow twins that read it field by field; bytes of any kind never hurt them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

from streameval.kernels import page_header as headers
from streameval.kernels import parquet, row_groups
from streameval.kernels.page_header import count_rows, page_header
from streameval.kernels.page_index import column_index, offset_index, page_indexes
from streameval.kernels.parquet import ABSENT, chunk_facts, find_fields
from streameval.kernels.texts import copy_texts, extremes, find_texts
from streameval.kernels.wanted_pages import sound_pages
from streameval.parquet import thrift
from streameval.parquet.thrift import BINARY, I32, I64, LIST, STRUCT, TRUE

QUICK = settings(max_examples=examples(12, 60), deadline=None)
numbers = st.integers(-(2**31), 2**31 - 1)
unknown = st.recursive(
    st.tuples(st.just(I64), st.integers(-(2**63), 2**63 - 1))
    | st.tuples(st.just(TRUE), st.booleans())
    | st.tuples(st.just(thrift.DOUBLE), st.binary(min_size=8, max_size=8))
    | st.tuples(st.just(BINARY), st.binary(max_size=20)),
    lambda inner: (
        st.tuples(st.just(STRUCT), st.dictionaries(st.integers(1, 300), inner, max_size=4))
        | st.tuples(st.just(LIST), st.lists(st.binary(max_size=3), max_size=20).map(lambda values: (BINARY, values)))
        | st.tuples(st.just(LIST), st.lists(st.booleans(), max_size=20).map(lambda values: (TRUE, values)))
    ),
    max_leaves=6,
)
strangers = st.dictionaries(st.integers(40, 300), unknown, max_size=3)


def as_array(raw):
    return np.frombuffer(raw, np.uint8)


@QUICK
@given(st.dictionaries(st.integers(1, 300), unknown, max_size=6))
def test_structs_are_read_as_they_were_written(fields):
    raw = thrift.write_struct(fields)
    read, end = thrift.read_struct(raw + b"rest")
    assert end == len(raw)
    assert {k: v for k, (_, v) in read.items() if not isinstance(v, tuple | dict)} == {
        k: v for k, (_, v) in fields.items() if not isinstance(v, tuple | dict)
    }


def found_in(raw, stop):
    found = np.full(parquet.N_FOUND, -1)
    stopped = find_fields(as_array(raw), 0, 0, stop, found)
    return found.tolist(), stopped


@QUICK
@given(st.binary(max_size=9), st.lists(st.binary(max_size=20), max_size=20), strangers)
def test_the_fields_of_a_footer_are_found(schema, keys, more):
    lists = {number: (LIST, (BINARY, values)) for number, values in ((2, [schema]), (5, keys))}
    groups = {4: (LIST, (STRUCT, [{3: (I64, i)} for i in range(20)]))}
    raw = thrift.write_struct({1: (I32, 2), 3: (I64, 190)} | lists | groups | more)
    (begin, end, rows_at, at, count, *none), stopped = found_in(raw, 4)
    assert (stopped, none, raw[begin:end]) == (True, [-1, -1], thrift.write_list(BINARY, [schema]))
    assert (thrift.read_zigzag(raw, rows_at)[0], thrift.read_struct(raw, at)[0]) == (190, {3: (I64, 0)})
    assert count == 20
    found, stopped = found_in(raw, 0)
    assert (found[:5], stopped) == ([begin, end, rows_at, at, count], False)
    assert raw[found[5] : found[6]] == thrift.write_list(BINARY, keys)
    for _ in range(20):
        _, at = thrift.read_struct(raw, at)
    rest = np.full(parquet.N_FOUND, -1)
    assert not find_fields(as_array(raw), at, 4, 4, rest)
    assert rest.tolist() == [-1] * 5 + found[5:]
    assert found_in(thrift.write_struct(more), 4) == ([-1] * 7, False)


@QUICK
@given(st.lists(st.tuples(numbers, numbers, numbers), max_size=8), strangers)
def test_offset_indexes(pages, more):
    locations = [{1: (I64, a), 2: (I32, b), 3: (I64, c)} | more for a, b, c in pages]
    raw = thrift.write_struct({1: (LIST, (STRUCT, locations))} | more)
    out = np.zeros((len(pages) + 1, 3), np.int64)
    assert offset_index.plain()(as_array(raw), out) == len(pages)
    assert out[: len(pages)].tolist() == [list(page) for page in pages]
    for cut in range(len(raw) - 1 - len(thrift.write_struct(more)) + 1):
        assert offset_index.plain()(as_array(raw[:cut]), out) <= len(pages)


bounds = st.none() | st.tuples(st.binary(max_size=20), st.binary(max_size=20), numbers)


@QUICK
@given(st.lists(bounds, max_size=20), strangers)
def test_column_indexes(pages, more):
    known = [page or (b"", b"", 3) for page in pages]
    empty = [1 if page is None else 2 for page in pages]
    fields = {
        1: (LIST, (1, empty)),
        2: (LIST, (BINARY, [low for low, _, _ in known])),
        3: (LIST, (BINARY, [high for _, high, _ in known])),
        4: (I32, 1),
        5: (LIST, (I64, [nulls for _, _, nulls in known])),
    }
    raw = thrift.write_struct(fields | more)
    out = np.zeros((len(pages), parquet.N_STATED), np.int64)
    assert column_index(as_array(raw), 0, out) == 0
    for page, (nulls, low, low_size, high, high_size) in zip(pages, out.tolist(), strict=True):
        if page is None:
            assert (nulls, low, low_size, high, high_size) == (3, *[ABSENT] * 4)
        else:
            assert (raw[low : low + low_size], raw[high : high + high_size], nulls) == page
    assert column_index(as_array(raw), 0, np.zeros((len(pages) + 1, parquet.N_STATED), np.int64)) == -1
    for cut in range(len(raw) - len(thrift.write_struct(more))):
        assert column_index(as_array(raw[:cut]), 0, out) == -1


@pytest.mark.parametrize("broken", [None, (1, 0), (1, 1), (3, 0)])
def test_indexes_of_many_chunks_are_those_of_each(broken):
    """The second chunk has both indexes, the third none, the fourth no column index."""
    counts, raw, spans = [3, 2, 0, 4], b"-", np.zeros((4, 4), np.int64)
    for chunk, count in enumerate(counts):
        locations = [{1: (I64, 10 * i), 2: (I32, chunk), 3: (I64, i)} for i in range(count)]
        nulls = [i + chunk for i in range(count)]
        said = {1: (LIST, (1, [2] * count)), 2: (LIST, (BINARY, [b"low"] * count)), 5: (LIST, (I64, nulls))}
        for part, fields in enumerate(({1: (LIST, (STRUCT, locations))}, said)):
            if count and (chunk, part) != (3, 1):
                index = thrift.write_struct(fields)[: 3 if (chunk, part) == broken else None]
                spans[chunk, 2 * part : 2 * part + 2] = len(raw), len(index)
                raw += index
    room = len(raw)
    pages, told, cuts = np.empty((room, 3), np.int64), np.empty((room, 5), np.int64), np.zeros(5, np.int64)
    found = page_indexes(as_array(raw), spans, pages, told, cuts)
    if broken is not None:
        assert found == (-1 - broken[0] if broken[1] == 0 else 1 + broken[0])
        return
    assert (found, cuts.tolist()) == (0, [0, 3, 5, 5, 9])
    for chunk in (0, 1, 3):
        mine = slice(cuts[chunk], cuts[chunk + 1])
        assert pages[mine].tolist() == [[10 * i, chunk, i] for i in range(counts[chunk])]
        if chunk == 3:
            assert np.all(told[mine] == ABSENT)
            continue
        for i, (nulls, low, low_size, high, _) in enumerate(told[mine].tolist()):
            assert (nulls, raw[low : low + low_size], high) == (i + chunk, b"low", ABSENT)


@QUICK
@given(st.sampled_from([0, 2, 3]), st.lists(numbers.map(abs), min_size=8, max_size=8), strangers, st.booleans())
def test_page_headers(kind, n, more, crc):
    if kind == 3:
        inner = {1: (I32, n[0]), 2: (I32, 0), 3: (I32, n[1]), 4: (I32, n[2]), 5: (I32, n[3]), 6: (I32, n[4])}
    else:
        inner = {1: (I32, n[0]), 2: (I32, n[2]), 3: (I32, n[3])}
    if kind != 2:
        ends = {3: (I64, n[7]), 5: (BINARY, b"last"), 6: (BINARY, b"first one")}
        inner[8 if kind == 3 else 5] = (STRUCT, ends)
    fields = {1: (I32, kind), 2: (I32, n[5]), 3: (I32, n[6]), {0: 5, 2: 7, 3: 8}[kind]: (STRUCT, inner | more)} | more
    if crc:
        fields[4] = (I32, -n[7])
    raw = thrift.write_struct(fields)
    out = np.zeros(headers.N_HEADER, np.int64)
    assert page_header(as_array(raw + b"data"), out) == len(raw)
    rest = [n[1], n[2], ABSENT] if kind == 3 else [ABSENT, n[2], n[3]]
    levels = [n[4], n[3], 0] if kind == 3 else [ABSENT, ABSENT, ABSENT]
    nulls, low, low_size, high, high_size = out[headers.STATED :].tolist()
    if kind == 2:
        assert {nulls, low, low_size, high, high_size} == {ABSENT}
    else:
        assert (nulls, raw[low : low + low_size], raw[high : high + high_size]) == (n[7], b"first one", b"last")
    assert out[: headers.STATED].tolist() == [
        kind,
        n[5],
        n[6],
        -n[7] % 2**32 if crc else ABSENT,
        n[0],
        *rest,
        *levels,
    ]
    assert page_header(as_array(raw[:-1]), out) == -1


@QUICK
@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_column_chunks(n_groups, n_leaves, data):
    def chunk():
        n = [data.draw(st.integers(0, 2**40)) for _ in range(10)]
        meta = {1: (I32, 2), 2: (LIST, (I32, [0, 3])), 3: (LIST, (BINARY, [b"a"])), 4: (I32, 7)}
        meta |= {5: (I64, n[0]), 6: (I64, n[1]), 7: (I64, n[2]), 9: (I64, n[3]), 11: (I64, n[4])}
        ends = {3: (I64, n[7]), 5: (BINARY, b"last"), 6: (BINARY, b"first one")}
        meta |= data.draw(strangers) | {12: (STRUCT, data.draw(strangers) | ends)}
        indexes = {4: (I64, n[5]), 5: (I32, n[6] % 2**31), 6: (I64, n[8]), 7: (I32, n[9] % 2**31)}
        return [2, 7, *n[:7], n[8], n[9], 0, n[7]], {2: (I64, 4), 3: (STRUCT, meta)} | indexes

    made = [[chunk() for _ in range(n_leaves)] for _ in range(n_groups)]
    groups = [{1: (LIST, (STRUCT, [c for _, c in group])), 2: (I64, 1), 3: (I64, 2)} for group in made]
    raw = as_array(thrift.write_struct({1: (I32, 2), 4: (LIST, (STRUCT, groups)), 6: (BINARY, b"me")}))
    g = sorted(data.draw(st.sets(st.integers(0, n_groups - 1), min_size=1)))
    leaves = sorted(data.draw(st.sets(st.integers(0, n_leaves - 1), min_size=1)))
    out = np.zeros((len(g), len(leaves), parquet.N_FACTS), np.int64)
    own = np.zeros((n_groups + 1, 3), np.int64)
    at = found_in(raw.tobytes(), 4)[0][parquet.GROUPS_AT]
    end = chunk_facts(raw, at, np.array(g), np.array(leaves), out, own)
    assert end > at
    assert own[: len(g)].tolist() == [[2, ABSENT, n_leaves]] * len(g)
    wanted = [[made[i][j][0] for j in leaves] for i in g]
    for group in wanted:
        for facts in group:
            facts[parquet.INDEX_SIZE] %= 2**31
            facts[parquet.COLUMN_INDEX_SIZE] %= 2**31
    assert out[..., : parquet.NULLS + 1].tolist() == wanted
    for facts in out.reshape(-1, parquet.N_FACTS).tolist():
        low, high = (facts[at : at + 2] for at in (parquet.MIN_AT, parquet.MAX_AT))
        assert [raw[at : at + size].tobytes() for at, size in (low, high)] == [b"first one", b"last"]
        path = raw[facts[parquet.PATH_AT] : facts[parquet.PATH_END]].tobytes()
        assert path == thrift.write_list(BINARY, [b"a"])
    room = np.zeros((9, len(leaves), parquet.N_FACTS), np.int64)
    assert chunk_facts(raw, at, np.array([*g, n_groups]), np.array(leaves), room, own) == -1 - len(g)


@settings(max_examples=examples(60, 300), deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes_are_survived(raw):
    raw = as_array(raw)
    assert offset_index.plain()(raw, np.zeros((5, 3), np.int64)) >= -1
    assert column_index(raw, 0, np.zeros((2, parquet.N_STATED), np.int64)) in (0, -1)
    assert page_header(raw, np.zeros(headers.N_HEADER, np.int64)) <= raw.size
    assert max(found_in(raw.tobytes(), 0)[0]) <= raw.size
    out = np.zeros((1, 1, parquet.N_FACTS), np.int64)
    assert chunk_facts(raw, 0, np.array([0]), np.array([0]), out, np.zeros((1, 3), np.int64)) >= -1
    found = np.zeros((1, row_groups.N_OF_FILE), np.int64)
    rows, of_leaf = np.zeros(raw.size // 6, np.int64), np.zeros((raw.size // 6, parquet.N_FACTS), np.int64)
    read = row_groups.sound_row_groups(
        raw, np.array([[0, raw.size, 100]]), raw[:0], np.array([0]), np.zeros((1, 3), np.int64), 0,
        out[0], np.zeros(3, np.int64), found, rows, of_leaf,
    )  # fmt: skip
    assert read[0] in range(11)
    assert found[0, row_groups.GROUPS_END] <= rows.size
    assert count_rows(raw, 3, 50) <= 50
    spans, room = np.array([[0, raw.size, 0, raw.size]]), raw.size // 4 + 1
    index, said = np.empty((room, 3), np.int64), np.empty((room, parquet.N_STATED), np.int64)
    assert page_indexes(raw, spans, index, said, np.zeros(2, np.int64)) in (-1, 0, 1)
    heads, places = np.empty((1, headers.N_HEADER + 2), np.int64), np.zeros((1, 7), np.int64)
    assert sound_pages(raw, np.zeros(1, np.int64), spans[:, :2], places, 2**40, heads) in (-1, 0, 1)
    place = np.zeros(1, np.int64)
    assert find_texts(raw, 1, np.array([9]), place, place.copy()) <= raw.size


def encode(levels, width, runs):
    """Hybrid of run lengths and bit packing: `runs` says how long each piece is and which of the two."""
    out, at = b"", 0
    for length, packed in runs:
        piece = levels[at : at + length * 8] if packed else levels[at : at + 1]
        if not piece:
            break
        if packed:
            bits = sum(level << (i * width) for i, level in enumerate(piece))
            groups = -(-len(piece) // 8)
            out += thrift.varint(groups << 1 | 1) + bits.to_bytes(groups * width, "little")
            at += len(piece)
        else:
            same = 1
            while same < length * 8 and at + same < len(levels) and levels[at + same] == piece[0]:
                same += 1
            out += thrift.varint(same << 1) + piece[0].to_bytes((width + 7) // 8, "little")
            at += same
    assert at >= len(levels)
    return out


@QUICK
@given(st.integers(1, 9), st.data())
def test_rows_are_counted_in_repetition_levels(width, data):
    levels = [0, *data.draw(st.lists(st.integers(0, min(3, 2**width - 1)), max_size=90))]
    runs = data.draw(st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=99, max_size=99))
    raw = as_array(encode(levels, width, runs))
    assert count_rows(raw, width, len(levels)) == levels.count(0)
    assert count_rows(raw[:-1], width, len(levels)) == -1
    assert count_rows(as_array(encode([1, 0], width, [(1, True)])), width, 2) == -1


@QUICK
@given(
    st.lists(st.none() | st.binary(max_size=9) | st.text("ab", max_size=20).map(str.encode), min_size=1, max_size=60),
    st.data(),
)
def test_texts_are_found_behind_their_lengths(texts, data):
    nullable = int(None in texts)
    raw = b"".join(len(text).to_bytes(4, "little") + text for text in texts if text is not None)
    if nullable:
        runs = data.draw(st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=60, max_size=60))
        levels = encode([int(text is not None) for text in texts], 1, runs)
        raw = len(levels).to_bytes(4, "little") + levels + raw
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, len(texts) - 1)))), dtype=np.int64)
    begin, size = np.zeros(rows.size, np.int64), np.zeros(rows.size, np.int64)
    total = find_texts(as_array(raw), nullable, rows, begin, size)
    wanted = [texts[row] for row in rows]
    assert size.tolist() == [-1 if text is None else len(text) for text in wanted]
    assert copy_texts(as_array(raw), begin, size, total).tobytes() == b"".join(text or b"" for text in wanted)
    low, high = extremes(as_array(raw), begin, size)
    known = [text for text in wanted if text is not None]
    assert [wanted[at] for at in (low, high) if at >= 0] == ([min(known), max(known)] if known else [])
    cut = as_array(raw[: data.draw(st.integers(0, len(raw)))])
    assert find_texts(cut, nullable, rows, begin, size) in (-1, total)
