"""What is said of pages that cannot be decoded: words of the format, and none of a library's."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streameval import InputError, RankingOptions
from streameval.parquet.undecodable import _UNKNOWN, _WORDS, why_undecodable
from streameval.rows import open_rows

SAID = {_UNKNOWN, *(words for _, words in _WORDS)}


def refusal_of(read):
    """What is said where it refuses; nothing where damage left what can be read."""
    try:
        read()
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip", "lz4", "brotli"])
def test_damaged_pages_are_told_in_words_of_the_format(tmp_path, codec):
    rng, path, told = np.random.default_rng(3), tmp_path / "list.parquet", []
    table = pa.table({"score": rng.integers(0, 40, 300) / 8, "tags": [[f"é{i % 9}"] * (i % 3) for i in range(300)]})
    pq.write_table(table, path, compression=codec, write_statistics=False)
    whole = path.read_bytes()
    pages = len(whole) - int.from_bytes(whole[-8:-4], "little") - 8
    for _ in range(40):
        damaged = bytearray(whole)
        for at in rng.integers(4, pages, 3):
            damaged[at] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        rows = open_rows(str(path), RankingOptions())
        for read in (lambda rows=rows: rows.units()[0].read(["score", "tags"]),
                     lambda rows=rows: rows.take(np.array([7, 200]), ["score", "tags"])):  # fmt: skip
            told.append(refusal_of(read))
    reasons = [reason for said in told for reason in re.findall(r"cannot be decoded \((.*?)\)\.", said)]
    assert reasons
    assert {*reasons} <= SAID
    assert not re.search(r"Codec|TProtocol|num_values|Arrow|ZSTD|bit_width", " ".join(told))


@pytest.mark.parametrize(("raised", "words"), [
    (OSError("Corrupt ZSTD compressed data."), "a page cannot be decompressed"),
    (OSError("GZipCodec failed: invalid distance too far back"), "a page cannot be decompressed"),
    (OSError("Couldn't deserialize thrift: TProtocolException: Invalid data"), "the header of a page cannot be read"),
    (OSError("Number of decoded rep / def levels do not match num_values in page header"),
     "its repetition and definition levels do not fit its values"),
    (OSError("Unexpected end of stream"), "a page ends too early"),
    (pa.ArrowIndexError("Index 300 out of bounds"), "a value is no entry of its dictionary"),
    (pa.ArrowNotImplementedError("Not yet implemented: BYTE_STREAM_SPLIT"), "the reader has no such type or encoding"),
    (KeyError(1), "its pages are damaged, or not what their headers say"),
])  # fmt: skip
def test_what_a_library_raises_is_one_of_the_words(raised, words):
    assert why_undecodable(raised) == words
