"""Machine code of kernels on disk: files that appear whole or not at all; a damaged one is made anew.

So is one that somebody else wrote, or could have written: what is in it is run.

Numba numbers the files of a function's signatures and keeps the numbers in an index. Two processes that compile
different signatures at the same time take the same number, and a later one would run the wrong machine code. Here a
file's name follows from the signature, and a checksum goes before its content: whatever is not whole and not of this
source is compiled anew.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import secrets
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from streameval.process.compiling import EACH_TIME, ONCE, compiling
from streameval.process.system import is_trusted

_DIGEST = 32
_ENDING = "kernel"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class CacheFiles:
    """Files of one kernel, one for each key: a signature, and what the processor can do.

    Args:
        folders: Where they are looked for, whether or not it can be written to: an image of a container may be
            read-only. New ones go into the first that can be written to.
        stem: What their names begin with.
        stamp: What they were made from; a file of another stamp is as good as none.
    """

    def __init__(self, folders: Sequence[str], stem: str, stamp: object) -> None:
        self._folders, self._stem, self._stamp = folders, stem, stamp

    @property
    def folder(self) -> str | None:
        """The first folder that can be written to; None where there is none."""
        return next(filter(_takes_files, self._folders), None)

    def name(self, key: object) -> str:
        """Name of the file of a key."""
        return f"{self._stem}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.{_ENDING}"

    def load(self, key: object) -> Any:
        """Give what was saved for a key; None where nothing was, or something is wrong with it."""
        name = self.name(key)
        contents = (self._read(os.path.join(folder, name), key) for folder in self._folders)
        return next((data for data in contents if data is not None), None)

    def _read(self, path: str, key: object) -> Any:
        try:
            with open(path, "rb") as stream:
                if not is_trusted(stream.fileno()):  # it would be run
                    return None
                digest, content = stream.read(_DIGEST), stream.read()
            if hashlib.sha256(content).digest() != digest:
                return None
            stamp, saved_key, data = pickle.loads(content)
        except Exception:  # a damaged file, or one that another version wrote, says so in its own way
            return None
        return data if stamp == self._stamp and saved_key == key else None

    def save(self, key: object, data: object) -> None:
        """Write a file that appears whole or not at all, where there is a folder for it."""
        folder = self.folder
        if folder is None:
            return
        content = pickle.dumps((self._stamp, key, data))
        # unlike those of `tempfile`, a file that others may read: who makes an image is not who runs it
        temporary = os.path.join(folder, f".{self._stem}.{secrets.token_hex(8)}.part")
        try:
            with os.fdopen(os.open(temporary, _NEW, 0o644), "wb") as stream:
                stream.write(hashlib.sha256(content).digest() + content)
            os.replace(temporary, os.path.join(folder, self.name(key)))
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def _takes_files(folder: str) -> bool:
    try:
        os.makedirs(folder, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@functools.cache
def folders() -> tuple[str, ...]:
    """Tell where compiled kernels of this installation may be."""
    package = Path(__file__).resolve().parent
    name = f"streameval_{hashlib.sha256(os.fsencode(package)).hexdigest()[:16]}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return (str(Path(chosen).absolute() / name),)
    places = [package / "__pycache__"]
    user = Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache"))
    if user.is_absolute():  # else the user has no home folder
        places.append(user / name)
    return tuple(map(str, places))


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
        """Tell whether there is compiled code of a signature."""
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
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
