"""Stages of a study: batches of its tasks, a second batch that looks at the first, a judge who answers first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from streameval.errors import InputError
from streameval.methods import Method, check_stages
from streameval.methods.options import STAGES
from streameval.methods.sampled import Sampled
from streameval.options import option

if TYPE_CHECKING:
    from streameval.types import Labels, Plan


@dataclass(frozen=True)
class InStages(Sampled):
    """A method whose labelling goes in stages, after each of which bounds hold: batches of the tasks, or looks.

    The labels planned for come in as many batches as there are stages. Of a plan that is `growing` they are those of
    the first look, and later ones add labels. An `adaptive` plan has a second batch, which looks at the labels of the
    first. As they are typed, these three are one (`streameval.methods.stage_text`).
    """

    stages: int = option(1, STAGES)
    growing: bool = False
    adaptive: bool = False

    def __post_init__(self) -> None:
        """Check every parameter."""
        super().__post_init__()
        check_stages(self.stages)
        if self.growing and self.stages == 1:
            raise InputError("--stages 1:later leaves no later stage", "--stages=4:later lets it grow three times")
        if self.adaptive and self.stages > 1:
            raise InputError(
                "--stages adaptive has two batches, and no other number of stages", "leave out one of them"
            )

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


def refuse_stages(
    method: Method, conflict: str, names: Sequence[Literal["batches", "later", "adaptive", "sample"]]
) -> None:
    """Refuse stages of some forms, or a judge who is asked about a sample, beside what does not go with them."""
    typed = {
        "batches": f"--stages={method.batches}" if method.batches > 1 else None,
        "later": f"--stages={method.looks}:later" if method.looks > 1 else None,
        "adaptive": "--stages=adaptive" if method.adaptive else None,
        "sample": f"--judge=sample={method.judge_sample}" if method.judge_sample is not None else None,
    }
    for name in names:
        if option := typed[name]:
            raise InputError(
                f"{option} does not go with {conflict}", f"leave out {option.partition('=')[0]}, or {conflict}"
            )
