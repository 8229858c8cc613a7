"""Lists ordered by their scores, in memory or in a scratch file: exact whatever the memory, and the same to the bit."""

import errno
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score
from suite_cases import cases, examples

import streameval
from streameval.counting import block_sums as sums
from streameval.counting import by_score as scored
from streameval.counting import ordered_words, piled_words
from streameval.counting import scans as here
from streameval.counting.counters import Cells
from streameval.counting.labelled_rows import RowRange
from streameval.counting.ordered_words import OrderedWords
from streameval.counting.piled_words import PiledWords, Piles, RuledOutError
from streameval.kernels.words import sort_words
from streameval.process import system
from streameval.scans import threads
from streameval.spill import store
from streameval.spill.parted_words import KeyRanges, Parted, Pile

REAL = ("ppdb_human", "nyt10_reside", "fivethirtyeight_all", "clef_tar2017_amc", "skin_logreg")


def evaluated(path, memory, words=None, **more):
    with pytest.MonkeyPatch.context() as patch:
        if words is not None:
            patch.setattr(scored, "_WORDS", words)
            patch.setattr(scored, "_PILED_WORDS", words)
        options = streameval.RankingOptions(score="score", memory=memory)
        return streameval.exact(str(path), label="label", options=options, **more)


@pytest.mark.parametrize("name", cases(REAL, REAL[0]))
def test_real_lists_are_those_of_scikit_learn_whatever_the_memory(real, name, tmp_path):
    table = pq.read_table(real(name), columns=["score", "label"])
    shuffled = table.take(np.random.default_rng(1).permutation(table.num_rows))
    pq.write_table(shuffled, tmp_path / "list.parquet", row_group_size=100_000)
    labels, scores = table.column("label").to_numpy(), table.column("score").to_numpy()
    expected = average_precision_score(labels, scores), roc_auc_score(labels, scores)
    found = {}
    for path, memory, words, how in (
        (real(name), 2.0, None, ("as it is stored",)),
        (tmp_path / "list.parquet", 2.0, None, ("ordered in memory", "a counter for every score")),
        (tmp_path / "list.parquet", 0.05, None, ("ordered in memory", "a counter for every score")),
        (tmp_path / "list.parquet", 0.05, 0.0, ("ordered range by range",)),
    ):
        result = evaluated(path, memory, words)
        assert any(one in result.summary["how"] for one in how)
        assert result.curve.claim.coverage == "exact"
        rows = {(row["metric"], row["argument"]): row for row in result.metrics.to_pylist()}
        for metric, value in zip((("average_precision", "positives"), ("roc_auc", "")), expected, strict=True):
            for side in ("lower", "estimate", "upper"):
                assert rows[metric][side] == pytest.approx(value, rel=1e-12), (metric, side, how)
        found[how[0]] = result
    first, *others = (found[how] for how in ("ordered in memory", "ordered range by range"))
    assert all(one.metrics.equals(first.metrics) and one.curve_table.equals(first.curve_table) for one in others)


@pytest.mark.parametrize("values", cases([3, 40, 5_000], 3, 5_000))
def test_words_counters_and_stored_order_agree_to_the_bit(values, tmp_path, monkeypatch):
    for module in (sums, here, scored):
        monkeypatch.setattr(module, "BLOCK", 128)
    rng = np.random.default_rng(values)
    score = 1 + rng.integers(0, values, 3_000).astype(np.float32) / 8192
    label = (rng.random(score.size) < 0.3).astype(np.int8)
    order = np.argsort(-score, kind="stable")
    for name, rows in (("sorted", order), ("shuffled", rng.permutation(score.size))):
        pq.write_table(pa.table({"score": score[rows], "label": label[rows]}), tmp_path / name, row_group_size=400)
    stored, counted = evaluated(tmp_path / "sorted", 2.0), evaluated(tmp_path / "shuffled", 2.0)
    monkeypatch.setattr(scored, "_FEW_CELLS", 0)
    monkeypatch.setattr(piled_words, "_MOST_WORDS", 500)
    for most in (1e9, 0):
        monkeypatch.setattr(piled_words, "_CELLS_PER_ITEM", most)
        hows = ("a counter for every score",) * 2 if most else ("ordered in memory", "ordered range by range")
        for words, how in zip((None, 0.0), hows, strict=True):
            one = evaluated(tmp_path / "shuffled", 2.0, words)
            assert one.summary["how"] == how
            assert one.metrics.equals(stored.metrics)
            assert one.curve_table.equals(stored.curve_table)
    assert counted.metrics.equals(stored.metrics)
    assert counted.curve_table.equals(stored.curve_table)


