"""A judge's classes as blocks: which items there are of each, and what a class predicts before there are labels."""

from __future__ import annotations

from typing import cast

import numpy as np
import pyarrow as pa

from streameval.questions import Condition, Question
from streameval.sequential.blocks import RankBlocks
from streameval.sequential.sides import to_ask
from streameval.typing import FloatArray, Int64Array


def reserve_items(blocks: RankBlocks, reserve: pa.Table) -> pa.Table:
    """The items of a judge's reserve, by the blocks that they are in."""
    rank, judge_class, place = (reserve.column(name).to_numpy() for name in ("rank", "judge_class", "place"))
    return to_ask(rank, blocks.find(rank, judge_class), place)


def shift_odds(prior: FloatArray, items: Int64Array, precision: float | None) -> FloatArray:
    """Give what classes predict, as odds times the number that gives their items a precision; unchanged without one."""
    if precision is None or not items.sum():
        return prior
    low, high = -30.0, 30.0  # of its logarithm
    logit = np.log(prior / (1 - prior))
    for _ in range(60):
        middle = (low + high) / 2
        less = float(items @ (1 / (1 + np.exp(-logit - middle)))) < precision * items.sum()
        low, high = (middle, high) if less else (low, middle)
    rates: FloatArray = 1 / (1 + np.exp(-logit - low))
    return rates


def expected_precision(question: Question, expect: str | None) -> float:
    """The precision that is expected, or one halfway from the threshold to the best."""
    if expect is not None:
        return float(expect)
    demand = cast(Condition, question.demand)
    return (float(demand.value) + (demand.operator in (">", ">="))) / 2
