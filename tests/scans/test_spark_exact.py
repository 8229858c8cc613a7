"""Exact evaluation on a cluster: the local engine's files, byte for byte, whatever way a list is read."""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spark_cluster import Cluster
from suite_cases import cases, examples

import streameval
from streameval.counting import block_sums as sums
from streameval.counting import by_score as scored
from streameval.counting import counters as cells
from streameval.counting import scans as here
from streameval.errors import InputError, OutsideError
from streameval.rows.options import RankingOptions
from streameval.scans import workers

FILES = ("curve.parquet", "envelope.parquet", "metrics.parquet", "evaluation.json")
# how scores lie, how they are stored, GB of memory, and how the list is read then
WAYS = {
    "stored": (None, {}, 2.0, "one pass in stored order"),
    "sorted": ("sorted", {}, 2.0, "one pass, as it is stored in score order"),
    "sorted, no statistics": ("sorted", {"write_statistics": False}, 2.0, "ordered in memory"),
    "sorted by row group": ("by group", {}, 2.0, "a counter for every score"),
    "at first sorted": ("at first sorted", {}, 2.0, "a counter for every score"),
    "whole numbers": ("shuffled", {}, 2.0, "a counter for every score"),
    "whole numbers, no statistics": ("shuffled", {"write_statistics": False}, 2.0, "ordered in memory"),
    "whole numbers, too long": ("shuffled", {"write_statistics": False}, "none for words", "ordered range by range"),
    "32 bits": ("float32", {}, 2.0, "a counter for every score"),
    "64 bits": ("float64", {}, 2.0, "ordered in memory"),
    "64 bits, too long": ("float64", {}, "none for words", "ordered range by range"),
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Blocks and shares so small that a short list has many."""
    for module in (sums, here, scored):
        monkeypatch.setattr(module, "BLOCK", 64)
    monkeypatch.setattr(workers, "_LEAST_ROWS", 90)
    monkeypatch.setattr(cells, "_SAMPLE_ROWS", 400)


def scores_of(how, rng, n, values):
    whole = rng.integers(0, values, n)
    if how == "sorted":
        return np.sort(whole)[::-1] / 8
    if how in ("by group", "at first sorted"):
        found = 10**6 - np.arange(n) // 100 * 1000 + rng.integers(0, min(values, 900), n)
        sorted_rows = n * 3 // 4 if how == "at first sorted" else 0
        return np.concatenate([np.sort(found[:sorted_rows])[::-1], found[sorted_rows:]])
    if how == "shuffled":
        return whole.astype(np.int32)
    found = rng.random(n) if values > 50 else whole / values
    return (0.5 + found / 1000).astype(np.float32) if how == "float32" else found


def write(folder, way, n=1500, values=40, share=0.4, seed=1):
    """Two files of row groups of 100."""
    rng = np.random.default_rng(seed)
    how, stored, *_ = WAYS[way]
    columns = {"label": (rng.random(n) < share).astype(np.int8), "id": np.arange(n)}
    if how is not None:
        columns["s"] = scores_of(how, rng, n, values)
    folder.mkdir()
    half = n // 2 // 100 * 100
    for i, rows in enumerate((slice(0, half), slice(half, n))):
        table = pa.table({name: column[rows] for name, column in columns.items()})
        pq.write_table(table, folder / f"part-{i}.parquet", row_group_size=100, **stored)
    return folder


def evaluated(folder, way, engine, out=None, **more):
    how, _, memory, _ = WAYS[way]
    with pytest.MonkeyPatch.context() as patch:
        if memory == "none for words":
            memory = 2.0
            patch.setattr(scored, "_WORDS", 0.0)
        options = RankingOptions(score=None if how is None else "s", memory=memory, threads=2)
        return streameval.exact(str(folder), label="label", options=options, engine=engine, out=out, **more)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=examples(2, 6), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, examples(900, 2000)),
    values=st.sampled_from([1, 3, 40, 5000]),
    share=st.sampled_from([0.0, 0.1, 0.6, 1.0]),
)
def test_a_cluster_finds_what_this_machine_finds(way, seed, n, values, share, tmp_path_factory):
    folder = write(tmp_path_factory.mktemp("list") / "list", way, n, values, share, seed)
    here = evaluated(folder, way, "local")
    there = evaluated(folder, way, Cluster(seed))
    assert there.summary == here.summary
    assert there.metrics.equals(here.metrics)
    assert there.curve.table.equals(here.curve.table)
    assert there.curve.envelope.lower.tobytes() == here.curve.envelope.lower.tobytes()


@pytest.mark.parametrize("way", cases(WAYS, "stored", "whole numbers", "64 bits, too long"))
def test_files_are_the_same_to_the_byte(way, tmp_path):
    folder = write(tmp_path / "list", way, 900, 5000 if "64 bits" in way else 40)
    hashes = []
    for name, engine in (("here", "local"), ("there", Cluster())):
        found = evaluated(folder, way, engine, tmp_path / name, misses=3)
        assert WAYS[way][-1] in found.summary["how"]
        hashes.append([hashlib.sha256((tmp_path / name / file).read_bytes()).hexdigest() for file in FILES])
    assert hashes[0] == hashes[1]


def test_blocks_and_row_groups_that_are_lost_are_noticed(tmp_path):
    class Careless(Cluster):
        def run_job(self, request):
            home = super().run_job(request)
            last = pc.max(home.column("at"))
            return home.slice(1) if request.kind == "binary" else home.filter(pc.field("at") < last)

    folder = write(tmp_path / "list", "whole numbers")
    with pytest.raises(OutsideError, match="24 pieces were asked for, and others came back"):
        evaluated(folder, "stored", Careless())
    with pytest.raises(OutsideError, match="15 row groups were asked for, and 0 came back"):
        evaluated(folder, "whole numbers", Careless())


def test_a_list_in_no_order_is_not_read_elsewhere_to_find_that_out(tmp_path):
    class Refusing(Cluster):
        def run_job(self, request):
            assert request.kind != "binary", "sums were asked for"
            return super().run_job(request)

    folder = write(tmp_path / "list", "sorted by row group")
    assert "a counter" in evaluated(folder, "sorted by row group", Refusing()).summary["how"]


@pytest.mark.parametrize(("at", "label", "said"), [(640, None, "label missing"), (1, 2, "label 2 is not 0 or 1")])
@pytest.mark.parametrize("way", ["stored", "sorted", "whole numbers", "64 bits"])
def test_a_label_that_cannot_be_used_is_named_as_here(way, at, label, said, tmp_path):
    folder = write(tmp_path / "list", way)
    table = pq.read_table(folder / "part-0.parquet")
    labels = table.column("label").to_pylist()
    labels[at] = label
    table = table.set_column(0, "label", pa.array(labels, pa.int8()))
    pq.write_table(table, folder / "part-0.parquet", row_group_size=100)
    told = []
    for engine in ("local", Cluster()):
        with pytest.raises((InputError, RuntimeError), match=said) as caught:
            evaluated(folder, way, engine)
        told.append(workers.reported_error(str(caught.value)) or caught.value)
    assert str(told[0]) == str(told[1])


def test_what_only_one_machine_has_is_refused(tmp_path):
    folder = write(tmp_path / "list", "whole numbers")
    with pytest.raises(InputError, match=r"joined on one machine\. Hint: leave engine out, or write them"):
        evaluated(folder, "whole numbers", Cluster(), labels=pa.table({"id": [0], "label": [1]}), on="id")
    with pytest.raises(InputError, match=r"windows are computed on one machine\. Hint: leave engine out"):
        evaluated(folder, "stored", Cluster(), method="paula(window=50)")
    with pytest.raises(InputError, match="a table in memory cannot be scanned elsewhere"):
        streameval.exact(pa.table({"label": [0, 1]}), label="label", engine=Cluster())


def test_the_row_before_a_share_is_in_another_row_group(tmp_path, monkeypatch):
    """Blocks as long as row groups: whether a block's first score ties with the one before, its own rows do not say."""
    monkeypatch.setattr(here, "BLOCK", 100)
    folder = write(tmp_path / "list", "sorted", values=5)
    assert evaluated(folder, "sorted", Cluster()).metrics.equals(evaluated(folder, "sorted", "local").metrics)
