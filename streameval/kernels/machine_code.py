"""Where machine code of kernels is kept on disk, and of which kernels it is there; numba is not imported."""

from __future__ import annotations

import functools
import hashlib
import os
from contextlib import suppress
from pathlib import Path

from streameval.process.cache_files import CacheFiles

_PLAIN = "seconds in plain Python"


@functools.cache
def folders() -> tuple[str, ...]:
    """Where compiled kernels of this installation may be."""
    own = Path(__file__).resolve().parent
    name = f"streameval_{hashlib.sha256(os.fsencode(own)).hexdigest()[:16]}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return (str(Path(chosen).absolute() / name),)
    places = [own / "__pycache__"]
    user = Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache"))
    if user.is_absolute():  # else the user has no home folder
        places.append(user / name)
    return tuple(map(str, places))


@functools.cache
def kept() -> frozenset[str]:
    """Kernels, by module and name, of which machine code was on disk; that of older sources counts too."""
    names = set[str]()
    for folder in folders():
        with suppress(OSError):
            names.update(entry.name.partition("-")[0] for entry in os.scandir(folder) if entry.name.endswith(".kernel"))
    return frozenset(names)


@functools.cache
def plain_before(kernel: str) -> float:
    """Seconds that earlier processes noted for a kernel; see `note_plain`."""
    return float(_notes(kernel).load(_PLAIN) or 0.0)


def note_plain(kernel: str, seconds: float) -> None:
    """Note how many seconds more plain Python took so far, in all processes, than a compiled kernel would have.

    Where nothing can be written, each process begins anew.
    """
    with suppress(OSError):
        _notes(kernel).save(_PLAIN, seconds)


def _notes(kernel: str) -> CacheFiles:
    return CacheFiles(folders(), kernel, _PLAIN, "note")
