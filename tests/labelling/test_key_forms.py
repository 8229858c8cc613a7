"""Keys meet by value whatever their types, as Python's whole numbers do, or the source is refused."""

import datetime
import decimal
import re
import uuid

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from suite_cases import examples

import streameval
from streameval.errors import InputError
from streameval.labelling.duckdb_session import open_session
from streameval.labelling.key_forms import ambiguous, key_of, known_key, meeting
from streameval.study import Study

EDGES = [0, 1, 12, 2**24 - 1, 2**24, 2**24 + 1, 2**31, 2**53 - 1, 2**53, 2**53 + 1, 2**62 + 1, 10**18 + 1]
TYPES = {  # how a whole number is written in a column of a type; None where it cannot be
    "int64": (pa.int64(), int),
    "uint64": (pa.uint64(), int),
    "int32": (pa.int32(), lambda n: n if n < 2**31 else None),
    "double": (pa.float64(), float),
    "float": (pa.float32(), float),
    "decimal": (pa.decimal128(38, 0), decimal.Decimal),
    "text": (pa.string(), str),
    "text of floats": (pa.string(), lambda n: repr(float(n))),
    "text of doubles": (pa.string(), lambda n: f"{n}.0"),
}
EXACT = {"double": 2**53, "float": 2**24, "text of floats": 2**53, "text of doubles": 2**53}
ITEMS = ("int64", "uint64", "int32", "double", "float", "decimal")


def column(values, name):
    kind, write = TYPES[name]
    return pa.array([write(value) for value in values], kind)


def matches(connection, own, theirs):
    """Pairs of rows (item, label) whose keys are equal; None where a key may have been another."""
    connection.register("items", pa.table({"key": own, "at": np.arange(len(own))}))
    connection.register("labels", pa.table({"key": theirs, "at": np.arange(len(theirs))}))
    kinds = [connection.execute(f"DESCRIBE {one}").fetchall()[0][1] for one in ("items", "labels")]
    tests = (ambiguous("labels.key", kinds[1], kinds[0]), ambiguous("items.key", kinds[0], kinds[0]))
    for table, test in zip(("labels", "items"), tests, strict=True):
        if connection.execute(f"SELECT count(*) FROM {table} WHERE {test}").fetchall() != [(0,)]:
            return None
    join = f"{known_key('items.key', kinds[0])} = {key_of('labels.key', kinds[1], kinds[0])}"
    return set(connection.execute(f"SELECT items.at, labels.at FROM items JOIN labels ON {join}").fetchall())


@pytest.fixture(scope="module")
def connection():
    with open_session() as one:
        yield one


@settings(max_examples=examples(60, 3000))
@given(
    own=st.lists(st.sampled_from(EDGES) | st.integers(0, 2**63 - 1), min_size=1, max_size=4, unique=True),
    more=st.lists(st.sampled_from(EDGES), max_size=3),
    kinds=st.tuples(st.sampled_from(ITEMS), st.sampled_from(sorted(TYPES))),
)
def test_whole_numbers_of_any_two_types_join_as_pythons_do_or_are_refused(connection, own, more, kinds):
    theirs = [*own[::-1], *more]
    assume(all(TYPES[kind][1](value) is not None for kind in kinds for value in {*own, *theirs}))
    found = matches(connection, column(own, kinds[0]), column(theirs, kinds[1]))
    exact = all(max(values) < EXACT.get(kind, 2**64) for kind, values in zip(kinds, (own, theirs), strict=True))
    assert (found is not None) == exact
    if exact:
        assert found == {(i, j) for i, item in enumerate(own) for j, one in enumerate(theirs) if item == one}


