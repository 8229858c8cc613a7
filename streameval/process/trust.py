"""Files that may be trusted with what runs or lets people in: written by this user or root, and by nobody else."""

from __future__ import annotations

import os
import stat

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def is_trusted(handle: int) -> bool:
    """Whether an open file is this user's or root's, and nobody else may write it; systems without owners are trusted.

    Args:
        handle: File descriptor: what is asked of a path might be true of another file than the one that is read.
    """
    if not hasattr(os, "geteuid"):
        return True
    found = os.fstat(handle)
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & _OTHERS
