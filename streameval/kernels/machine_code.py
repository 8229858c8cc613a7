"""Where machine code of kernels is kept on disk, and of which kernels it is there; numba is not imported."""

from __future__ import annotations

import functools
import hashlib
import os
from contextlib import suppress
from pathlib import Path


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
