"""What curves cost by each method: told in milliseconds, without what reads lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streameval.errors import InputError
from streameval.methods import Method, available, create, own_parameters, refuse_alpha_with_budget

NOTES = (
    "Half-widths are relative to precision; ~ marks a forecast, for lists that keep --min-precision.",
    "simultaneous: the bounds hold at every rank at once with probability --confidence, whatever the list.",
    "conditional: the bounds hold only where the assumptions of the PAULA paper do.",
)


def costs(n_items: int, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Count the labels that each method asks for; the error of the first where no method can keep the parameters."""
    refuse_alpha_with_budget(given)
    chosen = [create(name, _own(given, method)) for name, method in available().items()]
    rows, refusals = [], []
    for method in chosen:
        try:
            rows.append(method.cost(n_items))
        except InputError as error:
            refusals.append(error)
            rows.append({"method": method.name, "labels": None, "accuracy": None, "forecast": False,
                         "refused": error.line})  # fmt: skip
    if len(refusals) == len(rows):
        raise refusals[0]
    return rows


def _own(given: Mapping[str, Any], method: type[Method]) -> dict[str, Any]:
    """Give parameters for one method: those that it has, without those that others of them determine."""
    settled = {other for key in given for other in method.settles.get(key, ())}
    return {key: value for key, value in own_parameters(method, given).items() if key not in settled}
