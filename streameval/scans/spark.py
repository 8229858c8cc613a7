"""The engine of a cluster: classic Spark, Spark Connect, or whatever speaks its protocol (Sail).

Only the DataFrame API is used: `mapInArrow` makes the partials of shares of row groups, a grouped sum adds up counts.
Workers read the files themselves, by the readers of this library, so positions are known and the order is the local
engine's to the last tie, with key columns or without. Requests go out, rows come back, whatever goes wrong is one line,
and what Spark prints stays out of sight when nothing is wrong.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import socket
import sys
import threading
import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pyarrow as pa

from streameval.errors import InputError, OutsideError, StreamevalError, need
from streameval.progress import Progress, announce
from streameval.scans.jobs import Job, P
from streameval.scans.workers import JobRequest, reported_error, run_on_workers
from streameval.text import first_line

_PORT = 15002
_PATIENCE = 10.0  # seconds that a server has to accept a connection, or to give up a job nobody waits for any more
_LONGEST = 1000  # letters of an error
_KEPT = 20  # lines that may say why it did not start
_WHY = ("error", "exception", "java_home", "unable", "unsupported", "no such")
# of a Spark that we start: what goes wrong in it we say ourselves, in one line
_SETTINGS = {"spark.app.name": "streameval", "spark.ui.showConsoleProgress": "false", "spark.log.level": "FATAL"}


@dataclass(frozen=True)
class Spark:
    """Reads on the workers of a Spark session.

    Attributes:
        remote: `sc://HOST[:PORT]` of a Spark Connect or Sail server, or `local[N]`; None takes the session that is
            there (`spark-submit` makes one), or starts one on this machine.
        session: One that is there already, instead.
    """

    remote: str | None = None
    session: Any = None
    placement: ClassVar[str] = "on workers"

    def run(self, job: Job[P], progress: Progress) -> Iterator[P]:
        """See `Engine.run`.

        Raises `InputError` for a damaged list, a Spark that cannot be started or whose workers lack this library, or a
        missing extra; `OutsideError` where Spark does not answer, or gave up.
        """
        announce(progress, job.step)
        return run_on_workers(job, self.run_job, progress)

    def run_job(self, request: JobRequest) -> pa.Table:
        """Have the workers do all shares of a request, and collect the rows; errors as in `run`."""
        return run_request(self.session if self.session is not None else open_session(self.remote), request)


def open_session(remote: str | None) -> Any:
    """Return a session for `remote` (see `Spark`).

    Raises `InputError` for a wrong address, a Spark that cannot be started, or a missing extra; `OutsideError` where
    the server does not answer.
    """
    if remote is not None and not remote.startswith(("sc://", "local")):
        raise InputError(f"'{_shown_address(remote)}' is not a Spark server", "write --engine spark:sc://HOST:15002")
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
    """Tell whether a Spark is to be started by us, with our settings and without its output."""
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
        raise InputError(f"'{_shown_address(remote)}' is not a Spark server", "write --engine spark:sc://HOST:15002")
    if any(os.environ.get(name) for name in ("grpc_proxy", "https_proxy", "http_proxy")):
        return  # the client goes through it
    try:
        socket.create_connection((host, port), _PATIENCE).close()
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        raise OutsideError(
            f"no Spark server answers at {host}:{port} ({why})", "start it, or run the command again later"
        ) from error


def _shown_address(remote: str) -> str:
    """The address without what follows the host: tokens may stand there."""
    return re.split(r"[/;]", remote.split("://", 1)[-1], maxsplit=1)[0] if "://" in remote else remote


def run_request(session: Any, request: JobRequest) -> pa.Table:
    """Run a request's shares, a task each, and collect the rows; errors are those that workers or Spark report.

    A job that is interrupted here (Ctrl-C, SIGTERM) is cancelled there.
    """
    from pyspark.util import inheritable_thread_target

    tag = f"streameval-{uuid.uuid4().hex}"
    mark, stop = _tagging(session)
    came: queue.SimpleQueue[Any] = queue.SimpleQueue()
    ended, unwanted = threading.Event(), threading.Event()

    def collect() -> None:
        try:
            mark(tag)
            with quiet():
                frame = _frame(session, request)
            came.put(None if unwanted.is_set() else frame.toArrow())
        except BaseException as error:
            came.put(error)
        finally:
            ended.set()

    # a thread's own, so that an interruption arrives in this code, and not in a library that would make it its own
    job = threading.Thread(target=inheritable_thread_target(session)(collect), name="streameval", daemon=True)
    try:
        job.start()
        result = _wait(came)
    except BaseException:
        unwanted.set()
        _cancel(lambda: stop(tag), ended)
        raise
    if isinstance(result, Exception):
        raise trouble(result) from result
    if isinstance(result, BaseException):
        raise result
    return result.select(_names(request))


def _wait(came: queue.SimpleQueue[Any]) -> Any:
    """Wait in turns: an interruption that another thread received, or any on Windows, is noticed between two."""
    while True:
        with contextlib.suppress(queue.Empty):
            return came.get(timeout=0.5)


def _names(request: JobRequest) -> list[str]:
    """Names that Spark gives to the columns of the result."""
    return ["at", *(name if request.kind == "binary" else f"sum({name})" for name in request.columns[1:])]


def _frame(session: Any, request: JobRequest) -> Any:
    at, *others = request.columns
    schema = ", ".join([f"{at} long", *(f"{name} {request.kind}" for name in others)])
    frame = session.range(0, request.shares, 1, request.shares).mapInArrow(_worker(request.payload), schema)
    if request.reduction:
        return frame.groupBy(at).applyInArrow(_reducer(request.reduction), schema)
    if request.kind == "binary":
        return frame
    # no share has two rows of one block, so adding up within shares first would be for nothing
    return frame.repartition(request.shares, at).groupBy(at).agg(dict.fromkeys(others, "sum"))


def _worker(payload: bytes) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that workers run, with its payload; it imports this library only when it runs."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from streameval.scans.workers import run_shares

        for batch in batches:
            yield from run_shares(payload, batch.column(0).to_pylist())

    return run


def _reducer(payload: bytes) -> Callable[[pa.Table], pa.Table]:
    """The function that workers run on all rows of one `at`."""

    def run(rows: pa.Table) -> pa.Table:
        from streameval.scans.workers import reduce_rows

        return reduce_rows(payload, rows)

    return run


def _tagging(session: Any) -> tuple[Callable[[str], Any], Callable[[str], Any]]:
    """Functions that tag the jobs of this thread, and that stop jobs with a tag."""
    context = getattr(session, "sparkContext", None)
    if context is None:  # Spark Connect
        return session.addTag, session.interruptTag
    return context.addJobTag, context.cancelJobsWithTag  # a classic session only knows the tags of its own thread


def _cancel(stop: Callable[[], Any], ended: threading.Event) -> None:
    """Stop a job: asked again until it ends, for it may not have begun, but no longer than `_PATIENCE`."""

    def ask() -> None:
        until = time.monotonic() + _PATIENCE
        while not ended.is_set() and time.monotonic() < until:
            with contextlib.suppress(Exception):
                stop()
            ended.wait(0.2)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_PATIENCE)


def trouble(error: Exception) -> StreamevalError:
    """Turn an error of Spark into one line of ours."""
    text = str(error)
    if (reported := reported_error(text)) is not None:
        return reported
    if re.search(r"No module named '(streameval|pyarrow|polars|numba)", text):
        return InputError(
            "Spark's workers cannot import streameval",
            "install streameval in the Python that they run (PYSPARK_PYTHON)",
        )
    return OutsideError(
        f"Spark gave up ({first_line(error, _LONGEST)})",
        "its own log says more; the same command goes on where it stopped",
    )


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Leave out warnings that a reader can do nothing about."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")  # it is not used
        warnings.filterwarnings("ignore", message="Failed to set spark.")  # a server's own settings
        yield


@contextlib.contextmanager
def started_quietly(settings: Mapping[str, str] | None) -> Iterator[None]:
    """Start Spark's JVM and context; what it prints until the end of the block is kept back, what comes later is not.

    `settings` are those of the context; with None nothing is done, for a Spark that another library starts. A
    `RuntimeError` says why it did not start, in its own words where it had some.
    """
    try:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway
    except ImportError:  # the client of Spark Connect alone
        settings = None
    if settings is None or SparkContext._active_spark_context is not None or "SPARK_API_MODE" in os.environ:
        yield
        return
    output = _ProcessOutput()
    try:
        conf = SparkConf().setAll(list(settings.items()))
        try:
            gateway = launch_gateway(conf, {"stderr": output.write_end})  # type: ignore[no-untyped-call]
        finally:
            os.close(output.write_end)
        SparkContext(conf=conf, gateway=gateway)
        yield
    except Exception as error:
        output.thread.join(1.0)  # of a JVM that is gone, or else of one that has said enough
        why = next((line for line in output.kept if any(word in line.lower() for word in _WHY)), None)
        raise RuntimeError(why or str(error)) from error
    finally:
        output.quiet = False


class _ProcessOutput:
    """Reads what a JVM prints to `write_end` for as long as it lives, and keeps the last lines while `quiet`."""

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()
        self.kept: deque[str] = deque(maxlen=_KEPT)
        self.quiet = True
        self.thread = threading.Thread(target=self._read, name="streameval-jvm", daemon=True)
        self.thread.start()

    def _read(self) -> None:
        with os.fdopen(self.read_end, errors="replace") as lines:
            for line in lines:
                if self.quiet:
                    self.kept.append(line)
                else:
                    sys.stderr.write(line)
