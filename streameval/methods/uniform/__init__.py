"""Uniform random sampling: its parameters; the method itself is in `method`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from streameval.errors import InputError
from streameval.methods.sampled import Sampled
from streameval.options import option

IntervalMethod = Literal["hoeffding", "hypergeometric", "dkwm"]
INTERVALS = get_args(IntervalMethod)


@dataclass(frozen=True)
class UniformParameters(Sampled):
    """Parameters, and what they are checked for."""

    name: ClassVar[str] = "uniform"
    summary: ClassVar[str] = "uniformly random ranks, the baseline: for one rank (--first) or the whole curve"

    first: int | None = option(None, "Estimate the precision of the first N items only.")
    interval: IntervalMethod = option("hoeffding", "The interval that becomes the curve.")

    def __post_init__(self) -> None:
        """Check every parameter."""
        super().__post_init__()
        if self.first is not None and self.first < 1:
            raise InputError(f"--first is {self.first:,} items, below 1")

    @property
    def at(self) -> int | None:
        """The one rank that the plan is for."""
        return self.first


PARAMETERS = UniformParameters
