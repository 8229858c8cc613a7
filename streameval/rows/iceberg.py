"""Iceberg tables: `iceberg:CATALOG.NAMESPACE.TABLE[@SNAPSHOT]`. Manifests say which files a snapshot has.

A snapshot is an id, a branch or a tag; without one it is the current one.

The catalog is set up where pyiceberg looks for it: `~/.pyiceberg.yaml`, or `PYICEBERG_CATALOG__NAME__…` variables.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streameval.errors import InputError, need
from streameval.kernels.sorted_sets import unique
from streameval.parquet.files import DataFile
from streameval.rows.lake import Snapshot, TableOpener, call_library
from streameval.rows.mapped import NONE_DELETED, StoredNames, TableFile
from streameval.typing import Int64Array

_SCHEME = "iceberg:"


def read_snapshot(source: str, where: str | None) -> Snapshot:
    """Read the manifests of an Iceberg snapshot.

    Raises:
        InputError: No such catalog, table or snapshot; equality deletes; a condition that needs rows to be looked at;
            the extra is missing.
        OutsideError: The catalog or its store does not answer.
    """
    name, wanted = _split(source)
    catalogs = need("pyiceberg.catalog", "iceberg")
    catalog, table_name = name.split(".", 1)
    table = call_library(source, lambda: catalogs.load_catalog(catalog).load_table(table_name))
    snapshot = _snapshot(table, wanted, source)
    pinned = f"{_SCHEME}{name}@{snapshot.snapshot_id}"
    schema = table.schemas()[snapshot.schema_id] if snapshot.schema_id is not None else table.schema()
    tasks = call_library(pinned, lambda: _tasks(table, snapshot.snapshot_id, where))
    _refuse_what_files_do_not_show(tasks, where, pinned)
    root = table.location().rstrip("/")
    deleted = call_library(pinned, lambda: _deleted_rows(table, tasks))
    constants = _identity_keys(table, schema)
    files = sorted((_file(task.file, root, constants, deleted) for task in tasks), key=lambda file: file.file.name)
    arrow: pa.Schema = schema.as_arrow()
    names = StoredNames(ids={field.name: field.field_id for field in schema.fields})
    return Snapshot(pinned, f"iceberg:{table.metadata.table_uuid}", snapshot.snapshot_id, tuple(files), arrow, names)


def _split(source: str) -> tuple[str, str | None]:
    name, _, wanted = source.removeprefix(_SCHEME).partition("@")
    if name.count(".") < 2 or not all(name.split(".")):
        raise InputError(
            f"{source}: names no table", "iceberg:CATALOG.NAMESPACE.TABLE, with @SNAPSHOT for an older one"
        )
    return name, wanted or None


def _snapshot(table: Any, wanted: str | None, source: str) -> Any:
    if wanted is None:
        snapshot = table.current_snapshot()
        if snapshot is None:
            raise InputError(f"{source}: an empty table: it has no snapshot yet")
        return snapshot
    snapshot = table.snapshot_by_id(int(wanted)) if re.fullmatch("[0-9]{1,19}", wanted) else None
    snapshot = snapshot or table.snapshot_by_name(wanted)  # a tag may be a number too
    if snapshot is None:
        latest = [str(snapshot.snapshot_id) for snapshot in table.snapshots()[-3:]]
        raise InputError(
            f"{source}: the table has no snapshot '{wanted}' (any more: snapshots expire)",
            f"the latest are {', '.join(latest)}; plan a new study on one of them" if latest else None,
        )
    return snapshot


def _tasks(table: Any, snapshot: int, where: str | None) -> list[Any]:
    """Files of a snapshot, with what of the condition their partitions leave open."""
    if where is None:
        return list(table.scan(snapshot_id=snapshot).plan_files())
    from pyiceberg.expressions import parser
    from pyiceberg.expressions.visitors import rewrite_not

    tasks: dict[str, Any] = {}
    for condition in _alternatives(_as_in_sql(rewrite_not(parser.parse(where)))):
        for task in table.scan(snapshot_id=snapshot, row_filter=condition).plan_files():
            if _is_decided(task) or task.file.file_path not in tasks:
                tasks[task.file.file_path] = task
    return list(tasks.values())


def _as_in_sql(condition: Any) -> Any:
    """A condition without negations that a null satisfies: pyiceberg lets it through `<>`, `not in` and `not like`."""
    expressions: Any = need("pyiceberg.expressions", "iceberg")
    if isinstance(condition, expressions.And | expressions.Or):
        return type(condition)(_as_in_sql(condition.left), _as_in_sql(condition.right))
    if isinstance(condition, expressions.NotEqualTo | expressions.NotIn | expressions.NotStartsWith):
        return expressions.And(condition, expressions.NotNull(condition.term))
    return condition


def _alternatives(condition: Any) -> list[Any]:
    """Conditions joined by `or`, one by one: pyiceberg compares nulls, and fails, where only another one is true."""
    from pyiceberg.expressions import Or

    if isinstance(condition, Or):
        return [*_alternatives(condition.left), *_alternatives(condition.right)]
    return [condition]


def _is_decided(task: Any) -> bool:
    return type(task.residual).__name__ == "AlwaysTrue"


def _refuse_what_files_do_not_show(tasks: list[Any], where: str | None, pinned: str) -> None:
    deletes = {
        (_last(delete_file.content), _last(delete_file.file_format))
        for task in tasks
        for delete_file in task.delete_files
    }
    if any(kind == "EQUALITY_DELETES" for kind, _ in deletes):
        raise InputError(
            f"{pinned}: rows were deleted from it by equality deletes: which ones, only a join tells",
            "rewrite its data files first (rewrite_data_files), or name a snapshot without any: @SNAPSHOT",
        )
    for other in sorted({stored for _, stored in deletes} - {"PARQUET"}):
        raise InputError(
            f"{pinned}: deleted rows are named by {other} files; position deletes are read from Parquet",
            "rewrite its data files first (rewrite_data_files), or name a snapshot without any: @SNAPSHOT",
        )
    for task in tasks:
        if _last(task.file.file_format) != "PARQUET":
            raise InputError(f"{task.file.file_path}: is not a Parquet file", "only Parquet data files are read")
    if where is None:
        return
    if not tasks:
        raise InputError(f'{pinned}: --where "{where}" leaves no file')
    if not all(_is_decided(task) for task in tasks):
        raise InputError(
            f'{pinned}: --where "{where}" does not follow from partitions alone',
            "a condition chooses whole files: name columns that the table is partitioned by",
        )


def _last(name: Any) -> str:
    """A word of an enumeration."""
    return str(name).rsplit(".", 1)[-1]


def _deleted_rows(table: Any, tasks: list[Any]) -> dict[str, Int64Array]:
    """Rows that position deletes name, by data file; each of their files is read once."""
    deleted: dict[str, list[Int64Array]] = {}
    for place in {delete_file.file_path: None for task in tasks for delete_file in task.delete_files}:
        with table.io.new_input(place).open() as file:
            deletes = pq.read_table(pa.BufferReader(file.read()), columns=["file_path", "pos"])
        for path in deletes.column("file_path").unique().to_pylist():
            rows = deletes.filter(pc.equal(deletes.column("file_path"), path)).column("pos")
            deleted.setdefault(path, []).append(rows.to_numpy())
    return {path: unique(np.concatenate(several).astype(np.int64)) for path, several in deleted.items()}


def _identity_keys(table: Any, schema: Any) -> dict[str, tuple[int, int]]:
    """Columns whose values are partition values: which spec says so, and at which place.

    Files that were added from elsewhere (`add_files`) may lack these columns.
    """
    return {
        schema.find_column_name(field.source_id): (spec.spec_id, place)
        for spec in table.specs().values()
        for place, field in enumerate(spec.fields)
        if str(field.transform) == "identity" and schema.find_column_name(field.source_id) in schema.column_names
    }


def _file(data: Any, root: str, keys: dict[str, tuple[int, int]], deleted: dict[str, Int64Array]) -> TableFile:
    path = _place(data.file_path)
    name = data.file_path.removeprefix(f"{root}/")
    held = {key: data.partition[place] for key, (spec, place) in keys.items() if spec == data.spec_id}
    rows = deleted.get(data.file_path, NONE_DELETED)
    return TableFile(DataFile(path, name, ()), data.file_size_in_bytes, data.record_count, held, rows)


def _place(path: str) -> str:
    """A file's place as our stores name it."""
    if match := re.fullmatch(r"abfss?://([^@/]+)@[^/]+/(.*)", path):
        return f"az://{match[1]}/{match[2]}"
    return re.sub(r"^s3[an]://", "s3://", re.sub(r"^file:(//)?(?=/)", "", path))


OPENER = TableOpener(_SCHEME, read_snapshot)
