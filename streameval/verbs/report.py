"""Report: draw the report of an evaluated study again from its files."""

from __future__ import annotations

import os
from pathlib import Path

from streameval import atomic
from streameval.errors import StudyError
from streameval.reporting.page import render
from streameval.study import Study


def report(study: str | os.PathLike[str]) -> Path:
    """Write report.html anew from the study's result files, and return its path.

    Raises
    ------
    StudyError
        There are no results, they are a mixed set, or the plan has grown since.
    """
    folder = Study(Path(study))
    plan, found = folder.plan(), folder.evaluation()
    if found.summary["study"] != plan.plan_id:
        raise StudyError(f"{folder.folder}: the plan has grown since the results were written", "run evaluate again")
    path = folder.folder / "report.html"
    atomic.write_all({path: atomic.text(render(plan, found))})
    return path
