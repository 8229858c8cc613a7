"""Many small files are read at once: with the values, and the refusals, of each by itself."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.errors import InputError
from streameval.parquet import layout, small_files
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.rows.row_groups import RowGroup, SmallFiles, together

FILES, ROWS = 20, 30


def items(number, scores=None):
    rng = np.random.default_rng(number)
    rank = np.arange(number * ROWS, (number + 1) * ROWS)
    return pa.table(
        {
            "id": [f"item {i}" for i in rank],
            "score": rng.random(ROWS) if scores is None else scores,
            "label": (rng.random(ROWS) < 0.3).astype(np.int8),
            "good": rng.random(ROWS) < 0.3,
            "day": pa.array([datetime.date(2026, 1, 1 + i % 28) if i % 7 else None for i in rank.tolist()]),
            "cost": pa.array([Decimal(i) / 100 for i in rank.tolist()], pa.decimal128(9, 2)),
            "meta": [{"site": f"s{i % 5}", "n": i} for i in rank.tolist()],
        }
    )


def write(folder, tables=None, **options):
    for number, table in enumerate(tables or map(items, range(FILES))):
        place = folder / f"part={number % 3}" if options.get("parts") else folder
        place.mkdir(parents=True, exist_ok=True)
        given = {name: value for name, value in options.items() if name != "parts"}
        pq.write_table(table, place / f"{number:02d}.parquet", **given)
    return str(folder)


WAYS = [
    {},
    {"compression": "none", "use_dictionary": False},
    {"compression": "zstd", "write_page_index": True, "write_page_checksum": True},
    {"data_page_version": "2.0"},
    {"parts": True},
]


@pytest.mark.parametrize("verify", ["on", "off"])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_small_files_read_at_once_give_what_each_gives(tmp_path, way, verify):
    opened = open_ranking(write(tmp_path / "list", **way), RankingOptions(score="score", verify=verify))
    units = opened.rows.units("score")
    joined = together(units)
    assert [type(unit) for unit in joined] == [SmallFiles]
    names = ["label", "day", "id", "good", "cost", "meta.n", *(["part"] if "parts" in way else [])]
    found = joined[0].read(names)
    assert found.to_pylist() == pa.concat_tables([unit.read(names) for unit in units]).to_pylist()
    assert joined[0].read(["meta"]).num_rows == FILES * ROWS


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_items_of_small_files_are_those_of_their_rows(tmp_path, way):
    path = write(tmp_path / "list", **way)
    rows = open_ranking(path, RankingOptions()).rows
    whole = pa.concat_tables([unit.read(["id", "cost", "meta.site"]) for unit in rows.units()])
    positions = np.arange(3, FILES * ROWS, 11)
    taken = rows.take(positions, ["cost", "id", "meta.site"])
    assert taken.table.to_pylist() == whole.select(["cost", "id", "meta.site"]).take(positions).to_pylist()
    assert taken.row_groups_read == FILES


def test_columns_of_small_files_are_decoded_at_once(tmp_path):
    opened = open_ranking(write(tmp_path / "list"), RankingOptions(score="score"))
    footers = opened.rows.footers
    assert small_files.read_small(footers, ["id", "score", "day", "meta.n"]).num_rows == FILES * ROWS
    assert small_files.read_small(footers, ["meta"]) is None


def test_files_that_are_few_large_or_of_other_schemas_are_left_as_they_are(tmp_path):
    few = open_ranking(write(tmp_path / "few", map(items, range(7))), RankingOptions(score="score"))
    assert {type(unit) for unit in together(few.rows.units())} == {RowGroup}
    large = [pa.table({"score": np.random.default_rng(i).random(10_000)}) for i in range(10)]
    opened = open_ranking(write(tmp_path / "large", large), RankingOptions(score="score"))
    assert {type(unit) for unit in together(opened.rows.units())} == {RowGroup}
    other = [items(i).select(["id", "score"] if i < 10 else ["score", "id"]) for i in range(FILES)]
    mixed = together(open_ranking(write(tmp_path / "mixed", other), RankingOptions(score="score")).rows.units())
    assert [len(unit.parts) for unit in mixed] == [10, 10]


def test_files_read_by_several_threads_share_the_schemas_that_are_equal(tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "_arrow_schema", layout._arrow_schema.__wrapped__)  # as where two threads make it
    other = [items(i).select(["id", "score"] if i < 10 else ["score", "id"]) for i in range(FILES)]
    footers = open_ranking(write(tmp_path, other), RankingOptions(score="score", threads=2)).rows.footers
    assert len({id(footer.schema) for footer in footers}) == 2


def test_a_missing_score_or_label_is_named_by_its_file_and_row(tmp_path):
    tables = [items(i) for i in range(FILES)]
    labels = tables[13]["label"].to_pylist()
    labels[4] = None
    tables[13] = tables[13].set_column(2, "label", pa.array(labels, pa.int8()))
    path = write(tmp_path / "list", tables)
    with pytest.raises(InputError, match=r"13\.parquet: row group 0, row 4 \(from 0\): 1 label missing"):
        streameval.exact(path, score="score")
    labels[4] = 7
    tables[13] = tables[13].set_column(2, "label", pa.array(labels, pa.int8()))
    with pytest.raises(InputError, match=r"13\.parquet: row group 0, row 4 \(from 0\): label 7 is not 0 or 1"):
        streameval.exact(write(tmp_path / "list", tables), score="score")
    tables = [items(i, [None if i == 8 and row == 2 else row / 64 for row in range(ROWS)]) for i in range(FILES)]
    path = write(tmp_path / "scores", tables)
    with pytest.raises(InputError, match=r"08\.parquet: row group 0, row 2 \(from 0\): 1 item has no score"):
        streameval.exact(path, score="score")
    with pytest.raises(InputError, match=r"08\.parquet: row group 0, row 2 "):
        open_ranking(path, RankingOptions(score="score")).fetch(np.array([1]), ["id"])


def test_damage_to_one_of_many_small_files_is_named(tmp_path):
    path = write(tmp_path / "list", compression="none", use_dictionary=False, write_page_checksum=True)
    opened = open_ranking(path, RankingOptions(score="score"))
    file = tmp_path / "list" / "11.parquet"
    chunk = pq.read_metadata(file).row_group(0).column(1)
    raw = bytearray(file.read_bytes())
    raw[chunk.data_page_offset + chunk.total_compressed_size - 3] ^= 1
    file.write_bytes(raw)
    opened = open_ranking(path, RankingOptions(score="score"))
    with pytest.raises(InputError, match=r"11\.parquet: row group 0, column score: .* fails its checksum"):
        opened.fetch(np.array([1]), ["id"])
    file.write_bytes(bytes(raw[:-1] + b"!"))
    with pytest.raises(InputError, match=r"11\.parquet: changed while it was read"):
        opened.fetch(np.array([1]), ["id"])


def test_values_beyond_what_their_file_states_are_refused(tmp_path):
    path = write(tmp_path / "list", compression="none", use_dictionary=False)
    file = tmp_path / "list" / "05.parquet"
    chunk = pq.read_metadata(file).row_group(0).column(1)
    raw = bytearray(file.read_bytes())
    end = chunk.data_page_offset + chunk.total_compressed_size
    raw[end - 8 : end] = np.float64(3.5).tobytes()
    file.write_bytes(raw)
    opened = open_ranking(path, RankingOptions(score="score"))
    with pytest.raises(InputError, match=r"05\.parquet: row group 0, column score: its values go from .* to 3\.5"):
        opened.fetch(np.array([1]), ["id"])
