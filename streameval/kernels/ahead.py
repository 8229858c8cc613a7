"""Kernels compiled before they are needed: in all signatures that verbs call them with, which `signatures.txt` lists.

`scripts/signatures` writes that list anew; a test fails where a verb asks for a signature that is not in it.
"""

from __future__ import annotations

import importlib
import pkgutil
import signal
import sys
from collections.abc import Callable
from functools import cache

from streameval.kernels.jit import Kernel
from streameval.kernels.shares import compile_shared, processes_for


@cache
def listed() -> tuple[tuple[str, str], ...]:
    """Kernels by module and name (`bits.repeats`), each with the types of its arguments as numba writes them."""
    lines = (pkgutil.get_data(__name__, "signatures.txt") or b"").decode().splitlines()
    return tuple((kernel, types) for kernel, _, types in (line.partition(" ") for line in lines))


def compile_listed(progress: Callable[[int, int], None]) -> int:
    """Compile all that is listed, on all cores; returns how many had to be."""
    pieces = listed()
    longest_first = sorted(range(len(pieces)), key=lambda i: -kernel_named(pieces[i][0]).size)
    answers = list[bool]()

    def done(compiled: bool) -> None:
        answers.append(compiled)
        progress(len(answers), len(pieces))

    processes = processes_for(len(pieces))
    if processes > 1:
        compile_shared(longest_first, processes, done)
    else:
        for number in longest_first:
            done(compile_one(number))
    return sum(answers)


def compile_one(number: int) -> bool:
    """Compile what is listed under a number; returns False where it was there already."""
    from streameval.kernels.compile import ahead

    name, types = listed()[number]
    return ahead(kernel_named(name).compiled(), types)


def work() -> None:
    """Compile what is listed under each number on stdin, and print whether it had to be: 1 or 0."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who began this is interrupted too, and ends it
    for line in sys.stdin:
        sys.stdout.write(f"{int(compile_one(int(line)))}\n")
        sys.stdout.flush()


def kernel_named(name: str) -> Kernel[..., object]:
    """A kernel by module and name."""
    module, _, function = name.partition(".")
    return getattr(importlib.import_module(f"{__package__}.{module}"), function)  # type: ignore[no-any-return]


def folder() -> str | None:
    """Where compiled kernels are kept; None where no folder can be written to."""
    from streameval.kernels.compile import cache_folder
    from streameval.kernels.harmonic import precision_sum

    return cache_folder(precision_sum.py_func)
