"""Items in temporary files, one per interval of ranks, and read back in rank order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from streameval.spill.store import PartedSpill, ScratchFile, Spill, order_of, placed_by
from streameval.typing import Int64Array, UInt64Array


class ItemSpill(ExitStack):
    """Items and their words, in a file for each interval of ranks: it is removed once it was read.

    Args:
        folder: Where the files are made.
        schema: Of the items.
    """

    def __init__(self, folder: Path, schema: pa.Schema, files: int) -> None:
        super().__init__()
        self.schema, self._n_words = schema, 0
        self._files = [self.enter_context(ScratchFile(folder / f"interval-{i}")) for i in range(files)]
        self._items = [PartedSpill(Spill(file, 0), 1) for file in self._files]

    def add(self, table: pa.Table, words: UInt64Array, interval: Int64Array) -> None:
        """Add items with their words, shape (words, n), each to the file that `interval`, shape (n,), names."""
        place, edges = placed_by(interval.astype(np.int32), len(self._items))
        if len(self._items) > 1:
            order = order_of(place)
            table, words = table.take(pa.array(order)), words[:, order]
        self._n_words = len(words)
        for items, (first, end) in zip(self._items, pairwise(edges.tolist()), strict=True):
            if first < end:
                columns = {str(i): np.ascontiguousarray(word[first:end]) for i, word in enumerate(words)}
                items.add(np.array([0, end - first]), columns, table.slice(first, end - first))

    def sort(self, file: int, limit: float) -> Iterator[pa.Table]:
        """Items of one interval in rank order, in pieces of about `limit` bytes; the file is removed afterwards.

        Every piece reads the file once: the items of its ranks are picked out of it and sorted.
        """
        rows = self._items[file].whole(0)
        order = np.lexsort([rows.column(str(i)) for i in reversed(range(self._n_words))])
        place = order_of(order)
        pieces = max(1, int(np.ceil(self._files[file].size / limit)))
        for piece in range(pieces):
            first, end = (order.size * edge // pieces for edge in (piece, piece + 1))
            if end > first:
                yield self._piece(file, place, first, end)
        self._files[file].remove()

    def _piece(self, file: int, place: Int64Array, first: int, end: int) -> pa.Table:
        tables, places, at = [], [], 0
        for rows in self._items[file].pieces(0):
            table = rows.table()
            here = place[at : at + table.num_rows]
            wanted = (here >= first) & (here < end)
            if np.any(wanted):
                tables.append(table.filter(pa.array(wanted)))
                places.append(here[wanted])
            at += table.num_rows
        table = pa.concat_tables(tables).combine_chunks()
        return table.take(pa.array(np.argsort(np.concatenate(places)))).cast(self.schema)
