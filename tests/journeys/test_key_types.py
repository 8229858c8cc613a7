"""A column of any type that can be a key goes all the way: drawn by, compared by, labels joined, queries told apart."""

import datetime
import decimal
import itertools
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.errors import InputError
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
    options = {"key": "id", "score": "new", "against_score": "old", "questions": "gain@30, 100"}
    streameval.plan(items, tmp_path / "s", against=shuffled, reuse=items.slice(0, 200), **options)
    plan = Study(tmp_path / "s").plan().table
    item = np.concatenate([np.arange(N), order])[plan.column("rank").to_numpy() - 1]  # rows of B, and then of A
    known = (item < 200).tolist()
    assert plan.column("known").to_pylist() == known
    assert 0 < sum(known) < plan.num_rows


@pytest.mark.parametrize("of_b", [pa.int64(), pa.float64()])
def test_a_list_of_floats_is_compared_with_one_of_integers_by_value(of_b, tmp_path):
    ids, score = 2**40 + np.arange(N), np.random.default_rng(1)
    new, old = (pa.table({"id": score.permutation(ids), "score": np.round(score.random(N), 1)}) for _ in range(2))
    old = pa.concat_tables([old, pa.table({"id": [2**53 + 1] if of_b == pa.float64() else [1], "score": [2.0]})])
    of_a = pa.float64() if of_b == pa.int64() else pa.int64()
    for kind, table in ((of_b, new), (of_a, old)):
        pq.write_table(table.set_column(0, "id", table.column("id").cast(kind)), tmp_path / f"{kind}.parquet")
    options = {"key": "id", "score": "score", "questions": "gain@30, 100", "seed": 1}
    streameval.plan(tmp_path / f"{of_b}.parquet", tmp_path / "s", against=tmp_path / f"{of_a}.parquet", **options)
    chosen = streameval.select(tmp_path / "s").table
    assert chosen.schema.field("id").type == pa.int64()
    assert (2**53 + 1 if of_b == pa.float64() else 1) in chosen.column("id").to_pylist()
    labels = pa.table({"id": chosen.column("id"), "label": pc.bit_wise_and(chosen.column("id"), 1)})
    found = streameval.evaluate(tmp_path / "s", labels=labels, on="id").tables["labels"]
    assert found.column("label").to_pylist() == [one % 2 for one in chosen.column("id").to_pylist()]


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
    streameval.plan(rows, tmp_path / "s", per="q", budget=21, questions="precision@3", seed=1)
    streameval.select(tmp_path / "s", ranking=rows)
    found = streameval.evaluate(tmp_path / "s", labels=rows, on="doc", label="label", positives=missed, key="doc")
    pool = found.summary["pool"]
    assert (pool["drawn"], pool["beyond"], pool["denied"] + pool["named"]) == (3, 2, 1)


SPELT = {
    "uuid": (pa.array([uuid.UUID(int=i).bytes for i in range(20)], pa.uuid()), lambda i: str(uuid.UUID(int=i)).upper()),
    "bytes": (pa.array([b"k%d" % i for i in range(20)]), lambda i: f"k{i}"),
    "decimal": (pa.array([decimal.Decimal(i) / 2 for i in range(20)], pa.decimal128(10, 2)), lambda i: f"{i / 2:.1f}"),
    "zoned": (pa.array(range(20), pa.timestamp("ns", "UTC")), lambda i: f"1970-01-01T01:00:00.{i:09}+01:00"),
    "views": (pa.array([f"k{i}" for i in range(20)], pa.string_view()), lambda i: f" k{i}"),
}


