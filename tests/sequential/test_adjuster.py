"""What evidence from before a question was chosen is worth to it."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from streameval.sequential.adjuster import log_adjusted, log_needed


@pytest.mark.parametrize(("evidence", "worth"), [(1, 0.5), (20, 1.8), (100, 4.5), (400, 11), (10_000, 118)])
def test_evidence_is_worth_what_the_text_says(evidence, worth):
    assert math.exp(log_adjusted(math.log(evidence))) == pytest.approx(worth, rel=0.02)


def test_its_mean_is_one_where_evidence_is_as_large_as_it_may_be():
    """P(largest M >= x) = 1/x: with u = ln x the mean of A is the integral of A(e^u) e^-u; beyond 60 it is 1/60."""
    inside, _ = quad(lambda u: math.exp(log_adjusted(u) - u), 0, 60, limit=200)
    assert inside == pytest.approx(1 - 1 / 60, abs=1e-9)


def test_it_never_falls_and_has_its_limits():
    u = np.concatenate([np.linspace(-5, 0.01, 400), np.geomspace(1e-3 - 1e-9, 800, 4_000)])
    values = np.array([log_adjusted(one) for one in np.sort(u)])
    assert np.all(np.diff(values) >= -1e-9)
    assert np.all(values[np.sort(u) <= 0] == math.log(0.5))
    assert log_adjusted(700) == pytest.approx(700 - 2 * math.log(700))
    assert log_adjusted(1e-3 - 1e-12) == pytest.approx(log_adjusted(1e-3 + 1e-12), abs=1e-6)


def test_what_is_needed_falls_with_the_evidence_and_never_to_nothing():
    alone = math.log(20)
    assert log_needed(alone, -3.0) == log_needed(alone, 0.0) == pytest.approx(math.log(60))
    assert log_needed(alone, math.log(100)) == pytest.approx(math.log(30 / 4.48), abs=0.01)
    assert 0 < log_needed(alone, 50.0) < 1e-3