@settings(max_examples=examples(10, 60), deadline=None)
@given(data=st.data(), held=st.sampled_from([0, 1_500, 10**6]), most=st.sampled_from([1, 40, 10**6]))
def test_piles_count_every_key(data, held, most, tmp_path_factory):
    """In memory, in a file, or both; piles of one key, of many, and keys that statistics rule out."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    low, span = data.draw(st.sampled_from([0, 7 << 32])), data.draw(st.sampled_from([1, 5_000, 200_000, 2**32 - 8]))
    n = data.draw(st.sampled_from([1, 2_000]))
    keys = (rng.integers(0, span, n, dtype=np.uint64) << np.uint64(32)) + np.uint64(low)
    keys[rng.random(n) < data.draw(st.sampled_from([0.0, 0.5, 1.0]))] = keys[0]
    labels = rng.integers(0, 2, n).astype(np.uint8)
    piles = Piles(Cells(low, 32, span))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(piled_words, "_MOST_WORDS", most)
        with store.ScratchFile(tmp_path_factory.mktemp("scratch") / "words") as file:
            piled = PiledWords(piles, store.Spill(file, held, 2 * n))
            for rows in np.array_split(np.arange(n), 3):
                piled.add(pickle.loads(pickle.dumps(piles.split(keys[rows], labels[rows]))))
            counts = piled.counts()
            found, before = [], 0
            for i in range(counts.n_pieces):
                piece = counts.piece(i)
                assert counts.before(i) == before
                before += int(piece.ends[-1])
                found += zip(piece.keys_at(piece.ends).tolist(), *piece.numbers.tolist(), strict=True)
            own, sizes = np.unique(keys, return_counts=True)
            positives = [int(labels[keys == key].sum()) for key in own]
            assert found == list(zip(own.tolist(), sizes.tolist(), positives, strict=True))
            ranks = np.unique(rng.integers(1, n + 1, 3)).tolist()
            assert [counts.key_at(rank) for rank in ranks] == np.sort(keys)[np.array(ranks) - 1].tolist()
    if piles.count < 1 << 16:
        with pytest.raises(RuledOutError):
            piles.split(np.array([low + ((piles.count << 15) << 32)], np.uint64), labels[:1])


@settings(max_examples=examples(6, 60), deadline=None)
@given(
    data=st.data(),
    most=st.sampled_from([1, 50, 10_000]),
    held=st.sampled_from([0, 4_000, 10**6]),
    shift=st.sampled_from([0, 32]),
)
def test_ranges_that_are_too_long_are_parted_again(data, most, held, shift, tmp_path_factory):
    """Keys of every kind, one that half of the items share, and a sample that says nothing about the rest."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n, top = data.draw(st.sampled_from([1, 2, 700, 3_000])), data.draw(st.sampled_from([2, 1_000, 2**63, 2**64 - 1]))
    keys = rng.integers(0, top, n, dtype=np.uint64) >> np.uint64(shift) << np.uint64(shift)
    keys[rng.random(n) < data.draw(st.sampled_from([0.0, 0.5, 1.0]))] = keys[0]
    labels, bins = rng.integers(0, 2, n).astype(np.uint8), rng.integers(0, 4_096, n).astype(np.uint16)
    beside = data.draw(st.sampled_from([[], [bins]]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered_words, "rows_to_sort", lambda memory, threads: most)
        with store.ScratchFile(tmp_path_factory.mktemp("scratch") / "words") as file:
            ranges = KeyRanges.from_keys(keys[:1], n, most, shift)
            parted = Parted(ranges, store.Spill(file, held, n * ranges.word.itemsize))
            for rows in np.array_split(np.arange(n), 3):
                split = parted.ranges.split(keys[rows], labels[rows], *(one[rows] for one in beside))
                parted.add(pickle.loads(pickle.dumps(split)))
            found = OrderedWords.from_piles(parted, n, 0, 1)
            assert all(pile.size <= most or pile.one_key for pile in found.piles)
            every = found.rows(0, n)
            assert in_order(every) == in_order(RowRange(0, labels, keys))
            assert [one.tolist() for one in together(every)] == [one.tolist() for one in together(RowRange(
                0, labels, keys, bins=bins if beside else None))]  # fmt: skip
            a, b = sorted(rng.integers(0, n + 1, 2).tolist())
            assert np.array_equal(found.rows(a, max(b, a + 1)).keys, np.sort(keys)[a : max(b, a + 1)])
            with pytest.raises(streameval.InputError, match="the list changed while it was read"):
                OrderedWords.from_piles(parted, n + 1, 0, 1)


def test_a_score_that_many_items_share_is_soon_a_range_of_its_own(tmp_path, monkeypatch):
    """Among so many others that to leave out one range of them at a time would never end."""
    rng, times = np.random.default_rng(2), []
    score = np.where(rng.random(20_000) < 0.5, 0.5, rng.random(20_000))
    pq.write_table(pa.table({"score": score, "label": rng.integers(0, 2, score.size)}), tmp_path / "l")
    whole = evaluated(tmp_path / "l", 2.0)
    monkeypatch.setattr(scored, "rows_to_sort", lambda memory, threads: 1_700)
    monkeypatch.setattr(ordered_words, "rows_to_sort", lambda memory, threads: 1_700)
    plain = Pile.part_again
    monkeypatch.setattr(Pile, "part_again", lambda *given: times.append(1) or plain(*given))
    found = evaluated(tmp_path / "l", 2.0)
    assert found.metrics.equals(whole.metrics)
    assert len(times) < 10


def together(rows):
    """Keys, labels and bins, sorted by all of them; of rows without bins nothing."""
    if rows.bins is None:
        return []
    order = np.lexsort([rows.bins, rows.labels, rows.keys])
    return [rows.keys[order], rows.labels[order], rows.bins[order]]


def in_order(rows):
    """Keys, ascending, and labels; among equal keys positives last."""
    order = np.lexsort([rows.labels, rows.keys])
    assert rows.before == 0
    return rows.keys[order].tolist(), rows.labels[order].tolist()


@settings(max_examples=examples(25, 100), deadline=None)
@given(seed=st.integers(0, 2**32), bits=st.integers(0, 64), low=st.integers(0, 63), bytes_each=st.sampled_from([4, 8]))
def test_words_are_sorted_by_the_digits_in_which_their_keys_differ(seed, bits, low, bytes_each):
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2**bits, 500, dtype=np.uint64, endpoint=bits == 0) << np.uint64(min(low, 64 - bits))
    words = (words | np.uint64(low & 1)).astype(f"u{bytes_each}")
    spare, expected = np.empty_like(words), np.sort(words)
    found = spare if sort_words(words, spare) else words
    assert np.array_equal(found >> 1, expected >> 1)
    assert np.array_equal(np.sort(found), expected)


