"""One law of keys: wherever rows meet by a key, of whatever type and from whatever file, they are equal as values.

Where a place does not read a type so, it refuses it in a line; no row ever joins another item.
"""

import collections
import csv
import datetime
import decimal
import json
import uuid

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from suite_cases import slow

import streameval
from streameval.errors import InputError
from streameval.study import Study

N = 12
GIVEN = [*range(0, N, 2), N + 5]  # items of the other table; the last is none of the list
DAY = datetime.datetime(2000, 1, 1)
BERLIN = datetime.timezone(datetime.timedelta(hours=1))


def moment(i):
    return f"2001-09-09T01:46:40.{i:09d}"


KEYS = {  # type of the list's key; the key of an item; how a text has it; other types that have it, and how
    "int64": (pa.int64(), lambda i: 2**53 + i, str, [(pa.decimal128(38, 0), decimal.Decimal), (pa.uint64(), int)]),
    "int8": (pa.int8(), lambda i: i - 3, "{}.0".format, [(pa.float64(), float), (pa.int64(), int)]),
    "uint64": (pa.uint64(), lambda i: 2**64 - 1 - i, str, [(pa.decimal128(20, 0), decimal.Decimal)]),
    "decimal": (pa.decimal128(38, 0), lambda i: decimal.Decimal(10**20 + i), str, []),
    "float64": (pa.float64(), float, "{:.0f}".format, [(pa.int32(), int), (pa.float32(), float)]),
    "text": (pa.string(), "k{}".format, str, [(pa.dictionary(pa.int32(), pa.string()), str), (pa.string_view(), str)]),
    "uuid": (pa.uuid(), lambda i: uuid.UUID(int=7919 * i).bytes, lambda raw: str(uuid.UUID(bytes=raw)).upper(),
             [(pa.binary(16), bytes), (pa.string(), lambda raw: uuid.UUID(bytes=raw).hex)]),
    "bytes": (pa.binary(), lambda i: b"k%d" % i, bytes.decode, [(pa.large_binary(), bytes)]),
    "day": (pa.date32(), lambda i: DAY.date() + datetime.timedelta(i), str, [(pa.date64(), lambda day: day)]),
    "moment": (pa.timestamp("ns"), lambda i: 10**18 + i, lambda ns: moment(ns - 10**18), []),
    "zoned": (pa.timestamp("us", "UTC"), lambda i: DAY + datetime.timedelta(hours=i),
              lambda time: time.replace(tzinfo=datetime.UTC).astimezone(BERLIN).isoformat(),
              [(pa.timestamp("ns"), lambda time: time), (pa.timestamp("s", "Asia/Tokyo"), lambda time: time)]),
}  # fmt: skip


def items_of(name):
    """The list, best first, with a score and a column that no label is in."""
    kind, key, _, _ = KEYS[name]
    return pa.table({"id": pa.array([key(i) for i in range(N)], kind), "score": [float(N - i) for i in range(N)]})


def in_memory(name, kind, rows, path):
    own, _, _, others = KEYS[name]
    write = dict([(own, lambda value: value), *others])[kind]
    return pa.table({"id": pa.array(map(write, rows["id"]), kind), **{key: rows[key] for key in rows if key != "id"}})


def in_parquet(name, kind, rows, path):
    pq.write_table(in_memory(name, kind, rows, path), path)
    return str(path)


def in_csv(name, kind, rows, path):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([rows, *zip(map(KEYS[name][2], rows["id"]), *list(rows.values())[1:], strict=True)])
    return str(path)


def in_json_lines(name, kind, rows, path):
    texts = zip(map(KEYS[name][2], rows["id"]), *list(rows.values())[1:], strict=True)
    path.write_text("".join(json.dumps(dict(zip(rows, row, strict=True))) + "\n" for row in texts))
    return str(path)


def forms_of(name):
    """Give the types and files in which another table may have a key."""
    own, _, _, others = KEYS[name]
    for kind in (own, *(kind for kind, _ in others)):
        stored = [] if pa.types.is_dictionary(kind) or kind == pa.string_view() else [in_parquet]
        yield from ((kind, write) for write in (in_memory, *stored))
    yield from ((pa.string(), write) for write in (in_csv, in_json_lines))


ALL = {"budget": N, "seed": 1}
JOINED = [i in GIVEN for i in range(N)]


def evaluate(items, given, study):
    streameval.plan(items, study, **ALL)
    streameval.select(study, ranking=items)
    return streameval.evaluate(study, labels=given, on="id").labels.known.tolist()


def adopt(items, given, study):
    streameval.adopt(items, study, labels=given, on="id", drawn="unknown")
    ranks = Study(study).plan().ranks.tolist()
    return [i + 1 in ranks for i in range(N)]


def reuse(items, given, study):
    streameval.plan(items, study, reuse=given, on="id", labels_unseen_by_model="yes", **ALL)
    return streameval.evaluate(study).labels.known.tolist()


def judge(items, given, study):
    streameval.plan(items, study, judge=f"sample={N}", **ALL)
    streameval.select(study, ranking=items, columns="id", export=study.with_suffix(".csv"))
    plan = streameval.judge(study, given, on="id")
    said = dict(zip(*(plan.judge_sample.column(name).to_pylist() for name in ("rank", "judge")), strict=True))
    return [said[i + 1] == 1 for i in range(N)]


