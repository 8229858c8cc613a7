"""Compiled kernels on disk: numba's cache, made safe against power loss, full disks, and processes that write at once.

numba numbers the files of a function's signatures and keeps the numbers in an index. Two processes that compile
different signatures at the same time take the same number, and a later one would run the wrong machine code. Here a
file's name follows from the signature, and a checksum goes before its content: whatever is not whole and not of this
source is compiled anew.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from streameval.process.compiling import EACH_TIME, ONCE, compiling

_DIGEST = 32


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's interface to compiled code on disk: one for each kernel.

    The folder is found when it is needed first: NUMBA_CACHE_DIR, `__pycache__` beside the source, or the user's cache
    folder, whichever can be written to.
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
        if self._files is None:
            compiling(EACH_TIME, self.kernel)
            return None
        content = self._files.load(self._index_key(sig, target_context.codegen()))
        if content is None:
            compiling(ONCE, self.kernel)
            return None
        return self._impl.rebuild(target_context, content)

    def holds(self, sig: Any, codegen: Any) -> bool:
        """Whether there is compiled code of a signature."""
        return self._files is not None and self._files.load(self._index_key(sig, codegen)) is not None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code; a disk that is full or has gone keeps nothing."""
        if self._files is not None and self._impl.check_cachable(data):
            with suppress(OSError):
                self._files.save(self._index_key(sig, data.codegen), self._impl.reduce(data))

    @property
    def cache_path(self) -> str | None:
        """Folder; None where none can be written to."""
        return None if self._files is None else self._files.folder

    @functools.cached_property
    def _impl(self) -> Any:
        return CompileResultCacheImpl(self._py_func)

    @functools.cached_property
    def _files(self) -> CacheFiles | None:
        try:
            folder = self._impl.locator.get_cache_path()
        except RuntimeError:  # numba found no folder
            return None
        return CacheFiles(folder, self._impl.filename_base, (numba.__version__, _sources()))


class CacheFiles:
    """Files of one thing that takes long to compile, one for each key (of a kernel: its signature).

    Args:
        stem: What their names begin with.
        stamp: What they were compiled from; a file of another stamp is as good as none.
    """

    def __init__(self, folder: str, stem: str, stamp: object) -> None:
        self.folder, self._stem, self._stamp = folder, stem, stamp

    def path(self, key: object) -> str:
        """File of a key."""
        return os.path.join(self.folder, f"{self._stem}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.kernel")

    def load(self, key: object) -> Any:
        """What was saved for a key; None where nothing was, or something is wrong with it."""
        try:
            with open(self.path(key), "rb") as stream:
                digest, content = stream.read(_DIGEST), stream.read()
            if hashlib.sha256(content).digest() != digest:
                return None
            stamp, saved_key, data = pickle.loads(content)
        except Exception:  # a damaged file, or one that another version wrote, says so in its own way
            return None
        return data if stamp == self._stamp and saved_key == key else None

    def save(self, key: object, data: object) -> None:
        """Write a file that appears whole or not at all."""
        content = dumps((self._stamp, key, data))
        os.makedirs(self.folder, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{self._stem}.", suffix=".part", dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(hashlib.sha256(content).digest() + content)
            os.replace(temporary, self.path(key))
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


@functools.cache
def _sources() -> str:
    """Hash of every kernel's source: a kernel holds the code of those that it calls."""
    found = hashlib.sha256(sys.version.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()
