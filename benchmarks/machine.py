"""What the machine does: page cache, disk, counters of a process."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

_BLOCK = 1 << 22
_PROBE_BYTES = 1 << 30


def drop_cache(files: Iterable[Path]) -> None:
    """Have the system forget the content of files; what another process has mapped may stay."""
    for path in files:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)


def counters() -> dict[str, int]:
    """Bytes this process has had read from the disk (`read_bytes`) and by system calls (`rchar`)."""
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        return {"read_bytes": 0, "rchar": 0}
    found = dict(line.split(": ") for line in lines)
    return {"read_bytes": int(found["read_bytes"]), "rchar": int(found["rchar"])}


def peak_bytes() -> int:
    """Most memory this process ever had resident, imports included, or a command that it ran.

    Not `ru_maxrss` of itself: that begins with what the parent had.
    """
    own = next((int(line.split()[1]) for line in _lines("/proc/self/status") if line.startswith("VmHWM")), None)
    if own is None:
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) * 1024


def cpu_seconds() -> float:
    """User and system time of this process, and of commands that it ran."""
    return sum(os.times()[:4])


def disk_speed(files: list[Path], threads: int) -> float:
    """Bytes a second of files read from the disk, one after another, by as many threads."""
    some: list[Path] = []
    for path in files:
        if sum(p.stat().st_size for p in some) < _PROBE_BYTES:
            some.append(path)
    drop_cache(some)
    begin = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        total = sum(pool.map(_read, some))
    return total / (time.perf_counter() - begin)


def _read(path: Path) -> int:
    total, buffer = 0, bytearray(_BLOCK)
    with open(path, "rb", buffering=0) as stream:
        while size := stream.readinto(buffer):
            total += size
    return total


def commit() -> str:
    """The commit that is measured."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


def description() -> str:
    """Processor, cores, memory, system, date and commit."""
    cpu = next(
        (line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, "
        f"{date.today().isoformat()}, commit {commit()}"
    )


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def measured_apart(code: str, folder: Path) -> tuple[list[float] | str, str]:
    """Run a program in a process of its own.

    Returns:
        Wall seconds, CPU seconds and peak MB of the whole process, or why there are none; and what it printed.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    printed, began = folder / "printed", time.monotonic()
    with printed.open("w") as stream:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=stream, stderr=stream, env=environment)
        _, status, used = os.wait4(process.pid, 0)
    taken, text = time.monotonic() - began, printed.read_text()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == 0:
        return [taken, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024], text
    if "ModuleNotFoundError" in text:
        return "not installed", text
    return "out of memory" if "Memory" in text or process.returncode < 0 else text[-2000:], text
