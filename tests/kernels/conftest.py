"""One process that has imported numba, and forks for every test that asks what a new process finds on the disk."""

import sys

import pytest

if sys.platform != "win32":
    from attack.fixtures import counted, one_process

# what every kernel needs is there, and a verb, but no kernel: a test may still take some of numba away
READY = """
import sys
from streameval.process.probes import refuse_probes
refuse_probes()
import numba, numba.core.caching, numba.core.codegen, numba.core.event, numba.core.runtime
from numba.core.registry import cpu_target
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
numba.njit(lambda x: x + 1)(1)
import streameval
streameval.plan
assert "streameval.kernels.compile" not in sys.modules
"""
SET = """
import os, sys
os.environ.pop("NUMBA_CACHE_DIR", None)
os.environ.update({})
sys.modules["numba.core.config"].reload_config()
"""


@pytest.fixture(scope="session")
def numba_process(tmp_path_factory):
    """What `python` asks."""
    with one_process("tests/kernels::numba_process", tmp_path_factory.mktemp("numba"), READY) as forks:
        yield forks


@pytest.fixture
def python(numba_process, tmp_path):
    """Run Python in a process as if it had just begun and imported numba, with settings; several codes at once."""

    def run(*codes, arguments=(), **settings):
        told = {name: str(value) for name, value in settings.items()}
        done = numba_process.python(
            *(SET.format(told) + code for code in codes), cwd=tmp_path, arguments=[*map(str, arguments)]
        )
        return done if len(codes) > 1 else done[0]

    with counted(numba_process):
        yield run
