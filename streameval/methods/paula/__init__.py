"""PAULA: its parameters; the method itself is in `method`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from streameval.errors import InputError
from streameval.methods import Method, check_alpha, check_budget, check_confidence
from streameval.methods.epsilon import DEFAULT_EPSILON, EPSILON, HEAD, TAIL, Tail, least_head, parse_epsilon
from streameval.methods.options import ALPHA, BUDGET
from streameval.options import option


@dataclass(frozen=True)
class PaulaParameters(Method):
    """Parameters, and what they are checked for."""

    name: ClassVar[str] = "paula"
    summary: ClassVar[str] = "the paper's windows on a geometric grid; bounds hold only if precision never rises"

    epsilon: str | float | None = option(None, EPSILON, DEFAULT_EPSILON)
    window: int = option(100, "Labels per grid point.")
    head: int | None = option(None, HEAD, "(window + 2) / epsilon")
    tail: Tail = option("open", TAIL)
    alpha: float | None = option(None, ALPHA, "0.0812 at epsilon .03")
    budget: int | None = option(None, BUDGET)
    assume: Literal["a2", "independent"] = option(
        "a2", "Assume A.2, or independent labels whose probability never rises."
    )
    confidence: float | None = option(None, "Probability of the claim of assume=independent.", "0.95")

    def __post_init__(self) -> None:
        """Check every parameter."""
        if self.window < 1:
            raise InputError(f"window is {self.window}, below 1", "the paper uses 50 to 100 labels per grid point")
        check_budget(self.budget)
        if self.alpha is not None:
            check_alpha(self.alpha)
        if self.epsilon is not None and (self.alpha is not None or self.budget is not None):
            raise InputError("epsilon cannot be given with --alpha or --budget", "they choose epsilon; leave it out")
        if self._epsilon_is_free and self.head is not None:
            raise InputError("head cannot be given with --alpha or --budget", "they choose the head too; leave it out")
        ratio = parse_epsilon(self.epsilon if self.epsilon is not None else DEFAULT_EPSILON)
        if self.head is not None and self.head < least_head(ratio, self.window):
            raise InputError(
                f"head is {self.head:,}: too small for epsilon {self.epsilon} and window {self.window}",
                f"the smallest head that works is {least_head(ratio, self.window):,}",
            )
        if self.confidence is not None:
            check_confidence(self.confidence)

    @classmethod
    def implied(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Give the paper's grid, and the least head that works."""
        ratio = parse_epsilon(parameters.get("epsilon") or DEFAULT_EPSILON)
        return {"epsilon": DEFAULT_EPSILON, "head": least_head(ratio, parameters.get("window", cls.window))}

    @property
    def _epsilon_is_free(self) -> bool:
        return self.epsilon is None and (self.alpha is not None or self.budget is not None)


PARAMETERS = PaulaParameters
