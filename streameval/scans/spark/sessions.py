"""Spark sessions: the active one, a server's, or one that is started on this machine."""

from __future__ import annotations

import os
import re
import socket
import sys
from typing import Any
from urllib.parse import urlsplit

from streameval.errors import InputError, OutsideError, need
from streameval.scans.spark.jobs import trouble
from streameval.scans.spark.silence import quiet, started_quietly
from streameval.text import first_line

_PORT = 15002
_PATIENCE = 10.0  # seconds until a server has to accept a connection
# of a Spark that we start: what goes wrong in it we say ourselves, in one line
_SETTINGS = {"spark.app.name": "streameval", "spark.ui.showConsoleProgress": "false", "spark.log.level": "FATAL"}


def opened(remote: str | None) -> Any:
    """Return a session for `remote` (see `Spark`).

    Raises `InputError` for a wrong address, a Spark that cannot be started, or a missing extra; `OutsideError` where
    the server does not answer.
    """
    if remote is not None and not remote.startswith(("sc://", "local")):
        raise InputError(f"'{_shown(remote)}' is not a Spark server", "write --engine spark:sc://HOST:15002")
    with quiet():
        return _session(remote)


def _session(remote: str | None) -> Any:
    sessions = need("pyspark.sql", "spark", "scans by Spark").SparkSession
    if remote is not None and remote.startswith("sc://"):
        _reach(remote)
    try:
        there = sessions.getActiveSession()
        if there is not None and remote is None:
            return there
        builder = sessions.builder.appName("streameval")
        if remote is not None:
            builder = builder.remote(remote)
        if not _starts_here(remote):
            return builder.getOrCreate()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers are whatever `python3` is
        with started_quietly(_SETTINGS if remote is None else None):
            return builder.config(map=_SETTINGS).getOrCreate()
    except Exception as error:
        if remote is not None and remote.startswith("sc://"):
            raise trouble(error) from error
        hint = "it needs Java 17 or later; a server is named with --engine spark:sc://HOST:15002"
        raise InputError(f"Spark cannot be started ({first_line(error)})", hint) from error


def _starts_here(remote: str | None) -> bool:
    """Whether a Spark is to be started by us, with our settings and without its output."""
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_REMOTE" in os.environ
    return remote.startswith("local") if remote is not None else not submitted


def _reach(remote: str) -> None:
    """Connect once: Spark's own client tries for ten minutes before it reports that nobody answers."""
    try:
        address = urlsplit(remote)
        host, port = address.hostname, address.port or _PORT
    except ValueError:
        host = None
    if not host:
        raise InputError(f"'{_shown(remote)}' is not a Spark server", "write --engine spark:sc://HOST:15002")
    if any(os.environ.get(name) for name in ("grpc_proxy", "https_proxy", "http_proxy")):
        return  # the client goes through it
    try:
        socket.create_connection((host, port), _PATIENCE).close()
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        raise OutsideError(
            f"no Spark server answers at {host}:{port} ({why})", "start it, or run the command again later"
        ) from error


def _shown(remote: str) -> str:
    """The address without what follows the host: tokens may stand there."""
    return re.split(r"[/;]", remote.split("://", 1)[-1], maxsplit=1)[0] if "://" in remote else remote
