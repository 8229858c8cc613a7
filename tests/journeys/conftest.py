"""One process that has imported the program, and forks for every command of a test whose point is the process."""

import sys

import pytest
from cpu_budget import cpu_seconds

if sys.platform != "win32":
    from attack.forks import Forks


@pytest.fixture(scope="session")
def ready_process(tmp_path_factory, pytestconfig):
    """What `forks` gives; what it took itself is its own, and not of the test that comes last."""
    meter = pytestconfig.pluginmanager.get_plugin("meter")
    forks = Forks(tmp_path_factory.mktemp("forks"), kernels=False)
    yield forks
    before = cpu_seconds()
    forks.stop()
    if meter:
        took = cpu_seconds() - before
        meter.shared += took
        meter.made["tests/journeys::ready_process"] = took - forks.cpu_seconds


@pytest.fixture
def forks(ready_process, pytestconfig):
    """Runs commands at once, in processes; their seconds are those of the test."""
    meter, before = pytestconfig.pluginmanager.get_plugin("meter"), ready_process.cpu_seconds
    yield ready_process
    if meter:
        meter.began -= ready_process.cpu_seconds - before
