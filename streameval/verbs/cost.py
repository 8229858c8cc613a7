"""Cost: how many labels each method would ask for."""

from __future__ import annotations

from typing import Any

from streameval.errors import InputError
from streameval.methods import available, create, parameter_names


def cost(items: int, *, price_per_label: float | None = None, **parameters: Any) -> list[dict[str, Any]]:
    """Count the labels that each method asks for on a list of `items`.

    Parameters
    ----------
    items : int
        N.
    price_per_label : float, optional
        Adds `price` = labels × price.
    **parameters
        Parameters of any method; each takes those it knows.

    Returns
    -------
    list of dict
        One per method: `method`, `labels`, and constants of the method's own.

    Raises
    ------
    InputError
        A parameter that no method knows, or a value out of range.
    """
    if price_per_label is not None and not price_per_label >= 0:
        raise InputError(f"price per label is {price_per_label}, not a price")
    given = {key: value for key, value in parameters.items() if value is not None}
    known = {name: parameter_names(method) for name, method in available().items()}
    for key in given:
        if not any(key in names for names in known.values()):
            raise InputError(f"no method has a parameter '{key}'")
    found = []
    for name, names in known.items():
        row = create(name, {key: value for key, value in given.items() if key in names}).cost(items)
        found.append(row if price_per_label is None else {**row, "price": row["labels"] * price_per_label})
    return found
