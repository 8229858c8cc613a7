"""Whether a Parquet file contradicts itself.

A damaged file that gives another result is no fault of the reader if nothing in the file shows the damage. This looks
for everything that could: checksums, counts that occur twice, statistics against values, indexes against pages, column
chunks against the schema. It is slow, complete, and written without any of streameval's code.
"""

from __future__ import annotations

import io
import itertools
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attack import layout
from attack.layout import Chunk, Parquet
from attack.thrift import Items, Struct

# of these a reader of some rows cannot know without reading all rows of a row group
WHOLE_GROUP = ("null count", "values and rows", "distinct count")


def contradictions(raw: bytes, columns: Sequence[str] = ()) -> list[str]:
    """Name every kind of contradiction in a file; empty where it could be what somebody meant to write.

    Of pages, indexes and values those of some columns are looked at; of all where none is named.
    """
    try:
        file = layout.read(raw, [name.encode() for name in columns])
        found = [*_of_counts(file), *_of_schema(file), *_of_pages(file), *_of_indexes(file)]
    except (ValueError, IndexError, TypeError, AttributeError, KeyError) as error:
        return [f"structure ({type(error).__name__})"]
    if not found:
        try:
            found = list(_of_values(file))
        except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError, UnicodeDecodeError) as error:
            found = [f"values cannot be read ({type(error).__name__})"]
    return list(dict.fromkeys(found))


def _of_counts(file: Parquet) -> Iterator[str]:
    groups = file.footer.get(layout.GROUPS).values
    if sum(group.get(layout.GROUP_ROWS) for group in groups) != file.footer.get(layout.ROWS):
        yield "rows of groups against rows of the file"
    for i, group in enumerate(groups):
        metas = [entry.get(layout.META) for entry in group.get(layout.COLUMNS).values]
        if group.get(layout.ORDINAL, i) != i:
            yield "ordinal of a row group"
        if group.get(layout.TOTAL_BYTES) != sum(meta.get(layout.UNCOMPRESSED) for meta in metas):
            yield "bytes of a row group against its columns"
        if group.get(layout.GROUP_COMPRESSED) not in (None, sum(meta.get(layout.COMPRESSED) for meta in metas)):
            yield "compressed bytes of a row group against its columns"


def _leaves(file: Parquet) -> list[tuple[tuple[bytes, ...], Struct, bool]]:
    """Columns of the schema in their order: path, element, whether nothing above or in it repeats or is absent."""
    elements, found, at = file.footer.get(layout.SCHEMA).values, [], 1

    def walk(path: tuple[bytes, ...], flat: bool) -> None:
        nonlocal at
        one = elements[at]
        at += 1
        path = (*path, one.get(4))
        flat = flat and one.get(3) != 2
        if one.get(5):
            for _ in range(one.get(5)):
                walk(path, False)
        else:
            found.append((path, one, flat))

    for _ in range(elements[0].get(5, 0)):
        walk((), True)
    if at != len(elements):
        raise ValueError("elements of the schema are left over")
    return found


_OF_LOGICAL = {
    1: {0},
    2: {1},
    3: {2},
    4: {4},
    5: {5},
    6: {6},
    7: {7, 8},
    8: {9, 10},
    10: set(range(11, 19)),
    12: {19},
    13: {20},
}


def _of_schema(file: Parquet) -> Iterator[str]:
    leaves = _leaves(file)
    for _, element, _ in leaves:
        converted, logical = element.get(6), element.get(10)
        if element.get(3) is None:
            yield "a column that says nothing of nulls"
        if logical is not None and not logical.fields:
            yield "logical type of no kind"
        if element.get(8) and not _is_decimal(element):
            yield "precision of a column that is not decimal"
        if converted is not None and logical is not None and logical.fields:
            if converted not in _OF_LOGICAL.get(logical.fields[0].number, {converted}):
                yield "converted type against logical type"
            elif logical.fields[0].number == 5:
                said = logical.fields[0].value
                if (said.get(1), said.get(2)) != (element.get(7, 0), element.get(8)):
                    yield "scale and precision against logical type"
            elif logical.fields[0].number == 10 and converted != _converted_integer(logical.fields[0].value):
                yield "converted type against logical type"
    for chunk in file.chunks:
        path, element, _ = leaves[chunk.column]
        if chunk.path != path:
            yield "path of a column against the schema"
        if chunk.meta.get(layout.TYPE) != element.get(1):
            yield "type of a column against the schema"
    if any(len(group.get(layout.COLUMNS).values) != len(leaves) for group in file.footer.get(layout.GROUPS).values):
        yield "columns against the schema"


