"""What takes long to make, kept on disk in files that appear whole or not at all; a damaged one is made anew.

So is one that somebody else wrote, or could have written: what is in it is run.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import secrets
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from streameval.process.system import is_trusted

_DIGEST = 32
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class CacheFiles:
    """Files of one thing that takes long to make, one for each key (of a kernel: its signature).

    Args:
        folders: Where they are looked for, whether or not it can be written to: an image of a container may be
            read-only. New ones go into the first that can be written to.
        stem: What their names begin with.
        stamp: What they were made from; a file of another stamp is as good as none.
        ending: What their names end with.
    """

    def __init__(self, folders: Sequence[str], stem: str, stamp: object, ending: str = "kernel") -> None:
        self._folders, self._stem, self._stamp, self._ending = folders, stem, stamp, ending

    @property
    def folder(self) -> str | None:
        """The first folder that can be written to; None where there is none."""
        return next(filter(_takes_files, self._folders), None)

    def name(self, key: object) -> str:
        """Name of the file of a key."""
        return f"{self._stem}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.{self._ending}"

    def load(self, key: object) -> Any:
        """What was saved for a key; None where nothing was, or something is wrong with it."""
        name = self.name(key)
        found = (self._read(os.path.join(folder, name), key) for folder in self._folders)
        return next((data for data in found if data is not None), None)

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
