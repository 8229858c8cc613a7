"""Checksums within files: each file of a study holds the SHA-256 of all its own bytes.

The 64 digits stand in the file itself (in the metadata of Parquet, as the last key of a JSON object) and count as
zeros in the sum. So a file and its checksum cannot be of different age, and a file that was copied keeps its own.
"""

from __future__ import annotations

import hashlib
import os

KEY = "streameval_checksum"
_MARK = b"streameval:sha256:"
_ZEROS = b"0" * 64
BLANK = (_MARK + _ZEROS).decode()
"""What stands for the checksum in a file until `write` has put it there."""

_TAIL = 1 << 20


def write(path: str) -> None:
    """Put the checksum of a file in the place of its last `BLANK`; a `ValueError` where the last mark is not blank."""
    with open(path, "r+b") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = file.tell()
        for tail in (min(size, _TAIL), size):
            file.seek(size - tail)
            end = file.read()
            at = end.rfind(_MARK)
            if at >= 0:
                break
        if end[at : at + len(BLANK)] != BLANK.encode():
            raise ValueError(f"{path}: no place for a checksum")
        file.seek(size - tail + at + len(_MARK))
        file.write(digest.encode())
        file.flush()
        os.fsync(file.fileno())


def check(content: bytes) -> None:
    """Compare a file's content with the checksum in it; a `ValueError` where they differ.

    A file without one passes: those of former versions have none. It has none only where both the mark and the name of
    the key are missing, so that a damaged mark is not taken for none.
    """
    at = content.rfind(_MARK)
    if at < 0 and KEY.encode() not in content:
        return
    begin = at + len(_MARK)
    view = memoryview(content)
    digest = hashlib.sha256(view[:begin])
    digest.update(_ZEROS)
    digest.update(view[begin + len(_ZEROS) :])
    if at < 0 or digest.hexdigest().encode() != content[begin : begin + len(_ZEROS)]:
        raise ValueError("its bytes do not have its checksum: it was damaged or edited since it was written")
