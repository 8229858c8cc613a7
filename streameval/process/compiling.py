"""The message when kernels have to be compiled; its receiver is set without importing them."""

from __future__ import annotations

from collections.abc import Callable

ONCE = "compiling for this machine, which happens once and takes some seconds"
EACH_TIME = (
    "compiling, in every command anew: neither the package's folder nor the user's cache folder can be written to. "
    "Hint: set NUMBA_CACHE_DIR to a folder that can"
)
_say: Callable[[str], None] | None = None


def announce(say: Callable[[str], None] | None) -> None:
    """Have `say` called with ONCE or EACH_TIME when a kernel has to be compiled, the first time only."""
    global _say
    _say = say


def compiling(what: str) -> None:
    """Call the receiver with a message, the first time only."""
    global _say
    say, _say = _say, None
    if say is not None:
        say(what)
