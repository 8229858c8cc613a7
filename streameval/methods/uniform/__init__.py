"""Uniform random sampling: its parameters; the method itself is in `method`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from streameval.methods.sampled import Sampled
from streameval.options import option

IntervalMethod = Literal["hoeffding", "hypergeometric"]


@dataclass(frozen=True)
class UniformParameters(Sampled):
    """Parameters."""

    name: ClassVar[str] = "uniform"
    summary: ClassVar[str] = "uniformly random ranks beyond a labelled head, the baseline"
    retired: ClassVar[dict[str, str]] = {
        "first": "streameval plan LIST --for 'precision@K within 0.03' asks for the precision of the first K items",
        "interval=dkwm": "streameval plan LIST --method uniform with the same --seed draws the same ranks",
    }

    interval: IntervalMethod = option("hoeffding", "The interval that becomes the curve.")


PARAMETERS = UniformParameters
