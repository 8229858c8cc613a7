"""A column of any type that can be a key goes all the way: drawn by, compared by, labels joined, queries told apart."""

import datetime
import decimal
import uuid

import numpy as np
import pyarrow as pa
import pytest

import streameval
from streameval.study import Study

N = 300
DAY = datetime.datetime(2000, 1, 1)
KEYS = {
    "uuid": (pa.uuid(), lambda i: uuid.UUID(int=7919 * i).bytes),
    "bytes": (pa.binary(), lambda i: b"%d\0" % i),
    "decimal": (pa.decimal128(38, 0), lambda i: decimal.Decimal(10**20 * i)),
    "date": (pa.date32(), lambda i: DAY.date() + datetime.timedelta(i)),
    "timestamp": (pa.timestamp("ns"), lambda i: 10**18 + i),
    "zoned": (pa.timestamp("us", "Europe/Berlin"), lambda i: DAY + datetime.timedelta(hours=i)),
}


def keys(name, numbers):
    kind, write = KEYS[name]
    return pa.array([write(i) for i in numbers], kind)


def lists(name):
    """Scores with ties of two models, and the truth."""
    rng = np.random.default_rng(3)
    old = np.round(rng.random(N), 1)
    new = np.round(old + 0.3 * rng.random(N), 1)
    return pa.table(
        {"id": keys(name, range(N)), "old": old, "new": new, "label": (rng.random(N) < old).astype(np.int8)}
    )


@pytest.mark.parametrize("name", KEYS)
def test_items_are_planned_drawn_and_labelled_by_a_key(name, tmp_path):
    items = lists(name)
    streameval.plan(items, tmp_path / "s", score="new", key="id", budget=40, seed=1)
    chosen = streameval.select(tmp_path / "s", ranking=items).table
    labels = streameval.evaluate(tmp_path / "s", labels=items, label="label", on="id").labels
    truth = dict(zip(items.column("id").to_pylist(), items.column("label").to_pylist(), strict=True))
    assert labels.label.tolist() == [truth[key] for key in chosen.column("id").to_pylist()]


@pytest.mark.parametrize("name", KEYS)
def test_two_tables_are_compared_by_a_key_and_labels_taken_off_by_it(name, tmp_path):
    items = lists(name)
    order = np.random.default_rng(1).permutation(N)
    shuffled = items.take(pa.array(order))
    options = {"key": "id", "score": "new", "against_score": "old", "at": "30,100"}
    streameval.plan(items, tmp_path / "s", against=shuffled, reuse=items.slice(0, 200), **options)
    plan = Study(tmp_path / "s").plan().table
    item = np.concatenate([np.arange(N), order])[plan.column("rank").to_numpy() - 1]  # rows of B, and then of A
    known = (item < 200).tolist()
    assert plan.column("known").to_pylist() == known
    assert 0 < sum(known) < plan.num_rows


@pytest.mark.parametrize("name", KEYS)
def test_queries_and_their_items_are_told_apart_by_a_key(name, tmp_path):
    rows = pa.table(
        {"q": keys(name, [i % 7 for i in range(N)]), "doc": keys(name, range(N)), "label": np.arange(N) % 2}
    )
    missed = pa.table({"q": keys(name, [0, 1, 1]), "doc": keys(name, [7, 1_000, 1_001])})  # 7 was returned by 0
    found = streameval.exact(rows, per="q", key="doc", label="label", positives=missed, at=[2])
    assert found.rankings.schema.field("q").type == keys(name, [0]).type or name == "bytes"
    assert dict(
        zip(found.rankings.column("q").to_pylist(), found.rankings.column("misses").to_pylist(), strict=True)
    ) == {value: {1: 2}.get(i, 0) for i, value in enumerate(keys(name, range(7)).to_pylist())}
    streameval.exact(rows, per="q", key="doc", label="label", positives=missed, out=tmp_path / "found")


@pytest.mark.parametrize("name", KEYS)
def test_drawn_queries_find_their_positives_by_a_key(name, tmp_path):
    rows = pa.table(
        {"q": keys(name, [i % 7 for i in range(N)]), "doc": keys(name, range(N)), "label": np.arange(N) % 2}
    )
    missed = pa.table({"q": keys(name, [0, 1, 1]), "doc": keys(name, [7, 1_000, 1_001])})
    streameval.plan(rows, tmp_path / "s", per="q", rankings=7, at="3", seed=1)
    streameval.select(tmp_path / "s", ranking=rows)
    found = streameval.evaluate(tmp_path / "s", labels=rows, on="doc", label="label", positives=missed, key="doc")
    pool = found.summary["pool"]
    assert (pool["drawn"], pool["beyond"], pool["denied"] + pool["named"]) == (3, 2, 1)
