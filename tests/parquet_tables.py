"""Hypothesis strategies for Parquet files: any type that Arrow can write, any way to write it."""

import datetime
import decimal

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

SCALARS = {
    pa.int8(): st.integers(-128, 127),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.float16(): st.sampled_from([0.0, 1.5, -2.0]),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12),
    pa.large_string(): st.text("abc", max_size=3),
    pa.binary(): st.binary(max_size=9),
    pa.binary(3): st.binary(min_size=3, max_size=3),
    pa.decimal128(12, 3): st.decimals(-999, 999, places=3),
    pa.decimal256(40, 2): st.decimals(-999, 999, places=2),
    pa.date32(): st.dates(),
    pa.time64("us"): st.times(),
    pa.timestamp("us", "Europe/Berlin"): st.datetimes(
        datetime.datetime(1970, 1, 2), datetime.datetime(2100, 1, 1), timezones=st.just(datetime.UTC)
    ),
    pa.timestamp("ns"): st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2100, 1, 1)),
    pa.duration("ms"): st.timedeltas(datetime.timedelta(0), datetime.timedelta(days=9)).map(
        lambda d: datetime.timedelta(milliseconds=d // datetime.timedelta(milliseconds=1))
    ),
}
assert decimal.getcontext().prec >= 28


@st.composite
def types(draw, depth=2):
    """A type and a strategy of its values, nulls among them."""
    kind = draw(st.sampled_from(["scalar", "scalar", "list", "struct", "map", "fixed"] if depth else ["scalar"]))
    if kind == "scalar":
        one = draw(st.sampled_from(list(SCALARS)))
        return one, st.none() | SCALARS[one]
    inner, values = draw(types(depth=depth - 1))
    if kind == "list":
        return pa.list_(inner), st.none() | st.lists(values, max_size=4)
    if kind == "fixed":
        return pa.list_(inner, 2), st.lists(values, min_size=2, max_size=2)
    other, more = draw(types(depth=depth - 1))
    if kind == "struct":
        fields = st.fixed_dictionaries({"a": values, "b": more})
        return pa.struct([("a", inner), ("b", other)]), st.none() | fields
    keys = st.text("xyz", max_size=2)
    entries = st.lists(st.tuples(keys, more), max_size=3)
    return pa.map_(pa.string(), other), st.none() | entries


@st.composite
def tables(draw, n_rows=(1, 120)):
    """A table of one to three columns; few distinct values, so that dictionaries and runs appear."""
    n = draw(st.integers(*n_rows))
    columns = {}
    for name in draw(st.sampled_from([["a"], ["a", "b.c"], ["a", "b", "rank"]])):
        kind, values = draw(types())
        few = draw(st.lists(values, min_size=1, max_size=6))
        picks = draw(st.randoms(use_true_random=False))
        columns[name] = pa.array([picks.choice(few) for _ in range(n)], kind)
    return pa.table(columns)


def pages_of(rows):
    """Options by which pyarrow ends a page after so many values: the size is looked at once a batch."""
    return {"write_batch_size": rows, "data_page_size": 1}


def _cuts_pages_by_rows():
    try:
        pq.write_table(pa.table({"a": [1]}), pa.BufferOutputStream(), max_rows_per_page=1)
    except TypeError:
        return False
    return True


CUTS_PAGES_BY_ROWS = _cuts_pages_by_rows()  # pyarrow 22 does not


@st.composite
def write_options(draw, index=None):
    """How to write it with pyarrow."""
    return {
        "compression": draw(st.sampled_from(["none", "snappy", "gzip", "brotli", "lz4", "zstd"])),
        "data_page_version": draw(st.sampled_from(["1.0", "2.0"])),
        "use_dictionary": draw(st.booleans()),
        "write_page_index": draw(st.booleans()) if index is None else index,
        "write_page_checksum": draw(st.booleans()),
        **({"max_rows_per_page": draw(st.sampled_from([1, 3, 17, 1000]))} if CUTS_PAGES_BY_ROWS else {}),
        "data_page_size": draw(st.sampled_from([1, 64, 1 << 20])),
        "write_batch_size": draw(st.sampled_from([1, 5, 1024])),
        "row_group_size": draw(st.sampled_from([7, 40, 1000])),
        "dictionary_pagesize_limit": draw(st.sampled_from([1, 30, 1 << 20])),
        "store_schema": draw(st.booleans()),
    }
