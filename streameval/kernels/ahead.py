"""Kernels compiled before they are needed: in all signatures that verbs call them with, which `signatures.txt` lists.

`scripts/signatures` writes that list anew; a test fails where a verb asks for a signature that is not in it. Several
processes share the work: numba compiles in one thread at a time; each signature has its own file.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from streameval.errors import OutsideError
from streameval.kernels.jit import Kernel

_LEAST = 8  # pieces that are worth a process, which takes half a second to start


@cache
def list_signatures() -> tuple[tuple[str, str], ...]:
    """Kernels by module and name (`bits.repeats`), each with the types of its arguments as numba writes them."""
    lines = (pkgutil.get_data(__name__, "signatures.txt") or b"").decode().splitlines()
    return tuple((kernel, types) for kernel, _, types in (line.partition(" ") for line in lines))


def compile_listed(progress: Callable[[int, int], None]) -> int:
    """Compile all that is listed, on all cores; returns how many had to be."""
    numbers, answers = range(len(list_signatures())), list[bool]()

    def done(compiled: bool) -> None:
        answers.append(compiled)
        progress(len(answers), len(numbers))

    processes = processes_for(len(numbers))
    if processes > 1:
        compile_shared(numbers, processes, done)
    else:
        for number in numbers:
            done(compile_one(number))
    return sum(answers)


def compile_one(number: int) -> bool:
    """Compile what is listed under a number; returns False where it was there already."""
    from streameval.kernels.compile import ahead

    name, types = list_signatures()[number]
    return ahead(kernel_named(name).compiled(), types)


def work() -> None:
    """Compile what is listed under each number on stdin, and print whether it had to be: 1 or 0."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who began this is interrupted too, and ends it
    for line in sys.stdin:
        sys.stdout.write(f"{int(compile_one(int(line)))}\n")
        sys.stdout.flush()


def processes_for(pieces: int) -> int:
    """Tell how many processes should compile so many pieces."""
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


def kernel_named(name: str) -> Kernel[..., object]:
    """A kernel by module and name."""
    module, _, function = name.partition(".")
    return getattr(importlib.import_module(f"{__package__}.{module}"), function)  # type: ignore[no-any-return]


def folder() -> str | None:
    """Tell where compiled kernels are kept; None where no folder can be written to."""
    from streameval.kernels.compile import cache_folder
    from streameval.kernels.harmonic import precision_sum

    return cache_folder(precision_sum.py_func)
