"""One table with two scores and two tables joined by key: the same items, sizes and bounds, whatever reads them."""

import io
import shutil
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gain_questions import gain_questions, gain_words
from hypothesis import given, settings
from hypothesis import strategies as st
from spark_cluster import Cluster
from suite_cases import cases, examples, slow

import streameval
from streameval.cli import run
from streameval.order.scan import key_hashes
from streameval.paired_draws import two_tables
from streameval.paired_draws.one_table import Pairing
from streameval.study import Study

AT = {"ranks": ["100", "500", "1500"], "shares": ["1%", "25%"], "scores": ["score:1.5", "score:0.5"]}
SIZES = ("size_a", "size_b", "gains", "losses")


def sizes_by_sorting(both, cutoffs):
    """Sizes of both tops, gains and losses at each cutoff, by sorting and joining; the key's hash orders ties."""
    frame = pl.from_arrow(both.select(["id", "old", "new"])).with_columns(tie=key_hashes(both.select(["id"])))
    ranked = {score: frame.sort(score, "tie", descending=[True, False]).with_row_index("rank", offset=1)
              for score in ("old", "new")}  # fmt: skip
    joined = ranked["new"].join(ranked["old"].select("id", rank_a="rank"), on="id")
    found = []
    for cutoff in cutoffs:
        name, _, value = cutoff.rpartition(":")
        if name:
            tops = [pl.col(score) >= float(value) for score in ("old", "new")]
        else:
            k = int(np.ceil(float(value[:-1]) / 100 * both.num_rows)) if value.endswith("%") else int(value)
            tops = [pl.col(rank) <= k for rank in ("rank_a", "rank")]
        a, b = tops
        found.append(joined.select(size_a=a.sum(), size_b=b.sum(), gains=(b & ~a).sum(), losses=(a & ~b).sum()))
    return pl.concat(found).to_dict(as_series=False)


def forms(old=None, new=None, both=None):
    """What plans each form; of tables in memory, or of the files of `home`."""
    one, two = both if both is not None else "both.parquet", new if new is not None else "new.parquet"
    against = old if old is not None else "old.parquet"
    return {"one": (one, {"score": "new", "against": one, "against_score": "old"}),
            "two": (two, {"score": "score", "against": against})}  # fmt: skip


def drawn(plan):
    """What is drawn, without where it is stored."""
    columns = ("first_a", "first_b", "u", "probability", "turn")
    return sorted(zip(*(plan.table.column(name).to_pylist() for name in columns), strict=True))


def asked(study, source=None):
    """Identifiers and truth of the items that a study asks about."""
    tasks = streameval.select(study, **({} if source is None else {"ranking": source})).table
    return tasks.select(["id", "right"]).sort_by("id").to_pylist()


@pytest.mark.parametrize("at", cases(AT, "scores"))
def test_both_forms_from_python_and_the_command_line(home, both, at):
    expected = sizes_by_sorting(both, AT[at])
    found = []
    for name, (source, how) in forms().items():
        plan = streameval.plan(source, name, key="id", questions=gain_questions(AT[at], 0.05), seed=5, **how)
        assert {size: plan.notes[size] for size in SIZES} == expected
        flags = [f"--{key.replace('_', '-')}={value}" for key, value in how.items()]
        typed = ["plan", source, *flags, "--key", "id", *gain_words(AT[at], 0.05), "--seed", "5"]
        with redirect_stdout(io.StringIO()) as said:
            assert run([*typed, "--study", "typed"]) == 0
        assert Path("typed/plan.parquet").read_bytes() == Path(name, "plan.parquet").read_bytes()
        assert Study("typed").plan().plan_id == plan.plan_id
        assert all(f"{count:,} only in B" in said.getvalue() for count in plan.notes["gains"])
        found.append((drawn(plan), asked(name)))
        shutil.rmtree("typed")
    assert found[0] == found[1]


