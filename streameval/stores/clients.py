"""Clients of object stores: one function a scheme, with settings and credentials from where they usually are.

Paths name buckets and objects and nothing else. A credential in a path would be kept in plan.json, in logs and in shell
histories, so it is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from streameval.errors import InputError

_CONNECT, _ANSWER = 10.0, 60.0  # seconds before a connection, and an answer, count as lost
_SDK_TRIES = 1  # `trouble` tries again, with the same patience for every store
REQUESTS = 128  # at once: of so small ones that each takes as long as the store takes to answer


def root_of(path: str) -> tuple[str, str]:
    """Split off a path's scheme and bucket (or container).

    Raises `InputError` for a scheme that is not known, no bucket, credentials before it or settings after it.
    """
    scheme, rest = path.split("://", 1)
    if scheme not in _CLIENTS:
        queries = "queries are of duckdb:, sqlite:// and postgresql://; of another database, export the rows as Parquet"
        stores = f"there are: {', '.join(_CLIENTS)}"
        raise InputError(f"{path}: no store has the scheme '{scheme}'", queries if "#" in path else stores)
    if settings := re.search(r"\?[A-Za-z_][\w.-]*=", rest):
        raise InputError(
            f"{scheme}://{rest[: settings.start()]}: settings after a '?'",
            "give them by the environment, such as AWS_ENDPOINT_URL: a path is kept and shown, and must hold no secret",
        )
    root = rest.split("/", 1)[0]
    if "@" in root or (":" in root and not (scheme in _WEB and re.fullmatch(r"(\[[0-9a-f:]+\]|[^:]+):\d+", root))):
        raise InputError(
            f"{path}: a name or secret before the bucket",
            "leave it out: credentials are taken from the environment, and are never written down",
        )
    if not root:
        raise InputError(f"{path}: there is no bucket in it")
    return scheme, root


def is_known(path: str) -> bool:
    """Tell whether a path's scheme is that of an object store: databases have addresses too."""
    return path.split("://", 1)[0] in _CLIENTS


def connect(scheme: str, root: str) -> Any:
    """Return the pyarrow filesystem of a bucket."""
    return _CLIENTS[scheme](root)


def connect_for_writing(scheme: str, root: str) -> Any:
    """Return a filesystem whose writes have arrived when they return: memory then holds one piece of a file at a time.

    An upload in parts that fails is completed with those that arrived when its stream is closed, so it is used only for
    files under temporary names. Unfinished uploads could be neither seen nor removed through pyarrow.
    """
    if scheme != "s3":
        return connect(scheme, root)
    return _s3(root, background_writes=False, allow_delayed_open=True)  # a small file is then one request


def _s3(bucket: str, **settings: Any) -> Any:
    from pyarrow import fs

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region is None and endpoint is None:
        try:
            region = fs.resolve_s3_region(bucket)
        except OSError:
            region = None  # the SDK knows its own files and the machine's metadata
    with _connections(REQUESTS):
        return fs.S3FileSystem(
            endpoint_override=endpoint,
            region=region,
            anonymous=_yes("AWS_NO_SIGN_REQUEST"),
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_SDK_TRIES),
            connect_timeout=_CONNECT,
            request_timeout=_ANSWER,
            **settings,
        )


@contextmanager
def _connections(count: int) -> Iterator[None]:
    """Let a client that is made meanwhile have connections: Arrow gives it one for each of its own threads, or 25."""
    import pyarrow as pa

    before = pa.io_thread_count()
    pa.set_io_thread_count(max(before, count))
    try:
        yield
    finally:
        pa.set_io_thread_count(before)


def _gcs(bucket: str) -> Any:
    from datetime import timedelta

    from pyarrow import fs

    endpoint = os.environ.get("STORAGE_EMULATOR_HOST", "")
    return fs.GcsFileSystem(
        anonymous=_yes("GS_NO_SIGN_REQUEST") or bool(endpoint),
        endpoint_override=endpoint.split("://")[-1] or None,
        scheme="http" if endpoint.startswith("http://") else None,
        retry_time_limit=timedelta(seconds=1),  # `trouble` is patient,
    )


def _azure(container: str) -> Any:
    from pyarrow import fs

    account = os.environ.get("AZURE_STORAGE_ACCOUNT")
    if not account:
        raise InputError(
            f"az://{container}: the storage account is not known", "set AZURE_STORAGE_ACCOUNT, as for the az tool"
        )
    return fs.AzureFileSystem(
        account, account_key=os.environ.get("AZURE_STORAGE_KEY"), sas_token=os.environ.get("AZURE_STORAGE_SAS_TOKEN")
    )


def _yes(name: str) -> bool:
    return os.environ.get(name, "").lower() in ("1", "true", "yes")


def _of_web(scheme: str, root: str) -> Any:
    from streameval.stores.web import WebFiles

    return WebFiles(scheme)


def _hugging_face(root: str) -> Any:
    from streameval.stores.web import HuggingFace

    return HuggingFace()


_WEB = ("https", "http")
_CLIENTS: dict[str, Callable[[str], Any]] = {
    "s3": _s3, "gs": _gcs, "az": _azure, "hf": _hugging_face, **{one: partial(_of_web, one) for one in _WEB}
}  # fmt: skip
