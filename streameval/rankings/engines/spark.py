"""The engine of a cluster: classic Spark, Spark Connect, or whatever speaks its protocol (Sail).

Only the DataFrame API is used: `mapInArrow` makes the partials of shares of row groups, a grouped sum adds up counts.
Workers read the files themselves, by the readers of this library, so positions are known and the order is the local
engine's to the last tie, with key columns or without.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pyarrow as pa

from streameval.errors import InputError, OutsideError, StreamevalError
from streameval.rankings import Progress
from streameval.rankings.ordering.partials import Partial, Task
from streameval.rankings.ordering.shipping import Parcel, heard, pack, unpack
from streameval.rankings.ordering.sweep import sweep
from streameval.rankings.ordering.tasks import Sampling
from streameval.rankings.ordering.units import Scan
from streameval.rankings.scans import Step, announce
from streameval.rankings.tables import need
from streameval.types import Int64Array

_PORT = 15002
_PATIENCE = 10.0  # seconds until a server has to accept a connection


@dataclass(frozen=True)
class Spark:
    """Reads on the workers of a Spark session.

    Attributes
    ----------
    remote : str or None
        `sc://HOST[:PORT]` of a Spark Connect or Sail server, or `local[N]`; None takes the session that is there
        (`spark-submit` makes one), or starts one on this machine.
    session : SparkSession or None
        One that is there already, instead.
    """

    remote: str | None = None
    session: Any = None
    memory: ClassVar[str] = "apart"

    def sweep(
        self, scan: Scan, task: Task, numbers: Int64Array, save: Callable[[Partial], None] | None, progress: Progress
    ) -> Partial:
        """See `Engine.sweep`.

        Raises
        ------
        InputError
            A damaged list; a Spark that cannot be started, or whose workers lack this library; the extra is missing.
        OutsideError
            A Spark that does not answer, or that gave up.
        """
        if isinstance(task, Sampling):  # a few row groups: read before a job would have begun
            return sweep(scan, task, numbers, save, progress)
        rows = [scan.units[number].rows for number in numbers.tolist()]
        announce(progress, Step(task.name, sum(rows), sum(scan.units[at].score_bytes for at in numbers.tolist())))
        parcel = pack(task, scan, numbers)
        home = _carried(self._open(), parcel)
        progress(sum(rows), sum(rows))
        return unpack(task, numbers, home)

    def _open(self) -> Any:
        if self.session is not None:
            return self.session
        remote = self.remote
        if remote is not None and not remote.startswith(("sc://", "local")):
            raise InputError(f"'{_shown(remote)}' is no Spark server", "write --spark-remote sc://HOST:15002")
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
            if _starts_here(remote):
                os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers are whatever `python3` is
                builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR")
            return builder.getOrCreate()
        except Exception as error:
            if remote is not None and remote.startswith("sc://"):
                raise _trouble(error) from error
            hint = "it needs Java 17 or later; a server is named with --spark-remote sc://HOST:15002"
            raise InputError(f"Spark cannot be started ({_first_line(error)})", hint) from error


def _starts_here(remote: str | None) -> bool:
    """Whether a Spark is to be started by us: its settings are ours then, and what it says is not asked for."""
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_REMOTE" in os.environ
    return remote.startswith("local") if remote is not None else not submitted


def _carried(session: Any, parcel: Parcel) -> pa.Table:
    """Run a parcel's shares, a task each, and bring the rows home."""
    schema = ", ".join(f"{name} long" for name in parcel.columns)
    tag = f"streameval-{uuid.uuid4().hex}"
    try:
        session.addTag(tag)
        frame = session.range(0, parcel.shares, 1, parcel.shares).mapInArrow(_worker(parcel.sent), schema)
        if parcel.merge == "sum":
            # no share has two rows of one block, so adding up within shares first would be for nothing
            frame = frame.repartition(parcel.shares, "at").groupBy("at").sum(*parcel.columns[1:])
        return frame.toArrow()
    except BaseException as error:
        if isinstance(error, StreamevalError) or not isinstance(error, Exception):  # out of time, or interrupted
            with contextlib.suppress(Exception):
                session.interruptTag(tag)
            raise
        raise _trouble(error) from error
    finally:
        with contextlib.suppress(Exception):
            session.removeTag(tag)


def _worker(sent: bytes) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What workers are sent: bytes, and a function that needs this library only when it runs."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from streameval.rankings.ordering.shipping import work

        for batch in batches:
            yield from work(sent, batch.column(0).to_pylist())

    return run


def _trouble(error: Exception) -> StreamevalError:
    text = str(error)
    if (known := heard(text)) is not None:
        return known
    if re.search(r"No module named '(streameval|pyarrow|polars|numba)", text):
        return InputError(
            "Spark's workers cannot import streameval",
            "install streameval in the Python that they run (PYSPARK_PYTHON)",
        )
    return OutsideError(
        f"Spark gave up ({_first_line(error)})", "its own log says more; the same command goes on where it stopped"
    )


def _first_line(error: Exception) -> str:
    lines = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()]
    return lines[0][:200] if lines else type(error).__name__


def _reach(remote: str) -> None:
    """Connect once: Spark's own client tries for ten minutes before it says that nobody is there."""
    try:
        address = urlsplit(remote)
        host, port = address.hostname, address.port or _PORT
    except ValueError:
        host = None
    if not host:
        raise InputError(f"'{_shown(remote)}' is no Spark server", "write --spark-remote sc://HOST:15002")
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
    """Without what follows the place: tokens stand there."""
    return re.split(r"[/;]", remote.split("://", 1)[-1], maxsplit=1)[0] if "://" in remote else remote


ENGINE = Spark
