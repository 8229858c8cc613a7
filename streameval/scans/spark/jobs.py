"""Jobs of a Spark session: requests go out, rows come back, and whatever goes wrong is one line."""

from __future__ import annotations

import contextlib
import queue
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from streameval.errors import InputError, OutsideError, StreamevalError
from streameval.scans.spark.silence import quiet
from streameval.scans.workers import JobRequest, reported_error
from streameval.text import first_line

_PATIENCE = 10.0  # seconds that a session has to give up a job that nobody waits for any more
_LONGEST = 1000  # letters of an error


def run_request(session: Any, request: JobRequest) -> pa.Table:
    """Run a request's shares, a task each, and collect the rows; errors are those that workers or Spark report.

    A job that is interrupted here (Ctrl-C, a time limit) is cancelled there.
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
        result = _awaited(came)
    except BaseException:
        unwanted.set()
        _cancel(lambda: stop(tag), ended)
        raise
    if isinstance(result, Exception):
        raise trouble(result) from result
    if isinstance(result, BaseException):
        raise result
    return result.select(_names(request))


def _awaited(came: queue.SimpleQueue[Any]) -> Any:
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
