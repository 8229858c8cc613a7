"""Stages as they are typed: `3`, `3:later` or `adaptive`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from streameval.errors import InputError
from streameval.text import short

_TYPED = re.compile(r"\s*(?:(?P<adaptive>adaptive)|(?P<stages>\d{1,9})(?P<later>:later)?)\s*")
STAGE_FIELDS = ("stages", "growing", "adaptive")
_FORMS = "3, 3:later or adaptive"


def stage_fields(stages: int | str) -> dict[str, Any]:
    """Read stages as the fields of a method that they stand for (`streameval.methods.stages.InStages`).

    >>> stage_fields("3:later"), stage_fields("adaptive"), stage_fields(3)
    ({'stages': 3, 'growing': True}, {'adaptive': True}, {'stages': 3})

    Raises:
        InputError: Any other text.
    """
    typed = _TYPED.fullmatch(str(stages))
    if typed is None:
        raise InputError(f"--stages is {short(repr(stages))}", f"it takes {_FORMS}")
    if typed["adaptive"]:
        return {"adaptive": True}
    number = int(typed["stages"])
    return {"stages": number, "growing": True} if typed["later"] else {"stages": number}


def later_stages(stages: int | str) -> int:
    """Read stages of a study whose first labels are there already: how many, where later ones add labels.

    >>> later_stages("3:later")
    3

    Raises:
        InputError: Batches of labels that are there, or a second batch that looks at a first of ours.
    """
    fields = stage_fields(stages)
    number = int(fields.get("stages", 3))
    if not fields.get("growing") or number < 2:
        raise InputError(f"--stages is '{stages}', and the labels of the first stage are there already",
                         f"--stages={max(number, 2)}:later adds labels of our own later")  # fmt: skip
    return number


def stages_typed(fields: Mapping[str, Any]) -> int | str | None:
    """Write the fields of a method as stages are typed; None where there is one stage.

    >>> stages_typed({"stages": 3, "growing": True}), stages_typed({"stages": 1})
    ('3:later', None)
    >>> stages_typed({"stages": 3, "drawn": "uniform"})  # its first labels are there
    '3:later'
    """
    number = fields.get("stages", 1)
    if fields.get("adaptive"):
        return "adaptive"
    if number == 1:
        return None
    return f"{number}:later" if fields.get("growing") or "drawn" in fields else int(number)
