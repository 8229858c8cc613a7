"""Standard errors and intervals of the metrics of a labelled list that is a sample: what another sample might say.

The influence of an item on a metric is the derivative of the metric in that item's weight. Sums S of it over bins of
independent clusters give the standard error, SE² = b/(b − 1)·ΣS², and ν = 2n/(1 − n/G) degrees of freedom with n =
(ΣS²)²/ΣS⁴. An interval is symmetric on the scale of logits, of Matthews' correlation on that of the inverse hyperbolic
tangent. It is approximate, unlike bounds; where few clusters decide a metric there is none, and the reason is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from streameval.counting.influence import Clusters, Influence
from streameval.curve.at_cutoff import METRICS, Cutoffs
from streameval.kernels.influence import BINS
from streameval.metrics import Row, table
from streameval.metrics.exact import Counted
from streameval.metrics.incomplete_beta import clopper_pearson, student_quantile
from streameval.text import number_of
from streameval.typing import AnyArray, FloatArray, Int64Array

CONFIDENCE = 0.95
COLUMNS = {"standard_error": pa.float64(), "low": pa.float64(), "high": pa.float64(), "no_interval": pa.string()}
"""Columns of `metrics` where the list is a sample; `no_interval` says why there is none."""
CLAIM = "approximately 95 %, if these are independent draws"
_LEAST_BINS = 50
_LEAST_EQUAL = 30.0  # clusters of equal size that would weigh as much
_LEAST_AWAY = 5.0  # draws that say the rarer of two things
_LEAST_ABOVE = 10.0
_FULL, _MANY = 0.9, 200.0  # bins in use, and of equal influence, from which on rare things were seen often enough
_WINDOW, _POWER = 25, 0.8  # ranks on either side of a cutoff whose positives are its precision there

_OF_NONE = "none is known for this metric"
_OF_MISSES = "misses are counted without saying whose they are"
_TIED = "tied items leave it open at this cutoff"
_BEST = "the best of all cutoffs lies above what it has in the population: ask at a cutoff"
_CERTAIN = "it is 0 or 1 in this sample"
_REASONS = {"max_f0.5": _BEST, "max_f1": _BEST, "max_f2": _BEST}
Weights = Mapping[str, Int64Array]


@dataclass(frozen=True)
class Derived:
    """What a metric is, and what each bin adds to its difference from the population.

    Attributes:
        value: In the sample.
        influence (float64 array, shape (BINS,)): S.
        counts (mapping of str to int64 array of shape (BINS,)): What it divides by, for people, and how much of it each
            bin has.
        above: Draws above a cutoff that say the rarer of two things, where it turns on these.
        rarer ({"either", "misses"}): Whether it may be near 0 as well as near 1, for so few.
        scale ({"logit", "atanh"}): On which an interval is symmetric.
    """

    value: float
    influence: FloatArray
    counts: Weights
    above: float = math.inf
    rarer: str = "either"
    scale: str = "logit"


@dataclass(frozen=True)
class SampleInterval:
    """An interval at 95 %, approximately; NaN and the reason where there is none."""

    standard_error: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reason: str | None = None


def interval(derived: Derived) -> SampleInterval:
    """Give the interval of a metric, or why there is none."""
    if (reason := _refused(derived)) is not None:
        return SampleInterval(reason=reason)
    bins = min(_bins(each) for each in derived.counts.values())
    error = math.sqrt(bins / (bins - 1) * float(np.sum(derived.influence**2)))
    equal = equal_bins(derived.influence)
    freedom = bins - 1.0 if equal >= BINS else min(bins - 1.0, 2.0 * equal / (1.0 - equal / BINS))
    reach = student_quantile(0.5 + CONFIDENCE / 2, freedom) * error
    low, high = _SCALES[derived.scale](derived.value, reach)
    return SampleInterval(error, low, high)


def _refused(derived: Derived) -> str | None:
    """Say why no interval can be had of a metric; None where it can."""
    value, equal = derived.value, equal_bins(derived.influence)
    if math.isnan(value):
        return "it is undefined"
    for name, counts in derived.counts.items():
        if (bins := _bins(counts)) < _LEAST_BINS:
            have = "" if name == "a row" else f" {'has' if bins == 1 else 'have'} {name}"
            return f"{number_of(bins, 'draw')}{have}: too few, it takes {_LEAST_BINS}"
        if (alike := equal_bins(counts)) < _LEAST_EQUAL:
            return f"a few large draws outweigh the rest: those with {name} weigh as much as {alike:.0f} equal ones"
    if not equal or abs(value) >= 1.0 or (derived.scale == "logit" and value <= 0.0):
        return _CERTAIN
    if derived.above < _LEAST_ABOVE:
        return "nearly all draws above the cutoff say the same"
    if derived.scale != "logit":
        return None
    away = 1.0 - value if derived.rarer == "misses" else min(value, 1.0 - value)
    alike = min(equal_bins(counts) for counts in derived.counts.values())
    full = all(_bins(counts) > _FULL * BINS for counts in derived.counts.values()) and equal >= _MANY
    return None if full or alike * away >= _LEAST_AWAY else "too near 0 or 1 for so few draws"


def equal_bins(weights: Int64Array | FloatArray) -> float:
    """Give how many bins of equal weight would weigh as evenly: (Σw²)²/Σw⁴ of influence, (Σw)²/Σw² of counts."""
    each = np.square(weights) if weights.dtype.kind == "f" else weights.astype(np.float64)
    below = float(np.sum(each * each))
    return float(np.sum(each)) ** 2 / below if below else 0.0


def _bins(counts: Int64Array) -> int:
    return int(np.count_nonzero(counts))


def _logit(value: float, reach: float) -> tuple[float, float]:
    middle, half = math.log(value / (1.0 - value)), reach / (value * (1.0 - value))
    return _expit(middle - half), _expit(middle + half)


def _expit(at: float) -> float:
    return 1.0 / (1.0 + math.exp(-at)) if at > -700.0 else 0.0


def _atanh(value: float, reach: float) -> tuple[float, float]:
    half = reach / (1.0 - value * value)
    return math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half)


_SCALES: Mapping[str, Callable[[float, float], tuple[float, float]]] = {"logit": _logit, "atanh": _atanh}


@dataclass(frozen=True)
class SampledList:
    """A labelled list that is a sample, summed."""

    counted: Counted
    influence: Influence

    @cached_property
    def _size(self) -> tuple[int, int]:
        """N and P."""
        return self.counted.totals.n_items, self.counted.totals.positives

    def is_tied(self, k: int) -> bool:
        """Tell whether items on both sides of a cutoff have one score."""
        before, _, size, _ = self.counted.places.group_at(k)
        return before + size > k

    @cached_property
    def _counts(self) -> Weights:
        positives = self.influence.positives
        return {"a positive": positives, "a negative": self.influence.items - positives}

    def average_precision(self) -> Derived:
        """Derive the average precision, tied items as one step."""
        total, (_, found) = self.influence, self._size
        value = self.counted.totals.precision_sum["grouped"] / found if found else math.nan
        sums = total.precision + total.positives * (total.inverse - value) - total.items * total.square
        return Derived(value, sums / max(found, 1), {"a positive": total.positives}, rarer="misses")

    def roc_auc(self) -> Derived:
        """Derive the area under the ROC curve, which is DeLong's estimate of its variance where draws are rows."""
        total, (n_items, found) = self.influence, self._size
        value, others = self.counted.totals.roc_auc(0)["expected"], n_items - found
        below = max(1, found), max(1, others)
        lost, won = total.losses / (2.0 * below[1]), total.wins / (2.0 * below[0])
        sums = (total.positives * (1.0 - value) - lost) / below[0]
        sums = sums + (won - (total.items - total.positives) * value) / below[1]
        return Derived(value, sums, self._counts)

    def at_cutoff(self, metric: str, k: int) -> Derived:
        """Derive a metric of the first k items, which are a share of the list, as of another sample.

        As the share stays, an item that comes in above the cutoff moves others below it: what they have of positives is
        the precision of the ranks about k.
        """
        items, positives = self.influence.tops[k]
        stay = k / self._size[0] * self.influence.items
        return self._above(metric, (items, positives), (positives - self._local(k) * (items - stay), stay))

    def r_precision(self) -> Derived:
        """Derive the precision of the first P items; a positive that comes in moves the cutoff down by one item."""
        rank, total = self._size[1], self.influence
        if not rank:
            return Derived(math.nan, np.zeros(BINS), {})
        items, positives = total.tops[rank]
        tp = int(positives.sum())
        sums = positives - self._local(rank) * (items - total.positives) - tp / rank * total.positives
        above = equal_bins(items) * min(tp, rank - tp) / rank
        counts = {"an item above the cutoff": items, "a positive": total.positives}
        return Derived(tp / rank, sums / rank, counts, above)

    def _local(self, k: int) -> float:
        """Give the precision of the ranks about one."""
        places, reach = self.counted.places, max(_WINDOW, int(math.pow(k, _POWER) / 2))
        low, high = max(0, k - reach), min(self._size[0], k + reach)
        found = int(places.yield_at(high, "late")) - int(places.yield_at(low, "late"))
        return found / (high - low)

    def at_score(self, metric: str, number: int) -> Derived:
        """Derive a metric of all items of a score or a better one, the score being that of any sample."""
        items, positives = self.influence.above[number]
        return self._above(metric, (items, positives), (positives, items))

    def _above(self, metric: str, above: tuple[Int64Array, Int64Array], sums: tuple[AnyArray, AnyArray]) -> Derived:
        """Derive a metric of the items above a cutoff.

        Args:
            above: Items, and positives, above it by bin.
            sums: What each bin adds to the true positives, and to the items above.
        """
        total, (n_items, found) = self.influence, self._size
        q, tp = (int(each.sum()) for each in above)
        value, slopes = AT_CUTOFF[metric]((tp, q, found, n_items))
        of_bins = (*sums, total.positives, total.items)
        counts = {"an item above the cutoff": above[0], **self._counts, "a row": total.items}
        return Derived(
            value,
            sum((slope * each for slope, each in zip(slopes, of_bins, strict=True)), np.zeros(BINS)),
            {name: counts[name] for name in _DIVIDED_BY[metric]},
            equal_bins(above[0]) * min(tp, q - tp) / max(q, 1) if metric in _OF_ABOVE else math.inf,
            "misses" if metric == "f1" else "either",
            "atanh" if metric == "mcc" else "logit",
        )

    def counts_at_score(self, number: int) -> tuple[int, int, int, int]:
        """Give true positives, items above, positives, and items in all."""
        q, tp = self.influence.above[number].sum(axis=1).tolist()
        return tp, q, self._size[1], self._size[0]


