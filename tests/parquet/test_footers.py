"""Footers of many files, read together: what is found is what each says by itself, and the first at fault is named."""

from dataclasses import fields

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

from streameval.errors import InputError
from streameval.kernels.jit import small
from streameval.parquet import footers as tails
from streameval.parquet import thrift
from streameval.parquet.files import DataFile, in_file_order, list_files, natural_key
from streameval.parquet.footers import Trust, read_footer, read_footers

SCHEMAS = [
    {"id": pa.int64(), "score": pa.float32()},
    {"id": pa.int64(), "score": pa.float64(), "text": pa.string()},
    {"id": pa.int64()},
]


def write(path, rng, schema=0, rows=(3, 0, 7), **options):
    """A file with so many rows in each row group, some scores null or NaN."""
    kinds = SCHEMAS[schema]
    with pq.ParquetWriter(path, pa.schema(kinds).with_metadata(options.pop("metadata", None)), **options) as writer:
        for n in rows:
            scores = [float(value) if value < 0.9 else None for value in rng.random(n)]
            given = {"id": range(n), "score": scores, "text": ["word"] * n}
            writer.write_table(pa.table({name: pa.array(given[name], kind) for name, kind in kinds.items()}))
    return DataFile(str(path), path.name, ())


def facts(footer):
    """What is kept of a footer, to be compared."""
    plain = {field.name: getattr(footer, field.name) for field in fields(footer)}
    bounds = plain.pop("score_bounds")
    if bounds is not None:
        plain |= {"known": bounds.known, "ends": bounds.ends}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in plain.items()}


@pytest.mark.parametrize("score", [None, "score", "text"])
@pytest.mark.parametrize("room", [1, 3000, 1 << 19])
def test_files_read_together_say_what_each_says(tmp_path, monkeypatch, score, room):
    rng = np.random.default_rng(1)
    monkeypatch.setattr(tails, "_ROOM", room)
    files = [
        write(
            tmp_path / f"{i}.parquet",
            rng,
            schema=[0, 0, 1, 0, 2, 1, 1, 0][i],
            rows=rng.integers(0, 9, i),
            metadata={"number": str(i // 3)},
            write_page_index=i % 2 == 0,
        )
        for i in range(8)
    ]
    together = read_footers(files, score, threads=1, trust=Trust())
    assert [facts(one) for one in together] == [facts(read_footer(file, score)) for file in files]
    for file, footer in zip(files, together, strict=True):
        stored = pq.read_metadata(file.path)
        groups = [stored.row_group(i) for i in range(stored.num_row_groups)]
        assert footer.row_group_rows.tolist() == [group.num_rows for group in groups]
        assert footer.schema.equals(pq.read_schema(file.path))
        assert footer.indexed == bool(groups and groups[0].column(0).has_offset_index)
        if score == "score" and score in footer.schema.names:
            said = [group.column(1).statistics for group in groups]
            known = [one is not None and one.has_min_max and not one.null_count for one in said]
            assert footer.score_nulls == sum(one.null_count for one in said if one is not None)
            assert footer.score_bounds.known.tolist() == known
            ends = footer.score_bounds.ends[footer.score_bounds.known].tolist()
            assert ends == [[one.min, one.max] for one, there in zip(said, known, strict=True) if there]


def test_the_first_file_at_fault_is_named(tmp_path):
    rng = np.random.default_rng(2)
    files = [write(tmp_path / f"{i}.parquet", rng, rows=(5, 5)) for i in range(9)]
    for number in (4, 7):
        path = tmp_path / f"{number}.parquet"
        raw = bytearray(path.read_bytes())
        at = raw.rfind(b"\x15") - 1  # the number of rows, somewhere in the last row group
        raw[at - 40 : at] = bytes(40)
        path.write_bytes(raw)
    with pytest.raises(InputError, match=r"4\.parquet") as together:
        read_footers(files, "score", threads=1, trust=Trust())
    with pytest.raises(InputError) as alone:
        read_footer(files[4], "score")
    assert str(together.value) == str(alone.value)


def test_kernels_say_the_same_as_plain_python(tmp_path):
    rng = np.random.default_rng(3)
    files = [write(tmp_path / f"{i}.parquet", rng, rows=rng.integers(0, 9, 4)) for i in range(3)]
    compiled = read_footers(files, "score", threads=1, trust=Trust())
    with small(0):
        plain = [read_footer(file, "score") for file in files]
    assert [facts(one) for one in plain] == [facts(one) for one in compiled]


@pytest.mark.parametrize("leaves", [1, 2, 3, 20])
def test_there_is_room_for_row_groups_of_nothing_but_empty_chunks(tmp_path, leaves):
    path = tmp_path / "list.parquet"
    pq.write_table(pa.table({f"c{i}": [1] for i in range(leaves)}), path)
    raw = path.read_bytes()
    fields, _ = thrift.read_struct(raw[-8 - int.from_bytes(raw[-8:-4], "little") : -8])
    group = {1: (thrift.LIST, (thrift.STRUCT, [{}] * leaves)), 3: (thrift.I64, 0)}
    fields |= {3: (thrift.I64, 0), 4: (thrift.LIST, (thrift.STRUCT, [group] * 1000))}
    footer = thrift.write_struct(fields)
    path.write_bytes(raw[:4] + footer + len(footer).to_bytes(4, "little") + raw[-4:])
    assert read_footer(DataFile(str(path), path.name, ()), "c0").row_group_rows.tolist() == [0] * 1000


@pytest.mark.parametrize("link", ["file", "folder"])
def test_a_file_that_a_link_names_again_is_refused(tmp_path, link):
    write(tmp_path / "a.parquet", np.random.default_rng(4))
    if link == "file":
        (tmp_path / "b.parquet").symlink_to(tmp_path / "a.parquet")
    else:
        (tmp_path / "b").symlink_to(tmp_path)
    with pytest.raises((InputError, OSError), match=r"named twice|Too many levels"):
        list_files(str(tmp_path), None)


@settings(max_examples=examples(120, 300), deadline=None)
@given(st.sets(st.text("012a./", min_size=1, max_size=5), min_size=1, max_size=5), st.sampled_from([None, "natural"]))
def test_the_order_of_files_is_that_of_their_numbers(names, file_order):
    names = sorted(names)
    natural = sorted(names, key=natural_key)
    if file_order is None and natural != names:
        with pytest.raises(InputError, match="unclear"):
            in_file_order(names, "here", file_order)
    else:
        assert in_file_order(names, "here", file_order) == natural
