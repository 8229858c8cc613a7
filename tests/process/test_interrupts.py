"""Interrupts: at random moments of every verb, in the first moment, twice, and while nobody listens."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from places import HOME
from suite_cases import examples

from streameval.process.interrupts import held

SCRIPT = HOME / "scripts" / "interrupt"


def attack():
    loader = SourceFileLoader("interrupt", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("interrupt", loader))
    loader.exec_module(module)
    return module


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the moment is found in /proc")
def test_interrupts_at_random_moments_end_in_one_line(tmp_path):
    found = attack().attack(examples(1, 3), 2, tmp_path)  # scripts/interrupt does 300
    assert {outcome for _, outcome in found} <= {"interrupted", "finished"}, found


# a signal where its handler's exception can only be printed: Python would lose the interruption
LOST = """
import os, signal, sys
from streameval import __main__, cli

class Deaf:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass

def run(arguments):
    try:
        Deaf()
        for _ in range(10**7):
            pass
    except KeyboardInterrupt:
        print("heard")
        return 130
    return 0

cli.run = run
__main__.main()
"""
EARLY = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "streameval.cli":
            os.kill(os.getpid(), signal.{signal})
sys.meta_path.insert(0, Finder())
sys.argv[1:] = {arguments}
from streameval.__main__ import main
main()
"""
TWICE = """
import os, signal, sys
from streameval import __main__, cli

def run(arguments):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10**7):
            pass
    finally:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10**7):
            pass

cli.run = run
__main__.main()
"""
LATE = """
import atexit, os, signal
from streameval import __main__, cli

cli.run = lambda arguments: 0
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
__main__.main()
"""
# the destructor of a library that still has a thread, which C++ answers with an abort
DESTRUCTOR = """
import ctypes, sys, tempfile
from streameval.__main__ import main

libc = ctypes.CDLL(None)
libc.__cxa_atexit(libc.abort, None, None)
kept = tempfile.TemporaryDirectory()
print(kept.name)
sys.argv[1:] = {arguments}
main()
"""


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_an_interrupt_among_the_first_imports_is_one_line(number):
    done = python(EARLY.format(signal=number, arguments=["cost"]))
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "streameval: interrupted; what was complete is kept, nothing half-written was left behind\n"
    done = python(EARLY.format(signal=number, arguments=["cost", "--log", "json"]))
    line = json.loads(done.stderr)
    assert (line["event"], line["level"], line["kind"], line["exit_status"]) == ("error", "error", "interrupted", 130)
    assert abs(datetime.fromisoformat(line["time"]).timestamp() - time.time()) < 600


def test_an_interrupt_that_python_can_only_print_is_heard_again():
    done = python(LOST)
    assert (done.returncode, done.stdout, done.stderr) == (130, "heard\n", "")


def test_a_second_interrupt_waits_for_nothing():
    done = python(TWICE)
    assert done.returncode == 130
    assert done.stderr == "streameval: interrupted twice; temporary files may have been left behind\n"


def test_an_interrupt_after_the_work_changes_nothing():
    done = python(LATE)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="destructors are registered with POSIX's C library")
@pytest.mark.parametrize(("arguments", "status"), [(["cost", "--budget", "no"], 2), (["--version"], 0)])
def test_the_end_runs_no_destructors_of_libraries(arguments, status):
    done = python(DESTRUCTOR.format(arguments=arguments))
    folder, *said = done.stdout.splitlines()
    assert (done.returncode, bool(said)) == (status, status == 0)
    assert not Path(folder).exists()
    assert len(done.stderr.splitlines()) == (status != 0)


def test_signals_are_held_until_the_block_ends():
    done = []

    def work():
        with held():
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                done.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert len(done) == 1000
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.skipif(os.name == "nt", reason="POSIX shells start jobs with signals ignored")
def test_the_tests_hear_interrupts_that_the_shell_ignores():
    one = f"{__file__}::{test_signals_are_held_until_the_block_ends.__name__}"
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    command = [*ignoring, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", one]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout
