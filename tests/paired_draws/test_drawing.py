"""Two rankings, drawn from by scans, against a twin that sorts; and what has to be refused."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from spark_cluster import Cluster
from suite_cases import cases, examples

from streameval.errors import InputError
from streameval.kernels.draw import sample_hashes
from streameval.order.scan import key_hashes
from streameval.paired_draws import two_tables
from streameval.paired_draws.one_table import Pairing, draw_one_table
from streameval.paired_draws.pair import COUNTS, CutoffCounts, CutoffRates, Pair, PairedDraw, ScoreCutoffs
from streameval.paired_draws.tops import TopScan, check_sizes, tops_of
from streameval.paired_draws.two_tables import draw_two_tables
from streameval.progress import silent
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.scans.checkpoints import Scans
from streameval.scans.jobs import SUM, merge, partial_of
from streameval.spill import store

CUTOFFS = np.array([1, 7, 60, 500])
RATES = np.array([1.0, 0.8, 0.5, 0.3])
SHARED_COLUMNS = ("key", "first_a", "first_b", "u", "predicted")


def items(n=900, seed=0, key="id"):
    """Items with ties in both scores, keys that are numbers or texts, and what a judge says."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(n) * 3
    a = rng.integers(0, 40, n)
    keys = {"id": pa.array(ids), "name": pa.array([f"item {i}" for i in ids])}
    return pa.table({**keys, "a": a / 8, "b": (a + rng.integers(-4, 5, n)) / 8, "judge": rng.random(n)}).select(
        [key, "a", "b", "judge"]
    )


def pair_of(a, b=None, key=("id",), judge="judge", **options):
    """Rankings of one table by a and by b, or of two."""
    return Pair(
        open_ranking(a, RankingOptions(score="a", **options)),
        open_ranking(a if b is None else b, RankingOptions(score="b", **options)),
        key,
        judge,
    )


def ranks(table, score, key):
    """Ranks of the rows: by score, then the tie hash of the key."""
    ties = key_hashes(table.select(list(key)))
    order = np.lexsort([ties, -table.column(score).to_numpy()])
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(1, order.size + 1)
    return rank


def twin(table, cutoffs, rates, seed, key=("id",)):
    """Cells and sample by sorting, with whole numbers of any size where hashes are compared."""
    first = [np.searchsorted(cutoffs, ranks(table, score, key)) for score in ("a", "b")]
    m = len(cutoffs)
    says = (table.column("judge").to_numpy() >= 0.5).astype(int)
    cells = np.zeros((2, m + 1, m + 1), np.int64)
    rows = []
    u = sample_hashes(key_hashes(table.select(list(key))), np.uint64(seed)).tolist()
    for i, (a, b) in enumerate(zip(*first, strict=True)):
        cells[says[i], a, b] += (a, b) != (m, m)
        rate = max((Fraction(rates[j]) for j in range(min(a, b), max(a, b))), default=Fraction(0))
        if u[i] < rate * 2**64:
            rows.append((u[i], i, a, b))
    rows.sort()
    return cells, [(table.column(key[0])[i].as_py(), a, b, draw, says[i]) for draw, i, a, b in rows]


def sampled(drawn):
    return list(zip(*(drawn.table.column(name).to_pylist() for name in SHARED_COLUMNS), strict=True))


def counts(drawn):
    return [getattr(drawn, name).tolist() for name in COUNTS]


def differences(cells):
    """Gains and losses of each cutoff, from cells."""
    m = cells.shape[1] - 1
    return (np.array([cells[:, j + 1 :, : j + 1].sum() for j in range(m)]),
            np.array([cells[:, : j + 1, j + 1 :].sum() for j in range(m)]))  # fmt: skip


