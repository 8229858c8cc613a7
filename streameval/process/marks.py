"""Marks of processes: which one made something, told so that another process of the same machine sees if it has ended.

A number alone does not tell a process: it is given again, and means another one in each container. So a mark has the
boot of the machine, the space of numbers and the time of the start, where the system says them, which is Linux.
Elsewhere nobody can tell that another process has ended, and nothing is taken to be over.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_BOOT, _SPACE = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")


def own_mark() -> dict[str, str]:
    """Mark this process: its `host` and `process`, for people too; `machine` and `start` where the system says them."""
    machine = ""
    with suppress(OSError):
        machine = f"{_BOOT.read_text().strip()} {os.readlink(_SPACE)}"
    return {"host": platform.node(), "machine": machine, "process": str(os.getpid()), "start": _start("self")}


def is_over(mark: Mapping[str, str]) -> bool:
    """Tell whether the process of a mark is known to have ended; False where nobody can tell."""
    own_process = own_mark()
    if not own_process["machine"] or own_process["machine"] != mark.get("machine") or not mark.get("start"):
        return False
    return _start(mark.get("process", "")) != mark["start"]


def _start(process: str) -> str:
    """When a process began, in the system's ticks; empty where there is none, or where it is dead but for its entry."""
    with suppress(OSError, IndexError):
        state, *fields = (Path("/proc") / process / "stat").read_text().rpartition(")")[2].split()
        return "" if state in "ZX" else fields[18]
    return ""
