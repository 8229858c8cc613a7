"""Metrics of arrays that fit the memory, with the names and arguments of scikit-learn, by the kernels of `exact`.

>>> import streameval
>>> y_true, y_score = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
>>> round(streameval.average_precision_score(y_true, y_score), 4)
0.8333
>>> float(streameval.roc_auc_score(y_true, y_score))
0.75
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from streameval.errors import InputError, check_misses
from streameval.metrics.cases import Ranked, ranked
from streameval.typing import FloatArray

Ties = Literal["grouped", "pessimistic", "expected", "optimistic"]
_ORDER = {"grouped": "grouped", "pessimistic": "late", "expected": "expected", "optimistic": "early"}


def _groups(y_true: npt.ArrayLike, y_score: npt.ArrayLike) -> Ranked:
    """Sort by score, the largest first."""
    try:
        labels, scores = np.asarray(y_true), np.asarray(y_score)
    except ValueError as error:
        raise InputError(f"y_true or y_score is no array ({error})", "give rows of numbers") from None
    for name, array in (("y_true", labels), ("y_score", scores)):
        if array.size and array.dtype.kind not in "biuf":
            raise InputError(f"{name} holds {array.dtype}, no numbers", "give numbers, one for every item")
    if labels.ndim != 1 or labels.shape != scores.shape:
        raise InputError(f"y_true has shape {labels.shape}, y_score {scores.shape}", "both are one row, equally long")
    if labels.size == 0:
        raise InputError("y_true is empty", "a list needs at least one item")
    odd = (labels != 0) & (labels != 1)
    if np.any(odd):
        raise InputError(f"y_true[{int(np.argmax(odd)):,}] is {labels[np.argmax(odd)]}, not 0 or 1")
    if scores.dtype.kind == "f" and np.isnan(scores).any():
        raise InputError(f"y_score[{int(np.argmax(np.isnan(scores))):,}] is NaN", "every item needs a score")
    return ranked(labels, scores)


def _order(ties: str) -> str:
    if ties not in _ORDER:
        raise InputError(f"ties is {ties!r}", f"it is one of {', '.join(_ORDER)}")
    return _ORDER[ties]


def precision_recall_curve(
    y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, misses: int = 0
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.generic]]:
    """Precision and recall at every threshold.

    Args:
        y_true: array-like of 0/1 or bool, shape (n,).
        y_score (array-like of numbers, shape (n,)): Large is good.
        misses: Positives that were never returned.

    Returns:
        precision, recall (float64 arrays, shape (thresholds + 1,)): From the lowest threshold to the highest, and last
            (1, 0), as scikit-learn has them; recall is 1 throughout where there are no positives, as there.
        thresholds (array, shape (thresholds,)): The distinct scores, ascending.

    Raises:
        InputError: Shapes that differ, nothing at all, a label that is not 0/1, a score that is NaN or no number,
            misses that are no count.
    """
    groups = _groups(y_true, y_score)
    positives = int(groups.found[-1]) + check_misses(misses)
    precision = groups.found / groups.ranks
    recall = groups.found / positives if positives else np.ones(groups.found.size)
    return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), groups.score[::-1]


def roc_curve(
    y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, misses: int = 0
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.generic]]:
    """False and true positive rate at every threshold: scikit-learn's `roc_curve(drop_intermediate=False)`.

    Returns:
        false_positive_rate, true_positive_rate (float64 arrays, shape (thresholds + 1,)): From (0, 0) on; NaN where
            there are no negatives, or no positives.
        thresholds (array, shape (thresholds + 1,)): Infinity, then the distinct scores, descending.
    """
    groups = _groups(y_true, y_score)
    positives, negatives = int(groups.found[-1]) + check_misses(misses), int(groups.ranks[-1] - groups.found[-1])
    rates = []
    for counts, total in ((groups.ranks - groups.found, negatives), (groups.found, positives)):
        rates.append(np.append(0.0, counts / total) if total else np.full(counts.size + 1, np.nan))
    return rates[0], rates[1], np.append(np.inf, groups.score)


def average_precision_score(
    y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, misses: int = 0, ties: Ties = "grouped"
) -> float:
    """Average precision, over all positives.

    Args:
        y_true, y_score, misses: As for `precision_recall_curve`.
        ties ({"grouped", "pessimistic", "expected", "optimistic"}): "grouped" treats items with the same score as one,
            as scikit-learn does; the others order them.

    Returns:
        float: 0.0 without positives, as in scikit-learn.
    """
    totals = _groups(y_true, y_score).places.totals
    positives = totals.positives + check_misses(misses)
    return totals.precision_sum[_order(ties)] / positives if positives else 0.0


def roc_auc_score(y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, misses: int = 0, ties: Ties = "grouped") -> float:
    """Area under the ROC curve: the share of (positive, negative) pairs in the right order.

    A missed positive loses to every negative. "grouped" and "expected" are the same: a tied pair counts half.

    Returns:
        float: NaN where there are no positives or no negatives.
    """
    shares = _groups(y_true, y_score).places.totals.roc_auc(check_misses(misses))
    order = _order(ties)
    return shares["expected" if order == "grouped" else order]
