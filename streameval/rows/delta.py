"""Delta tables: `delta:PATH[@VERSION]`. The log lists the files of a version; they are read as any other."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, need
from streameval.parquet.files import DataFile
from streameval.rows.lake import Snapshot, TableOpener, call_library
from streameval.rows.mapped import NONE_DELETED, StoredNames, TableFile
from streameval.rows.where import choose
from streameval.stores import is_remote
from streameval.typing import Int64Array

_SCHEME = "delta:"
_PARTITION = "partition."


def read_snapshot(source: str, where: str | None) -> Snapshot:
    """Read the log of a Delta table.

    Raises:
        InputError: No such table or version; a deletion vector that cannot be read; the extra is missing.
        OutsideError: The store does not answer.
    """
    path, version = _split(source)
    deltalake = need("deltalake", "delta")
    table = call_library(source, lambda: _open(deltalake, path, version))
    pinned = f"{_SCHEME}{path}@{table.version()}"
    schema = pa.schema(table.schema().to_arrow())
    names = _names(table, schema)
    actions = call_library(pinned, lambda: pa.table(table.get_add_actions(flatten=True)))
    deleted = _deleted_rows(table, {_place(path, name): name for name in actions["path"].to_pylist()}, pinned)
    keys = [name for name in actions.column_names if name.startswith(_PARTITION)]
    if where is not None:
        table_of_keys = actions.select(keys).rename_columns([name.removeprefix(_PARTITION) for name in keys])
        actions = actions.filter(pa.array(choose(table_of_keys, where, pinned)))
    named = {name: _PARTITION + names.physical.get(name, name) for name in schema.names}
    named = {name: key for name, key in named.items() if key in keys}
    files = [
        TableFile(
            DataFile(_place(path, row["path"]), row["path"], tuple((name, _text(row[named[name]])) for name in named)),
            row["size_bytes"],
            row["num_records"],
            {name: row[named[name]] for name in named},
            deleted.get(row["path"], NONE_DELETED),
        )
        for row in sorted(actions.to_pylist(), key=lambda row: str(row["path"]))
    ]
    return Snapshot(pinned, f"delta:{table.metadata().id}", table.version(), tuple(files), schema, names)


def _open(deltalake: Any, path: str, version: int | None) -> Any:
    try:
        return deltalake.DeltaTable(path, version=version, storage_options=_settings(path))
    except deltalake.exceptions.TableNotFoundError:
        raise InputError(f"{_SCHEME}{path}: no Delta table there (it has no _delta_log)") from None


def _split(source: str) -> tuple[str, int | None]:
    path = source.removeprefix(_SCHEME)
    match = re.fullmatch(r"(.+)@([0-9]+)", path)
    path, version = (match[1], int(match[2])) if match else (path, None)
    path = path.removeprefix("file://").rstrip("/")
    if is_remote(path):
        from streameval.stores.clients import root_of

        root_of(path)  # credentials in a path are refused before anything sees them
        return path, version
    if not os.path.isdir(os.path.join(path, "_delta_log")):
        raise InputError(f"{source}: no Delta table there (it has no _delta_log)")
    return os.path.abspath(path), version


def _settings(path: str) -> dict[str, str] | None:
    """Settings that the library does not find: a plain-text endpoint is allowed where the environment names one."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    if not path.startswith("s3://") or not endpoint:
        return None
    return {"AWS_ENDPOINT_URL": endpoint, **({"AWS_ALLOW_HTTP": "true"} if endpoint.startswith("http://") else {})}


def _names(table: Any, schema: pa.Schema) -> StoredNames:
    """Names and ids that columns have in files, where a table maps them."""
    configuration = table.metadata().configuration
    mode = configuration.get("delta.columnMapping.mode", "none")
    if mode == "none":
        return StoredNames()
    metadata = {field.name: field.metadata for field in table.schema().fields}
    physical = {name: str(of.get("delta.columnMapping.physicalName", name)) for name, of in metadata.items()}
    ids = {name: int(of["delta.columnMapping.id"]) for name, of in metadata.items() if "delta.columnMapping.id" in of}
    return StoredNames(physical, ids if mode == "id" else {})


def _deleted_rows(table: Any, names: Mapping[str, str], where: str) -> dict[str, Int64Array]:
    """Rows that deletion vectors name, by file; `names` are those of the files by their places."""
    if "deletionVectors" not in (table.protocol().reader_features or []):
        return {}
    try:
        batches = call_library(where, lambda: pa.table(table.deletion_vectors()).to_batches())
    except InputError:
        raise InputError(
            f"{where}: a deletion vector cannot be read, so that nobody knows which rows were deleted",
            "restore its file (deletion_vector_….bin), or rewrite the table's files "
            "(REORG TABLE … APPLY (PURGE)), or name a version without any: @VERSION",
        ) from None
    deleted = {}
    for place, kept in ((str(place), kept) for batch in batches for place, kept in zip(*batch.columns, strict=True)):
        name = names.get(_place("", place)) or names.get(_place("", unquote(place)))
        if name is None:
            raise InputError(f"{where}: {place} has a deletion vector, and is no file of the table")
        deleted[name] = np.flatnonzero(~kept.values.to_numpy(zero_copy_only=False))
    return deleted


def _place(root: str, name: str) -> str:
    plain = unquote(name)
    if is_remote(plain) or plain.startswith("/"):
        return re.sub(r"^s3[an]://", "s3://", plain.removeprefix("file://"))
    return f"{root}/{plain}"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


OPENER = TableOpener(_SCHEME, read_snapshot)
