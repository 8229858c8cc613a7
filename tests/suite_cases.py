"""What the suite runs of tests that take long; scripts/long runs the rest (LONG: where no mark tells it)."""

import os

import pytest

LONG = os.environ.get("STREAMEVAL_TESTS") == "long"


def cases(every, *suite):
    """All of `every`, where those that are not among `suite` are slow."""
    assert all(one in list(every) for one in suite)
    return [one if one in suite else pytest.param(one, marks=pytest.mark.slow) for one in every]


def slow(*every):
    """Cases of several arguments that are slow."""
    return [pytest.param(*one, marks=pytest.mark.slow) for one in every]


def examples(suite, whole):
    """How many examples Hypothesis makes up: fewer in the suite than in all."""
    return whole if LONG else suite
