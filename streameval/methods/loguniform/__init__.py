"""Log-uniform sampling: its parameters; the method itself is in `method`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from streameval.errors import InputError
from streameval.methods.options import BUDGET
from streameval.methods.stages import InStages
from streameval.options import option


@dataclass(frozen=True)
class LogUniformParameters(InStages):
    """Parameters, and what they are checked for."""

    name: ClassVar[str] = "loguniform"
    summary: ClassVar[str] = "random ranks of density c/r, and a band that holds for every list"

    budget: int | None = option(None, BUDGET)
    judge_sample: int | None = None
    judge_accuracy: float | None = None

    def __post_init__(self) -> None:
        """Check every parameter."""
        super().__post_init__()
        if self.judge_accuracy is not None and not 0 <= self.judge_accuracy <= 1:
            raise InputError(f"accuracy of --judge is {self.judge_accuracy}, outside [0, 1]", "0.9 is right on 90 %")
        if self.judge_sample is not None and self.judge_sample < 1:
            raise InputError(f"sample of --judge is {self.judge_sample:,}", "ask about more items than people label")
        if self.growing and (self.judge_accuracy is not None or self.judge_sample is not None):
            raise InputError(
                "a judge does not go with stages that come later", "--stages 3 goes with a judge, and has no :later"
            )


PARAMETERS = LogUniformParameters
