"""`streameval compile`."""

from __future__ import annotations

from dataclasses import asdict

from streameval.cli.output import Output, progress


def compile(*, output: Output = Output()) -> None:
    """Compile beforehand what commands would compile when they need it, so that none has to: for images of containers.

    Example: streameval compile

    Machine code is kept for this processor, in NUMBA_CACHE_DIR where that is set, else in the package's folder or the
    user's cache folder. With NUMBA_CPU_NAME=generic, here and where commands run, it is for all processors of this
    architecture. What is there already is left alone.
    """
    from streameval.process.compiling import announce
    from streameval.verbs.compile import compile as verb

    announce(None)  # that is what was asked for
    with progress("compiling", output) as bar:
        made = verb(progress=bar)
    output.event("compile", **asdict(made))
    output.say(asdict(made), [f"{made.compiled:,} of {made.kernels:,} pieces compiled; they are in {made.folder}"])
