"""Standard errors and intervals of the metrics of a labelled list that is a sample: what another sample might say.

The influence of an item on a metric is the derivative of the metric in that item's weight. Sums S of it over bins of
independent clusters give the standard error, SE² = b/(b − 1)·ΣS², and ν = 2n/(1 − n/G) degrees of freedom with n =
(ΣS²)²/ΣS⁴. An interval is symmetric on the scale of logits, of Matthews' correlation on that of the inverse hyperbolic
tangent, of log loss on its own. It is approximate, unlike bounds; where few clusters decide a metric there is none, and
the reason is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from streameval.counting.calibration import COLUMNS
from streameval.counting.influence import Influence
from streameval.kernels.influence import BINS
from streameval.metrics.exact import Counted
from streameval.metrics.incomplete_beta import student_quantile
from streameval.text import number_of
from streameval.typing import AnyArray, FloatArray, Int64Array

CONFIDENCE = 0.95
_LEAST_BINS = 50
_LEAST_EQUAL = 30.0  # clusters of equal size that would weigh as much
_LEAST_AWAY = 5.0  # draws that say the rarer of two things
_LEAST_ABOVE = 10.0
_FEW = 20.0  # of what is rare, from which on an interval ends before it
_MOST_UNEVEN = 4.0
_MOST_OF_ONE = 0.1  # of the variance of a mean that may be of any size
_WIDER = 0.03
_WIDER_CORRELATION = 1.05  # than its standard error has it: with few clusters above a cutoff that is too small
_FULL, _MANY = 0.9, 200.0  # bins in use, and of equal influence, from which on rare things were seen often enough
_WINDOW, _POWER = 25, 0.8  # ranks on either side of a cutoff whose positives are its precision there

_OUTWEIGHED = "a few large draws outweigh the rest"
_CERTAIN = "it is 0 or 1 in this sample"
_NOTHING_VARIES = "no draw changes it, as where all scores are equal"
Weights = Mapping[str, Int64Array]


@dataclass(frozen=True)
class Derived:
    """Value of a metric, and the part of each bin in its difference from the population.

    Attributes:
        value: In the sample.
        influence (float64 array, shape (BINS,)): S.
        counts (mapping of str to int64 array of shape (BINS,)): What it divides by, for people, and how much of it each
            bin has.
        items (int64 array, shape (BINS,), or None): Rows of each bin.
        above: Which end of the metric draws above a cutoff lead to if all say what most of them do, and how many do
            not; None where it does not turn on these.
        rarer ({"either", "misses"}): Whether it may be near 0 as well as near 1, for so few.
        scale ({"logit", "atanh", "plain"}): On which an interval is symmetric.
        ends: Least and most that it can be, where that is not the whole scale: an interval that is open ends there.
    """

    value: float
    influence: FloatArray
    counts: Weights
    items: Int64Array | None = field(default=None, repr=False)
    above: tuple[str, float] | None = None
    rarer: str = "either"
    scale: str = "logit"
    ends: tuple[float, float] | None = None

    @property
    def bins(self) -> int:
        """Count those with a draw that it turns on."""
        return min(_bins(each) for each in self.counts.values())

    def rare(self) -> Iterator[tuple[str, float]]:
        """Name an end of the metric that it would reach without a few draws, and how many these are.

        What is rare is seen too often in the samples in which it is seen often enough for an interval: intervals of
        these reach to that end until there are more, so that they hold the value in those samples too.
        """
        if self.above is not None:
            yield self.above
        full = all(_bins(each) > _FULL * BINS for each in self.counts.values())
        if self.scale != "logit" or (full and equal_bins(self.influence) >= _MANY):
            return
        alike, high = min(map(equal_bins, self.counts.values())), self.rarer == "misses" or self.value >= 0.5
        yield ("high", alike * (1.0 - self.value)) if high else ("low", alike * self.value)


@dataclass(frozen=True)
class SampleInterval:
    """An interval at 95 %, approximately; NaN and the reason where there is none."""

    standard_error: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reason: str | None = None

    def as_dict(self) -> dict[str, float | str | None]:
        """Give it under the names of columns; null where there is none."""
        return as_columns(self.reason, standard_error=self.standard_error, low=self.low, high=self.high)


def as_columns(reason: str | None, **numbers: float) -> dict[str, float | str | None]:
    """Give numbers of an interval by their columns, null for NaN, and why there is none."""
    return {**{name: None if math.isnan(value) else value for name, value in numbers.items()}, "no_interval": reason}


def claim_at(confidence: float = CONFIDENCE) -> str:
    """Say what intervals promise."""
    return f"approximately {100 * confidence:g} %, if these are independent draws"


def interval(derived: Derived) -> SampleInterval:
    """Give the interval of a metric, or why there is none."""
    if (reason := refusal(derived)) is not None:
        return SampleInterval(reason=reason)
    error, reach = spread(derived.influence, derived.bins)
    reach *= 1.0 if derived.items is None else widening(derived.items)
    return SampleInterval(error, *ends_of(derived.value, reach, derived.rare(), derived.scale, derived.ends))


def ends_of(
    value: float,
    reach: float,
    rare: Iterable[tuple[str, float]],
    scale: str = "logit",
    ends: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """Give the ends of an interval.

    Args:
        reach: Of the metric, on either side of its value.
        rare: See `Derived.rare`.
        scale, ends: See `Derived`.
    """
    on_scale, whole = _SCALES[scale]
    low, high = on_scale(value, reach)
    few = {end for end, draws in rare if draws < _FEW}
    least, most = ends or whole
    return least if "low" in few else low, most if "high" in few else high


def spread(influence: FloatArray, bins: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Give the standard error of a sum of influence, and how far it reaches at a confidence.

    Args:
        bins: That have a draw which the metric turns on.
    """
    error = math.sqrt(bins / (bins - 1) * float(np.sum(influence**2)))
    if not error:  # as of the share of positives where every draw has the same
        return 0.0, 0.0
    return error, student_quantile(0.5 + confidence / 2, freedom_of(influence, bins)) * error


