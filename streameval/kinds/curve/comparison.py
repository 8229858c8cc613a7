"""Two rankings by what their studies hold, with bounds on every difference at one joint confidence."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.at_score import known_scores
from streameval.curve.bounds import Bounds
from streameval.curve.envelope import Points, lift
from streameval.errors import StudyError
from streameval.kernels.sorted_sets import isin, unique
from streameval.kinds.side_by_side import SideBySide
from streameval.methods import create
from streameval.methods.values import value_of
from streameval.metrics import ROUNDING, cutoffs
from streameval.metrics.bounded import metrics
from streameval.study import Study
from streameval.study.judging import curve_of
from streameval.study.results import Evaluation
from streameval.types import STRENGTH, TRUTH, Claim, Plan
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
        """Tell whether large scores come first."""
        return not self.ranking.get("ascending", False)


@dataclass(frozen=True, repr=False)
class Comparison(SideBySide):
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

    kind: ClassVar[str] = "curve"

    a: Side
    b: Side
    claim: Claim
    lists: str
    curves: pa.Table = field(repr=False)
    differences: pa.Table = field(repr=False)
    agree: bool = True

    @property
    def alike(self) -> bool:
        """True if both sides were judged by the same rule; otherwise "positive" means two things."""
        return alike(self.a, self.b)

    @property
    def excluded(self) -> int:
        """Cutoffs at which the bounds of both sides exclude each other."""
        low, high = (self.curves.column(f"difference_{end}").to_numpy() for end in ("lower", "upper"))
        return int(np.sum((low > 0) | (high < 0)))


def alike(a: Side, b: Side) -> bool:
    """Tell whether both judge alike; of a study and a column of labels, that has to be assumed."""
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


def compare_curves(a: Path, b: Path, confidence: float) -> Comparison:
    """Compare two curves.

    Each is computed anew at 1 − δ/2 (1 − δ where the other promises nothing by chance, or is exact), so that with
    probability ≥ 1 − δ the bounds of both hold, whatever one draw or list has to do with the other. Two orders of the
    same items, judged alike, have the same number of positives, on which the bounds of both are brought to bear.
    """
    read = [_read(path) for path in (a, b)]
    chances = sum(_by_chance(evaluation) for _, _, evaluation in read)
    share = 1 - (1 - confidence) / max(1, chances)
    left, right = (_side(*arguments, share) for arguments in read)
    lists, agree = _lists(left, right), True
    same = lists != "two lists" and alike(left, right)
    if same and "none" not in (left.curve.claim.coverage, right.curve.claim.coverage):
        shared = sharing_positives(left, right)
        agree, (left, right) = shared is not None, shared or (left, right)
    claim = _joint(left.curve.claim, right.curve.claim, confidence if chances else None)
    if same and left.judged != right.judged:
        (column,) = (side.judged for side in (left, right) if side.counted is not None)
        claim = replace(claim, assumes=f"{claim.assumes}; and the study's labels are those of {column}")
    table = differences(left, right)
    is_proven = claim.coverage != "none" and agree and lists != "the same list"
    return Comparison(
        a=left,
        b=right,
        claim=claim,
        lists=lists,
        curves=_with_higher(_curves(left.curve, right.curve), "difference_", is_proven),
        differences=_with_higher(table, "", is_proven),
        agree=agree,
    )


def _read(path: str | os.PathLike[str]) -> tuple[str, Plan | None, Evaluation]:
    """Results, and their plan; results of `exact` have none."""
    folder = Study(Path(path))
    if not folder.exists and (folder.folder / "evaluation.json").exists():
        return os.fspath(path), None, folder.evaluation()
    plan, evaluation = folder.plan(), folder.evaluation()
    return os.fspath(path), plan, evaluation


def _lists(a: Side, b: Side) -> str:
    if a.ranking.get("fingerprint") != b.ranking.get("fingerprint"):
        return "two lists"
    same = all(a.ranking.get(key) == b.ranking.get(key) for key in ("score", "ascending"))
    return "the same list" if same else "two orders of the same items"


def _by_chance(evaluation: Evaluation) -> bool:
    return evaluation.curve.claim.confidence not in (None, 1.0) and evaluation.curve.claim.coverage != "exact"


def _side(name: str, plan: Plan | None, evaluation: Evaluation, share: float) -> Side:
    """Compute a side's curve anew at its share of the confidence."""
    labelled = int(evaluation.summary["account"]["labelled"])
    if plan is None:
        judged = f"column {evaluation.summary['parameters']['label']}"
        ranking = evaluation.summary["ranking"]
        return Side(name, "exact", ranking, labelled, evaluation.curve, judged, evaluation.metrics)
    parameters = dict(evaluation.summary["parameters"])
    curve = evaluation.curve
    if curve.misses_upper is not None:
        raise StudyError(f"{name}: another study bounds its misses, and would need a share of the confidence",
                         "evaluate both with --misses, or without")  # fmt: skip
    if _by_chance(evaluation):
        if create(plan.method, parameters).level is None:
            raise StudyError(f"{name}: method {plan.method} has no confidence to share")
        error = float(evaluation.summary.get("label_error", 0.0))
        curve = curve_of(replace(plan, parameters={**parameters, "confidence": share}), evaluation.labels, error)
        curve = replace(curve, misses=evaluation.curve.misses, score=evaluation.curve.score)
    # an estimate does not depend on the confidence, nor on what the other side says: it is that of evaluate
    curve = replace(curve, estimated=evaluation.curve.estimated, basis=evaluation.curve.basis)
    return Side(name, str(value_of(plan)), plan.ranking, labelled, curve, _judging_rule(evaluation.summary))


