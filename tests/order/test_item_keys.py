"""Keys of every type: their tie hashes to the byte, which of them meet, and what is refused."""

import datetime
import decimal
import itertools
import uuid

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

from streameval.errors import InputError
from streameval.kernels.order import NULL_WORD, SEED
from streameval.order.item_keys import as_keys, check_key, family, key_type, meets
from streameval.order.scan import key_hashes

MASK = 2**64 - 1
ID = uuid.UUID("00010203-0405-0607-0809-0a0b0c0d0eff")
MOMENT = datetime.datetime(1969, 12, 31, 23, 59, 58, 500_000)  # rounded down to −2 s
DECIMALS = int.from_bytes(b"decimals", "big")


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def by_hand(*words):
    state = int(SEED)
    for word in words:
        state = mix(state ^ (word & MASK))
    return state


def bytes_as_words(raw):
    return [len(raw), *(int.from_bytes(raw[i : i + 8], "little") for i in range(0, len(raw), 8))]


WORDS = [
    (pa.array([True, False, None]), [[1], [0], [int(NULL_WORD)]]),
    (pa.array([datetime.date(1969, 12, 30), None]), [[-2], [int(NULL_WORD)]]),
    (pa.array([datetime.date(1970, 1, 3)], pa.date64()), [[2]]),
    (pa.array([ID.bytes, None], pa.uuid()), [bytes_as_words(ID.bytes), [int(NULL_WORD)]]),
    (pa.array([ID.bytes], pa.binary(16)), [bytes_as_words(ID.bytes)]),
    (pa.array([b"", b"123456789"]), [[0], bytes_as_words(b"123456789")]),
    (pa.array([MOMENT, None], pa.timestamp("us")), [[-2, 500_000_000], [int(NULL_WORD)]]),
    (pa.array([MOMENT], pa.timestamp("ms", "Europe/Berlin")), [[-2, 500_000_000]]),
    (pa.array([-1], pa.timestamp("ns")), [[-1, 999_999_999]]),
    (pa.array([7], pa.timestamp("s")), [[7, 0]]),
    (
        pa.array(
            [decimal.Decimal(n) for n in (-5, -(2**63), 2**63 - 1, 2**63, 2**64 + 3, -(2**63) - 1)],
            pa.decimal128(38, 0),
        ),
        [[-5], [-(2**63)], [2**63 - 1], [DECIMALS, 2**63, 0], [DECIMALS, 3, 1], [DECIMALS, 2**63 - 1, -1]],
    ),
    (pa.array([decimal.Decimal(12), None], pa.decimal64(4, 0)), [[12], [int(NULL_WORD)]]),
]  # fmt: skip


@pytest.mark.parametrize(("column", "words"), WORDS, ids=lambda one: str(getattr(one, "type", "")))
def test_the_tie_hash_of_every_type_is_that_of_its_words(column, words):
    assert key_hashes(pa.table({"k": column})).tolist() == [by_hand(*each) for each in words]
    padded = pa.chunked_array([column[:1], column]).slice(1)
    assert key_hashes(pa.table({"k": padded})).tolist() == [by_hand(*each) for each in words]


def test_tie_hashes_are_these_numbers():
    columns = [pa.array([ID.bytes], pa.uuid()), pa.array([True]), pa.array([MOMENT]), pa.array([MOMENT.date()]),
               pa.array([decimal.Decimal(2**64)], pa.decimal128(38, 0))]  # fmt: skip
    assert [key_hashes(pa.table({"k": one})).tolist()[0] for one in columns] == [
        16685518167367206811,
        4612200091326365830,
        10335561760790807085,
        18077775345456681098,
        14171402668613641765,
    ]


NUMBERS = [0, 1, 5, 127, 128, 2**24 - 1, 2**31, 2**53 - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -1, -(2**63)]
MOMENTS = [0, 1, 1_000, 86_400_000_000, -86_400_000_001]  # microseconds since 1970
SPELLINGS = {
    "int8": (pa.int8(), lambda n: n if -128 <= n < 128 else None),
    "int64": (pa.int64(), lambda n: n if -(2**63) <= n < 2**63 else None),
    "uint64": (pa.uint64(), lambda n: n if 0 <= n < 2**64 else None),
    "decimal": (pa.decimal128(38, 0), decimal.Decimal),
    "short decimal": (pa.decimal128(10, 0), lambda n: decimal.Decimal(n) if abs(n) < 10**10 else None),
    "double": (pa.float64(), lambda n: float(n) if abs(n) < 2**53 else None),
    "float": (pa.float32(), lambda n: float(n) if abs(n) < 2**24 else None),
    "text": (pa.string(), str),
    "views": (pa.string_view(), str),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), str),
    "bytes": (pa.binary(), lambda n: uuid.UUID(int=n % 2**64).bytes),
    "fixed": (pa.binary(16), lambda n: uuid.UUID(int=n % 2**64).bytes),
    "uuid": (pa.uuid(), lambda n: uuid.UUID(int=n % 2**64).bytes),
    "days": (pa.date32(), lambda n: n if 0 <= n < 128 else None),
    "us": (pa.timestamp("us"), lambda n: n * 1000 if abs(n) < 2**40 else None),
    "ms": (pa.timestamp("ms", "UTC"), lambda n: n if abs(n) < 2**40 else None),
    "booleans": (pa.bool_(), lambda n: bool(n) if n in (0, 1) else None),
}


