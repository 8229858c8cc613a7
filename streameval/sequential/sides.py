"""The sides of a claim, and the draws that evidence for them is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.kernels.block_evidence import Factors, factors
from streameval.kernels.jit import small
from streameval.sequential import PATH, AnswerStatus, DrawnItems, KnownItems
from streameval.sequential.blocks import RankBlocks
from streameval.sequential.growth import FACTORS, Bet
from streameval.typing import BoolArray, FloatArray, Int8Array, Int64Array

_OUTCOMES: tuple[AnswerStatus, ...] = ("pass", "fail")
# `draw` is the place among the draws, from 1, and 0 of an item that was not drawn from a block
_AHEAD = pa.schema({"rank": pa.int64(), "block": pa.int32(), "draw": pa.int64()})
_ASKED = _AHEAD.insert(1, pa.field("round", pa.int32()))


@dataclass(frozen=True)
class ClaimSide:
    """One side of a claim: reached when the evidence for it is.

    Attributes:
        mass (int64 array, shape (blocks,)): Of a bad item.
        positive_is_bad (bool array, shape (blocks,)): Which items are bad.
        beta: The side is false exactly if bad items that were not known have this mass together, or more.
        needed: ln of the evidence that decides.
    """

    mass: Int64Array
    positive_is_bad: BoolArray
    beta: int
    needed: float

    @staticmethod
    def plan(factor: Int64Array, least: int, blocks: RankBlocks, known_items: KnownItems, needed: float) -> ClaimSide:
        """The side that Σ factor·label ≥ least; a known item without a label is bad."""
        counts = (factor * blocks.items)[factor > 0].sum()
        side = ClaimSide(abs(factor), factor < 0, 0, needed)
        block = blocks.find(known_items.rank, known_items.judge_class)
        seen = int((side.mass[block] * side.bad(block, known_items.label)).sum())
        return replace(side, beta=int(counts) - least + 1 - seen)

    def bad(self, block: Int64Array, label: Int8Array) -> Int64Array:
        """1 of each item that is bad, or has no label; else 0."""
        bad: Int64Array = (label != np.where(self.positive_is_bad[block], 0, 1)).astype(np.int64)
        return bad

    def bet(self, made_of: Factors, path: FloatArray) -> Bet:
        """Tell how it stands after the last draw."""
        return Bet(self.mass, self.positive_is_bad, self.beta - int(made_of[-1][-1]), self.needed - float(path[-1]))


@dataclass(frozen=True)
class Course:
    """Draws in their order, as they were asked for.

    Attributes:
        row (int64 array, shape (n,)): Rows of `DrawnItems.table`.
        block, round (int64 arrays): Of each draw; the round of the first is 0.
        label (int8 array).
    """

    row: Int64Array
    block: Int64Array
    round: Int64Array
    label: Int8Array

    @staticmethod
    def from_table(table: pa.Table, labels: Int8Array) -> Course:
        """Put the items that were drawn in order."""
        place = table.column("draw").to_numpy()
        row = np.argsort(place)[np.count_nonzero(place == 0) :]
        block, round_ = (table.column(name).to_numpy()[row].astype(np.int64) for name in ("block", "round"))
        return Course(row, block, round_ - round_[:1].sum(), np.asarray(labels, np.int8)[row])

    def factors(self, side: ClaimSide, left: Int64Array, stakes: Sequence[Mapping[str, Any]], at: int) -> Factors:
        """Give what the evidence of a side is made of.

        Args:
            left (int64 array, shape (blocks,)): Items of each block before the first draw.
            stakes: Of each round, as `Rates.stakes` gave them.
            at: Which of their η are the side's.
        """
        rates, share = (_rows([stake[name] for stake in stakes], left.size) for name in ("rates", "share"))
        q = np.where(side.positive_is_bad, share, 1 - share)
        eta = _rows([stake["eta"][at] for stake in stakes], FACTORS.size)
        draws = self.block, side.bad(self.block, self.label), self.round
        with small(2 * self.block.size * eta.shape[1] * left.size):
            return factors(draws, (side.mass, left, rates, q, eta))


def _rows(values: Sequence[Sequence[float]], width: int) -> FloatArray:
    return np.array(values, float).reshape(-1, width)


@dataclass(frozen=True)
class ClaimStanding:
    """A claim, with the labels so far.

    Attributes:
        outcome: What they prove.
        draws: How many draws that took, or were made.
        sides, paths, bets: Pass and fail; ln of the evidence before each draw and after the last; what comes next.
    """

    outcome: AnswerStatus
    draws: int
    sides: Sequence[ClaimSide]
    paths: Sequence[FloatArray]
    bets: Sequence[Bet]

    @staticmethod
    def from_paths(sides: Sequence[ClaimSide], paths: Sequence[FloatArray], bets: Sequence[Bet]) -> ClaimStanding:
        """The side that the labels prove by counting has it, else that which is reached first."""
        end = paths[0].size
        first = [
            np.append(np.flatnonzero(path >= side.needed), end)[0] for side, path in zip(sides, paths, strict=True)
        ]
        if min(first) == end:
            return ClaimStanding("open", end - 1, sides, paths, bets)
        at = 0 if first[0] <= first[1] else 1
        if paths[1 - at][-1] == np.inf:  # the claim is refuted: more bad items were found than it allows
            at = 1 - at
        return ClaimStanding(_OUTCOMES[at], int(first[at]), sides, paths, bets)

    def path(self, question: str) -> pa.Table:
        """As `PATH`, to the draw that decided."""
        tables, n = [], self.draws + 1
        for name, side, whole in zip(("pass", "fail"), self.sides, self.paths, strict=True):
            path = whole[:n]
            columns = [question] * n, [name] * n, np.arange(n), path, np.full(n, side.needed)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, PATH, strict=True)]
            tables.append(pa.table(arrays, schema=PATH))
        return pa.concat_tables(tables)


def nothing_drawn(**state: Any) -> DrawnItems:
    """Before the first round."""
    return DrawnItems(_ASKED.empty_table(), _AHEAD.empty_table(), state)


def to_ask(rank: Int64Array, block: Int64Array, place: Int64Array) -> pa.Table:
    """Items that were drawn, and are not asked for yet."""
    columns = zip((rank, block, place), _AHEAD, strict=True)
    return pa.table([pa.array(column, field.type) for column, field in columns], schema=_AHEAD)


def blocks_of(table: pa.Table) -> Int64Array:
    """The block of each item of a table."""
    return np.asarray(table.column("block").to_numpy(), np.int64)


def with_round(drawn: DrawnItems, rank: Int64Array, block: Int64Array, place: Int64Array, **state: Any) -> DrawnItems:
    """Ask for some items more, in any order; `state` is what changes of it."""
    round_ = pa.array(np.full(rank.size, drawn.rounds + 1), pa.int32())
    more = to_ask(rank, block, place).add_column(1, "round", round_)
    table = pa.concat_tables([drawn.table, more]).sort_by("rank").combine_chunks()
    return replace(drawn, table=table, state={**drawn.state, **state})