@pytest.mark.parametrize("name", SPELT)
def test_adopted_items_have_the_labels_of_another_spelling_of_their_key(name, tmp_path):
    own, spell = SPELT[name]
    labels = pa.table({"id": [spell(i) for i in range(1, 20, 2)], "label": [0, 1] * 5})
    items = pa.table({"id": own})
    streameval.adopt(items, tmp_path / "s", labels=labels, on="id", drawn="unknown")
    assert streameval.evaluate(tmp_path / "s").labels.label.tolist() == [0, 1] * 5


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_items_whose_keys_are_views_go_all_the_way(kind, tmp_path):
    items = pa.table({"id": pa.array([b"k%d" % i for i in range(20)], pa.binary()).cast(kind)})
    labels = pa.table({"id": [f"k{i}" for i in range(20)], "label": [0, 1] * 10})
    options = {"budget": 20, "seed": 1}
    streameval.plan(items, tmp_path / "s", reuse=labels, on="id", labels_unseen_by_model="yes", **options)
    assert streameval.labels(tmp_path / "s").account["labelled"] == 20
    streameval.plan(items, tmp_path / "t", **options)
    streameval.select(tmp_path / "t", ranking=items)
    ranks, found = (
        Study(tmp_path / "t").plan().ranks,
        streameval.evaluate(tmp_path / "t", labels=labels, on="id").labels,
    )
    assert found.label.tolist() == [(rank - 1) % 2 for rank in ranks.tolist()]


def test_a_pandas_column_that_arrow_has_no_type_for_is_refused_in_a_line(tmp_path):
    frame = pd.DataFrame({"id": [2**64 - 1, -5]})
    with pytest.raises(InputError, match="the pandas frame: no type of Arrow holds a column of it"):
        streameval.plan(frame, tmp_path / "s", budget=2, seed=1)


WHOLE = {
    "uint64": (pa.uint64(), [2**63, 2**64 - 1, 5, 6, 7]),
    "decimal": (pa.decimal128(20, 0), [decimal.Decimal(n) for n in (2**63, 2**64 - 1, 5, 6, 7)]),
    "int64": (pa.int64(), [-1, -(2**63), 5, 6, 7]),
    "int32": (pa.int32(), [-1, -2, 5, 6, 7]),
    "double": (pa.float64(), [-1.0, 2.0**52, 5.0, 6.0, 7.0]),
}


@pytest.mark.parametrize(("b", "a"), list(itertools.permutations(WHOLE, 2)))
def test_items_of_two_lists_are_one_where_their_whole_numbers_are(b, a, tmp_path):
    lists = [pa.table({"id": pa.array(WHOLE[name][1], WHOLE[name][0]), "score": scores}) for name, scores in
             ((b, [5.0, 4, 3, 2, 1]), (a, [4.0, 5, 1, 3, 2]))]  # fmt: skip
    streameval.plan(lists[0], tmp_path / "s", against=lists[1], score="score", key="id", questions="gain@2, 3", seed=1)
    chosen = streameval.select(tmp_path / "s", ranking=tuple(lists)).table
    tops = [
        [{int(n) for n in WHOLE[b][1][:k]} for k in (2, 3)],
        [{int(WHOLE[a][1][i]) for i in at} for at in ((1, 0), (1, 0, 3))],
    ]
    differing = {n for mine, theirs in zip(*tops, strict=True) for n in mine ^ theirs}
    assert sorted(int(n) for n in chosen.column("id").to_pylist()) == sorted(differing)


def moments(unit, *ticks, zone=None):
    return pa.array(ticks, pa.timestamp(unit, zone))


