"""One draw of a cut: its sequence of ranks, what was known before, and how far its order was drawn and asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.sequential import DrawnItems, KnownItems, pilot
from streameval.sequential.density import Density
from streameval.sequential.fixed_sequence import FixedSequence
from streameval.sequential.pool import DrawnOrder
from streameval.sequential.spline import Curves, grid
from streameval.typing import BoolArray, FloatArray, Int8Array, Int64Array

FIRST = 300  # the first rank of a sequence, where the list is as long
SHARES = (0.8, 0.16, 0.032, 0.0064)  # of the probability of a wrong claim, for one draw after another
_LIKELY = 0.9  # of the curves have the precision at the first rank of a sequence
HOPELESS = 0.1  # of them have it there: the sequence is given up
_SHALLOW = 0.05  # quantile of the deepest rank, at which a sequence begins


@dataclass(frozen=True, eq=False)
class Start:
    """A draw, and what is fixed before it.

    Attributes:
        number: Of the draw, from 0: each has an order of its own.
        first_round: Its first; all that was asked for earlier is known. What was positive then counts as long as it is.
        ranks: Its sequence.
        level: To which the order was drawn, by ranges of ranks that end at `ranks`.
        density: To which it was asked for.
        labels: int8, of what was asked for in earlier rounds, by rank, as they were when the draw began.
    """

    number: int
    first_round: int
    ranks: Int64Array
    level: FloatArray
    density: FloatArray
    labels: Int8Array

    @staticmethod
    def begin(number: int, drawn: DrawnItems, labels: Int8Array, ranks: Int64Array) -> Start:
        """Fix a sequence, and freeze what is known."""
        return Start(number, drawn.rounds + 1, ranks, np.zeros(ranks.size), np.zeros(ranks.size), labels)

    @staticmethod
    def from_state(state: Mapping[str, Any]) -> Start | None:
        """Read what `state` gave; None before there was a draw."""
        if "ranks" not in state:
            return None
        levels, density = np.array(state["levels"], float), np.array(state["density"], float)
        ranks, labels = np.array(state["ranks"], np.int64), np.array(state["labels"], np.int8)
        return Start(state["number"], state["first_round"], ranks, levels, density, labels)

    def state(self) -> dict[str, Any]:
        """All of it, JSON-ready."""
        scalars = {"number": self.number, "first_round": self.first_round, "ranks": self.ranks.tolist()}
        return scalars | {
            "levels": self.level.tolist(),
            "density": self.density.tolist(),
            "labels": self.labels.tolist(),
        }

    def sequence(
        self, drawn: DrawnItems, labels: Int8Array, known_items: KnownItems, precision: str, claim: float
    ) -> FixedSequence:
        """The claims of this draw, less what the labels that there are now withdraw."""
        is_earlier = drawn.table["round"].to_numpy() < self.first_round
        earlier = drawn.table["rank"].to_numpy()[is_earlier]
        at_first = pilot.join_known(KnownItems(known_items.rank, known_items.at_plan), earlier, self.labels)
        now = pilot.join_known(known_items, earlier, labels[is_earlier])
        withdrawn = replace(now, planned=at_first.label).withdrawn(1)
        return FixedSequence(self.ranks, at_first, precision, claim * SHARES[self.number], withdrawn)

    def pool(self, drawn: DrawnItems, labels: Int8Array) -> DrawnOrder:
        """Give what was drawn."""
        mine = drawn.table["round"].to_numpy() >= self.first_round
        table = drawn.table.filter(pa.array(mine))
        return DrawnOrder.from_items(
            DrawnItems(table, drawn.ahead, {"levels": self.level.tolist()}), labels[mine], self.ranks.tolist()
        )

    def begin_round(
        self, drawn: DrawnItems, pool: DrawnOrder, wanted: FloatArray, items: Int64Array, size: int
    ) -> DrawnItems:
        """Ask for the `size` items that come first on the way to a density, and remember how far that was.

        Args:
            items: Of each range that are not known.
        """
        density = Density(self.ranks, items, self.density)
        enters = np.where(pool.round == 0, density.enters(wanted, pool.rank, pool.order), np.inf)
        now = np.argsort(enters, kind="stable")[: min(size, int((enters <= 1).sum()))]
        part = float(enters[now[-1]]) if now.size == size else 1.0
        start = replace(self, level=pool.levels.level, density=density.moved(wanted, max(0.0, part)).level)
        mine = pool.begin_round(now, drawn.rounds + 1)
        earlier = drawn.table.filter(pa.array(drawn.table["round"].to_numpy() < self.first_round))
        return DrawnItems(pa.concat_tables([earlier, mine.table]).sort_by("rank"), mine.ahead, start.state())


def sequence_of(
    curves: Curves, possible: Callable[[Int64Array], BoolArray], n_items: int, precision: float
) -> Int64Array:
    """Ranks to claim: from one that is likely to have the precision, though not the deepest that is, down to N.

    Args:
        possible: Which of given ranks can have it, by what is known.
    """
    ranks = grid(min(FIRST, n_items), n_items)
    likely = np.where(possible(ranks), (curves.at(ranks) >= precision).mean(axis=0), 0.0)
    quantile = np.quantile(curves.deepest(precision), _SHALLOW)
    good = np.flatnonzero((likely >= _LIKELY) & (ranks <= max(quantile, ranks[0])))
    return ranks[good[-1] if good.size else int(np.argmax(likely)) :]


def is_hopeless(curves: Curves, rank: int, precision: float) -> bool:
    """Tell whether hardly any curve has the precision at a rank."""
    return float((curves.at(np.array([rank])) >= precision).mean()) < HOPELESS