def widening(items: Int64Array) -> float:
    """Say how much wider intervals of uneven draws are: samples with few large ones by chance seem surer than they are.

    Args:
        items (int64 array, shape (BINS,)): Rows of each bin.
    """
    return 1.0 + _WIDER * (unevenness(items) - 1.0)


def unevenness(items: Int64Array) -> float:
    """Give how many draws there are for each of the equal ones that would weigh as much."""
    return _bins(items) / equal_bins(items)


def freedom_of(influence: FloatArray, bins: int) -> float:
    """Give the degrees of freedom that are left where some bins have more influence than others."""
    equal = equal_bins(influence)
    return bins - 1.0 if equal >= BINS else min(bins - 1.0, 2.0 * equal / (1.0 - equal / BINS))


def refusal(derived: Derived) -> str | None:
    """Say why no interval can be had of a metric; None where it can."""
    value, equal = derived.value, equal_bins(derived.influence)
    if math.isnan(value):
        return "it is undefined"
    for name, counts in derived.counts.items():
        if (bins := _bins(counts)) < _LEAST_BINS:
            have = "" if name == "a row" else f" {'has' if bins == 1 else 'have'} {name}"
            return f"only {number_of(bins, 'draw')}{have}; it takes {_LEAST_BINS}"
        if (alike := equal_bins(counts)) < _LEAST_EQUAL:
            return f"{_OUTWEIGHED}: those with {name} weigh as much as {alike:.0f} equal ones"
    if derived.items is not None and unevenness(derived.items) > _MOST_UNEVEN:
        bins, alike = _bins(derived.items), equal_bins(derived.items)
        return f"{_OUTWEIGHED}: {bins:,} bins of draws weigh as much as {alike:,.0f} equal ones"
    if derived.scale == "plain" and equal and _largest(derived.influence) > _MOST_OF_ONE:
        return f"{_OUTWEIGHED}: one has more than {100 * _MOST_OF_ONE:.0f} % of the variance"
    if (abs(value) >= 1.0 and derived.scale != "plain") or (derived.scale == "logit" and value <= 0.0):
        return _CERTAIN
    if not equal:
        return _NOTHING_VARIES
    if derived.above is not None and derived.above[1] < _LEAST_ABOVE:
        return "nearly all draws above the cutoff have the same label"
    return "too near 0 or 1 for so few draws" if any(draws < _LEAST_AWAY for _, draws in derived.rare()) else None


