"""The rows of two lists as those of one: first those of the one, then those of the other; columns that both have."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.parquet.account import Forecast, total
from streameval.progress import Progress, silent
from streameval.rows import Rows, Taken
from streameval.rows.uuids import uuids_of
from streameval.typing import Int64Array


def _given_as(table: pa.Table, schema: pa.Schema, where: str) -> pa.Table:
    """Give columns the types that both lists have; an `InputError` names one whose values one list cannot hold."""
    columns = []
    for column, wanted in zip(table.columns, schema, strict=True):
        try:
            text_of_uuid = wanted.type == pa.uuid() != column.type
            columns.append(uuids_of(column) if text_of_uuid else column.cast(wanted.type))
        except (pa.ArrowException, ValueError) as error:
            raise InputError(
                f"{where}: column '{wanted.name}' is {wanted.type} in one list and {column.type} in the other, with "
                f"values that go into neither ({error})",
                "give it one type in both, or leave it out of what `select --columns` names",
            ) from error
    return pa.table(columns, schema)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


@dataclass(frozen=True)
class TwoTables(Rows):
    """Two lists of rows, one after the other.

    Attributes:
        given_as: Types of columns that are not given as they are in the first, by name.
    """

    first: Rows
    second: Rows
    given_as: Mapping[str, pa.DataType] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Rows of both."""
        return self.first.n_rows + self.second.n_rows

    @property
    def fingerprint(self) -> str:
        """Changes whenever one of them does."""
        both = f"{self.first.fingerprint} {self.second.fingerprint}"
        return hashlib.sha256(both.encode()).hexdigest()[:16]

    @cached_property
    def schema(self) -> pa.Schema:  # type: ignore[override]
        """Columns that both have, of the type that they have in the first, as text, or of `given_as`."""
        there = self.second.schema.names
        return pa.schema([self._as_given(column) for column in self.first.schema if column.name in there])

    def _as_given(self, column: pa.Field) -> pa.Field:
        """As text where one of them has text: a number has one spelling, and 007 is another text than 7."""
        schemas = [rows.schema for rows in (self.first, self.second) if column.name in rows.schema.names]
        kinds = [schema.field(column.name).type for schema in schemas]
        plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds]
        text = next((kind for kind in plain if _is_text(kind)), column.type)
        return column.with_type(self.given_as.get(column.name, text))

    @property
    def name(self) -> str:
        """Both places, for messages."""
        return f"{self.first.name} and {self.second.name}"

    @property
    def source(self) -> Sequence[str] | None:
        """None: a plan names both places."""
        return None

    def facts(self) -> dict[str, Any]:
        """Say what the rows are."""
        files = sum(int(table.facts().get("files", 0)) for table in (self.first, self.second))
        return {"fingerprint": self.fingerprint, "files": files}

    def columns(self) -> list[str]:
        """Names of the columns that both have, partition keys included."""
        there = self.second.columns()
        return [name for name in self.first.columns() if name in there]

    def take(self, positions: Int64Array, columns: Sequence[str], progress: Progress = silent) -> Taken:
        """Read rows of both."""
        from dataclasses import fields

        cut = int(np.searchsorted(positions, self.first.n_rows))
        sides = (self.first, positions[:cut]), (self.second, positions[cut:] - self.first.n_rows)
        parts = [rows.take(wanted, columns, progress) for rows, wanted in sides if wanted.size]
        schema = pa.schema([self._as_given(column) for column in parts[0].table.schema])
        table = pa.concat_tables([_given_as(part.table, schema, self.name) for part in parts])
        counts: dict[str, Any] = {count.name: reduce(add, (getattr(part, count.name) for part in parts))
                                  for count in fields(Taken) if count.name != "table"}  # fmt: skip
        return Taken(table, **counts)

    def forecast(self, positions: Int64Array, columns: Sequence[str]) -> Forecast:
        """Forecast what `take` would read."""
        cut = int(np.searchsorted(positions, self.first.n_rows))
        sides = (self.first, positions[:cut]), (self.second, positions[cut:] - self.first.n_rows)
        return total([rows.forecast(wanted, columns) for rows, wanted in sides if wanted.size])

    def check_unchanged(self) -> None:
        """Refuse rows that changed since they were opened."""
        self.first.check_unchanged()
        self.second.check_unchanged()
