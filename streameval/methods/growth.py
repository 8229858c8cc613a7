"""By how much a study is to grow."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from streameval.errors import InputError
from streameval.options import option


@dataclass(frozen=True)
class Growth:
    """By how much a study is to grow: up to a number of labels or a half-width; by its second batch with neither."""

    budget: int | None = option(
        None, "Labels to spend at most: the furthest stage that they pay for is added, as stages are added whole."
    )
    alpha: float | None = option(
        None, "Half-width to reach, relative to precision: the nearest stage that is forecast to reach it is added."
    )

    def __post_init__(self) -> None:
        """Check that it can be meant."""
        if len(self.request) > 1:
            raise InputError("grow takes --budget or --alpha", "leave out one of them")
        if self.alpha is not None and not 0 < self.alpha < 1:
            raise InputError(f"--alpha is {self.alpha}, outside (0, 1)", "0.05 is 5 % of precision")

    @property
    def request(self) -> dict[str, Any]:
        """Say what is kept of it in plan.json."""
        return {name: value for name, value in asdict(self).items() if value is not None}
