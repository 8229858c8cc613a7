"""Compilation of kernels by numba, by interfaces that it promises to nobody; all of those are used here and in `cache`.

By itself numba optimises each function and makes machine code of it, with a wrapper for Python, before another calls
it; and then all of this again within each that does. A part stays as it was lowered until it is in what Python calls,
where all is optimised together: the machine code is as fast, and comes in two thirds of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from streameval.kernels.cache import KernelCache
from streameval.process.interrupts import hold_interrupts
from streameval.typing import KernelOptions


def switched_off() -> bool:
    """Tell whether NUMBA_DISABLE_JIT has kernels run as plain Python."""
    return bool(numba.config.DISABLE_JIT)


def build(function: Callable[..., Any], linked: Callable[..., Any], options: KernelOptions) -> Callable[..., Any]:
    """Compile `linked`, which is `function` with parts in what it calls; signals wait meanwhile.

    LLVM calls Python back, and an exception raised there is lost, with the machine code that was asked for.
    """
    dispatcher = _jit(linked, options)
    dispatcher._cache, compile_for = KernelCache(function), dispatcher._compile_for_args

    def undisturbed(*arguments: Any, **named: Any) -> Any:
        with _compiling():
            return compile_for(*arguments, **named)

    dispatcher._compile_for_args = undisturbed
    return dispatcher  # type: ignore[no-any-return]


@contextmanager
def _compiling() -> Iterator[None]:
    """Hold signals back, and collect no garbage: numba makes millions of objects that live as long as it compiles."""
    collects = gc.isenabled()
    with global_compiler_lock, hold_interrupts():
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()


def part(linked: Callable[..., Any], options: KernelOptions) -> Any:
    """Make a part of other kernels; each signature is lowered when one of them is compiled that needs it."""
    return _as_part(_jit(linked, {**options, "no_cpython_wrapper": True}))


def _as_part(dispatcher: Any) -> Any:
    """Have what numba compiles be lowered alone."""
    dispatcher._compiler.pipeline_class = _Lowered

    def add(result: Any) -> None:
        result = result._replace(entry_point=object())  # by which numba knows it among what can be called
        result.library.finalize = lambda: _link(result.library)
        result.target_context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        dispatcher.overloads[tuple(result.signature.args)] = result

    dispatcher.add_overload = add
    return dispatcher


class _Lowered(CompilerBase):  # type: ignore[misc]
    """Numba's own passes, without machine code at their end."""

    def define_pipelines(self) -> list[Any]:
        """See `CompilerBase`."""
        self.state.flags.no_compile = True
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


def _link(library: Any) -> None:
    """Take in what a part calls; that is all that is done to it before it is taken in itself."""
    for other in library._linking_libraries:
        library._final_module.link_in(other._get_module_for_linking(), preserve=True)
    library._finalized = True


def ahead(dispatcher: Any, signature: str) -> bool:
    """Compile one signature of what `build` returned; returns False where it was there already, or numba is off."""
    if switched_off():
        return False
    wanted = eval(signature, {**vars(numba.types), "bool": numba.types.boolean})  # as numba itself reads signatures
    if dispatcher._cache.holds(wanted, cpu_target.target_context.codegen()):
        return False
    with _compiling():
        dispatcher.compile(wanted)
    return True


def cache_folder(function: Callable[..., Any]) -> str | None:
    """Tell where machine code of a kernel's function is kept; None where no folder can be written to."""
    return KernelCache(function).cache_path


def _jit(linked: Callable[..., Any], options: KernelOptions) -> Any:
    dispatcher: Any = numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(linked)
    resolve = dispatcher.get_call_template

    def unliteral(arguments: Any, named: Any) -> Any:
        # else a kernel that is called with a constant is compiled once for this constant, and once for all numbers
        return resolve(tuple(map(numba.types.unliteral, arguments)), named)

    dispatcher.get_call_template = unliteral
    return dispatcher
