"""Metrics of a list whose every item has a label: exact, with tied items in every order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa

from streameval.counting.calibration import COLUMNS, ScoreLosses
from streameval.counting.lookups import SIDES, Places, best_sums
from streameval.counting.totals import Totals
from streameval.curve.at_cutoff import METRICS, Cutoffs, f_beta
from streameval.curve.bounds import cut_to_bounds
from streameval.curve.first_k import DEEPEST_DCG, discounts
from streameval.curve.targets import positive_needed
from streameval.metrics import (
    BETAS,
    ELEVEN,
    FALSE_POSITIVE_RATES,
    PERSISTENCES,
    PRECISIONS,
    RECALLS,
    Row,
    cutoffs,
    table,
    text,
)
from streameval.metrics.partial_area import partial_roc_area, standardise
from streameval.metrics.tied import Tied
from streameval.typing import FloatArray, Int64Array

V = TypeVar("V")
_NAN = float("nan")
_LEAST = -746.0  # no float is above 0 and has a smaller natural logarithm


@dataclass(frozen=True)
class Counted:
    """A fully labelled list, summed, and what its metrics are asked with.

    Args:
        misses: Positives that the list never returned.
        score_at (callable(rank) -> float): Score at a rank, where the order has scores: items may then tie.
        threads: That look into a long list at once.
        score_losses: Of scores that all lie in [0, 1].
    """

    places: Places
    misses: int
    score_at: Callable[[int], float] | None = None
    threads: int = 1
    score_losses: ScoreLosses | None = None

    @property
    def totals(self) -> Totals:
        """The sums."""
        return self.places.totals

    @property
    def positives(self) -> int:
        """P = Y(N) + M."""
        return self.totals.positives + self.misses

    def by_order(self, value: Callable[[str], V]) -> tuple[V, V]:
        """A value with tied items late, and early: the same where ties leave no order open."""
        late = value("late")
        return late, value("early") if self.totals.mixed else late

    @property
    def tied(self) -> Tied:
        """The mean of the list over all orders of tied items."""
        return Tied(self.places, self.positives)


def metrics(counted: Counted) -> pa.Table:
    """Compute every metric, under the names of `streameval.metrics.bounded.metrics`.

    Returns:
        pyarrow.Table: `metric`, `argument`, `lower`, `estimate`, `upper`, `coverage`. Average precision and AUC are
            single values that treat tied items as one step, as scikit-learn does; their rows with argument "tie_order"
            have the worst order of tied items, the expectation over all orders, and the best. Areas under the ROC curve
            up to a false positive rate are single values too: as they are (roc_area_at_fpr), and standardised
            (roc_auc_at_fpr). Of every other metric,
            lower and upper are the values with tied items in the worst and in the best order; the estimate is that over
            thresholds on scores (max_f, breakeven), the expectation over all orders of tied items (rbp), or that of
            the mean over all these orders (`streameval.metrics.tied`), and a cutoff has another row, …_at_grouped, that
            takes all items tied with the last. Lower and upper differ only where ties leave the order open. Null where
            a metric is undefined: without positives, without negatives; the estimate of the interpolated area also in a
            list of more than 2^20 items with ties. Of scores that all lie in [0, 1] there are brier and log_loss, which
            is null where it is infinite, and calibration_error over ten bins. Coverage is "exact".
    """
    rows = [*_at_cutoffs(counted), *_points(counted), *_targets(counted)]
    rows += [*_average_precision(counted), *_roc_auc(counted), *_dcg(counted), *_rank_biased(counted)]
    return table([*rows, *_of_scores(counted.score_losses)], "exact")


def _of_scores(losses: ScoreLosses | None) -> Iterator[Row]:
    """Metrics of scores that are probabilities."""
    if losses is not None:
        values = {name: losses.mean(column) for name, column in COLUMNS.items()}
        for name, value in {**values, "calibration_error": losses.calibration_error()}.items():
            yield name, "", value, value, value


def _row(metric: str, argument: str, ends: Iterable[float], between: Callable[[], float]) -> Row:
    """A metric with tied items late and early; `between` is what the mean over all orders has, where these differ."""
    late, early = ends
    lower, upper = (early, late) if early < late else (late, early)
    estimate = cut_to_bounds(between(), lower, upper) if lower < upper else lower
    return metric, argument, lower, float(estimate), upper


def _over(above: float, below: float) -> float:
    return above / below if below else _NAN


def _at_cutoffs(counted: Counted) -> Iterator[Row]:
    for k in cutoffs(counted.totals.n_items).tolist():
        late, early = counted.by_order(partial(counted.places.yield_at, k))
        mean = counted.tied.yield_at(k)
        for name in METRICS:
            values = [_metric(name, k, y, counted) for y in (late, early)]
            yield _row(f"{name}_at", str(k), values, partial(_metric, name, k, mean, counted))
            if late < early:
                yield from _in_a_tie(name, k, values, counted)
        yield _row("yield_at", str(k), (late, early), partial(float, mean))
        sums = counted.by_order(partial(counted.places.precision_sum, k)) if counted.totals.positives else (0.0, 0.0)
        expected = counted.tied.precision_sum(k) if sums[0] != sums[1] else _NAN
        for name, below in (("", counted.positives), ("_capped", min(counted.positives, k))):
            ends = [_over(total, below) for total in sums]
            yield _row(f"average_precision_at{name}", str(k), ends, partial(_over, expected, below))
        if late == early:  # how many are found depends on no order
            yield _row(
                "average_precision_at_found",
                str(k),
                [_over(total, late) for total in sums],
                partial(_over, expected, late),
            )


def _in_a_tie(name: str, k: int, values: list[float], counted: Counted) -> Iterator[Row]:
    """Rows of a cutoff between tied items."""
    s, f, n, p = counted.places.group_at(k)
    if METRICS[name].in_yield == "linear":
        expected = _metric(name, k, f + p * (k - s) / n, counted)
    else:
        drawn, chance = hypergeometric(n, p, k - s)
        expected = float(np.sum(chance * _metrics(name, k, f + drawn, counted)))
    yield f"{name}_at_tie_order", str(k), min(values), expected, max(values)
    grouped = _metric(name, s + n, f + p, counted)
    yield f"{name}_at_grouped", str(k), grouped, grouped, grouped


def _metric(name: str, rank: float, positives: float, counted: Counted) -> float:
    return float(_metrics(name, rank, np.array([float(positives)]), counted)[0])


def _metrics(name: str, rank: float, positives: FloatArray, counted: Counted) -> FloatArray:
    ranks, total = (np.full(positives.size, float(value)) for value in (rank, counted.totals.positives))
    return METRICS[name].value(Cutoffs(ranks, positives, total, float(counted.totals.n_items), float(counted.misses)))


def hypergeometric(n: int, p: int, drawn: int) -> tuple[FloatArray, FloatArray]:
    """Positives among items drawn from n of which p are positive, and their probabilities.

    What lies beyond 12 standard deviations, with a probability below 1e-60, is left out.
    """
    from streameval.kernels.hypergeometric import log_hypergeometric

    mean, spread = drawn * p / n, 12 * math.sqrt(drawn * p / n * (n - p) / n) + 12
    counts = range(max(0, drawn + p - n, math.floor(mean - spread)), min(p, drawn, math.ceil(mean + spread)) + 1)
    log_chance = log_hypergeometric.plain()  # only metrics that are added ask for it, of few terms but in vast ties
    return np.array(counts, np.float64), np.exp([log_chance(k, drawn, p, n) for k in counts])


def _average_precision(counted: Counted) -> Iterator[Row]:
    totals = counted.totals
    for name, below in (("positives", counted.positives), ("found", totals.positives)):
        late, expected, early = (_over(totals.precision_sum[order], below) for order in ("late", "expected", "early"))
        grouped = _over(totals.precision_sum["grouped"], below)
        ends = (grouped, grouped) if counted.score_at is not None else (late, early)
        yield _row("average_precision", name, ends, partial(float, expected))
        if counted.score_at is not None:
            yield "average_precision", f"{'' if name == 'positives' else 'found '}tie_order", late, expected, early
    late, expected, early = (
        _over(totals.precision_sum[order], counted.positives) for order in ("late", "expected", "early")
    )
    yield _row("pr_area", "step", (late, early), partial(float, expected))
    yield _row("pr_area", "interpolated", _interpolate(counted), counted.tied.interpolated_area)


def _interpolate(counted: Counted) -> tuple[float, float]:
    if not counted.positives:
        return _NAN, _NAN
    if len(counted.totals.rest) > 1:
        sums = best_sums(counted.places, counted.threads)
        return float(sums["late"] / counted.positives), float(sums["early"] / counted.positives)

    def area(order: str) -> float:
        y, r = counted.places.ends(0, order)
        best_after = np.maximum.accumulate((y / np.maximum(r, 1))[::-1])[::-1]
        return float(np.sum(best_after * np.diff(y, prepend=0))) / counted.positives

    return counted.by_order(area)


def _roc_auc(counted: Counted) -> Iterator[Row]:
    late, expected, early = (counted.totals.roc_auc(counted.misses)[order] for order in ("late", "expected", "early"))
    yield "roc_auc", "", expected, expected, expected
    if counted.score_at is not None:
        yield "roc_auc", "tie_order", late, expected, early
    for rate in FALSE_POSITIVE_RATES:
        area = partial_roc_area(counted.places, counted.positives, rate)
        for name, value in (("roc_auc_at_fpr", standardise(area, rate)), ("roc_area_at_fpr", area)):
            yield name, text(rate), value, value, value


def _points(counted: Counted) -> Iterator[Row]:
    totals, p = counted.totals, float(counted.positives)
    corner = {order: totals.corner[side][0].astype(np.float64) for order, side in SIDES.items()}
    for beta in BETAS:
        values = {order: f_measure(points, beta, p) for order, points in corner.items()}
        best = [float(array.max(initial=0.0)) if p else _NAN for array in values.values()]
        yield _row(f"max_f{beta:g}", "", best, partial(float, best[0]))
        if beta == 1.0:
            yield from _where_f1_is_best(values, corner, counted)
    ends = counted.by_order(partial(breakeven, counted.places, counted.positives))
    yield _row("breakeven", "", ends, partial(float, ends[0]))
    rank = min(counted.positives, totals.n_items)
    ends = counted.by_order(lambda order: _over(counted.places.yield_at(rank, order), p))
    yield _row("r_precision", "", ends, lambda: _over(counted.tied.yield_at(rank), p))
    firsts = counted.by_order(lambda order: 1.0 / counted.places.rank_of(1, order) if totals.positives else 0.0)
    yield _row("reciprocal_rank", "", firsts, counted.tied.reciprocal_rank)


def breakeven(places: Places, positives: int, order: str) -> float:
    """Largest min(precision, recall): recall rises up to rank P, and beyond it precision is the smaller.

    Args:
        positives: P; NaN where it is 0.
        order ({"late", "early"}): Of tied items. "late" is the value over thresholds on scores too: with positives
            last, nothing inside a tie is above both its ends.
    """
    if not 0 < positives <= places.totals.n_items:
        return _over(places.totals.positives, positives)
    return places.best_from_rank(positives, order)


def f_measure(points: FloatArray, beta: float, positives: float) -> FloatArray:
    """F_β at (rank, yield).

    Args:
        points: float64 array, shape (k, 2).
        beta: Weight of recall against precision.
        positives: P.

    Returns:
        float64 array, shape (k,)
    """
    nothing = np.zeros(points.shape[0])  # F needs neither N nor misses beside P
    return f_beta(Cutoffs(points[:, 0], points[:, 1], nothing + positives, 0.0, 0.0), beta)


def _where_f1_is_best(values: dict[str, FloatArray], corner: dict[str, FloatArray], counted: Counted) -> Iterator[Row]:
    """Rank, and score, at which F1 is largest with tied items late and early; "late" is that of a threshold too."""
    ranks = [
        float(corner[order][np.argmax(values[order]), 0]) if values[order].size else _NAN for order in ("late", "early")
    ]
    yield _row("max_f1_rank", "", ranks, partial(float, ranks[0]))
    if counted.score_at is not None:
        scores = [counted.score_at(int(rank)) if rank == rank else _NAN for rank in ranks]
        yield _row("max_f1_score", "", scores, partial(float, scores[0]))


def _dcg(counted: Counted) -> Iterator[Row]:
    groups = counted.places.block(0).with_positives()
    for k in (cutoff for cutoff in cutoffs(counted.totals.n_items).tolist() if cutoff <= DEEPEST_DCG):
        ends = counted.by_order(partial(_dcg_at, *groups, k))
        yield _row("dcg_at", str(k), ends, partial(counted.tied.dcg_at, k))


def _rank_biased(counted: Counted) -> Iterator[Row]:
    """Σ (1 − ρ)·ρ^(r − 1) over positives: beyond some rank of the first block it adds nothing that a float holds."""
    for persistence in PERSISTENCES:
        powers = persistence ** np.arange(math.ceil(_LEAST / math.log(persistence)) + 1)
        first, end, positives = _first_groups(counted.places, powers.size)
        at_first, at_end, inner_late, inner_early = (
            powers[np.minimum(rank, powers.size - 1)] for rank in (first, end, end - positives, first + positives)
        )
        late, early = inner_late - at_end, at_first - inner_early
        mean = (at_first - at_end) * (positives / (end - first))
        values = (late.sum(), early.sum())
        yield _row(f"rbp.{f'{persistence:g}'.removeprefix('0.')}", "", values, partial(float, mean.sum()))


def _first_groups(places: Places, ranks: int) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Items before and at the end of each group of the first block that begins within some ranks; its positives."""
    start, yields = places.groups(0, 0, min(ranks, places.block(0).size))  # a group has an item at least
    deep = int(np.searchsorted(start[:-1], ranks))
    return start[:deep], start[1 : deep + 1], np.diff(yields[: deep + 1])


