"""A process that has imported streameval and forks for every command, so that commands begin at once.

Kills and interrupts then strike while a command works, and not while Python imports. No thread pool has begun when it
forks. A child ends as the command line does: through `main`, with exit handlers and all.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import pkgutil
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attack.worker import HANG_SECONDS, Done, cpu_seconds, hangs

# a command that waits for another one in the same study is told so after a minute
_WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Trouble:
    """What happens to a command.

    Attributes
    ----------
    signal : int
        Sent after `after` seconds; 0 for none.
    after : float
    limits : mapping of str to int
        Limits by name, such as RLIMIT_FSIZE.
    """

    signal: int = 0
    after: float = 0.0
    limits: Mapping[str, int] | None = None


class Forks:
    """One such process, which runs one command at a time.

    Parameters
    ----------
    home : Path
        Temporary files of commands go to `home / "tmp"`.
    """

    def __init__(self, home: Path) -> None:
        self.temporary = home / "tmp"
        self.temporary.mkdir(parents=True, exist_ok=True)
        here = str(Path(__file__).parents[1])
        environment = {**os.environ, "PYTHONPATH": here, "TMPDIR": str(self.temporary), "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from attack.forks import serve; serve()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def start(self, arguments: Sequence[str], cwd: Path, limits: Mapping[str, int] | None = None) -> int:
        """Begin a command; its process."""
        assert self.process.stdin is not None
        told = {"arguments": list(arguments), "cwd": str(cwd), "limits": dict(limits or {})}
        print(json.dumps(told), file=self.process.stdin, flush=True)
        return int(self._line())

    def finish(self) -> Done:
        """Wait for the command that was begun."""
        return Done(**json.loads(self._line()))

    def run(self, arguments: Sequence[str], cwd: Path, trouble: Trouble | None = None) -> Done:
        """Run a command, in trouble if so."""
        pid = self.start(arguments, cwd, trouble.limits if trouble else None)
        if trouble and trouble.signal:
            time.sleep(trouble.after)
            strike(pid, trouble.signal)
        return self.finish()

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the process that forks has ended")
        return line

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()


def strike(pid: int, number: int) -> None:
    """Send a signal to a process that may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def serve() -> None:
    """Import everything, then fork for each line that comes in."""
    import streameval.cli
    from streameval.__main__ import main

    for name in streameval.__all__:
        getattr(streameval, name)
    _import_the_rest()

    for line in sys.stdin:
        told = json.loads(line)
        began = time.monotonic()
        pipes = [_wide_pipe() for _ in range(2)]
        pid = os.fork()
        if pid == 0:
            _become(told, [into for _, into in pipes])
            main()
        print(pid, flush=True)
        status, peak = _wait(pid, began)
        out, err = (_emptied(*pipe) for pipe in pipes)
        done = {"status": status, "out": out, "err": err, "seconds": time.monotonic() - began, "peak_kb": peak}
        print(json.dumps(done), flush=True)


def _import_the_rest() -> None:
    """Have there what commands import when they need it, numba and a kernel too: each fork would do it anew."""
    from streameval.kernels import ahead
    from streameval.kernels.compile import ahead as load

    for room in ("cli", "kinds", "labelling", "methods", "parquet", "kernels", "reporting", "study"):
        package = importlib.import_module(f"streameval.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    name, types = ahead.listed()[0]
    if (kernel := ahead.kernel_named(name)).ready:
        load(kernel.compiled(), types)


def _wide_pipe() -> tuple[int, int]:
    """A pipe that holds what a command prints; a file would fall under the limits that commands are to fail by."""
    out, into = os.pipe()
    fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, 1 << 20)
    os.set_blocking(out, False)
    return out, into


def _emptied(out: int, into: int) -> str:
    os.close(into)
    try:
        return os.read(out, 1 << 20).decode(errors="replace")
    except BlockingIOError:  # a process that the command left holds the other end
        return ""
    finally:
        os.close(out)


def _wait(pid: int, began: float) -> tuple[int | None, int]:
    while True:
        # left as a zombie here, so that a late signal cannot reach another process
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            _, status, usage = os.wait4(pid, 0)
            return os.waitstatus_to_exitcode(status), usage.ru_maxrss
        if hangs(time.monotonic() - began, cpu_seconds(pid), HANG_SECONDS + _WAIT_SECONDS):
            os.kill(pid, signal.SIGKILL)
            os.wait4(pid, 0)
            return None, 0
        time.sleep(0.01)


def _become(told: dict[str, Any], streams: Sequence[int]) -> None:
    """Be a process of the command line."""
    null = os.open(os.devnull, os.O_RDONLY)
    for source, stream in zip((null, *streams), range(3), strict=True):
        os.dup2(source, stream)
    os.closerange(3, max(null, *streams) + 1)
    os.chdir(told["cwd"])
    sys.argv = ["streameval", *told["arguments"]]
    for name, value in told["limits"].items():
        kind = getattr(resource, name)
        resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))
