"""Labels as bits and numbers as they lie, straight from pages: what Arrow decodes, or nothing, whatever the file."""

from dataclasses import is_dataclass
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from suite_cases import examples, slow

from streameval import RankingOptions, open_ranking
from streameval.counting.bit_rows import join, link_units, read_bits
from streameval.counting.block_sums import UnorderedError
from streameval.counting.labelled_rows import labelled_rows
from streameval.errors import StreamevalError
from streameval.kernels import page_header as headers
from streameval.kernels import plain_pages as plain
from streameval.parquet import plain_chunks
from streameval.rows import row_groups

N = 3_001
RANDOM = np.random.default_rng(5)
LABELS = (RANDOM.random(N) < 0.3).astype(np.int64)
CODECS = ["none", "lz4", "snappy", "zstd", "gzip"]


@pytest.fixture(autouse=True)
def every_row_group(monkeypatch):
    monkeypatch.setattr(row_groups, "DIRECT_ROWS", 0)
    monkeypatch.setattr(plain_chunks, "is_small", lambda steps: False)


def unit_of(path, table, **options):
    written = {"row_group_size": N, "max_rows_per_page": 500, "write_batch_size": 100, **options}
    pq.write_table(table, path, **written)
    return open_ranking(str(path), RankingOptions()).rows.units("label")[0]


def bits_of(words, rows=N):
    return np.unpackbits(words.view(np.uint8), count=rows, bitorder="little")


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def with_length(runs, length=None):
    return (len(runs) if length is None else length).to_bytes(4, "little") + runs


def column(kind, *, nullable=True, values=LABELS):
    return pa.table([pa.array(values).cast(kind)], pa.schema([pa.field("label", kind, nullable)]))


def with_codecs(*axes):
    """Every combination with every codec; in the suite, with one of them, each in turn."""
    every = list(enumerate(product(*axes)))
    suite = [pytest.param(*one, CODECS[at % 5], id="-".join(map(str, (*one, CODECS[at % 5])))) for at, one in every]
    return suite + slow(*((*one, codec) for at, one in every for codec in CODECS if codec != CODECS[at % 5]))


@pytest.mark.parametrize(
    ("kind", "coded", "nullable", "codec"),
    with_codecs([pa.bool_(), pa.int8(), pa.uint8(), pa.int32(), pa.int64()], [True, False], [True, False]),
)
def test_labels_are_packed(tmp_path, kind, coded, nullable, codec):
    unit = unit_of(tmp_path / "a.parquet", column(kind, nullable=nullable), compression=codec, use_dictionary=coded,
                   write_page_checksum=True, write_page_index=True)  # fmt: skip
    assert np.array_equal(bits_of(unit.bits("label")), LABELS)


@pytest.mark.parametrize(
    ("rows", "kind", "coded", "codec"),
    with_codecs([64, 701, 1500], [pa.bool_(), pa.uint8(), pa.int64()], [True, False]),
)
def test_row_groups_of_a_file_are_packed_together(tmp_path, rows, kind, coded, codec):
    unit_of(tmp_path / "a.parquet", column(kind), compression=codec, use_dictionary=coded, row_group_size=rows,
            write_page_checksum=True, write_page_index=rows > 64)  # fmt: skip
    units = open_ranking(str(tmp_path / "a.parquet"), RankingOptions()).rows.units("label")
    assert np.array_equal(bits_of(units[0].bits("label", units[1:])), LABELS)
    some = slice(rows, 2 * rows)
    assert np.array_equal(bits_of(units[1].bits("label", ()), LABELS[some].size), LABELS[some])


