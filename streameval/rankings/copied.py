"""Lists of a plan that were no Parquet: the study holds a copy of each, and what brings a lost one back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError, StudyError
from streameval.rows import open_rows
from streameval.rows.options import RankingOptions
from streameval.types import Plan

EVERY, OF_FEW_VALUES = "every column", "columns of few values"  # the first were all until 0.2


class Copied(NamedTuple):
    """A list that a plan reads from its study.

    Attributes:
        folder: Where the copy is to be.
        source: What it was read from, for people.
        content: Hash of what was read; None where only reading tells (a query, rows that come once).
        fingerprint: Of its rows as they were planned.
        dictionaries: Which columns of the copy have them (`EVERY`): equal rows make equal files only where they are
            written alike.
    """

    folder: str
    source: str
    content: str | None
    fingerprint: str
    dictionaries: str

    def is_there(self) -> bool:
        """Tell whether the folder holds the rows that were planned, as far as footers tell."""
        try:
            return fingerprint_of(self.folder) == self.fingerprint
        except (InputError, StudyError):
            return False


def copied_lists(plan: Plan) -> list[Copied]:
    """List the copies that a plan reads; a comparison of two lists may read two."""
    compared = "against" in plan.notes  # then the plan has one fingerprint of both lists, and notes that of each
    lists = {"copied": ("source", "order"), "against_copied": ("against", "against")}
    return [
        Copied(plan.location[place][0], ", ".join(plan.location[key]["source"]), plan.location[key]["content"],
               (plan.notes[described] if compared else plan.ranking)["fingerprint"],
               plan.location[key].get("dictionaries", EVERY))
        for key, (place, described) in lists.items() if key in plan.location
    ]  # fmt: skip


def fingerprint_of(folder: str | os.PathLike[str]) -> str:
    """Give the fingerprint of the rows in a folder; errors as of `open_rows`."""
    return open_rows(os.fspath(folder), RankingOptions()).fingerprint


def refuse_lost(plan: Plan) -> None:
    """Refuse (`StudyError`) copies that are gone, or are not what was planned; says what brings them back."""
    for copy in copied_lists(plan):
        if not os.path.isdir(copy.folder):
            raise _lost(plan, copy, "is gone")
        if not copy.is_there():
            raise _lost(plan, copy, "is damaged, or that of another list")


@contextmanager
def read_from_copies(plan: Plan) -> Iterator[None]:
    """Let an error about a page of a copy, whose footers are right, say what brings the copy back."""
    try:
        yield
    except InputError as error:
        for copy in copied_lists(plan):
            if copy.folder in error.what and is_damaged(copy.folder):
                raise _lost(plan, copy, f"is damaged ({error.what.removeprefix(copy.folder + os.sep)})",
                            "move it away and ") from error  # fmt: skip
        raise


def is_damaged(folder: str) -> bool:
    """Tell whether a page of a copy is not as it was written."""
    try:
        for part in sorted(Path(folder).glob("*.parquet")):
            with pq.ParquetFile(part, page_checksum_verification=True) as file:
                for _ in file.iter_batches():
                    pass
    except (OSError, pa.ArrowException):
        return True
    return False


def _lost(plan: Plan, copy: Copied, what: str, first: str = "") -> StudyError:
    return StudyError(f"{copy.folder}: this study's copy of {copy.source} {what}",
                      f"restore the folder, or {first}plan {copy.source} into this study again, with seed {plan.seed} "
                      "and all else as it was")  # fmt: skip
