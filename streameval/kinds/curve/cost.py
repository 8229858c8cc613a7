"""Costs of curves by each method: computed in milliseconds, without what reads lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streameval.errors import InputError
from streameval.judges.options import parameters_expected
from streameval.methods import refuse_alpha_with_budget
from streameval.methods.values import chosen_methods

NOTES = (
    "Half-widths are relative to precision; ~ marks a forecast, for precision of --min-precision (0.5) or more.",
    "simultaneous: the bounds hold at every rank at once with probability --confidence, whatever the list.",
    "conditional: the bounds hold only where the assumptions of the PAULA paper do.",
)


def costs(n_items: int, raw_options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Count the labels that each method asks for; the error of the first where no method can keep the parameters."""
    options = dict(raw_options)
    refuse_alpha_with_budget(options)
    judge = options.pop("judge", None)
    options |= {} if judge is None else parameters_expected(judge)
    values = chosen_methods(options.pop("method", None), options)
    rows: list[dict[str, Any]] = []
    refusals = []
    for value, method in [(value, value.create(value.takes(options))) for value in values]:
        try:
            rows.append({**method.cost(n_items), "method": str(value)})
        except InputError as error:
            refusals.append(error)
            rows.append({"method": str(value), "labels": None, "accuracy": None, "forecast": False,
                         "refused": error.line})  # fmt: skip
    if len(refusals) == len(rows):
        raise refusals[0]
    return rows
