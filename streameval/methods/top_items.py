"""The first k items of rankings that were drawn at random, of a list that holds many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from streameval.curve import Curve
from streameval.errors import InputError, StudyError
from streameval.methods import Method, check_confidence
from streameval.types import Labels, Plan


@dataclass(frozen=True)
class TopItems(Method):
    """Plans are made by `plan_rankings`, which draws the rankings; there are means of rankings, and no curve.

    Args:
        confidence: With which the bounds on all means hold together.
        rankings: Drawn.
        at: Items of each ranking to label, from its first on.
    """

    name: ClassVar[str] = "top_items"
    summary: ClassVar[str] = "The first items of rankings that were drawn at random."
    planned: ClassVar[bool] = False

    confidence: float = 0.95
    rankings: int = 1
    at: int = 10

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_confidence(self.confidence)
        for name, value in (("rankings", self.rankings), ("at", self.at)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                raise InputError(f"{name} is {value!r}, not a whole number", "give one number, such as 10")
        if self.rankings < 1:
            raise InputError(f"rankings is {self.rankings}, below 1", "draw at least one")
        if self.at < 1:
            raise InputError(f"at is {self.at}, below 1", "the first item is at 1")

    def plan(self, n_items: int, seed: int = 0) -> Plan:
        """Refused: a number of items says nothing of rankings."""
        raise InputError("rankings are drawn from a list", "name their column with --per")

    def curve(self, plan: Plan, labels: Labels) -> Curve:
        """Refused: a curve is of one ranking."""
        raise StudyError("this study has many rankings, and no curve", "evaluate, report and sql read it")

    def cost(self, n_items: int) -> dict[str, Any]:
        """Refused, as `plan` is."""
        raise InputError("labels of many rankings cost rankings times items of each", "plan them with --per")


METHOD = TopItems
