"""Iceberg tables: `iceberg:CATALOG.NAMESPACE.TABLE[@SNAPSHOT]`. Manifests say which files a snapshot has.

A snapshot is an id, a branch or a tag; without one it is the current one.

The catalog is set up where pyiceberg looks for it: `~/.pyiceberg.yaml`, or `PYICEBERG_CATALOG__NAME__…` variables.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from streameval.errors import InputError, need
from streameval.parquet.files import DataFile
from streameval.rows.lake import Snapshot, TableFile, TableOpener, call_library

_SCHEME = "iceberg:"


def read_snapshot(source: str, where: str | None) -> Snapshot:
    """Read the manifests of an Iceberg snapshot.

    Raises:
        InputError: No such catalog, table or snapshot; delete files; renamed columns; a condition that needs rows to be
            looked at; the extra is missing.
        OutsideError: The catalog or its store does not answer.
    """
    name, wanted = _split(source)
    catalogs = need("pyiceberg.catalog", "iceberg")
    catalog, table_name = name.split(".", 1)
    table = call_library(source, lambda: catalogs.load_catalog(catalog).load_table(table_name))
    snapshot = _snapshot(table, wanted, source)
    pinned = f"{_SCHEME}{name}@{snapshot.snapshot_id}"
    schema = table.schemas()[snapshot.schema_id] if snapshot.schema_id is not None else table.schema()
    _refuse_renamed_columns(table, pinned)
    tasks = call_library(pinned, lambda: _tasks(table, snapshot.snapshot_id, where))
    _refuse_what_files_do_not_show(tasks, where, pinned)
    root = table.location().rstrip("/")
    files = sorted((_file(task.file, root) for task in tasks), key=lambda one: one.file.name)
    arrow: pa.Schema = schema.as_arrow()
    return Snapshot(pinned, f"iceberg:{table.metadata.table_uuid}", snapshot.snapshot_id, tuple(files), arrow)


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
        latest = [str(one.snapshot_id) for one in table.snapshots()[-3:]]
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


def _refuse_renamed_columns(table: Any, where: str) -> None:
    """Files keep the names that columns had when they were written: these must mean the same in all of them."""
    names: dict[int, str] = {}
    ids: dict[str, int] = {}
    for schema in table.schemas().values():
        for field in schema.fields:
            if names.setdefault(field.field_id, field.name) != field.name:
                raise InputError(
                    f"{where}: column '{field.name}' was '{names[field.field_id]}' when older files were written",
                    "rewrite the table's data files",
                )
            if ids.setdefault(field.name, field.field_id) != field.field_id:
                raise InputError(
                    f"{where}: column '{field.name}' was dropped and made again, and older files hold the former one",
                    "rewrite the table's data files",
                )


def _refuse_what_files_do_not_show(tasks: list[Any], where: str | None, pinned: str) -> None:
    deleted = sum(bool(task.delete_files) for task in tasks)
    if deleted:
        raise InputError(
            f"{pinned}: {deleted:,} of its {len(tasks):,} files have delete files: deleted rows still lie in them",
            "rewrite its data files first (rewrite_data_files), or name a snapshot without any: @SNAPSHOT",
        )
    for task in tasks:
        if str(task.file.file_format).rsplit(".", 1)[-1] != "PARQUET":
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


def _file(data: Any, root: str) -> TableFile:
    path = _place(data.file_path)
    name = data.file_path.removeprefix(f"{root}/")
    return TableFile(DataFile(path, name, ()), data.file_size_in_bytes, data.record_count)


def _place(path: str) -> str:
    """A file's place as our stores name it."""
    if match := re.fullmatch(r"abfss?://([^@/]+)@[^/]+/(.*)", path):
        return f"az://{match[1]}/{match[2]}"
    return re.sub(r"^s3[an]://", "s3://", re.sub(r"^file:(//)?(?=/)", "", path))


OPENER = TableOpener(_SCHEME, read_snapshot)
