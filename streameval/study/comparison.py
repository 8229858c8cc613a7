"""What two studies say of their rankings, side by side: the differences of every metric that both have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.at_score import known_scores
from streameval.curve.bounds import Bounds
from streameval.kernels.sorted_sets import isin
from streameval.metrics import ROUNDING, cutoffs
from streameval.metrics.bounded import metrics
from streameval.notebook import Tabular
from streameval.types import Claim
from streameval.typing import FloatArray, Int64Array

_DIFFERENCES = pa.schema(
    [
        ("metric", pa.string()), ("argument", pa.string()), ("a", pa.float64()), ("b", pa.float64()),
        ("lower", pa.float64()), ("estimate", pa.float64()), ("upper", pa.float64()),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Side:
    """One of the two rankings.

    Attributes:
        name: Folder of its results.
        method: That of its study, or "exact".
        ranking: What the ranking is: fingerprint, order, score …
        labels: Ranks with a label.
        curve: At its share of the joint confidence.
        judged: How its labels came to be: by which vote rule and preference, or from which column.
        counted: Metrics counted from all labels, where every item has one.
    """

    name: str
    method: str
    ranking: Mapping[str, Any]
    labels: int
    curve: Curve
    judged: str
    counted: pa.Table | None = None

    @property
    def descending(self) -> bool:
        """Whether large scores come first."""
        return not self.ranking.get("ascending", False)


@dataclass(frozen=True)
class Comparison(Tabular):
    """Two rankings side by side.

    Attributes:
        claim: What the bounds on all differences promise together.
        lists: "the same list", "two orders of the same items" or "two lists".
        curves: `rank` int64, then float64 `precision_a_lower`, `precision_a`, `precision_a_upper`, the same for b, and
            for `difference` (a − b); `higher` "a", "b" or null where the sign is not established.
        differences: `metric`, `argument`, `a`, `b` (estimates), `lower`, `estimate`, `upper` of a − b, `higher`
            likewise. At equal rank, at equal recall, of the whole lists, and `precision_at_score` at equal threshold
            where both have scores.
        agree: False where both are of the same items, but the bounds on how many of these are positive exclude each
            other: their labels disagree, or a band has failed, and nothing is established. Neither is it of one and the
            same list.
    """

    a: Side
    b: Side
    claim: Claim
    lists: str
    curves: pa.Table = field(repr=False)
    differences: pa.Table = field(repr=False)
    agree: bool = True

    @property
    def table(self) -> pa.Table:
        """The differences."""
        return self.differences

    @property
    def alike(self) -> bool:
        """Whether the labels of both were judged alike: otherwise "positive" does not mean the same on both sides."""
        return alike(self.a, self.b)

    @property
    def excluded(self) -> int:
        """Cutoffs at which the bounds of both sides exclude each other."""
        low, high = (self.curves.column(f"difference_{end}").to_numpy() for end in ("lower", "upper"))
        return int(np.sum((low > 0) | (high < 0)))


def alike(a: Side, b: Side) -> bool:
    """Whether both judge alike; of a study and a column of labels, that has to be assumed."""
    return a.judged == b.judged or (a.counted is None) != (b.counted is None)


def differences(a: Side, b: Side) -> pa.Table:
    """Every metric that both lists have, under the same argument, and precision at equal thresholds."""
    metrics_a, metrics_b = (side.counted if side.counted is not None else metrics(side.curve) for side in (a, b))
    theirs = {(row["metric"], row["argument"]): row for row in metrics_b.to_pylist()}
    rows = []
    for mine in metrics_a.to_pylist():
        other = theirs.get((mine["metric"], mine["argument"]))
        if other is not None:
            rows.append(_row(mine["metric"], mine["argument"], Bounds.of_row(mine), Bounds.of_row(other)))
    return pa.Table.from_pylist([*rows, *_at_thresholds(a, b)], schema=_DIFFERENCES)


def _row(metric: str, argument: str, a: Bounds, b: Bounds) -> dict[str, Any]:
    """Difference of two metrics; a bound of it is open where a bound of either is."""
    gap = subtract(a, (b.upper, b.estimate, b.lower)).tolist()
    row = {"a": a.estimate, "b": b.estimate, **dict(zip(Bounds._fields, gap, strict=True))}
    values = {key: None if math.isnan(value) else float(value) for key, value in row.items()}
    return {"metric": metric, "argument": argument, **values}


def subtract(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """Subtract values that may have been summed in different ways: a difference that rounding can make is 0.

    >>> subtract([0.1 + 0.2, 0.5], [0.3, 0.25])
    array([0.  , 0.25])
    """
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        gap = left - right
        return np.where(np.abs(gap) <= ROUNDING * np.maximum(np.abs(left), np.abs(right)), 0.0, gap)


def _at_thresholds(a: Side, b: Side) -> list[dict[str, Any]]:
    """Precision among the items that score at least as well as one at a power of ten of either list."""
    numbers = [_scores(side.curve) for side in (a, b)]
    if None in numbers or a.descending != b.descending:
        return []  # no threshold means the same to both
    thresholds: set[float] = set()
    for side, (rank, score) in zip((a, b), numbers, strict=True):  # type: ignore[misc]
        at = isin(rank, cutoffs(side.curve.n_items)[:-1])
        thresholds |= set(score[at].tolist())
    rows = []
    for threshold in sorted(thresholds, reverse=a.descending):
        precision = [_precision_from(side, threshold) for side in (a, b)]
        pair = [bounds for bounds in precision if bounds is not None]
        if len(pair) == 2:
            rows.append(_row("precision_at_score", repr(threshold).removesuffix(".0"), *pair))
    return rows


def _scores(curve: Curve) -> tuple[Int64Array, FloatArray] | None:
    """Ranks whose score is known, and these scores; None where the order has none, or none that are numbers."""
    if curve.score is None:
        return None
    rank, score = known_scores(curve.score)
    if not (pa.types.is_integer(score.type) or pa.types.is_floating(score.type)):
        return None
    return rank, score.to_numpy().astype(np.float64)


def _precision_from(side: Side, threshold: float) -> Bounds | None:
    """Precision among the items at or above a threshold, whose number is known between two known scores.

    None where no item is known to be there. Items without a score come last; ranks whose score was not read say nothing
    of where the threshold lies.
    """
    scores = _scores(side.curve)
    if scores is None:
        return None
    rank, score = scores
    inside = score >= threshold if side.descending else score <= threshold
    if not inside.any():
        return None  # not even one item is known to be inside
    count = int(np.sum(inside))
    first = int(rank[count - 1])
    last = int(rank[count]) - 1 if count < rank.size else side.curve.n_items
    return side.curve.between(first, last)["precision"]
