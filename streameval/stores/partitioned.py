"""Consecutive tables as a folder of Parquet parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_PART_BYTES = 1 << 28
_GROUP_ROWS = 1 << 20
_GROUP_BYTES = 1 << 27


def write_parts(
    folder: Path,
    schema: pa.Schema,
    tables: Iterator[pa.Table],
    limit_bytes: float,
    progress: Callable[[int], None],
    finished: Callable[[str], None] = lambda name: None,
) -> list[str]:
    """Write tables to part-00000.parquet and so on, a new part after every 256 MB or so; returns the names in order.

    Args:
        folder: An existing folder.
        tables: Of this schema; the next is made while one is written.
        limit_bytes: That may wait to become a row group.
        progress (callable(done)): Called with rows written.
        finished (callable(name)): Called with the name of each complete part.
    """
    names: list[str] = []
    done = 0
    groups = _groups(_ahead(tables), min(limit_bytes, _GROUP_BYTES))
    group = next(groups, None)
    while group is not None:
        names.append(f"part-{len(names):05d}.parquet")
        with ExitStack() as stack:
            sink = stack.enter_context(pa.OSFile(str(folder / names[-1]), "wb"))
            writer = stack.enter_context(pq.ParquetWriter(sink, schema, compression="zstd", write_page_index=True))
            while group is not None and sink.tell() < _PART_BYTES:
                writer.write_table(group, row_group_size=_GROUP_ROWS)
                done += group.num_rows
                progress(done)
                group = next(groups, None)
        finished(names[-1])
    return names


def _ahead(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Make each table while the one before is used."""
    with ThreadPoolExecutor(1) as maker:
        coming = maker.submit(next, tables, None)
        while (table := coming.result()) is not None:
            coming = maker.submit(next, tables, None)
            yield table


def _groups(tables: Iterator[pa.Table], most_bytes: float) -> Iterator[pa.Table]:
    """Join small tables into row groups."""
    waiting: list[pa.Table] = []
    rows, size = 0, 0
    for table in tables:
        waiting.append(table)
        rows, size = rows + table.num_rows, size + table.nbytes
        if rows >= _GROUP_ROWS or size >= most_bytes:
            yield pa.concat_tables(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.concat_tables(waiting)
