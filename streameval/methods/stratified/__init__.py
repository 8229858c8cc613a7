"""The paper's stratified sampling: its parameters; the method itself is in `method`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from streameval.methods.epsilon import DEFAULT_EPSILON, EPSILON, HEAD, TAIL, Tail, parse_epsilon
from streameval.methods.sampled import Sampled
from streameval.options import option


@dataclass(frozen=True)
class StratifiedParameters(Sampled):
    """Parameters, and what they are checked for."""

    name: ClassVar[str] = "stratified"
    summary: ClassVar[str] = "the paper's stratified sampling on a geometric grid; bounds hold for every list"

    epsilon: str | float | None = option(None, EPSILON, DEFAULT_EPSILON)
    head: int | None = option(None, HEAD, "102 / epsilon")
    tail: Tail = option("open", TAIL)
    claim: Literal["printed", "factor"] = option(
        "printed", "The paper's claim as printed, or the factor its theorem needs."
    )

    def __post_init__(self) -> None:
        """Check every parameter that can be checked without N."""
        super().__post_init__()
        parse_epsilon(self.epsilon if self.epsilon is not None else DEFAULT_EPSILON)


PARAMETERS = StratifiedParameters