UUIDS = [uuid.UUID(int=2**100 + i).bytes for i in range(5)]
DIFFERENT = {  # keys of B, best first, and of A, best last; and those of the top 2 of one
    "us and ns": (moments("us", 1, 2, 3, 4), moments("ns", 1_000, 3_000, 1_001, 1_002),
                  [1_000, 1_001, 1_002, 2_000]),
    "s and zoned ns": (moments("s", 1, 2, 3, 4), moments("ns", 10**9, 3 * 10**9, 5, 6, zone="Europe/Berlin"),
                       [5, 6, 10**9, 2 * 10**9]),
    "floats": (pa.array([1, 2, 3, 4], pa.float32()), pa.array([1, 3, 2**30 + 1, 2**30 + 2], pa.float64()),
               [1.0, 2.0, 2.0**30 + 1, 2.0**30 + 2]),
    "uuids and bytes": (pa.array(UUIDS[:4], pa.uuid()), pa.array([UUIDS[0], UUIDS[2], b"x", b"y"]),
                        [UUIDS[0], UUIDS[1], b"x", b"y"]),
    "days": (pa.array([1, 2, 3, 4], pa.date32()), pa.array([86_400_000 * i for i in (1, 3, 5, 6)], pa.date64()),
             [1, 2, 5, 6]),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
@pytest.mark.parametrize("turned", [False, True])
def test_keys_of_two_types_that_meet_are_shown_to_the_last_digit(name, turned, tmp_path):
    b, a, expected = DIFFERENT[name]
    lists = [pa.table({"id": b, "score": [4.0, 3, 2, 1]}), pa.table({"id": a, "score": [1.0, 2, 3, 4]})]
    if turned:
        lists.reverse()
    streameval.plan(lists[0], tmp_path / "s", against=lists[1], score="score", key="id", questions="gain@2", seed=1)
    chosen = streameval.select(tmp_path / "s", ranking=tuple(lists)).table.column("id")
    whole = pa.types.is_timestamp(chosen.type) or pa.types.is_date(chosen.type)
    numbers = chosen.cast(pa.int32() if pa.types.is_date(chosen.type) else pa.int64()) if whole else chosen
    assert sorted(numbers.to_pylist()) == sorted(expected)


def test_keys_that_cannot_meet_are_shown_one_of_each_list(tmp_path):
    lists = [pa.table({"id": ids, "score": [2.0, 1]}) for ids in (["a", "b"], pa.array(UUIDS[:2], pa.uuid()))]
    with pytest.raises(InputError, match=r"the first id is a \(string\) in .*, id is 00000010-0000.*arrow\.uuid"):
        streameval.plan(lists[0], tmp_path / "s", against=lists[1], score="score", key="id", questions="gain@1", seed=1)


@pytest.mark.parametrize("turned", [False, True])
def test_text_that_one_of_two_lists_has_is_shown_as_it_is(tmp_path, turned):
    """007 is not 7, though it could be read as a number."""
    lists = [pa.table({"id": [1, 2, 3], "score": [3.0, 2, 1], "x": [5, 6, 7]}),
             pa.table({"id": [1, 2, 4], "score": [1.0, 2, 3], "x": ["005", "6", "007"]})]  # fmt: skip
    if turned:
        lists.reverse()
    streameval.plan(lists[0], tmp_path / "s", against=lists[1], score="score", key="id", questions="gain@1", seed=1)
    shown = streameval.select(tmp_path / "s", ranking=tuple(lists)).table
    assert sorted(zip(shown.column("id").to_pylist(), shown.column("x").to_pylist(), strict=True)) == [
        (1, "5"),
        (4, "007"),
    ]


def test_a_column_that_is_shown_of_two_lists_and_fits_neither_type_is_named(tmp_path):
    lists = [pa.table({"id": [1, 2, 3], "score": [3.0, 2, 1], "x": [1, 2, 3]}),
             pa.table({"id": [1, 2, 3], "score": [1.0, 2, 3], "x": pa.array([1, 2, 3], pa.date32())})]  # fmt: skip
    lists[1] = lists[1].set_column(0, "id", pa.array([1, 2, 4]))
    streameval.plan(lists[0], tmp_path / "s", against=lists[1], score="score", key="id", questions="gain@1", seed=1)
    with pytest.raises(InputError, match=r"column 'x' is int64 in one list and date32.* in the other.*leave it out"):
        streameval.select(tmp_path / "s", ranking=tuple(lists))
    assert streameval.select(tmp_path / "s", ranking=tuple(lists), columns="id").table.num_rows == 2


@pytest.mark.parametrize("how", [
    {"key": "id"}, {"on": "id"}, {"key": "id", "against_score": "t"}, {"per": "id", "questions": "precision@1"},
], ids=lambda how: next(reversed(how)))  # fmt: skip
def test_a_key_by_which_no_label_can_be_joined_is_refused_when_it_is_planned(how, tmp_path):
    items = pa.table({"id": pa.array(np.arange(9), pa.float16()), "score": np.arange(9.0), "t": np.arange(9.0)[::-1]})
    against = {"against": items} if "against_score" in how else {}
    with pytest.raises(InputError, match=r"column 'id' is halffloat, by which no labels can be joined"):
        streameval.plan(items, tmp_path / "s", score="score", seed=1, **how, **against)
