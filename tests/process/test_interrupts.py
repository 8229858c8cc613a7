"""Interrupts: at random moments of every verb, in the first moment, twice, and while nobody listens."""

import importlib.util
import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime
from importlib.machinery import SourceFileLoader
from pathlib import Path

import numpy as np
import pytest
from places import HOME
from suite_cases import slow

from streameval.cli import run
from streameval.process.interrupts import hold_interrupts

SCRIPT = HOME / "scripts" / "interrupt"


def attack():
    loader = SourceFileLoader("interrupt", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("interrupt", loader))
    loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the moment is found in /proc")
def test_interrupts_at_random_moments_end_in_one_line(tmp_path):
    found = attack().attack(12, 2, tmp_path)  # scripts/interrupt does 300
    assert {outcome for _, outcome in found} <= {"interrupted", "finished"}, found


def interrupted_at(call, arguments):
    """Status of a command that is interrupted when it calls its so-manieth function of ours, and how many it called.

    Generators are no functions here: what interrupts one that is thrown away is only printed, which `LOST` is about.
    """
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        ours = event == "call" and frame.f_globals.get("__name__", "").startswith("streameval.")
        if ours and not frame.f_code.co_flags & inspect.CO_GENERATOR:
            calls += 1
            if calls == call:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

    sys.setprofile(count)
    try:
        return run(arguments), calls
    finally:
        sys.setprofile(None)


def content(folder):
    """Bytes of every file but the lock that a study keeps, and those that tell of runs."""
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}
    return {path: raw for path, raw in files.items() if path.parent.name != "manifests" and path.suffix != ".duckdb"}


COMMANDS = {
    "select": ["select", "study", "--export", "tasks.csv"],
    "exact": ["exact", "list.parquet", "--label", "right", "--out", "results"],
    "evaluate": ["evaluate", "study", "--labels", "labels.csv"],
}


@pytest.mark.parametrize(("verb", "times"), [("select", 4), *slow(("select", 80), ("exact", 20), ("evaluate", 20))])
def test_an_interrupt_at_any_call_is_one_line_and_leaves_nothing_half_written(
    verb, times, catalogue, study, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(catalogue.lists / "stored.parquet", "list.parquet")
    Path("labels.csv").write_text("rank,label\n1,1\n2,0\n")

    def begin():
        shutil.rmtree("study", ignore_errors=True)
        study("stored-planned").rename("study")
        shutil.rmtree("results", ignore_errors=True)
        Path("tasks.csv").unlink(missing_ok=True)

    for _ in range(2):  # the first also imports, and fills caches
        begin()
        status, calls = interrupted_at(0, COMMANDS[verb])
        assert (status, capsys.readouterr().err) == (0, "")
    done = content(tmp_path)
    for call in np.random.default_rng(7).integers(1, calls, times).tolist():
        begin()
        assert interrupted_at(call, COMMANDS[verb])[0] == 130, call
        said = "streameval: interrupted; what was complete is kept, nothing half-written was left behind\n"
        assert capsys.readouterr().err == said, call
        assert content(tmp_path).items() <= done.items(), call
    assert run(COMMANDS[verb]) == 0
    assert content(tmp_path) == done


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
        with hold_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                done.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert len(done) == 1000
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX shells start jobs with signals ignored")
def test_the_tests_hear_interrupts_that_the_shell_ignores():
    one = f"{__file__}::{test_signals_are_held_until_the_block_ends.__name__}"
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    command = [*ignoring, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", one]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout
