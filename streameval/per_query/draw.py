"""Rankings drawn at random from a list that holds many, and where the first items of each are stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.draw import mix_each, mix_signed
from streameval.kernels.order import position_hashes
from streameval.kernels.sorted_sets import unique
from streameval.order.item_keys import plain_values
from streameval.per_query.batches import ManyRows
from streameval.per_query.options import PerRanking
from streameval.progress import Progress, RowsDone
from streameval.rankings.ranking import Ranking
from streameval.scans.threads import each_unit
from streameval.scans.units import Unit
from streameval.typing import Int64Array, UInt64Array

_STREAM = np.uint64(0x72616E6B696E6773)  # "rankings": no other draw of the same seed is alike
_MOST_ROWS = 1 << 22


@dataclass(frozen=True)
class DrawnRankings:
    """Rankings that were drawn, uniformly and without replacement.

    Attributes:
        total: Rankings that the list holds.
        chosen (uint64 array): What tells those apart that were drawn, in the order of the draw; see `RowBatch.low`.
        names: Of each that was drawn, in the order of the draw: values of the columns that name it, as a JSON list.
        number (int64 array): Of each item to label: which of the rankings it is in.
        place (int64 array): Its place there, from 1.
        position (int64 array): Where it is stored, ascending.
    """

    total: int
    chosen: UInt64Array = field(repr=False)
    names: list[str]
    number: Int64Array = field(repr=False)
    place: Int64Array = field(repr=False)
    position: Int64Array = field(repr=False)


def draw_rankings(
    ranking: Ranking, per: tuple[str, ...], how: tuple[Callable[[int], int], int, int], progress: Progress
) -> DrawnRankings:
    """Draw rankings, and find the first items of each.

    Args:
        per: Columns that name the ranking of a row.
        how: How many rankings of a number of them (`RankingsDraw.drawn_of`), how many items of each, and the seed.
            Items of equal score are ordered by the tie hash of their stored position.

    Raises:
        InputError: Fewer rankings than were to be drawn; more than memory can tell apart; names or scores that are
            null.
    """
    drawn_of, items, seed = how
    rows = ManyRows.open_unlabelled(ranking, PerRanking(per=per))
    units, done = rows.rows.units, RowsDone(2 * rows.n_items, progress)
    numbers, waiting = np.empty(0, np.uint64), list[UInt64Array]()
    for unit, unit_numbers in each_unit(lambda unit: unique(_numbers(rows, unit)), units, ranking.threads):
        waiting.append(unit_numbers)
        if sum(held.size for held in waiting) > max(1 << 20, numbers.size):
            numbers, waiting = unique(numbers, *waiting), []
            _refuse_many(numbers.nbytes, ranking.options.memory)
        done.rows(unit.rows)
    numbers = unique(numbers, *waiting)
    count = drawn_of(int(numbers.size))
    chosen = _draw_rankings(numbers, count, np.uint64(seed))
    top = _Top(chosen, items)
    for unit, part in each_unit(partial(top.rows_of, rows), units, ranking.threads):
        top.add(part)
        done.rows(unit.rows)
    number, place, position = top.result()
    order = np.argsort(position)
    first = np.sort(position[place == 1])
    named = ranking.rows.take(first, list(per)).table
    texts = [
        json.dumps(row, ensure_ascii=False)
        for row in zip(*(plain_values(named.column(name)) for name in per), strict=True)
    ]
    names = [""] * count
    for text, at in zip(texts, number[order][np.searchsorted(position[order], first)].tolist(), strict=True):
        names[at] = text
    return DrawnRankings(int(numbers.size), chosen, names, number[order], place[order], position[order])


def _numbers(rows: ManyRows, unit: Unit) -> UInt64Array:
    """Give what tells the rankings of rows apart, in 64 bits: two of 10^7 names are alike with probability 3e-6."""
    return rows.identities(unit.read(list(rows.options.per)), unit.place)[0]


def _refuse_many(size: int, memory: float) -> None:
    if 4 * size > memory * 1e9:
        raise InputError(f"the list holds more than {size // 8:,} rankings, too many for the memory allowed",
                         "give more with --memory")  # fmt: skip


def _draw_rankings(numbers: UInt64Array, count: int, seed: np.uint64) -> UInt64Array:
    """Rankings whose hash with the seed is smallest, in this order: a uniform draw without replacement."""
    return numbers[np.argsort(_hashes(numbers, seed), kind="stable")[:count]]


def _hashes(numbers: UInt64Array, seed: np.uint64) -> UInt64Array:
    """Hash each number with the seed; a salt below 2^63 is mixed as a signed word, as in every plan that there is."""
    salt = mix_each(np.array([seed ^ _STREAM]))
    salted = mix_each(salt ^ numbers) ^ salt
    return mix_each(salted) if salt[0] >> np.uint64(63) else mix_signed(salted.view(np.int64)).view(np.uint64)


class _Top:
    """The first items of some rankings, so far."""

    def __init__(self, chosen: UInt64Array, items: int) -> None:
        self._order = np.argsort(chosen)
        self._chosen, self._items = chosen[self._order], items
        self._held: list[tuple[Int64Array, UInt64Array, Int64Array]] = []
        self._rows = 0

    def rows_of(self, rows: ManyRows, unit: Unit) -> tuple[Int64Array, UInt64Array, Int64Array]:
        """Rows of a unit that are in a ranking that was drawn: its number, their key and position."""
        numbers = _numbers(rows, unit)
        at = np.minimum(np.searchsorted(self._chosen, numbers), self._chosen.size - 1)
        inside = np.flatnonzero(self._chosen[at] == numbers)
        position = inside + unit.first_position
        if rows.rows.order is None:
            return self._order[at[inside]], position.astype(np.uint64), position
        return self._order[at[inside]], rows.rows.keys(unit)[inside], position

    def add(self, rows: tuple[Int64Array, UInt64Array, Int64Array]) -> None:
        """Take in rows."""
        self._held.append(rows)
        self._rows += rows[0].size
        if self._rows > _MOST_ROWS:
            number, key, _, position = self._first()
            self._held, self._rows = [(number, key, position)], 0

    def _first(self) -> tuple[Int64Array, UInt64Array, Int64Array, Int64Array]:
        number, key, position = (np.concatenate(parts) for parts in zip(*self._held, strict=True))
        order = np.lexsort((position, position_hashes(position), key, number))
        number, key, position = number[order], key[order], position[order]
        starts = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
        place = np.arange(number.size) - np.repeat(starts, np.diff(np.append(starts, number.size))) + 1
        kept = place <= self._items
        return number[kept], key[kept], place[kept], position[kept]

    def result(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Number of its ranking, place and position of each item."""
        number, _, place, position = self._first()
        return number, place, position


def plan_table(drawn: DrawnRankings) -> pa.Table:
    """The table of a plan: `rank` is the stored row, from 1; `stratum` the ranking, `ranking` its name."""
    return pa.table(
        {
            "rank": drawn.position + 1,
            "stratum": drawn.number.astype(np.int32),
            "place": drawn.place,
            "ranking": pa.array([drawn.names[at] for at in drawn.number.tolist()], pa.string()),
        }
    )
