"""The smallest case of every kind of failure that attacks have found so far, made by code.

Of a damaged file, a function gives the undamaged one and the bytes of the damaged one; of an odd one, that nobody
damaged, its bytes. `../shared/attack` holds more where it is there.
"""

from __future__ import annotations

import io
import struct
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from attack import layout, writers
from attack.layout import Chunk, Page, Parquet
from attack.thrift import BINARY, I32, I64, Struct, encode

_PLAIN = {"compression": "none", "use_dictionary": False}
_PAGED = {"write_page_index": True, "data_page_size": 400, "write_batch_size": 20}


Damaged = tuple[Parquet, bytes]


def _file(table: pa.Table | None = None, **how: Any) -> Parquet:
    out = io.BytesIO()
    pq.write_table(writers.table(False) if table is None else table, out, row_group_size=writers.GROUP, **how)
    return layout.read(out.getvalue())


def _chunk(file: Parquet, name: bytes, group: int = 1) -> Chunk:
    return next(one for one in file.chunks if one.group == group and one.path[0] == name)


def _data_page(chunk: Chunk) -> Page:
    return next(page for page in chunk.pages if page.header.get(layout.PAGE_TYPE) != 2)


def _with_bytes(file: Parquet, at: int, new: bytes) -> bytes:
    return file.raw[:at] + new + file.raw[at + len(new) :]


def _with_footer(file: Parquet, change: Callable[[Struct], None]) -> bytes:
    footer = file.footer.copy()
    change(footer)
    return layout.with_footer(file.raw, file.footer_at, footer)


def _column(footer: Struct, group: int, column: int) -> Struct:
    return footer.get(layout.GROUPS).values[group].get(layout.COLUMNS).values[column].get(layout.META)


def flipped_bit_in_a_checksummed_score_page() -> Damaged:
    """The exponent of a score: it doubles, and its item would be rank 1."""
    file = _file(**_PLAIN, write_page_checksum=True, write_statistics=False)
    at = _data_page(_chunk(file, b"score")).end - 2
    return file, _with_bytes(file, at, bytes([file.raw[at] ^ 0x10]))


def zeroed_labels_in_a_checksummed_page() -> Damaged:
    file = _file(**_PLAIN, write_page_checksum=True, write_statistics=False)
    page = _data_page(_chunk(file, b"label"))
    return file, _with_bytes(file, page.end - 100, bytes(100))


def score_outside_the_statistics_of_its_row_group() -> Damaged:
    """No checksums; the statistics alone show it."""
    file = _file(**_PLAIN)
    return file, _with_bytes(file, _data_page(_chunk(file, b"score")).end - 80, struct.pack("<d", 7.5))


def label_outside_the_statistics_of_its_row_group() -> Damaged:
    table = writers.table(False)
    zeros = pa.array([0] * writers.ROWS, pa.int8())
    file = _file(table.set_column(2, "label", zeros), **_PLAIN)
    return file, _with_bytes(file, _data_page(_chunk(file, b"label")).end - 4, struct.pack("<i", 1))


def statistics_too_short() -> Damaged:
    """Bounds of three bytes for eight of a number ended the process."""

    def change(footer: Struct) -> None:
        stats = _column(footer, 0, 1).get(layout.STATISTICS)
        for number in (5, 6):
            stats.put(number, BINARY, stats.get(number)[:3])

    file = _file()
    return file, _with_footer(file, change)


def statistics_of_zero() -> Damaged:
    """Scores are not all 0, as the bounds say; `exact --score` ended in a traceback."""

    def change(footer: Struct) -> None:
        for group in range(3):
            stats = _column(footer, group, 1).get(layout.STATISTICS)
            for number in (5, 6):
                stats.put(number, BINARY, bytes(8))

    file = _file(**_PLAIN)
    return file, _with_footer(file, change)


def histogram_of_other_levels() -> Damaged:
    """A histogram of definition levels with a level too few ended the process."""

    def change(footer: Struct) -> None:
        meta = _column(footer, 1, 4)
        del meta.get(16).get(3).values[0]

    file = _file()
    return file, _with_footer(file, change)


def physical_type_of_another_column() -> Damaged:
    file = _file()
    return file, _with_footer(file, lambda footer: setattr(_column(footer, 1, 1).find(layout.TYPE), "value", 2))


