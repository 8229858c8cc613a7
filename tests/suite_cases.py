"""Which cases of a test the suite runs; the others take long, and scripts/long runs them."""

import pytest


def cases(every, *suite):
    """All of `every`, where those that are not among `suite` are slow."""
    assert all(one in list(every) for one in suite)
    return [one if one in suite else pytest.param(one, marks=pytest.mark.slow) for one in every]


def slow(*every):
    """Cases of several arguments that are slow."""
    return [pytest.param(*one, marks=pytest.mark.slow) for one in every]
