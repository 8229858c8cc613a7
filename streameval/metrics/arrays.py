"""Metrics of arrays that fit the memory, with the names and arguments of scikit-learn, by the kernels of `exact`.

>>> import streameval
>>> y_true, y_score = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
>>> round(streameval.average_precision_score(y_true, y_score), 4)
0.8333
>>> float(streameval.roc_auc_score(y_true, y_score))
0.75
>>> streameval.precision_recall_curve(y_true, y_score)[1].tolist()
[1.0, 1.0, 0.5, 0.5, 0.0]
>>> streameval.roc_curve(["n", "n", "y", "y"], y_score, pos_label="y", sample_weight=[1, 3, 1, 1])[1].tolist()
[0.0, 0.5, 0.5, 1.0, 1.0]
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from streameval.errors import InputError, check_misses
from streameval.metrics.cases import Ranked, rank_cases
from streameval.metrics.partial_area import partial_roc_area, standardise
from streameval.typing import BoolArray, FloatArray

Ties = Literal["grouped", "pessimistic", "expected", "optimistic"]
Label = bool | int | float | str
_ORDER = {"grouped": "grouped", "pessimistic": "late", "expected": "expected", "optimistic": "early"}


def _groups(
    y_true: npt.ArrayLike, y_score: npt.ArrayLike, pos_label: Label | None, sample_weight: npt.ArrayLike | None
) -> Ranked:
    """Sort by score, the largest first; items of weight 0 are left out, as scikit-learn has it."""
    labels, scores = _array(y_true, "y_true"), _array(y_score, "y_score")
    _refuse_words(scores, "y_score")
    if labels.ndim != 1 or labels.shape != scores.shape:
        raise InputError(f"y_true has shape {labels.shape}, y_score {scores.shape}", "give two rows of equal length")
    if labels.size == 0:
        raise InputError("y_true is empty", "a list needs at least one item")
    positive = _positive(labels, pos_label)
    if scores.dtype.kind == "f" and np.isnan(scores).any():
        raise InputError(f"y_score[{int(np.argmax(np.isnan(scores))):,}] is NaN", "every item needs a score")
    if sample_weight is None:
        return rank_cases(positive, scores)
    weight = _weights(sample_weight, labels.shape)
    order = np.argsort(scores, kind="stable")[::-1]
    order = order[weight[order] > 0]
    scores, positive, weight = scores[order], positive[order], weight[order]
    last = np.flatnonzero(np.append(scores[1:] != scores[:-1], True))
    return Ranked(scores[last], np.cumsum(weight)[last], np.cumsum(weight * positive)[last])


def _array(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} is not an array ({error})", "give a row of values") from None


def _refuse_words(array: npt.NDArray[Any], name: str) -> None:
    if array.size and array.dtype.kind not in "biuf":
        raise InputError(f"{name} holds {array.dtype}, not numbers", "give numbers, one for every item")


def _positive(labels: npt.NDArray[Any], pos_label: Label | None) -> BoolArray:
    """Tell which items are positive."""
    if pos_label is not None:
        return np.asarray(labels == pos_label, dtype=np.bool_)
    _refuse_words(labels, "y_true")
    odd = (labels != 0) & (labels != 1)
    if np.any(odd):
        where = f"y_true[{int(np.argmax(odd)):,}] is {labels[np.argmax(odd)]}, not 0 or 1"
        raise InputError(where, "pos_label says which label is positive")
    return np.asarray(labels == 1)


def _weights(sample_weight: npt.ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    weight = _array(sample_weight, "sample_weight")
    _refuse_words(weight, "sample_weight")
    if weight.shape != shape:
        raise InputError(f"sample_weight has shape {weight.shape}, y_true {shape}", "give every item its weight")
    odd = ~((weight >= 0) & (weight < np.inf))
    if np.any(odd) or not weight.any():
        what = (
            f"sample_weight[{int(np.argmax(odd)):,}] is {weight[np.argmax(odd)]}"
            if np.any(odd)
            else "all weights are 0"
        )
        raise InputError(what, "weights are 0 or more, and not all 0")
    return weight.astype(np.float64)


def _order(ties: str) -> str:
    if ties not in _ORDER:
        raise InputError(f"ties is {ties!r}", f"it is one of {', '.join(_ORDER)}")
    return _ORDER[ties]


def precision_recall_curve(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    pos_label: Label | None = None,
    sample_weight: npt.ArrayLike | None = None,
    misses: int = 0,
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.generic]]:
    """Precision and recall at every threshold.

    Args:
        y_true: array-like, shape (n,), of 0/1 or bool; of anything else with `pos_label`.
        y_score (array-like of numbers, shape (n,)): Large is good.
        pos_label (number, bool or str): The positive label; all others are negative.
        sample_weight (array-like of numbers, shape (n,)): Weight of each item, from 0 on.
        misses: Positives that were never returned, each of weight 1.

    Returns:
        precision, recall (float64 arrays, shape (thresholds + 1,)): From the lowest threshold to the highest, and last
            (1, 0), as scikit-learn has them; recall is 1 throughout where there are no positives, as there.
        thresholds (array, shape (thresholds,)): The distinct scores, ascending.

    Raises:
        InputError: Shapes that differ, nothing at all, a label that is not 0/1, a score that is NaN or no number, a
            weight below 0, misses that are no count.
    """
    groups = _groups(y_true, y_score, pos_label, sample_weight)
    positives = groups.found[-1] + check_misses(misses)
    precision = groups.found / groups.ranks
    recall = groups.found / positives if positives else np.ones(groups.found.size)
    return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), groups.score[::-1]


def roc_curve(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    pos_label: Label | None = None,
    sample_weight: npt.ArrayLike | None = None,
    misses: int = 0,
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.generic]]:
    """False and true positive rate at every threshold: scikit-learn's `roc_curve(drop_intermediate=False)`.

    Args: as for `precision_recall_curve`.

    Returns:
        false_positive_rate, true_positive_rate (float64 arrays, shape (thresholds + 1,)): From (0, 0) on; NaN where
            there are no negatives, or no positives.
        thresholds (array, shape (thresholds + 1,)): Infinity, then the distinct scores, descending.
    """
    groups = _groups(y_true, y_score, pos_label, sample_weight)
    wrong = groups.ranks - groups.found
    rates = []
    for counts, total in ((wrong, wrong[-1]), (groups.found, groups.found[-1] + check_misses(misses))):
        rates.append(np.append(0.0, counts / total) if total else np.full(counts.size + 1, np.nan))
    return rates[0], rates[1], np.append(np.inf, groups.score)


def average_precision_score(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    pos_label: Label | None = None,
    sample_weight: npt.ArrayLike | None = None,
    misses: int = 0,
    ties: Ties = "grouped",
) -> float:
    """Average precision, over all positives.

    Args:
        y_true, y_score, pos_label, sample_weight, misses: As for `precision_recall_curve`.
        ties ({"grouped", "pessimistic", "expected", "optimistic"}): "grouped" treats items with the same score as one,
            as scikit-learn does; the others order them, and know no weights.

    Returns:
        float: 0.0 without positives, as in scikit-learn.
    """
    groups, order = _groups(y_true, y_score, pos_label, sample_weight), _order(ties)
    positives = groups.found[-1] + check_misses(misses)
    if not positives:
        return 0.0
    if sample_weight is None:
        return float(groups.places.totals.precision_sum[order] / positives)
    _refuse_order(ties)
    return float(np.sum(np.diff(groups.found, prepend=0) * (groups.found / groups.ranks)) / positives)


def roc_auc_score(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    pos_label: Label | None = None,
    sample_weight: npt.ArrayLike | None = None,
    misses: int = 0,
    ties: Ties = "grouped",
    max_fpr: float | None = None,
) -> float:
    """Area under the ROC curve: the share of (positive, negative) pairs in the right order.

    A missed positive loses to every negative. "grouped" and "expected" are the same: a tied pair counts half. Other
    arguments are those of `average_precision_score`.

    Args:
        max_fpr: Up to this false positive rate, in (0, 1], and standardised: 1/2 by chance, 1 at best. Without weights,
            and with tied items grouped.

    Returns:
        float: NaN where there are no positives or no negatives.
    """
    groups, order = _groups(y_true, y_score, pos_label, sample_weight), _order(ties)
    if max_fpr is not None and max_fpr != 1:
        if sample_weight is not None:
            raise InputError("max_fpr does not go with weights", "leave one of them out")
        _refuse_order(ties, "max_fpr is given", "tied items are grouped there")
        if not 0 < max_fpr < 1:
            raise InputError(f"max_fpr is {max_fpr!r}, outside (0, 1]", "such as max_fpr=0.1")
        positives, rate = groups.found[-1] + check_misses(misses), Fraction(max_fpr)
        return standardise(partial_roc_area(groups.places, int(positives), rate), rate)
    if sample_weight is None:
        return groups.places.totals.roc_auc(check_misses(misses))["expected" if order == "grouped" else order]
    _refuse_order(ties)
    positive = np.diff(groups.found, prepend=0)
    negative = np.diff(groups.ranks, prepend=0) - positive
    pairs = (groups.found[-1] + check_misses(misses)) * negative.sum()
    right = np.sum(negative * (groups.found - positive / 2))
    return float(right / pairs) if pairs else float("nan")


def _refuse_order(
    ties: str, why: str = "items have weights", hint: str = "weights work only with grouped ties"
) -> None:
    if ties != "grouped":
        raise InputError(f"ties is {ties!r}, and {why}", hint)
