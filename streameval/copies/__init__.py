"""Lists that are no Parquet: read once, in batches, into Parquet files, which stand for them from then on.

A kind of source is a file in this folder, found by name, with

- `READS`: what it reads, for people;
- `accepts(source)`: whether a source is of this kind; of at most one kind every source is;
- `open_list(source, options)`: a context that yields it as an `Unread`.

What can be read where it lies (`streameval.rows`) is of none of these kinds. `write` writes the files.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import pyarrow as pa

from streameval.errors import InputError
from streameval.parquet.files import holds_parquet, is_text
from streameval.rows.options import RankingOptions
from streameval.stores import is_remote
from streameval.stores.clients import is_known

TABLES = {"Table", "RecordBatch", "DataFrame"}  # which lie in memory as they are
LIST_COPY = "ranking"  # folder of a study that holds its list, where that was read from what is no Parquet
BATCH_BYTES = 1 << 23
_MOST_ROWS = 1 << 16


class Unread(ABC):
    """A list that was found, and of which no row is read yet.

    Attributes:
        places: What finds it again, without what may be secret.
        options: What describes the ranking.
        content: Hash of what will be read, which is then the same, in the same order; None where only reading tells.
        without_rows: Hint where there is no row.
    """

    places: tuple[str, ...]
    options: RankingOptions
    content: str | None
    without_rows: str = "a ranking needs at least one item"

    @property
    def name(self) -> str:
        """Say how messages call it."""
        return name_of(self.places)

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""

    @property
    def n_rows(self) -> int:
        """Number of rows; 0 where only reading tells."""
        return 0

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read all rows, in their order; once."""

    def check(self) -> None:
        """Refuse, before a row is read, columns that are not there, have one name, or cannot be what is asked of them.

        Raises:
            InputError: It names the column.
        """
        from streameval.order.scores import order_of
        from streameval.parquet.footers import check_column
        from streameval.struct_fields import with_fields

        schema, score = self.schema, self.options.score
        twice = [name for name, count in Counter(schema.names).items() if count > 1]
        schema = with_fields(schema)
        if twice:
            raise InputError(f"{self.name}: two columns are named '{twice[0]}'", "give each a name of its own")
        for name in (*((score,) if score is not None else ()), *self.options.key):
            check_column(schema, name, self.name)
        if score is not None:
            kind = schema.field(score).type
            order_of([(self.name, kind)], score, self.options.ascending, self.options.nan)


def name_of(places: Sequence[str]) -> str:
    """Say how messages call what lies in these places."""
    return places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1:,} more"


def kind_of(source: Any) -> ModuleType | None:
    """Tell which file here reads a source; None where none does, and it is read where it lies.

    Raises:
        InputError: A query that came in pieces, or beside another source.
    """
    if isinstance(source, list | tuple) and len(source) == 1:
        (source,) = source
    if _is_stored(source):
        return None
    from streameval.labelling.readers import is_address

    if isinstance(source, list | tuple) and (query := next((part for part in source if is_address(part)), None)):
        raise InputError(f"{query}: a query is a list by itself", "quote it: 'duckdb:FILE#SELECT id, score FROM t'")
    kinds = (importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    return next((reader for reader in kinds if "accepts" in vars(reader) and reader.accepts(source)), None)


def open_list(source: Any, kind: ModuleType, options: RankingOptions) -> AbstractContextManager[Unread]:
    """Open a source of a kind; see `Unread`."""
    (source,) = source if isinstance(source, list | tuple) and len(source) == 1 else (source,)
    if options.where is not None:
        raise InputError("--where chooses Parquet files by partition", "choose rows in a query, or before")
    opened: AbstractContextManager[Unread] = kind.open_list(source, options)
    return opened


def _is_stored(source: Any) -> bool:
    """Tell whether a source is certainly of no kind here, told without a library."""
    paths = paths_of(source)
    if not paths:
        return type(source).__name__ in TABLES or isinstance(source, list | tuple)
    if paths[0].startswith(("iceberg:", "delta:")):
        return True
    if is_remote(paths[0]) and is_known(paths[0]):
        return not is_text(paths[0])
    return holds_parquet(paths[0])


def rows_at_once(row_bytes: float) -> int:
    """Tell how many rows of a size make a batch: a multiple of what DuckDB has at once."""
    return max(2048, min(_MOST_ROWS, int(BATCH_BYTES / max(1.0, row_bytes)) // 2048 * 2048))


def paths_of(source: Any) -> list[str]:
    """Paths or addresses of a source; none where it is another thing."""
    parts = source if isinstance(source, list | tuple) else [source]
    named = all(isinstance(part, str | os.PathLike) for part in parts)
    return [os.fspath(part) for part in parts] if named else []
