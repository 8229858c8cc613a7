"""By how much a study is to grow."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from streameval.errors import InputError
from streameval.options import option


@dataclass(frozen=True)
class Growth:
    """By how much a study is to grow: one of the three."""

    labels: int | None = option(
        None,
        "At most so many more labels, once: those of the furthest stage that they pay for, as stages are added whole.",
    )
    half_width: float | None = option(None, "Until it is forecast to reach this, relative to precision.")
    rest: bool = option(
        False, "All that the labels of the first batch call for, of a plan made with --stages adaptive."
    )

    def __post_init__(self) -> None:
        """Check that there is one, and that it can be meant."""
        if len(self.request) != 1:
            raise InputError("grow takes --labels N, --half-width X or --rest", "give one of them")
        if self.half_width is not None and not 0 < self.half_width < 1:
            raise InputError(f"--half-width is {self.half_width}, outside (0, 1)", "0.05 is 5 % of precision")

    @property
    def request(self) -> dict[str, Any]:
        """Say what is kept of it in plan.json."""
        return {name: value for name, value in asdict(self).items() if value is not None and value is not False}
