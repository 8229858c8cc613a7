"""Rankings by score in any storage order: the same ranks as a full sort, whatever cuts the list into pieces."""

import itertools
from collections import Counter
from decimal import Decimal
from threading import get_ident

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_lists import SCORES, scan_of, sorted_positions
from suite_cases import LONG, cases, examples, slow

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.kernels.order import position_hashes
from streameval.order.count_at_score import count_at_score
from streameval.order.locate import locate
from streameval.order.scan import key_hashes
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.rows.row_groups import RowGroup


@pytest.mark.parametrize("name", SCORES)
@settings(max_examples=examples(2, 10), deadline=None)
@given(
    n=st.integers(1, examples(1500, 3000)),
    seed=st.integers(0, 2**32),
    pieces=st.integers(1, 7),
    ascending=st.booleans(),
)
def test_ranks_are_those_of_a_full_sort(name, n, seed, pieces, ascending):
    """With the least memory that works, so that bins are split by key, by tie hash and by position."""
    rng = np.random.default_rng(seed)
    table = pa.table({"s": SCORES[name](n, rng)})
    wanted = np.sort(rng.choice(np.arange(1, n + 1), rng.integers(1, min(n, 60) + 1), replace=False))
    expected = np.array(sorted_positions(table, ascending=ascending))[wanted - 1]
    held_by = Counter(table.column("s").to_pylist())
    tied = [held_by[score] > 1 for score in table.column("s").take(pa.array(expected)).to_pylist()]
    memories = [1e9, 4 * 4096 * 16 * 3 + 160 * wanted.size]
    for memory, threads in itertools.product(memories, (1, 2)):
        found = locate(scan_of(table, pieces, ascending=ascending, threads=threads), wanted, memory + 0.0)
        assert found.position.tolist() == expected.tolist()
        assert found.tied.tolist() == tied


@settings(max_examples=examples(4, 30), deadline=None)
@given(n=st.integers(1, 600), seed=st.integers(0, 2**32), kinds=st.sampled_from(["text", "number", "both", "twins"]))
def test_keys_survive_reordering(n, seed, kinds):
    rng = np.random.default_rng(seed)
    number = rng.permutation(n) if kinds != "twins" else np.zeros(n, np.int64)
    table = pa.table({"s": rng.integers(0, 3, n) / 2, "number": number, "text": [f"item {i % 97}" for i in number]})
    key = {"text": ("text", "number"), "number": ("number",), "both": ("number", "text"), "twins": ("number",)}[kinds]
    wanted = np.unique(rng.integers(1, n + 1, 40))
    at = locate(scan_of(table, 3, key), wanted, 1e9).position
    assert at.tolist() == np.array(sorted_positions(table, key))[wanted - 1].tolist()
    tight = locate(scan_of(table, 2, key), wanted, 4 * 4096 * 16 * 3 + 160.0 * wanted.size)
    assert tight.position.tolist() == at.tolist()
    if kinds != "twins":
        shuffled = table.take(pa.array(rng.permutation(n)))
        again = locate(scan_of(shuffled, 4, key), wanted, 1e9).position
        assert shuffled.column("number").take(pa.array(again)).to_pylist() == (
            table.column("number").take(pa.array(at)).to_pylist()
        )
    else:
        assert n < 3 or locate(scan_of(table, 3, key), np.arange(1, n + 1), 1e9).equal_keys > 0


DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**8), max_value=10**8, places=9)


@settings(max_examples=examples(15, 40), deadline=None)
@given(values=st.lists(DECIMALS | st.none(), min_size=1, max_size=80), ascending=st.booleans())
def test_decimals_are_exact_and_nulls_come_last(values, ascending):
    values = values + [value + Decimal("0.000000001") for value in values if value is not None]
    table = pa.table({"s": pa.array(values, pa.decimal128(18, 9))})
    wanted = np.arange(1, table.num_rows + 1)
    found = locate(scan_of(table, 2, ascending=ascending), wanted, 1e9, "last")
    assert found.position.tolist() == sorted_positions(table, ascending=ascending)
    assert found.missing == values.count(None)


