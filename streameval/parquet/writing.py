"""Write the end of a Parquet file: the metadata of column chunks that others wrote.

It holds what decoding needs and nothing else: no statistics, no indexes, no level histograms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streameval.parquet import thrift
from streameval.parquet.schema import Leaf

MAGIC = b"PAR1"
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8


@dataclass(frozen=True)
class ChunkPlace:
    """Where a column chunk lies, and what it holds.

    Attributes:
        at, size: Its first byte, and its bytes.
        uncompressed: Bytes of its pages, headers included, decompressed.
        dictionary: Bytes of its dictionary page; 0 without one.
        codec: Parquet's number.
    """

    at: int
    size: int
    uncompressed: int
    values: int
    dictionary: int
    codec: int


def column_chunk(leaf: Leaf, place: ChunkPlace) -> bytes:
    """Write a ColumnChunk of file_offset and meta_data."""
    # ColumnMetaData up to the path: type, encodings, path_in_schema
    encodings = thrift.write_list(thrift.I32, [_PLAIN, _RLE, _RLE_DICTIONARY])
    column = b"\x15" + thrift.zigzag(leaf.physical) + b"\x19" + encodings + b"\x19" + leaf.named
    numbers = {4: place.codec, 5: place.values, 6: place.uncompressed, 7: place.size, 9: place.at + place.dictionary}
    if place.dictionary:
        numbers[11] = place.at
    last = 3
    for number, value in numbers.items():
        kind = thrift.I32 if number == 4 else thrift.I64
        column += bytes([(number - last) << 4 | kind]) + thrift.zigzag(value)
        last = number
    return b"\x26" + thrift.zigzag(place.at) + b"\x1c" + column + b"\0\0"


def row_group(chunks: Sequence[bytes], uncompressed: int, rows: int) -> bytes:
    """Write a RowGroup of columns, total_byte_size, num_rows."""
    columns = thrift.list_head(thrift.STRUCT, len(chunks)) + b"".join(chunks)
    return b"\x19" + columns + b"\x16" + thrift.zigzag(uncompressed) + b"\x16" + thrift.zigzag(rows) + b"\0"


def ending(schema: bytes, rows: int, groups: Sequence[bytes], keys: bytes = b"") -> bytes:
    """Write FileMetaData (version, schema, num_rows, row_groups, key_value_metadata), its length and the magic number.

    Args:
        schema: List of schema elements.
        groups: See `row_group`.
        keys: List of key-value pairs; empty for none.
    """
    head = b"\x15\x02\x19" + schema + b"\x16" + thrift.zigzag(rows) + b"\x19"
    body = thrift.list_head(thrift.STRUCT, len(groups)) + b"".join(groups)
    written = head + body + (b"\x19" + keys if keys else b"") + b"\0"
    return written + len(written).to_bytes(4, "little") + MAGIC