def _converted_integer(said: Struct) -> int:
    bits = said.get(1, 0)
    return {8: 0, 16: 1, 32: 2, 64: 3}.get(bits, -1) + (15 if said.get(2) else 11)


def _page_values(page: layout.Page) -> tuple[int, Struct | None]:
    header = page.header
    data = header.get(layout.DATA_V1) or header.get(layout.DATA_V2) or header.get(layout.DICTIONARY_PAGE)
    return (data.get(1), data) if data is not None else (0, None)


def _of_pages(file: Parquet) -> Iterator[str]:
    for chunk in file.chunks:
        meta, data = chunk.meta, [page for page in chunk.pages if page.header.get(layout.PAGE_TYPE) != 2]
        for page in chunk.pages:
            crc = page.header.get(layout.PAGE_CRC)
            if crc is not None and zlib.crc32(file.raw[page.body : page.end]) != crc & 0xFFFFFFFF:
                yield "checksum of a page"
            fields = {0: layout.DATA_V1, 2: layout.DICTIONARY_PAGE, 3: layout.DATA_V2}
            if page.header.find(fields.get(page.header.get(layout.PAGE_TYPE), -1)) is None:
                yield "type of a page against its header"
            encoding = (_page_values(page)[1] or Struct()).get(4 if page.header.find(layout.DATA_V2) else 2)
            if encoding not in meta.get(layout.ENCODINGS).values and encoding not in (0, 2):
                yield "encoding of a page against the column's"
        if not data or sum(_page_values(page)[0] for page in data) != meta.get(layout.VALUES):
            yield "values of pages against the column's"
        sizes = sum(p.body - p.at + p.header.get(layout.PAGE_UNCOMPRESSED) for p in chunk.pages)
        if sizes != meta.get(layout.UNCOMPRESSED):
            yield "bytes of pages against the column's"
        if data and chunk.meta.get(layout.DATA_AT) != data[0].at:
            yield "first page of a column"
        if chunk.pages and chunk.pages[-1].end != chunk.pages[0].at + meta.get(layout.COMPRESSED):
            yield "bytes of pages against the column's"
    taken = sorted((c.pages[0].at, c.pages[-1].end) for c in file.chunks if c.pages)
    if any(a[1] > b[0] for a, b in itertools.pairwise(taken)):
        yield "columns that overlap"


def _of_indexes(file: Parquet) -> Iterator[str]:
    for chunk in file.chunks:
        data = [page for page in chunk.pages if page.header.get(layout.PAGE_TYPE) != 2]
        found = file.index(chunk, layout.OFFSET_AT, layout.OFFSET_LENGTH)
        if found is not None:
            places = [(one.get(1), one.get(2)) for one in found[1].get(1).values]
            firsts = [one.get(3) for one in found[1].get(1).values]
            if places != [(page.at, page.end - page.at) for page in data]:
                yield "offset index against pages"
            if firsts[:1] != [0] or firsts != sorted(set(firsts)):
                yield "first rows of the offset index"
            if _flat_rows(file, chunk) and firsts != _first_rows(data):
                yield "first rows of the offset index against pages"
        found = file.index(chunk, layout.COLUMN_AT, layout.COLUMN_LENGTH)
        if found is not None:
            lists = [found[1].get(number) for number in (1, 2, 3, 5)]
            if any(isinstance(one, Items) and len(one.values) != len(data) for one in lists):
                yield "column index against pages"


def _flat_rows(file: Parquet, chunk: Chunk) -> bool:
    return _leaves(file)[chunk.column][2]


def _first_rows(data: list[layout.Page]) -> list[int]:
    rows, found = 0, []
    for page in data:
        found.append(rows)
        rows += _page_values(page)[0]
    return found


