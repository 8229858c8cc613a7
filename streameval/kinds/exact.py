"""Counting of fully labelled lists, shared by the kinds that do it, and limits of workers."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from streameval.copies import kind_of
from streameval.errors import InputError
from streameval.progress import Progress
from streameval.rows.options import RankingOptions
from streameval.scans.jobs import Engine

ROWS = "rows"
"""Says that each row of a sample was drawn by itself, where columns are named else."""


@dataclass(frozen=True)
class ExactRun:
    """Settings of a run that counts a fully labelled list.

    Attributes:
        label: Column of the labels.
        collect: Receives the rows of many rankings where they are written to no file; None where nobody wants them.
    """

    label: str
    options: RankingOptions
    engine: Engine | str
    progress: Progress
    collect: list[pa.Table] | None = None


def refuse_apart(ranking: object, labels: object = None, sliding: object = None) -> None:
    """Refuse to count on workers what only one machine has together."""
    if kind_of(ranking) is not None:
        raise InputError("workers read Parquet files, and this list is none yet",
                         "write it as Parquet where they see it, or leave --engine out")  # fmt: skip
    if labels is not None:
        raise InputError("labels in a table of their own are joined on one machine",
                         "leave --engine out, or write them into the list as a column")  # fmt: skip
    if sliding is not None:
        raise InputError("windows are computed on one machine", "leave --engine out, or --method")
