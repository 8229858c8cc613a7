"""A numba without the interfaces that it promises to nobody compiles the same kernels, more slowly."""

import pytest
from suite_cases import slow

ANSWERS = """
import numba.core.{module} as module
del module.{name}
import numpy as np
from streameval.kernels import compile
from streameval.kernels.draw import mix64
from streameval.kernels.harmonic import harmonic_difference, precision_sum
print(compile.compiled.__module__, mix64(np.uint64(7)), harmonic_difference(10.0, 5.0), precision_sum(1.0, 5.0, 2.0))
import streameval
from streameval.kernels import ahead
ahead.listed.cache_clear()
few = [line for line in ahead.listed() if line[0] == "discounts.discounts"]
ahead.listed = lambda: few
print(streameval.compile().folder)
"""


@pytest.mark.parametrize(
    ("module", "name"),
    [("caching", "CompileResultCacheImpl"), *slow(("runtime", "rtsys"))],
)
def test_without_an_interface_kernels_are_compiled_whole(tmp_path, module, name, python):
    from streameval.kernels.draw import mix64
    from streameval.kernels.harmonic import harmonic_difference, precision_sum

    done = python(ANSWERS.format(module=module, name=name), NUMBA_CACHE_DIR=tmp_path)
    assert done.status == 0, done.err
    way, *answers, folder = done.out.split()
    expected = mix64.py_func.__globals__["np"].uint64(7), harmonic_difference(10.0, 5.0), precision_sum(1.0, 5.0, 2.0)
    assert way == "streameval.kernels.compile_whole"
    assert answers == [str(mix64(expected[0])), str(expected[1]), str(expected[2])]
    assert folder.startswith(str(tmp_path))
    assert list(tmp_path.rglob("*.nbc"))
