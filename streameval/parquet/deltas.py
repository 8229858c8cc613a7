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
from streameval.parquet.wanted_pages import wanted_pages
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
    told, found = np.zeros(plain.N_TOLD, np.int64), list[Int64Array]()
    ends = np.empty((sum(len(run.heads) for run in runs), 2), np.int64)
    told[plain.OPTIONAL] = runs[0].pages.chunk.leaf.max_def
    try:
        for run, i, raw, wanted in wanted_pages(runs, rows):
            at, own = plain.values_at(raw, run.heads[i], told), np.empty(wanted.size, np.int64)
            n_rows = int(run.pages.places[i, 3])
            if at < 0 or take_deltas(raw, at, n_rows, wanted, own, ends[len(found)]) < 0:
                return None
            found.append(own)
    except UnfitError:
        return None
    stated = [one for run in runs for one in run.stated]
    return pa.array(np.concatenate(found)) if all_keep(ends[:, 0], ends[:, 1], stated) else None