@settings(max_examples=examples(5, 15), deadline=None)
@given(
    n=st.integers(2, 400), levels=st.integers(1, 12), seed=st.integers(0, 2**32),
    cutoffs=st.lists(st.integers(1, 400), min_size=1, max_size=4, unique=True),
)  # fmt: skip
def test_items_of_one_score_are_ordered_by_the_hash_of_their_key(tmp_path_factory, n, levels, seed, cutoffs):
    home = tmp_path_factory.mktemp("ties")
    rng = np.random.default_rng(seed)
    old, new = rng.integers(0, levels, n) / 2, rng.integers(0, levels, n) / 2
    both = pa.table({"id": rng.permutation(3 * n)[:n], "old": old, "new": new, "right": rng.integers(0, 2, n)})
    apart = {score: both.select(["id", "right"]).append_column("score", both.column(score)).take(
        pa.array(rng.permutation(n))) for score in ("old", "new")}  # fmt: skip
    at = [str(min(one, n)) for one in sorted(cutoffs)]
    at = list(dict.fromkeys(at))
    expected = sizes_by_sorting(both, at)
    if max(g + x for g, x in zip(expected["gains"], expected["losses"], strict=True)) == 0:
        return
    found = []
    for name, (source, how) in forms(both=both, **apart).items():
        plan = streameval.plan(source, home / name, key="id", questions=gain_questions(at, 0.0001), seed=seed, **how)
        assert {size: plan.notes[size] for size in SIZES} == expected
        again = source if name == "one" else (source, how["against"])
        found.append((drawn(plan), asked(home / name, again)))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("form", "at"),
    [
        ("one", "scores"),
        ("two", "ranks"),
        *slow(("one", "ranks"), ("one", "shares"), ("two", "shares"), ("two", "scores")),
    ],
)
def test_the_same_bytes_over_threads_row_groups_and_engines(home, form, at, monkeypatch):
    monkeypatch.setattr("streameval.scans.workers._LEAST_ROWS", 1_000)
    monkeypatch.setattr(two_tables, "_MOST_ROWS", 2_000)

    def planned(**more):
        shutil.rmtree("s", ignore_errors=True)
        source, how = forms()[form]
        plan = streameval.plan(source, "s", key="id", questions=gain_questions(AT[at], 0.05), seed=5, **{**how, **more})
        return plan.table, {name: plan.notes[name] for name in (*SIZES, "probability")}

    whole = planned(threads=1)
    for more in ({"threads": 7}, {"engine": Cluster(3)}):
        assert planned(**more) == whole
    for name in ("both", "old", "new"):
        pq.write_table(pq.read_table(f"{name}.parquet"), f"{name}.parquet", row_group_size=1_100)
    assert planned(threads=7) == whole


class Interrupting:
    """Reads so many units, and then is interrupted."""

    def __init__(self, monkeypatch, after):
        self.left, self.read, begin = after, [], Pairing.begin

        def beginning(task, scan):
            builder = begin(task, scan)
            builder.add, add = lambda number: self.add(add, number), builder.add
            return builder

        monkeypatch.setattr(Pairing, "begin", beginning)

    def add(self, add, number):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.read.append(number)
        add(number)


def test_a_plan_that_was_interrupted_goes_on(home, both, monkeypatch):
    pq.write_table(both, "both.parquet", row_group_size=1_000)
    source, how = forms()["one"]
    ask = {"key": "id", "questions": gain_questions(AT["ranks"]), "seed": 5, **how}
    whole = streameval.plan(source, "whole", **ask)
    with monkeypatch.context() as patch:
        first = Interrupting(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            streameval.plan(source, "s", threads=1, **ask)
    assert not Study("s").exists
    with monkeypatch.context() as patch:
        rest = Interrupting(patch, 1_000)
        again = streameval.plan(source, "s", threads=1, **ask)
    assert sorted(first.read + rest.read) == sorted(set(first.read + rest.read))
    assert len(first.read) == 3
    assert rest.read
    assert again.table.equals(whole.table)
    assert not (home / "s" / "scan").exists()