def column_of(numbers, spelling):
    kind, write = SPELLINGS[spelling]
    written = [write(n) for n in numbers]
    return pa.array([one for one in written if one is not None], kind), [
        n for n, one in zip(numbers, written, strict=True) if one is not None
    ]


@settings(max_examples=examples(150, 5000), deadline=None)
@given(
    a=st.lists(st.sampled_from(NUMBERS) | st.integers(-(2**63), 2**64), min_size=1, max_size=5, unique=True),
    b=st.lists(st.sampled_from(NUMBERS), max_size=4, unique=True),
    kinds=st.tuples(st.sampled_from(sorted(SPELLINGS)), st.sampled_from(sorted(SPELLINGS))),
)
def test_keys_of_any_two_types_that_meet_join_as_pythons_values_do(a, b, kinds):
    own, mine = column_of(a, kinds[0])
    other, theirs = column_of([*b, *a], kinds[1])
    if not meets(other.type, own.type):
        assert family(other.type) != family(own.type)
        return
    wanted = pa.schema([("k", key_type(own.type))])
    try:
        given_as = as_keys(pa.table({"k": other}), wanted, "here")
    except InputError:
        assert kinds[1] in ("text", "views", "dictionary") or None in map(SPELLINGS[kinds[0]][1], theirs)
        return
    left, right = (key_hashes(one).tolist() for one in (as_keys(pa.table({"k": own}), wanted, "here"), given_as))
    modulo = 2**64 if "uuid" in kinds or "bytes" in kinds or "fixed" in kinds else 2**70
    same = {(i, j) for (i, x), (j, y) in itertools.product(enumerate(mine), enumerate(theirs)) if (x - y) % modulo == 0}
    assert {(i, j) for (i, x), (j, y) in itertools.product(enumerate(left), enumerate(right)) if x == y} == same


@pytest.mark.parametrize("kind", [
    pa.decimal128(10, 2), pa.decimal256(60, 0), pa.time64("us"), pa.duration("s"), pa.list_(pa.int64()), pa.null(),
], ids=str)  # fmt: skip
def test_a_type_that_can_be_no_key_is_refused_with_how_to_give_it_as_text(kind):
    with pytest.raises(InputError, match=r"here: column 'id' is .* in SQL id::text"):
        check_key(kind, "id", "here")


@pytest.mark.parametrize(("kind", "first"), [
    (pa.float64(), 2.0**53), (pa.float32(), 2.0**24), (pa.float16(), 2.0**11), (pa.float64(), 0.5),
    (pa.float64(), np.inf),
], ids=str)  # fmt: skip
def test_a_float_that_is_no_exact_whole_number_is_refused_and_its_neighbour_is_not(kind, first):
    wanted = pa.schema([("id", pa.int64())])
    below = first - 1 if 1 < first < np.inf else 1.0
    assert as_keys(pa.table({"id": pa.array([below], kind)}), wanted, "here").column("id").to_pylist() == [int(below)]
    with pytest.raises(InputError, match=f"here: key 'id' {first} is a float that is no exact whole number"):
        as_keys(pa.table({"id": pa.array([below, first], kind)}), wanted, "here")


def test_a_number_that_the_other_type_does_not_hold_is_no_other_number():
    with pytest.raises(InputError, match="here: key column 'id' is uint64, and holds what int64 cannot"):
        as_keys(pa.table({"id": pa.array([2**64 - 1], pa.uint64())}), pa.schema([("id", pa.int64())]), "here")


def test_text_meets_a_uuid_in_every_spelling():
    wanted = pa.schema([("id", pa.uuid())])
    texts = pa.table({"id": [str(ID), ID.hex.upper(), f"{{{ID}}}", f" {ID} ", None]})
    assert as_keys(texts, wanted, "here").column("id").to_pylist() == [ID, ID, ID, ID, None]
    with pytest.raises(InputError, match="here: key column 'id' is string, and holds what"):
        as_keys(pa.table({"id": ["x"]}), wanted, "here")
