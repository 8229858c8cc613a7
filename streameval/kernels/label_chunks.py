"""Labels of whole column chunks, many row groups at a time: pages checked, packed as bits, and counted.

What is unusual or amiss is left to others, who decode it or say what it is.
"""

from __future__ import annotations

from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.bits import count, lowest, word_at
from streameval.kernels.jit import kernel
from streameval.kernels.page_header import page_headers, plain_pages
from streameval.kernels.plain_pages import ENTRIES, FIRST, PLAIN, PLAIN_DICTIONARY, SECOND, WIDTH, chunk_bits, page_body
from streameval.kernels.thrift import Bytes
from streameval.typing import Int64Array, UInt64Array

# columns of chunks: where each begins in what was read, its bytes, its values, its rows, the same of its column index
# (-1 where it has none, or nothing is verified), and whether its pages are compressed
BEGIN, SIZE, VALUES, ROWS, INDEX, INDEX_SIZE, COMPRESSED = range(7)
N_CHUNK = 7
AT, BODY = headers.N_HEADER, headers.N_HEADER + 1
DICTIONARY_PAGE = 2
MORE = -2  # pages than there is room for


@kernel
def sound_chunks(raw: Bytes, chunks: Int64Array, most: int, pages: Int64Array, cuts: Int64Array) -> int:
    """Read and check the headers of all pages of some chunks.

    Args:
        raw (uint8 array): Where the chunks lie.
        chunks (int64 array, shape (chunks, N_CHUNK)): See `BEGIN`.
        most: Bytes that a page may take decompressed, with the dictionary of its chunk.
        pages (int64 array, shape (room, N_HEADER + 2)): See `page_headers`; places are those in `raw`.
        cuts (int64 array, shape (chunks + 1,)): Receives where the pages of each chunk begin, and how many there are.

    Returns:
        int: How many pages have a checksum; `MORE`; -1 where something else is unusual or amiss.
    """
    sums = 0
    cuts[0] = 0
    for i in range(chunks.shape[0]):
        begin, first = chunks[i, BEGIN], cuts[i]
        chunk_pages = pages[first:]
        n_pages = page_headers(raw[begin : begin + chunks[i, SIZE]], chunks[i, VALUES], chunk_pages)
        if n_pages < 0 or n_pages > chunk_pages.shape[0]:
            return -1 if n_pages < 0 else MORE
        chunk_pages = chunk_pages[:n_pages]
        largest, entries = plain_pages(chunk_pages, chunks[i, COMPRESSED]), 0
        if chunk_pages[0, headers.PAGE_TYPE] == DICTIONARY_PAGE:
            entries = chunk_pages[0, headers.PAGE_UNCOMPRESSED]
        if largest < 0 or largest + entries > most:
            return -1
        for page in range(n_pages):
            chunk_pages[page, AT] += begin
            chunk_pages[page, BODY] += begin
            sums += chunk_pages[page, headers.CRC] != kernels.ABSENT
        cuts[i + 1] = first + n_pages
    return sums


@kernel
def _entry(body: Bytes, number: int, width: int) -> int:
    """An entry of a dictionary that is 0 or 1, else -1."""
    begin, rest = number * width, 0
    for byte in range(begin + 1, begin + width):
        rest |= body[byte]
    return int(body[begin]) if rest == 0 and body[begin] <= 1 else -1


@kernel
def _is_dictionary(body: Bytes, page: Int64Array, coding: Int64Array) -> bool:
    """Tell whether a dictionary holds 0 or 1, once each; notes what it holds."""
    entries, width, encoding = page[headers.PAGE_VALUES], coding[WIDTH], page[headers.ENCODING]
    if (
        encoding not in (PLAIN, PLAIN_DICTIONARY)
        or width == 0
        or entries < 1
        or entries > 2
        or body.size < entries * width
    ):
        return False
    coding[ENTRIES], coding[FIRST] = entries, _entry(body, 0, width)
    coding[SECOND] = _entry(body, entries - 1, width)
    return bool(min(coding[FIRST], coding[SECOND]) >= 0 and (entries == 1 or coding[FIRST] != coding[SECOND]))


@kernel
def _ones(words: UInt64Array, first: int, last: int) -> int:
    """Bits that are set from bit `first` up to, and without, bit `last`."""
    n_set = 0
    for at in range(first, last, 64):
        n_set += int(count(word_at(words, at) & lowest(last - at)))
    return n_set


@kernel
def label_chunks(
    bodies: Bytes, chunks: Int64Array, pages: Int64Array, cuts: Int64Array, coding: Int64Array, words: UInt64Array,
    row: int, ones: Int64Array
) -> int:  # fmt: skip
    """Pack chunks whose every label is 0 or 1.

    Args:
        bodies (uint8 array): Where bodies of pages lie, decompressed.
        chunks, pages, cuts: See `sound_chunks`; `BODY` of each page is its place in `bodies`.
        coding (int64 array, shape (N_TOLD,)): See `streameval.kernels.plain_pages.OPTIONAL`.
        words (uint64 array, zero from bit `row` on): Receives the bits.
        row: Labels before.
        ones (int64 array, shape (pages,)): Receives how many labels of each data page are 1.

    Returns:
        int: Labels, with those before; -1 where some are not 0 or 1, or null, or otherwise encoded, or damaged.
    """
    for i in range(chunks.shape[0]):
        first, end = cuts[i], row + chunks[i, ROWS]
        if pages[first, headers.PAGE_TYPE] == DICTIONARY_PAGE:
            if not _is_dictionary(page_body(bodies, pages[first]), pages[first], coding):
                return -1
            first += 1
        elif coding[WIDTH]:
            coding[ENTRIES] = 0
        # pages hold as many values as their chunk: more than its rows would be put into bits of the next one
        chunk_pages = pages[first : cuts[i + 1]]
        if chunks[i, VALUES] != chunks[i, ROWS] or chunk_bits(bodies, chunk_pages, coding, row, words) != end:
            return -1
        for page in range(first, cuts[i + 1]):
            last = row + pages[page, headers.PAGE_VALUES]
            ones[page] = _ones(words, row, last)
            row = last
    return row
