"""Fields of structs are scores, keys, labels and columns under names of their own, wherever the items are stored."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.rankings import open_ranking
from streameval.rows.mapped import FileColumns
from streameval.rows.options import RankingOptions
from streameval.struct_fields import with_fields

N = 1_200
NAMES = ["meta.score", "meta.id", "meta.label", "meta.in.query"]


def flat():
    """Items whose columns are called as fields of structs are."""
    rng = np.random.default_rng(7)
    score = rng.permutation(N) / N
    label, query = (rng.random(N) < score).astype(np.int8), np.sort(rng.integers(0, 9, N))
    text = [None if i % 11 == 0 else f"item {i % 40}" for i in range(N)]
    return pa.table(dict(zip([*NAMES, "meta.in.text"], [score, np.arange(N), label, query, text], strict=True)))


def nested():
    """The same items, with a struct that is null where its text is."""
    plain = flat()
    score, key, label, query, text = (column.combine_chunks() for column in plain.columns)
    names = pa.StructArray.from_arrays([text], ["text"], mask=text.is_null())
    inner = pa.StructArray.from_arrays([query, text], ["query", "text"])
    tags = pa.array([["a", "b"]] * N)
    meta = pa.StructArray.from_arrays([score, key, label, inner, tags], ["score", "id", "label", "in", "tags"])
    return pa.table({"meta": meta, "names": names, "row": np.arange(N)})


def in_memory(table, folder):
    return table


def in_files(table, folder, **how):
    for part in range(2):
        rows = table.slice(part * N // 2, N // 2)
        pq.write_table(rows, folder / f"p{part}.parquet", row_group_size=250, data_page_size=500, **how)
    return folder


def indexed(table, folder):
    return in_files(table, folder, write_page_index=True)


def unindexed(table, folder):
    return in_files(table, folder, use_dictionary=False, compression="zstd", data_page_version="2.0")


def in_a_lake(table, folder):
    deltalake = pytest.importorskip("deltalake", reason="pip install 'streameval[delta]'")
    deltalake.write_deltalake(str(folder / "delta"), table)
    return f"delta:{folder / 'delta'}"


def in_a_changed_lake(table, folder):
    """A table whose older files have no column that was added later."""
    deltalake = pytest.importorskip("deltalake", reason="pip install 'streameval[delta]'")
    place = str(folder / "delta")
    first, second = (table.take(np.arange(part * N // 2, (part + 1) * N // 2)) for part in range(2))
    deltalake.write_deltalake(place, first)
    later = second.append_column("more", pa.array([1] * (N // 2)))
    deltalake.write_deltalake(place, later, mode="append", schema_mode="merge")
    return f"delta:{place}"


STORED = pytest.mark.parametrize("stored", [in_memory, indexed, unindexed, in_a_lake, in_a_changed_lake])


@STORED
def test_fields_are_read_as_columns_of_their_names_are(tmp_path, stored):
    rows, expected = open_ranking(stored(nested(), tmp_path), RankingOptions(score="meta.score")).rows, flat()
    expected = expected.append_column("names.text", expected.column("meta.in.text"))
    names, at = [*expected.column_names], np.arange(3, N, 7)
    order = rows.read(0, N, ["meta.id"]).column(0).to_numpy()  # of a lake, files come as it lists them
    taken = rows.take(at, names).table
    assert taken.column_names == names
    assert taken.to_pylist() == expected.take(pa.array(order[at])).to_pylist()
    read = pa.concat_tables([unit.read(names) for unit in rows.units()]).to_pylist()
    assert read == expected.take(pa.array(order)).to_pylist()


@STORED
def test_plans_and_exact_values_are_those_of_flat_columns(tmp_path, stored):
    (made := tmp_path / "made").mkdir()
    place, options, found = stored(nested(), made), {"score": "meta.score", "key": "meta.id"}, []
    for name, source in (("nested", place), ("flat", flat())):
        streameval.plan(source, tmp_path / name, **options, seed=3, budget=60)
        table = streameval.select(tmp_path / name, ranking=source, columns=["meta.in.text"]).table
        exact = streameval.exact(source, label="meta.label", **options)
        per = streameval.exact(source, label="meta.label", per="meta.in.query", at=[5], **options)
        found.append((table.drop(["se_task"]).to_pylist(), exact.metrics.to_pylist(), per.metrics.to_pylist()))
    assert found[0] == found[1]


def test_a_column_that_is_called_like_a_field_comes_first(tmp_path):
    rows = nested().append_column("meta.score", pa.array(np.arange(N)))
    pq.write_table(rows, tmp_path / "list.parquet")
    opened = open_ranking(tmp_path / "list.parquet", RankingOptions(score="meta.score"))
    assert opened.columns() == ["meta", "names", "row", "meta.score"]
    assert opened.fetch(np.array([1, 2]), ["meta.score"]).table.to_pydict() == {
        "rank": [1, 2], "score": [N - 1, N - 2], "meta.score": [N - 1, N - 2]
    }  # fmt: skip


def test_statistics_of_a_field_rule_row_groups_out(tmp_path):
    rows = nested().sort_by([("row", "ascending")])
    score = pa.StructArray.from_arrays([pa.array(np.arange(N)[::-1] / N)], ["score"])
    pq.write_table(pa.table({"meta": score, "row": rows.column("row")}), tmp_path / "list.parquet", row_group_size=100)
    opened = open_ranking(tmp_path / "list.parquet", RankingOptions(score="meta.score"))
    found = opened.fetch(np.array([1, 150]), ["row"])
    assert (found.table.column("row").to_pylist(), found.rows_scanned) == ([0, 149], 200)


def test_a_score_within_a_struct_that_is_null_is_missing(tmp_path, capsys):
    meta = pa.array([{"score": 0.5}, None, {"score": None}, {"score": 0.7}])
    pq.write_table(pa.table({"meta": meta, "id": [1, 2, 3, 4], "label": [1, 0, 1, 0]}), tmp_path / "list.parquet")
    said = refused(capsys, "exact", tmp_path / "list.parquet", "--score", "meta.score", "--label", "label")
    assert "2 items have no meta.score (null or NaN)" in said
    opened = open_ranking(tmp_path / "list.parquet", RankingOptions(score="meta.score", nan="last", key=("id",)))
    assert opened.fetch(np.array([1, 2]), ["id"]).table.column("id").to_pylist() == [4, 1]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("meta.tags", "'meta.tags' is a list<element: string>: only fields with one value for each item have a name"),
        ("meta.tags.list.element", "'meta.tags' is a list<element: string>"),
        ("meta.in", "'meta.in' is a struct: name one of its fields, such as meta.in.query"),
        ("meta.scor", "did you mean 'meta.score'?"),
        ("meta", "'meta' is a struct: name one of its fields, such as meta.score"),
    ],
)
def test_what_has_several_values_for_an_item_has_no_name(tmp_path, capsys, name, said):
    pq.write_table(nested(), tmp_path / "list.parquet")
    assert said in refused(
        capsys, "plan", str(tmp_path / "list.parquet"), "--study", str(tmp_path / "s"), "--score", name
    )
    if name != "meta":
        assert run(["plan", str(tmp_path / "list.parquet"), "--study", str(tmp_path / "s"), "--budget", "50"]) == 0
        capsys.readouterr()
        assert said in refused(capsys, "select", str(tmp_path / "s"), "--columns", name)


def test_people_are_not_shown_a_struct_with_the_score(tmp_path):
    pq.write_table(nested(), tmp_path / "list.parquet")
    streameval.plan(tmp_path / "list.parquet", tmp_path / "s", score="meta.score", seed=1, budget=50)
    made = streameval.select(tmp_path / "s", export=tmp_path / "tasks.csv")
    assert made.left_out == {"meta": "answer"}


def test_a_lazy_frame_is_in_the_order_of_a_field(tmp_path):
    pytest.importorskip("polars")
    pq.write_table(nested(), tmp_path / "list.parquet")
    frame = streameval.scan_ranking(tmp_path / "list.parquet", score="meta.score").head(3).collect()
    assert frame["meta"].struct.field("score").to_list() == [(N - 1) / N, (N - 2) / N, (N - 3) / N]


def test_a_schema_with_fields_is_not_extended_again():
    schema = with_fields(nested().schema)
    assert with_fields(schema) is schema
    assert schema.names == ["meta", "names", "row", *NAMES, "meta.in.text", "names.text"]


def test_renamed_fields_of_a_lakes_struct_are_refused_rather_than_null():
    kind, stored = pa.struct([("a", pa.int64()), ("b", pa.int64())]), pa.table({"meta": [{"a": 1, "col-2": 2}]})
    columns = FileColumns("f.parquet", with_fields(pa.schema([("meta", kind)])), {"meta": "meta"}, {})
    with pytest.raises(InputError, match="fields of 'meta' have other names than in its table"):
        columns.table(stored, ["meta.b"], 1)
    added = columns.table(pa.table({"meta": [{"a": 1}]}), ["meta.a", "meta.b"], 1)
    assert added.to_pylist() == [{"meta.a": 1, "meta.b": None}]