def controls(items, given, study):
    streameval.plan(items, study, **ALL)
    streameval.select(study, ranking=items, columns="id", export=study.with_suffix(".csv"), controls=given)
    shown = pyarrow.csv.read_csv(study.with_suffix(".csv"), convert_options=pyarrow.csv.ConvertOptions(
        column_types={"id": pa.string()})).column("id").to_pylist()  # fmt: skip
    count = collections.Counter(shown)
    assert sorted(count.values()) == [1] * (N - len(GIVEN) + 2) + [2] * (len(GIVEN) - 1)
    tasks = dict(zip(streameval.select(study, ranking=items).table.column("rank").to_pylist(), range(N), strict=True))
    assert len(tasks) == N
    return JOINED  # each of those given is shown as the list has it, beside the item itself


def exact_labels(items, given, study):
    found = streameval.exact(items, labels=given, on="id", labels_are="positives", score="score")
    positives = [round(found.curve.precision_at(k)[0] * k) for k in range(1, N + 1)]
    return [b > a for a, b in zip([0, *positives], positives, strict=False)]


def positives(items, given, study):
    rows = items.append_column("q", pa.array([1] * N)).append_column("label", pa.array([int(one) for one in JOINED]))
    found = streameval.exact(rows.drop_columns("score"), per="q", key="id", label="label", positives=given)
    assert found.rankings.column("misses").to_pylist() == [1]
    return JOINED


def against(items, given, study):
    """The list against the one that is given: best in it are items 10 and that which the list lacks."""
    streameval.plan(items, study, against=given, score="score", key="id", questions="gain@2", seed=1)
    ranks = Study(study).plan().ranks.tolist()
    assert ranks == [1, 2, N + len(GIVEN) - 1, N + len(GIVEN)]
    return JOINED


PLACES = {one.__name__: one for one in (evaluate, adopt, reuse, judge, controls, exact_labels, positives, against)}
NUMBERS = {"judge": range(N), "adopt": GIVEN[:-1]}  # which take no row of another item
MORE = {
    "positives": {"q": [1] * len(GIVEN)},
    "against": {"score": [float(i) for i in range(len(GIVEN))]},
    "judge": {"label": list(map(int, JOINED))},
    "adopt": {"label": [1] * (len(GIVEN) - 1)},
}
TEXTS = (in_csv, in_json_lines)
REFUSED = {  # in a line that has a key of each side: a list of text has types of its own, and none of these
    **{("positives", name): TEXTS for name in ("uint64", "decimal", "bytes", "moment", "zoned")},
    **{("against", name): TEXTS for name in ("uint64", "decimal", "bytes", "moment", "zoned")},
}
LAW = [(place, name, form) for place in PLACES for name in KEYS for form in forms_of(name)]


def is_refused(place, name, kind, write):
    return write in REFUSED.get((place, name), ())


@pytest.mark.parametrize(
    ("place", "name", "form"),
    [*LAW[::13], *slow(*(one for at, one in enumerate(LAW) if at % 13))],
    ids=lambda one: f"{one[0]} {one[1].__name__}" if isinstance(one, tuple) else one,
)
def test_keys_meet_by_value_in_every_place_from_every_form(place, name, form, tmp_path):
    kind, write = form
    keys = [KEYS[name][1](i) for i in NUMBERS.get(place, GIVEN)]
    given = write(name, kind, {"id": keys, **MORE.get(place, {"label": [1] * len(GIVEN)})}, tmp_path / "given")
    if is_refused(place, name, kind, write):
        with pytest.raises(InputError, match=r"id is|the control items is not"):
            PLACES[place](items_of(name), given, tmp_path / "study")
    else:
        assert PLACES[place](items_of(name), given, tmp_path / "study") == JOINED


UUIDS = [uuid.UUID(int=7919 * i + 1) for i in range(8)]


def compared(study, new, old):
    streameval.plan(new, study, against=old, score="score", key="id", questions="gain@2", seed=1)
    return Study(study).plan().ranks.tolist()


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("tied", [False, True])
def test_texts_of_uuids_meet_uuids_of_the_other_list_ties_included(order, tied, tmp_path):
    score = [1.0] * 8 if tied else [float(i) for i in range(8)]
    raw = pa.array([one.bytes for one in UUIDS], pa.uuid())
    lists = [pa.table({"id": raw, "score": score}),
             pa.table({"id": [f"{{{one}}}".upper() for one in UUIDS], "score": score})][::order]  # fmt: skip
    assert compared(tmp_path / "s", *lists) == []  # the tops are the same
    lists[1] = lists[1].set_column(1, "score", [[-one for one in range(8)]])
    assert len(compared(tmp_path / "t", *lists)) > 0
    shown = streameval.select(tmp_path / "t", ranking=tuple(lists), columns="id").table.column("id")
    assert set(shown.to_pylist()) <= set(UUIDS)


@pytest.mark.parametrize(("strange", "tied"), [(0, False), (7, False), (5, True)])
def test_text_that_is_no_uuid_beside_uuids_is_refused_in_a_line(strange, tied, tmp_path):
    texts = [str(one) for one in UUIDS]
    texts[strange] = "k7"
    score = [1.0] * 8 if tied else [float(i) for i in range(8)]
    lists = [pa.table({"id": pa.array([one.bytes for one in UUIDS], pa.uuid()), "score": score}),
             pa.table({"id": texts, "score": score})]  # fmt: skip
    with pytest.raises(InputError, match=r"id is k7|key 'id' 'k7' is no UUID|'k7' is no UUID") as caught:
        compared(tmp_path / "s", *lists)
    assert "::text" in caught.value.line