def more_values_than_a_page_has() -> Damaged:
    """The count is in the page header; read for `--key`, it ended the process."""
    file = _file(**_PLAIN)
    page = _data_page(_chunk(file, b"item"))
    header = page.header.copy()
    header.get(layout.DATA_V1).find(1).value += 7  # the header stays as long as it was
    return file, _with_bytes(file, page.at, encode(header))


def rows_of_a_page_against_its_values() -> Damaged:
    """A flat page of version 2 has as many values as rows."""
    file = _file(**_PLAIN, data_page_version="2.0")
    page = _data_page(_chunk(file, b"score"))
    header = page.header.copy()
    header.get(layout.DATA_V2).find(1).value -= 1
    return file, _with_bytes(file, page.at, encode(header))


def two_columns_of_one_name() -> bytes:
    table = writers.table(False)
    return _file(table.rename_columns(["text" if name == "country" else name for name in table.schema.names])).raw


def text_that_is_not_utf8() -> bytes:
    """Some writers do not check; the file is as they meant it."""
    text = pa.array([b"caf\xe9 %d" % i for i in range(writers.ROWS)], pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(text), text.buffers())
    return _file(writers.table(False).set_column(4, "text", text)).raw


def column_name_that_is_not_utf8() -> bytes:
    def change(footer: Struct) -> None:
        footer.get(layout.SCHEMA).values[5].put(4, BINARY, b"\xffext")
        for group in range(3):
            _column(footer, group, 4).get(layout.PATH).values[0] = b"\xffext"

    return _with_footer(_file(store_schema=False), change)


def row_groups_exchanged() -> Damaged:
    """The ordinals that Polars gives them tell."""

    def change(footer: Struct) -> None:
        groups = footer.get(layout.GROUPS).values
        groups[0], groups[1] = groups[1], groups[0]

    with tempfile.TemporaryDirectory() as folder:
        file = layout.read(writers.write("polars", Path(folder)).read_bytes())
    return file, _with_footer(file, change)


def path_of_another_column() -> Damaged:
    """The chunks of two columns of one type are exchanged; the paths that they carry tell."""

    def change(footer: Struct) -> None:
        columns = footer.get(layout.GROUPS).values[0].get(layout.COLUMNS).values
        columns[0], columns[3] = columns[3], columns[0]

    file = _file()
    return file, _with_footer(file, change)


def integer_of_two_signs() -> Damaged:
    """Labels are unsigned by the converted type, and signed by the logical type."""
    file = _file()
    at = next(i for i, one in enumerate(file.footer.get(layout.SCHEMA).values) if one.get(4) == b"label")

    def change(footer: Struct) -> None:
        footer.get(layout.SCHEMA).values[at].put(6, I32, 11)

    return file, _with_footer(file, change)


def decimal_of_two_scales() -> Damaged:
    """Prices are hundredths in one place, and tenths of thousandths in the other."""
    file = _file()
    at = next(i for i, one in enumerate(file.footer.get(layout.SCHEMA).values) if one.get(4) == b"price")

    def change(footer: Struct) -> None:
        footer.get(layout.SCHEMA).values[at].get(10).fields[0].value.put(1, I32, 4)

    return file, _with_footer(file, change)


def _with_schema(file: Parquet, name: bytes, change: Callable[[Struct], None]) -> bytes:
    """The file with another schema element of a column."""
    elements = file.footer.get(layout.SCHEMA).values
    at = next(i for i, one in enumerate(elements) if one.get(4) == name)
    return _with_footer(file, lambda footer: change(footer.get(layout.SCHEMA).values[at]))


def decimal_without_its_type() -> Damaged:
    """Its precision is still there."""
    file = _file()
    return file, _with_schema(file, b"price", lambda element: element.remove(6, 10))


def logical_type_of_no_kind() -> Damaged:
    file = _file(store_schema=False)
    return file, _with_schema(file, b"price", lambda element: element.get(10).remove(5))


def decimal_of_too_many_digits() -> Damaged:
    """10 digits in a column of 9."""
    file = _file(**_PLAIN, write_statistics=False)
    return file, _with_bytes(file, _data_page(_chunk(file, b"price", 0)).end - 4, b"\x7f")


def required_by_omission() -> Damaged:
    """Without a word on whether there are nulls; the histogram of levels says that there may be."""
    file = _file()
    return file, _with_schema(file, b"price", lambda element: element.remove(3))


def required_against_its_levels() -> Damaged:
    file = _file()
    return file, _with_schema(file, b"price", lambda element: element.put(3, I32, 0))


