"""Compile a kernel when it is first called, and run it as plain Python while there is little to do.

To import numba and to load a first kernel takes .25 s of CPU, to compile one takes seconds: longer than most commands.
So the first steps of a process run the same source as Python, `STEPS` of them in all.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")
Array = TypeVar("Array", bound=np.ndarray[Any, Any])

STEPS = 200_000  # of plain Python, in a process: about a microsecond each
_LOCK = threading.RLock()


class Kernel(Generic[P, R]):
    """A function in nopython mode, free of the interpreter lock, cached on disk where that is possible."""

    def __init__(self, function: Callable[P, R], **options: str | bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._plain: Callable[P, R] | None = None
        self._compiled: Callable[P, R] | None = None
        self._part: Any = None

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        """Run it: compiled, unless `small` says otherwise."""
        if _thread.plain:
            return self.plain()(*arguments, **named)
        return (self._compiled or self.compiled())(*arguments, **named)

    def compiled(self) -> Callable[P, R]:
        """Give what numba makes of it, to be called; plain Python where NUMBA_DISABLE_JIT is set."""
        from streameval.kernels.compile import build, switched_off

        with _LOCK:
            if self._compiled is None:
                off = switched_off()
                self._compiled = _quiet(self.plain()) if off else build(self.py_func, self._link(), self._options)
            return self._compiled

    def plain(self) -> Callable[P, R]:
        """Give what runs without numba: in its Python, kernels call one another's Python and nothing in between."""
        if self._plain is None:
            plain, scope = _with_scope(self.py_func)
            scope.update({name: kernel.plain() for name, kernel in self._calls().items()})
            if scope.get("math") is math:
                scope["math"] = _MATH
            self._plain = plain
        return self._plain

    def part(self) -> Any:
        """Give what numba makes of it within other kernels."""
        from streameval.kernels.compile import part

        with _LOCK:
            if self._part is None:
                self._part = part(self._link(), self._options)
            return self._part

    def _link(self) -> Callable[P, R]:
        """The function with parts in the place of the kernels that it calls, where numba looks for them."""
        linked: Callable[P, R]
        linked, scope = _with_scope(self.py_func)
        scope.update({name: kernel.part() for name, kernel in self._calls().items()})
        return linked

    def _calls(self) -> dict[str, Kernel[..., Any]]:
        """The kernels that it calls, by the names that it calls them by."""
        module_names = self.py_func.__globals__
        return {
            name: module_names[name]
            for name in _names(self.py_func.__code__)
            if isinstance(module_names.get(name), Kernel)
        }


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Make `function` a kernel."""
    return Kernel(function)


def vector_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile as `kernel` does, but x / 0 is infinite or NaN, as in numpy: loops then take several at once."""
    return Kernel(function, error_model="numpy")


def borrowing_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Give the same of a kernel that makes no array: those it is given are not counted as it hands them on.

    Counting takes most of the time of kernels that read a few bytes each. One that makes an array does not compile.
    """
    return Kernel(function, _nrt=False)


def owning_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Give the same of one that makes an array, and is called by those that make none."""
    return Kernel(function, _nrt=True)


class _Thread(threading.local):
    plain = False


_thread = _Thread()
_left = [STEPS]


def is_small(steps: int) -> bool:
    """Tell whether to do without compiled code: of all that a process does, the first `STEPS` steps are small.

    Many small calls take as long as a large one, so what is asked for is counted.
    """
    if steps > _left[0]:
        return False
    _left[0] -= steps
    return True


@contextmanager
def small(steps: int) -> Iterator[None]:
    """Run kernels as plain Python where there is little to do; they come to the same either way, to the last bit.

    Args:
        steps: About how many there are: a byte of a footer is one, and an item that is sorted takes some.
    """
    if _thread.plain or not is_small(steps):
        yield
        return
    _thread.plain = True
    try:
        with np.errstate(all="ignore"):  # see `_quiet`
            yield
    finally:
        _thread.plain = False


def read_only(array: Array) -> Array:
    """Give the same array, which may not be written to: for numba another type, so that one kernel does for both."""
    view = array.view()
    view.flags.writeable = False
    return view


def _quiet(function: Callable[P, R]) -> Callable[P, R]:
    """Give the same without warnings: compiled, whole numbers of 64 bits wrap without a word, and 1/0 is infinite."""

    def call(*arguments: P.args, **named: P.kwargs) -> R:
        with np.errstate(all="ignore"):
            return function(*arguments, **named)

    return call


def _as_compiled(function: Callable[[float], float], pole: float) -> Callable[[float], float]:
    """A function of `math`, −∞ at its pole and NaN beyond, where Python refuses and compiled code does not."""

    def call(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return -math.inf if x == pole else math.nan

    return call


_MATH = SimpleNamespace(**{**vars(math), "log": _as_compiled(math.log, 0.0), "log1p": _as_compiled(math.log1p, -1.0)})


def _with_scope(function: Any) -> tuple[Any, dict[str, Any]]:
    """Give the same function with global names of its own."""
    scope = {**function.__globals__}
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    return functools.update_wrapper(copy, function), scope


def _names(code: CodeType) -> set[str]:
    inner = [_names(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)
