"""The paper's stratified sampling: its parameters; the method itself is in `method`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from streameval.methods.epsilon import DEFAULT_EPSILON, EPSILON, HEAD, TAIL, Tail, parse_epsilon
from streameval.methods.sampled import Sampled
from streameval.options import option

HEAD_LABELS = 102  # r̃ = ⌈102/ε⌉: the head of PAULA with Δ = 100, so that the two can be compared


@dataclass(frozen=True)
class StratifiedParameters(Sampled):
    """Parameters, and what they are checked for."""

    name: ClassVar[str] = "stratified"
    summary: ClassVar[str] = "the paper's stratified sampling on a geometric grid; bounds hold for every list"

    epsilon: str | float | None = option(None, EPSILON, DEFAULT_EPSILON)
    head: int | None = option(None, HEAD, f"{HEAD_LABELS} / epsilon")
    tail: Tail = option("open", TAIL)
    claim: Literal["printed", "factor"] = option(
        "printed", "The paper's claim as printed, or the factor its theorem needs."
    )

    def __post_init__(self) -> None:
        """Check every parameter that can be checked without N."""
        super().__post_init__()
        parse_epsilon(self.epsilon if self.epsilon is not None else DEFAULT_EPSILON)

    @classmethod
    def implied(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Give the paper's grid, and the head that goes with one."""
        ratio = parse_epsilon(parameters.get("epsilon") or DEFAULT_EPSILON)
        return {"epsilon": DEFAULT_EPSILON, "head": math.ceil(HEAD_LABELS / ratio)}


PARAMETERS = StratifiedParameters
