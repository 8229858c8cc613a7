"""Take wanted whole numbers out of pages of packed differences without keeping the others.

All values of such a page are needed to know one, and to hold it against what is stated of it; but nothing has to be
copied, and Arrow takes three times as long. Anything else than 64-bit numbers without nulls is left to Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels import plain_pages as plain
from streameval.kernels.deltas import take_deltas
from streameval.parquet.check_values import all_keep
from streameval.parquet.checks import DATA_PAGE
from streameval.parquet.chunks import Run, UnfitError
from streameval.parquet.codecs import decompress
from streameval.typing import Int64Array

_DELTA_BINARY_PACKED, _INT64 = 5, 2
_LEAST = 1 << 16  # values in all: to compile the kernel takes a second


def packed(runs: Sequence[Run]) -> bool:
    """Whether these are many pages of packed differences of 64-bit numbers at the top level, of version 1."""
    chunk = runs[0].pages.chunk
    if chunk.facts[kernels.TYPE] != _INT64 or len(chunk.leaf.path) > 1 or chunk.leaf.max_rep or chunk.leaf.max_def > 1:
        return False
    if chunk.footer.schema.field(chunk.leaf.path[0]).type != pa.int64() or sum(run.values for run in runs) < _LEAST:
        return False
    return all(
        head[headers.PAGE_TYPE] == DATA_PAGE and head[headers.ENCODING] == _DELTA_BINARY_PACKED
        for run in runs
        for head in run.heads
    )


def take(runs: Sequence[Run], rows: Sequence[Int64Array]) -> pa.Array | None:
    """Take numbers; arguments as of `texts.take`. None where some are null, pages damaged, or statements broken."""
    told, found, page = np.zeros(plain.N_TOLD, np.int64), list[Int64Array](), 0
    ends = np.empty((sum(len(run.heads) for run in runs), 2), np.int64)
    told[plain.OPTIONAL] = runs[0].pages.chunk.leaf.max_def
    for run, wanted in zip(runs, rows, strict=True):
        codec, bodies = int(run.pages.chunk.facts[kernels.CODEC]), run.body[1:] if run.dictionary else run.body
        places = run.pages.places
        cuts = np.searchsorted(wanted, np.stack([places[:, 2], places[:, 2] + places[:, 3]]))
        for body, head, (first, n_rows), a, b in zip(
            bodies, run.heads, places[:, 2:].tolist(), *cuts.tolist(), strict=True
        ):
            try:
                start = len(body) - int(head[headers.PAGE_COMPRESSED])
                raw = np.frombuffer(decompress(codec, body[start:], int(head[headers.PAGE_UNCOMPRESSED])), np.uint8)
            except (pa.ArrowException, OSError, UnfitError):
                return None
            at, own = plain.values_at(raw, head, told), np.empty(b - a, np.int64)
            if at < 0 or take_deltas(raw, at, n_rows, wanted[a:b] - first, own, ends[page]) < 0:
                return None
            found.append(own)
            page += 1
    stated = [one for run in runs for one in run.stated]
    return pa.array(np.concatenate(found)) if all_keep(ends[:, 0], ends[:, 1], stated) else None
