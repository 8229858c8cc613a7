"""Windows of `exact --method`: those of PAULA's values, in which its assumptions are tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from streameval.counting.labelled_rows import LabelledRows
from streameval.errors import InputError
from streameval.methods.checks.sliding import Sliding, smallest_window
from streameval.methods.epsilon import DEFAULT_EPSILON
from streameval.methods.paula import PaulaParameters
from streameval.methods.values import method_values
from streameval.scans.threads import each_unit


def sliding_of(methods: str | Sequence[str]) -> Sliding:
    """Make the windows of PAULA's values, of which nothing else is of use to a list without a plan."""
    values = method_values(methods)
    for value in values:
        if value.name != "paula" or value.parameters.keys() - {"window", "epsilon"}:
            raise InputError(f"{value}: exact tests what paula assumes of windows, by window and epsilon alone",
                             "such as --method 'paula(window=100, epsilon=0.03)'")  # fmt: skip
    made = [cast(PaulaParameters, value.create({})) for value in values]
    return Sliding([(paula.window, paula.epsilon or DEFAULT_EPSILON) for paula in made])


def slide(rows: LabelledRows, sliding: Sliding, threads: int) -> None:
    """Slide windows over a list in its stored order: one more pass over its labels alone."""
    labels = replace(rows, score=None, order=None)
    for _, row_range in each_unit(labels.read, labels.units, threads):
        sliding.add(row_range.labels)


def described(sliding: Sliding) -> dict[str, Any]:
    """Describe what was found, as in a summary."""
    results = sliding.result()
    return {"windows": [result.as_dict() for result in results], "smallest_window": smallest_window(results)}
