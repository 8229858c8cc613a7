"""Jobs of a Spark session: parcels go out, rows come home, and whatever goes wrong is one line."""

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

from streameval.engines.spark.silence import quiet
from streameval.errors import InputError, OutsideError, StreamevalError
from streameval.remote.jobs import Parcel, heard

_PATIENCE = 10.0  # seconds that a session has to give up a job that nobody waits for any more
_LONGEST = 1000  # letters of an error


def carried(session: Any, parcel: Parcel) -> pa.Table:
    """Run a parcel's shares, a task each, and bring the rows home.

    A job that is interrupted here (Ctrl-C, a limit of time) is cancelled there.

    Raises
    ------
    InputError, OutsideError
        What went wrong, as workers told it or as Spark does.
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
                frame = _frame(session, parcel)
            came.put(None if unwanted.is_set() else frame.toArrow())
        except BaseException as error:
            came.put(error)
        finally:
            ended.set()

    # a thread's own, so that an interruption arrives in this code, and not in a library that would make it its own
    job = threading.Thread(target=inheritable_thread_target(session)(collect), name="streameval", daemon=True)
    try:
        job.start()
        home = _awaited(came)
    except BaseException:
        unwanted.set()
        _cancel(lambda: stop(tag), ended)
        raise
    if isinstance(home, Exception):
        raise trouble(home) from home
    if isinstance(home, BaseException):
        raise home
    return home.select(_names(parcel))


def _awaited(came: queue.SimpleQueue[Any]) -> Any:
    """Wait in turns: an interruption that another thread was told of, or any on Windows, is noticed between two."""
    while True:
        with contextlib.suppress(queue.Empty):
            return came.get(timeout=0.5)


def _names(parcel: Parcel) -> list[str]:
    """What Spark calls the columns that come home."""
    if not parcel.merge:
        return list(parcel.columns)
    return ["at", *(f"{how}({name})" for how, name in zip(parcel.merge, parcel.columns[1:], strict=True))]


def _frame(session: Any, parcel: Parcel) -> Any:
    at, *others = parcel.columns
    schema = ", ".join([f"{at} long", *(f"{name} {parcel.kind}" for name in others)])
    frame = session.range(0, parcel.shares, 1, parcel.shares).mapInArrow(_worker(parcel.sent), schema)
    if not parcel.merge:
        return frame
    # no share has two rows of one block, so adding up within shares first would be for nothing
    return frame.repartition(parcel.shares, at).groupBy(at).agg(dict(zip(others, parcel.merge, strict=True)))


def _worker(sent: bytes) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What workers are sent: bytes, and a function that needs this library only when it runs."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from streameval.remote.jobs import work

        for batch in batches:
            yield from work(sent, batch.column(0).to_pylist())

    return run


def _tagging(session: Any) -> tuple[Callable[[str], Any], Callable[[str], Any]]:
    """What tags the jobs of a thread, and what stops jobs with a tag."""
    context = getattr(session, "sparkContext", None)
    if context is None:  # Spark Connect
        return session.addTag, session.interruptTag
    return context.addJobTag, context.cancelJobsWithTag  # a classic session only knows the tags of its own thread


def _cancel(stop: Callable[[], Any], ended: threading.Event) -> None:
    """Have a job stopped: asked until it ends, for it may not have begun, but never waited for in vain."""

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
    """Say what went wrong in Spark."""
    text = str(error)
    if (known := heard(text)) is not None:
        return known
    if re.search(r"No module named '(streameval|pyarrow|polars|numba)", text):
        return InputError(
            "Spark's workers cannot import streameval",
            "install streameval in the Python that they run (PYSPARK_PYTHON)",
        )
    return OutsideError(
        f"Spark gave up ({first_line(error)})", "its own log says more; the same command goes on where it stopped"
    )


def first_line(error: Exception) -> str:
    """The first line of an error that says something, both its ends where it is long: the reason stands last."""
    line = next((" ".join(line.split()) for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 :]}"