def _judging_rule(summary: Mapping[str, Any]) -> str:
    rule, prefer = str(summary["vote"]), ", ".join(summary["prefer"])
    return f"{rule}, preferring {prefer}" if prefer else rule


def sharing_positives(a: Side, b: Side) -> tuple[Side, Side] | None:
    """Narrow each side's bounds on the positives of the list by the other's; None where they do not meet."""
    bounds = [side.curve.envelope.at([side.curve.n_items]) for side in (a, b)]
    low, high = max(float(pair[0][0]) for pair in bounds), min(float(pair[1][0]) for pair in bounds)
    if low > high:
        return None
    shared = []
    for side in (a, b):
        e = side.curve.envelope
        lower, upper = np.append(e.lower[:-1], low), np.append(e.upper[:-1], high)
        envelope = lift(side.curve.n_items, Points(e.rank, lower, upper))
        shared.append(replace(side, curve=replace(side.curve, envelope=envelope)))
    return shared[0], shared[1]


def _joint(a: Claim, b: Claim, confidence: float | None) -> Claim:
    """Give what holds of both together: the weaker of the two, under the assumptions of both."""
    coverage = min(a.coverage, b.coverage, key=STRENGTH.index)
    assumes = a.assumes if a.assumes == b.assumes else f"of the first: {a.assumed}; of the second: {b.assumed}"
    disputed = [(name, claim) for name, claim in (("first", a), ("second", b)) if claim.caution]
    about = disputed[0][1].about if disputed else TRUTH
    why = "; ".join(f"of the {name}, {claim.why}" for name, claim in disputed)
    return Claim(coverage, 1.0 if coverage == "exact" else confidence, assumes, about, why)


def _curves(a: Curve, b: Curve) -> pa.Table:
    """Precision of both at every rank that either curve shows, as far as both reach."""
    ranks = unique(a.grid, b.grid)
    ranks = ranks[ranks <= min(a.n_items, b.n_items)]
    left, right = a.at(ranks), b.at(ranks)
    columns: dict[str, Any] = {"rank": ranks}
    for name, table in (("a", left), ("b", right)):
        columns |= {f"precision_{name}{end}": table.column(f"precision{end}") for end in ("_lower", "", "_upper")}
    low, estimate, high = (
        subtract(left.column(f"precision{end}").to_numpy(), right.column(f"precision{other}").to_numpy())
        for end, other in (("_lower", "_upper"), ("", ""), ("_upper", "_lower"))
    )
    return pa.table({**columns, "difference_lower": low, "difference": estimate, "difference_upper": high})


def _with_higher(table: pa.Table, prefix: str, is_proven: bool) -> pa.Table:
    """Add which side is higher, where both bounds of the difference agree and promise something."""
    low = table.column(f"{prefix}lower").to_numpy(zero_copy_only=False)
    high = table.column(f"{prefix}upper").to_numpy(zero_copy_only=False)
    higher = np.where(low > 0, "a", np.where(high < 0, "b", ""))
    open_ = (higher == "") | (not is_proven)
    return table.append_column("higher", pa.array(higher.tolist(), pa.string(), mask=open_))
