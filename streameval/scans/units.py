"""Unit of reading: consecutive rows, such as a row group of a Parquet file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from streameval.errors import InputError

if TYPE_CHECKING:  # help texts name the options of a list, and need neither
    import pyarrow as pa

    from streameval.typing import AnyArray, UInt64Array

T = TypeVar("T")


class Unit(ABC):
    """Consecutive rows that are read at once.

    Attributes:
        first_position: Stored position of its first row.
        rows: Number of rows.
        score_bytes: Stored size of the column of scores, bytes; 0 where that is not known.
    """

    first_position: int
    rows: int
    score_bytes: int = 0

    @property
    def file(self) -> str:
        """The file that it is from; empty where there is none."""
        return ""

    @property
    @abstractmethod
    def place(self) -> str:
        """The place, for messages."""

    @property
    def parts(self) -> Sequence[Unit]:
        """Give what it is made of, where that is more than one: names the place of what is wrong more closely."""
        return ()

    @abstractmethod
    def read(self, columns: Sequence[str]) -> pa.Table:
        """Read the columns of all its rows; an `InputError` names the place where a file is damaged or changed."""

    def bits(self, column: str, more: Sequence[Unit] = ()) -> UInt64Array | None:
        """Read 0/1 or booleans as bits (`streameval.kernels.bits`), with those of others of its file that follow.

        None: read the column; or each by itself.
        """
        return None

    def numbers(self, column: str, room: UInt64Array, order: str = "sorted") -> AnyArray | None:
        """Read numbers, "sorted" or in "any" order, as they are stored, into `room`; None: read the column."""
        return None

    def advise(self, columns: Sequence[str], more: Sequence[Unit] = ()) -> None:  # noqa: B027  (most storage has no use for it)
        """Prepare for columns to be read soon, with those of others of its file."""

    def for_workers(self) -> Unit:
        """Give the same for other machines; an `InputError` where they cannot read it, as in memory."""
        raise InputError("a table in memory cannot be scanned elsewhere", "leave the engine out, or give files")


def by_file(units: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Units of one file after the other; those that are of none by themselves."""
    for _, of_file in groupby(enumerate(units), lambda numbered: numbered[1].file or numbered[0]):
        yield [unit for _, unit in of_file]


def readers(units: Sequence[Unit], bytes_per_row: int, memory: float) -> int:
    """Tell how many units of a list can be read at once in `memory` bytes."""
    return int(memory // (bytes_per_row * max((unit.rows for unit in units), default=1)))


def parts_of(units: Sequence[Unit]) -> Iterator[Unit]:
    """Give what units are made of, one after another."""
    for unit in units:
        yield from unit.parts or (unit,)


def read_narrowly(read: Callable[[Unit], T], unit: Unit) -> T:
    """Read a unit; where something is wrong with it, what reading one of its parts says of it."""
    try:
        return read(unit)
    except InputError:
        for part in unit.parts:
            read(part)
        raise
