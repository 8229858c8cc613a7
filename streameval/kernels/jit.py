"""One way to compile a kernel: when it is called first, for to import numba takes longer than most commands."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from streameval.process.interrupts import held

P = ParamSpec("P")
R = TypeVar("R")

_LOCK = threading.RLock()
_MOST = 0.4  # seconds in plain Python, in all; to import numba and load kernels takes 0.5, to compile one a second
_LESS = 0.1  # where numba is imported, and kernels were found on the disk: to load one more takes 0.005
_STEP = 2e-6  # at most


class Kernel(Generic[P, R]):
    """A function in nopython mode, free of the interpreter lock, cached on disk where that is possible."""

    def __init__(self, function: Callable[P, R], division: str = "python") -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._division = division
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
                self._compiled = _compile(self.py_func, self._division)
            return self._compiled


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Make `function` a kernel."""
    return Kernel(function)


def vector_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """The same, but x / 0 is infinite or NaN, as in numpy: with no error to check for, loops take several at once."""
    return Kernel(function, "numpy")


class _Thread(threading.local):
    interprets = False


_thread = _Thread()
_spent = [0.0]  # seconds
_most = [_MOST]


@contextmanager
def interpreted(steps: int) -> Iterator[None]:
    """Run kernels as plain Python where there is little to do: most commands on small lists need no compiled code.

    Only for kernels that give the same either way, to the last bit.

    Args:
        steps: About how many there are at most: a byte of a footer is one, and so is a drawn rank. Where they would
            take too long, or others have, kernels are compiled.
    """
    if _thread.interprets or _spent[0] + steps * _STEP > _most[0]:
        yield
        return
    began = time.thread_time()
    _thread.interprets = True
    try:
        with np.errstate(over="ignore"):  # compiled, whole numbers of 64 bits wrap without a word
            yield
    finally:
        _thread.interprets = False
        _spent[0] += time.thread_time() - began


def _names(code: CodeType) -> set[str]:
    inner = [_names(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)


def _compile(function: Callable[P, R], division: str) -> Callable[P, R]:
    """Compile with numba; signals wait while a kernel is compiled or loaded.

    LLVM calls Python back meanwhile, and an exception raised there is lost, with the machine code that was asked for.
    """
    import numba

    from streameval.kernels.cache import KernelCache

    compiled: Any = numba.njit(nogil=True, no_cfunc_wrapper=True)(function)  # nothing but Python calls it
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
            result = compile_for(*arguments, **named)
        if compiled._cache_hits:
            _most[0] = min(_most[0], _LESS)
        return result

    compiled._compile_for_args = undisturbed
    return compiled  # type: ignore[no-any-return]