# true positives, items above the cutoff, positives, and items in all
TwoByTwo = tuple[float, int, int, int]
Slopes = tuple[float, float, float, float]


def _precision(of: TwoByTwo) -> tuple[float, Slopes]:
    tp, q, _, _ = of
    return (tp / q, (1.0 / q, -tp / q**2, 0.0, 0.0)) if q else _UNDEFINED


def _recall(of: TwoByTwo) -> tuple[float, Slopes]:
    tp, _, p, _ = of
    return (tp / p, (1.0 / p, 0.0, -tp / p**2, 0.0)) if p else _UNDEFINED


def _f1(of: TwoByTwo) -> tuple[float, Slopes]:
    tp, q, p, _ = of
    if not q + p:
        return _UNDEFINED
    value, below = 2.0 * tp / (q + p), float(q + p)
    return value, (2.0 / below, -value / below, -value / below, 0.0)


def _accuracy(of: TwoByTwo) -> tuple[float, Slopes]:
    tp, q, p, n = of
    value = (2.0 * tp + n - q - p) / n
    return value, (2.0 / n, -1.0 / n, -1.0 / n, (1.0 - value) / n)


def _specificity(of: TwoByTwo) -> tuple[float, Slopes]:
    tp, q, p, n = of
    if p == n:
        return _UNDEFINED
    below, wrong = float(n - p), (q - tp) / (n - p)
    return 1.0 - wrong, (1.0 / below, -1.0 / below, -wrong / below, wrong / below)


