"""Compile: make all machine code beforehand."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from streameval.errors import InputError, OutsideError
from streameval.options import takes
from streameval.printed import Event, Printed
from streameval.progress import Progress, silent


@dataclass(frozen=True)
class Compiled:
    """Kernels that were compiled, and their folder.

    Attributes:
        kernels: Pieces of machine code that there are now.
        compiled: Those of them that were not there before.
        folder: Where they are kept.
    """

    kernels: int
    compiled: int
    folder: str


@takes()
def compile(*, progress: Progress = silent) -> Compiled:
    """Compile for an image.

    Beforehand what commands would compile when they need it, so that none has to.

    Example: streameval compile

    Machine code is kept for this processor, in NUMBA_CACHE_DIR where that is set, else in the package's folder or the
    user's cache folder. With NUMBA_CPU_NAME=generic, here and where commands run, it is for all processors of this
    architecture. What is there already is left alone.

    Returns:
        Compiled: How many there are, how many were compiled now, and the folder. They are for this version of Python,
            numba and streameval too: run it where commands are to run.

    Raises:
        InputError: NUMBA_DISABLE_JIT has everything run as plain Python.
        OutsideError: None of these folders can be written to.
    """
    from streameval.kernels.ahead import compile_listed, folder, list_signatures
    from streameval.kernels.compile import switched_off

    if switched_off():
        raise InputError("nothing is compiled while NUMBA_DISABLE_JIT is set", "unset it, here and where commands run")

    place = folder()
    if place is None:
        hint = "set NUMBA_CACHE_DIR to a folder that can be written to"
        raise OutsideError("there is nowhere to keep machine code", hint)
    return Compiled(len(list_signatures()), compile_listed(progress), place)


def printed(compiled: Compiled, **_: Any) -> Printed:
    """Print how much was compiled, and where it is."""
    facts = asdict(compiled)
    line = f"{compiled.compiled:,} of {compiled.kernels:,} pieces compiled; they are in {compiled.folder}"
    return Printed(facts, [line], events=[Event("compile", facts)])