@pytest.mark.parametrize("kind", [pa.decimal128(19, 0), pa.decimal128(38, 2), pa.decimal256(60, 2)], ids=str)
def test_decimals_beyond_64_bits_are_refused_with_what_to_cast_them_to(tmp_path, capsys, kind):
    table = pa.table({"s": pa.array([Decimal(2), Decimal(1)], kind), "id": [1, 2]})
    pq.write_table(table, tmp_path / "list.parquet")
    assert run(["plan", str(tmp_path / "list.parquet"), "--study", str(tmp_path / "study"), "--score", "s"]) == 2
    assert capsys.readouterr().err == (
        "streameval: score column 's' holds decimals of more than 18 digits. "
        "Hint: cast it to DOUBLE, or to a decimal of at most 18 digits\n"
    )
    assert not (tmp_path / "study").exists()
    narrow = table.set_column(0, "s", table.column("s").cast(pa.decimal128(18, 2)))
    assert open_ranking(narrow, RankingOptions(score="s")).fetch(np.array([1]), ["id"]).table["id"].to_pylist() == [1]


def test_tie_hashes_are_golden():
    mask = 2**64 - 1

    def mix(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    seed = int.from_bytes(b"tiehash1", "big")
    assert position_hashes(np.arange(3)).tolist() == [mix(seed ^ i) for i in range(3)]
    assert position_hashes(np.arange(2)).tolist() == [5303468224682887235, 4612200091326365830]
    text = "häuser und Bäume"
    raw = text.encode()
    state = mix(mix(seed ^ ((-5) & mask)) ^ int.from_bytes(np.float64(0.5).tobytes(), "little"))
    state = mix(state ^ len(raw))
    for i in range(0, len(raw), 8):
        state = mix(state ^ int.from_bytes(raw[i : i + 8].ljust(8, b"\0"), "little"))
    table = pa.table({"a": pa.array([-5], pa.int32()), "b": pa.array([0.5], pa.float32()), "c": [text]})
    assert key_hashes(table).tolist() == [state]
    assert key_hashes(pa.table({"a": pa.array([None], pa.int64())})).tolist() == [mix(seed ^ (2**63 + 1))]
    assert key_hashes(pa.table({"a": [-0.0]})).tolist() == key_hashes(pa.table({"a": [0.0]})).tolist()


@pytest.fixture
def shuffled(tmp_path):
    """6,000 rows in shuffled order with ties, as one file and as seven, and their table."""
    rng = np.random.default_rng(11)
    n = 6_000
    table = pa.table(
        {"id": rng.permutation(n), "conf": rng.integers(0, 270, n) / 300, "text": [f"text {i}" for i in range(n)]}
    )
    pq.write_table(table, tmp_path / "whole.parquet", row_group_size=900)
    (tmp_path / "parts").mkdir()
    for i, rows in enumerate(np.array_split(np.arange(n), 7)):
        part = table.slice(int(rows[0]), rows.size)
        pq.write_table(part, tmp_path / "parts" / f"p{i}.parquet", row_group_size=270, write_page_index=i % 2 == 0)
    return tmp_path, table


WAYS = list(itertools.product(("whole.parquet", "parts"), (1, 8), (0.05, 2.0)))


@pytest.mark.parametrize("way", cases(WAYS, *(WAYS[at] for at in (1, 2, 4, 7))))  # each with each other once
def test_files_threads_and_memory_change_nothing(way, shuffled):
    source, threads, memory = way
    folder, table = shuffled
    by_position = sorted_positions(table.rename_columns(["id", "s", "text"]))
    by_key = sorted_positions(table.rename_columns(["id", "s", "text"]), ("id",))
    ranks = np.unique(np.random.default_rng(2).integers(1, 6_001, 200))
    for key, expected in (((), by_position), (("id",), by_key)):
        options = RankingOptions(score="conf", key=key, threads=threads, memory=memory)
        ranking = open_ranking(str(folder / source), options)
        found = ranking.fetch(ranks, ["text", "id"], cutoffs=np.array([1, 7, 6_000]))
        rows = pa.array(np.array(expected)[ranks - 1])
        assert found.table.column("text").to_pylist() == table.column("text").take(rows).to_pylist()
        assert found.table.column("score").to_pylist() == table.column("conf").take(rows).to_pylist()
        ends = pa.array(np.array(expected)[[0, 6, 5_999]])
        assert found.thresholds.column("score").to_pylist() == table.column("conf").take(ends).to_pylist()
        assert found.tied_ranks == ranks.size


def test_the_journey_by_score_of_an_unsorted_list(shuffled, tmp_path):
    folder, table = shuffled
    study = tmp_path / "study"
    options = RankingOptions(score="conf", key=("id",))
    plan = streameval.plan(str(folder / "parts"), study, method="loguniform", options=options, seed=0, budget=300)
    assert plan.ranking["tie_rule"].startswith("score, then the 64-bit tie hash of id")
    selected = streameval.select(study).table
    labels = pa.table({"rank": selected.column("rank"), "label": pa.array([1] * selected.num_rows)})
    curve = streameval.evaluate(study, labels=labels).curve.table
    assert curve.column("score").null_count == 0
    scores = curve.column("score").to_numpy()
    assert np.all(np.diff(scores) <= 0)
    assert scores[-1] == min(table.column("conf").to_pylist())


def test_real_lists_come_out_as_a_full_sort(real):
    path = real("clef_tar2017_amc")
    table = pq.read_table(path, columns=["item_id", "score"])
    order = np.lexsort([position_hashes(np.arange(table.num_rows)), -table.column("score").to_numpy()])
    ranks = np.arange(1, table.num_rows + 1, 37)
    found = open_ranking(str(path), RankingOptions(score="score")).fetch(ranks, ["item_id"])
    expected = table.column("item_id").take(pa.array(order[ranks - 1]))
    assert found.table.column("item_id").to_pylist() == expected.to_pylist()
    everything = open_ranking(str(path), RankingOptions(score="score")).fetch(np.arange(1, 117_563), [])
    assert everything.tied_ranks == 117_553


def test_bad_scores_are_refused_with_count_and_places(tmp_path):
    ranks = np.array([1])

    def fetch(*columns, **options):
        for i, column in enumerate(columns):
            pq.write_table(pa.table({"s": column}), tmp_path / f"{i}.parquet", row_group_size=2)
        return open_ranking(str(tmp_path), RankingOptions(score="s", **options)).fetch(ranks, ["s"])

    with pytest.raises(InputError, match=r"2 items have no s .*0.parquet: row group 1, row 0 "):
        fetch(pa.array([1.0, 2.0, None]), pa.array([1.0, 2.0, np.nan]))
    assert fetch(pa.array([None, 2.0]), pa.array([3.0, np.nan]), nan="last").table.column("score").to_pylist() == [3.0]
    with pytest.raises(InputError, match="not a number or a date"):
        fetch(pa.array(["a"]), pa.array(["b"]))
    with pytest.raises(InputError, match="but double in"):
        fetch(pa.array([1.0]), pa.array([Decimal(1)]))
    with pytest.raises(InputError, match=r"1.parquet: column 's' is double, but float in .*0.parquet"):
        fetch(pa.array([1.5], pa.float32()), pa.array([1.25], pa.float64()))
    with pytest.raises(InputError, match="names and keys are whole numbers, text, UUIDs"):
        open_ranking(
            pq.write_table(pa.table({"s": [1.0], "k": [[1]]}), tmp_path / "0.parquet") or str(tmp_path / "0.parquet"),
            RankingOptions(score="s", key=("k",)),
        )


def test_a_file_that_is_corrupt_or_changes_is_named(shuffled):
    folder, _ = shuffled
    path = folder / "parts" / "p3.parquet"
    whole = path.read_bytes()
    ranking = open_ranking(str(folder / "parts"), RankingOptions(score="conf"))
    path.write_bytes(whole[:100] + bytes(3000) + whole[3100:])
    with pytest.raises(InputError, match=r"p3.parquet"):
        ranking.fetch(np.array([5]), ["id"])
    ranking = open_ranking(str(folder / "parts"), RankingOptions(score="conf"))
    with pytest.raises(InputError, match=r"p3.parquet"):
        ranking.fetch(np.array([5]), ["id"])


def test_a_memory_limit_too_small_says_the_least_that_works(tmp_path):
    """Of one thread, when row groups are large; and with that much it works."""
    n = 2_000_000
    path = str(tmp_path / "large.parquet")
    pq.write_table(pa.table({"s": np.random.default_rng(0).random(n).astype(np.float32)}), path, row_group_size=n)
    with pytest.raises(InputError, match=r"the least that works is memory=0\.\d+$") as refused:
        open_ranking(path, RankingOptions(score="s", memory=0.06, threads=8)).fetch(np.array([1]), ["s"])
    least = float(str(refused.value).rsplit("=", 1)[1])
    ranking = open_ranking(path, RankingOptions(score="s", memory=least, threads=8))
    expected = open_ranking(path, RankingOptions(score="s")).fetch(np.array([1, n]), ["s"]).table
    assert ranking.fetch(np.array([1, n]), ["s"]).table.equals(expected)


def column_of(kind, numbers):
    """Numbers as a column of some type; as milliseconds of whole days where the type wants that."""
    if kind == pa.date64():
        return pa.array(numbers * 86_400_000).cast(kind)
    narrow = pa.types.is_time32(kind) or pa.types.is_date32(kind) or pa.types.is_decimal(kind)
    return pa.array(numbers.astype(np.int32 if narrow else np.int64)).cast(kind)


KINDS = [
    pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")), pa.timestamp("us", "Europe/Vienna"), pa.duration("s"),
    pa.duration("ns"), pa.int8(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(),
    pa.decimal128(15, 3),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "ascending"),
    [
        *((kind, at % 2 == 0) for at, kind in enumerate(KINDS)),
        *slow(*((kind, at % 2 == 1) for at, kind in enumerate(KINDS))),
    ],
    ids=str,
)
def test_every_sortable_type_with_its_scores(tmp_path, kind, ascending):
    """Shuffled and sorted, the latter with most row groups skipped; 0 is a score like any other."""
    shuffled, falling = np.random.default_rng(1).permutation(120), np.arange(120)[::-1]
    both = list(zip((shuffled, falling), ("refuse", "last")[:: -1 if ascending else 1], strict=True))
    for numbers, nan in both if LONG else [both[KINDS.index(kind) // 2 % 2]]:
        path = tmp_path / "r.parquet"
        pq.write_table(pa.table({"s": column_of(kind, numbers), "v": numbers}), path, row_group_size=20)
        ranking = open_ranking(str(path), RankingOptions(score="s", ascending=ascending, nan=nan))
        for ranks in (np.arange(1, 121), np.array([2])):
            found = ranking.fetch(ranks, ["v"]).table
            assert found.column("v").to_pylist() == [r - 1 if ascending else 120 - r for r in ranks.tolist()]
            stored = pq.read_table(path, columns=["s"]).column("s")
            rows = np.argsort(numbers)[found.column("v").to_numpy()]
            assert found.column("score").to_pylist() == stored.take(pa.array(rows)).to_pylist()


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_the_ends_of_the_integers_are_scores_and_not_missing(tmp_path, kind, ascending):
    ends = [int(np.iinfo(kind).min), int(np.iinfo(kind).max)]
    known = [*ends, 5, 7, *ends, 0]
    path = str(tmp_path / "r.parquet")
    for values, nan in ((known, "refuse"), ([None, *known, None], "last")):
        pq.write_table(pa.table({"s": pa.array(values, kind)}), path, row_group_size=4)
        options = RankingOptions(score="s", ascending=ascending, nan=nan)
        found = open_ranking(path, options).fetch(np.arange(1, len(values) + 1), []).table
        gone = [None] * (len(values) - len(known))
        assert found.column("score").to_pylist() == sorted(known, reverse=not ascending) + gone


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_nan_that_comes_last_is_found_in_any_row_group(tmp_path, kind):
    """Statistics of a sorted list tell nothing of the NaN in its middle."""
    score = np.arange(400)[::-1].astype(kind)
    score[[60, 200, 333]] = np.nan
    path = str(tmp_path / "r.parquet")
    table = pa.table({"s": score, "id": np.arange(400)})
    pq.write_table(table, path, row_group_size=50)
    expected = np.array(sorted_positions(table))
    for ranks in (np.arange(1, 401), np.array([1, 200, 397]), np.array([398, 400])):
        found = open_ranking(path, RankingOptions(score="s", nan="last")).fetch(ranks, ["id"]).table
        assert found.column("id").to_pylist() == expected[ranks - 1].tolist()


def test_tables_in_memory_have_the_ranks_of_the_same_rows_in_files(shuffled, tmp_path):
    folder, table = shuffled
    frame = pl.from_arrow(table)
    ranks = np.unique(np.random.default_rng(4).integers(1, 6_001, 200))
    sources = [table, frame, frame.lazy(), pl.scan_parquet(folder / "whole.parquet"), table.to_pandas()]
    for options, tried in (
        (RankingOptions(), sources[:1]),
        (RankingOptions(score="conf"), sources[1:2]),
        (RankingOptions(score="conf", key=("text",)), sources),
    ):
        expected = open_ranking(str(folder / "parts"), options).fetch(ranks, ["id", "text"]).table.to_pylist()
        for source in sources if LONG else tried:
            ranking = open_ranking(source, options)
            assert ranking.n_items == 6_000
            assert ranking.fetch(ranks, ["id", "text"]).table.to_pylist() == expected
    again = open_ranking(pa.concat_tables([table.slice(0, 7), table.slice(7)]), RankingOptions())
    assert again.fingerprint == open_ranking(table, RankingOptions()).fingerprint


def test_a_study_of_a_table_in_memory(shuffled, tmp_path):
    _, table = shuffled
    study = tmp_path / "study"
    streameval.plan(table, study, method="loguniform", budget=300, options=RankingOptions(score="conf"), seed=0)
    with pytest.raises(streameval.StudyError, match="in memory"):
        streameval.select(study)
    with pytest.raises(streameval.StudyError, match="fingerprint"):
        streameval.select(study, ranking=table.slice(1))
    selected = streameval.select(study, ranking=table).table
    assert selected.num_rows <= 300
    assert streameval.evaluate(study, labels=pa.table({"rank": selected["rank"], "label": [1] * selected.num_rows}))


SHAPES = ["sorted", "sorted with ties", "nearly sorted", "blocks", "shuffled"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("statistics", cases([True, ["id"]], True))
def test_row_groups_are_skipped_without_changing_a_rank(tmp_path, shape, statistics):
    rng = np.random.default_rng(8)
    n = 12_000
    score = np.sort(rng.random(n))[::-1]
    if shape == "sorted with ties":
        score = score.round(2)
    elif shape == "nearly sorted":
        score = score + rng.normal(0, 0.002, n)
    elif shape == "blocks":
        score = np.concatenate([score[i : i + 400] for i in rng.permutation(np.arange(0, n, 400))])
    elif shape == "shuffled":
        score = rng.permutation(score)
    path = tmp_path / "list.parquet"
    pq.write_table(pa.table({"id": np.arange(n), "s": score}), path, row_group_size=200, write_statistics=statistics)
    order = np.lexsort([position_hashes(np.arange(n)), -score])
    for ranks in (np.arange(1, 51), np.array([280, 6_000, 11_999]), np.array([n])):
        found = open_ranking(str(path), RankingOptions(score="s")).fetch(ranks, ["id"])
        assert found.table.column("id").to_pylist() == order[ranks - 1].tolist()
        if statistics is True and shape in ("sorted", "nearly sorted", "blocks"):
            assert found.rows_scanned <= 3_200
        else:
            assert found.rows_scanned <= n


def test_no_more_units_are_decoded_at_once_than_the_memory_holds(tmp_path, monkeypatch):
    """25 MB beside the bins are for one row group of 300,000 rows, of the four that have items around the score."""
    path, n = tmp_path / "list.parquet", 1_200_000
    scores = np.random.default_rng(3).integers(0, 100, n).astype(np.int8)
    pq.write_table(pa.table({"s": scores}), path, row_group_size=n // 4)
    readers, plain = set(), RowGroup.read

    def read(self, columns):
        readers.add(get_ident())
        return plain(self, columns)

    monkeypatch.setattr(RowGroup, "read", read)
    order = open_ranking(str(path), RankingOptions(score="s", memory=0.05)).order
    assert count_at_score(order, 50) == np.count_nonzero(scores >= 50)
    assert len(readers) == 1
    pq.write_table(pa.table({"s": scores}), path, row_group_size=n)
    whole = open_ranking(str(path), RankingOptions(score="s", memory=0.05)).order
    with pytest.raises(InputError, match="cannot hold a row group"):
        count_at_score(whole, 50)
