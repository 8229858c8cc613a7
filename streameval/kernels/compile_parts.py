"""Kernels compiled in parts and kept on disk, by interfaces that numba promises to nobody; all of those are used here.

By itself numba optimises each function and makes machine code of it, with a wrapper for Python, before another calls
it; and then all of this again within each that does. A part stays as it was lowered until it is in what Python calls,
where all is optimised together: the machine code is as fast, and comes in two thirds of the time.

Numba numbers the files of a function's signatures and keeps the numbers in an index. Two processes that compile
different signatures at the same time take the same number, and a later one would run the wrong machine code. Here a
file's name follows from the signature, and a checksum goes before its content: whatever is not whole and not of this
source is compiled anew.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import targetconfig
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.types import Function
from numba.core.typing.templates import _OverloadFunctionTemplate

from streameval.kernels.machine_code import folders
from streameval.process.cache_files import CacheFiles
from streameval.process.compiling import EACH_TIME, ONCE, compiling
from streameval.process.interrupts import held
from streameval.typing import KernelOptions

for _owner, _names in (
    (Dispatcher, ("_compile_for_args", "add_overload", "get_call_template")),
    (DefaultPassBuilder, ("define_nopython_pipeline",)),
    (CompileResultCacheImpl, ("rebuild", "reduce", "check_cachable")),
    (FunctionCache, ("_index_key",)),
    (Function, ("get_call_type",)),
    (_OverloadFunctionTemplate, ("_get_jit_decorator",)),
    (targetconfig.ConfigStack, ("top_or_none",)),
    (rtsys, ("initialize",)),
):
    for _name in _names:
        getattr(_owner, _name)  # AttributeError: a numba that has done away with it


def compiled(
    function: Callable[..., Any],
    linked: Callable[..., Any],
    options: KernelOptions,
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
        with _compiling():
            result = compile_for(*arguments, **named)
        if made._cache_hits:
            loaded()
        return result

    made._compile_for_args = undisturbed
    return made  # type: ignore[no-any-return]


@contextmanager
def _compiling() -> Iterator[None]:
    """Hold signals back, collect no garbage, and type each call of a built-in function once: a quarter of the time.

    Numba makes millions of objects that live as long as it compiles, and at every + of two numbers it tries all that a
    + may be.
    """
    with global_compiler_lock, held():
        builtin: Any = Function
        collects, inner, decorator = gc.isenabled(), builtin.get_call_type, _OverloadFunctionTemplate._get_jit_decorator
        gc.disable()
        builtin.get_call_type = functools.partialmethod(_call_type, inner)
        _OverloadFunctionTemplate._get_jit_decorator = functools.partialmethod(_decorator, decorator)
        try:
            yield
        finally:
            builtin.get_call_type = inner
            _OverloadFunctionTemplate._get_jit_decorator = decorator
            _numbers.clear()
            if collects:
                if gc.get_freeze_count() == 0:  # what there is goes to the oldest generation, without a look at each
                    gc.freeze()
                    gc.unfreeze()
                gc.enable()


def _decorator(template: Any, inner: Any) -> Any:
    """Make a part of numba's own functions too: those that numba writes in Python, as `np.zeros` and `max`."""
    decorator = inner(template)
    return lambda **options: lambda function: _as_part(decorator(**options)(function))


_typed = dict[Any, Any]()
_flags = dict[Any, int]()
_numbers = dict[int, tuple[int, Any]]()


def _call_type(function: Any, inner: Any, context: Any, arguments: Any, named: Any) -> Any:
    # by its id: what a call compiles to is looked up in the very object that typed it, which is kept with the answer
    flags = targetconfig.ConfigStack.top_or_none()
    if id(flags) not in _numbers:  # some twenty values are hashed and compared each time
        _numbers[id(flags)] = _flags.setdefault(flags, len(_flags)), flags
    key = id(function), context, tuple(arguments), tuple(named.items()), _numbers[id(flags)][0]
    if key not in _typed:
        _typed[key] = function, inner(function, context, arguments, named)
    return _typed[key][1]


def part(linked: Callable[..., Any], options: KernelOptions) -> Any:
    """Make a part of other kernels; each signature is lowered when one of them is compiled that needs it."""
    made = _jitted(linked, {**options, "no_cpython_wrapper": True})
    return linked if numba.config.DISABLE_JIT else _as_part(made)


def _as_part(made: Any) -> Any:
    """Have what numba compiles be lowered alone."""
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


def made_ahead(made: Any, wanted: Any) -> bool:
    """Compile one of numba's signatures of what `compiled` returned; returns False where it was there already."""
    if made._cache.holds(wanted, cpu_target.target_context.codegen()):
        return False
    with _compiling():
        made.compile(wanted)
    return True


def cache_folder(function: Callable[..., Any]) -> str | None:
    """Where machine code of a kernel's function is kept; None where no folder can be written to."""
    return KernelCache(function).cache_path


def _jitted(linked: Callable[..., Any], options: KernelOptions) -> Any:
    made: Any = numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(linked)
    if numba.config.DISABLE_JIT:
        return linked
    resolve = made.get_call_template

    def unliteral(arguments: Any, named: Any) -> Any:
        # else a kernel that is called with a constant is compiled once for this constant, and once for all numbers
        return resolve(tuple(map(numba.types.unliteral, arguments)), named)

    made.get_call_template = unliteral
    return made


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's interface to compiled code on disk: one for each kernel.

    It looks into NUMBA_CACHE_DIR where that is set, else into `__pycache__` beside the source and the user's cache
    folder; what it compiles goes into the first that can be written to.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._py_func = function
        self._name = repr(function)
        self.kernel = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"

    def __repr__(self) -> str:
        return f"<KernelCache {self._name}>"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Compiled code of a signature; None where it has to be compiled."""
        # numba refreshes the context here: it imports all that may be compiled, a fifth of a second, and sets up its
        # runtime, which alone is needed by code that is compiled already; to compile, it refreshes once more
        rtsys.initialize(target_context)
        content = self._files.load(self._index_key(sig, target_context.codegen()))
        if content is None:
            compiling(EACH_TIME if self.cache_path is None else ONCE, self.kernel)
            return None
        return self._impl.rebuild(target_context, pickle.loads(content))

    def holds(self, sig: Any, codegen: Any) -> bool:
        """Whether there is compiled code of a signature."""
        return self._files.load(self._index_key(sig, codegen)) is not None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code; a disk that is full or has gone keeps nothing."""
        if self._impl.check_cachable(data):
            with suppress(OSError):
                self._files.save(self._index_key(sig, data.codegen), dumps(self._impl.reduce(data)))

    @property
    def cache_path(self) -> str | None:
        """Folder; None where none can be written to."""
        return self._files.folder

    @functools.cached_property
    def _impl(self) -> Any:
        return CompileResultCacheImpl.__new__(CompileResultCacheImpl)  # else it demands a folder that can be written to

    @functools.cached_property
    def _files(self) -> CacheFiles:
        return CacheFiles(folders(), f"{self.kernel}-{sys.implementation.cache_tag}", (numba.__version__, _sources()))


@functools.cache
def _sources() -> str:
    """Hash of every kernel's source: a kernel holds the code of those that it calls."""
    found = hashlib.sha256(sys.version.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()
