"""Labels: how far the labelling has come, and what becomes of a source that should not count."""

from __future__ import annotations

import os
from pathlib import Path

from streameval.kinds import kind_of
from streameval.study import Study
from streameval.study.progress import LabellingProgress


def labels(study: str | os.PathLike[str]) -> LabellingProgress:
    """Say how far the labelling of a study has come, judged as in its last evaluation.

    Raises:
        StudyError: No study there, or its votes are damaged.
    """
    return kind_of(Path(study)).progress(Study(Path(study)))


def forget(study: str | os.PathLike[str], *sources: str) -> dict[str, int]:
    """Let the rows of sources count no longer; they stay stored, and count again when their source is given again.

    Args:
        sources: Names or ids of sources as `labels` shows them, or what a `source` column says.

    Returns:
        dict of str to int: Of each, rows that do not count any more; 0 where they did not before.

    Raises:
        InputError: There is no such source; then none is forgotten.
    """
    folder = Study(Path(study))
    with folder.changing():
        folder.plan()
        return folder.labels.forget(*sources)
