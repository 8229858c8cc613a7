"""Which items a table has labels of, by their key: what was known before anything was drawn."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from streameval.labelling.columns import find
from streameval.labelling.duckdb_session import connected, one_line_errors
from streameval.labelling.options import LabelColumns
from streameval.labelling.readers import given, name_of, open_source
from streameval.stores.transfer import copied

_SQL = {pa.int64(): "BIGINT", pa.uint64(): "UBIGINT", pa.float64(): "DOUBLE", pa.large_string(): "VARCHAR"}


def labelled_keys(source: Any, columns: LabelColumns, types: pa.Schema) -> pa.Table:
    """Keys of rows that have an answer, each once.

    Args:
        source: Of the kinds that label tables have.
        columns: `on` names the key, column by column as `types` does.
        types: In which keys are returned (int64, uint64, float64 or large_string); what is none of these is no item's.

    Raises:
        InputError: What cannot be read, or lacks a column.
    """
    with copied(source) as place, connected() as connection, one_line_errors(name_of(source)):
        found = find(connection, open_source(connection, place), columns, lambda _: ())
        _, state = found.answer(found.label_value, found.work_status)
        keys = [f"TRY_CAST({given(theirs)} AS {_SQL[field.type]}) AS key{i}"
                for i, (theirs, field) in enumerate(zip(found.keys, types, strict=True))]  # fmt: skip
        whole = " AND ".join(f"key{i} IS NOT NULL" for i in range(len(keys)))
        table = connection.sql(
            f"SELECT DISTINCT * FROM (SELECT {', '.join(keys)} FROM se_given WHERE ({state}) = 'answer') WHERE {whole}"
        ).to_arrow_table()
    return table.rename_columns(types.names).cast(types)
