"""Damaged and odd Parquet files through the command line: each ends in one line with the file's name, or is read."""

import os
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import SHARED
from suite_cases import LONG

from streameval.cli import run
from streameval.counting.labelled_rows import labelled_rows
from streameval.errors import InputError
from streameval.parquet import thrift
from streameval.rankings import open_ranking
from streameval.rows import open_rows
from streameval.rows.options import RankingOptions

_ATTACK = SHARED / "attack"
_PLAN = ["--method", "paula(epsilon=.5, window=5, head=20)"]


@pytest.fixture
def streameval(capsys):
    """Run a command; its status, and what it said. A file that ends the process ends the suite's."""

    def command(*arguments):
        capsys.readouterr()
        status = run([str(one) for one in arguments])
        return status, capsys.readouterr().err

    return command


def one_line(said, *parts):
    (line,) = said.strip().splitlines()
    assert all(part in line for part in parts), line


def write(path, n=4000, **options):
    """A list in three row groups whose scores and labels are plain numbers in pages of their own."""
    scores = np.linspace(1, 0, n)
    table = {"id": np.arange(n), "score": scores, "label": (np.arange(n) % 3 == 0).astype(np.int32)}
    given = {"compression": "none", "use_dictionary": False, "row_group_size": 1500, "write_page_checksum": True}
    pq.write_table(pa.table(table), path, **given | options)
    return path


def flip(path, column, byte=8):
    """Flip a bit near the end of a column's first chunk."""
    chunk = pq.read_metadata(path).row_group(0).column(column)
    raw = bytearray(path.read_bytes())
    raw[chunk.data_page_offset + chunk.total_compressed_size - byte] ^= 1
    path.write_bytes(raw)


