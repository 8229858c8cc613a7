"""Forecast: what `select` would read, without reading it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streameval.rankings import Forecast
from streameval.study import Study
from streameval.types import Plan
from streameval.verbs.select import open_planned, shown_columns


def forecast(
    study: str | os.PathLike[str], *, ranking: Any = None, columns: Sequence[str] | None = None
) -> tuple[Plan, Forecast]:
    """Say what `select` would read, from footers and page indexes; nothing is written.

    Raises
    ------
    StudyError, InputError
        See `streameval.verbs.select.select`.
    """
    plan = Study(Path(study)).plan()
    opened = open_planned(plan, ranking)
    return plan, opened.forecast(plan.ranks, shown_columns(plan, opened, columns))
