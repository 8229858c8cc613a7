"""Options that most methods have: what one has alone is written into its value (`streameval.methods.values`)."""

from __future__ import annotations

from dataclasses import dataclass, fields

from streameval.options import option
from streameval.text.options import flag

ALPHA = "Half-width to plan for, relative to precision."
BUDGET = "Labels to spend at most (where chance decides how many, nine times in ten), instead of --alpha."
STAGES = (
    "Label in so many parts: bounds narrow whenever one is answered. 3:later: plan the first of 3, and `grow` adds "
    "labels for the others. adaptive: a quarter to a third first; `grow` then adds what is needed."
)


@dataclass(frozen=True)
class MethodOptions:
    """Options of any method; where nothing is given, each has its default."""

    alpha: float | None = option(None, "Half-width, relative to precision (default 0.08).")
    confidence: float | None = option(None, "Probability of the claim (default 0.95).")
    min_precision: float | None = option(None, "Precision that the list is expected to keep (default 0.5).")
    budget: int | None = option(None, BUDGET)
    stages: int | str | None = option(None, STAGES)


SHARED = frozenset(option.name for option in fields(MethodOptions))


def option_of(parameter: str) -> str:
    """Name a parameter of a method as it is typed: an option, a parameter of one, or a parameter of the method.

    >>> option_of("budget"), option_of("judge_sample"), option_of("window")
    ('--budget', 'sample of --judge', 'window')
    """
    if parameter.startswith("judge_"):
        return f"{parameter.removeprefix('judge_')} of --judge"
    return flag(parameter) if parameter in SHARED else parameter