@settings(max_examples=examples(4, 20))
@given(seed=st.integers(0, 2**32), n=st.integers(1, 700), key=st.sampled_from(["id", "name"]))
def test_one_table_and_two_find_what_sorting_finds(seed, n, key):
    table = items(n, seed, key)
    cells, sample = twin(table, CUTOFFS, RATES, seed, (key,))
    other = table.take(pa.array(np.random.default_rng(seed).permutation(n)))
    draw = PairedDraw(CUTOFFS, RATES, seed)
    one, two = draw_one_table(pair_of(table, key=(key,)), draw), draw_two_tables(pair_of(table, other, (key,)), draw)
    for drawn in (one, two):
        assert sampled(drawn) == sample
        gains, losses = differences(cells)
        assert drawn.gains.tolist() == gains.tolist()
        assert drawn.losses.tolist() == losses.tolist()
        assert drawn.gains_predicted.tolist() == differences(cells[1:])[0].tolist()
        assert drawn.losses_predicted.tolist() == differences(cells[1:])[1].tolist()
        assert drawn.size_a.tolist() == np.minimum(CUTOFFS, n).tolist() == drawn.size_b.tolist()
    ids = np.array(table.column(key).to_pylist())
    assert ids[one.table.column("position_a").to_numpy()].tolist() == one.table.column("key").to_pylist()
    moved = np.array(other.column(key).to_pylist())
    for where, held in (("position_a", ids), ("position_b", moved)):
        known = two.table.filter(two.table.column(where).is_valid())
        assert held[known.column(where).to_numpy()].tolist() == known.column("key").to_pylist()
    earlier = pc.if_else(
        pc.less(two.table["first_a"], two.table["first_b"]), two.table["position_a"], two.table["position_b"]
    )
    assert earlier.null_count == 0


def test_cutoffs_at_scores_hold_all_items_of_a_score():
    table = items()
    a, b = (table.column(name).to_numpy() for name in ("a", "b"))
    draw = PairedDraw(ScoreCutoffs([4.5, 2], [4.75, 2.25]), np.ones(2), 1)
    for drawn in (draw_one_table(pair_of(table), draw), draw_two_tables(pair_of(table, table), draw)):
        assert drawn.size_a.tolist() == [np.sum(a >= 4.5), np.sum(a >= 2)]
        assert drawn.gains.tolist() == [np.sum((b >= 4.75) & (a < 4.5)), np.sum((b >= 2.25) & (a < 2))]
        assert drawn.losses.tolist() == [np.sum((b < 4.75) & (a >= 4.5)), np.sum((b < 2.25) & (a >= 2))]


def test_a_stored_order_against_a_score():
    table = items()
    stored = table.take(pa.array(np.argsort(ranks(table, "a", ("id",)))))
    draw = PairedDraw(CUTOFFS, RATES, 4)
    by_score = draw_one_table(pair_of(stored), draw)
    pair = Pair(open_ranking(stored), open_ranking(stored, RankingOptions(score="b")), ("id",), "judge")
    assert draw_one_table(pair, draw).table.equals(by_score.table)
    assert draw_two_tables(pair, draw).table.select(SHARED_COLUMNS).equals(by_score.table.select(SHARED_COLUMNS))


@pytest.mark.parametrize("form", [draw_one_table, draw_two_tables])
def test_ties_alone_are_no_change(form):
    """Half of all items tie at every cutoff, in the same groups in both orders."""
    table = pa.table({"id": np.arange(1000), "a": np.repeat([2.0, 1.0], 500), "b": np.repeat([0.9, 0.1], 500)})
    drawn = form(pair_of(table, table, judge=None), PairedDraw(np.array([10, 250, 700]), np.ones(3), 0))
    assert not drawn.gains.any()
    assert not drawn.losses.any()
    assert drawn.table.num_rows == 0


def test_every_item_is_drawn_as_often_as_its_rate_says():
    table = items(100).drop_columns("judge")
    runs, counts = examples(20_000, 100_000), np.zeros(100)
    first = [np.searchsorted(CUTOFFS, ranks(table, score, ("id",))) for score in ("a", "b")]
    hashes = key_hashes(table.select(["id"]))
    rates = CutoffRates(np.array([0.9, 0.6, 0.4, 0.2]))
    several = [np.tile(one, 1_000) for one in first]
    for begin in range(0, runs, 1_000):
        u = [sample_hashes(hashes, np.uint64(seed)) for seed in range(begin, begin + 1_000)]
        counts += rates.drawn(np.concatenate(u), *several).reshape(1_000, -1).sum(axis=0)
    rate = np.array([max(rates.rate[min(a, b) : max(a, b)], default=0) for a, b in zip(*first, strict=True)])
    assert not counts[rate == 0].any()
    drawn = (rate > 0) & (rate < 1)
    statistic = np.sum((counts[drawn] - runs * rate[drawn]) ** 2 / (runs * rate[drawn] * (1 - rate[drawn])))
    assert chi2.cdf(statistic, drawn.sum()) < 0.9999
    assert chi2.sf(statistic, drawn.sum()) < 0.9999


