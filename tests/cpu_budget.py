"""CPU seconds of every test: one that takes more than its budget fails, and the end of a run names the dearest ten.

CPU time, not time by the clock, so that a busy machine changes little. Processes that a test starts count once they
have ended. What a fixture makes for several tests counts for the fixture, and not for the test that came first. The
budget may only fall.
"""

import fnmatch
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager

import pytest
from suite_cases import LONG

SECONDS = 1.0  # of one test, and of one fixture that several tests share
REFERENCE = 0.5  # CPU seconds in which a process loads `LOADED`, on the machine for which SECONDS is meant
LOADED = "import duckdb, numba, pyarrow.compute, pyarrow.parquet"
DEAR = {  # pattern of a test or fixture that may take more: the seconds it may take, and why
    "tests/house/test_examples.py::test_pages_show_*": (3.0, "a page is one session: later examples use earlier ones"),
    "tests/house/test_guide.py::test_a_page_shows_*": (3.0, "a page is one session: later commands use earlier ones"),
    "tests/house/test_benchmarks.py::test_every_runner*": (3.0, "other libraries are imported, and compile their own"),
    "tests/house/test_words.py::*": (3.0, "every file of the package is parsed, once for both"),
    "tests/scans/test_spark.py::*[[]classic-*": (8.0, "one session of Spark itself, which answers for all of them"),
    "tests/kernels/test_compile.py::test_no_verb_asks*": (2.0, "a process that loads kernels, where others run Python"),
    "tests/parquet/test_pages.py::test_other_writers*": (4.0, "other libraries are imported, to write with"),
}


def cpu_seconds():
    """CPU seconds of this process, and of those that it started and that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def slowness():
    """How much slower than the reference this machine is now, busy as it may be; 1 where it is faster.

    By work that takes memory and opens files, as tests do: neighbours slow that by a half where sums take as long.
    """
    began = cpu_seconds()
    subprocess.run([sys.executable, "-c", LOADED], check=True)
    return max(1.0, (cpu_seconds() - began) / REFERENCE)


def allowed(name):
    """CPU seconds that a test or fixture may take on the reference."""
    return next((seconds for pattern, (seconds, _) in DEAR.items() if fnmatch.fnmatchcase(name, pattern)), SECONDS)


class Meter:
    """Measures each test of a worker, and adds up what all workers report."""

    def __init__(self):
        self.began = self.shared = 0.0  # of the test that runs: where it began, and what fixtures for several took
        self.made = {}
        self.tests, self.fixtures = Counter(), Counter()

    @contextmanager
    def apart(self, name):
        """Count what is made for several tests by itself, and not for the test that comes first."""
        before, inside = cpu_seconds(), self.shared
        try:
            yield
        finally:
            cost = cpu_seconds() - before - (self.shared - inside)
            self.shared += cost
            self.made[name] = cost

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            return (yield)
        with self.apart(f"{fixturedef.baseid}::{fixturedef.argname}"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self):
        self.began, self.shared = cpu_seconds(), 0.0
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.when == "teardown":
            spent = {item.nodeid: cpu_seconds() - self.began - self.shared, **self.made}
            report.user_properties += [("cpu", spent[item.nodeid]), ("fixtures", dict(self.made))]
            self.made.clear()
            over = [f"{name} took {cost:.2f} s of CPU time, more than {allowed(name):.1f} s"
                    for name, cost in spent.items()
                    if cost > allowed(name) and cost > allowed(name) * slowness()]  # fmt: skip
            if over and report.passed and not (LONG or item.get_closest_marker("slow")):
                hint = "make it smaller, mark its full size `slow`, or give a reason in tests/cpu_budget.py"
                report.outcome, report.longrepr = "failed", f"{'; '.join(over)}: {hint}"
        return report

    def pytest_runtest_logreport(self, report):
        if report.when == "teardown":
            measured = dict(report.user_properties)
            self.tests[report.nodeid] += measured["cpu"]
            self.fixtures.update(measured["fixtures"])


METER, BEFORE = Meter(), cpu_seconds()  # what a shell did before it became this process is not ours


def pytest_configure(config):
    config.pluginmanager.register(METER, "meter")


def pytest_terminal_summary(terminalreporter):
    """Say what all took, and which tests the most; STREAMEVAL_CPU names a file for the seconds of every test."""
    everything = METER.tests + METER.fixtures
    terminalreporter.section(
        f"{cpu_seconds() - BEFORE:.0f} CPU seconds, {everything.total():.0f} of them in tests; the dearest"
    )
    for name, cost in everything.most_common(10):
        terminalreporter.write_line(f"{cost:6.2f} s  {name}")
    if path := os.environ.get("STREAMEVAL_CPU"):
        with open(path, "w") as file:
            file.writelines(f"{cost:.3f}\t{name}\n" for name, cost in everything.most_common())
