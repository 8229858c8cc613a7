"""Wanted rows of row groups, and the pages of column chunks that hold them: where they lie, and as they were read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.page_index import BEGIN, CHUNK, END, FIRST, ROWS
from streameval.parquet.chunks import Chunks, UnfitError
from streameval.parquet.codecs import decompress
from streameval.parquet.footers import Footer
from streameval.parquet.statistics import Statistics, join, nothing_of, of_headers, states_anything
from streameval.typing import Int64Array, UInt8Array

_BUCKET_BITS = 12


def changes(values: Int64Array) -> Int64Array:
    """Tell where values begin that differ from the one before; the first does.

    >>> changes(np.array([4, 4, 7, 4])).tolist()
    [0, 2, 3]
    """
    new = np.empty(values.size, np.bool_)
    new[:1] = True
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new.nonzero()[0]


@dataclass(frozen=True)
class Part:
    """The wanted rows of one row group.

    Attributes:
        footer: Of its file.
        row_group: Its index there.
        rows (int64 array, strictly increasing): Wanted rows, 0-based within the row group.
    """

    footer: Footer
    row_group: int
    n_group_rows: int
    rows: Int64Array

    @property
    def place(self) -> str:
        """The place, for messages."""
        return f"{self.footer.file.path}: row group {self.row_group}"

    @cached_property
    def buckets(self) -> Int64Array:
        """Beginnings of stretches of wanted rows that lie close together: about as many as the pages they will take."""
        return changes(self.rows >> _BUCKET_BITS)

    def cut(self, most: int) -> list[Part]:
        """Cut into pieces of at most `most` buckets; only with a page index does no piece read what another does."""
        begins = self.buckets[most::most] if self.footer.indexed else ()
        return [replace(self, rows=rows) for rows in np.split(self.rows, begins)] if len(begins) else [self]


@dataclass(frozen=True, eq=False)
class Pages:
    """Pages of chunks of one leaf that hold wanted rows, in order.

    Attributes:
        places (int64 array, shape (pages, 7)): Offset in the file, bytes with the header, first row within the row
            group, rows, which of the chunks, and where in `wanted` the rows begin and end that the page holds.
        wanted (int64 array): Wanted rows, counted within their row groups, of one row group after another.
        dictionaries (int64 array, shape (chunks, 2)): Offset and bytes of dictionary pages; 0 where there is none.
        stated: What column indexes say of these pages; None where there are none, or nothing is verified.
    """

    chunks: Chunks
    places: Int64Array
    wanted: Int64Array
    dictionaries: Int64Array
    stated: Statistics | None = None

    @property
    def n_rows(self) -> int:
        """Rows in these pages."""
        return int(self.places[:, ROWS].sum())

    @cached_property
    def starts(self) -> Int64Array:
        """Pages that are the first of a chunk."""
        return changes(self.places[:, CHUNK])

    @cached_property
    def used(self) -> Int64Array:
        """Chunks that the pages are of."""
        return np.asarray(self.places[self.starts, CHUNK])

    @cached_property
    def ranges(self) -> Int64Array:
        """Give what has to be read, as rows of offset and bytes: dictionaries, then pages."""
        coded = self.dictionaries[self.used]
        return np.concatenate([coded[coded[:, 1] > 0], self.places[:, :2]])

    @property
    def own(self) -> Int64Array:
        """Wanted rows that these pages hold."""
        return self.wanted[self.places[0, BEGIN] : self.places[-1, END]]

    @property
    def positions(self) -> Int64Array:
        """Tell where the wanted rows lie among the rows of these pages."""
        rows = self.places[:, ROWS]
        shift = np.cumsum(rows) - rows - self.places[:, FIRST]
        return np.asarray(self.own + np.repeat(shift, self.places[:, END] - self.places[:, BEGIN]), dtype=np.int64)

    def part(self, begin: int, end: int) -> Pages:
        """Some of the pages."""
        if end - begin == len(self.places):
            return self
        stated = self.stated and self.stated.chosen(slice(begin, end))
        return replace(self, places=self.places[begin:end], stated=stated)


@dataclass(frozen=True, eq=False)
class Run:
    """Pages as they were read and checked.

    Attributes:
        body (uint8 array): Where they lie.
        heads (int64 array, shape (pages, N_HEADER + 2)): Header of each page (`streameval.kernels.page_header`), where
            in `body` it begins, and where its content does.
        dictionaries (int64 array, shape (chunks, N_HEADER + 2)): The same of the dictionary page of each chunk that the
            pages are of (`Pages.used`); 0 where there is none.
    """

    pages: Pages
    body: UInt8Array
    heads: Int64Array
    dictionaries: Int64Array

    def bodies(self) -> Iterator[memoryview | bytes]:
        """Decompress data pages of version 1, one after another; an `UnfitError` where that cannot be done."""
        places = self.heads[:, [headers.N_HEADER + 1, headers.PAGE_COMPRESSED, headers.PAGE_UNCOMPRESSED]].tolist()
        codecs, raw = self.pages.chunks.facts[self.pages.places[:, CHUNK], kernels.CODEC].tolist(), self.body.data
        try:
            for codec, (at, size, plain) in zip(codecs, places, strict=True):
                yield decompress(codec, raw[at : at + size], plain)
        except (pa.ArrowException, OSError) as error:
            raise UnfitError("a page cannot be decompressed") from error


def stated_of(runs: Sequence[Run]) -> list[Statistics]:
    """Give what is stated of the values of each page of a leaf: of its chunk, in the column index, in its header.

    First rows are counted over the pages of all runs.
    """
    if runs[0].pages.chunks.footer.verify == "off":
        return []
    places, heads, chunks, indexes = list[Int64Array](), list[Int64Array](), list[Statistics](), list[Statistics]()
    for run in runs:
        mine = run.pages.places
        places.append(mine)
        heads.append(run.heads)
        chunks.append(run.pages.chunks.stated.chosen(mine[:, CHUNK]))
        indexes.append(run.pages.stated or nothing_of(mine[:, FIRST], mine[:, ROWS]))
    rows, every = np.concatenate(places)[:, ROWS], np.concatenate(heads)
    first = np.cumsum(rows) - rows
    stated = [join(chunks, first, rows), join(indexes, first, rows)]
    some = np.concatenate([chunk.rows for chunk in chunks]) != rows
    stated[0].fields[some, kernels.STATED_NULLS] = kernels.ABSENT  # of more rows than these
    if states_anything(every):
        begins = np.cumsum([0, *(run.body.size for run in runs)])[:-1]
        at = every[:, headers.N_HEADER] + np.repeat(begins, [len(run.heads) for run in runs])
        stated += of_headers(memoryview(b"".join(run.body.data for run in runs)), at, (first, rows), every)
    return stated
