"""The data pages of a column that hold wanted rows, decompressed one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.thrift import Bytes
from streameval.parquet.chunks import Run, UnfitError
from streameval.parquet.codecs import decompress
from streameval.typing import Int64Array


def wanted_pages(runs: Sequence[Run], rows: Sequence[Int64Array]) -> Iterator[tuple[Run, int, Bytes, Int64Array]]:
    """Data pages of version 1: their run, their number in it, their bytes, and the wanted rows, counted in the page.

    Args:
        rows (sequence of int64 arrays, strictly increasing): For each run, wanted rows of its row group; those outside
            its pages are left out.

    Raises:
        UnfitError: A page that cannot be decompressed.
    """
    for run, wanted in zip(runs, rows, strict=True):
        codec, bodies = int(run.pages.chunk.facts[kernels.CODEC]), run.body[1:] if run.dictionary else run.body
        places = run.pages.places
        cuts = np.searchsorted(wanted, np.stack([places[:, 2], places[:, 2] + places[:, 3]]))
        for i, (body, head, first, a, b) in enumerate(
            zip(bodies, run.heads, places[:, 2].tolist(), *cuts.tolist(), strict=True)
        ):
            start = len(body) - int(head[headers.PAGE_COMPRESSED])
            try:
                page = decompress(codec, body[start:], int(head[headers.PAGE_UNCOMPRESSED]))
            except (pa.ArrowException, OSError) as error:
                raise UnfitError(str(error)) from error
            yield run, i, np.frombuffer(page, np.uint8), wanted[a:b] - first
