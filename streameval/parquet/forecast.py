"""What reading wanted rows would take, found out by reading footers and page indexes alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from streameval.kernels import parquet as kernels
from streameval.parquet.account import Forecast
from streameval.parquet.chunks import Chunk, OpenFile
from streameval.parquet.find_pages import find_pages
from streameval.parquet.footers import Footer
from streameval.parquet.parts import Part
from streameval.typing import Int64Array


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
            file.hold_indexes(chunk for leaf in leaves for chunk in leaf)
            for leaf in leaves:
                for chunk, part in zip(leaf, mine, strict=True):
                    n_pages, n_bytes = _chunk(file, chunk, part.rows)
                    pages, size, whole = pages + n_pages, size + n_bytes, whole + (not n_pages)
    return Forecast(files=files, row_groups=len(parts), pages=pages, bytes=size, whole_chunks=whole)


def _chunk(file: OpenFile, chunk: Chunk, rows: Int64Array) -> tuple[int, int]:
    """Pages of one column chunk that would be read, and their bytes; no pages where they are not known."""
    if not chunk.indexed:
        return 0, int(chunk.facts[kernels.COMPRESSED])
    found = find_pages(file, [chunk], [rows])[0]
    return len(found.places), sum(size for _, size in found.ranges)


def measure_whole(footer: Footer, groups: int, columns: Sequence[str]) -> Forecast:
    """Add up columns of the first row groups of a file, read whole."""
    names = [name for name in dict.fromkeys(columns) if name in footer.schema.names]
    with OpenFile(footer) as file:
        found = file.chunks(footer, range(groups), names)
        sizes = [int(chunk.facts[kernels.COMPRESSED]) for of in found for leaf in of for chunk in leaf]
    return Forecast(files=1, row_groups=groups, bytes=sum(sizes), whole_chunks=len(sizes))