def repeated_in_no_known_way() -> Damaged:
    file = _file()
    return file, _with_footer(file, lambda footer: footer.get(layout.SCHEMA).values[1].put(3, I32, 7))


def gzip_of_other_bytes() -> Damaged:
    """Its own checksum, at the end of the page, is the only one that there is."""
    file = _file(compression="gzip", use_dictionary=False, write_statistics=False)
    at = _data_page(_chunk(file, b"score")).end - 8
    return file, _with_bytes(file, at, bytes([file.raw[at] ^ 1]))


def null_count_that_lies() -> Damaged:
    def change(footer: Struct) -> None:
        _column(footer, 1, 1).get(layout.STATISTICS).put(3, I64, 5)

    file = _file(**_PLAIN)
    return file, _with_footer(file, change)


def null_count_below_zero() -> Damaged:
    def change(footer: Struct) -> None:
        _column(footer, 1, 1).get(layout.STATISTICS).put(3, I64, -(2**31))

    file = _file(compression="gzip")
    return file, _with_footer(file, change)


def text_no_longer_utf8() -> Damaged:
    """It is still within its statistics."""
    file = _file(**_PLAIN)
    at = file.raw.rindex("é".encode(), 0, _data_page(_chunk(file, b"text", 0)).end)
    return file, _with_bytes(file, at, b"\xff")


def _pages_exchanged(name: bytes, table: pa.Table | None = None, **how: Any) -> Damaged:
    """The first two pages of a column chunk; their checksums go with them."""
    file = _file(table, **_PLAIN, **_PAGED, write_page_checksum=True, **how)
    one, other = _chunk(file, name).pages[:2]
    return file, _with_bytes(file, one.at, file.raw[other.at : other.end] + file.raw[one.at : one.end])


def score_pages_exchanged() -> Damaged:
    """Pages of one size; the column index alone tells."""
    return _pages_exchanged(b"score")


def item_pages_exchanged() -> Damaged:
    """The same of texts, in pages of version 2."""
    items = [f"item {i:04}" for i in range(writers.ROWS)]
    table = writers.table(False).set_column(0, "item", pa.array(items))
    return _pages_exchanged(b"item", table, data_page_version="2.0")


def score_outside_the_statistics_of_its_page() -> Damaged:
    """Between the bounds of its column, but not between those in the header of its page."""
    file = _file(**_PLAIN, data_page_size=400, write_batch_size=20)
    chunk = _chunk(file, b"score", 0)
    return file, _with_bytes(file, chunk.pages[1].end - 16, file.raw[chunk.pages[0].end - 16 : chunk.pages[0].end - 8])


def text_outside_the_statistics_of_its_column() -> Damaged:
    file = _file(**_PLAIN)
    return file, _with_bytes(file, _data_page(_chunk(file, b"item")).end - 6, b"~")


@cache
def giant_dictionary() -> bytes:
    """Half a gigabyte of texts in a few kilobytes of file."""
    text = pa.DictionaryArray.from_arrays(
        [i % 500 for i in range(writers.ROWS)], [f"{i:06}" * 180_000 for i in range(500)]
    )
    table = writers.table(False).set_column(4, "text", text)
    return _file(table, compression="zstd", dictionary_pagesize_limit=1 << 31, write_statistics=False).raw


DAMAGED = (
    flipped_bit_in_a_checksummed_score_page,
    zeroed_labels_in_a_checksummed_page,
    score_outside_the_statistics_of_its_row_group,
    label_outside_the_statistics_of_its_row_group,
    statistics_too_short,
    statistics_of_zero,
    histogram_of_other_levels,
    physical_type_of_another_column,
    more_values_than_a_page_has,
    rows_of_a_page_against_its_values,
    row_groups_exchanged,
    path_of_another_column,
    integer_of_two_signs,
    null_count_that_lies,
    null_count_below_zero,
    text_no_longer_utf8,
    decimal_of_two_scales,
    decimal_without_its_type,
    logical_type_of_no_kind,
    decimal_of_too_many_digits,
    required_by_omission,
    required_against_its_levels,
    repeated_in_no_known_way,
    gzip_of_other_bytes,
    score_pages_exchanged,
    item_pages_exchanged,
    score_outside_the_statistics_of_its_page,
    text_outside_the_statistics_of_its_column,
)
ODD = (two_columns_of_one_name, text_that_is_not_utf8, column_name_that_is_not_utf8, giant_dictionary)
