"""Consecutive tables as a folder of Parquet parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from streameval.process.threads import ThreadPool

AnyRows = TypeVar("AnyRows", pa.Table, pa.RecordBatch)
NAME = "streameval_part"
_PART_BYTES = 1 << 28
_GROUP_ROWS = 1 << 20
_GROUP_BYTES = 1 << 27


def write_parts(
    folder: Path,
    schema: pa.Schema,
    groups: Iterator[pa.Table],
    progress: Callable[[int], None],
    finished: Callable[[str], None] = lambda name: None,
    first: int = 0,
    coded: Callable[[pa.Table], bool | list[str]] = lambda group: True,
) -> list[str]:
    """Write row groups to part-00000.parquet and so on, a new part after every 256 MB; returns the names in order.

    Each part carries its name in the metadata of its footer, so that no two have the same footer.

    Args:
        folder: An existing folder.
        groups: Tables of this schema, of 2^20 rows at most.
        progress (callable(done)): Called with rows written.
        finished (callable(name)): Called with the name of each complete part.
        first: Number of the first part.
        coded (callable(group)): Names the columns of a part that get dictionaries, from its first group; True: all.
    """
    names: list[str] = []
    done = 0
    group = next(groups, None)
    while group is not None:
        names.append(f"part-{first + len(names):05d}.parquet")
        with ExitStack() as stack:
            sink = stack.enter_context(pa.OSFile(str(folder / names[-1]), "wb"))
            writer = stack.enter_context(
                pq.ParquetWriter(
                    sink,
                    schema,
                    compression="zstd",
                    use_dictionary=coded(group),
                    write_page_index=True,
                    write_page_checksum=True,
                )
            )
            while group is not None and sink.tell() < _PART_BYTES:
                writer.write_table(group, row_group_size=_GROUP_ROWS)
                done += group.num_rows
                progress(done)
                group = next(groups, None)
            writer.add_key_value_metadata({NAME: names[-1]})
        finished(names[-1])
    return names


def ahead(tables: Iterator[AnyRows]) -> Iterator[AnyRows]:
    """Make each of some tables, or batches, while the one before is used."""
    with ThreadPool(1) as maker:
        coming = maker.submit(next, tables, None)
        while (table := coming.result()) is not None:
            coming = maker.submit(next, tables, None)
            yield table


def joined(tables: Iterator[pa.Table], limit_bytes: float) -> Iterator[pa.Table]:
    """Join small tables into row groups; `limit_bytes` may wait to become one."""
    most_bytes = min(limit_bytes, _GROUP_BYTES)
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
