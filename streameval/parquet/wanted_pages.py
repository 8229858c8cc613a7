"""The data pages of a column that hold wanted rows, decompressed one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.jit import read_only
from streameval.kernels.page_index import BEGIN, CHUNK, END, FIRST
from streameval.kernels.thrift import Bytes
from streameval.parquet.checks import BODY
from streameval.parquet.chunks import UnfitError
from streameval.parquet.codecs import decompress
from streameval.parquet.pages import Run
from streameval.typing import Int64Array


def wanted_pages(runs: Sequence[Run]) -> Iterator[tuple[Run, int, Bytes, Int64Array]]:
    """Data pages of version 1: their run, their number in it, their bytes, and the wanted rows, counted in the page.

    Raises:
        UnfitError: A page that cannot be decompressed.
    """
    for run in runs:
        wanted, places = run.pages.wanted, run.pages.places[:, [FIRST, BEGIN, END]].tolist()
        for i, (first, begin, end) in enumerate(places):
            yield run, i, read_only(np.frombuffer(_plain(run, i), np.uint8)), wanted[begin:end] - first


def plain_bodies(run: Run) -> tuple[Bytes, Int64Array]:
    """Bodies of data pages, decompressed, and headers with their places.

    Raises:
        UnfitError: A page that cannot be decompressed.
    """
    if not run.pages.chunks.facts[:, kernels.CODEC].any():
        return run.body, run.heads
    bodies, heads = [_plain(run, i) for i in range(len(run.heads))], run.heads.copy()
    sizes = np.array([len(memoryview(body)) for body in bodies])
    heads[:, headers.PAGE_COMPRESSED], heads[:, BODY] = sizes, np.cumsum(sizes) - sizes
    return np.frombuffer(b"".join(bodies), np.uint8), heads


def _plain(run: Run, page: int) -> pa.Buffer | memoryview | bytes:
    begin, size, plain = run.heads[page, [BODY, headers.PAGE_COMPRESSED, headers.PAGE_UNCOMPRESSED]].tolist()
    codec = int(run.pages.chunks.facts[run.pages.places[page, CHUNK], kernels.CODEC])
    try:
        return decompress(codec, run.body.data[begin : begin + size], plain)
    except (pa.ArrowException, OSError) as error:
        raise UnfitError("a page cannot be decompressed") from error