def changed_page(path, table, **options):
    """Write row groups of 1500 rows, of pages of 500; all of a page in the second are then turned into ones."""
    unit_of(path, table, use_dictionary=False, compression="none", row_group_size=1500, **options)
    of_group = pq.ParquetFile(path).metadata.row_group(1).column(0)
    begin, whole = of_group.data_page_offset, bytearray(path.read_bytes())
    pages = np.empty((9, headers.N_HEADER + 2), np.int64)
    chunk = np.frombuffer(bytes(whole[begin : begin + of_group.total_compressed_size]), np.uint8)
    assert headers.page_headers(chunk, 1500, pages) == 3
    body, size = (pages[0, [headers.N_HEADER + 1, headers.PAGE_COMPRESSED]]).tolist()
    whole[begin + body : begin + body + size] = np.ones(size // 4, np.int32).tobytes()
    path.write_bytes(whole)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"write_page_index": True}, "its column index say"),
        ({}, "its page header say"),
        ({"write_statistics": False, "write_page_checksum": True}, "fails its checksum"),
        ({"values": np.zeros(N, int)}, "its statistics say"),
    ],
)
def test_a_page_of_many_that_is_not_what_its_file_says_is_found(tmp_path, options, says):
    path, values = tmp_path / "a.parquet", LABELS.copy()
    values[1500:2000] = 0
    changed_page(path, column(pa.int32(), nullable=False, values=options.pop("values", values)), **options)
    rows = labelled_rows(open_ranking(str(path), RankingOptions()), "label")
    first, second, third = rows.units
    assert first.bits("label", rows.units[1:]) is second.bits("label") is None
    assert first.bits("label") is not None
    assert third.bits("label") is not None
    with pytest.raises(StreamevalError, match=f"row group 1.*{says}"):
        rows.label_bits(rows.units)
    rows = labelled_rows(open_ranking(str(path), RankingOptions(verify="off")), "label")
    assert bits_of(rows.label_bits(rows.units)[0])[1500:2000].all()


@pytest.mark.parametrize("values", [np.zeros(N, int), np.ones(N, int), 1 - LABELS, np.repeat([1, 0], [N - 9, 9])])
@pytest.mark.parametrize("coded", [True, False])
def test_runs_and_other_dictionaries(tmp_path, values, coded):
    unit = unit_of(tmp_path / "a.parquet", column(pa.int64(), values=values), use_dictionary=coded)
    assert np.array_equal(bits_of(unit.bits("label")), values)


def test_booleans_in_runs(tmp_path):
    unit = unit_of(tmp_path / "a.parquet", column(pa.bool_()), column_encoding={"label": "RLE"}, use_dictionary=False)
    assert np.array_equal(bits_of(unit.bits("label")), LABELS)


@pytest.mark.parametrize(
    "values", [[None, *LABELS[1:].tolist()], [2, *LABELS[1:].tolist()], [*LABELS[1:].tolist(), -1], [0.5] * N]
)
def test_what_is_no_label_is_left_to_others(tmp_path, values):
    for coded in (False, True):
        unit = unit_of(tmp_path / "a.parquet", pa.table({"label": values}), use_dictionary=coded)
        assert unit.bits("label") is None


@pytest.mark.parametrize("options", [{"data_page_version": "2.0"}, {"compression": "brotli"}])
def test_what_is_unusual_is_left_to_others(tmp_path, options):
    unit = unit_of(tmp_path / "a.parquet", column(pa.int8()), **options)
    assert unit.bits("label") is None
    rows = labelled_rows(open_ranking(str(tmp_path / "a.parquet"), RankingOptions()), "label")
    assert np.array_equal(bits_of(rows.label_bits([unit])[0]), LABELS)


