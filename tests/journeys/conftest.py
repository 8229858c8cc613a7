"""One process that has imported the program, and forks for every command of a test whose point is the process."""

import sys

import pytest

if sys.platform != "win32":
    from attack.fixtures import counted, one_process


@pytest.fixture(scope="session")
def ready_process(tmp_path_factory):
    """What `forks` gives."""
    ready = "from attack.forks import import_some; import_some()"
    with one_process("tests/journeys::ready_process", tmp_path_factory.mktemp("forks"), ready) as forks:
        yield forks


@pytest.fixture
def forks(ready_process):
    """Runs commands at once, in processes; their seconds are those of the test."""
    with counted(ready_process):
        yield ready_process
