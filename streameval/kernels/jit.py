"""Compile a kernel when it is first called: importing numba takes longer than most commands."""

from __future__ import annotations

import functools
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from streameval.kernels.machine_code import kept, note_plain, plain_before

P = ParamSpec("P")
R = TypeVar("R")

_LOCK = threading.RLock()
_MOST = 0.4  # seconds in plain Python, in all; to import numba and load kernels takes 0.5
_LESS = 0.1  # where numba is imported, and kernels were found on the disk: to load one more takes 0.005
_COMPILE = 1.5  # times as much, of a kernel that has to be compiled; and seconds for each byte of its code:
_BYTE = 5e-4
_STEP = 2e-6  # at most
_RARE = 10  # one step in 2^10 rows is 2 ns a row
_SHORT = 1 << 21  # rows: numpy's words for what kernels do take some 0.1 s for each of these millions


class Kernel(Generic[P, R]):
    """A function in nopython mode, free of the interpreter lock, cached on disk where that is possible."""

    def __init__(self, function: Callable[P, R], **options: str | bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._plain = function
        self._direct: Callable[P, R] | None = None
        self._per_step = 1
        self._sums: tuple[int, ...] = ()
        self._compiled: Callable[P, R] | None = None
        self._part: Any = None

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        """Run it: compiled, unless `interpreted` says otherwise."""
        if _thread.interprets:
            return self.plain()(*arguments, **named)
        return (self._compiled or self.compiled())(*arguments, **named)

    def in_numpy(self, rows: int = 1) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Have a function that does the same to the last bit, with arrays, run in the place of its plain Python.

        Args:
            rows: Of the arrays, that take as long as a step of plain Python: `for_rows` counts in them.
        """

        def take(function: Callable[P, R]) -> Callable[P, R]:
            self._plain, self._per_step = function, rows
            return function

        return take

    def sums_into(self, *places: int) -> None:
        """Name arguments that it adds to, which are zero before: where plain Python fails, they are zero again."""
        self._sums = places

    def at_size(self, steps: int, among: int = 0) -> Callable[P, R]:
        """It, run as plain Python where there is little to do (see `interpreted`).

        For one that may be run again on what it was given: where Python refuses the logarithm of 0, say, of which
        compiled code makes an infinite number, what is compiled runs.
        """

        def run(*arguments: P.args, **named: P.kwargs) -> R:
            with interpreted(steps, self, among):
                if _thread.interprets:
                    try:
                        return self.plain()(*arguments, **named)
                    except (ArithmeticError, ValueError):
                        for place in self._sums:
                            arguments[place].fill(0)  # type: ignore[attr-defined]
            return (self._compiled or self.compiled())(*arguments, **named)

        return run

    def for_rows(self, rows: int) -> Callable[P, R]:
        """The same of one that works on the rows of a list: those of a long one (see `expect`) are not its first.

        One that has to be compiled is, where that takes less than all rows of the list would without.
        """
        pays = self.ready or _rows[0] // self._per_step * _STEP > _limit(self)
        return self if _rows[0] > _SHORT and pays else self.at_size(rows // self._per_step)

    @property
    def ready(self) -> bool:
        """Whether it is compiled: in this process, or on disk."""
        return self._compiled is not None or self.name in kept()

    @property
    def name(self) -> str:
        """Its module and name."""
        return f"{self.py_func.__module__.rpartition('.')[2]}.{self.py_func.__name__}"

    @functools.cached_property
    def size(self) -> int:
        """Bytes of Python's code in it and in the kernels that it calls, each once: compilation takes as long."""
        kernels, ahead = set[Kernel[..., Any]](), list[Kernel[..., Any]]([self])
        while ahead:
            kernel = ahead.pop()
            if kernel not in kernels:
                kernels.add(kernel)
                ahead.extend(kernel._calls().values())
        return sum(_bytes(kernel.py_func.__code__) for kernel in kernels)

    def compiled(self) -> Callable[P, R]:
        """What numba makes of it, to be called."""
        from streameval.kernels.compile import compiled

        with _LOCK:
            if self._compiled is None:
                self._compiled = compiled(self.py_func, self._linked(), self._options, _loaded)
            return self._compiled

    def plain(self) -> Callable[P, R]:
        """What runs without numba: in its Python, kernels call one another's Python and nothing in between."""
        if self._plain is not self.py_func:
            return self._plain
        if self._direct is None:
            self._direct, scope = _with_scope(self.py_func)
            scope.update({name: kernel.plain() for name, kernel in self._calls().items()})
        return self._direct

    def part(self) -> Any:
        """What numba makes of it within other kernels."""
        from streameval.kernels.compile import part

        with _LOCK:
            if self._part is None:
                self._part = part(self._linked(), self._options)
            return self._part

    def _linked(self) -> Callable[P, R]:
        """The function with parts in the place of the kernels that it calls, where numba looks for them."""
        linked: Callable[P, R]
        linked, scope = _with_scope(self.py_func)
        scope.update({name: kernel.part() for name, kernel in self._calls().items()})
        return linked

    def _calls(self) -> dict[str, Kernel[..., Any]]:
        """The kernels that it calls, by the names that it calls them by."""
        known = self.py_func.__globals__
        return {name: known[name] for name in _names(self.py_func.__code__) if isinstance(known.get(name), Kernel)}


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Make `function` a kernel."""
    return Kernel(function)


def vector_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """The same, but x / 0 is infinite or NaN, as in numpy: with no error to check for, loops take several at once."""
    return Kernel(function, error_model="numpy")


def borrowing_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """The same of a kernel that makes no array: those it is given are not counted as it hands them on.

    Counting takes most of the time of kernels that read a few bytes each. One that makes an array does not compile.
    """
    return Kernel(function, _nrt=False)


def owning_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """The same of one that makes an array, and is called by those that make none."""
    return Kernel(function, _nrt=True)


class _Thread(threading.local):
    interprets = False


_thread = _Thread()
_spent = defaultdict[str, float](float)  # seconds, by kernel
_noted = defaultdict[str, float](float)  # of these, on the disk
_NOTE = 0.1  # seconds more that are worth a note
_most = [_MOST]
_found = [False]  # whether a kernel was loaded from the disk
_rows = [0]  # of the list that was opened last
_others = [0.0]  # seconds that other libraries took longer than kernels, in all


def expect(rows: int) -> None:
    """Say how many rows the list has that is opened: of a long one, each block is short, but not all of them."""
    _rows[0] = rows


def _loaded() -> None:
    """Note that a kernel was found on the disk."""
    _found[0] = True


def _limit(kernel: Kernel[..., Any]) -> float:
    """Seconds that may be spent otherwise before a kernel does the same."""
    if not kernel.ready:
        return _COMPILE * _most[0] + _BYTE * kernel.size
    return min(_most[0], _LESS) if _found[0] else _most[0]


@contextmanager
def interpreted(steps: int, kernel: Kernel[..., Any], among: int = 0) -> Iterator[None]:
    """Run kernels as plain Python where there is little to do: most commands on small lists need no compiled code.

    Only for kernels that give the same either way, to the last bit. What that takes is noted on the disk, so that a
    kernel that process after process would do without is compiled in the end.

    Args:
        steps: About how many there are at most: a byte of a footer is one, and so is a drawn rank. Where they would
            take too long, or others have, kernels are compiled.
        kernel: The one that takes most of them.
        among: Rows that compiled code goes along besides: so few steps among them cost less than loading ever would.
    """
    # to load is one step for all
    spent = sum(_spent.values()) if kernel.ready else _spent[kernel.name] + plain_before(kernel.name)
    if _thread.interprets or (steps << _RARE >= among and spent + steps * _STEP > _limit(kernel)):
        yield
        return
    began = time.thread_time()
    _thread.interprets = True
    try:
        with np.errstate(all="ignore"):  # compiled, whole numbers of 64 bits wrap without a word, and 1/0 is infinite
            yield
    finally:
        _thread.interprets = False
        _spent[kernel.name] += time.thread_time() - began
        _note(kernel)


def _note(kernel: Kernel[..., Any]) -> None:
    """Note what is spent beyond what would be where the kernel was compiled already."""
    more = _spent[kernel.name] - _most[0]
    if more - _noted[kernel.name] >= _NOTE and not kernel.ready:
        _noted[kernel.name] = more
        note_plain(kernel.name, plain_before(kernel.name) + more)


def worth_compiling(seconds: float, kernel: Kernel[..., Any]) -> bool:
    """Whether a kernel should do what another library does too, and takes some seconds more for (about, in this call).

    It may, until what others took so far comes to what loading or compiling it takes: no run takes twice the time of
    the better of both.
    """
    _others[0] += seconds
    return _others[0] > _limit(kernel)


def _with_scope(function: Any) -> tuple[Any, dict[str, Any]]:
    """The same function with global names of its own."""
    scope = {**function.__globals__}
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    return functools.update_wrapper(copy, function), scope


def _names(code: CodeType) -> set[str]:
    inner = [_names(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)


def _bytes(code: CodeType) -> int:
    return len(code.co_code) + sum(_bytes(part) for part in code.co_consts if isinstance(part, CodeType))
