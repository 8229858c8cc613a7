"""Bins are monotone, hold what they say, and what is kept while counting is all or nothing."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_lists import SCORES, scan_of, sorted_positions
from suite_cases import examples, slow

from streameval.kernels.bins import append_rows, keep_open, keep_wanted
from streameval.kernels.order import position_hashes
from streameval.order import early_candidates as early_module
from streameval.order.bins import ALL_ROWS, FirstStage, first_stage
from streameval.order.early_candidates import EarlyCandidates
from streameval.order.filter import BLOCK, NO_HASHES, bits
from streameval.order.locate import locate
from streameval.order.scores import order_of


@settings(max_examples=examples(10, 60), deadline=None)
@given(
    name=st.sampled_from(sorted(SCORES)),
    seed=st.integers(0, 2**32),
    n=st.integers(1, 4000),
    most=st.sampled_from([16, 300, 5000]),
    room=st.sampled_from([64, 1 << 14]),
    ties=st.sampled_from(["whole", "parted"]),
)
def test_first_bins_are_monotone_and_hold_what_they_say(name, seed, n, most, room, ties):
    rng = np.random.default_rng(seed)
    scores = pa.array(SCORES[name](n, rng))
    keys = order_of([("here", scores.type)], "s", False).keys(scores).key
    stage = first_stage(rng.choice(keys, rng.integers(1, n + 1)), most, room, ties)
    hashes = position_hashes(np.arange(n) + 5)
    bins = stage.place(keys, NO_HASHES, 5, np.empty(n, np.uint32))
    assert np.array_equal(bins, stage.place(keys, hashes, 0, np.empty(n, np.uint32)))
    order = np.lexsort([hashes, keys])
    assert np.all(np.diff(bins[order].astype(np.int64)) >= 0)
    assert bins.max() < stage.count
    kind, start, end = stage.ranges(bins.astype(np.int64))
    word = np.where(kind == 0, keys, hashes)
    assert np.all((start <= word) & (word <= end))
    cells = stage.cell_of(bins.astype(np.int64))
    assert np.array_equal(cells, stage.by_cell().place(keys, hashes, 0, np.empty(n, np.uint32)))
    for b in np.unique(bins[kind == 2]).tolist():  # a bin by tie hash holds one key only
        assert np.unique(keys[bins == b]).size == 1


def test_a_heavy_key_is_parted_into_bins_of_equal_content():
    rng = np.random.default_rng(1)
    scores = np.where(rng.random(100_000) < 0.5, 0.25, rng.random(100_000))
    keys = order_of([("here", pa.float64())], "s", False).keys(pa.array(scores)).key
    for ties, largest in (("parted", 1000), ("whole", 60_000)):
        stage = first_stage(keys[::10], 1000, 1 << 16, ties)
        bins = stage.place(keys, NO_HASHES, 0, np.empty(keys.size, np.uint32))
        assert (np.bincount(bins).max() > largest) == (ties == "whole" and largest < 50_000)


@settings(max_examples=examples(25, 100), deadline=None)
@given(data=st.lists(st.integers(0, 200), max_size=300), wanted=st.sets(st.integers(0, 200)), before=st.integers(0, 9))
def test_kernels_that_keep_rows_against_their_naive_twins(data, wanted, before):
    bins = np.array(data, dtype=np.uint32)
    flags = np.zeros(201, np.bool_)
    flags[list(wanted)] = True
    rows = np.empty(bins.size, np.uint32)
    kept = [i for i, b in enumerate(data) if b in wanted]
    assert rows[: keep_open(bins, bits(flags), rows)].tolist() == kept
    keys = np.arange(bins.size, dtype=np.uint64) << np.uint64(32)
    candidates = tuple(np.zeros(400, np.uint32) for _ in range(3))
    n = append_rows(keys, (1000, ALL_ROWS), bins, np.array(kept, dtype=np.uint32), candidates, np.uint64(32), before)
    assert candidates[0][before:n].tolist() == kept
    assert candidates[1][before:n].tolist() == [1000 + i for i in kept]
    assert candidates[2][before:n].tolist() == [data[i] for i in kept]
    odd = flags & (np.arange(201) % 2 == 1)
    rest = [i for i in kept if data[i] % 2]
    candidates[2][:before] = 200
    m = keep_wanted(candidates, n, bits(odd))
    assert candidates[1][:m].tolist() == [1000 + i for i in rest]


LISTS = {
    "shuffled": (lambda n, rng: rng.random(n), 1),
    "tied": (lambda n, rng: np.where(rng.random(n) < 0.5, 0.25, rng.random(n)), 1),
    "quantised": (lambda n, rng: rng.integers(0, 7, n) / 8, 1),
    "falling": (lambda n, rng: np.sort(rng.random(n))[::-1], 2),
    "blocks": (lambda n, rng: np.concatenate([rng.random(n // 40) / 40 + i / 40 for i in rng.permutation(40)]), 2),
}


@pytest.mark.parametrize(
    ("name", "threads"),
    [*((name, 1) for name in LISTS), (next(iter(LISTS)), 3), *slow(*((name, 3) for name in [*LISTS][1:]))],
)
def test_one_scan_is_enough_where_order_and_score_are_unrelated(name, threads):
    """And where they are not, a second one finds the same ranks."""
    make, scans = LISTS[name]
    n = examples(100_000, 400_000)
    table = pa.table({"s": make(n, np.random.default_rng(5))})
    wanted = np.unique(np.geomspace(1, n, 300).astype(np.int64))
    found = locate(scan_of(table, 40, threads=threads), wanted, 50.0 * n)
    key, hashes = -table.column("s").to_numpy(), position_hashes(np.arange(n))
    assert found.position.tolist() == np.lexsort([hashes, key])[wanted - 1].tolist()
    if threads == 1:  # with more, chance has a say: in how long each takes
        assert found.scans == scans


FROM_START = 0, ALL_ROWS


def _thousand_bins() -> FirstStage:
    """Bins 0 to 999."""
    stage = first_stage(np.arange(998, dtype=np.uint64), 998, 1 << 20)
    return replace(stage, cells=np.append(stage.cells[:-1], 1000))


@pytest.mark.parametrize("limit", [1 << 20, 1 << 22, 1 << 26])
@pytest.mark.parametrize("kept", [0.2, 0.6, 0.9, 1.0])
def test_a_thread_always_has_room_for_a_block(limit, kept):
    """Kernels write without looking: what they are given has to be large enough, at every block."""
    rng = np.random.default_rng(8)
    early_candidates = EarlyCandidates(np.arange(1, 100), np.zeros(1000, np.int64), _thousand_bins(), 10**7, limit, 32)
    candidates = early_candidates.of_thread(np.zeros(1000, np.uint32))
    early_candidates._bits = bits(np.arange(1000) < 1000 * kept)
    total = 0
    for _ in range(40):
        block = rng.integers(0, 1000, BLOCK).astype(np.uint32)
        early_candidates.take(candidates, rng.integers(0, 2**63, BLOCK).astype(np.uint64), FROM_START, block)
        total += int(np.sum(block < 1000 * kept))
        assert candidates.items <= candidates.room
        assert all(array.size == candidates.room for array in candidates.words)
        assert candidates.items == (0 if early_candidates.dropped else total)
    assert 12 * candidates.room <= limit
    assert early_candidates.dropped == (limit == 1 << 20 or (limit == 1 << 22 and kept > 0.25))


def test_what_one_thread_drops_no_review_brings_back():
    stage = _thousand_bins()
    early_candidates = EarlyCandidates(np.arange(1, 100), np.zeros(1000, np.int64), stage, 3 * BLOCK, 1 << 22, 32)
    by_thread = [early_candidates.of_thread(np.zeros(1000, np.uint32)) for _ in range(2)]
    block = np.zeros(BLOCK, np.uint32)
    early_candidates.take(by_thread[0], np.zeros(BLOCK, np.uint64), FROM_START, block)
    early_candidates.dropped = True
    for candidates in by_thread:
        early_candidates.take(candidates, np.zeros(BLOCK, np.uint64), FROM_START, block)
        candidates.counts[0] = candidates.rows
        early_candidates.end_row_group(candidates)
    assert early_candidates.items(stage, np.array([0])) is None


def test_without_room_nothing_is_kept_and_nothing_is_lost(monkeypatch):
    rng = np.random.default_rng(6)
    table = pa.table({"s": rng.random(300_000)})
    wanted = np.arange(1, 300_000, 997)
    expected = locate(scan_of(table, 20), wanted, 1e8)
    assert expected.scans == 1
    plain = EarlyCandidates.__init__
    monkeypatch.setattr(EarlyCandidates, "__init__", lambda self, *args: plain(self, *args[:4], 1 << 16, *args[5:]))
    found = locate(scan_of(table, 20), wanted, 1e8)
    assert found.scans == 2
    assert found.position.tolist() == expected.position.tolist()
    monkeypatch.setattr(EarlyCandidates, "__init__", plain)
    monkeypatch.setattr(early_module, "_DEVIATIONS", 0.01)  # margins too narrow: bins of wanted ranks close
    found = locate(scan_of(table, 20), wanted, 1e8)
    assert found.scans == 2
    assert found.position.tolist() == expected.position.tolist()


@pytest.mark.parametrize("name", ["falling", "blocks"])
def test_where_a_cell_was_closed_too_early_its_rows_are_counted_again(monkeypatch, name):
    calls = []
    plain = FirstStage.by_cell
    monkeypatch.setattr(FirstStage, "by_cell", lambda self: calls.append(1) or plain(self))
    monkeypatch.setattr(early_module, "_ALIKE", np.inf)  # what was sampled goes for what is counted first
    n = 400_000
    table = pa.table({"s": LISTS[name][0](n, np.random.default_rng(5))})
    wanted = np.array([1, 77_777, 200_000, 200_001, 321_000, n])
    found = locate(scan_of(table, 40), wanted, 2e7)
    key, hashes = -table.column("s").to_numpy(), position_hashes(np.arange(n))
    assert found.position.tolist() == np.lexsort([hashes, key])[wanted - 1].tolist()
    assert found.scans == 2
    assert calls


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_kept_items_have_their_scores_and_nan_stays_last(kind, ascending):
    rng = np.random.default_rng(7)
    scores = np.where(rng.random(3000) < 0.01, np.nan, rng.normal(size=3000)).astype(kind)
    table = pa.table({"s": scores})
    scan = scan_of(table, 4, ascending=ascending)
    found = locate(scan, np.arange(1, 3001), 1e8, "last")
    assert found.scans == 1
    assert found.position.tolist() == sorted_positions(table, ascending=ascending)
    back = scan.order.scores(found.keys, table.schema.field("s").type)
    known = scores[~np.isnan(scores)]
    expected = np.sort(known)[:: 1 if ascending else -1].tolist() + [None] * (3000 - known.size)
    assert back.to_pylist() == expected