def _of_values(file: Parquet) -> Iterator[str]:
    """Values as an independent reader sees them, against counts and statistics."""
    source = pq.ParquetFile(io.BytesIO(file.raw))
    leaves = _leaves(file)
    for g, group in enumerate(file.footer.get(layout.GROUPS).values):
        for chunk in (one for one in file.chunks if one.group == g):
            path, element, flat = leaves[chunk.column]
            values = _leaf(source.read_row_group(g, columns=[b".".join(path).decode()], use_threads=False))
            if flat and len(values) != group.get(layout.GROUP_ROWS):
                yield "values and rows"
            stats = chunk.meta.get(layout.STATISTICS)
            yield from _against(values, element, stats, flat, "column")
            yield from _of_page_statistics(file, chunk, values, element, flat)


def _of_page_statistics(file: Parquet, chunk: Chunk, values: pa.Array, element: Struct, flat: bool) -> Iterator[str]:
    if not flat:
        return
    data = [page for page in chunk.pages if page.header.get(layout.PAGE_TYPE) != 2]
    index = file.index(chunk, layout.COLUMN_AT, layout.COLUMN_LENGTH)
    for i, (page, first) in enumerate(zip(data, _first_rows(data), strict=True)):
        count, header = _page_values(page)
        part = values.slice(first, count)
        assert header is not None
        stats = header.get(8 if page.header.find(layout.DATA_V2) else 5)
        yield from _against(part, element, stats, True, "page")
        if page.header.find(layout.DATA_V2) and header.get(2) != part.null_count:
            yield "null count of a page"
        if index is not None:
            found = index[1]
            said = Struct()
            if found.get(1).values[i] != 1:  # booleans of a list are 1 and 2
                said.put(6, 8, found.get(2).values[i])
                said.put(5, 8, found.get(3).values[i])
            elif part.null_count != len(part):
                yield "null pages of the column index"
            if found.get(5) is not None:
                said.put(3, 6, found.get(5).values[i])
            yield from _against(part, element, said, True, "column index")


def _leaf(table: pa.Table) -> pa.Array:
    """The values of the one leaf of a table, nulls of it included."""
    array = table.column(0).combine_chunks()
    array.validate(full=True)  # texts that are not UTF-8, too
    while pa.types.is_nested(array.type):
        array = array.field(0) if pa.types.is_struct(array.type) else array.flatten()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array


def _against(values: pa.Array, element: Struct, stats: Struct | None, flat: bool, whose: str) -> Iterator[str]:
    """Values against minimum, maximum and count of nulls."""
    if stats is None:
        return
    if flat and stats.get(3, values.null_count) != values.null_count:
        yield f"null count of a {whose}"
    plain = [one for one in _physical(values, element) if one is not None and one == one]
    for number, deprecated in ((5, False), (6, False), (1, True), (2, True)):
        bound = stats.get(number)
        if bound is None or not plain or (deprecated and isinstance(plain[0], bytes)):
            continue
        edge = _edge(bound, element)
        if edge is None:
            yield f"size of a bound of a {whose}"
        elif edge == edge and (edge < max(plain) if number in (1, 5) else edge > min(plain)):
            yield f"values outside the bounds of a {whose}"
    low, high = (_edge(stats.get(n), element) if stats.get(n) is not None else None for n in (6, 5))
    if low is not None and high is not None and low > high:
        yield f"bounds of a {whose} that cross"


_FORMATS = {0: "<?", 1: "<i", 2: "<q", 4: "<f", 5: "<d"}


def _is_decimal(element: Struct) -> bool:
    return element.get(6) == 5 or element.get(10, Struct()).find(5) is not None


def _edge(bound: bytes, element: Struct) -> Any:
    kind = element.get(1)
    if kind in _FORMATS:
        form = _FORMATS[kind]
        if kind in (1, 2) and element.get(6) in (11, 12, 13, 14):
            form = form.upper()
        return struct.unpack(form, bound)[0] if len(bound) == struct.calcsize(form) else None
    if _is_decimal(element):
        return int.from_bytes(bound, "big", signed=True) if bound else None
    return bound


def _physical(values: pa.Array, element: Struct) -> list[Any]:
    """Values in the order that statistics have: numbers as numbers, texts as bytes."""
    kind = values.type
    if pa.types.is_decimal(kind):
        return [None if one is None else int(one.scaleb(kind.scale)) for one in values.to_pylist()]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pc.cast(values, pa.large_binary()).to_pylist()
    if pa.types.is_temporal(kind):
        return values.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    return values.to_pylist()
