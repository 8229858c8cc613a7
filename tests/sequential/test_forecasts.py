"""Forecasts are quantiles of the labels that likely cases take: numbers, or all that are left."""

import math

import numpy as np

from streameval.sequential import LabelForecast
from streameval.sequential.deciding import Deciding
from streameval.sequential.forecasts import DRAWS, forecast, labels_until_stop


def test_a_forecast_is_what_half_and_nine_in_ten_of_the_cases_take():
    labels = np.arange(1.0, 11.0)[::-1]
    assert forecast(labels, 100) == LabelForecast(5, 9, None, 100)
    assert forecast(labels, 8) == LabelForecast(5, None, None, 8)
    assert forecast(np.append(labels, [math.inf] * 10), 100, 40) == LabelForecast(10, None, 40, 100)
    assert forecast(labels, 100, weight=(labels > 8).astype(float)) == LabelForecast(9, 10, None, 100)
    assert forecast(np.full(3, math.inf), 100) == LabelForecast(None, None, None, 100)


def test_one_condition_that_fails_ends_all():
    labels = np.array([[10.0, 10.0, math.inf], [30.0, 30.0, 30.0]])
    fails = np.array([[True, False, False], [False, False, True]])
    assert labels_until_stop(labels, fails).tolist() == [[10.0, 10.0, 30.0], [10.0, 30.0, 30.0]]


def test_cases_are_the_quantiles_of_what_decides():
    deciding = Deciding(np.array([0, 0.25, 0, 0.25]), np.array([0, 0, 0.25, 0]), np.array([0.25]))
    labels, fails = deciding.cases(np.random.default_rng(0))
    assert [np.count_nonzero(labels == n) for n in (1, 2, 3, math.inf)] == [DRAWS // 4] * 4
    assert (fails == (labels == 2)).all()