@settings(max_examples=examples(12, 30))
@given(st.lists(st.sampled_from([0.0, 2.0**-64, 0.3, 1 - 2.0**-53, 1.0]), min_size=1, max_size=40), st.data())
def test_rates_are_compared_in_whole_numbers(rates, data):
    m = len(rates)
    pairs = data.draw(st.lists(st.tuples(st.integers(0, m), st.integers(0, m)), min_size=1, max_size=20))
    a, b = np.array(pairs).T
    largest = [max((Fraction(one) for one in rates[min(p) : max(p)]), default=Fraction(0)) for p in pairs]
    for u in (0, 1, 2**63, 2**64 - 2049, 2**64 - 1):
        hashes = np.full(len(pairs), u, np.uint64)
        drawn = CutoffRates(np.array(rates)).drawn(hashes, a, b)
        assert drawn.tolist() == [u < one * 2**64 for one in largest]
        inside = np.minimum(a, b) < m
        kept = CutoffRates(np.array(rates)).kept(hashes[inside], np.minimum(a, b)[inside])
        assert not np.any(drawn[inside] & ~kept)


@pytest.fixture
def files(tmp_path):
    """One table, and its rows in another order, of texts as keys, in row groups."""
    table = items(1_200, 2, "name")
    other = table.take(pa.array(np.random.default_rng(1).permutation(1_200)))
    for name, one in (("a", table), ("b", other)):
        pq.write_table(one, tmp_path / f"{name}.parquet", row_group_size=250)
    return str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")


DRAW = PairedDraw(CUTOFFS, RATES, 9)


def test_shards_and_threads_find_the_same_bytes(files):
    whole = draw_one_table(pair_of(files[0], key=("name",), threads=1), DRAW)
    assert draw_one_table(pair_of(files[0], key=("name",), threads=7), DRAW).table.equals(whole.table)
    pair = pair_of(files[0], key=("name",)).checked()
    tops = tuple(tops_of(one, DRAW, i, Scans(), silent) for i, one in enumerate((pair.a, pair.b)))
    scan = TopScan(pair.a.order.units, tops, pair.key_types(), "judge", 1)
    task = Pairing(CutoffRates(RATES), DRAW.seed, CutoffCounts(4, 2))
    for shards in (1, 2, 4):
        shares = [range(i, len(scan.units), shards) for i in range(shards)]
        found = merge(partial_of(task, scan, share) for share in reversed(shares))
        kept = {name: values for name, values in found.columns.items() if name != SUM}
        assert task.table(kept, scan.key, "here").equals(whole.table)
        assert counts(task.tally.drawn(found.columns[SUM], whole.table)) == counts(whole)


@pytest.mark.parametrize("bits", cases([0, 3], 3))
def test_two_tables_find_the_same_bytes_with_any_threads_and_parts(files, bits, monkeypatch):
    whole = draw_two_tables(pair_of(*files, key=("name",), threads=1), DRAW)
    monkeypatch.setattr(two_tables, "part_bits", lambda rows: bits)
    monkeypatch.setattr(two_tables, "Spill", lambda file, memory: store.Spill(file, 100))
    again = draw_two_tables(pair_of(*files, key=("name",), threads=7), DRAW)
    assert again.table.equals(whole.table)
    assert counts(again) == counts(whole)


def test_a_cluster_finds_the_same_bytes(files, monkeypatch):
    monkeypatch.setattr("streameval.scans.workers._LEAST_ROWS", 400)
    monkeypatch.setattr(two_tables, "_MOST_ROWS", 500)
    for form, key in ((draw_one_table, files[:1]), (draw_two_tables, files)):
        here = form(pair_of(*key, key=("name",)), DRAW)
        there = form(pair_of(*key, key=("name",)), DRAW, Scans(engine=Cluster(3)))
        assert there.table.equals(here.table)
        assert counts(there) == counts(here)


