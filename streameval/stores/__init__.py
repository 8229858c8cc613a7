"""Stores of bytes: the local disk, or an object store named by the scheme of a path (`s3://`, `gs://`, `az://`).

::

    local      files of this machine                       objects    files of object stores, every request tried again
    clients    how to reach a store, one function a scheme ranges     which bytes are worth one request
    listing    folders and patterns of an object store     trouble    what a store's errors mean
    transfer   whole small files, to and fro               publish    folders of parts, sets that appear whole
    claims     one run at a time fills a folder there
    atomic     local files that appear whole
    web        files of web servers, as a store's
    own_files  files that we wrote, checked when read      checksum   of a file, kept within it
    locks      one command at a time                       temporary  folders that do not outlive their command

Who reads Parquet sees a `Store` and never asks which.
"""

from __future__ import annotations

import functools
import os

from streameval.stores.store import Store

PathOrURI = str | os.PathLike[str]  # of a folder or a file, here or in an object store


def is_remote(path: str) -> bool:
    """Tell whether a path names an object store.

    >>> is_remote("s3://lake/ranking"), is_remote("ranking/part-0.parquet")
    (True, False)
    """
    return "://" in path


def store_of(path: str) -> Store:
    """Return the store of a path; an `InputError` for an unknown scheme, or credentials in the path."""
    if not is_remote(path):
        return _local()
    from streameval.stores.clients import root_of

    return _remote(*root_of(path))


@functools.cache
def _local() -> Store:
    from streameval.stores.local import LOCAL

    return LOCAL


@functools.cache
def _remote(scheme: str, root: str) -> Store:
    from streameval.stores.clients import connect
    from streameval.stores.objects import ObjectStore

    return ObjectStore(scheme, connect(scheme, root))
