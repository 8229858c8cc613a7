"""Shell scripts whose command `streameval` this process runs: to start Python for each would take most of the time."""

import io
import os
import shlex
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from threading import Thread

from suite_cases import LONG

from streameval.cli import run

HERE = """#!/bin/sh
cd -P . && printf '%s\\0' "$PWD" "$@" > {pipes}/asked
read -r status < {pipes}/answered
cat {pipes}/out
cat {pipes}/err >&2
exit "$status"
"""
APART = '#!/bin/sh\nexec {python} -m streameval "$@"\n'  # scripts/long runs the program as people do


def ran(*command, pipes, cwd=None):
    """Run a command that finds `streameval` on its path; its exit status, and what it printed. `pipes` will be made."""
    pipes.mkdir()
    for name in ("asked", "answered"):
        os.mkfifo(pipes / name)
    stand_in = pipes / "streameval"
    stand_in.write_text(
        (APART if LONG else HERE).format(pipes=shlex.quote(str(pipes)), python=shlex.quote(sys.executable))
    )
    stand_in.chmod(0o755)
    env = {**os.environ, "PATH": os.pathsep.join([str(pipes), os.environ["PATH"]])}
    ended = []

    def wait():
        ended.append(subprocess.run(command, cwd=cwd, env=env, check=False, capture_output=True, text=True))
        (pipes / "asked").write_text("")  # nothing is asked any more

    Thread(target=wait, daemon=True).start()
    while words := (pipes / "asked").read_text().split("\0")[:-1]:
        out, err = io.StringIO(), io.StringIO()
        with chdir(words[0]), redirect_stdout(out), redirect_stderr(err):
            status = run(words[1:])
        (pipes / "out").write_text(out.getvalue())
        (pipes / "err").write_text(err.getvalue())
        (pipes / "answered").write_text(f"{status}\n")
    return ended[0].returncode, ended[0].stdout + ended[0].stderr
