"""Delta tables: `delta:PATH[@VERSION]`. The log lists the files of a version; they are read as any other."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from streameval.errors import InputError, OutsideError, need
from streameval.parquet.files import DataFile
from streameval.rows.lake import Snapshot, TableFile, TableOpener, call_library
from streameval.rows.where import chosen
from streameval.stores import is_remote
from streameval.stores.trouble import store_error

_SCHEME = "delta:"
_PARTITION = "partition."


def read_snapshot(source: str, where: str | None) -> Snapshot:
    """Read the log of a Delta table.

    Raises:
        InputError: No such table or version; deleted rows or renamed columns that plain files would show; the extra is
            missing.
        OutsideError: The store does not answer.
    """
    path, version = _split(source)
    deltalake = need("deltalake", "delta")
    table = call_library(source, lambda: _open(deltalake, path, version))
    pinned = f"{_SCHEME}{path}@{table.version()}"
    _refuse_rewritten_rows(table, pinned)
    schema = pa.schema(table.schema().to_arrow())
    actions = call_library(pinned, lambda: pa.table(table.get_add_actions(flatten=True)))
    keys = [name for name in actions.column_names if name.startswith(_PARTITION)]
    if where is not None:
        table_of_keys = actions.select(keys).rename_columns([name.removeprefix(_PARTITION) for name in keys])
        actions = actions.filter(pa.array(chosen(table_of_keys, where, pinned)))
    named = [name for name in schema.names if _PARTITION + name in keys]
    rows = sorted(actions.to_pylist(), key=lambda row: str(row["path"]))
    files = [
        TableFile(
            DataFile(
                _place(path, row["path"]), row["path"], tuple((name, _text(row[_PARTITION + name])) for name in named)
            ),
            row["size_bytes"],
            row["num_records"],
        )
        for row in rows
    ]
    return Snapshot(pinned, f"delta:{table.metadata().id}", table.version(), tuple(files), schema)


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


def _refuse_rewritten_rows(table: Any, where: str) -> None:
    protocol = table.protocol()
    if "deletionVectors" in (protocol.reader_features or []):
        try:
            some = any(batch.num_rows for batch in pa.table(table.deletion_vectors()).to_batches())
        except Exception as error:  # its file cannot be read: there is one
            if isinstance(trouble := store_error(where, error), OutsideError):
                raise trouble from None
            some = True
        if some:
            raise InputError(
                f"{where}: has deletion vectors: rows deleted from it still lie in its files",
                "rewrite its files (REORG TABLE … APPLY (PURGE)), or name a version without any: @VERSION",
            )
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        raise InputError(
            f"{where}: its columns are mapped to other names in its files", "write it to a table without column mapping"
        )


def _place(root: str, name: str) -> str:
    plain = unquote(name)
    if is_remote(plain) or plain.startswith("/"):
        return re.sub(r"^s3[an]://", "s3://", plain.removeprefix("file://"))
    return f"{root}/{plain}"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


OPENER = TableOpener(_SCHEME, read_snapshot)
