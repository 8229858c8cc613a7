"""Report: draw the report of an evaluated study again from its files."""

from __future__ import annotations

import os
from pathlib import Path

from streameval import atomic
from streameval.reporting.page import render
from streameval.study import Study


def report(study: str | os.PathLike[str]) -> Path:
    """Write report.html anew from the study's result files, and return its path.

    Raises
    ------
    StudyError
        There are no results, or they are a mixed set.
    """
    folder = Study(Path(study))
    path = folder.folder / "report.html"
    atomic.write_all({path: atomic.text(render(folder.plan(), folder.evaluation()))})
    return path
