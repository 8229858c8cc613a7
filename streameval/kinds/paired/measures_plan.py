"""What a plan of two rankings draws besides, for measures that weigh items by rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kinds.paired.weighted import WeightedDraw, WeightedNeeds
from streameval.paired_draws.pair import COUNTS, DrawnPair, ScoreCutoffs
from streameval.questions.comparing import Comparing
from streameval.typing import BoolArray, FloatArray, Int32Array, Int64Array


def weighted_draw(comparing: Comparing, items: int, at: Int64Array | ScoreCutoffs) -> WeightedDraw | None:
    """What is drawn for measures, of lists of which the longer has so many items; None where none is asked for."""
    if not comparing.measures:
        return None
    if isinstance(at, ScoreCutoffs):
        raise InputError("--at names scores and a measure by rank", "plan each kind into a study of its own")
    error = (1 - comparing.certainty) / (2 * (at.size + len(comparing.measures)))
    variance = comparing.min_precision * (1 - comparing.min_precision)
    return WeightedDraw.of(comparing.measures, items, at, WeightedNeeds(comparing.half_width, error, variance))


def with_bins(sizes: Int64Array, kept: FloatArray, weighted: WeightedDraw) -> tuple[Int64Array, FloatArray]:
    """Ranks and rates of a draw of all that the measures need, and of what cutoffs do, at rates `kept`."""
    rates = weighted.largest_rates()
    at = np.searchsorted(weighted.ends, sizes)
    rates[at] = np.maximum(rates[at], kept)
    return weighted.ends, rates


def at_cutoffs(drawn: DrawnPair, ends: Int64Array, sizes: Int64Array) -> DrawnPair:
    """What was counted and drawn, by cutoffs alone, which are among the ends."""
    at = np.searchsorted(ends, sizes)
    counts = {name: getattr(drawn, name)[at] for name in COUNTS}
    table = drawn.table
    for name in ("first_a", "first_b"):
        first = np.searchsorted(at, table.column(name).to_numpy()).astype(np.int32)
        table = table.set_column(table.column_names.index(name), name, pa.array(first))
    return DrawnPair(table, **counts, cells=None)


@dataclass(frozen=True)
class PlannedMeasures:
    """Measures of a plan.

    Attributes:
        notes: What the plan keeps of each.
        group (int32 arrays, shape (n,)): Of each, the group of every drawn item; -1 where it counts nothing.
        probability (float64 array, shape (n,)): The largest rate of each item.
    """

    notes: Sequence[dict[str, Any]]
    group: Sequence[Int32Array]
    probability: FloatArray

    @staticmethod
    def of(weighted: WeightedDraw | None, drawn: DrawnPair, known: BoolArray) -> PlannedMeasures:
        """From the draw of all bins; `known` are items that were labelled before."""
        probability = np.zeros(known.size)
        if weighted is None or drawn.cells is None:
            return PlannedMeasures((), (), probability)
        bins = tuple(drawn.table.column(name).to_numpy().astype(np.int64) for name in ("first_a", "first_b"))
        cells, before = drawn.cells.sum(axis=0), np.zeros(drawn.cells.shape[1:], np.int64)
        np.add.at(before, tuple(one[known] for one in bins), 1)
        notes, group = [], []
        for measure in weighted.measures:
            note, of_cell = weighted.groups(measure, cells, before)
            own = of_cell[bins]
            probability = np.maximum(probability, np.where(own >= 0, np.array(note["rates"])[own], 0.0))
            notes.append(note)
            group.append(own.astype(np.int32))
        return PlannedMeasures(notes, group, probability)

    @property
    def columns(self) -> dict[str, Int32Array]:
        """Columns of the plan."""
        return {f"measure_{i}": one for i, one in enumerate(self.group)}
