"""The message when kernels have to be compiled; its receiver is set without importing them."""

from __future__ import annotations

from collections.abc import Callable

ONCE = (
    "compiling {kernel} and others for this machine, which happens once and takes some seconds. "
    "Hint: streameval compile does it for all commands beforehand"
)
EACH_TIME = (
    "compiling {kernel} and others, in every command anew: there is no folder to keep machine code in that can be "
    "written to. Hint: set NUMBA_CACHE_DIR to one that can"
)
_say: Callable[[str, str], None] | None = None


def announce(say: Callable[[str, str], None] | None) -> None:
    """Have `say` called with ONCE or EACH_TIME, and the kernel, when one has to be compiled, the first time only."""
    global _say
    _say = say


def compiling(what: str, kernel: str) -> None:
    """Call the receiver with a message and the name of a kernel, the first time only."""
    global _say
    say, _say = _say, None
    if say is not None:
        say(what, kernel)
