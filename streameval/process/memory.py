"""A limit on the memory of this process, for libraries that do not count all that they take."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "linux":
    import resource


@contextmanager
def at_most(more: int) -> Iterator[None]:
    """Let this process take so many bytes more than it has; what would take more fails to.

    Only Linux counts what a process may write to; elsewhere nothing is limited.
    """
    if sys.platform != "linux":
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [_taken() + more, *(one for one in before if one != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _taken() -> int:
    """Bytes of memory that this process may write to."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmData:")[2].split()[0]) << 10
