"""Differences of operating systems: positioned reads, page cache, room on the disk, timer, owners, memory.

Where a system lacks one of them it is done another way, or without; what cannot be done at all says so.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0)  # Windows would turn line ends into others
_seeking = threading.Lock()


def open_for_reading(path: str) -> int:
    """Open a file's bytes; `os.close` closes them."""
    return os.open(path, _READ)


def read_at(handle: int, size: int, at: int) -> bytes:
    """Read `size` bytes at a place, fewer at the end of a file; several threads may."""
    got = _read_some(handle, size, at)
    while len(got) < size and (more := _read_some(handle, size - len(got), at + len(got))):
        got += more
    return got


def read_into(handle: int, room: memoryview, ranges: Iterable[tuple[int, int]]) -> int:
    """Fill memory with ranges (offset, bytes), one after another; how many bytes there were until the file ended."""
    done, read = 0, os.preadv if hasattr(os, "preadv") else _read_some_into
    for at, size in ranges:
        end = done + size
        while done < end and (count := read(handle, [room[done:end]], at + size - (end - done))):
            done += count
        if done < end:
            break
    return done


def _read_some_into(handle: int, rooms: list[memoryview], at: int) -> int:
    got = _read_some(handle, len(rooms[0]), at)
    rooms[0][: len(got)] = got
    return len(got)


def _read_some(handle: int, size: int, at: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(handle, size, at)
    with _seeking:  # the place in a file is shared by all who read it
        os.lseek(handle, at, os.SEEK_SET)
        return os.read(handle, size)


def write_at(handle: int, content: memoryview, at: int) -> None:
    """Write bytes at a place; several threads may, each at another."""
    while content:
        if hasattr(os, "pwrite"):
            done = os.pwrite(handle, content, at)
        else:
            with _seeking:
                os.lseek(handle, at, os.SEEK_SET)
                done = os.write(handle, content)
        content, at = content[done:], at + done


def expect_scattered_reads(handle: int) -> None:
    """Have the system read no further ahead than it is asked."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_RANDOM)


def read_ahead(handle: int, ranges: Iterable[tuple[int, int]]) -> None:
    """Have the system fetch stretches (offset, bytes) that will be read soon."""
    if not hasattr(os, "posix_fadvise"):
        return
    advise, soon = os.posix_fadvise, os.POSIX_FADV_WILLNEED  # there may be thousands of them
    for at, size in ranges:
        advise(handle, at, size, soon)


def reserve(file: IO[bytes], size: int) -> None:
    """Make a file `size` zero bytes long, with room on the disk where the system can; an `OSError` if it is full."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)


def sync(path: str) -> None:
    """Have a file, or the names in a folder, written to the disk. Windows keeps folders so by itself."""
    try:
        handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    except PermissionError:
        if os.name == "nt":
            return
        raise
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_files(wanted: int) -> int:
    """Have this process allowed so many open files at once, as far as it may be; how many it is, at most `wanted`."""
    if os.name == "nt":
        return wanted
    import resource

    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY or allowed >= wanted:
        return wanted
    granted = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (granted, most))
        return granted
    return allowed


@contextmanager
def at_most(more: int) -> Iterator[None]:
    """Let this process take so many bytes more than it has; what would take more fails to.

    Only Linux counts what a process may write to; elsewhere nothing is limited.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [_memory_in_use() + more, *(limit for limit in before if limit != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _memory_in_use() -> int:
    """Bytes of memory that this process may write to."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmData:")[2].split()[0]) << 10


def is_trusted(handle: int) -> bool:
    """Tell whether an open file is this user's or root's, and nobody else may write it; true without owners.

    Args:
        handle: File descriptor: what is asked of a path might be true of another file than the one that is read.
    """
    if not hasattr(os, "geteuid"):
        return True
    status = os.fstat(handle)
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & _OTHERS
