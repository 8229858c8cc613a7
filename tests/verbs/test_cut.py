"""The cut: the rank is the naive one, and the items above it are those of a full sort, whatever cuts the list."""

import json
import os
import re
import shutil
import tempfile
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from measured import with_tables
from parquet_tables import tables, write_options
from suite_cases import cases, examples, slow

import streameval
from streameval.cli import run
from streameval.curve.envelope import Envelope, Points, close
from streameval.curve.extremes import Extremes
from streameval.curve.targets import best_precision, rank_at_precision, rank_at_recall
from streameval.errors import InputError, OutsideError, StudyError
from streameval.kernels.order import count_before
from streameval.questions.cutoffs import Cutoff
from streameval.rankings import open_ranking
from streameval.rankings.top_items import ItemReader, read_top
from streameval.rows.options import RankingOptions


def random_envelope(n, rng):
    truth = (rng.random(n) < rng.random()).astype(np.int8)
    y = np.cumsum(truth)
    known = np.flatnonzero(rng.random(n) < rng.random())
    at = np.flatnonzero(rng.random(n) < 0.3)
    low, high = y[at] - rng.integers(0, 4, at.size), y[at] + rng.integers(0, 4, at.size)
    return close(n, Points(at + 1, low.astype(float), high.astype(float)), known + 1, truth[known])


def deepest_rank(envelope, share):
    return rank_at_precision(Extremes.from_envelope(envelope, 0), share)[0]


@settings(max_examples=examples(60, 300), deadline=None)
@given(
    n=st.integers(1, 60),
    seed=st.integers(0, 2**32),
    share=st.fractions(Fraction(1, 100), 1, max_denominator=100) | st.sampled_from([Fraction(1), Fraction(1, 3)]),
    digits=st.sampled_from([0, 30]),
)
def test_the_deepest_rank_is_the_naive_one(n, seed, share, digits):
    """With 30 digits the products leave 64 bits; a hair above and below a share that ranks reach exactly."""
    envelope = random_envelope(n, np.random.default_rng(seed))
    lower, _ = envelope.at(np.arange(1, n + 1))
    for asked in {share, min(Fraction(1), share + Fraction(digits, 10**31)), share - Fraction(digits, 10**31)}:
        proven = [r for r in range(1, n + 1) if int(lower[r - 1]) >= asked * r]
        assert deepest_rank(envelope, asked) == max(proven, default=0)
    rank, best = best_precision(envelope)
    assert best == max(lower / np.arange(1, n + 1))
    assert rank == max(np.flatnonzero(lower / np.arange(1, n + 1) == best)) + 1


