"""Forecasts of labels: the labels that a rule takes in cases that are as likely as each other, by what is known.

A design states a prior of what it is asked about, draws truths that the labels so far leave likely, and says for each
how many more labels its rule takes. Median and nine in ten of these are the forecast: where truths are as the prior
says, it holds that often, whatever the question. Nothing here can make an answer wrong.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.sequential import LabelForecast
from streameval.typing import BoolArray, FloatArray

DRAWS = 200  # cases of a forecast


def forecast(labels: FloatArray, left: int, most: int | None = None, weight: FloatArray | None = None) -> LabelForecast:
    """Say how many more labels decide half of the time, and nine times in ten.

    Args:
        labels (float64 array, shape (cases,)): More labels that each case takes; infinite where none are enough.
        left: Items that are left to ask.
        most: As in `LabelForecast`.
        weight (float64 array, shape (cases,)): How likely each case is beside the others; all alike by default.
    """
    by = np.argsort(labels, kind="stable")
    shares = np.cumsum(np.ones(labels.size) if weight is None else weight[by])
    at = np.searchsorted(shares, np.array([0.5, 0.9]) * shares[-1] * (1 - 1e-12))
    half, nine = (math.ceil(value) if value <= left else None for value in labels[by][at])
    return LabelForecast(half, nine, most, left)


def labels_until_stop(labels: FloatArray, fails: BoolArray) -> FloatArray:
    """Labels of each of several conditions once all are decided, or one fails, which ends all.

    Args:
        labels (float64 array, shape (conditions, cases)): Those that decide each by itself; infinite where none do.
        fails (bool array, shape (conditions, cases)): Whether it fails then.
    """
    first = np.where(fails, labels, np.inf).min(axis=0)
    return np.where(np.isfinite(first), np.minimum(labels, first), labels)
