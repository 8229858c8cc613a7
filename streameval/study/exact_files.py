"""What `exact` finds, as files: those of a study's results, without plan and labels."""

from __future__ import annotations

from pathlib import Path

from streameval.errors import StudyError
from streameval.parquet.own_tables import read_table
from streameval.stores import atomic, locks
from streameval.study import EXACT
from streameval.study.result_files import EVALUATE, Evaluation, result_writers


def save_exact(folder: Path, found: Evaluation, report: str, database: atomic.Writer) -> None:
    """Write the results of a fully labelled list, which need no plan; `evaluation.json` last.

    Raises `StudyError` where the folder holds a study, or files of these names that `exact` did not write.
    """
    if (folder / "plan.json").exists():
        raise StudyError(f"{folder} holds a study with a plan", "give exact results a folder of their own")
    taken = [name for name in EXACT if (folder / name).exists()]
    if taken and not _is_ours(folder / EXACT[0]):
        raise StudyError(f"{folder / taken[0]}: was not written by exact", "give exact results a folder of their own")
    atomic.make_folder(folder)
    with locks.one_at_a_time(folder):
        atomic.write_all(result_writers(folder, found, report, database))


def _is_ours(first: Path) -> bool:
    """Whether the file that is put in place first is one of results, whole or not."""
    try:
        return "evaluation_id" in read_table(first, EVALUATE).facts
    except (OSError, StudyError):
        return False
