"""Which items a table has labels of, by their key: what was known before anything was drawn."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from streameval.labelling.columns import find
from streameval.labelling.duckdb_session import connected, one_line_errors
from streameval.labelling.key_forms import item_value, refuse_ambiguous
from streameval.labelling.options import LabelColumns
from streameval.labelling.readers import given, name_of, open_source
from streameval.stores.transfer import copied


def labelled_keys(source: Any, columns: LabelColumns, types: pa.Schema) -> pa.Table:
    """Keys of rows that have an answer, each once.

    Args:
        source: Of the kinds that label tables have.
        columns: `on` names the key, column by column as `types` does.
        types: In which keys are returned, as `order.item_keys` lists them; what is none of these is no item's.

    Raises:
        InputError: What cannot be read, or lacks a column; floats that are no exact whole numbers.
    """
    with copied(source) as place, connected() as connection, one_line_errors(name_of(source)):
        found = find(connection, open_source(connection, place), columns, lambda _: ())
        _, state = found.answer(found.label_value, found.work_status)
        connection.register("se_types", types.empty_table())
        kinds = [row[1] for row in connection.execute("DESCRIBE se_types").fetchall()]
        unclear = found.ambiguous(kinds)
        if connection.execute(f"SELECT EXISTS (SELECT 1 FROM se_given WHERE {unclear})").fetchall() == [(True,)]:
            refuse_ambiguous(connection, found.key_kinds, unclear, name_of(source))
        keys = [f"{item_value(given(theirs), found.kind(theirs), kind)} AS key{i}"
                for i, (theirs, kind) in enumerate(zip(found.keys, kinds, strict=True))]  # fmt: skip
        whole = " AND ".join(f"key{i} IS NOT NULL" for i in range(len(keys)))
        table = connection.sql(
            f"SELECT DISTINCT * FROM (SELECT {', '.join(keys)} FROM se_given WHERE ({state}) = 'answer') WHERE {whole}"
        ).to_arrow_table()
    return pa.table([_typed(column, kind) for column, kind in zip(table.columns, types.types, strict=True)], types)


def _typed(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if kind != pa.uuid():
        return column.cast(kind)
    bytes_of = [pa.ExtensionArray.from_storage(kind, one) for one in column.cast(pa.binary(16)).chunks]
    return pa.chunked_array(bytes_of, kind)
