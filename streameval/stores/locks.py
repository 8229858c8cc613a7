"""Locks on files and folders: held by one process, seen by others, and released by the system when the process ends.

All that depends on the platform stands here. POSIX systems lock with flock, Windows with msvcrt. On a network file
system locks hold between machines if the mount passes them on (NFS does unless it is mounted with nolock); where a file
system has no locks at all, nothing is locked, and whoever starts commands has to run one at a time.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from streameval.errors import InputError, OutsideError, outside_trouble

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LockState = Literal["held", "busy", "unknown"]
NAME = ".lock"
PATIENCE = 60.0
"""Seconds that a command waits for another one to finish."""

_BUSY = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}
_PAUSE = 0.05
_own = threading.local()


def lock(handle: int) -> LockState:
    """Lock an open file without waiting; closing it, or the end of the process, gives the lock back.

    Args:
        handle: File descriptor; of a folder too, on POSIX systems.

    Returns:
        {"held", "busy", "unknown"}: "busy" where another open file of the same path is locked, "unknown" where this
            file system has no locks.
    """
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return "busy" if error.errno in _BUSY else "unknown"
    return "held"


def open_folder(path: str) -> int | None:
    """Open a folder so that it can be locked; None where the platform cannot, or the folder is gone."""
    if sys.platform == "win32":
        return None
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Let one command at a time change a folder: the others wait for up to `PATIENCE` seconds.

    Within what holds it, in the same thread, it may be taken again. The lock is on a file `.lock` in the folder, which
    stays. Reading takes no lock.

    Raises:
        OutsideError: Another command was still at work when the time was over.
        InputError: The folder cannot be written to.
    """
    mine: set[str] = _own.__dict__.setdefault("folders", set())
    key = os.path.realpath(folder)
    if key in mine:
        yield
        return
    handle = _hold(folder)
    try:
        mine.add(key)
        yield
    finally:
        mine.discard(key)
        os.close(handle)


@contextmanager
def one_at_a_time_without_trace(folder: Path) -> Iterator[None]:
    """Do as `one_at_a_time` in a folder that others read: its lock goes away with what held it."""
    with one_at_a_time(folder):
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes no open file
                os.unlink(folder / NAME)


def remove_empty(folder: Path) -> None:
    """Remove a folder that holds nothing but its lock, which this process holds."""
    with suppress(OSError):
        if os.listdir(folder) == [NAME]:
            os.unlink(folder / NAME)
            os.rmdir(folder)


def _hold(folder: Path) -> int:
    """Handle of the lock, once no other process holds it; whoever held it may have removed it with its folder."""
    while True:
        handle = _open(folder)
        try:
            _wait(handle, folder)
            if os.path.samestat(os.fstat(handle), os.stat(folder / NAME)):
                return handle
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _open(folder: Path) -> int:
    try:
        return os.open(folder / NAME, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        why = InputError(f"{folder}: cannot be written ({error.strerror or error})")
        raise outside_trouble(error) or why from error


def _wait(handle: int, folder: Path) -> None:
    until = time.monotonic() + PATIENCE
    while lock(handle) == "busy":
        if time.monotonic() >= until:
            raise OutsideError(
                f"{folder}: another command is at work here", "run the same command again when it has ended"
            )
        time.sleep(_PAUSE)
