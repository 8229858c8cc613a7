"""Stages of a study: batches of its tasks, a second batch that looks at the first, a judge who answers first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from streameval.errors import InputError
from streameval.methods import Method, check_stages
from streameval.methods.sampled import Sampled
from streameval.options import option
from streameval.text.options import flag

if TYPE_CHECKING:
    from streameval.types import Labels, Plan


@dataclass(frozen=True)
class InStages(Sampled):
    """A method whose labelling goes in stages, after each of which bounds hold: batches of the tasks, or looks.

    The labels planned for come in as many batches as there are stages. Of a plan that is `growing` they are those of
    the first look, and later ones add labels. An `adaptive` plan has a second batch, which looks at the labels of the
    first.
    """

    stages: int = option(1, "Label in so many parts: bounds narrow whenever one is answered.")
    growing: bool = option(False, "Plan the first of the stages alone; `grow` adds labels for the others.")
    adaptive: bool = option(False, "Plan a quarter to a third first; `grow --rest` then adds what is needed.")

    def __post_init__(self) -> None:
        """Check every parameter."""
        super().__post_init__()
        check_stages(self.stages)
        if self.growing and self.stages == 1:
            raise InputError("--growing is for a plan of several stages", "--stages 4 lets it grow three times")
        if self.adaptive and self.stages > 1:
            raise InputError("--adaptive does not go with --stages", "leave out one of them")

    @property
    def looks(self) -> int:
        """Tell how often the plan may be evaluated and enlarged."""
        return self.stages if self.growing else 1

    @property
    def batches(self) -> int:
        """Tell how many batches the tasks come in."""
        return 1 if self.growing else self.stages


@runtime_checkable
class LooksAtFirst(Protocol):
    """A method whose second batch may be drawn where the labels of the first say; no look is paid for."""

    def continued(self, plan: Plan, labels: Labels) -> Plan:
        """Add the second batch to a plan, from the labels of the first."""


def refuse_stages(method: Method, beside: str, names: Sequence[str]) -> None:
    """Refuse parameters by which a study has stages, beside what does not go with them."""
    given = {
        "stages": method.batches > 1,
        "growing": method.looks > 1,
        "adaptive": method.adaptive,
        "judge_sample": method.judge_sample is not None,
    }
    for name in names:
        if given[name]:
            raise InputError(f"{flag(name)} does not go with {beside}", f"leave out {flag(name)}, or {beside}")
