"""Spark without its output when nothing is wrong: a JVM's lines while it starts, warnings of other libraries."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_KEPT = 20  # lines that may say why it did not start
_WHY = ("error", "exception", "java_home", "unable", "unsupported", "no such")


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out warnings that a reader can do nothing about."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")  # it is not used
        warnings.filterwarnings("ignore", message="Failed to set spark.")  # a server's own settings
        yield


@contextmanager
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
