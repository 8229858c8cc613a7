"""Temporary arrays that are too long for memory: mapped from files, whose room on the disk is reserved first."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from streameval.errors import outside_trouble
from streameval.process.system import reserve
from streameval.typing import UInt8Array


def mapped_bytes(path: Path, size: int) -> UInt8Array:
    """Make a file of `size` zero bytes, and map it; an `OutsideError` where the disk is full.

    A file with holes would be made at once, and end the process by a signal when a hole cannot be filled.
    """
    try:
        with open(path, "wb") as file:
            reserve(file, size)
    except OSError as error:
        raise outside_trouble(error, path.parent) or error from error
    return np.memmap(path, dtype=np.uint8, mode="r+", shape=(size,))