@pytest.mark.parametrize(
    ("kind", "nullable", "codec"),
    with_codecs(["float32", "float64", "int16", "uint32", "int64", "uint64"], [True, False]),
)
def test_numbers_lie_as_they_are(tmp_path, kind, nullable, codec):
    values = np.sort(RANDOM.integers(0, 900, N)).astype(kind)
    table = pa.table([pa.array(values)], pa.schema([pa.field("label", pa.array(values).type, nullable)]))
    unit = unit_of(tmp_path / "a.parquet", table, compression=codec, use_dictionary=False, write_page_index=True)
    found = unit.numbers("label", np.empty(N, np.uint64))
    assert np.array_equal(found, values)
    assert unit.numbers("label", np.empty(N // 3, np.uint64)) is None


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip"])
def test_numbers_of_other_codecs_need_no_kernel(tmp_path, nothing_compiled, monkeypatch, codec):
    monkeypatch.setattr(plain_chunks, "read_group", None)
    values = RANDOM.normal(0, 1, N).astype(np.float32)
    for nullable in (True, False):
        table = column(pa.float32(), nullable=nullable, values=values)
        unit = unit_of(tmp_path / "a.parquet", table, compression=codec, use_dictionary=False, write_page_index=True)
        assert np.array_equal(unit.numbers("label", np.empty(N, np.uint64), "any"), values)


@pytest.mark.parametrize(("levels", "used"), [
    (varint(N << 1) + b"\x01", True), (varint((N - 8) << 1) + b"\x01" + varint(8 << 1) + b"\x01", False),
    (varint(N << 1) + b"\x00", False), (varint((N - 1) << 1) + b"\x01" + varint(1 << 1) + b"\x00", False),
])  # fmt: skip
def test_levels_that_are_not_one_run_of_ones_are_left_to_others(tmp_path, monkeypatch, levels, used):
    values = RANDOM.integers(0, 99, N)
    unit = unit_of(tmp_path / "a.parquet", pa.table({"label": values}), compression="zstd", use_dictionary=False,
                   max_rows_per_page=N)  # fmt: skip
    monkeypatch.setattr(plain_chunks, "decompress", lambda codec, body, size: with_length(levels) + values.tobytes())
    assert (unit.numbers("label", np.empty(N, np.uint64), "any") is not None) == used


@pytest.fixture
def nothing_compiled(monkeypatch):
    monkeypatch.setattr(plain_chunks, "_pays", lambda footer, groups: False)


@pytest.mark.parametrize("coded", [True, False])
@pytest.mark.parametrize("kind", ["float32", "float64", "int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_numbers_lie_as_they_are_before_kernels_are_worth_it(tmp_path, nothing_compiled, kind, coded):
    values = np.sort(RANDOM.integers(0, 100, N)).astype(kind)
    unit = unit_of(tmp_path / "a.parquet", pa.table({"label": values}), use_dictionary=coded)
    found = unit.numbers("label", np.empty(N, np.uint64))
    assert np.array_equal(found, values)
    assert unit.numbers("label", np.empty(N // 9, np.uint64)) is None
    assert unit.bits("label") is None


@pytest.mark.parametrize(("odd", "order", "used"), [
    (None, "sorted", False), (None, "any", False), (np.nan, "any", False), (np.nan, "sorted", True),
])  # fmt: skip
def test_odd_numbers_are_left_to_others_as_kernels_leave_them(tmp_path, nothing_compiled, odd, order, used):
    unit = unit_of(tmp_path / "a.parquet", pa.table({"label": [*np.arange(N - 1.0), odd]}))
    assert (unit.numbers("label", np.empty(N, np.uint64), order) is not None) == used


@pytest.mark.parametrize("kind", ["label", "score"])
def test_whatever_is_done_to_a_file_nothing_else_comes_of_it(tmp_path, kind):
    """A byte changed, without checksums: Arrow's values, or none, or an error."""
    path, seen = tmp_path / "a.parquet", {"same": 0, "none": 0, "refused": 0}
    table = pa.table({"label": LABELS.astype(np.int8), "score": np.sort(RANDOM.random(N).astype(np.float32))})
    room = np.empty(N, np.uint64)
    reads = {"label": lambda unit: unit.bits("label"), "score": lambda unit: unit.numbers("score", room)}
    kept = {"label": bits_of, "score": np.asarray}
    for codec in [*CODECS, "brotli"]:
        for coded in (True, False):
            unit_of(path, table, compression=codec, use_dictionary=coded)
            whole = path.read_bytes()
            end = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")  # where the footer begins
            for at in RANDOM.integers(4, end, examples(8, 60)).tolist():
                path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :])
                try:
                    unit = open_ranking(str(path), RankingOptions()).rows.units("label")[0]
                    found = reads[kind](unit)
                    expected = unit.read([kind]).column(0).to_numpy()
                except StreamevalError:
                    seen["refused"] += 1
                    continue
                if found is None:
                    seen["none"] += 1
                    continue
                assert np.array_equal(kept[kind](found), expected, equal_nan=kind == "score")
                seen["same"] += 1
    assert min(seen.values()) > 0, seen


def list_of(path, scores, rows=700):
    table = pa.table({"score": scores, "label": LABELS[: len(scores)].astype(bool)})
    pq.write_table(table, path, row_group_size=rows, use_dictionary=False)
    return labelled_rows(open_ranking(str(path), RankingOptions(score="score")), "label")


@pytest.mark.parametrize("kind", ["float32", "float64", "int16", "int64"])
@pytest.mark.parametrize("share", [1, 20])
def test_ties_are_found_within_and_between_row_groups(tmp_path, kind, share):
    scores = np.sort(RANDOM.integers(-N // share, N // share, N))[::-1].astype(kind)
    rows, cutoffs = list_of(tmp_path / "a.parquet", scores), np.array([1, 600, 700, 701, 1500, N])
    pieces = list(link_units(read_bits(rows, rows.units, cutoffs)))
    cut = [*(piece.cut(0, 10) for piece in pieces[:1]), pieces[0].cut(10, 700), *pieces[1:]]
    for whole in (join(pieces), join(cut)):
        assert np.array_equal(bits_of(whole.labels), LABELS)
        assert np.array_equal(bits_of(whole.repeats), np.append(False, scores[1:] == scores[:-1]))
        assert whole.ranks.tolist() == cutoffs.tolist()
        assert np.array_equal(whole.keys, rows.rows(0, N).keys[cutoffs - 1])


@pytest.mark.parametrize("at", [1, 350, 700, 701, 2_800])
def test_the_first_score_that_comes_too_late_is_named(tmp_path, at):
    scores = np.linspace(1, 0, N)
    scores[at] = scores[at - 1] + 0.1
    rows = list_of(tmp_path / "a.parquet", scores)
    with pytest.raises(UnorderedError) as error:
        list(link_units(read_bits(rows, rows.units, np.empty(0, np.int64))))
    assert error.value.rank == at + 1


def test_a_score_that_is_nan_is_refused(tmp_path):
    rows = list_of(tmp_path / "a.parquet", np.append(np.linspace(1, 0, N - 1), np.nan))
    with pytest.raises(StreamevalError, match="1 item has no score"):
        list(read_bits(rows, rows.units, np.empty(0, np.int64)))


def test_labels_of_a_dictionary_in_memory():
    table = pa.table({"label": pa.array(LABELS).dictionary_encode()})
    rows = labelled_rows(open_ranking(table, RankingOptions()), "label")
    assert np.array_equal(bits_of(rows.label_bits(rows.units[:1])[0]), LABELS)


@pytest.mark.parametrize("kind", [pa.bool_(), pa.uint8(), pa.int64()], ids=str)
@pytest.mark.parametrize("pieces", [[0, N], [13, N], [64, 200], [1, 2], [5, 69], [0, 7, 7, 130, N]])
def test_labels_of_a_table_in_memory(kind, pieces):
    """Arrow's bitmaps begin at any bit, and go on after the last row."""
    parts = [pa.array(LABELS).cast(kind)[a:b] for a, b in pairwise(pieces)]
    rows = labelled_rows(open_ranking(pa.table({"label": pa.chunked_array(parts)}), RankingOptions()), "label")
    n, (unit,) = pieces[-1] - pieces[0], rows.units
    words = rows.label_bits([unit])[0]
    assert words.size == n // 64 + 2
    assert np.array_equal(bits_of(words, 64 * words.size)[:n], LABELS[pieces[0] : pieces[-1]])
    assert not bits_of(words, 64 * words.size)[n:].any()
    assert np.array_equal(rows.labels(unit), LABELS[pieces[0] : pieces[-1]])


@pytest.mark.parametrize("options", [{"data_page_version": "2.0"}, {"compression": "brotli"}])
def test_scores_that_arrow_decodes_are_the_same(tmp_path, options):
    scores, cutoffs = np.sort(RANDOM.integers(0, 90, N)).astype(np.float32)[::-1], np.array([1, 600, N])
    found = []
    for written in ({}, options):
        table = pa.table({"score": scores, "label": LABELS.astype(bool)})
        unit = unit_of(tmp_path / "a.parquet", table, use_dictionary=False, **written)
        assert (unit.numbers("score", np.empty(N, np.uint64)) is None) == (written is options)
        rows = labelled_rows(open_ranking(str(tmp_path / "a.parquet"), RankingOptions(score="score")), "label")
        found.append((next(read_bits(rows, rows.units, cutoffs)), rows.read(rows.units[0])))
    for one, other in zip(*found, strict=True):
        for name, value in vars(one).items():
            assert same(value, getattr(other, name)), name


def same(one, other):
    """Compare arrays, numbers, and dataclasses of these."""
    return all(map(same, vars(one).values(), vars(other).values())) if is_dataclass(one) else np.array_equal(one, other)


PACKED, LEVELS = varint((N + 7) // 8 << 1 | 1), varint(N << 1) + b"\x01"
BITS = np.packbits(LABELS.astype(np.uint8), bitorder="little").tobytes()


def kernel_says(body, encoding, *, optional=0, width=0, entries=2):
    """What `chunk_bits` makes of one page, as plain Python: its labels, or None."""
    told = np.zeros(plain.N_TOLD, np.int64)
    told[[plain.OPTIONAL, plain.WIDTH, plain.ENTRIES, plain.SECOND]] = optional, width, entries, 1
    page = np.zeros((1, headers.N_HEADER + 2), np.int64)
    page[0, [headers.PAGE_COMPRESSED, headers.PAGE_VALUES]] = len(body), N
    page[0, [headers.ENCODING, headers.LEVELS, headers.REPETITIONS]] = encoding, plain.RLE, plain.RLE
    words = np.zeros(N // 64 + 2, np.uint64)
    done = plain.chunk_bits.plain()(np.frombuffer(body, np.uint8), page, told, 0, words)
    return None if done < 0 else bits_of(words)


def test_a_sound_page_is_packed_in_each_encoding():
    for body, encoding, told in [
        (BITS, plain.PLAIN, {}),
        (with_length(LEVELS) + BITS, plain.PLAIN, {"optional": 1}),
        (with_length(PACKED + b"\xff" * ((N + 7) // 8)) + BITS, plain.PLAIN, {"optional": 1}),
        (with_length(PACKED + BITS), plain.RLE, {}),
        (b"\x01" + PACKED + BITS, plain.RLE_DICTIONARY, {"width": 8}),
    ]:
        assert np.array_equal(kernel_says(body, encoding, **told), LABELS)


@pytest.mark.parametrize("many", [2**31, 2**60, 2**62, 2**63 - 1])
def test_runs_longer_than_their_page_are_left_to_others(many):
    """Numbers that would wrap around, and pass for small ones."""
    for head in (varint(many << 1 & 2**64 - 1), varint((many << 1 | 1) & 2**64 - 1)):
        runs = head + b"\xff" * (2 * N)
        assert kernel_says(with_length(runs) + BITS, plain.PLAIN, optional=1) is None
        assert kernel_says(with_length(runs), plain.RLE) is None
        assert kernel_says(b"\x01" + runs, plain.RLE_DICTIONARY, width=8) is None


@pytest.mark.parametrize("length", [0, 2, len(PACKED + BITS) - 1, len(PACKED + BITS) + 1, 2**31, 2**32 - 1])
def test_a_length_that_lies_is_left_to_others(length):
    assert kernel_says(with_length(PACKED + BITS, length), plain.RLE) is None
    assert kernel_says(with_length(LEVELS, length) + BITS, plain.PLAIN, optional=1) is None


def test_runs_that_end_too_early_or_too_late_are_left_to_others():
    more = varint(((N + 7) // 8 + 50) << 1 | 1)
    for runs in (PACKED + BITS[:-1], more + BITS, LEVELS + LEVELS, varint(N + 1 << 1) + b"\x01", varint(0) + LEVELS):
        levels = with_length(runs) + BITS
        assert kernel_says(levels, plain.PLAIN, optional=1) is None
    for runs in (PACKED + BITS[:-1], more + BITS, varint(N + 1 << 1) + b"\x01", varint(0) + PACKED + BITS):
        assert kernel_says(with_length(runs), plain.RLE) is None
        assert kernel_says(b"\x01" + runs, plain.RLE_DICTIONARY, width=8) is None


def test_a_dictionary_that_is_not_plain_is_left_to_others(tmp_path):
    path = tmp_path / "a.parquet"
    assert unit_of(path, column(pa.int64()), compression="none").bits("label") is not None
    whole, two_plain = path.read_bytes(), b"\x15\x04\x15\x00"  # entries, and how they are encoded
    assert two_plain in whole
    path.write_bytes(whole.replace(two_plain, b"\x15\x04\x15\x10", 1))
    unit = open_ranking(str(path), RankingOptions()).rows.units("label")[0]
    assert unit.bits("label") is None
    with pytest.raises(StreamevalError):
        unit.read(["label"])


def test_no_rows_of_a_list_are_a_range_without_labels(tmp_path):
    rows = list_of(tmp_path / "a.parquet", np.arange(N, 0, -1.0))
    nothing = rows.rows(N, N)
    assert (nothing.before, nothing.labels.tolist(), nothing.keys.tolist()) == (N, [], [])
