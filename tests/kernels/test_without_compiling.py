"""Little work is done without compiled code, and comes to the same to the last bit."""

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import cases, examples

from streameval.kernels import jit
from streameval.kernels.draw import draw_independent, draws, mix64
from streameval.kernels.martingale import bounds, fill_blocks
from streameval.methods.loguniform.design import blocks
from streameval.methods.loguniform.expected import expected_bounds
from streameval.methods.loguniform.forecasts import Expected
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    path = tmp_path_factory.mktemp("items") / "items.parquet"
    rng = np.random.default_rng(3)
    score = np.sort(rng.random(20_000))[::-1]
    table = pa.table({"item": np.arange(20_000), "score": score, "text": [f"text {i}" for i in range(20_000)],
                      "good": (rng.random(20_000) < score).astype(np.int8)})  # fmt: skip
    pq.write_table(table, path, write_page_index=True, data_page_size=4_000)
    return path


YAML = """
import sys
from streameval.process.probes import refuse_probes
refuse_probes()
try:
    exec("import yaml", {"__name__": "numba.core.config"})
except ModuleNotFoundError as error:
    print(error)
else:
    print(True)
"""
WITH_NUMBA = "import sys, numba; print('yaml' in sys.modules or None)"


@pytest.mark.parametrize("code", [YAML, pytest.param(YAML + WITH_NUMBA, marks=pytest.mark.slow)], ids=["asks", "all"])
@pytest.mark.parametrize("file", [None, ".numba_config.yaml"])
def test_numba_reads_yaml_where_there_are_settings_and_nowhere_else(tmp_path, file, code):
    if file:
        (tmp_path / file).write_text("opt: 2")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    said = ["True", "True"] if file else ["yaml is not needed here", "None"]
    assert done.stdout.splitlines() == said[: 1 + (code != YAML)]


@settings(max_examples=examples(25, 60), deadline=None)
@given(n=st.integers(1, 10**9), c=st.floats(1.1, 300), seed=st.integers(0, 2**64 - 1))
def test_blocks_and_draws_are_the_same_to_the_last_bit(n, c, seed):
    with jit.small(0):
        plain = blocks(n, c)
        drawn = draw_independent(plain.ends, plain.rate, np.uint64(seed))
    ends = np.empty_like(plain.ends)
    offset = max(0.0, min(0.75 * c, c - 40))
    assert fill_blocks(n, max(1, int(c - offset)), offset, max(0.7 / c, 1 / 4000), ends) == ends.size
    assert np.array_equal(ends, plain.ends)
    assert np.array_equal(draw_independent(plain.ends, plain.rate, np.uint64(seed)), drawn)


def test_numbers_of_a_stream_are_those_of_its_definition():
    mix = mix64.plain()
    with np.errstate(over="ignore"):
        state, found = int(mix(np.uint64(7))), draws(np.uint64(7), 50)
        for i in range(50):
            state = (state + 0x9E3779B97F4A7C15) % 2**64
            assert found[i] == mix(np.uint64(state))


def test_pages_are_found_the_same_way(items, monkeypatch):
    ranks = np.arange(1, 20_001, 37)

    def taken(most):
        monkeypatch.setattr(jit, "_left", [most])
        return open_ranking(str(items), RankingOptions()).fetch(ranks, ["item", "score", "text"])

    plain, compiled = taken(10**9), taken(-1)
    assert plain.table.equals(compiled.table)
    assert (plain.pages_read, plain.bytes_read) == (compiled.pages_read, compiled.bytes_read)


@pytest.mark.parametrize("precision", cases([0.02, 0.5, 0.9, 1.0], 0.02, 0.9))
@pytest.mark.parametrize(("n", "c"), [(1, 3.0), (1_000, 600.0), (10**6, 40.0), (10**9, 300.0)])
def test_the_forecast_is_what_the_bounds_of_expected_labels_are(n, c, precision):
    design, of = blocks(n, c), Expected.from_accuracy(precision)
    items = design.phases[0][:, None] * of.share
    drawn = items * design.rate[:, None]
    found = drawn * precision
    setting = of.mixture(design), 0.05
    exact = bounds(design.phases, items, drawn, (found, found), of.prior, setting)
    for mine, theirs in zip(expected_bounds(design, precision, setting), exact, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-7, abs=1e-9 * n)


@pytest.mark.parametrize(("asked", "ran"), [
    ([1, jit.STEPS - 1, 0], ["plain", "plain", "plain"]), ([jit.STEPS + 1, 1], ["compiled", "plain"]),
    ([jit.STEPS, 1], ["plain", "compiled"]), ([jit.STEPS // 4] * 5, ["plain"] * 4 + ["compiled"]),
])  # fmt: skip
def test_the_first_steps_of_a_process_are_plain_python_and_no_more(monkeypatch, asked, ran):
    how = []
    kernel = jit.Kernel(lambda: how.append("plain"))
    monkeypatch.setattr(kernel, "_compiled", lambda: how.append("compiled"))
    monkeypatch.setattr(jit, "_left", [jit.STEPS])
    for steps in asked:
        with jit.small(steps):
            kernel()
    assert how == ran


def test_what_is_small_within_what_is_small_is_counted_once(monkeypatch):
    monkeypatch.setattr(jit, "_left", [10])
    with jit.small(10), jit.small(10):
        assert jit._thread.plain
    assert jit._left == [0]


def test_another_thread_goes_on_as_it_was():
    with jit.small(0), ThreadPoolExecutor(1) as pool:
        assert not pool.submit(lambda: jit._thread.plain).result()


@pytest.mark.parametrize(("function", "x", "value"), [
    (math.log, 0.0, -math.inf), (math.log, -1.0, math.nan), (math.log1p, -1.0, -math.inf), (math.log1p, -2.0, math.nan),
    (math.log, 2.0, math.log(2.0)),
])  # fmt: skip
def test_logarithms_that_python_refuses_are_those_of_compiled_code(function, x, value):
    name = function.__name__
    logarithm = jit.Kernel(eval(f"lambda x: math.{name}(x)", {"math": math, "__name__": "here"}))
    assert logarithm.plain()(x) == pytest.approx(value, abs=0, nan_ok=True)
