"""Whole small files to and from any store: results to publish, label tables to read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from streameval.errors import InputError, OutsideError, StreamevalError
from streameval.stores import is_remote, store_of
from streameval.stores.clients import is_known
from streameval.stores.listing import kind_of
from streameval.stores.objects import ObjectStore
from streameval.stores.temporary import temporary_folder
from streameval.stores.trouble import with_retries


def put(path: str, body: bytes) -> None:
    """Write a file whole: an object appears when its last byte came, a local file when it was synced."""
    if not is_remote(path):
        from streameval.stores import atomic

        atomic.write_all({Path(path): atomic.content(body)})
        return
    store = cast(ObjectStore, store_of(path))

    def send() -> int:
        # in one piece: a stream that is closed after a failed write would leave what came so far
        with store.filesystem.open_output_stream(store.key(path), buffer_size=0) as stream:
            stream.write(body)
        return int(store.filesystem.get_file_info(store.key(path)).size or 0)

    if with_retries(path, send) != len(body):
        raise OutsideError(f"{path}: arrived incomplete", "run the same command again")


def get(path: str) -> bytes | None:
    """Read a file whole; None where there is none."""
    if not is_remote(path):
        return Path(path).read_bytes() if os.path.exists(path) else None
    if kind_of(path) != "file":
        return None
    store = cast(ObjectStore, store_of(path))

    def read() -> bytes | None:
        try:
            with store.filesystem.open_input_stream(store.key(path)) as stream:
                body: bytes = stream.read()
        except FileNotFoundError:  # another process has just removed it
            return None
        return body

    return with_retries(path, read)


def remove(path: str) -> None:
    """Remove a file, if it is there."""
    if not is_remote(path):
        Path(path).unlink(missing_ok=True)
        return
    store = cast(ObjectStore, store_of(path))

    def delete() -> None:
        with suppress(FileNotFoundError):  # an earlier try did it, though its answer was lost
            store.filesystem.delete_file(store.key(path))

    with_retries(path, delete)


@contextmanager
def local_copy(source: Any) -> Iterator[Any]:
    """Copy a source that lies on an object store to this machine for a while; any other is taken as it is.

    Yields:
        path, address or table: What to read; errors about the copy are raised as errors about the source.

    Raises:
        InputError: There is no such object, or it changes while it is read.
    """
    if not (isinstance(source, str) and is_remote(source) and is_known(source)):
        yield source
        return
    with temporary_folder("streameval-work") as folder:
        place = str(folder / source.rsplit("/", 1)[1])
        _download(source, Path(place))
        try:
            yield place
        except StreamevalError as error:
            raise type(error)(error.what.replace(place, source), error.hint) from error


def _download(path: str, place: Path) -> None:
    if kind_of(path) != "file":
        raise InputError(f"{path}: no such file")
    step = 1 << 24
    store = cast(ObjectStore, store_of(path))
    with store.open_anew(path) as file, open(place, "wb") as stream:
        size = file.state[0]
        for at in range(0, size, step):
            stream.write(file.read([(at, min(step, size - at))])[0])
    if store.state(path) != file.state:
        raise InputError(f"{path}: changed while it was read", "run the command again when it is complete")
