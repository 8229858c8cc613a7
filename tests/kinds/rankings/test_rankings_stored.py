"""Many rankings are measured alike, however their rows are cut into row groups and encoded."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from suite_cases import cases

import streameval
from streameval import RankingOptions


def evaluated(table, path, score="score", **how):
    pq.write_table(table, path, **how)
    found = streameval.exact(str(path), label="label", per=["q"], at=[3], options=RankingOptions(score=score))
    assert found.summary["how"] == "one pass, rankings stored together"
    return found.rankings.combine_chunks(), found


def runs(sizes, rng):
    n = int(sizes.sum())
    return pa.table({"q": np.repeat(np.arange(sizes.size) * 3, sizes),
                     "score": np.floor(rng.random(n) * 40).astype(np.float32),
                     "label": rng.choice([0, 1, 3], n, p=[0.8, 0.15, 0.05]).astype(np.int8)})  # fmt: skip


@pytest.mark.parametrize("rows", cases([1, 2, 7, 100], 7))
def test_rankings_may_begin_and_end_in_any_row_group(rows, tmp_path):
    rng = np.random.default_rng(rows)
    table = runs(np.concatenate([rng.integers(1, 12, 40), [90, 250]]), rng)
    whole, _ = evaluated(table, tmp_path / "whole.parquet")
    cut, _ = evaluated(table, tmp_path / "cut.parquet", row_group_size=rows)
    assert cut.equals(whole)


def test_pages_read_directly_give_what_decoded_columns_do(tmp_path):
    rng = np.random.default_rng(5)
    table = runs(np.full(700, 100), rng)  # long enough to be read without a library
    coded, _ = evaluated(table, tmp_path / "coded.parquet", use_dictionary=["q", "score", "label"])
    plain, _ = evaluated(table, tmp_path / "plain.parquet", use_dictionary=["label"], row_group_size=70_000)
    assert plain.equals(coded)
    binary = table.set_column(2, "label", pa.array((table["label"].to_numpy() > 0).astype(np.int8)))
    flags = table.set_column(2, "label", pa.array(table["label"].to_numpy() > 0))
    ones, _ = evaluated(binary, tmp_path / "binary.parquet", use_dictionary=["label"])
    assert ones.equals(evaluated(flags, tmp_path / "flags.parquet", use_dictionary=False)[0])
    assert ones.column("positives").equals(plain.column("positives"))


def test_lowest_rankings_are_those_of_the_rows(tmp_path):
    table = runs(np.full(300, 20), np.random.default_rng(6))
    rows, found = evaluated(table, tmp_path / "runs.parquet", row_group_size=500)
    value, size = rows["average_precision"].to_numpy(), rows["positives"].to_numpy()
    known = [at for at in np.lexsort((-size, value)).tolist() if size[at]][:20]
    assert [one["q"] for one in found.summary["lowest"]] == rows["q"].to_numpy()[known].tolist()


@pytest.mark.parametrize("names", ["numbers", "texts"])
def test_rankings_are_written_in_one_order_byte_for_byte_whatever_the_threads_and_the_memory(tmp_path, names):
    """One ranking is longer than memory, others share its part; memory says into how many parts the rest go."""
    rng = np.random.default_rng(3)
    query = np.where(rng.random(6_000) < 0.3, 7, rng.integers(0, 700, 6_000))
    column = query if names == "numbers" else pa.array([f"query {i}" for i in query])
    rows = pa.table({"q": column, "label": (rng.random(6_000) < 0.3).astype(np.int8)})
    pq.write_table(rows, tmp_path / "list.parquet", row_group_size=1_000)
    files, how = set(), set()
    for threads, memory in ((1, 2.0), (2, 0.0001)):
        out = tmp_path / f"{threads} {memory}"
        found = streameval.exact(
            tmp_path / "list.parquet", label="label", per="q", at=[2], out=out, threads=threads, memory=memory
        )
        files.add(((out / "rankings.parquet").read_bytes(), str(found.summary["lowest"])))
        how.add(found.summary["how"])
    assert len(files) == 1
    assert how == {"parted by ranking", "parted by ranking through a scratch file"}