def edit_footer(path, change):
    """Write the footer again after `change` of its Thrift fields."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[-8:-4], "little")
    fields, _ = thrift.read_struct(raw[-8 - length : -8])
    change(fields)
    footer = thrift.write_struct(fields)
    path.write_bytes(raw[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def chunk_of(fields, group, column):
    return fields[4][1][1][group][1][1][1][column][3][1]


def ways(path, **options):
    """Every way in which scores, labels and keys are read."""
    rows = np.array([1, 700])

    def scanned(**more):
        return open_ranking(str(path), RankingOptions(score="score", **options, **more)).fetch(rows, ["id"])

    def labels():
        opened = labelled_rows(open_ranking(str(path), RankingOptions(score="score", **options)), "label")
        return [opened.read(unit) for unit in opened.units]

    return {"score": scanned, "label": labels, "id": lambda: scanned(key=("id",))}


@pytest.mark.parametrize("column", ["id", "score", "label"])
def test_a_flipped_bit_fails_its_checksum_however_it_is_read(tmp_path, column):
    path = write(tmp_path / "r.parquet")
    ways(path)[column]()
    flip(path, ["id", "score", "label"].index(column))
    with pytest.raises(InputError, match=rf"r\.parquet: row group 0, column {column}: .* fails its checksum"):
        ways(path)[column]()
    ways(path, verify="off")[column]()


@pytest.mark.parametrize(("version", "codec"), [("1.0", "none"), ("2.0", "zstd")])  # the others: as library, above
def test_checksums_count_on_the_command_line(tmp_path, streameval, version, codec):
    path = write(tmp_path / "r.parquet", data_page_version=version, compression=codec)
    assert streameval("exact", path, "--label", "label", "--score", "score", "--json")[0] == 0
    flip(path, 1)
    for verb in (["exact", path, "--label", "label", "--score", "score"], ["select", tmp_path / "s"]):
        if verb[0] == "select":
            assert streameval("plan", path, "--study", tmp_path / "s", "--score", "score", *_PLAN)[0] == 0
        status, said = streameval(*verb)
        assert status == 2
        one_line(said, "r.parquet: row group 0, column score", "fails its checksum")


def test_a_score_beyond_its_statistics_is_refused_without_checksums(tmp_path):
    path = write(tmp_path / "r.parquet", write_page_checksum=False)
    chunk = pq.read_metadata(path).row_group(0).column(1)
    raw = bytearray(path.read_bytes())
    at = chunk.data_page_offset + chunk.total_compressed_size - 800
    at -= (at - chunk.data_page_offset - chunk.total_compressed_size) % 8
    raw[at : at + 8] = np.float64(1.2314).tobytes()
    path.write_bytes(raw)
    with pytest.raises(InputError, match=r"row group 0, column score: its values go from .* to 1\.2314, but its stat"):
        ways(path)["score"]()
    ways(path, verify="off")["score"]()


def test_counts_of_nulls_that_lie_are_refused(tmp_path):
    path = write(tmp_path / "r.parquet")
    edit_footer(path, lambda fields: chunk_of(fields, 0, 1)[12][1].update({3: (thrift.I64, 7)}))
    with pytest.raises(InputError, match="row group 0, column score: 0 values are null, but its statistics say 7"):
        ways(path)["score"]()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f[4][1][1][1].update({7: (thrift.I16, 2)}), "row group 1 says that it is row group 2"),
        (lambda f: chunk_of(f, 0, 1).update({3: (thrift.LIST, (thrift.BINARY, [b"id"]))}), "of another column"),
        (lambda f: chunk_of(f, 0, 1).update({1: (thrift.I32, 1)}), "physical type 1, but 5 in the schema"),
        (lambda f: chunk_of(f, 0, 1).update({5: (thrift.I64, 1501)}), "claims 1,500 rows and 1,501 values"),
        (lambda f: f[4][1][1][0].update({3: (thrift.I64, 1499)}), "claims 1,499 rows and 1,500 values"),
        (lambda f: chunk_of(f, 0, 1)[12][1].update({5: (thrift.BINARY, b"")}), "have 0 bytes instead of 8"),
    ],
)
def test_footers_that_contradict_themselves(tmp_path, streameval, change, said):
    path = write(tmp_path / "r.parquet")
    edit_footer(path, change)
    status, told = streameval("exact", path, "--label", "label", "--score", "score")
    assert status == 2
    one_line(told, "r.parquet: row group", said)


def test_a_version_2_page_with_two_numbers_of_rows(tmp_path):
    path = write(tmp_path / "r.parquet", data_page_version="2.0", write_page_checksum=False, write_page_index=True)
    chunk = pq.read_metadata(path).row_group(0).column(1)
    raw = bytearray(path.read_bytes())
    at = chunk.data_page_offset
    header, end = thrift.read_struct(bytes(raw), at)
    header[8][1][3] = (thrift.I32, header[8][1][3][1] - 1)
    changed = thrift.write_struct(header)
    assert len(changed) == end - at
    raw[at:end] = changed
    path.write_bytes(raw)
    for read in (ways(path)["score"], lambda: open_ranking(str(path)).fetch(np.array([3]), ["score"])):
        with pytest.raises(InputError, match="row group 0, column score"):
            read()


ATTACKS = {
    "column_name_not_utf8": "has a name that is not UTF-8",
    "dupcols": "two columns are named 'text'",
    "giant_dictionary": "too much for the memory limit",
    "levels_histogram_abort": None,
    "not_utf8_text": "column 'text' is not UTF-8",
    "polars_abort_num_values": "column score",
    "stats_short_abort": None,
    "exact_score_stats_zero_traceback": None,
}


@pytest.mark.skipif(not _ATTACK.is_dir(), reason="the files that an attack left are not on this machine")
@pytest.mark.parametrize("name", ATTACKS)
def test_no_file_of_the_attack_ends_the_process(tmp_path, streameval, name):
    path, expected = _ATTACK / f"{name}.parquet", ATTACKS[name]
    orders = {"stored": [], "score": ["--score", "score"], "key": ["--score", "score", "--key", "text"]}
    commands = []
    for study, order in orders.items() if LONG else [("stored", orders["stored"]), ("key", orders["key"])]:
        commands.append(["plan", path, "--study", tmp_path / study, *_PLAN, "--memory", ".2", *order])
        commands.append(["select", tmp_path / study, "--export", tmp_path / f"{study}.csv"])
        commands.append(["exact", path, "--label", "label", *order])
    found = [streameval(*command) for command in commands]
    for status, said in found:
        assert status in (0, 2), said
        assert status == 0 or len(said.strip().splitlines()) == 1, said
    if expected is not None:
        assert any(expected in said and f"{name}.parquet" in said for _, said in found), found


def test_a_giant_dictionary_is_refused_before_it_is_decompressed(tmp_path):
    path = tmp_path / "r.parquet"
    texts = [chr(97 + i) * 2_000_000 for i in range(10)]
    table = pa.table({"score": np.linspace(1, 0, 40), "text": pa.array([texts[i % 10] for i in range(40)])})
    pq.write_table(table, path, compression="zstd", use_dictionary=["text"], dictionary_pagesize_limit=1 << 30)
    assert path.stat().st_size < 100_000
    options = RankingOptions(memory=0.025, threads=1)
    with pytest.raises(InputError, match=r"column text: one of its pages takes 0\.02 GB decompressed, too much"):
        open_ranking(str(path), options).fetch(np.arange(1, 40), ["text"])
    assert open_ranking(str(path)).fetch(np.array([2]), ["text"]).table["text"].to_pylist() == [texts[1]]


def test_what_is_no_file_is_refused_at_once(tmp_path, streameval):
    pipe = tmp_path / "r.parquet"
    os.mkfifo(pipe)
    for source in (pipe, tmp_path):
        status, said = streameval("plan", source, "--study", tmp_path / "s", *_PLAN)
        assert status == 2
        one_line(said, "r.parquet: not a file" if source == pipe else "no Parquet file in this folder")


@pytest.mark.parametrize("number", [5, 24])
def test_trouble_while_a_footer_is_read_is_worth_another_try(tmp_path, monkeypatch, number):
    from streameval.errors import OutsideError
    from streameval.stores import local

    path = write(tmp_path / "r.parquet")

    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(local.LocalStore, "tail", fail)
    with pytest.raises(OutsideError):
        open_ranking(str(path))


def test_windows_beyond_any_list_are_refused(tmp_path, streameval):
    path = write(tmp_path / "r.parquet")
    status, said = streameval("exact", path, "--label", "label", "--method", f"paula(window={2**63})")
    assert status == 2
    one_line(said, "a window of 9,223,372,036,854,775,808 labels is above")


def test_checksums_are_those_of_the_format(tmp_path):
    path = write(tmp_path / "r.parquet")
    chunk, raw = pq.read_metadata(path).row_group(0).column(1), path.read_bytes()
    header, end = thrift.read_struct(raw, chunk.data_page_offset)
    assert zlib.crc32(raw[end : end + header[3][1]]) == header[4][1] % 2**32


def test_text_within_a_list_has_to_be_text(tmp_path):
    good = pa.array([["a"], None, ["bb", "c"]])
    values = pa.array([b"a", b"\xff\xfe", b"c"]).view(pa.string())
    path = tmp_path / "r.parquet"
    pq.write_table(pa.table({"good": good, "bad": pa.ListArray.from_arrays(good.offsets, values)}), path)
    ranking = open_ranking(str(path))
    assert ranking.fetch(np.array([1, 3]), ["good"]).table["good"].to_pylist() == [["a"], ["bb", "c"]]
    with pytest.raises(InputError, match=r"r\.parquet: row group 0, column 'bad': cannot be used .*UTF"):
        ranking.fetch(np.array([3]), ["bad"])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda elements: elements[1].pop(1), "has no physical type, or is a group without columns, such as an empty"),
        (lambda elements: elements[1].pop(4), "an element lacks a field"),
        (lambda elements: elements.clear(), "it has no elements"),
    ],
)
def test_a_schema_that_lacks_something_is_refused_in_words_of_the_format(tmp_path, change, why):
    path = write(tmp_path / "r.parquet")
    edit_footer(path, lambda fields: change(fields[2][1][1]))
    with pytest.raises(InputError, match=rf"r\.parquet: its Parquet schema cannot be read \(.*{why}"):
        open_ranking(str(path))


def test_a_column_whose_name_is_no_text(tmp_path):
    path = write(tmp_path / "r.parquet")
    edit_footer(path, lambda fields: fields[2][1][1][2].update({4: (thrift.STRUCT, {})}))
    with pytest.raises(InputError, match="schema cannot be read"):
        open_ranking(str(path))


def write_column(path, values, **options):
    """A list of one column and one row group."""
    pq.write_table(pa.table({"x": values}), path, **{"write_page_index": True} | options)
    return path


def edit_first_page(path, change):
    """Write the header of the first page again after `change`; there is one column, and no page index."""
    raw = path.read_bytes()
    header, end = thrift.read_struct(raw, 4)
    change(header)
    new = thrift.write_struct(header)
    path.write_bytes(raw[:4] + new + raw[end:])

    def move(fields):
        chunk = chunk_of(fields, 0, 0)
        for place in (7, 9):
            chunk[place] = (thrift.I64, chunk[place][1] + len(new) - (end - 4))

    edit_footer(path, move)


def read_items(path):
    return open_rows(str(path), RankingOptions()).take(np.array([1, 30]), ["x"]).table


def read_row_group(path):
    return open_rows(str(path), RankingOptions()).units()[0].read(["x"])


def read_batches(path):
    found = open_rows(str(path), RankingOptions()).stretches(np.arange(40), ["x"])
    return pa.concat_tables([table for _, whole in found if whole for table in whole(17)])


FIXED = pa.array([bytes([i % 5, 0, 0, 1]) for i in range(40)], pa.binary(4))
READS = [read_items, read_row_group, read_batches]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("claimed", [6, 2**31 - 1, 2**63 - 1, -1])
@pytest.mark.parametrize(
    "values", [FIXED, pa.array([i % 5 for i in range(40)], pa.int32()), pa.array([str(i % 4) for i in range(40)])]
)
def test_a_dictionary_that_claims_more_values_than_it_has_bytes_for_is_refused(tmp_path, values, claimed, read):
    path = write_column(tmp_path / "r.parquet", values, write_page_index=False)
    read(path)
    edit_first_page(path, lambda header: header[7][1].update({1: (thrift.I32, claimed)}))
    said = rf"r\.parquet: row group 0, column x: its dictionary claims {claimed:,} values in 20 bytes"
    with pytest.raises(InputError, match=said):
        read(path)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("coded", [True, False])
@pytest.mark.parametrize("length", [2**31 - 1, 2**32 + 4, 2**63 - 1])
def test_values_longer_than_any_page_are_refused(tmp_path, length, coded, read):
    path = write_column(tmp_path / "r.parquet", FIXED, use_dictionary=coded)
    read(path)
    edit_footer(path, lambda fields: fields[2][1][1][1].update({2: (thrift.I32, length)}))
    with pytest.raises(
        InputError, match=r"r\.parquet: row group 0, column x: (claims values of|its dictionary claims)"
    ):
        read(path)


@pytest.mark.parametrize("read", READS)
def test_nulls_of_a_length_beyond_their_pages_are_read(tmp_path, read):
    path = write_column(tmp_path / "r.parquet", pa.array([None] * 40, pa.binary(5000)), write_statistics=False)
    found = read(path)["x"]
    assert found.null_count == len(found) > 0
