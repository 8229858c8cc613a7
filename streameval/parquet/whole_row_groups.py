"""Decode a column of a whole row group, batch by batch, where its pages cannot be decoded alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, StreamevalError, outside_trouble
from streameval.kernels import parquet as kernels
from streameval.parquet.chunks import Chunk, OpenFile
from streameval.parquet.footers import Footer
from streameval.parquet.groups import stream_group
from streameval.parquet.schema import wide_type
from streameval.parquet.undecodable import UNDECODABLE, why_undecodable
from streameval.typing import Int64Array

_BATCH_ROWS = 1 << 16
# a batch takes its rows' share of the decompressed bytes: as pages, as Arrow and taken, and room for uneven rows
_COPIES = 8


def read_whole(
    footer: Footer, group: int, column: str, rows: Int64Array, limit: int
) -> tuple[list[pa.Array], int, int]:
    """Stream one column of one row group up to the last wanted row, checksums verified, and take the wanted rows.

    Args:
        rows (int64 array, strictly increasing): Wanted rows within the row group.
        limit: Bytes that may be taken beyond what is returned.

    Returns:
        list of pyarrow.Array: Of the wide type of the column.
        int: Rows decoded.
        int: Bytes of the column.

    Raises:
        InputError: The column cannot be decoded; file, row group and column are named.
    """
    kind = wide_type(footer.schema.field(column).type)
    n_rows, taken, begin = int(footer.row_group_rows[group]), [], 0
    with OpenFile(footer) as file:
        chunks = [leaf[0] for leaf in file.chunks(footer, [group], [column])[0]]
    try:
        with stream_group(footer, group, [column], _batch_rows(chunks, n_rows, limit)) as tables:
            for table in tables:
                mine = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, begin + table.num_rows)] - begin
                if mine.size:
                    taken += [part.cast(kind) for part in table.column(column).take(pa.array(mine)).chunks]
                begin += table.num_rows
                if begin > rows[-1]:
                    return taken, begin, sum(chunk.end - chunk.begin for chunk in chunks)
            raise OSError(f"{begin:,} rows instead of {n_rows:,}")
    except StreamevalError:
        raise
    except (pa.ArrowException, OSError, NotImplementedError) as error:
        raise outside_trouble(error) or InputError(
            f"{footer.file.path}: row group {group}, column {column}: cannot be decoded ({why_undecodable(error)})",
            f"{UNDECODABLE}: leave the column out",
        ) from error


def _batch_rows(chunks: list[Chunk], n_rows: int, limit: int) -> int:
    row_bytes = sum(int(chunk.facts[kernels.UNCOMPRESSED]) for chunk in chunks) / max(1, n_rows)
    return max(1, min(_BATCH_ROWS, int(limit / (_COPIES * max(1, row_bytes)))))
