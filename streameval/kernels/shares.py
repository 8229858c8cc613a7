"""Kernels compiled by several processes: numba compiles in one thread at a time; each signature has its own file."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from streameval.errors import OutsideError

_LEAST = 8  # pieces that are worth a process, which takes half a second to start


def processes_for(pieces: int) -> int:
    """How many processes should compile so many pieces."""
    return max(1, min(os.cpu_count() or 1, pieces // _LEAST)) if sys.executable else 1


def compile_shared(numbers: Sequence[int], processes: int, done: Callable[[bool], None]) -> None:
    """Have processes compile what is listed under these numbers, the first of them first.

    Args:
        done: Told of each, when it is, whether it had to be compiled.

    Raises:
        OutsideError: A process was ended: where memory is short, say.
    """
    answers: queue.SimpleQueue[bool | None] = queue.SimpleQueue()
    waiting, lock = iter(numbers), threading.Lock()
    workers = [_start() for _ in range(processes)]
    threads = [
        threading.Thread(target=_ask, args=(worker, waiting, lock, answers), name="streameval", daemon=True)
        for worker in workers
    ]
    try:
        for thread in threads:
            thread.start()
        for _ in numbers:
            answer = answers.get()
            if answer is None:
                raise OutsideError("a process that compiles was ended before it was done", "is there memory for it?")
            done(answer)
    finally:
        for worker in workers:
            worker.terminate()
        for thread, worker in zip(threads, workers, strict=True):
            thread.join()
            with suppress(OSError), worker:  # which closes what leads to it, and waits for its end
                pass


def _start() -> Any:
    code = f"import sys; sys.path[:] = {sys.path!r}; from streameval.kernels.ahead import work; work()"
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _ask(
    worker: Any,
    numbers: Iterator[int],
    lock: threading.Lock,
    answers: queue.SimpleQueue[bool | None],
) -> None:
    """Give a process one number after another, until there is none or it has ended."""
    with suppress(OSError, ValueError):
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            worker.stdin.write(f"{number}\n")
            worker.stdin.flush()
            answer = worker.stdout.readline()
            if not answer:
                break
            answers.put(answer == "1\n")
    answers.put(None)
