"""Which items a table has labels of, by their key: what was known before anything was drawn."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from streameval.errors import InputError
from streameval.labelling.columns import as_columns, find
from streameval.labelling.duckdb_session import one_line_errors
from streameval.labelling.key_forms import first_of_each, item_value, refuse_ambiguous, refuse_unreadable_items
from streameval.labelling.options import LabelColumns
from streameval.labelling.readers import database_for, given, name_of, open_source
from streameval.stores.transfer import copied


def labelled_keys(source: Any, columns: LabelColumns, some: pa.Table) -> pa.Table:
    """Keys of rows that have an answer, each once.

    Args:
        source: Of the kinds that label tables have.
        columns: `on` names the key, column by column as `some` does.
        some: Keys of some items. Those of the source are returned in their types, as `order.item_keys` lists them;
            what is none of these is no item's.

    Raises:
        InputError: What cannot be read, or lacks a column; floats that are no exact whole numbers; rows of which none
            has a key that can be an item's.
    """
    with copied(source) as place, one_line_errors(name_of(source)), database_for(place) as connection:
        found = find(connection, open_source(connection, place), columns, lambda _: ())
        _, state = found.answer(found.label_value, found.work_status)
        refuse_unreadable_items(some.schema, "the list")
        connection.register("se_some", some)
        kinds = [row[1] for row in connection.execute("DESCRIBE se_some").fetchall()]
        refuse_ambiguous(connection, found.key_kinds, found.ambiguous(kinds), name_of(source))
        keys = [item_value(given(key), found.kind(key), kind) for key, kind in zip(found.keys, kinds, strict=True)]
        whole = " AND ".join(f"key{i} IS NOT NULL" for i in range(len(keys)))
        answered = f"FROM se_given WHERE ({state}) = 'answer'"
        table = connection.sql(
            f"SELECT DISTINCT * FROM (SELECT {as_columns(keys)} {answered}) WHERE {whole}"
        ).to_arrow_table()
        if not table.num_rows and connection.execute(f"SELECT EXISTS (SELECT 1 {answered})").fetchall() == [(True,)]:
            raise InputError(
                f"{name_of(source)}: {', '.join(found.keys)} matches no item of the list "
                f"({first_of_each(connection, found.key_kinds, 'se_some', 'in the list')})",
                "name columns that hold the same identifiers in both",
            )
    typed = [_typed(column, kind) for column, kind in zip(table.columns, some.schema.types, strict=True)]
    return pa.table(typed, some.schema)


def _typed(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if kind != pa.uuid():
        return column.cast(kind)
    bytes_of = [pa.ExtensionArray.from_storage(kind, one) for one in column.cast(pa.binary(16)).chunks]
    return pa.chunked_array(bytes_of, kind)
