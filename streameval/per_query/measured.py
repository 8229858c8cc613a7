"""Metrics of a batch of rankings, as rows of rankings.parquet, and their sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels import ranking_metrics as one
from streameval.kernels.jit import small
from streameval.kernels.segments import measure, repeated
from streameval.kernels.tied_items import EXPECTED, Tables, discounts
from streameval.kernels.untied import measure_untied
from streameval.kernels.words import Words
from streameval.per_query.batches import ManyRows, RowBatch
from streameval.per_query.options import OptionalMeasures
from streameval.per_query.sums import Sums
from streameval.scans.threads import own_room
from streameval.text import number_of
from streameval.typing import BoolArray, FloatArray, Int32Array, Int64Array, UInt8Array, UInt64Array

MOST = 1 << 15  # rankings measured at once
WHOLE = ("average_precision", "reciprocal_rank", "ndcg", "r_precision", "bpref", "roc_auc")
AT_CUTOFF = ("average_precision_at", "precision_at", "recall_at", "reciprocal_rank_at", "ndcg_at", "success_at")
# what follows from the kernel's metrics and facts stands behind them
LOG_AP = "log_average_precision"
FOLLOWING = ("set_precision", "set_recall", "set_f1", LOG_AP)
FOLLOWING_AT = ("f1_at", "f0.5_at", "f2_at", "judged_at")
LEAST_AP = 1e-5  # average precision below it counts as it in a geometric mean, as trec_eval has it
_BETAS = (1.0, 0.5, 2.0)
SIDES = ("worst", "expected", "best")
_DISCOUNTS = 1 << 16
LOWEST = 20
# of a long ranking: sorted items; or the grades of items that all have one score
RankedRange = tuple[UInt64Array, UInt8Array, Int64Array | None]


def metric_names(cuts: Sequence[int], optional: OptionalMeasures) -> list[tuple[str, str]]:
    """Name and argument of every metric, those of the kernel first; the argument is empty where there is none."""
    of_kernel = [
        *((name, "") for name in WHOLE),
        *((name, str(k)) for k in cuts for name in AT_CUTOFF),
        *optional.names,
    ]
    following = [*((name, "") for name in FOLLOWING), *((name, str(k)) for k in cuts for name in FOLLOWING_AT)]
    return [*of_kernel, *following, *optional.following]


def on_log_scale(precision: FloatArray) -> FloatArray:
    """Put average precision on a scale of logarithms, from 0 (`LEAST_AP`, or less) to 1: its sums have no rounding."""
    scaled: FloatArray = 1.0 - np.log(np.maximum(precision, LEAST_AP)) / np.log(LEAST_AP)
    return np.clip(scaled, 0.0, 1.0)


def geometric(mean: float) -> float:
    """Turn a mean on the scale of logarithms into the geometric mean of average precision."""
    return float(LEAST_AP ** (1.0 - mean))


def column_names(cuts: Sequence[int], optional: OptionalMeasures) -> list[str]:
    """Columns of the metrics in rankings.parquet: worst, expected and best of each."""
    names = []
    for name, k in metric_names(cuts, optional):
        column = f"{name}_{k}" if k else name
        names += [f"{column}_worst", column, f"{column}_best"]
    return names


@dataclass(frozen=True)
class Judgements:
    """Judgements of some rankings; see `Rankings`.

    Attributes:
        judged (bool array): Rows whose item was judged.
        unreturned (int64 array, shape (rankings,)): Items of each that were judged, are no positive, and were not
            returned.
    """

    judged: BoolArray = field(repr=False)
    unreturned: Int64Array = field(repr=False)

    def in_places(self, place: Int32Array, inside: int) -> Judgements:
        """Put the rows in their places, of which the first `inside` are of returned items."""
        judged = np.empty_like(self.judged)
        judged[place] = self.judged
        return Judgements(judged[:inside], self.unreturned)


@dataclass(frozen=True)
class Rankings:
    """Some rankings, whose rows lie one after another.

    Attributes:
        keys, labels, items: Of their rows; see `RowBatch`.
        starts (int64 array, shape (rankings + 1,)): First row of each.
        missed (int64 array, shape (rankings + 1,)): First of each among `never`.
        never (uint8 array): Grades of items that were never returned.
        names: Values of the columns that name each.
        judgements: None where every item counts as judged.
    """

    keys: Words
    labels: UInt8Array
    items: UInt64Array
    starts: Int64Array
    missed: Int64Array
    never: UInt8Array
    names: list[pa.Array]
    judgements: Judgements | None = None

    def cut(self, first: int, last: int) -> Rankings:
        """Some of the rankings; nothing is copied."""
        begin, end = int(self.starts[first]), int(self.starts[last])
        gone, left = int(self.missed[first]), int(self.missed[last])
        judgements = self.judgements
        if judgements is not None:
            judgements = Judgements(judgements.judged[begin:end], judgements.unreturned[first:last])
        names = [name.slice(first, last - first) for name in self.names]
        return Rankings(self.keys[begin:end], self.labels[begin:end], self.items[begin:end],
                        self.starts[first : last + 1] - begin, self.missed[first : last + 1] - gone,
                        self.never[gone:left], names, judgements)  # fmt: skip

    def judged_alone(self, judgements: Judgements) -> Rankings:
        """Give the same without the items that nobody judged."""
        before = np.concatenate([[0], np.cumsum(judgements.judged)])
        return replace(
            self, keys=self.keys[judgements.judged], labels=self.labels[judgements.judged], starts=before[self.starts]
        )

    def from_level(self, level: int) -> Rankings:
        """Give the same with lower grades as no positives; those of judged items that were not returned stay judged."""
        labels, high = np.where(self.labels < level, np.uint8(0), self.labels), self.never >= level
        before, judgements = np.concatenate([[0], np.cumsum(high)]), self.judgements
        missed = before[self.missed]
        if judgements is not None:
            judgements = replace(judgements, unreturned=judgements.unreturned + np.diff(self.missed) - np.diff(missed))
        return replace(self, labels=labels, missed=missed, never=self.never[high], judgements=judgements)


@dataclass(frozen=True)
class PassedOver:
    """Counts of rows and rankings that were left out.

    Attributes:
        rows: Of the table of positives; see `never_returned.Named`.
        rankings, items: Of which nothing was judged, and what they returned.
    """

    rows: int = 0
    rankings: int = 0
    items: int = 0

    def plus(self, other: PassedOver) -> PassedOver:
        """Give that and more."""
        return PassedOver(self.rows + other.rows, self.rankings + other.rankings, self.items + other.items)


@dataclass(frozen=True)
class Lowest:
    """The rankings of lowest average precision: up to `LOWEST` with a positive, most positives first among equals.

    Arrays: a table has a column for every metric, and to make one for every block took a tenth of the time.

    Attributes:
        facts: See `Measured`.
        values (float64 array, shape (rankings, metrics + 1, 3)): NaN where a metric is undefined; see
            `kernels.segments.measure`.
        names: See `Rankings`.
    """

    facts: Int64Array = field(repr=False)
    values: FloatArray = field(repr=False)
    names: list[pa.Array] = field(repr=False)

    @staticmethod
    def from_measures(facts: Int64Array, values: FloatArray, names: list[pa.Array]) -> Lowest:
        """Give those of some rankings."""
        size, precision = facts[:, 1] + facts[:, 2], values[:, one.AP, EXPECTED]
        candidates = np.flatnonzero(size)
        if candidates.size > LOWEST:
            most = np.partition(precision[candidates], LOWEST)[LOWEST]
            candidates = candidates[precision[candidates] <= most]
        at = candidates[np.lexsort((-size[candidates], precision[candidates]))[:LOWEST]]
        return Lowest(facts[at], values[at], [name.take(pa.array(at)) for name in names])

    def plus(self, other: Lowest) -> Lowest:
        """Give those of these rankings and others."""
        names = [pa.concat_arrays(both) for both in zip(self.names, other.names, strict=True)]
        facts, values = np.concatenate([self.facts, other.facts]), np.concatenate([self.values, other.values])
        return Lowest.from_measures(facts, values, names)


@dataclass(frozen=True)
class Measured:
    """Metrics of some rankings.

    Attributes:
        facts (int64 array, shape (rankings, 3)): Items, positives among them, positives never returned; empty where
            these were measured on workers.
        values (float64 array, shape (rankings, metrics, 1)): Of `predicted.Predict`; else empty, for they lie in room
            that is used again.
        table: A row for each ranking, where they are kept; see `Measure.schema`.
    """

    facts: Int64Array = field(repr=False)
    values: FloatArray = field(repr=False)
    sums: Sums = field(repr=False)
    table: pa.Table = field(repr=False)
    lowest: Lowest = field(repr=False)
    left: PassedOver = PassedOver()

    @staticmethod
    def total(parts: Iterator[Measured]) -> Measured:
        """The sums and rows of all."""
        kept, tables = zip(*gather_parts(parts), strict=True)
        total = reduce(Gathered.plus, kept)
        facts, values = np.empty((0, 3), np.int64), np.empty((0, 0, 3))
        return Measured(facts, values, total.sums, pa.concat_tables(tables), total.lowest, total.left)


@dataclass(frozen=True)
class Gathered:
    """Values kept of some rankings, besides their rows; those of two shares of a list add up (see `Measured`)."""

    sums: Sums
    lowest: Lowest
    left: PassedOver

    def plus(self, other: Gathered) -> Gathered:
        """Of these rankings and others."""
        return Gathered(self.sums.plus(other.sums), self.lowest.plus(other.lowest), self.left.plus(other.left))


def gather_parts(parts: Iterator[Measured]) -> Iterator[tuple[Gathered, pa.Table]]:
    """Give what is kept of each, and the rows of its rankings."""
    return ((Gathered(part.sums, part.lowest, part.left), part.table) for part in parts)


def _counts_from(level: int, counts: Int64Array) -> Int64Array:
    """Items of each grade, those of lower grades than a level as of grade 0."""
    moved = counts.copy()
    moved[0] += moved[1:level].sum()
    moved[1:level] = 0
    return moved


class Measure:
    """Measures rankings, from any thread; the rows of rankings are kept, or their sums alone."""

    def __init__(self, rows: ManyRows, keeps_rows: bool = True) -> None:
        self._rows, self._keeps_rows, options = rows, keeps_rows, rows.options
        self._optional = options.optional
        self.cuts = np.array(options.cutoffs, np.int64)
        grade = np.arange(one.GRADES, dtype=np.float64)
        if rows.levels is not None:
            grade[: len(rows.levels)] = rows.levels
        self._level = int(np.searchsorted(grade[: len(rows.levels or grade)], options.level))
        self.gain = grade if options.gain == "linear" else 2.0**grade - 1.0

    def elsewhere(self, rows: ManyRows) -> Measure:
        """Give the same on a worker."""
        return Measure(rows, self._keeps_rows)

    @cached_property
    def tables(self) -> Tables:
        """Gain of each grade, discounts of the first ranks, and what optional measures are asked with."""
        return self.gain, discounts(_DISCOUNTS), self._recalls, np.array(self._optional.persistences, np.float64)

    @property
    def _recalls(self) -> FloatArray:
        """Recalls as `add_optional` takes them: trec_eval rounds parts of a positive down that are up to a tenth."""
        rounded = self._rows.options.ties == "trec_eval"
        ratios = (recall.as_integer_ratio() for recall in self._optional.recalls)
        rows = [(t / n, 1.0, 0.9) if rounded else (t, n, n - 1.0) for t, n in ratios]
        return np.array(rows, np.float64).reshape(len(rows), 3)

    @property
    def _metrics(self) -> int:
        """Rows of a ranking that the kernels fill, without that of GROUPED, of an evaluation without cutoffs."""
        return one.WHOLE + len(self._optional.names)

    @cached_property
    def schema(self) -> pa.Schema:
        """Schema of rankings.parquet."""
        counts = [(name, pa.int64()) for name in ("items", "positives", "misses")]
        metrics = [
            (name, pa.float64()) for name in column_names(self._rows.options.cutoffs, self._rows.options.optional)
        ]
        clashes = {name for name, _ in (*counts, *metrics)} & set(self._rows.options.per)
        if clashes:
            raise InputError(f"--per={clashes.pop()}: a column of rankings.parquet has that name", "rename the column")
        return pa.schema([*self._rows.names, *counts, *metrics])

    @cached_property
    def _empty(self) -> pa.Table:
        return self.schema.empty_table()

    def __call__(self, rankings: Rankings) -> Measured:
        """Measure them; an `InputError` where one holds an item twice."""
        if rankings.items.size:
            self._refuse_repeated(rankings)
        gains = None
        if self._level > 1:
            every = replace(rankings, keys=rankings.keys.copy(), labels=rankings.labels.copy())
            gains = self._values(every, self.cuts)[1][:, self._graded]
            rankings = rankings.from_level(self._level)
        judgements = rankings.judgements
        preference = None if judgements is None else self._preference(rankings, judgements)
        judged = None if judgements is None else self._judged_metrics(rankings, judgements)
        facts, values = self._values(rankings, self.cuts)
        if preference is not None:
            values[:, one.BPREF] = preference
        if gains is not None:
            values[:, self._graded] = gains
        return self.tabulate(facts, values, rankings.names, judged)

    @property
    def _graded(self) -> list[int]:
        """Metrics that have every label as its gain."""
        return [one.NDCG, *self._metric_rows(one.NDCG_AT)]

    def _values(self, rankings: Rankings, cuts: Int64Array) -> tuple[Int64Array, FloatArray]:
        """Facts and metrics of rankings, whose items may be put in order; in room of the thread that is used again."""
        n = rankings.starts.size - 1
        facts, shape = np.empty((n, 3), np.int64), (n, self._metrics + one.AT_CUTOFF * cuts.size + 1, 3)
        values = own_room(math.prod(shape), "metrics")[: math.prod(shape)].view(np.float64).reshape(shape)
        keys, labels, starts = rankings.keys, rankings.labels, rankings.starts
        missed = rankings.missed, rankings.never
        each = keys.size // max(1, n)
        with small(4 * keys.size + each * int(np.count_nonzero(labels))):  # a positive is held against every item
            left = np.empty(n, np.int64)
            others = left[: measure_untied(keys, labels, starts, missed, cuts, self.tables, facts, values, left)]
            if others.size:
                measure(keys, labels, starts, missed, cuts, self.tables, facts, values, others)
        return facts, values

    def _preference(self, rankings: Rankings, judgements: Judgements) -> FloatArray:
        """bpref where not every item was judged: among those that were, with all judged others, returned or not.

        Returns:
            float64 array, shape (rankings, 3)
        """
        facts, values = self._values(rankings.judged_alone(judgements), np.empty(0, np.int64))
        relevant, negatives = facts[:, 1] + facts[:, 2], facts[:, 0] - facts[:, 1]
        returned = np.minimum(negatives, relevant)
        every = np.maximum(1, np.minimum(negatives + judgements.unreturned, relevant))
        base = (facts[:, 1] / np.maximum(1, relevant))[:, None]
        below: FloatArray = base - (base - values[:, one.BPREF]) * (returned / every)[:, None]
        return below

    def _judged_metrics(self, rankings: Rankings, judgements: Judgements) -> FloatArray:
        """Metrics of what was judged in the place of what is positive, as of `_values`."""
        keys, labels = rankings.keys.copy(), judgements.judged.astype(np.uint8)
        missed, never = np.zeros_like(rankings.missed), np.empty(0, np.uint8)
        as_labels = replace(rankings, keys=keys, labels=labels, missed=missed, never=never)
        return self._values(as_labels, self.cuts)[1].copy()

    def _metric_rows(self, metric: int) -> list[int]:
        """Rows of a metric at every cutoff."""
        return list(range(one.WHOLE + metric, one.WHOLE + one.AT_CUTOFF * self.cuts.size, one.AT_CUTOFF))

    def _with_following(self, facts: Int64Array, values: FloatArray, judged: FloatArray | None) -> FloatArray:
        """Put what follows from metrics and facts behind them: precision, recall and F1 of the whole, F1 at cutoffs."""
        n, items = facts.shape[0], facts[:, 0]
        relevant = np.where(facts[:, 1] + facts[:, 2] > 0, facts[:, 1] + facts[:, 2], np.nan)
        at_end = len(FOLLOWING) + len(FOLLOWING_AT) * self.cuts.size
        following = np.empty((n, at_end + len(self._optional.following), 3))
        sets = (facts[:, 1] / np.maximum(1, items), facts[:, 1] / relevant, 2 * facts[:, 1] / (items + relevant))
        following[:, : len(sets)] = np.stack(sets, axis=1)[:, :, None]
        following[:, len(sets)] = on_log_scale(values[:, one.AP])
        at_cutoffs, cuts = following[:, len(FOLLOWING) : at_end], self.cuts[:, None].astype(np.float64)
        hits = values[:, self._metric_rows(one.P_AT)] * cuts
        for i, beta in enumerate(_BETAS):
            weighted = cuts + beta**2 * relevant[:, None, None]
            at_cutoffs[:, i :: len(FOLLOWING_AT)] = (1 + beta**2) * hits / weighted
        every = (np.minimum(items[:, None], self.cuts) / self.cuts)[:, :, None]
        at_cutoffs[:, len(_BETAS) :: len(FOLLOWING_AT)] = (
            every if judged is None else judged[:, self._metric_rows(one.P_AT)]
        )
        following[:, at_end:] = self._optional_following(facts, values, judged)
        return np.concatenate([values[:, :-1], following, values[:, -1:]], axis=1)

    def _optional_following(self, facts: Int64Array, values: FloatArray, judged: FloatArray | None) -> FloatArray:
        """Give what follows from optional measures, shape (rankings, measures, 3); see `OptionalMeasures.following`.

        The residual of rank-biased precision is what it would gain if all that nobody judged, or returned, were
        positive: all weights are 1 together.
        """
        first = one.WHOLE + one.AT_CUTOFF * self.cuts.size
        levels, ends = self._optional.recalls, first + len(self._optional.recalls)
        tenths = [first + i for i, recall in enumerate(levels) if self._optional.eleven and 10 * recall % 1 == 0]
        means = [values[:, tenths].sum(axis=1, keepdims=True) / len(tenths)] if tenths else []
        if judged is not None:
            residuals = 1.0 - judged[:, ends:-1, ::-1]
        else:
            persistences = np.array(self._optional.persistences, np.float64)
            residuals = np.repeat((persistences ** facts[:, :1])[:, :, None], 3, axis=2)
        return np.concatenate([*means, residuals], axis=1)

    def tabulate(
        self, facts: Int64Array, values: FloatArray, names: list[pa.Array], judged: FloatArray | None = None
    ) -> Measured:
        """Make tables and sums of what the kernels found; `judged` is None where every item was."""
        if self._rows.options.ties == "scikit-learn":
            values[:, one.AP] = values[:, one.GROUPED, EXPECTED, None]
            averaged = [one.AUC, *self._graded]
            values[:, averaged] = values[:, averaged, EXPECTED, None]
        values = self._with_following(facts, values, judged)
        table = self.table(facts, values, names) if self._keeps_rows else self._empty
        return Measured(
            facts, values[:0], Sums.from_rankings(facts, values), table, Lowest.from_measures(facts, values, names)
        )

    def table(self, facts: Int64Array, values: FloatArray, names: list[pa.Array]) -> pa.Table:
        """Make a table of rankings, with the schema `schema`."""
        rows = np.moveaxis(values[:, :-1], 0, -1).copy()  # a row for each metric and side
        columns = rows.reshape(rows.shape[0] * len(SIDES), facts.shape[0])
        lacking = bool(((facts[:, 1] + facts[:, 2] == 0) | (facts[:, 0] == facts[:, 1])).any())
        arrays = [pa.array(column, mask=np.isnan(column) if lacking else None) for column in columns]
        counts = [pa.array(column) for column in np.ascontiguousarray(facts.T)]
        return pa.Table.from_arrays([*names, *counts, *arrays], schema=self.schema)

    def long(
        self, ranges: Callable[[], Iterator[RankedRange]], grades: tuple[Int64Array, Int64Array], names: list[pa.Array]
    ) -> Measured:
        """Measure one ranking that comes in ranges, the best first.

        Args:
            ranges: Gives them, as often as it is asked.
            grades: Items of each grade that were returned, and those that were not.
        """
        facts, values = self._long(ranges(), grades, 1)
        if self._level > 1:
            gains = values[:, self._graded]
            facts, values = self._long(ranges(), grades, self._level)
            values[:, self._graded] = gains
        return self.tabulate(facts, values, names)

    def _long(
        self, ranges: Iterator[RankedRange], grades: tuple[Int64Array, Int64Array], level: int
    ) -> tuple[Int64Array, FloatArray]:
        out, state = np.zeros((1, self._metrics + one.AT_CUTOFF * self.cuts.size + 1, 3)), np.zeros(one.STATE)
        returned, never = (_counts_from(level, counts) for counts in grades)
        returned_positives, missed = int(returned[1:].sum()), int(never[1:].sum())
        for keys, labels, histogram in ranges:
            if histogram is not None:
                histogram = _counts_from(level, histogram)
                one.add_tied(histogram, returned_positives + missed, state, self.cuts, self.tables, out[0])
            else:
                labels = np.where(labels < level, np.uint8(0), labels)
                one.add_items(keys, labels, returned_positives + missed, state, self.cuts, self.tables, out[0])
        one.finish(returned + never, int(returned[0]), state, self.cuts, self.tables, out[0])
        return np.array([[returned.sum(), returned_positives, missed]]), out

    def _refuse_repeated(self, rankings: Rankings) -> None:
        with small(rankings.items.size):
            many, rows, first = repeated(rankings.items.copy(), rankings.starts)
        if many:
            options = self._rows.options
            name = ", ".join(f"{per}={column[first]}" for per, column in zip(options.per, rankings.names, strict=True))
            raise InputError(
                f"rankings hold an item more than once: at least {many:,}, with {number_of(rows, 'row')} too many "
                f"(first: {name})",
                f"one score for each {options.key} of a ranking",
            )

    def adjacent(self, batch: RowBatch, low: Words, starts: Int64Array) -> Rankings:
        """Make rankings of rows that lie together: of each, what tells it apart (`RowBatch.low`), and its first row."""
        names = self._rows.names_of(low, batch.table, starts)
        edges = np.append(starts, batch.rows)
        nothing = np.zeros(starts.size + 1, np.int64)
        never = np.empty(0, np.uint8)
        plain = Rankings(batch.keys, batch.labels, batch.items, edges, nothing, never, names)
        if self._rows.options.ties != "trec_eval":
            return plain
        return self.in_order_of_items(plain, batch.table.column(self._item()))

    def _item(self) -> str:
        return str(self._rows.options.key)

    def in_order_of_items(self, rankings: Rankings, items: pa.ChunkedArray) -> Rankings:
        """Give every row a key of its own: by score, and items of one score by name, the largest first."""
        import pyarrow.compute as pc

        rank = np.empty(len(items), np.int64)
        rank[pc.sort_indices(items, sort_keys=[("", "descending")]).to_numpy()] = np.arange(len(items))
        number = np.repeat(np.arange(rankings.starts.size - 1), np.diff(rankings.starts))
        order = np.lexsort((rank, rankings.keys, number))
        keys = np.arange(order.size).astype(np.uint64)
        judgements = rankings.judgements
        if judgements is not None:
            judgements = replace(judgements, judged=judgements.judged[order])
        return replace(rankings, keys=keys, labels=rankings.labels[order], judgements=judgements)
