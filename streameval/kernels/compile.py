"""What numba makes of a kernel: one to be called, kept on disk; or a part of others, which nobody else calls.

By itself numba optimises each function and makes machine code of it, with a wrapper for Python, before another calls
it; and then all of this again within each that does. A part stays as it was lowered until it is in what Python calls,
where all is optimised together: the machine code is as fast, and comes in two thirds of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.registry import cpu_target

from streameval.kernels.cache import KernelCache
from streameval.process.interrupts import held

Options = Mapping[str, str | bool]


def compiled(
    function: Callable[..., Any],
    linked: Callable[..., Any],
    options: Mapping[str, str | bool],
    loaded: Callable[[], None],
) -> Callable[..., Any]:
    """Compile `linked`, which is `function` with parts in what it calls; signals wait meanwhile.

    LLVM calls Python back, and an exception raised there is lost, with the machine code that was asked for. `loaded` is
    told where it was found on the disk.
    """
    made = _jitted(linked, options)
    if numba.config.DISABLE_JIT:
        return function
    made._cache, compile_for = KernelCache(function), made._compile_for_args

    def undisturbed(*arguments: Any, **named: Any) -> Any:
        with held():
            result = compile_for(*arguments, **named)
        if made._cache_hits:
            loaded()
        return result

    made._compile_for_args = undisturbed
    return made  # type: ignore[no-any-return]


def part(linked: Callable[..., Any], options: Options) -> Any:
    """Make a part of other kernels; each signature is lowered when one of them is compiled that needs it."""
    made = _jitted(linked, {**options, "no_cpython_wrapper": True})
    if numba.config.DISABLE_JIT:
        return linked
    made._compiler.pipeline_class = _Lowered

    def add(found: Any) -> None:
        found = found._replace(entry_point=object())  # by which numba knows it among what can be called
        found.library.finalize = lambda: _linked(found.library)
        found.target_context.insert_user_function(found.entry_point, found.fndesc, [found.library])
        made.overloads[tuple(found.signature.args)] = found

    made.add_overload = add
    return made


class _Lowered(CompilerBase):  # type: ignore[misc]
    """Numba's own passes, without machine code at their end."""

    def define_pipelines(self) -> list[Any]:
        """See `CompilerBase`."""
        self.state.flags.no_compile = True
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


def _linked(library: Any) -> None:
    """Take in what a part calls; that is all that is done to it before it is taken in itself."""
    for other in library._linking_libraries:
        library._final_module.link_in(other._get_module_for_linking(), preserve=True)
    library._finalized = True


def ahead(made: Any, signature: str) -> bool:
    """Compile one signature of what `compiled` returned; returns False where it was there already, or numba is off."""
    if numba.config.DISABLE_JIT:
        return False
    wanted = eval(signature, {**vars(numba.types), "bool": numba.types.boolean})  # as numba itself reads signatures
    if made._cache.holds(wanted, cpu_target.target_context.codegen()):
        return False
    with held():
        made.compile(wanted)
    return True


def cache_folder(function: Callable[..., Any]) -> str | None:
    """Where machine code of a kernel's function is kept; None where no folder can be written to."""
    return KernelCache(function).cache_path


def _jitted(linked: Callable[..., Any], options: Options) -> Any:
    made: Any = numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(linked)
    if numba.config.DISABLE_JIT:
        return linked
    resolve = made.get_call_template

    def unliteral(arguments: Any, named: Any) -> Any:
        # else a kernel that is called with a constant is compiled once for this constant, and once for all numbers
        return resolve(tuple(map(numba.types.unliteral, arguments)), named)

    made.get_call_template = unliteral
    return made
