"""Stages of a study: batches of its tasks, a second batch that looks at the first, a judge who answers first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from streameval.errors import InputError
from streameval.methods import Method
from streameval.types import Labels, Plan


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
        "judge-sample": method.judge_sample is not None,
    }
    for name in names:
        if given[name]:
            raise InputError(f"{name} does not go with {beside}", f"leave out {name}, or {beside}")