def test_a_boundary_is_met_exactly_and_not_by_a_float():
    """27 of 30 is .9, which no float is; and nothing wraps at 5·10⁹ ranks."""
    big = 5 * 10**9
    for n, low in ((30, 27), (big, big // 10 * 9)):
        envelope = Envelope(np.array([0, n]), np.array([0.0, low]), np.array([0.0, n]))
        assert deepest_rank(envelope, Cutoff.parse("precision:0.9").share) == n
        assert deepest_rank(envelope, Cutoff.parse("precision:0.90000000000000000001").share) == 0


@settings(max_examples=examples(32, 80), deadline=None)
@given(n=st.integers(1, 8), seed=st.integers(0, 2**32), misses=st.integers(0, 3), tenths=st.integers(1, 10))
def test_the_first_rank_of_a_recall_is_that_of_the_worst_list(n, seed, misses, tenths):
    """Against every list that the bounds allow."""
    envelope = random_envelope(n, np.random.default_rng(seed))
    lower, upper = envelope.at(np.arange(1, n + 1))
    sums = np.cumsum((np.arange(2**n)[:, None] >> np.arange(n)) & 1, axis=1)
    sums = sums[np.all((sums >= lower) & (sums <= upper), axis=1)]
    sums = sums[sums[:, -1] + misses > 0]
    reached = [r for r in range(1, n + 1) if np.all(10 * sums[:, r - 1] >= tenths * (sums[:, -1] + misses))]
    _, last = rank_at_recall(Extremes.from_envelope(envelope, misses), Fraction(tenths, 10))
    if sums.size:
        assert last == (reached[0] if reached else np.inf)
    else:
        assert np.isnan(last)


@settings(max_examples=examples(24, 60), deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(0, 40), k=st.integers(1, 6), words=st.integers(1, 4))
def test_places_are_counted_as_python_compares_tuples(seed, n, k, words):
    rng = np.random.default_rng(seed)
    items = rng.integers(0, 3, (words, n)).astype(np.uint64)
    bounds = rng.integers(0, 3, (words, k)).astype(np.uint64)
    bounds = bounds[:, np.lexsort(bounds[::-1])]
    found = count_before(items, bounds).tolist()
    assert found == [sum(b < i for b in zip(*bounds.tolist(), strict=True)) for i in zip(*items.tolist(), strict=True)]


ORDERS = {
    "stored": RankingOptions(memory=0.06),
    "score": RankingOptions(score="conf", memory=0.06),
    "one thread": RankingOptions(score="conf", threads=1),
    "ascending": RankingOptions(score="conf", ascending=True, nan="last"),
    "key": RankingOptions(score="conf", key=("id", "text")),
    "two words": RankingOptions(score="cents", key=("text",)),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """1,500 rows with many ties in hive folders of several files, with and without a page index."""
    folder, rng, n = tmp_path_factory.mktemp("lake"), np.random.default_rng(3), 1_500
    table = pa.table(
        {
            "id": rng.permutation(n),
            "conf": rng.integers(0, 40, n) / 40,
            "rank": rng.integers(0, 9, n),
            "text": pa.array([None if i % 50 == 0 else f"text {i % 999}" for i in range(n)]).dictionary_encode(),
            "view": pa.array([f"view {i % 7}" for i in range(n)], pa.string_view()),
            "cents": pa.array(rng.integers(0, 30, n).astype(np.int32)).cast(pa.decimal128(18, 2)),
        }
    )
    for i, rows in enumerate(np.array_split(np.arange(n), 5)):
        own = folder / f"day={i // 2}"
        own.mkdir(exist_ok=True)
        part = table.slice(int(rows[0]), rows.size)
        pq.write_table(part, own / f"p{i}.parquet", row_group_size=250, write_page_index=i % 2 == 0)
    return folder, table.num_rows


def pieces(ranking, rank, order, folder, memory=1e9):
    found = read_top(ranking, rank, order, folder, memory)
    tables = list(found.tables)
    assert all(table.schema == found.schema for table in tables)
    assert not list(folder.iterdir())
    return pa.concat_tables(tables)


@pytest.fixture(scope="module")
def fetched(lake):
    """Every item of a ranking of the lake, in its order, by the name of that."""

    @cache
    def of(name):
        ranking = open_ranking(str(lake[0]), ORDERS[name])
        return ranking, ranking.fetch(np.arange(1, lake[1] + 1), ranking.columns()).table

    return of


@pytest.mark.parametrize(("rank", "memory"), [(1, 1e9), (777, 60_000.0), (1_500, 200_000.0), *slow((1_500, 1e9))])
@pytest.mark.parametrize("name", cases(ORDERS, "stored", "key"))
def test_the_items_are_those_that_a_fetch_of_their_ranks_brings(fetched, tmp_path, name, rank, memory):
    """With memory for a few rows at a time as well, so that intervals are many and each takes several pieces."""
    ranking, every = fetched(name)
    n, wanted = every.num_rows, every.slice(0, rank)
    names = ["rank", *(name if name != "rank" else "rank_item" for name in ranking.columns())]
    wanted = wanted.select([0, *range(wanted.num_columns - len(names) + 1, wanted.num_columns)])
    ranked = pieces(ranking, rank, "rank", tmp_path, memory)
    assert ranked.to_pylist() == wanted.rename_columns(names).to_pylist()
    assert {"day", "rank", "rank_item"} <= set(ranked.column_names)
    stored = pieces(ranking, rank, "storage", tmp_path, memory)
    if name == "stored":
        assert stored.equals(ranked)
    else:
        assert stored.column_names == ranking.columns()
        ids = set(ranked.column("id").to_pylist())
        in_files = [i for i in ranking.rows.take(np.arange(n), ["id"]).table["id"].to_pylist() if i in ids]
        assert stored.column("id").to_pylist() == in_files


@settings(max_examples=examples(10, 40), deadline=None)
@given(table=tables(), options=write_options(), picks=st.integers(0, 2**32), density=st.sampled_from([0.1, 0.5, 1.0]))
def test_row_groups_decoded_whole_give_what_their_pages_give(table, options, picks, density):
    """Any type that Arrow writes, rows scattered or dense, in batches that end anywhere."""
    sizes = np.random.default_rng(picks)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/a=1"
        os.mkdir(path)
        pq.write_table(table, f"{path}/x.parquet", **options)
        # Arrow itself loses the only row of a row group of lists where pages are as small as a byte; we refuse it
        assume(pq.read_table(f"{path}/x.parquet", partitioning=None).num_rows == table.num_rows)
        ranking = open_ranking(folder, RankingOptions())
        wanted = np.flatnonzero(sizes.random(table.num_rows) < density)
        if not wanted.size:
            return
        items = ItemReader(ranking, float(sizes.integers(1, 2_000)))
        expected = items._take(wanted).table.cast(items.schema)
        assert pa.concat_tables(items.read(wanted)).equals(expected)


def test_a_corrupt_or_changed_file_is_named(lake, tmp_path):
    """Also where it happens after the first look, and row groups are decoded whole."""
    folder = tmp_path / "lake"
    shutil.copytree(lake[0], folder)
    items = ItemReader(open_ranking(str(folder), RankingOptions()), 1e9)
    path = folder / "day=0" / "p1.parquet"
    whole, state = path.read_bytes(), os.stat(path)
    for damaged, said in ((whole[:100] + bytes(300) + whole[400:], "cannot be decoded"), (whole + b"x", "changed")):
        path.write_bytes(damaged)
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        with pytest.raises(InputError, match=f"p1.parquet.*{said}"):
            list(items.read(np.arange(lake[1])))


def test_row_groups_that_lie_below_the_cut_are_not_read(tmp_path, monkeypatch):
    path = tmp_path / "sorted.parquet"
    pq.write_table(pa.table({"s": np.arange(9_000)[::-1] / 9_000, "v": np.arange(9_000)}), path, row_group_size=100)
    ranking = open_ranking(str(path), RankingOptions(score="s"))
    read = []
    original = type(ranking.order.units[0]).read
    monkeypatch.setattr(
        type(ranking.order.units[0]), "read", lambda unit, columns: read.append(unit.index) or original(unit, columns)
    )
    (tmp_path / "spill").mkdir()
    assert pieces(ranking, 250, "storage", tmp_path / "spill")["v"].to_pylist() == list(range(250))
    assert max(read) <= 3


def test_tables_in_memory_and_scores_that_are_missing(tmp_path):
    rng = np.random.default_rng(5)
    table = pa.table({"s": np.where(rng.random(500) < 0.1, np.nan, rng.integers(0, 9, 500)), "v": np.arange(500)})
    for options in (RankingOptions(), RankingOptions(score="s", nan="last")):
        ranking = open_ranking(table, options)
        for rank in (3, 470, 500):
            wanted = ranking.fetch(np.arange(1, rank + 1), ["v"]).table["v"].to_pylist()
            assert pieces(ranking, rank, "rank", tmp_path)["v"].to_pylist() == wanted
            assert sorted(pieces(ranking, rank, "storage", tmp_path)["v"].to_pylist()) == sorted(wanted)


@pytest.fixture(scope="module")
def study(one_ranking, tmp_path_factory):
    """An evaluated study by score, of the fixture's list; tests leave it as it is."""
    folder, labels, truth = one_ranking
    path = tmp_path_factory.mktemp("cut") / "study"
    streameval.plan(str(folder), path, method="loguniform", alpha=0.15, options=RankingOptions(score="conf"), seed=0)
    streameval.select(path)
    with_tables(path, labels)
    return path, truth


def test_a_cut_by_the_command_line(study, tmp_path, capsys):
    path, truth = study
    out = tmp_path / "new" / "best"
    capsys.readouterr()
    asked = ["precision:0.8", "--out", str(out), "--order", "rank", "--json"]
    assert run(["cut", str(path), *asked]) == 0
    found = json.loads(capsys.readouterr().out)
    rank = found["rank"]
    assert found["precision_lower"] >= 0.8
    assert found["precision_lower"] <= truth[:rank].mean() <= found["precision_upper"]
    assert found["recall_lower"] <= truth[:rank].sum() / truth.sum() <= found["recall_upper"]
    assert found["claim"]["coverage"] == "simultaneous"
    items = pq.read_table(out)
    assert items.column("rank").to_pylist() == list(range(1, rank + 1))
    assert items.column("item").to_pylist() == [f"item {r}" for r in range(1, rank + 1)]
    assert items.column("conf")[-1].as_py() == found["score"]
    manifest = json.loads((out / "_manifest.json").read_text())
    assert (manifest["rows"], manifest["columns"]) == (rank, ["rank", "item", "conf", "label"])
    assert manifest["evaluation_id"] == json.loads((path / "evaluation.json").read_text())["evaluation_id"]
    assert sorted(os.listdir(out)) == ["_manifest.json", *manifest["files"]]
    assert sorted(os.listdir(out.parent)) == ["best"]
    assert "precision:0.8" in manifest["command"]
    assert run(["cut", str(path), str(rank)]) == 0
    text = capsys.readouterr().out
    assert f"The first {rank:,} of 10,000 items, down to a score of {found['score']}. At least " in text
    share = float(re.search(r"At least ([\d.]+) % of them are positive\.", text)[1]) / 100
    assert found["precision_lower"] - 0.001 < share <= found["precision_lower"] + 1e-12
    assert truth[:rank].mean() >= share
    assert "at every rank at once" in text


def test_targets_are_met_at_their_rank_and_not_beyond(study):
    path, _ = study
    curve = streameval.study.Study(path).evaluation().curve
    table = curve.at(np.arange(1, 10_001))
    precision, recall = (table.column(f"{name}_lower").to_numpy() for name in ("precision", "recall"))
    for target in (0.3, 0.75, 0.9):
        assert streameval.cut(path, f"precision:{target}").rank == np.flatnonzero(precision >= target).max() + 1
        assert streameval.cut(path, f"recall:{target}").rank == np.flatnonzero(recall >= target).min() + 1
    with_misses = streameval.cut(path, "recall:0.5", misses=1_000)
    assert with_misses.rank > streameval.cut(path, "recall:0.5").rank
    assert with_misses.holds["recall_lower"] >= 0.5


def test_the_score_at_a_cut_is_that_of_its_rank(study, one_ranking):
    """Kept for the curve's cutoffs, looked up for all others."""
    scores = np.sort(pq.read_table(one_ranking[0], columns=["conf"]).column("conf").to_numpy())[::-1]
    for rank in (1, 2, 1_001, 4_567, 10_000):
        assert streameval.cut(study[0], rank).score == scores[rank - 1]


@pytest.mark.parametrize("bad", ["0", "-0.5", "1.01", "1e-999", "9/10", "nan", "1e-999999999"])
def test_shares_that_are_none_are_refused(study, bad):
    said = (
        r"outside [([]0, 1\]|in \(0, 1\]" if bad[-1] in "0159" and "/" not in bad and len(bad) < 9 else "not a number"
    )
    for metric in ("precision", "recall"):
        with pytest.raises(InputError, match=said):
            streameval.cut(study[0], f"{metric}:{bad}")


def test_bad_cuts_are_refused_in_one_line(study, one_ranking, tmp_path, capsys):
    path, _ = study
    folder, labels, _ = one_ranking

    def refused(*arguments, where=path):
        capsys.readouterr()
        assert run(["cut", str(where), *(str(a) for a in arguments)]) == 2
        message = capsys.readouterr().err
        assert len(message.strip().splitlines()) == 1
        return message

    assert f"cut needs CUTOFF. Hint: streameval cut {path} CUTOFF" in refused()
    assert "writes a folder of Parquet files, and no such file. Hint: --out best" in refused(5, "--out", "best.csv")
    assert "this takes one cutoff" in refused("precision:0.9, 3")
    assert "a cutoff is a number, 1%, score:0.7, precision:0.9 or recall:0.5 (at column 1)" in refused("p.9")
    assert "rank 0 is below 1" in refused(0)
    assert "outside 1..10,000" in refused(10_001)
    assert "below 0" in refused(5, "--misses=-1")
    assert "items are proven to have" in refused("recall:1", "--misses", 10)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("mine")
    assert "is not empty" in refused(5, "--out", tmp_path / "full")
    assert "is a file" in refused(5, "--out", tmp_path / "full" / "x")
    assert "lies inside the ranking" in refused(5, "--out", folder / "cut")
    assert (tmp_path / "full" / "x").read_text() == "mine"
    assert "no such folder" in refused(5, where=tmp_path / "nowhere")
    late = pa.table({"rank": [1, 2, 3, 4], "label": [0, 1, 1, 1]})
    streameval.plan(str(folder), tmp_path / "few", method="paula(epsilon=0.1, window=20)", seed=0)
    with_tables(tmp_path / "few", late)
    assert "the best that is proven is 0.75, at rank 4" in refused("precision:0.9", where=tmp_path / "few")
    streameval.plan(str(folder), tmp_path / "paula", method="paula(epsilon=0.1, window=20)", seed=0)
    assert "no results yet" in refused(5, where=tmp_path / "paula")
    with_tables(tmp_path / "paula", labels)
    assert "prove nothing" in refused(5, where=tmp_path / "paula")
    added = folder / "z.parquet"
    pq.write_table(pa.table({"item": ["x"], "conf": [2.0], "label": pa.array([1], pa.int8())}), added)
    try:
        assert "fingerprint" in refused(5, "--out", tmp_path / "out")
    finally:
        added.unlink()
    assert not (tmp_path / "out").exists()


def test_what_ends_early_leaves_nothing(study, tmp_path, monkeypatch):
    path, _ = study
    found = streameval.cut(path, 5_000)
    before = sorted(os.listdir(tmp_path))

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found.write(tmp_path / "out", progress=interrupt)
    monkeypatch.setattr(pq.ParquetWriter, "write_table", lambda *a, **k: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OutsideError):
        found.write(tmp_path / "out", order="rank")
    assert sorted(os.listdir(tmp_path)) == before
    with pytest.raises(InputError, match=r"cutoff is 2\.5, not text, a whole number or Cutoff"):
        streameval.cut(path, 2.5)
    with pytest.raises(InputError, match="'storage' or 'rank'"):
        found.write(tmp_path / "out", order="random")


def test_a_list_in_memory_is_cut_where_it_is_given(tmp_path):
    rng = np.random.default_rng(9)
    score = rng.random(3_000)
    table = pa.table({"v": np.arange(3_000), "s": score})
    path = tmp_path / "study"
    streameval.plan(table, path, method="loguniform", budget=800, options=RankingOptions(score="s"), seed=0)
    chosen = streameval.select(path, ranking=table).table
    with_tables(path, pa.table({"rank": chosen["rank"], "label": [1] * chosen.num_rows}))
    assert streameval.cut(path, 1_234).score is None
    with pytest.raises(StudyError, match="in memory"):
        streameval.cut(path, 1_234).write(tmp_path / "out")
    with pytest.raises(StudyError, match="fingerprint"):
        streameval.cut(path, 1_234, ranking=table.slice(1)).write(tmp_path / "out")
    found = streameval.cut(path, 1_234, ranking=table)
    assert found.score == np.sort(score)[-1_234]
    assert found.write(tmp_path / "out").rows == 1_234
    assert pq.read_table(tmp_path / "out")["v"].to_pylist() == np.flatnonzero(score >= found.score).tolist()


def test_a_cut_is_found_and_written_in_one_call_as_in_two(study, tmp_path):
    path, _ = study
    at_once = streameval.cut(path, 1_000, out=tmp_path / "once", order="rank")
    written = streameval.cut(path, 1_000).write(tmp_path / "twice", order="rank")
    assert (at_once.written.rows, at_once.written.bytes) == (1_000, written.bytes)
    assert pq.read_table(tmp_path / "once").equals(pq.read_table(tmp_path / "twice"))
    assert streameval.cut(path, 1_000).written is None


def test_parts_are_cut_and_read_back_as_one(study, tmp_path, monkeypatch):
    path, _ = study
    monkeypatch.setattr("streameval.stores.publish._PART_BYTES", 1_000)
    monkeypatch.setattr("streameval.stores.publish._GROUP_ROWS", 100)
    monkeypatch.setattr("streameval.rankings.top_items._MOST_ROWS", 130)
    made = streameval.cut(path, 1_000).write(tmp_path / "out")
    assert len(made.files) > 3
    assert made.files == tuple(f"part-{i:05d}.parquet" for i in range(len(made.files)))
    assert open_ranking(str(tmp_path / "out")).n_items == 1_000


@pytest.mark.slow
def test_real_lists_are_cut_as_a_full_sort_would(real, tmp_path):
    path = real("clef_tar2017_amc")
    ranking = open_ranking(str(path), RankingOptions(score="score"))
    n = 40_000
    wanted = ranking.fetch(np.arange(1, n + 1), ["item_id"]).table["item_id"]
    assert pieces(ranking, n, "rank", tmp_path, 5e6)["item_id"].equals(wanted)
    assert sorted(pieces(ranking, n, "storage", tmp_path)["item_id"].to_pylist()) == sorted(wanted.to_pylist())


def test_a_query_applies_a_threshold_that_is_proven_to_another_list(catalogue, tmp_path):
    study, other, kept = (
        str(catalogue.path("curve-evaluated")),
        catalogue.lists / "stored.parquet",
        tmp_path / "k.parquet",
    )
    proven = streameval.cut(study, "precision:0.6").score
    query = f"FROM next WHERE score >= {proven}"
    assert run(["sql", study, query, "--with", f"next={other}", "--out", str(kept)]) == 0
    score = pq.read_table(other).column("score").to_numpy()
    assert np.array_equal(pq.read_table(kept).column("score").to_numpy(), score[score >= proven])
