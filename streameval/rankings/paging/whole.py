"""Decode a column of a whole row group, batch by batch, where its pages cannot be decoded alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError, outside_trouble
from streameval.rankings.footers import Footer
from streameval.rankings.paging.schema import wide_type
from streameval.types import Int64Array

_BATCH_ROWS = 1 << 16
# a batch takes its rows' share of the decompressed bytes: as pages, as Arrow and taken, and room for uneven rows
_COPIES = 8
_STREAM = 1 << 20


def read_whole(footer: Footer, group: int, column: str, rows: Int64Array, limit: int) -> tuple[list[pa.Array], int]:
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

    Raises
    ------
    InputError
        The column cannot be decoded; file, row group and column are named.
    """
    kind = wide_type(footer.schema.field(column).type)
    path, taken, begin = footer.file.path, [], 0
    try:
        with pq.ParquetFile(
            path, pre_buffer=False, buffer_size=_STREAM, page_checksum_verification=True
        ) as file:  # fmt: skip
            batches = file.iter_batches(
                _batch_rows(file.metadata.row_group(group), column, limit), [group], [column], use_threads=False
            )
            for batch in batches:
                mine = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, begin + batch.num_rows)] - begin
                if mine.size:
                    values = batch.column(batch.schema.names.index(column))
                    taken.append(values.take(pa.array(mine)).cast(kind))
                begin += batch.num_rows
                if begin > rows[-1]:
                    return taken, begin
            raise OSError(f"{begin:,} rows instead of {footer.row_group_rows[group]:,}")
    except (pa.ArrowException, OSError, NotImplementedError) as error:
        raise outside_trouble(error) or InputError(
            f"{path}: row group {group}, column {column}: cannot be decoded ({error})",
            "the file is corrupt there, or uses a type that the reader does not know: leave the column out",
        ) from error


def _batch_rows(group: pq.RowGroupMetaData, column: str, limit: int) -> int:
    chunks = (group.column(i) for i in range(group.num_columns))
    size = sum(c.total_uncompressed_size for c in chunks if c.path_in_schema.split(".")[0] == column)
    return max(1, min(_BATCH_ROWS, int(limit / (_COPIES * max(1, size / max(1, group.num_rows))))))
