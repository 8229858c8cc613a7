"""Base of the methods that draw ranks at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streameval.errors import InputError
from streameval.methods import (
    ASSUMES_THE_DRAW,
    Method,
    check_alpha,
    check_budget,
    check_confidence,
)
from streameval.methods.options import ALPHA, BUDGET
from streameval.options import option

if TYPE_CHECKING:
    from streameval.types import Claim, Labels, Plan


@dataclass(frozen=True)
class Sampled(Method):
    """Base class of methods that draw ranks at random: parameters, and their checks."""

    alpha: float = option(0.08, ALPHA)
    confidence: float = option(0.95, "Probability of the claim.")
    min_precision: float = option(0.5, "Precision that the list is expected to keep.")
    budget: int | None = option(None, BUDGET)

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_alpha(self.alpha)
        check_budget(self.budget)
        check_confidence(self.confidence)
        if not 0 < self.min_precision <= 1:
            raise InputError(f"--min-precision is {self.min_precision}, outside (0, 1]", "0.5 is the default")

    def claim_of(self, plan: Plan, labels: Labels) -> Claim:
        """Give what the bounds promise: nothing is left to chance where every item is labelled."""
        from streameval.types import Claim

        if plan.table.num_rows == plan.n_items and bool(labels.known.all()):
            return Claim("exact", 1.0, "nothing")
        if plan.labels_seen_by_model:
            return Claim("none", None, ASSUMES_THE_DRAW)
        return Claim("simultaneous", self.confidence, ASSUMES_THE_DRAW)

    def contradicted(self, what: str) -> tuple[str, ...]:
        """Say that bounds contradict themselves."""
        return (f"{what}, which happens in fewer than {1 - self.confidence:.1%} of draws: check that these labels "
                "belong to these ranks.",)  # fmt: skip
