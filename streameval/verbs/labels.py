"""Labels: how far the labelling has come, and what becomes of a source that should not count."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from streameval.kinds import kind_of
from streameval.options import takes
from streameval.printed import Event, Printed
from streameval.reporting.next_step import results_again
from streameval.reporting.progress import ProgressResult
from streameval.study import Study
from streameval.study.progress import LabellingProgress
from streameval.text import number_of


@overload
def labels(study: str | os.PathLike[str]) -> LabellingProgress: ...
@overload
def labels(study: str | os.PathLike[str], *, forget: Sequence[str] | str) -> dict[str, int]: ...
@takes()
def labels(
    study: str | os.PathLike[str], *, forget: Sequence[Any] | Any | None = None
) -> LabellingProgress | dict[str, int]:
    """Show how far labelling is.

    By stratum, annotator and source.

    Example: streameval labels my-study
    Example: streameval labels my-study --forget ann.csv ben.csv

    Args:
        study: Folder of the study.
        forget: Sources, by the names or ids shown, or what a source column says, whose rows are not to count any more.
            Their rows stay stored; giving a source to evaluate again lets its rows count again.

    Returns:
        LabellingProgress: Labels are judged as in the last evaluation.
        dict of str to int: With `forget`, of each of these sources the rows that do not count any more; 0 where they
            did not before.

    Raises:
        StudyError: No study there, or its votes are damaged.
        InputError: There is no such source to forget; then none is forgotten.
    """
    folder = Study(Path(study))
    names = forget if isinstance(forget, list | tuple) or forget is None else [str(forget)]
    if not names:
        return ProgressResult.from_study(kind_of(folder.folder).tasks.progress(folder), folder.folder)
    with folder.changing():
        folder.plan()
        return folder.labels.forget(*names)


def printed(result: ProgressResult | Mapping[str, int], study: Path, **_: Any) -> Printed:
    """Print how far the labelling has come, or which rows do not count any more and what to run next."""
    if not isinstance(result, ProgressResult):
        return _forgotten(study, result)
    facts = {
        "study": str(study),
        "account": dict(result.account),
        "strata": result.strata.to_pylist(),
        "sources": list(result.sources),
        "agreement": dict(result.agreement),
        **result.doubts,
        "half_width": dict(result.half_width),
        **result.judging,
        "pace": dict(result.pace),
    }
    return Printed(facts, result.paragraphs, events=[Event("labels", result.account)])


def _forgotten(study: Path, dropped: Mapping[str, int]) -> Printed:
    folder = Study(study)
    lines = [f"No longer counted: {number_of(rows, 'row')} of {source}." if rows else f"{source} is forgotten already."
             for source, rows in dropped.items()]  # fmt: skip
    return Printed(
        {"study": str(study), "forgotten": dict(dropped)},
        [*lines, f"Next: {results_again(folder, folder.plan()).command}"],
        events=[Event("forget", {"source": source, "rows": rows}) for source, rows in dropped.items()],
    )