def _mcc(of: TwoByTwo) -> tuple[float, Slopes]:
    tp, q, p, n = of
    if q in (0, n) or p in (0, n):
        return _UNDEFINED
    spread = math.sqrt(q) * math.sqrt(p) * math.sqrt(n - q) * math.sqrt(n - p)
    value = (tp * n - q * p) / spread
    half = value / 2.0
    of_q, of_p = half / q - half / (n - q), half / p - half / (n - p)
    of_n = tp / spread - half / (n - q) - half / (n - p)
    return value, (n / spread, -p / spread - of_q, -q / spread - of_p, of_n)


_UNDEFINED = math.nan, (0.0, 0.0, 0.0, 0.0)
AT_CUTOFF: Mapping[str, Callable[[TwoByTwo], tuple[float, Slopes]]] = {
    "precision": _precision, "recall": _recall, "f1": _f1, "accuracy": _accuracy, "specificity": _specificity,
    "mcc": _mcc,
}  # fmt: skip
_DIVIDED_BY = {
    "precision": ("an item above the cutoff",), "recall": ("a positive",),
    "f1": ("an item above the cutoff", "a positive"), "accuracy": ("a row",), "specificity": ("a negative",),
    "mcc": ("an item above the cutoff", "a positive", "a negative"),
}  # fmt: skip
# these turn on few draws where nearly all above the cutoff are positive, or negative
_OF_ABOVE = ("precision", "specificity", "mcc")
_ONE_LESS = {"e_measure": "f1", "false_positive_rate": "specificity"}


