"""Lists that are simulated item by item: a label follows from its rank, and nothing as long as the list is kept."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from streameval.errors import InputError
from streameval.kinds.question.plan import design_for, setting_of
from streameval.questions.asking import Asking
from streameval.sequential import Answer, DrawnItems

Ranks = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_CHUNK = 1 << 16


@nb.vectorize([nb.float64(nb.int64, nb.int64)])
def uniform(rank: int, seed: int) -> float:
    """A number in [0, 1) of each rank and seed: splitmix64."""
    mixed = nb.uint64(rank) * nb.uint64(0x9E3779B97F4A7C15) + nb.uint64(seed) * nb.uint64(0xD1342543DE82EF95)
    mixed = (mixed ^ (mixed >> nb.uint64(30))) * nb.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> nb.uint64(27))) * nb.uint64(0x94D049BB133111EB)
    return float((mixed ^ (mixed >> nb.uint64(31))) >> nb.uint64(11)) / 2.0**53


@dataclass(frozen=True)
class SimulatedList:
    """Independent labels, positive with a probability that depends on the rank.

    Attributes:
        rate: Of an int64 array of ranks from 1.
        seed: Another one makes another list.
    """

    n_items: int
    rate: Callable[[Ranks], Floats | float]
    seed: int

    def labels(self, rank: Ranks) -> npt.NDArray[np.int8]:
        """Labels of items."""
        return (uniform(rank, self.seed) < self.rate(rank)).astype(np.int8)

    def positives(self, last: list[int]) -> list[int]:
        """How many there are among the first items, up to each of these ranks."""
        ends = sorted({*last})
        found = dict.fromkeys(ends, 0)
        for ranks in _chunks(max(ends, default=0)):
            before = np.cumsum(self.labels(ranks), dtype=np.int64)
            for end in ends:
                inside = min(end, int(ranks[-1])) - int(ranks[0]) + 1
                found[end] += int(before[inside - 1]) if inside > 0 else 0
        return [found[end] for end in last]

    def deepest(self, precision: str) -> int:
        """The deepest rank that has a precision."""
        share, positives, deepest = Fraction(precision), 0, 0
        for ranks in _chunks(self.n_items):
            before = positives + np.cumsum(self.labels(ranks), dtype=np.int64)
            precise = np.flatnonzero(before * share.denominator >= ranks * share.numerator)
            deepest = int(ranks[precise[-1]]) if precise.size else deepest
            positives = int(before[-1])
        return deepest

    def expected_positives(self, last: int) -> float:
        """The same, for all lists with these rates: by the rates at some ranks, which change slowly."""
        ends = np.unique(np.rint(np.geomspace(1, last, 200_000)).astype(np.int64))
        return float(np.diff(ends, prepend=0) @ np.broadcast_to(self.rate(ends), ends.shape))


@dataclass(frozen=True)
class Asked:
    """What became of a question.

    Attributes:
        rounds: The labels that had been asked for after each of the first rounds and the last, and what they prove;
            only the last, where nothing stops it before.
        first: How many were asked for in the first round; of a width that is its pilot.
        state: What the design remembers of its draws.
        refused: Why it was not gone on with.
    """

    rounds: list[tuple[int, Answer]]
    first: int
    state: Mapping[str, Any]
    refused: str

    @property
    def labels(self) -> int:
        """How many were asked for."""
        return self.rounds[-1][0]

    @property
    def answer(self) -> Answer:
        """The last."""
        return self.rounds[-1][1]


def ask(asking: Asking, of: SimulatedList, seed: int, stops: tuple[int, ...] = (), looks: float = math.inf) -> Asked:
    """Ask until there is nothing left to ask, in rounds as large as the design has them.

    Args:
        seed: Of the draw.
        stops: A round ends at each of these numbers of labels, and none begins after the last.
        looks: Rounds after which it is read what the labels prove, where there are `stops`; it is at the end as well.
    """
    design = design_for(asking.asked, setting_of(asking, of.n_items, None, seed=seed))

    def labels(drawn: DrawnItems) -> npt.NDArray[np.int8]:
        return of.labels(drawn.table["rank"].to_numpy())

    drawn, rounds, first, refused = design.start(), [], 0, ""
    try:
        while not stops or drawn.table.num_rows < stops[-1]:
            more = design.next(drawn, labels(drawn), None, seed)
            stop = next((one for one in stops if one > drawn.table.num_rows), more.table.num_rows)
            if more.table.num_rows > stop:
                more = design.next(drawn, labels(drawn), stop - drawn.table.num_rows, seed)
            if more is drawn:
                break
            drawn, first = more, first or more.table.num_rows
            if stops and len(rounds) < looks:
                rounds.append((drawn.table.num_rows, design.answer(drawn, labels(drawn))))
    except InputError as error:
        refused = str(error)
    if not rounds or rounds[-1][0] < drawn.table.num_rows:
        rounds.append((drawn.table.num_rows, design.answer(drawn, labels(drawn))))
    return Asked(rounds, first, drawn.state, refused)


def _chunks(last: int) -> Iterator[Ranks]:
    """All ranks up to one, some at a time."""
    for first, end in itertools.pairwise([*range(0, last, _CHUNK), last]):
        yield np.arange(first + 1, end + 1)
