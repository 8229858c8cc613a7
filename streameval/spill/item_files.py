"""Items in temporary files, one per interval of ranks, and read back in rank order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa

from streameval.spill.store import order_of, placed_by
from streameval.typing import Int64Array, UInt64Array


class ItemSpill:
    """Arrow files of items and their words, one file per interval of ranks.

    Args:
        folder: Where the files are made; each is removed once it was read.
        schema: Of the items.
    """

    def __init__(self, folder: Path, schema: pa.Schema, files: int) -> None:
        self.paths = [folder / f"interval-{i}.arrow" for i in range(files)]
        self.schema = schema
        self._open: list[pa.RecordBatchWriter | None] = [None] * files
        self._stack = ExitStack()

    def __enter__(self) -> ItemSpill:
        """Begin to write."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close every file."""
        self._stack.close()

    def add(self, table: pa.Table, words: UInt64Array, interval: Int64Array) -> None:
        """Add items with their words, shape (words, n), each to the file that `interval`, shape (n,), names."""
        place, edges = placed_by(interval.astype(np.int32), len(self.paths))
        if len(self.paths) > 1:
            order = order_of(place)
            table, words = table.take(pa.array(order)), words[:, order]
        arrays = [pa.array(word) for word in words]
        names = [*self.schema.names, *(f"word {i}" for i in range(len(arrays)))]
        whole = pa.Table.from_arrays([*table.columns, *arrays], names=names)
        for file, (first, end) in enumerate(pairwise(edges.tolist())):
            if first < end:
                self._writer(file, whole.schema).write_table(whole.slice(first, end - first))

    def _writer(self, file: int, schema: pa.Schema) -> pa.RecordBatchWriter:
        writer = self._open[file]
        if writer is None:
            sink = self._stack.enter_context(pa.OSFile(str(self.paths[file]), "wb"))
            writer = self._open[file] = self._stack.enter_context(pa.ipc.new_file(sink, schema))
        return writer

    def sorted(self, file: int, limit: float) -> Iterator[pa.Table]:
        """Items of one interval in rank order, in pieces of about `limit` bytes; the file is removed afterwards.

        Every piece reads the file once: the items of its ranks are picked out of it and sorted.
        """
        path, width = self.paths[file], len(self.schema)
        words = _word_columns(path, width)
        order = np.lexsort(words[::-1])
        place = np.empty(order.size, np.int64)
        place[order] = np.arange(order.size)
        pieces = max(1, int(np.ceil(path.stat().st_size / limit)))
        for piece in range(pieces):
            first, end = (order.size * edge // pieces for edge in (piece, piece + 1))
            if end > first:
                yield self._piece(path, place, first, end)
        path.unlink()

    def _piece(self, path: Path, place: Int64Array, first: int, end: int) -> pa.Table:
        batches, places, at = [], [], 0
        for batch in _batches(path, list(range(len(self.schema)))):
            here = place[at : at + batch.num_rows]
            wanted = (here >= first) & (here < end)
            if np.any(wanted):
                batches.append(batch.filter(pa.array(wanted)))
                places.append(here[wanted])
            at += batch.num_rows
        table = pa.Table.from_batches(batches).combine_chunks()
        return table.take(pa.array(np.argsort(np.concatenate(places)))).cast(self.schema)


def _word_columns(path: Path, width: int) -> UInt64Array:
    with pa.OSFile(str(path)) as source:
        columns = list(range(width, len(pa.ipc.open_file(source).schema)))
    parts = [np.stack([column.to_numpy() for column in batch.columns]) for batch in _batches(path, columns)]
    return np.concatenate(parts, axis=1)


def _batches(path: Path, columns: list[int]) -> Iterator[pa.RecordBatch]:
    with pa.OSFile(str(path)) as source:
        reader = pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=columns))
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)
