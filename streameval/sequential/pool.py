"""Items in the order of a draw: what was asked of the first k, what comes next, and how far to draw for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streameval.kernels.sorted_sets import unique
from streameval.sequential import DrawnItems, KnownItems
from streameval.sequential.hash_order import Levels, raise_levels
from streameval.typing import FloatArray, Int8Array, Int64Array

_AHEAD = 3  # rounds that are drawn at once
EMPTY = pa.schema({"rank": pa.int64(), "round": pa.int32(), "order": pa.float64()}).empty_table()


@dataclass(frozen=True)
class DrawnOrder:
    """All items that were drawn, in the order of the draw (arrays of one shape).

    Attributes:
        round: int64, 0 of those that were not asked for yet.
        label: int8, -1 where there is none.
    """

    rank: Int64Array
    order: FloatArray
    round: Int64Array
    label: Int8Array
    levels: Levels

    @staticmethod
    def from_items(drawn: DrawnItems, labels: Int8Array, last: Sequence[int]) -> DrawnOrder:
        """Read what was drawn, in ranges of ranks that end at `last`."""
        levels = Levels(np.array(last, np.int64), np.array(drawn.state["levels"]))
        ahead = drawn.ahead.num_rows
        rounds = np.append(drawn.table.column("round").to_numpy(), np.zeros(ahead, np.int64))
        label = np.append(labels, np.full(ahead, -1, np.int8))
        both = pa.concat_tables([table.select(["rank", "order"]) for table in (drawn.table, drawn.ahead)])
        return DrawnOrder(
            both.column("rank").to_numpy(), both.column("order").to_numpy(), rounds, label, levels
        )._sort()

    def _sort(self) -> DrawnOrder:
        by = np.lexsort((self.rank, self.order))
        return DrawnOrder(self.rank[by], self.order[by], self.round[by], self.label[by], self.levels)

    def sample(self, k: int) -> Int64Array:
        """Tell where those among the first k are that begin their permutation."""
        return np.flatnonzero((self.rank <= k) & (self.order <= self.levels.at(k)))

    def asked(self, k: int) -> Int64Array:
        """Give those of `sample` that were asked for, up to the first that was not."""
        sample = self.sample(k)
        return sample[: int(np.argmin(np.append(self.round[sample], 0) > 0))]

    def drawn_to(
        self, numbers: Mapping[int, int], items: Mapping[int, int], known_items: KnownItems, rng: np.random.Generator
    ) -> DrawnOrder:
        """Draw on until so many were drawn of the first k, of the items that can be, for each k.

        Nothing is drawn where there are enough; else for some rounds, so that a scan finds the items of all of them.
        """
        pool, rounds = self, _AHEAD
        while any(pool.sample(k).size < min(number, items[k]) for k, number in numbers.items()):
            more = {k: self.asked(k).size + rounds * (number - self.asked(k).size) for k, number in numbers.items()}
            wanted = shared_levels(pool.levels.last, more, items)
            pool = pool.raised_to(wanted, known_items, rng)
            rounds += 1
        return pool

    def raised_to(self, wanted: FloatArray, known_items: KnownItems, rng: np.random.Generator) -> DrawnOrder:
        """Draw on up to levels, which never rise with rank."""
        levels, placed = raise_levels(self.levels, wanted, unique(known_items.rank, self.rank), rng)
        new = placed.rank.size
        return DrawnOrder(
            np.append(self.rank, placed.rank),
            np.append(self.order, placed.order),
            np.append(self.round, np.zeros(new, np.int64)),
            np.append(self.label, np.full(new, -1, np.int8)),
            levels,
        )._sort()

    def next(self, numbers: Mapping[int, int]) -> Int64Array:
        """Give the places of items not yet in a round, among the first so many of the permutation of the first k.

        In the order in which they are asked for: by the least number that any of them has, then by place. So it does
        not depend on where rounds begin.
        """
        number = np.full(self.rank.size, np.iinfo(np.int64).max)
        for k, most in numbers.items():
            sample = self.sample(k)[:most]
            number[sample] = np.minimum(number[sample], np.arange(sample.size))
        left = np.flatnonzero((self.round == 0) & (number < np.iinfo(np.int64).max))
        return left[np.argsort(number[left], kind="stable")]

    def begin_round(self, items: Int64Array, number: int) -> DrawnItems:
        """Ask for items in a round of that number."""
        rounds = self.round.copy()
        rounds[items] = number
        by = np.argsort(self.rank)
        table = pa.table({"rank": self.rank[by], "round": rounds[by].astype(np.int32), "order": self.order[by]})
        is_asked = rounds[by] > 0
        ahead = table.filter(pa.array(~is_asked)).drop_columns("round")
        return DrawnItems(table.filter(pa.array(is_asked)), ahead, {"levels": self.levels.level.tolist()})


def shared_levels(last: Int64Array, numbers: Mapping[int, int], items: Mapping[int, int]) -> FloatArray:
    """Levels of the ranges that end at `last` for so many labels of the first k, of the items that can be asked."""
    wanted = [(k, min(1.0, number / items[k])) for k, number in numbers.items() if items[k]]
    return np.array([max((level for k, level in wanted if k >= end), default=0.0) for end in last])
