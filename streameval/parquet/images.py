"""Small Parquet files in memory, which Arrow decodes: pages that others wrote, and a footer of our own.

The footer holds what decoding needs and nothing else: no statistics, no indexes, no level histograms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from streameval.parquet import thrift
from streameval.parquet.schema import Leaf

MAGIC = b"PAR1"
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8


@dataclass(frozen=True)
class StoredChunk:
    """A column chunk as it is stored, wherever that is.

    Attributes:
        rows: Of its row group.
        size, uncompressed: Bytes of its pages, headers included, as stored and decompressed.
        dictionary: Bytes of its dictionary page; 0 without one.
        codec: Parquet's number.
    """

    leaf: Leaf
    rows: int
    size: int
    uncompressed: int
    values: int
    dictionary: int
    codec: int


StoredGroups = Sequence[Sequence[StoredChunk]]


def image(schema: bytes, groups: StoredGroups, pages: Iterable[bytes | memoryview], keys: bytes = b"") -> bytes:
    """Write a file whose chunks lie one after another; arguments as of `ending`, and all their pages in order."""
    places = accumulate((chunk.size for group in groups for chunk in group), initial=len(MAGIC))
    return b"".join([MAGIC, *pages, ending(schema, groups, places, keys)])


def ending(schema: bytes, groups: StoredGroups, places: Iterable[int] = (), keys: bytes = b"") -> bytes:
    """Write FileMetaData (version, schema, num_rows, row_groups, key_value_metadata), its length and the magic number.

    Args:
        schema: List of schema elements.
        groups: The chunks of each row group, one at least.
        places: First byte of each chunk, of one row group after another.
        keys: List of key-value pairs; empty for none.
    """
    at, count = iter(places), thrift.list_head(thrift.STRUCT, len(groups))
    head = b"\x15\x02\x19" + schema + b"\x16" + thrift.zigzag(sum([group[0].rows for group in groups])) + b"\x19"
    body = b"".join([_row_group(group, [next(at) for _ in group]) for group in groups])
    written = head + count + body + (b"\x19" + keys if keys else b"") + b"\0"
    return written + len(written).to_bytes(4, "little") + MAGIC


def _row_group(chunks: Sequence[StoredChunk], places: Sequence[int]) -> bytes:
    """Write a RowGroup of columns, total_byte_size, num_rows."""
    columns = thrift.list_head(thrift.STRUCT, len(chunks)) + b"".join(map(_column_chunk, chunks, places))
    size = thrift.zigzag(sum([chunk.uncompressed for chunk in chunks]))
    return b"\x19" + columns + b"\x16" + size + b"\x16" + thrift.zigzag(chunks[0].rows) + b"\0"


def _column_chunk(chunk: StoredChunk, at: int) -> bytes:
    """Write a ColumnChunk of file_offset and meta_data."""
    # ColumnMetaData up to the path: type, encodings, path_in_schema
    encodings = thrift.write_list(thrift.I32, [_PLAIN, _RLE, _RLE_DICTIONARY])
    column = b"\x15" + thrift.zigzag(chunk.leaf.physical) + b"\x19" + encodings + b"\x19" + chunk.leaf.named
    numbers = {4: chunk.codec, 5: chunk.values, 6: chunk.uncompressed, 7: chunk.size, 9: at + chunk.dictionary}
    if chunk.dictionary:
        numbers[11] = at
    last = 3
    for number, value in numbers.items():
        kind = thrift.I32 if number == 4 else thrift.I64
        column += bytes([(number - last) << 4 | kind]) + thrift.zigzag(value)
        last = number
    return b"\x26" + thrift.zigzag(at) + b"\x1c" + column + b"\0\0"
