"""Predictions of every ranking of a list from a judge's column: read once, before there are labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.judges.values import Judge
from streameval.kernels import predictions as one
from streameval.kernels.tied_items import discounts
from streameval.kernels.words import Words
from streameval.per_query.batches import NOTHING, ManyRows, RowBatch
from streameval.per_query.evaluate import measure_streamed
from streameval.per_query.measured import Lowest, Measure, Measured, RankedRange, Rankings
from streameval.per_query.options import PerRanking
from streameval.per_query.sums import Sums
from streameval.progress import Progress
from streameval.rankings.ranking import Ranking
from streameval.scans.units import Unit
from streameval.text import number_of
from streameval.types import Plan
from streameval.typing import FloatArray, Int32Array, Int64Array, UInt64Array

METRICS = ("precision_at", "success_at", "reciprocal_rank_at", "dcg_at")  # in the order of the kernel's


@dataclass(frozen=True)
class Predictions:
    """Predictions of every metric at every cutoff, cutoff by cutoff: numbers in [0, 1].

    Attributes:
        sums, least, greatest (float64 arrays, shape (metrics,)): Of all rankings.
        drawn (float64 array, shape (drawn, metrics)): Of those that were drawn, in this order.
    """

    sums: FloatArray = field(repr=False)
    least: FloatArray = field(repr=False)
    greatest: FloatArray = field(repr=False)
    drawn: FloatArray = field(repr=False)


def predict_all(
    ranking: Ranking, judge: str, of: tuple[Sequence[str], Sequence[int]], drawn: UInt64Array, progress: Progress
) -> Predictions:
    """Predict from a judge's column, in one pass where rankings are stored together; else they are parted first.

    Args:
        of: Columns that name the ranking of a row, and cutoffs.
        drawn (uint64 array): What tells the rankings apart that were drawn; see `draw.DrawnRankings`.

    Raises:
        InputError: No such column; a value that is none of a judge, or missing.
    """
    per, cutoffs = of
    plain = ManyRows.open(ranking, judge, PerRanking(per=tuple(per), at=tuple(map(str, cutoffs))))
    rows = JudgedRows(**vars(plain))
    order = np.argsort(drawn)
    drawn_numbers, count = drawn[order], len(METRICS) * len(cutoffs)

    def collect(parts: Iterator[Measured]) -> Predictions:
        sums, least, greatest = np.zeros(count), np.ones(count), np.zeros(count)
        of_drawn = np.zeros((drawn.size, count))
        for part in parts:
            values, number = part.values[:, :, 0], part.table.column(0).to_numpy()
            sums += values.sum(axis=0)
            least, greatest = np.minimum(least, values.min(axis=0)), np.maximum(greatest, values.max(axis=0))
            at = np.minimum(np.searchsorted(drawn_numbers, number), drawn_numbers.size - 1)
            here = np.flatnonzero(drawn_numbers[at] == number)
            of_drawn[order[at[here]]] = values[here]
        return Predictions(sums, least, greatest, of_drawn)

    predictions, _ = measure_streamed(ranking, rows, [], Predict(rows), collect, progress)
    return predictions


def with_predictions(plan: Plan, column: str, predictions: Predictions, cutoffs: Sequence[int]) -> Plan:
    """Give a plan what a judge's column predicts; from here on `plan_id` covers it."""
    number, table = plan.table.column("stratum").to_numpy(), plan.table
    for m, (name, k) in enumerate((name, k) for k in cutoffs for name in METRICS):
        table = table.append_column(f"predicted_{name}_{k}", pa.array(predictions.drawn[number, m]))
    sides = {side: getattr(predictions, side).tolist() for side in ("sums", "least", "greatest")}
    return replace(plan, table=table).with_notes(predictions={"column": column, **sides})


def predictions_of(plan: Plan) -> Predictions | None:
    """Give what the judge of a plan predicts; None where it has none."""
    note = plan.notes.get("predictions")
    if note is None:
        return None
    first = np.unique(plan.table.column("stratum").to_numpy(), return_index=True)[1]
    columns = [name for name in plan.table.column_names if name.startswith("predicted_")]
    drawn = np.column_stack([plan.table.column(name).to_numpy()[first] for name in columns])
    sums, least, greatest = (np.array(note[side]) for side in ("sums", "least", "greatest"))
    return Predictions(sums, least, greatest, drawn)


@dataclass(frozen=True)
class JudgedRows(ManyRows):
    """Rows whose label is what a judge says: whole numbers from 0 to `YES`. Rankings are told apart as in a draw."""

    def read(self, unit: Unit) -> RowBatch:
        """Decode one unit; an `InputError` names the place of what cannot be used."""
        low, _ = self.identities(unit.read(list(self.options.per)), unit.place)
        column = self.rows.label
        values = Judge(column).said(unit.read([column]).column(0), unit.place)
        missing = int(np.isnan(values).sum()) if values.dtype.kind == "f" else 0
        if missing:
            raise InputError(f"{unit.place}: {number_of(missing, 'row')} without an answer in judge column '{column}'",
                             "give every item one: 0.5, say, if nothing is known of it")  # fmt: skip
        answers = np.rint(values.astype(np.float64) * one.YES).astype(np.uint8)
        return RowBatch(low, NOTHING, self._keys(unit), answers, NOTHING, pa.table({}))

    def names_of(self, low: Words, table: pa.Table, rows: Int64Array | Int32Array) -> list[pa.Array]:
        """Numbers of rankings."""
        return [pa.array(low.astype(np.uint64))]


class Predict(Measure):
    """Measures what a judge predicts, from any thread: `values` have one side, and `table` the rankings' numbers."""

    @cached_property
    def summed_discounts(self) -> tuple[FloatArray, FloatArray]:
        """Discounts of the ranks down to the last cutoff, and their sum down to each cutoff."""
        of_ranks = discounts(int(self.cuts[-1]))
        return of_ranks, np.cumsum(of_ranks)[self.cuts - 1]

    def __call__(self, rankings: Rankings) -> Measured:
        """Predict every metric."""
        sizes = np.diff(rankings.starts)
        out = np.empty((sizes.size, one.METRICS * self.cuts.size))
        keys = rankings.keys.astype(np.uint64, copy=False)
        one.predict(keys, rankings.labels, rankings.starts, self.cuts, self.summed_discounts, out)
        return _predict_part(sizes, out, rankings.names)

    def long(
        self, ranges: Callable[[], Iterator[RankedRange]], grades: tuple[Int64Array, Int64Array], names: list[pa.Array]
    ) -> Measured:
        """Predict the metrics of one ranking that comes in ranges, the best first."""
        state, out = np.empty(one.STATE), np.empty((1, one.METRICS * self.cuts.size))
        one.begin(state)
        for keys, answers, histogram in ranges():
            if histogram is None:
                one.add_sorted(keys, answers, self.cuts, self.summed_discounts, state, out[0])
            else:
                total = int(histogram @ np.arange(histogram.size))
                one.add_group(total, int(histogram.sum()), self.cuts, self.summed_discounts, state, out[0])
            if state[one.ITEMS] >= self.cuts[-1]:
                break
        one.end(self.cuts, self.summed_discounts, state, out[0])
        return _predict_part(np.array([grades[0].sum()]), out, names)


def _predict_part(sizes: Int64Array, values: FloatArray, names: list[pa.Array]) -> Measured:
    table = pa.table(names, names=["number"])
    return Measured(sizes.reshape(-1, 1), values[:, :, None], Sums.nothing(0), table, Lowest(sizes[:0], values[:0], []))