def test_a_scan_that_was_interrupted_goes_on(files, tmp_path, monkeypatch):
    whole = draw_one_table(pair_of(files[0], key=("name",)), DRAW)
    folder = tmp_path / "scan"
    folder.mkdir()
    read = Pairing.begin

    def failing(task, scan):
        builder = read(task, scan)
        add = builder.add
        builder.add = lambda number: add(number) if number < 3 else (_ for _ in ()).throw(KeyboardInterrupt)
        return builder

    with monkeypatch.context() as patch:
        patch.setattr(Pairing, "begin", failing)
        with pytest.raises(KeyboardInterrupt):
            draw_one_table(pair_of(files[0], key=("name",), threads=1), DRAW, Scans(folder))
    seen = []

    def counting(task, scan):
        builder = read(task, scan)
        add = builder.add
        builder.add = lambda number: (seen.append(number), add(number))
        return builder

    monkeypatch.setattr(Pairing, "begin", counting)
    again = draw_one_table(pair_of(files[0], key=("name",), threads=1), DRAW, Scans(folder))
    assert seen == list(range(3, 5))
    assert again.table.equals(whole.table)
    assert counts(again) == counts(whole)


def test_rows_that_changed_between_two_scans_are_refused():
    """A top that is counted with another size than its rank says."""
    pair = pair_of(items())
    drawn = draw_one_table(pair, DRAW)
    check_sizes(DRAW, (pair.a, pair.b), drawn)
    with pytest.raises(InputError, match="changed between two scans"):
        check_sizes(DRAW, (pair.a, pair.b), replace(drawn, size_b=drawn.size_b - 1))


def test_composite_keys_and_widths_of_numbers(monkeypatch):
    table = items()
    parted = table.append_column("day", pa.array([f"d{i % 3}" for i in range(900)]).dictionary_encode())
    narrow = parted.set_column(0, "id", table.column("id").cast(pa.int32()))
    draw = PairedDraw(CUTOFFS, RATES, 3)
    one = draw_one_table(pair_of(parted, key=("day", "id")), draw)
    two = draw_two_tables(pair_of(parted, narrow, ("day", "id")), draw)
    assert one.table.num_rows
    assert one.table.select(SHARED_COLUMNS).equals(two.table.select(SHARED_COLUMNS))
    assert set(one.table.column("key")[0].as_py()) == {"day", "id"}


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_a_list_whose_keys_became_floats_is_drawn_from_as_one_of_integers(kind):
    a, b = items(seed=1), items(seed=1).take(pa.array(np.random.default_rng(2).permutation(900)))
    floats = [one.set_column(0, "id", one.column("id").cast(kind)) for one in (a, b)]
    draw = PairedDraw(CUTOFFS, RATES, 5)
    of_integers = draw_two_tables(pair_of(a, b), draw)
    for one, other in ((a, floats[1]), (floats[0], b)):
        drawn = draw_two_tables(pair_of(one, other), draw)
        assert counts(drawn) == counts(of_integers)
        assert drawn.table.equals(of_integers.table)
    of_floats = draw_two_tables(pair_of(*floats), draw)  # by the hash of floats, as ever
    assert of_floats.table.column("key").type == pa.float64()
    assert of_floats.table.column("u").to_pylist() != of_integers.table.column("u").to_pylist()


def replaced(table, column, row, value):
    values = table.column(column).to_pylist()
    values[row] = value
    return table.set_column(table.column_names.index(column), column, pa.array(values, table.schema.field(column).type))


FULL = PairedDraw(np.array([10, 900]), np.ones(2), 1)