ID = uuid.UUID("12345678-9abc-def0-1234-56789abcdef0")
SPELLINGS = [str(ID), str(ID).upper(), ID.hex, f"{{{ID}}}", f" {ID.urn} ", f"URN:UUID:{ID}"]
AT = 1_600_000_000_123_456_000  # ns since 1970, a whole µs
TEXT = "2020-09-13 12:26:40.123456"  # the same
DAY = datetime.datetime(2026, 1, 2)
SAME = [
    (pa.array([ID.bytes], pa.uuid()), [*SPELLINGS, pa.array([ID.bytes], pa.binary(16))]),
    (pa.array([ID.bytes], pa.binary(16)), [*SPELLINGS, pa.array([ID.bytes], pa.uuid()), pa.array([ID.bytes])]),
    (pa.array([b"a7"]), ["a7", pa.array([b"a7"], pa.binary(2))]),
    (pa.array([DAY], pa.timestamp("us")), [pa.array([DAY], pa.timestamp("ns", "UTC")), "2026-01-02 00:00", DAY.date()]),
    (pa.array([DAY], pa.timestamp("ms", "UTC")), [DAY, "2026-01-02T01:00:00+01:00"]),
    (pa.array([DAY.date()]), ["2026-01-02", DAY]),
    (pa.array([True]), ["True", " true", True]),
    (pa.array(["007"]), ["007", " 007 "]),
    (pa.array(["12"]), [12, 12.0]),
    (pa.array([decimal.Decimal("12.50")], pa.decimal128(10, 2)),
     ["12.5", " 12.500 ", decimal.Decimal("12.5"), decimal.Decimal("12.5000")]),
    (pa.array([decimal.Decimal("12.00")], pa.decimal128(10, 2)), ["12", "12.", 12, 12.0, decimal.Decimal(12)]),
    (pa.array([60]), ["60", "+60", "60.", "60.000000000000", "6.0E+1", "0.60e2"]),
    *((pa.array([AT + 1], pa.timestamp("ns", zone)), [f"{TEXT}001", f"{TEXT}00100+00", f"{TEXT}001Z",
      pa.array([AT + 1], pa.timestamp("ns")), pa.array([AT + 1], pa.timestamp("ns", "Asia/Tokyo"))])
      for zone in (None, "UTC", "Europe/Berlin")),
]  # fmt: skip
LATER = pa.array([AT + 1], pa.timestamp("ns"))
OTHERS = [  # an item, and labels that are another's or nobody's
    (pa.array([AT], pa.timestamp("ns", "UTC")), [f"{TEXT}001", f"{TEXT}0000001", LATER]),
    (pa.array([AT], pa.timestamp("ns")), [f"{TEXT}001", f"{TEXT}999", pa.array([AT - 1], pa.timestamp("ns", "UTC"))]),
    (pa.array([AT // 1000], pa.timestamp("us")), [f"{TEXT}001", f"{TEXT}0000001", LATER]),
    (pa.array([AT + 1], pa.timestamp("ns")), [TEXT, f"{TEXT}0010001", DAY, pa.array([AT // 1000], pa.timestamp("us"))]),
    (pa.array([datetime.datetime(3020, 1, 1)], pa.timestamp("us")), ["3020-01-01 00:00:00.000000001"]),
    (pa.array([DAY.date()]), ["2026-01-02 00:00:00.0000001", "2026-01-02 00:00:00.0000000001", "2026-01-03"]),
    (pa.array([b"k0"]), ["k0 ", " k0", "k1", "K0"]),
    (pa.array([b"abcdefghijklmnop"], pa.uuid()), ["abcdefghijklmnop"]),
    (pa.array([60]), ["59.9999999999", "60.0000000001", "59.5", "6000000000001e-11", "5.99999999999e1", "0x3c"]),
    (pa.array([0, 14]), ["1e-10", "0xe", "0b1110", "1_4", "0e", "x0"]),
    (pa.array([decimal.Decimal("12.50")], pa.decimal128(10, 2)), ["12.504", "12.4999999999", "1.25e1", "12,5", "12", 12,
     decimal.Decimal("12.504")]),
]  # fmt: skip


@pytest.mark.parametrize(("own", "spellings"), SAME, ids=lambda one: str(getattr(one, "type", "")))
def test_one_key_meets_in_every_spelling(connection, own, spellings):
    for one in spellings:
        theirs = one if isinstance(one, pa.Array) else pa.array([one])
        assert matches(connection, own, theirs) == {(0, 0)}, one


MOMENTS = {  # how a number of ns since 1970 is written in a column of a type; None where it cannot be
    "ns": (pa.timestamp("ns"), int),
    "ns with a zone": (pa.timestamp("ns", "Europe/Berlin"), int),
    "us": (pa.timestamp("us"), lambda n: None if n % 1000 else n // 1000),
    "us with a zone": (pa.timestamp("us", "UTC"), lambda n: None if n % 1000 else n // 1000),
    "text": (pa.string(), lambda n: f"{np.datetime64(n, 'ns')}"),
    "text with a zone": (pa.string(), lambda n: f"{np.datetime64(n, 'ns') + np.timedelta64(2, 'h')}+02:00"),
}


@settings(max_examples=examples(30, 1000))
@given(
    own=st.lists(st.integers(-3, 2003), min_size=1, max_size=4, unique=True),
    more=st.lists(st.sampled_from([-1, 0, 1, 499, 500, 501, 999, 1000, 1001]), max_size=3),
    kinds=st.tuples(
        st.sampled_from(["ns", "ns with a zone", "us", "us with a zone"]), st.sampled_from(sorted(MOMENTS))
    ),
)
def test_moments_of_any_two_types_join_as_their_nanoseconds_do(connection, own, more, kinds):
    columns, numbers = [], []
    for name, steps in zip(kinds, (own, [*own, *more]), strict=True):
        kind, write = MOMENTS[name]
        numbers.append([n for n in (AT + step for step in steps) if write(n) is not None])
        columns.append(pa.array([write(n) for n in numbers[-1]], kind))
    same = {(i, j) for i, item in enumerate(numbers[0]) for j, one in enumerate(numbers[1]) if item == one}
    assert matches(connection, *columns) == same


@pytest.mark.parametrize(("own", "others"), OTHERS, ids=lambda one: str(getattr(one, "type", "")))
def test_a_key_that_is_only_near_an_item_is_no_item(connection, own, others):
    for one in others:
        theirs = one if isinstance(one, pa.Array) else pa.array([one])
        assert matches(connection, own, theirs) == set(), one


def study_of(own, folder):
    items = pa.table({"id": own})
    streameval.plan(items, folder, budget=items.num_rows, seed=1)
    streameval.select(folder, ranking=items)
    return folder


def test_an_id_that_became_a_double_labels_no_other_item(tmp_path):
    study = study_of(pa.array([2**53, 2**53 + 1]), tmp_path / "s")
    table = pa.table({"id": [float(2**53 + 1)], "label": [1]})
    with pytest.raises(
        InputError, match=r"id '9007199254740992.0' is a float that is no exact whole number, in 1 row\."
    ):
        streameval.evaluate(study, labels=table, on="id")
    assert not (study / "votes").exists()


@pytest.mark.parametrize(
    ("scale", "shortened", "exact"),
    [
        (1, "9007199254740992.0", "9007199254740993"),
        (2, "9007199254740992.0", "9007199254740993.00"),
        (2, "9007199254740992.000000", "9007199254740993"),
        (4, "900719925474.1", "900719925474.0993"),
    ],
)
def test_a_decimal_that_went_through_a_float_labels_no_other_item(connection, scale, shortened, exact):
    own = f"DECIMAL(30,{scale})"
    rows = f"SELECT {ambiguous('k', 'VARCHAR', own)} FROM (VALUES (?), (?), ('12.5')) AS t(k)"
    assert connection.execute(rows, [shortened, exact]).fetchall() == [(True,), (False,), (False,)]


@pytest.mark.parametrize(("key", "said"), [
    ("x", r"row 1 has id 'x', .* id is x \(VARCHAR\) in the first row, id is 1 \(BIGINT\) of the first planned item"),
    (3, r"id matches nothing: id is 3 \(BIGINT\) in the first row, id is 1 \(BIGINT\) of the first planned item"),
])  # fmt: skip
def test_where_nothing_matches_a_key_of_each_side_is_shown_with_its_type(tmp_path, key, said):
    study = study_of(pa.array([1, 2]), tmp_path / "s")
    with pytest.raises(InputError, match=said):
        streameval.evaluate(study, labels=pa.table({"id": [key], "label": [1]}), on="id")


def test_every_verb_that_joins_labels_shows_a_key_of_each_side_where_none_is_the_same(tmp_path):
    items, labels = pa.table({"id": [1, 2]}), pa.table({"id": ["3", "4"], "label": [1, 0]})
    said = r"id is 3 \(VARCHAR\) in the first row, id is 1 \(BIGINT\) in the list"
    with pytest.raises(InputError, match=f"id matches no item of the list \\({said}"):
        streameval.exact(items, labels=labels, on="id", label="label")
    with pytest.raises(InputError, match=f"2 of 2 rows match no item of the ranking \\({said}"):
        streameval.adopt(items, tmp_path / "s", labels=labels, on="id", drawn="unknown")


def test_judge_and_reuse_show_a_key_of_each_side_where_none_is_the_same(tmp_path):
    items = pa.table({"id": np.arange(100)})
    plan = {"budget": 20, "seed": 1, "method": "loguniform"}
    streameval.plan(items, tmp_path / "j", judge="sample=50", **plan)
    streameval.select(tmp_path / "j", ranking=items, columns="id", export=tmp_path / "tasks.csv")
    words, numbers = ({"id": ids, "label": [1, 0]} for ids in (["x", "y"], [300, 301]))
    one = r"id is x \(VARCHAR\) in the first row, id is [0-9]+ \(BIGINT\) of the first planned item"
    other = r"id is 300 \(BIGINT\) in the first row, id is [0-9]+ \(BIGINT\) of the first planned item"
    for theirs, said in ((words, one), (numbers, other)):
        with pytest.raises(InputError, match=said):
            streameval.judge(tmp_path / "j", pa.table(theirs), on="id")
        with pytest.raises(InputError, match=said):
            streameval.plan(
                items, tmp_path / "r", on="id", reuse=pa.table(theirs), labels_unseen_by_model="yes", **plan
            )
    items = pa.table({"id": np.arange(100), "other": np.arange(100)[::-1]})
    either = {"score": "id", "against_score": "other", "key": "id", "questions": "gain@10", "reuse": pa.table(words)}
    with pytest.raises(InputError, match=r"id is x \(VARCHAR\) in the first row, id is 0 \(BIGINT\) in the list"):
        streameval.plan(items, tmp_path / "c", against=items, **either)


def test_a_study_whose_ids_are_text_lends_its_labels_to_a_list_whose_ids_are_numbers(tmp_path):
    numbers = pa.table({"id": np.arange(40), "right": np.arange(40) % 2})
    plan = {"on": "id", "budget": 40, "seed": 1}
    items = numbers.set_column(0, "id", numbers.column("id").cast(pa.string()))
    streameval.plan(items, tmp_path / "a", **plan)
    tasks = streameval.select(tmp_path / "a", ranking=items).table
    labels = pa.table({"rank": tasks["rank"], "label": tasks["right"]})
    streameval.evaluate(tmp_path / "a", labels=labels)
    streameval.plan(numbers, tmp_path / "b", reuse=tmp_path / "a", labels_unseen_by_model="yes", **plan)
    assert streameval.labels(tmp_path / "b").account["labelled"] == 40


@pytest.mark.parametrize(("mine", "theirs", "count"), [
    ({"id": [1, 2, 3]}, {"key": ["3", "1.0", "x", None]}, 2),
    ({"id": ["1", None]}, {"id": [1.0, 2.0]}, 1),
    ({"a": [1, 1], "b": ["x", "y"]}, {"a": [1.0, 2.0], "b": ["y", "y"]}, 1),
    ({"id": pa.array([ID.bytes], pa.uuid())}, {"id": [str(ID).upper()]}, 1),
])  # fmt: skip
def test_items_of_two_tables_are_counted_by_value(mine, theirs, count):
    assert meeting(pa.table(mine), pa.table(theirs)) == count


def test_items_whose_own_keys_are_fractions_are_refused(tmp_path):
    study = study_of(pa.array([0.5, 1.0]), tmp_path / "s")
    with pytest.raises(InputError, match=r"key 'id' 0.5 is a float that is no exact whole number"):
        streameval.evaluate(study, labels=pa.table({"id": [1.0], "label": [1]}), on="id")


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_text_labels_of_neighbours_by_a_nanosecond_each_find_their_own_item(tmp_path, zone):
    own = pa.array([AT + step for step in (0, 1, 499, 500, 999)], pa.timestamp("ns", zone))
    study = study_of(own, tmp_path / "s")
    texts = [f"{TEXT}{step:03}" for step in (1, 500)]
    account = streameval.evaluate(study, labels=pa.table({"id": texts, "label": [1, 0]}), on="id").labels
    chosen = Study(study).selection(Study(study).plan()).column("id").cast(pa.int64()).to_pylist()
    labelled = {key - AT: label for key, label in zip(chosen, account.label.tolist(), strict=True) if label >= 0}
    assert labelled == {1: 1, 500: 0}


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_a_plan_reuses_labels_of_the_very_nanosecond(tmp_path, zone):
    items = pa.table({"id": pa.array([AT + step for step in range(20)], pa.timestamp("ns", zone))})
    known = pa.table({"id": [f"{TEXT}001", f"{TEXT}500"], "label": [1, 0]})
    options = {"on": "id", "budget": 20, "seed": 1, "labels_unseen_by_model": "yes"}
    streameval.plan(items, tmp_path / "s", reuse=known, **options)
    assert streameval.labels(tmp_path / "s").account["labelled"] == 1


@pytest.mark.parametrize("kind", [pa.float16(), pa.decimal256(40, 0)], ids=str)
def test_items_of_a_type_that_no_labels_join_are_named_and_not_the_labels(tmp_path, kind):
    items = pa.table({"id": pa.array(np.arange(9, dtype=np.float16)).cast(pa.float32()).cast(pa.int64()).cast(kind)})
    labels = pa.table({"id": [1, 2], "label": [0, 1]})
    said = (
        f"column 'id' is {re.escape(str(kind))}, by which no labels can be joined. Hint: give it as integers or as text"
    )
    options = {"budget": 9, "seed": 1}
    streameval.plan(items, tmp_path / "s", **options)
    streameval.select(tmp_path / "s", ranking=items)
    with pytest.raises(InputError, match=f"the study's items: {said}"):
        streameval.evaluate(tmp_path / "s", labels=labels, on="id")
    with pytest.raises(InputError, match=f"the ranking: {said}"):
        streameval.adopt(items, tmp_path / "a", labels=labels, on="id", drawn="unknown")
    with pytest.raises(InputError, match=f"the list: {said}"):
        streameval.exact(items, labels=labels, on="id", label="label")
    with pytest.raises(InputError, match=f"column 'id' is {re.escape(str(kind))}"):
        streameval.plan(items, tmp_path / "r", on="id", reuse=labels, labels_unseen_by_model="yes", **options)


def test_control_items_name_their_uuid_in_any_spelling(tmp_path):
    ids = [uuid.UUID(int=i + 2**100) for i in range(20)]
    items = pa.table({"id": pa.array([one.bytes for one in ids], pa.uuid())})
    streameval.plan(items, tmp_path / "s", budget=20, seed=1)
    for spell in (lambda one: str(one).upper(), lambda one: one.hex):
        controls = pa.table({"id": [spell(one) for one in ids[:3]], "label": [1, 0, 1]})
        streameval.select(tmp_path / "s", ranking=items, export=tmp_path / "tasks.csv", controls=controls)
    with pytest.raises(
        InputError, match=r"column 'id' of the control items is not .*uuid.* \(badly formed .*Hint: give it as"
    ):
        streameval.select(tmp_path / "s", ranking=items, export=tmp_path / "tasks.csv",
                          controls=pa.table({"id": ["x"], "label": [1]}))  # fmt: skip