# successes and trials of what is a share of independent rows, above a cutoff that no sample has moved
_SHARES: Mapping[str, Callable[[int, int, int, int], tuple[int, int]]] = {
    "precision": lambda tp, q, p, n: (tp, q),
    "recall": lambda tp, q, p, n: (tp, p),
    "accuracy": lambda tp, q, p, n: (2 * tp + n - q - p, n),
    "specificity": lambda tp, q, p, n: (n - p - q + tp, n - p),
}


def with_intervals(rows: pa.Table, counted: Counted, clusters: Clusters | None) -> pa.Table:
    """Put standard errors and intervals beside the metrics of a list, where it is a sample; else give them as they are.

    Returns:
        pyarrow.Table: With rows of metrics at the scores that were asked for, and with `COLUMNS`; `low` and `high` are
            null where `no_interval` says why.
    """
    influence = counted.totals.influence
    if influence is None or clusters is None:
        return rows
    sampled = SampledList(counted, influence)
    names = zip(rows.column("metric").to_pylist(), rows.column("argument").to_pylist(), strict=True)
    found = [_of_row(sampled, *name) for name in names]
    at_scores = [one for number in range(len(clusters.at)) for one in metrics_at_score(sampled, clusters, number)]
    rows = pa.concat_tables([rows, table([row for row, _ in at_scores], "exact")])
    found += [interval for _, interval in at_scores]
    columns = [[None if math.isnan(value) else value for value in side] for side in
               zip(*((one.standard_error, one.low, one.high) for one in found), strict=True)]  # fmt: skip
    for (name, kind), values in zip(COLUMNS.items(), [*columns, [one.reason for one in found]], strict=True):
        rows = rows.append_column(name, pa.array(values, kind))
    return rows


def metrics_at_score(sampled: SampledList, clusters: Clusters, number: int) -> Iterator[tuple[Row, SampleInterval]]:
    """Give the metrics of all items of a score or a better one, each with its interval."""
    counts, misses = sampled.counts_at_score(number), sampled.counted.misses
    tp, q, p, n = (np.array([float(count)]) for count in counts)
    with np.errstate(invalid="ignore"):  # there may be no item of such a score
        values = {name: float(one.value(Cutoffs(q, tp, p, float(n[0]), float(misses)))[0])
                  for name, one in METRICS.items()}  # fmt: skip
    for name, value in {**values, "yield": float(counts[0]), "rank": float(counts[1])}.items():
        plain = _ONE_LESS.get(name, name)
        if plain not in AT_CUTOFF:
            found = SampleInterval(reason=_OF_NONE)
        elif misses:
            found = SampleInterval(reason=_OF_MISSES)
        elif plain in _SHARES and not clusters.columns:
            found = _of_share(*_SHARES[plain](*counts))
        else:
            found = interval(sampled.at_score(plain, number))
        found = found if name == plain else _one_less(found)
        yield (f"{name}_at_score", clusters.at[number], value, value, value), found


def _of_share(found: int, of: int) -> SampleInterval:
    """Give the interval of Clopper and Pearson, which holds of independent rows whatever the share."""
    if not of:
        return SampleInterval(reason="it is undefined")
    share = found / of
    return SampleInterval(math.sqrt(share * (1.0 - share) / of), *clopper_pearson(found, of, CONFIDENCE))


def _one_less(found: SampleInterval) -> SampleInterval:
    return replace(found, low=1.0 - found.high, high=1.0 - found.low)


def _of_row(sampled: SampledList, metric: str, argument: str) -> SampleInterval:
    """Give the interval of one row of the metrics."""
    if metric in _REASONS:
        return SampleInterval(reason=_REASONS[metric])
    plain = metric.removesuffix("_at")
    name = _ONE_LESS.get(plain, plain)
    cutoff = int(argument) if metric.endswith("_at") else None
    whole = {("average_precision", "positives"): sampled.average_precision, ("roc_auc", ""): sampled.roc_auc,
             ("r_precision", ""): sampled.r_precision}  # fmt: skip
    if cutoff is not None and name in AT_CUTOFF:
        derive: Callable[[], Derived] = partial(sampled.at_cutoff, name, cutoff)
    elif (metric, argument) in whole:
        derive = whole[metric, argument]
        cutoff = sampled.counted.totals.positives if metric == "r_precision" else None
    else:
        return SampleInterval(reason=_OF_NONE)
    if sampled.counted.misses:
        return SampleInterval(reason=_OF_MISSES)
    if cutoff and sampled.is_tied(cutoff):
        return SampleInterval(reason=_TIED)
    found = interval(derive())
    return found if name == plain else _one_less(found)