def _dcg_at(first: Int64Array, end: Int64Array, positives: Int64Array, k: int, order: str) -> float:
    """DCG@k of groups with positives: items before and at the end of each, and its positives."""
    deep = int(np.searchsorted(first, k))
    first, end, positives = first[:deep], end[:deep], positives[:deep]
    last = np.minimum(end, k)
    total = discounts(k)
    gained = total[last if order == "late" else np.minimum(positives + first, last)]
    gained -= total[np.minimum(end - positives, last) if order == "late" else first]
    return float(gained.sum())


def _targets(counted: Counted) -> Iterator[Row]:
    totals, p = counted.totals, counted.positives
    js = {recall: positive_needed(recall, p) if p else 0 for recall in (*RECALLS, *ELEVEN)}
    for recall in RECALLS:
        ranks = counted.by_order(partial(_rank_of, js[recall], counted))
        yield _row("rank_at_recall", text(recall), ranks, partial(counted.tied.rank_at_recall, recall))
    eleven = []
    for recall in ELEVEN:
        reached = 0 < js[recall] <= totals.positives
        best = counted.by_order(partial(counted.places.best_from, js[recall])) if reached else (0.0, 0.0)
        mean = partial(counted.tied.interpolated_precision, recall)
        row = _row("precision_at_recall", text(recall), best if p else (_NAN, _NAN), mean)
        eleven.append((row[2], row[4], row[3]))
        yield row
    low, high, between = (float(value) for value in np.mean(eleven, axis=0))
    yield _row("eleven_point_precision", "", (low, high), partial(float, between))
    for precision in PRECISIONS:
        kept = counted.by_order(partial(counted.places.last_kept, precision))
        last = counted.tied.rank_at_precision(precision) if kept[0] < kept[1] else 0
        mean = partial(_over, counted.tied.yield_at(last), p)
        yield _row("recall_at_precision", text(precision), [_over(n_kept, p) for n_kept in kept], mean)
        # up to the next positive, which comes too late, precision only falls
        deepest = [positives * precision.denominator // precision.numerator for positives in kept]
        ends = (float(min(rank, totals.n_items)) for rank in deepest)
        yield _row("rank_at_precision", text(precision), ends, partial(float, last))


def _rank_of(j: int, counted: Counted, order: str) -> float:
    if not j:
        return _NAN
    return float(counted.places.rank_of(j, order)) if j <= counted.totals.positives else float("inf")
