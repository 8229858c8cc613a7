"""The structure of a Parquet file: its footer, column chunks, pages and indexes, and what each byte is for.

Field numbers are those of apache/parquet-format `parquet.thrift`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attack.thrift import Items, Struct, decode, encode

MAGIC = b"PAR1"
# fields of the structs used here
SCHEMA, ROWS, GROUPS = 2, 3, 4
COLUMNS, TOTAL_BYTES, GROUP_ROWS, SORTING, GROUP_OFFSET, GROUP_COMPRESSED, ORDINAL = range(1, 8)
META, OFFSET_AT, OFFSET_LENGTH, COLUMN_AT, COLUMN_LENGTH = 3, 4, 5, 6, 7
TYPE, ENCODINGS, PATH, CODEC, VALUES, UNCOMPRESSED, COMPRESSED = range(1, 8)
DATA_AT, INDEX_AT, DICTIONARY_AT, STATISTICS, ENCODING_STATS, BLOOM_AT = 9, 10, 11, 12, 13, 14
PAGE_TYPE, PAGE_UNCOMPRESSED, PAGE_COMPRESSED, PAGE_CRC, DATA_V1, INDEX_PAGE, DICTIONARY_PAGE, DATA_V2 = range(1, 9)

NAMES = {
    "footer": {
        1: "version", 2: "schema", 3: "num_rows", 4: "row_groups", 5: "key_value_metadata", 6: "created_by",
        7: "column_orders",
    },
    "footer.schema": {
        1: "type", 2: "type_length", 3: "repetition", 4: "name", 5: "num_children", 6: "converted_type", 7: "scale",
        8: "precision", 9: "field_id", 10: "logical_type",
    },
    "footer.row_groups": {
        1: "columns", 2: "total_byte_size", 3: "num_rows", 4: "sorting_columns", 5: "file_offset",
        6: "total_compressed_size", 7: "ordinal",
    },
    "footer.row_groups.columns": {
        1: "file_path", 2: "file_offset", 3: "meta_data", 4: "offset_index_offset", 5: "offset_index_length",
        6: "column_index_offset", 7: "column_index_length", 8: "crypto",
    },
    "footer.row_groups.columns.meta_data": {
        1: "type", 2: "encodings", 3: "path_in_schema", 4: "codec", 5: "num_values", 6: "total_uncompressed_size",
        7: "total_compressed_size", 8: "key_value_metadata", 9: "data_page_offset", 10: "index_page_offset",
        11: "dictionary_page_offset", 12: "statistics", 13: "encoding_stats", 14: "bloom_filter_offset",
        15: "bloom_filter_length", 16: "size_statistics", 17: "geospatial",
    },
    "page header": {
        1: "type", 2: "uncompressed_size", 3: "compressed_size", 4: "crc", 5: "data", 6: "index", 7: "dictionary",
        8: "data_v2",
    },
    "page header.data": {1: "num_values", 2: "encoding", 3: "definition", 4: "repetition", 5: "statistics"},
    "page header.dictionary": {1: "num_values", 2: "encoding", 3: "is_sorted"},
    "page header.data_v2": {
        1: "num_values", 2: "num_nulls", 3: "num_rows", 4: "encoding", 5: "definition_length", 6: "repetition_length",
        7: "is_compressed", 8: "statistics",
    },
    "offset index": {1: "locations", 2: "unencoded_bytes"},
    "offset index.locations": {1: "offset", 2: "compressed_size", 3: "first_row"},
    "column index": {
        1: "null_pages", 2: "min_values", 3: "max_values", 4: "boundary_order", 5: "null_counts",
        6: "repetition_histograms", 7: "definition_histograms",
    },
}  # fmt: skip
_STATISTICS = {
    1: "max", 2: "min", 3: "null_count", 4: "distinct_count", 5: "max_value", 6: "min_value", 7: "is_max_exact",
    8: "is_min_exact",
}  # fmt: skip


def name_of(root: str, path: tuple[object, ...]) -> str:
    """Name of a field in words of the format, list positions left out."""
    said = root
    for step in path:
        if isinstance(step, int):
            known = _STATISTICS if said.endswith(".statistics") else NAMES.get(said, {})
            said = f"{said}.{known.get(step, step)}"
    return said


@dataclass(frozen=True)
class Page:
    header: Struct
    at: int
    body: int
    end: int


@dataclass(frozen=True)
class Chunk:
    """One column of one row group."""

    group: int
    column: int
    entry: Struct
    pages: list[Page]

    @property
    def meta(self) -> Struct:
        return self.entry.get(META)

    @property
    def path(self) -> tuple[bytes, ...]:
        return tuple(self.meta.get(PATH, Items(8, [])).values)


@dataclass(frozen=True)
class Parquet:
    """A file that can be read to the last page."""

    raw: bytes
    footer: Struct
    footer_at: int
    chunks: list[Chunk]

    def index(self, chunk: Chunk, at: int, length: int) -> tuple[int, Struct] | None:
        """An offset or column index of a chunk, and where it lies."""
        place = chunk.entry.get(at)
        if place is None or not chunk.entry.get(length):
            return None
        return place, decode(self.raw, place)[0]


def read(raw: bytes, columns: Sequence[bytes] = ()) -> Parquet:
    """Read the structure of a file; of some columns where they are named.

    Raises
    ------
    ValueError, IndexError
        It has none.
    """
    if raw[:4] != MAGIC or raw[-4:] != MAGIC:
        raise ValueError("no magic number")
    at = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    footer, _ = decode(raw[:-8], at) if at >= 4 else _fail("a footer longer than the file")
    chunks = [
        Chunk(g, c, entry, pages(raw, entry.get(META)))
        for g, group in enumerate(footer.get(GROUPS).values)
        for c, entry in enumerate(group.get(COLUMNS).values)
        if not columns or entry.get(META).get(PATH).values[0] in columns
    ]
    return Parquet(raw, footer, at, chunks)


def pages(raw: bytes, meta: Struct) -> list[Page]:
    """The pages of a chunk, as far as its size goes."""
    first = [meta.get(place) for place in (DATA_AT, DICTIONARY_AT) if meta.get(place)]
    at = min(first) if first else _fail("no data page")
    end, found = at + meta.get(COMPRESSED), []
    while at < end:
        header, body = decode(raw, at)
        size = header.get(PAGE_COMPRESSED)
        if size is None or size < 0 or body + size > len(raw):
            raise ValueError("a page beyond the file")
        found.append(Page(header, at, body, body + size))
        at = body + size
    return found


def _fail(what: str) -> tuple[Struct, int]:
    raise ValueError(what)


def with_footer(raw: bytes, at: int, footer: Struct) -> bytes:
    """The file up to `at`, and another footer."""
    encoded = encode(footer)
    return raw[:at] + encoded + len(encoded).to_bytes(4, "little") + MAGIC


def regions(file: Parquet) -> list[tuple[int, int, str]]:
    """What the bytes of a file are for: (first, one after the last, kind), in the order of the file."""
    found = [(0, 4, "magic"), (file.footer_at, len(file.raw) - 8, "footer")]
    found.append((len(file.raw) - 8, len(file.raw), "footer length and magic"))
    for chunk in file.chunks:
        for page in chunk.pages:
            found.append((page.at, page.body, "page header"))
            what = "dictionary page" if page.header.get(PAGE_TYPE) == 2 else "data page"
            crc = " with checksum" if page.header.find(PAGE_CRC) else ""
            found.append((page.body, page.end, what + crc))
        for at, length, kind in (
            (OFFSET_AT, OFFSET_LENGTH, "offset index"),
            (COLUMN_AT, COLUMN_LENGTH, "column index"),
        ):
            if chunk.entry.get(at) and chunk.entry.get(length):
                found.append((chunk.entry.get(at), chunk.entry.get(at) + chunk.entry.get(length), kind))
    return sorted((a, b, kind) for a, b, kind in found if b > a)
