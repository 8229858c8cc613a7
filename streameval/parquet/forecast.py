"""Forecast of what reading wanted rows would take, from footers and page indexes alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from streameval.kernels import parquet as kernels
from streameval.parquet.account import Forecast
from streameval.parquet.chunks import OpenFile
from streameval.parquet.find_pages import find_pages
from streameval.parquet.footers import Footer
from streameval.parquet.pages import Part


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
                    rows = [part.rows for part, is_indexed in zip(mine, indexed.tolist(), strict=True) if is_indexed]
                    (wanted,) = find_pages(file, [chunks.chosen(indexed)], rows)
                    pages, size = pages + len(wanted.places), size + int(wanted.ranges[:, 1].sum())
    return Forecast(files=files, row_groups=len(parts), pages=pages, bytes=size, whole_chunks=whole)


def measure_whole(footer: Footer, groups: int, columns: Sequence[str]) -> Forecast:
    """Add up columns of the first row groups of a file, read whole."""
    names = [name for name in dict.fromkeys(columns) if name in footer.schema.names]
    with OpenFile(footer) as file:
        by_column = file.chunks(footer, range(groups), names)
        sizes = [int(size) for of in by_column for leaf in of for size in leaf.facts[:, kernels.COMPRESSED]]
    return Forecast(files=1, row_groups=groups, bytes=sum(sizes), whole_chunks=len(sizes))
