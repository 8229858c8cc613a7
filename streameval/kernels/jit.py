"""One way to compile a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` in nopython mode, free of the interpreter lock, cached on disk where that is possible.

    A read-only installation has no writable cache folder; numba then raises, and the kernel is compiled anew in
    each process instead.
    """
    try:
        compiled = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:
        compiled = numba.njit(nogil=True)(function)
    return compiled  # type: ignore[no-any-return]
