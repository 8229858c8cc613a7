"""Warm processes that run commands of streameval, one list of commands at a time.

A process that starts costs seconds, and a fork of a process with threads (Polars, Arrow, Numba) may hang. So workers
are spawned, run every kind of command once, and then serve thousands of damaged files; one that dies, hangs or grows is
replaced. What fails in a worker is run again in a process of its own (`alone`) before it counts.
"""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

HANG_SECONDS = 30.0
# a worker that holds more than this when it is idle is replaced; one that takes more is ended
_GROWN_KB, _CEILING_KB = 1_500_000, 6_000_000
Commands = Sequence[Sequence[str]]
# a command of the attack itself, which may die of a file as well: what contradictions are in it
CONTRADICTIONS = "--contradictions"


@dataclass(frozen=True)
class Done:
    """What one command did.

    Attributes
    ----------
    status : int
        Exit status; negative: the signal that ended it; None: it was ended after `HANG_SECONDS`.
    out, err : str
    seconds : float
    peak_kb : int
        Memory that it took beyond what the process held before (of a process of its own: altogether).
    cpu_seconds : float
        Of a process of its own.
    """

    status: int | None
    out: str
    err: str
    seconds: float = 0.0
    peak_kb: int = 0
    cpu_seconds: float = 0.0


def alone(arguments: Sequence[str], cwd: Path, seconds: float = HANG_SECONDS) -> Done:
    """Run one command in a process of its own."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([sys.executable, "-m", "streameval", *arguments], stdout=out, stderr=err, cwd=cwd)
        pid, status, usage = 0, 0, None
        while pid == 0 and time.monotonic() - began < seconds + 30:  # its start is no hang
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            time.sleep(0 if pid else 0.02)
        if pid == 0:
            os.kill(process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(process.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        process.returncode = code
        said = [stream.seek(0) or stream.read().decode(errors="replace") for stream in (out, err)]
        peak = usage.ru_maxrss if usage else 0
    return Done(code if pid else None, *said, time.monotonic() - began, peak)


def memory(field: str, pid: int | str = "self") -> int:
    try:
        with open(f"/proc/{pid}/status") as lines:
            return next((int(line.split()[1]) for line in lines if line.startswith(field)), 0)
    except OSError:
        return 0


def cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def hangs(wall: float, worked: float, limit: float) -> bool:
    """Whether a command takes too long: as long as the limit alone, or at work; longer where others keep it waiting."""
    return wall > limit and (worked > limit or worked < limit / 10 or wall > 5 * limit)


def _serve(pipe: Connection, home: str) -> None:
    """Run what comes through the pipe: a list of commands, until the first that fails."""
    os.chdir(home)
    out, err = (os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC) for name in ("stdout", "stderr"))
    os.dup2(out, 1)
    os.dup2(err, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from attack.consistent import contradictions
    from streameval.cli import app, run

    type(app).parse_args = parsing_once(type(app))

    def contradict(path: str, *columns: str) -> int:
        for one in contradictions(Path(path).read_bytes(), columns):
            print(one)
        return 0

    while True:
        try:
            commands = pipe.recv()
        except EOFError:
            return
        for arguments in commands:
            for stream in (1, 2):
                os.ftruncate(stream, 0)
                os.lseek(stream, 0, os.SEEK_SET)
            with open("/proc/self/clear_refs", "w") as peak:
                peak.write("5")
            before, began = memory("VmRSS"), time.monotonic()
            try:
                status = contradict(*arguments[1:]) if arguments[0] == CONTRADICTIONS else run(list(arguments))
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 1
            sys.stdout.flush()
            sys.stderr.flush()
            took, peak_kb = time.monotonic() - began, max(0, memory("VmHWM") - before)
            texts = [os.pread(stream, 1 << 24, 0).decode(errors="replace") for stream in (1, 2)]
            pipe.send(Done(status, *texts, took, peak_kb))
            if status != 0:
                break


def parsing_once(app: Any) -> Callable[..., Any]:
    """How a class of command lines parses, where one is parsed only when it comes for the first time.

    With files as small as those of the attack, that is three quarters of the work. What is parsed is copied for every
    run, so that no run sees what another did to it.
    """
    parse, known = app.parse_args, {}

    def parsed(self: Any, tokens: Any = None, **named: Any) -> Any:
        key = tuple(tokens)
        if key not in known:
            known[key] = parse(self, tokens, **named)
        command, bound, ignored = known[key]
        return command, inspect.BoundArguments(bound.signature, copy.deepcopy(bound.arguments)), ignored

    return parsed


class Worker:
    """A warm process in a folder of its own.

    Parameters
    ----------
    home : Path
        Made; commands run in it, and relative paths are below it.
    warm : commands
        Run first, so that kernels are compiled and pools are there.
    """

    def __init__(self, home: Path, warm: Commands = ()) -> None:
        self.home, self.warm = home, [list(one) for one in warm]
        home.mkdir(parents=True, exist_ok=True)
        self.process: multiprocessing.process.BaseProcess | None = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, str(self.home)), daemon=True)
        self.process.start()
        theirs.close()
        for command in self.warm:
            done = self._one([command], 300)[-1]
            if done.status != 0:
                raise RuntimeError(f"{as_shell(command)} fails: {done.err}")

    def ready(self) -> None:
        """Have a process that is warm: a new one where the last has ended, or holds too much."""
        if self.process is None or not self.process.is_alive() or memory("VmRSS", self.process.pid) > _GROWN_KB:
            self.stop()
            self._start()

    def run(self, commands: Commands) -> list[Done]:
        """Run commands until one fails."""
        self.ready()
        return self._one(commands, HANG_SECONDS)

    def _one(self, commands: Commands, seconds: float) -> list[Done]:
        done: list[Done] = []
        self.pipe.send([list(one) for one in commands])
        while len(done) < len(commands):
            one = self._answer(seconds)
            done.append(one)
            if one.status != 0:
                break
        return done

    def _answer(self, seconds: float) -> Done:
        assert self.process is not None
        assert self.process.pid is not None
        began, worked = time.monotonic(), cpu_seconds(self.process.pid)
        while not hangs(time.monotonic() - began, cpu_seconds(self.process.pid) - worked, seconds):
            try:
                if self.pipe.poll(0.2):
                    return self.pipe.recv()
            except (EOFError, ConnectionResetError):
                return self._died()
            if not self.process.is_alive() and not self.pipe.poll(0):
                return self._died()
            if (held := memory("VmRSS", self.process.pid)) > _CEILING_KB:
                self.stop()
                return Done(-signal.SIGKILL, "", "more memory than the attack allows", 0, held)
        self.stop()
        return Done(None, "", f"no answer within {seconds:g} s", seconds)

    def _died(self) -> Done:
        assert self.process is not None
        self.process.join(5)
        err = self.home / "stderr"
        text = err.read_text(errors="replace") if err.exists() else ""
        return Done(self.process.exitcode, "", text)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None


def fresh(folder: Path) -> Path:
    """An empty folder in this place."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def as_shell(arguments: Sequence[str]) -> str:
    """A command as a person types it."""
    return shlex.join(["streameval", *arguments])
