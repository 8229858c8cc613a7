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
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streameval
from attack.worker import HANG_SECONDS, Done, cpu_seconds, hangs
from streameval.process.probes import refuse_probes

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
    """One such process, which runs one command at a time, or several that set off together.

    Parameters
    ----------
    home : Path
        Temporary files of commands go to `home / "tmp"`.
    ready : str
        Python that imports what is to be there when commands begin.
    """

    def __init__(self, home: Path, ready: str = "from attack.forks import import_all; import_all()") -> None:
        self.cpu_seconds = 0.0  # of the commands that have ended
        self.temporary = home / "tmp"
        self.temporary.mkdir(parents=True, exist_ok=True)
        here = str(Path(__file__).parents[1])
        environment = {**os.environ, "PYTHONPATH": here, "TMPDIR": str(self.temporary), "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"from attack.forks import serve\n{ready}\nserve()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def start(self, arguments: Sequence[str], cwd: Path, limits: Mapping[str, int] | None = None) -> int:
        """Begin a command; its process."""
        return self._begin([{"arguments": list(arguments), "cwd": str(cwd), "limits": dict(limits or {})}])[0]

    def _begin(self, told: Sequence[Mapping[str, Any]]) -> list[int]:
        assert self.process.stdin is not None
        print(json.dumps(told), file=self.process.stdin, flush=True)
        return list(json.loads(self._line()))

    def _finish(self) -> list[Done]:
        done = [Done(**one) for one in json.loads(self._line())]
        self.cpu_seconds += sum(one.cpu_seconds for one in done)
        return done

    def finish(self) -> Done:
        """Wait for the command that was begun."""
        return self._finish()[0]

    def at_once(self, commands: Sequence[Sequence[str]], cwd: Path) -> list[Done]:
        """Run commands in processes that set off together."""
        self._begin([{"arguments": list(one), "cwd": str(cwd)} for one in commands])
        return self._finish()

    def python(self, *codes: str, cwd: Path, arguments: Sequence[str] = (), first: bool = False) -> list[Done]:
        """Run Python in a process for each of the codes; if it comes `first`, a command follows it."""
        self._begin([{"arguments": list(arguments), "cwd": str(cwd), "code": one, "ends": not first} for one in codes])
        return self._finish()

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
    """Fork for each command of each line that comes in."""
    for line in sys.stdin:
        begun = [_begun(told) for told in json.loads(line)]
        print(json.dumps([pid for pid, _, _ in begun]), flush=True)
        print(json.dumps([_ended(*one) for one in begun]), flush=True)


def _begun(told: Mapping[str, Any]) -> tuple[int, float, list[tuple[int, int]]]:
    from streameval.__main__ import main

    began = time.monotonic()
    pipes = [_wide_pipe() for _ in range(2)]
    pid = os.fork()
    if pid == 0:
        _become(told, [into for _, into in pipes])
        exec(told.get("code", ""), {"__name__": "__main__"})
        if told.get("ends"):
            sys.stdout.flush()
            os._exit(0)  # to take down what was imported takes long
        main()
    return pid, began, pipes


def _ended(pid: int, began: float, pipes: Sequence[tuple[int, int]]) -> dict[str, Any]:
    status, usage = _wait(pid, began)
    peak, worked = (usage.ru_maxrss, usage.ru_utime + usage.ru_stime) if usage else (0, 0.0)
    out, err = (_emptied(*pipe) for pipe in pipes)
    return {"status": status, "out": out, "err": err, "seconds": time.monotonic() - began, "peak_kb": peak,
            "cpu_seconds": worked}  # fmt: skip


def import_all() -> None:
    """Have there what commands import when they need it, numba and a kernel too: each fork would do it anew."""
    refuse_probes()
    _import(streameval.__all__, ("cli", "kinds", "labelling", "methods", "parquet", "kernels", "reporting", "study"))
    from streameval.kernels import ahead
    from streameval.kernels.compile import ahead as load

    name, types = ahead.list_signatures()[0]
    load(ahead.kernel_named(name).compiled(), types)


def import_some() -> None:
    """The same for commands on short lists, which ask for no compiler."""
    refuse_probes()
    _import(("plan", "evaluate", "labels"), ("reporting", "study"))


def _import(verbs: Sequence[str], rooms: Sequence[str]) -> None:
    for name in ("streameval.cli", "duckdb"):
        importlib.import_module(name)
    for name in verbs:
        getattr(streameval, name)
    for room in rooms:
        package = importlib.import_module(f"streameval.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


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


def _wait(pid: int, began: float) -> tuple[int | None, resource.struct_rusage | None]:
    while True:
        # left as a zombie here, so that a late signal cannot reach another process
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            _, status, usage = os.wait4(pid, 0)
            return os.waitstatus_to_exitcode(status), usage
        if hangs(time.monotonic() - began, cpu_seconds(pid), HANG_SECONDS + _WAIT_SECONDS):
            os.kill(pid, signal.SIGKILL)
            os.wait4(pid, 0)
            return None, None
        with _ends(pid) as end:
            select.select([end], [], [], 1.0)


@contextmanager
def _ends(pid: int) -> Iterator[int]:
    """A file that can be read once a process has ended."""
    end = os.pidfd_open(pid)
    try:
        yield end
    finally:
        os.close(end)


def _become(told: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Be a process of the command line."""
    null = os.open(os.devnull, os.O_RDONLY)
    for source, stream in zip((null, *streams), range(3), strict=True):
        os.dup2(source, stream)
    os.closerange(3, max(null, *streams) + 1)
    os.chdir(told["cwd"])
    sys.argv = ["streameval", *told["arguments"]]
    for name, value in told.get("limits", {}).items():
        kind = getattr(resource, name)
        resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))
