"""What takes long to make, kept on disk in files that appear whole or not at all; a damaged one is made anew."""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from contextlib import suppress
from typing import Any

_DIGEST = 32


class CacheFiles:
    """Files of one thing that takes long to make, one for each key (of a kernel: its signature).

    Args:
        stem: What their names begin with.
        stamp: What they were made from; a file of another stamp is as good as none.
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
        content = pickle.dumps((self._stamp, key, data))
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
