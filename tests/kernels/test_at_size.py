"""What small studies run as plain Python comes to the same, to the last bit, as what is compiled."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streameval.kernels import jit
from streameval.kernels.block_evidence import evidence, factors, least_refused
from streameval.kernels.deciding import decided_at, least_wins, log_evidence
from streameval.kernels.draw import draw_strata, mix64, uniforms
from streameval.kernels.few_blocks import follow
from streameval.kernels.harmonic import _add_runs, precision_sum
from streameval.kernels.hypergeometric import intervals
from streameval.kernels.martingale import _follow
from streameval.kernels.mixture import mixture_roots
from streameval.kernels.paula import bracket, window_sums
from streameval.kernels.stakes import PREDICTED, STAKE, TOTAL
from streameval.kernels.window_band import upper_bounds

SEED = np.uint64(7)


def runs(rng):
    counts = rng.integers(0, 60, 200).astype(float)
    return np.append(0, np.cumsum(counts)), np.cumsum(rng.integers(0, 9, 200)).astype(float), np.zeros(201)


def martingale(rng, missing, phases, n=40, rows=2, threshold=5.3):
    classes, mu = 2, np.geomspace(0.01, 3, 7)
    width = rng.integers(1, 50, n).astype(float)
    rate = np.where(rng.random(n) < 0.2, 1.0, rng.uniform(0.01, 0.9, n))
    items = rng.integers(0, 30, (n, classes)).astype(float)
    drawn = np.floor(items * rng.random((n, classes)))
    most = np.floor(drawn * rng.random((n, classes)))
    state, table = np.zeros((PREDICTED + 1, classes)), np.zeros((TOTAL + rows, mu.size))
    state[PREDICTED], table[0] = (0.4, 0.7), mu
    counts, fewest = np.stack([items, drawn, most]), np.floor(most / 2) if missing else None
    judged = rng.choice([0.5, 1.0], n) if phases else None
    return np.stack([width, rate, np.zeros(n)]), judged, counts, fewest, state, (table, threshold)


def found(rng):
    items = rng.integers(1, 10**6, 20)
    drawn = np.minimum(items, rng.integers(0, 300, 20))
    low = (drawn * rng.random(20)).astype(np.int64)
    return low, np.minimum(drawn, low + 3), drawn, items, 0.05


def tables(rng):
    won = np.log(rng.random((8, 1))) + np.append(np.zeros((8, 1)), rng.random((8, 60)).cumsum(axis=1), axis=1)
    return won, np.append(np.zeros((8, 1)), -rng.random((8, 60)).cumsum(axis=1), axis=1), 40


def blocks(rng):
    n, size, m = 30, 4, 6
    draws = rng.integers(0, size, n), rng.integers(0, 2, n), np.sort(rng.integers(0, 2, n))
    rates, share, eta = rng.random((2, size)), rng.random((2, size)), rng.random((2, m)) / 100
    return draws, (rng.integers(1, 9, size), rng.integers(n, 99, size), rates, share, eta)


CASES = [
    (_add_runs, runs),
    (precision_sum, lambda rng: (float(rng.integers(1, 99)), float(rng.integers(1, 999)), float(rng.integers(0, 99)))),
    *[(_follow, lambda rng, how=how: martingale(rng, *how)) for how in ((False, False), (True, False), (True, True))],
    (intervals, found),
    (mixture_roots, lambda rng: (np.geomspace(2, 2000, 16), rng.normal(0, 9, (20, 16)), rng.uniform(3, 9, 20))),
    (window_sums, lambda rng: (rng.integers(0, 2, 500), np.sort(rng.integers(0, 500, 40)), 20)),
    (bracket, lambda rng: (17, rng.integers(1, 10**9, 40), rng.integers(0, 20, 41), 20, 1)),
    (upper_bounds, lambda rng: (rng.integers(0, 99, 30), rng.integers(0, 20, 30),
                                np.asfortranarray(rng.random((2, 30))), 20, np.geomspace(1e-3, 2, 9), 0.03)),
    (log_evidence, lambda rng: (*tables(rng), rng.integers(0, 50, 20), rng.integers(0, 50, 20))),
    (least_wins, lambda rng: (*tables(rng), 3.0, 60)),
    (decided_at, lambda rng: (np.arange(40) // 2 + 4, np.arange(40) // 3 - 3, 0, 0, (0.5, 1.0, 1.0))),
    (factors, blocks),
    (evidence, lambda rng: (factors(*blocks(rng)), int(rng.integers(1, 200)))),
    (least_refused, lambda rng: (factors(*blocks(rng)), 3.0)),
    (draw_strata, lambda rng: (np.array([10, 500, 10**12]), np.array([10, 60, 90]), SEED)),
    (uniforms, lambda rng: (np.sort(rng.integers(1, 10**12, 99)), SEED)),
    (mix64, lambda rng: (SEED,)),
]  # fmt: skip


def arrays(value):
    if isinstance(value, tuple):
        return [one for part in value for one in arrays(part)]
    return [np.asarray(value)]


@pytest.mark.parametrize(("kernel", "given_by"), CASES)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_plain_python_comes_to_the_same_bits(kernel, given_by, seed):
    one = given_by(np.random.default_rng(seed))
    other = copy.deepcopy(one)
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit._thread, "interprets", True)
        plain = kernel(*one)
    compiled = kernel.compiled()(*other)
    for mine, theirs in zip(arrays((one, plain)), arrays((other, compiled)), strict=True):
        assert mine.tobytes() == theirs.astype(mine.dtype).tobytes()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), blocks=st.sampled_from([1, 40, 1500]), rows=st.sampled_from([1, 2, 1500]),
       threshold=st.sampled_from([math.log(200), 40.0, math.inf]))  # fmt: skip
def test_few_blocks_are_followed_in_numpy_to_the_same_bits(seed, blocks, rows, threshold):
    one = martingale(np.random.default_rng(seed), missing=False, phases=False, n=blocks, rows=rows, threshold=threshold)
    other = copy.deepcopy(one)
    with np.errstate(all="ignore"):
        follow(*one)
    _follow.compiled()(*other)
    for arguments in one, other:
        arguments[-1][0][STAKE:TOTAL] = 0  # room
    for mine, theirs in zip(arrays(one), arrays(other), strict=True):
        assert mine.tobytes() == theirs.tobytes()


def test_few_steps_are_taken_as_plain_python_and_many_are_not(monkeypatch):
    monkeypatch.setattr(jit, "_spent", jit.defaultdict(float))
    how = []
    kernel = jit.Kernel(lambda: how.append("plain"))
    monkeypatch.setattr(kernel, "_compiled", lambda: how.append("compiled"))
    kernel.at_size(1)()
    kernel.at_size(10**9)()
    assert how == ["plain", "compiled"]


def test_what_plain_python_refuses_is_compiled(monkeypatch):
    kernel = jit.Kernel(lambda x: math.log(x))
    monkeypatch.setattr(kernel, "_compiled", lambda x: -math.inf)
    assert kernel.at_size(1)(0.0) == -math.inf


def test_plain_python_may_take_longer_the_more_there_is_to_compile(monkeypatch):
    monkeypatch.setattr(jit.Kernel, "ready", False)
    assert _follow.size > 3 * _add_runs.size > _add_runs.size > precision_sum.size
    assert jit._limit(_follow) > jit._limit(_add_runs) > 0
