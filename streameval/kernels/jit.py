"""One way to compile a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numba

from streameval.kernels.cache import KernelCache
from streameval.process.interrupts import held

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` in nopython mode, free of the interpreter lock, cached on disk where that is possible.

    Signals wait while a kernel is compiled or loaded: LLVM calls Python back meanwhile, and an exception raised there
    is lost, with the machine code that was asked for.
    """
    compiled: Any = numba.njit(nogil=True)(function)
    if not hasattr(compiled, "_compile_for_args"):  # NUMBA_DISABLE_JIT: the function as it is
        return function
    compiled._cache = KernelCache(function)
    compile_for = compiled._compile_for_args

    def undisturbed(*arguments: Any, **named: Any) -> Any:
        with held():
            return compile_for(*arguments, **named)

    compiled._compile_for_args = undisturbed
    return compiled  # type: ignore[no-any-return]
