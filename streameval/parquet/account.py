"""What reading took, and what it would take, found out by reading footers and page indexes alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import groupby

import numpy as np

from streameval.kernels import parquet as kernels
from streameval.parquet.chunks import OpenFile
from streameval.parquet.find_pages import find_pages
from streameval.parquet.footers import Footer
from streameval.parquet.pages import Part


@dataclass(frozen=True)
class Fallback:
    """A column that was read in a slower way than by its page index, and how many row groups and files it concerns."""

    column: str
    why: str
    row_groups: int
    files: int


@dataclass(frozen=True)
class Forecast:
    """What fetching would read.

    Attributes:
        files, row_groups: That hold wanted items; those that may, in an order by score.
        pages: Of all columns; 0 where a scan has to find the items first.
        bytes: Of these pages, and of the column chunks that have no page index.
        whole_chunks: Column chunks without a page index.
        rows_to_scan: Rows whose scores have to be read to find the items.
        least_scans: Times that they are read at least.
    """

    files: int = 0
    row_groups: int = 0
    pages: int = 0
    bytes: int = 0
    whole_chunks: int = 0
    rows_to_scan: int = 0
    least_scans: int = 0


def total(forecasts: Sequence[Forecast]) -> Forecast:
    """Add up forecasts of parts of one fetch."""
    names = [field.name for field in fields(Forecast)]
    return Forecast(**{name: sum(getattr(forecast, name) for forecast in forecasts) for name in names})


def measure(parts: Sequence[Part], columns: Sequence[str]) -> Forecast:
    """Add up the pages that hold wanted rows; a chunk without a page index counts whole."""
    files = pages = size = whole = 0
    for footer, group in groupby(parts, key=lambda part: part.footer):
        mine = list(group)
        stored = [name for name in dict.fromkeys(columns) if name in footer.schema.names]
        files += 1
        if not stored:
            continue
        with OpenFile(footer) as file:
            leaves = [leaf for of in file.chunks(footer, [part.row_group for part in mine], stored) for leaf in of]
            file.hold_indexes(leaves)
            for chunks in leaves:
                indexed = chunks.indexed
                whole += int(np.count_nonzero(~indexed))
                size += int(chunks.facts[~indexed, kernels.COMPRESSED].sum())
                if indexed.any():
                    rows = [part.rows for part, known in zip(mine, indexed.tolist(), strict=True) if known]
                    (found,) = find_pages(file, [chunks.chosen(indexed)], rows)
                    pages, size = pages + len(found.places), size + int(found.ranges[:, 1].sum())
    return Forecast(files=files, row_groups=len(parts), pages=pages, bytes=size, whole_chunks=whole)


def measure_whole(footer: Footer, groups: int, columns: Sequence[str]) -> Forecast:
    """Add up columns of the first row groups of a file, read whole."""
    names = [name for name in dict.fromkeys(columns) if name in footer.schema.names]
    with OpenFile(footer) as file:
        found = file.chunks(footer, range(groups), names)
        sizes = [int(size) for of in found for leaf in of for size in leaf.facts[:, kernels.COMPRESSED]]
    return Forecast(files=1, row_groups=groups, bytes=sum(sizes), whole_chunks=len(sizes))
