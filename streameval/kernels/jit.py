"""One way to compile a kernel: when it is called first, for to import numba takes longer than most commands."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any, Generic, ParamSpec, TypeVar

from streameval.process.interrupts import held

P = ParamSpec("P")
R = TypeVar("R")

_LOCK = threading.RLock()
_MOST = 150_000  # bytes that are interpreted in 0.3 s; to import numba and load kernels takes 0.5 s


class Kernel(Generic[P, R]):
    """A function in nopython mode, free of the interpreter lock, cached on disk where that is possible."""

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._compiled: Callable[P, R] | None = None

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        """Run it: compiled, unless `interpreted` says otherwise."""
        if _thread.interprets:
            return self.py_func(*arguments, **named)
        return (self._compiled or self.compiled())(*arguments, **named)

    def compiled(self) -> Callable[P, R]:
        """What numba makes of it, and of the kernels that it calls, which numba has to find in their place."""
        with _LOCK:
            if self._compiled is None:
                known = self.py_func.__globals__
                for name in _names(self.py_func.__code__):
                    if isinstance(called := known.get(name), Kernel):
                        known[name] = called.compiled()
                self._compiled = _compile(self.py_func)
            return self._compiled


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Make `function` a kernel."""
    return Kernel(function)


class _Thread(threading.local):
    interprets = False


_thread = _Thread()
_read = [0]  # bytes that were read by interpreted kernels


@contextmanager
def interpreted(size: int) -> Iterator[None]:
    """Run kernels as plain Python where little is read: to open one file needs no compiled code.

    Args:
        size: Bytes that will be read. Once much was read so, or numba is there anyway, kernels are compiled.
    """
    if "numba" in sys.modules or _thread.interprets or _read[0] + size > _MOST:
        yield
        return
    _read[0] += size
    _thread.interprets = True
    try:
        yield
    finally:
        _thread.interprets = False


def _names(code: CodeType) -> set[str]:
    inner = [_names(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)


def _compile(function: Callable[P, R]) -> Callable[P, R]:
    """Compile with numba; signals wait while a kernel is compiled or loaded.

    LLVM calls Python back meanwhile, and an exception raised there is lost, with the machine code that was asked for.
    """
    import numba

    from streameval.kernels.cache import KernelCache

    compiled: Any = numba.njit(nogil=True)(function)
    if not hasattr(compiled, "_compile_for_args"):  # NUMBA_DISABLE_JIT: the function as it is
        return function
    compiled._cache = KernelCache(function)
    compile_for, resolve = compiled._compile_for_args, compiled.get_call_template

    def unliteral(arguments: Any, named: Any) -> Any:
        # else a kernel that is called with a constant is compiled once for this constant, and once for all numbers
        return resolve(tuple(map(numba.types.unliteral, arguments)), named)

    compiled.get_call_template = unliteral

    def undisturbed(*arguments: Any, **named: Any) -> Any:
        with held():
            return compile_for(*arguments, **named)

    compiled._compile_for_args = undisturbed
    return compiled  # type: ignore[no-any-return]