def equal_bins(weights: Int64Array | FloatArray) -> float:
    """Give how many bins of equal weight would weigh as evenly: (Σw²)²/Σw⁴ of influence, (Σw)²/Σw² of counts."""
    each = np.square(weights) if weights.dtype.kind == "f" else weights.astype(np.float64)
    below = float(np.sum(each * each))
    return float(np.sum(each)) ** 2 / below if below else 0.0


def _largest(influence: FloatArray) -> float:
    squares = np.square(influence)
    return float(np.max(squares) / np.sum(squares))


def _bins(counts: Int64Array) -> int:
    return int(np.count_nonzero(counts))


def _logit(value: float, reach: float) -> tuple[float, float]:
    middle, half = math.log(value / (1.0 - value)), reach / (value * (1.0 - value))
    return _expit(middle - half), _expit(middle + half)


def _expit(at: float) -> float:
    return 1.0 / (1.0 + math.exp(-at)) if at > -700.0 else 0.0


def _atanh(value: float, reach: float) -> tuple[float, float]:
    half = _WIDER_CORRELATION * reach / (1.0 - value * value)
    return math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half)


def _plain(value: float, reach: float) -> tuple[float, float]:
    return max(0.0, value - reach), value + reach


# by name: the ends of an interval by its value and reach, and the least and most that a metric can be
_SCALES: Mapping[str, tuple[Callable[[float, float], tuple[float, float]], tuple[float, float]]] = {
    "logit": (_logit, (0.0, 1.0)),
    "atanh": (_atanh, (-1.0, 1.0)),
    "plain": (_plain, (0.0, math.inf)),
}


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
        total, (_, positives) = self.influence, self._size
        value = self.counted.totals.precision_sum["grouped"] / positives if positives else math.nan
        sums = total.precision + total.positives * (total.inverse - value) - total.items * total.square
        return Derived(value, sums / max(positives, 1), {"a positive": total.positives}, total.items,
                       rarer="misses")  # fmt: skip

    def roc_auc(self) -> Derived:
        """Derive the area under the ROC curve, which is DeLong's estimate of its variance where draws are rows."""
        total, (n_items, positives) = self.influence, self._size
        value, others = self.counted.totals.roc_auc(0)["expected"], n_items - positives
        below = max(1, positives), max(1, others)
        lost, won = total.losses / (2.0 * below[1]), total.wins / (2.0 * below[0])
        sums = (total.positives * (1.0 - value) - lost) / below[0]
        sums = sums + (won - (total.items - total.positives) * value) / below[1]
        return Derived(value, sums, self._counts, total.items)

    def mean_loss(self, metric: str) -> Derived:
        """Derive the mean of squared errors ("brier"), or of log losses ("log_loss")."""
        losses, items = self.counted.score_losses, self.influence.items
        value = math.nan if losses is None else losses.mean(COLUMNS[metric])
        if losses is None or math.isnan(value):
            return Derived(math.nan, np.zeros(BINS), {})
        sums = (losses.by_bin(COLUMNS[metric]) - value * items) / losses.items
        return Derived(value, sums, {"a row": items}, items, scale="logit" if metric == "brier" else "plain")

    def at_cutoff(self, metric: str, k: int) -> Derived:
        """Derive a metric of the first k items, which are a share of the list, as of another sample.

        As the share stays, an item that comes in above the cutoff moves others below it: what they have of positives is
        the precision of the ranks about k.
        """
        items, positives = self.influence.tops[k]
        stay = k / self._size[0] * self.influence.items
        derived = self._derive_above(
            metric, (items, positives), (positives - self._local(k) * (items - stay), stay), _OF_FIRST
        )
        return replace(derived, ends=self._ends(metric, k))

    def _ends(self, metric: str, k: int) -> tuple[float, float] | None:
        """Give the least and the most that a metric of the first k / N of a list can be; None where these say nothing.

        They are those at the shares of positives in the interval of that share that allow for most.
        """
        n_items = self._size[0]
        low, high = self._prevalence
        if math.isnan(low) or k == n_items:
            return None
        share = k / n_items
        # as many positives as items above leave none below; as many negatives as items above, none above
        most, least = (min(max(at, low), high) for at in (share, 1.0 - share))
        of = AT_CUTOFF[metric]
        return (of((max(0.0, share + least - 1.0), share, least, 1.0))[0],
                of((min(share, most), share, most, 1.0))[0])  # fmt: skip

    @cached_property
    def _prevalence(self) -> tuple[float, float]:
        """Give the interval of the share of positives; NaN where there are but positives, or none."""
        (n_items, positives), total = self._size, self.influence
        if not 0 < positives < n_items:
            return math.nan, math.nan
        share, bins = positives / n_items, _bins(total.items)
        if bins < _LEAST_BINS:
            return math.nan, math.nan
        reach = spread((total.positives - share * total.items) / n_items, bins)[1] * widening(total.items)
        return _logit(share, reach)

    def r_precision(self) -> Derived:
        """Derive the precision of the first P items; a positive that comes in moves the cutoff down by one item."""
        rank, total = self._size[1], self.influence
        if not rank:
            return Derived(math.nan, np.zeros(BINS), {})
        items, positives = total.tops[rank]
        tp = int(positives.sum())
        sums = positives - self._local(rank) * (items - total.positives) - tp / rank * total.positives
        counts = {"an item above the cutoff": items, "a positive": total.positives}
        return Derived(tp / rank, sums / rank, counts, total.items, _rarer_above(items, tp))

    def _local(self, k: int) -> float:
        """Give the precision of the ranks about one."""
        places, reach = self.counted.places, max(_WINDOW, int(math.pow(k, _POWER) / 2))
        low, high = max(0, k - reach), min(self._size[0], k + reach)
        positives = int(places.yield_at(high, "late")) - int(places.yield_at(low, "late"))
        return positives / (high - low)

    def at_score(self, metric: str, number: int) -> Derived:
        """Derive a metric of all items of a score or a better one, the score being that of any sample."""
        items, positives = self.influence.above[number]
        return self._derive_above(metric, (items, positives), (positives, items), _OF_ABOVE)

    def _derive_above(
        self,
        metric: str,
        above: tuple[Int64Array, Int64Array],
        sums: tuple[AnyArray, AnyArray],
        turning: tuple[str, ...],
    ) -> Derived:
        """Derive a metric of the items above a cutoff.

        Args:
            above: Items, and positives, above it by bin.
            sums: What each bin adds to the true positives, and to the items above.
            turning: Metrics that turn on the rarer of positives and negatives above it.
        """
        total, (n_items, positives) = self.influence, self._size
        q, tp = (int(each.sum()) for each in above)
        value, slopes = AT_CUTOFF[metric]((tp, q, positives, n_items))
        of_bins = (*sums, total.positives, total.items)
        counts = {"an item above the cutoff": above[0], **self._counts, "a row": total.items}
        return Derived(
            value,
            sum((slope * each for slope, each in zip(slopes, of_bins, strict=True)), np.zeros(BINS)),
            {name: counts[name] for name in _DIVIDED_BY[metric]},
            total.items,
            _rarer_above(above[0], tp) if metric in turning else None,
            "misses" if metric == "f1" else "either",
            "atanh" if metric == "mcc" else "logit",
        )

    def counts_at_score(self, number: int) -> tuple[int, int, int, int]:
        """Give true positives, items above, positives, and items in all."""
        q, tp = self.influence.above[number].sum(axis=1).tolist()
        return tp, q, self._size[1], self._size[0]


def _rarer_above(items: Int64Array, positives: int) -> tuple[str, float]:
    """Say where a metric goes without the rarer of positives and negatives above a cutoff, and how many these are."""
    size = int(items.sum())
    rarer = min(positives, size - positives)
    return "high" if 2 * positives > size else "low", equal_bins(items) * rarer / max(size, 1)


# true positives, items above the cutoff, positives, and items in all; or shares of the list
TwoByTwo = tuple[float, float, float, float]
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
_OF_FIRST = (*_OF_ABOVE, "recall", "f1")
