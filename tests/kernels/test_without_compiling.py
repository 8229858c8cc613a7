"""Little work is done without compiled code, and comes to the same to the last bit."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import cases, examples

from streameval.kernels import jit, machine_code
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
    with jit.interpreted(0, fill_blocks):
        plain = blocks(n, c)
        drawn = draw_independent(plain.ends, plain.rate, np.uint64(seed))
    ends = np.empty_like(plain.ends)
    offset = max(0.0, min(0.75 * c, c - 40))
    assert fill_blocks(n, max(1, int(c - offset)), offset, max(0.7 / c, 1 / 4000), ends) == ends.size
    assert np.array_equal(ends, plain.ends)
    assert np.array_equal(draw_independent(plain.ends, plain.rate, np.uint64(seed)), drawn)


def test_numbers_of_a_stream_are_those_of_its_definition():
    state, found = int(mix64(np.uint64(7))), draws(np.uint64(7), 50)
    for i in range(50):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        assert found[i] == mix64(np.uint64(state))


def test_pages_are_found_the_same_way(items, monkeypatch):
    ranks = np.arange(1, 20_001, 37)

    def taken(most):
        monkeypatch.setattr(jit, "_most", [most])
        return open_ranking(str(items), RankingOptions()).fetch(ranks, ["item", "score", "text"])

    plain, compiled = taken(float("inf")), taken(-1.0)
    assert plain.table.equals(compiled.table)
    assert (plain.pages_read, plain.bytes_read) == (compiled.pages_read, compiled.bytes_read)


def test_much_is_compiled_whatever_was_done_before():
    with jit.interpreted(10**9, mix64):
        assert not jit._thread.interprets


@pytest.mark.parametrize(("ready", "found", "most"), [(True, True, 0.1), (True, False, 0.4), (False, True, 0.6)])
def test_plain_python_may_take_longer_where_a_kernel_has_to_be_compiled(monkeypatch, ready, found, most):
    monkeypatch.setattr(jit.Kernel, "ready", ready)
    monkeypatch.setattr(jit, "_found", [found])
    monkeypatch.setattr(jit, "_most", [0.4])
    monkeypatch.setattr(jit, "_spent", {mix64.name: 0.05, "another": 0.01})
    most += 0 if ready else jit._BYTE * mix64.size
    spent = 0.06 if ready else 0.05
    for steps, interprets in ((int((most - spent) / jit._STEP * 0.99), True), (int(most / jit._STEP), False)):
        with jit.interpreted(steps, mix64):
            assert jit._thread.interprets == interprets
        jit._spent[mix64.name] = 0.05


@pytest.mark.parametrize("precision", cases([0.02, 0.5, 0.9, 1.0], 0.02, 0.9))
@pytest.mark.parametrize(("n", "c"), [(1, 3.0), (1_000, 600.0), (10**6, 40.0), (10**9, 300.0)])
def test_the_forecast_is_what_the_bounds_of_expected_labels_are(n, c, precision):
    design, of = blocks(n, c), Expected.of(precision)
    items = design.phases[0][:, None] * of.share
    drawn = items * design.rate[:, None]
    found = drawn * precision
    setting = of.mixture(design), 0.05
    exact = bounds(design.phases, items, drawn, (found, found), of.prior, setting)
    for mine, theirs in zip(expected_bounds(design, precision, setting), exact, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-7, abs=1e-9 * n)


def test_kernels_are_loaded_once_others_took_as_long_as_that(monkeypatch):
    monkeypatch.setattr(jit, "_others", [0.0])
    monkeypatch.setattr(jit, "_most", [0.4])
    monkeypatch.setattr(jit, "_found", [False])
    monkeypatch.setattr(jit.Kernel, "ready", True)
    assert [jit.worth_compiling(0.15, mix64) for _ in range(4)] == [False, False, True, True]
    assert jit.worth_compiling(0.0, mix64)
    monkeypatch.setattr(jit.Kernel, "ready", False)
    assert not jit.worth_compiling(0.0, mix64)


def test_kernels_are_loaded_sooner_once_one_was_found_on_the_disk(monkeypatch):
    monkeypatch.setattr(jit, "_others", [0.0])
    monkeypatch.setattr(jit, "_most", [0.4])
    monkeypatch.setattr(jit, "_found", [False])
    monkeypatch.setattr(jit.Kernel, "ready", True)
    assert not jit.worth_compiling(0.15, mix64)
    jit._loaded()
    assert jit.worth_compiling(0.0, mix64)


def test_a_kernel_that_every_process_does_without_is_compiled_in_the_end(monkeypatch, tmp_path):
    """At most so much is lost to plain Python in all of them as in one, and what is noted is less than is lost."""
    steps, clock, runs = int(1.5 / jit._STEP), [0.0], []
    monkeypatch.setattr(machine_code, "folders", lambda: (str(tmp_path),))
    monkeypatch.setattr(jit.Kernel, "ready", False)
    monkeypatch.setattr(jit, "_most", [0.4])
    monkeypatch.setattr(jit.time, "thread_time", lambda: clock[0])
    monkeypatch.setattr(jit, "_BYTE", 3 / mix64.size)
    while not runs or runs[-1]:
        monkeypatch.setattr(jit, "_spent", jit.defaultdict(float))
        monkeypatch.setattr(jit, "_noted", jit.defaultdict(float))
        machine_code.plain_before.cache_clear()
        with jit.interpreted(steps, mix64):
            clock[0] += 1.5
            runs.append(jit._thread.interprets)
    assert runs == [True, True, False]  # limit: 3 s and .6; each of the runs lost 1.1, and would lose 1.5 more
    assert mix64.name not in machine_code.kept.__wrapped__()
    machine_code.plain_before.cache_clear()
    (note,) = tmp_path.iterdir()
    note.write_bytes(b"damaged")
    assert machine_code.plain_before(mix64.name) == 0.0
    machine_code.plain_before.cache_clear()
