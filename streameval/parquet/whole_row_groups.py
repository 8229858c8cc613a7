"""Decode a column of a whole row group, batch by batch, where its pages cannot be decoded alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError, outside_trouble
from streameval.parquet.footers import Footer
from streameval.parquet.schema import wide_type
from streameval.stores import store_of
from streameval.typing import Int64Array

_BATCH_ROWS = 1 << 16
# a batch takes its rows' share of the decompressed bytes: as pages, as Arrow and taken, and room for uneven rows
_COPIES = 8
_STREAM = 1 << 20


def read_whole(
    footer: Footer, group: int, column: str, rows: Int64Array, limit: int
) -> tuple[list[pa.Array], int, int]:
    """Stream one column of one row group up to the last wanted row, checksums verified, and take the wanted rows.

    Parameters
    ----------
    rows : int64 array, strictly increasing
        Wanted rows within the row group.
    limit : int
        Bytes that may be taken beyond what is returned.

    Returns
    -------
    list of pyarrow.Array
        Of the wide type of the column.
    int
        Rows decoded.
    int
        Bytes of the column.

    Raises
    ------
    InputError
        The column cannot be decoded; file, row group and column are named.
    """
    kind = wide_type(footer.schema.field(column).type)
    path, taken, begin = footer.file.path, [], 0
    try:
        with store_of(path).parquet(
            path, pre_buffer=False, buffer_size=_STREAM, page_checksum_verification=True
        ) as file:  # fmt: skip
            chunks = _chunks(file.metadata.row_group(group), column)
            size = _batch_rows(chunks, int(footer.row_group_rows[group]), limit)
            for batch in file.iter_batches(size, [group], [column], use_threads=False):
                mine = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, begin + batch.num_rows)] - begin
                if mine.size:
                    values = batch.column(batch.schema.names.index(column))
                    taken.append(values.take(pa.array(mine)).cast(kind))
                begin += batch.num_rows
                if begin > rows[-1]:
                    return taken, begin, sum(chunk.total_compressed_size for chunk in chunks)
            raise OSError(f"{begin:,} rows instead of {footer.row_group_rows[group]:,}")
    except (pa.ArrowException, OSError, NotImplementedError) as error:
        raise outside_trouble(error) or InputError(
            f"{path}: row group {group}, column {column}: cannot be decoded ({error})",
            "the file is corrupt there, or uses a type that the reader does not know: leave the column out",
        ) from error


def _chunks(group: pq.RowGroupMetaData, column: str) -> list[pq.ColumnChunkMetaData]:
    chunks = (group.column(i) for i in range(group.num_columns))
    return [chunk for chunk in chunks if chunk.path_in_schema.split(".")[0] == column]


def _batch_rows(chunks: list[pq.ColumnChunkMetaData], n_rows: int, limit: int) -> int:
    row_bytes = sum(chunk.total_uncompressed_size for chunk in chunks) / max(1, n_rows)
    return max(1, min(_BATCH_ROWS, int(limit / (_COPIES * max(1, row_bytes)))))
