"""Work on each unit in threads: in stored order, as few at once as were asked for, and progress of every row."""

from dataclasses import dataclass
from threading import Barrier

import pyarrow as pa
import pytest

from streameval.errors import InputError
from streameval.scans.threads import each_unit
from streameval.scans.units import Unit, by_file


@dataclass(frozen=True)
class Some(Unit):
    first_position: int
    rows: int
    file: str = ""

    @property
    def place(self):
        return f"row {self.first_position}"

    def read(self, columns):
        return pa.table({})


UNITS = [Some(0, 3), Some(3, 4), Some(7, 2), Some(9, 1)]


def test_units_come_in_stored_order_and_progress_is_told_of_every_row():
    both, told = Barrier(2), []

    def work(unit):
        if unit.first_position < 7:
            both.wait(30)  # two are at work at once
        return unit.rows * 10

    found = list(each_unit(work, UNITS, 2, lambda done, total: told.append((done, total))))
    assert found == [(UNITS[0], 30), (UNITS[1], 40), (UNITS[2], 20), (UNITS[3], 10)]
    assert told == [(3, 10), (7, 10), (9, 10), (10, 10)]


def test_an_error_of_a_unit_is_raised_in_its_turn_and_no_more_units_are_begun():
    begun, told = [], []

    def work(unit):
        begun.append(unit.first_position)
        if unit.first_position == 3:
            raise InputError("damaged")

    with pytest.raises(InputError, match="damaged"):
        list(each_unit(work, [*UNITS, *(Some(10 + i, 1) for i in range(50))], 1, lambda *rows: told.append(rows)))
    assert told == [(3, 60)]
    assert len(begun) < 5


def test_units_of_one_file_come_together_and_those_of_none_alone():
    units = [Some(0, 1, "a"), Some(1, 1, "a"), Some(2, 1, "b"), Some(3, 1), Some(4, 1)]
    assert [[unit.first_position for unit in some] for some in by_file(units)] == [[0, 1], [2], [3], [4]]


def test_rows_in_memory_are_not_for_workers():
    with pytest.raises(InputError, match="a table in memory cannot be scanned elsewhere"):
        UNITS[0].for_workers()