def test_a_full_disk_is_told_before_anything_is_read(tmp_path, monkeypatch):
    pq.write_table(pa.table({"score": np.random.default_rng(1).random(5_000), "label": [0, 1] * 2_500}), tmp_path / "l")

    def full(file, size):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, "reserve", full)
    with pytest.raises(streameval.OutsideError, match="No space left on device"):
        evaluated(tmp_path / "l", 0.05, 0.0)
    assert evaluated(tmp_path / "l", 0.05).curve.claim.coverage == "exact"


@pytest.mark.parametrize("rows", ["sorted", "shuffled"])
def test_row_groups_are_fetched_before_they_are_read(rows, tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    score = np.sort(rng.random(2_400).astype(np.float32))[::-1].copy()
    if rows == "shuffled":
        rng.shuffle(score)
    path = tmp_path / "list.parquet"
    pq.write_table(pa.table({"score": score, "label": rng.integers(0, 2, score.size)}), path, row_group_size=100)
    asked, read = list[tuple[int, int]](), system.read_into
    reads = list[tuple[int, int, int]]()  # what was read, and how many were asked for before
    monkeypatch.setattr(
        system, "read_ahead", lambda handle, ranges: asked.extend((at, at + size) for at, size in ranges)
    )

    def noted(handle, room, ranges):
        reads.extend((at, at + size, len(asked)) for at, size in ranges)
        return read(handle, room, ranges)

    monkeypatch.setattr(system, "read_into", noted)
    streameval.exact(str(path), label="label", options=streameval.RankingOptions(score="score", threads=1))
    footer = pq.ParquetFile(path).metadata
    for group in range(threads.AHEAD, footer.num_row_groups):
        for column in (footer.row_group(group).column(i) for i in range(2)):
            begin = min(column.data_page_offset, column.dictionary_page_offset or column.data_page_offset)
            # the last time: a sample of scores is read before
            early = asked[: [before for low, high, before in reads if low <= begin < high][-1]]
            assert any(low <= begin and begin + column.total_compressed_size <= high for low, high in early)
