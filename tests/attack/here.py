"""A worker that is this process: nothing has to start, for files that are known to be refused or to do no harm.

A file that ends, hangs or fills a process does so to the tests, which then fail. What was never tried is for `Worker`.
"""

from __future__ import annotations

import contextlib
import io
import time
from pathlib import Path
from unittest.mock import patch

from attack.consistent import contradictions
from attack.worker import CONTRADICTIONS, Commands, Done, Worker, memory, parsing_once
from streameval.cli import app, run


class Here(Worker):
    """Runs the commands that a worker would, in its folder."""

    def __init__(self, worker: Worker) -> None:
        super().__init__(worker.home)
        self.parsed = parsing_once(type(app))

    def ready(self) -> None:
        return

    def run(self, commands: Commands) -> list[Done]:
        done: list[Done] = []
        with contextlib.chdir(self.home), patch.object(type(app), "parse_args", self.parsed):
            for arguments in commands:
                done.append(_done(list(arguments)))
                if done[-1].status != 0:
                    break
        return done


def _done(arguments: list[str]) -> Done:
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, began = memory("VmRSS"), time.monotonic()
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        if arguments[0] == CONTRADICTIONS:
            for one in contradictions(Path(arguments[1]).read_bytes(), arguments[2:]):
                print(one)
            status = 0
        else:
            status = run(arguments)
    peak = max(0, memory("VmHWM") - before)
    # whichever command is the first to compile a kernel says so
    said = [line for line in err.getvalue().splitlines(keepends=True) if not line.startswith("streameval: compiling ")]
    return Done(status, out.getvalue(), "".join(said), time.monotonic() - began, peak)