def refusals():
    table = items()
    twice = replaced(table, "id", 3, table.column("id")[5].as_py())
    null = replaced(table, "id", 3, None)
    other = table.set_column(0, "id", pa.array(np.arange(900) + 10**6))
    text = table.set_column(0, "id", table.column("id").cast(pa.string()))
    below = {"id": [float("nan")], "a": [-9.0], "b": [-9.0], "judge": [0.0]}  # in no top
    apart = pa.concat_tables([other.set_column(0, "id", other.column("id").cast(pa.float64())), pa.table(below)])
    halves = table.set_column(0, "id", pa.array(np.arange(900) + 0.5))
    says = replaced(table, "judge", 3, 1 - round(table.column("judge")[3].as_py()))
    nan = replaced(table, "b", 3, float("nan"))
    return {
        "no such column": (table, table, {"key": ("ids",)}, "there is no column 'ids'. Hint: "),
        "no key": (table, table, {"key": ()}, "no column is named that tells items apart. Hint: "),
        "key is null": (table, null, {}, "key column 'id' is null in 1 of the rows that are in a top. Hint: "),
        "key twice": (twice, twice, {}, f"1 of the rows read have the key of another (first: '{twice['id'][3]}')"),
        "types differ": (
            table,
            text,
            {},
            "the first id is 1731 (string) in the table, id is 1731 (int64) in the table",
        ),
        "floats are no integers": (table, halves, {}, "key 'id' 29.5 is a float that is no exact whole number"),
        "floats share nothing": (table, apart, {}, "(the first: id is "),
        "nothing shared": (table, other, {}, "no key 'id' of the table is in the table (the first: id is "),
        "judge contradicts": (table, says, {}, f"of 1 items (first: '{table['id'][3]}'). Hint: a judge says one"),
        "judge is text": (table, table, {"judge": "words"}, "judge column 'words' is string"),
        "NaN": (table, nan, {}, "1 item has no b (null or NaN), first: "),
    }


@pytest.mark.parametrize("name", refusals())
def test_what_cannot_be_compared_is_refused_in_one_line(name):
    a, b, options, said = refusals()[name]
    if options.get("judge") == "words":
        a = b = a.append_column("words", pa.array(["x"] * 900))
    with pytest.raises(InputError) as refused:
        draw_two_tables(pair_of(a, b, **options), FULL)
    assert said in refused.value.line
    assert "\n" not in refused.value.line
    if b.column("id").equals(a.column("id")) and name not in ("judge contradicts", "NaN"):
        with pytest.raises(InputError):
            draw_one_table(pair_of(a, **options), FULL)


def test_one_table_refuses_keys_that_are_null_or_stand_twice():
    table = items()
    for value, said in ((None, "is null in 1"), (table.column("id")[5].as_py(), "have the key of another")):
        with pytest.raises(InputError, match=said):
            draw_one_table(pair_of(replaced(table, "id", 3, value)), FULL)
    with pytest.raises(InputError, match="are not the same rows"):
        draw_one_table(pair_of(table, items(seed=1)), FULL)


@pytest.mark.parametrize("key", [("id",), ("id", "day")])
def test_the_join_names_the_first_keys_that_stand_twice_though_none_is_drawn(key):
    once = items().append_column("day", pa.array(np.arange(items().num_rows) % 7.0))
    table = pa.concat_tables([once.slice(0, 5), once])
    with pytest.raises(InputError) as refused:
        draw_two_tables(pair_of(once, table, key), PairedDraw(np.array([905]), np.zeros(1), 1))
    named = [", ".join(str(table.column(name)[row]) for name in key) for row in range(3)]
    quoted = ", ".join(f"'{one}'" for one in named)
    assert f"5 of the rows read have the key of another (first: {quoted})" in refused.value.line


def test_tops_that_share_nothing_are_compared_where_the_tables_do():
    ids = np.arange(100)
    table = pa.table({"id": ids, "a": ids.astype(float), "b": -ids.astype(float)})
    drawn = draw_two_tables(pair_of(table, table, judge=None), PairedDraw(np.array([5]), np.ones(1), 0))
    assert (drawn.gains[0], drawn.losses[0], drawn.table.num_rows) == (5, 5, 10)


KILLED = """
import os, signal, sys
from streameval.spill import store
from streameval.paired_draws import two_tables
sys.path.insert(0, sys.argv[3])
from test_drawing import DRAW, pair_of
two_tables.Spill = lambda file, memory: store.Spill(file, 100)
two_tables.join = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
two_tables.draw_two_tables(pair_of(*sys.argv[1:3], key=("name",)), DRAW)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_what_a_killed_run_left_is_removed_by_the_next(files, tmp_path, monkeypatch):
    room = tmp_path / "room"
    room.mkdir()
    here = os.path.dirname(__file__)
    paths = os.pathsep.join([os.path.dirname(here), *sys.path])
    environment = {**os.environ, "TMPDIR": str(room), "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", KILLED, *files, here], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert [path.stat().st_size > 0 for path in room.glob(".streameval-work.*/keys")] == [True]
    monkeypatch.setattr("tempfile.tempdir", str(room))
    draw_two_tables(pair_of(*files, key=("name",)), DRAW)
    assert list(room.iterdir()) == []
