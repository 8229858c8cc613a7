"""Rows that wait in parts come back as they were, from memory, from a file, or from both."""

import numpy as np
import pyarrow as pa
import pytest

from streameval.spill.store import PartedSpill, ScratchFile, Spill, order_of, placed_by


def test_rows_are_placed_part_by_part_each_in_their_order():
    place, edges = placed_by(np.array([2, 0, 2, 3, 0, 2], np.int32), 5)
    assert place.tolist() == [2, 0, 3, 5, 1, 4]
    assert edges.tolist() == [0, 2, 2, 5, 6, 6]
    assert order_of(place).tolist() == [1, 4, 0, 2, 5, 3]


@pytest.mark.parametrize("memory", [0, 300, 10**6])
def test_columns_and_tables_of_a_part_come_back_as_they_were_added(memory, tmp_path):
    rng = np.random.default_rng(5)
    part, number = rng.integers(0, 4, (3, 40)), np.arange(120, dtype=np.uint64).reshape(3, 40)
    part[part == 1] = 2  # a part without rows
    names = [pa.array([f"row {one}" for one in some]) for some in number.tolist()]
    with ScratchFile(tmp_path / "rows") as file:
        parted = PartedSpill(Spill(file, memory), 4)
        for at in range(3):
            columns = {"number": number[at], "digit": (number[at] % 10).astype(np.uint8)}
            parted.add_rows(part[at].astype(np.int32), columns, pa.table({"name": names[at]}))
        assert parted.sizes.tolist() == np.bincount(part.ravel(), minlength=4).tolist()
        for wanted in (0, 2, 3):
            expected = number[part == wanted].tolist()
            rows = parted.whole(wanted)
            assert rows.column("number").tolist() == expected
            assert rows.column("digit").tolist() == [one % 10 for one in expected]
            assert rows.column("digit").dtype == np.uint8
            assert rows.column("digit").flags.writeable
            assert rows.table().column("name").to_pylist() == [f"row {one}" for one in expected]
            pieces = [piece.column("number").tolist() for piece in parted.pieces(wanted)]
            assert pieces == [number[at][part[at] == wanted].tolist() for at in range(3)]
        assert list(parted.pieces(1)) == []
        assert parted.whole(1).column("number").tolist() == []
        assert parted.whole(1).table().num_columns == 0
        assert (file.size == 0) == (memory == 10**6)


def test_rows_without_a_table_have_one_of_no_columns(tmp_path):
    with ScratchFile(tmp_path / "rows") as file:
        parted = PartedSpill(Spill(file, 0), 2)
        parted.add_rows(np.array([1, 1], np.int32), {"number": np.array([5, 6], np.uint32)}, pa.table({}))
        assert parted.whole(1).table().num_columns == 0
        assert parted.whole(1).column("high").size == 0
