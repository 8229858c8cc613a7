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


def stages_typed(fields: Mapping[str, Any]) -> int | str | None:
    """Write the fields of a method as stages are typed; None where there is one stage.

    >>> stages_typed({"stages": 3, "growing": True}), stages_typed({"stages": 1})
    ('3:later', None)
    """
    number = fields.get("stages", 1)
    if fields.get("adaptive"):
        return "adaptive"
    if fields.get("growing"):
        return f"{number}:later"
    return None if number == 1 else int(number)
