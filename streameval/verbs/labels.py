"""Labels: how far the labelling has come, and what becomes of a source that should not count."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.notebook import Tabular
from streameval.study import Study
from streameval.study.judging import as_read, curve_of, doubts, half_width_of, last_judging, tally_stored
from streameval.study.vote_store import Given
from streameval.types import Plan

_SHOWN = 40  # strata


@dataclass(frozen=True)
class Progress(Tabular):
    """How far the labelling has come.

    Attributes:
        account (mapping of str to int): As `evaluate` gives it.
        strata: `stratum`, `first_rank`, `last_rank`, `planned`, `labelled`.
        sources: Per stored source, in the order in which they came: `id`, `source`, `rows`, `votes`, `skips`,
            `unplanned`.
        agreement: As `evaluate` gives it: `percent`, `alpha`, and `annotators` by name.
        doubts: What may have come in twice, and what counts for nothing as it names nobody
            (`streameval.study.judging.doubts`).
        half_width: As `evaluate` gives it: `alpha`, `rank`, `labels_for_half`.
        judging: `vote`, `prefer`, `label_error` of the last evaluation, by which labels were counted.
    """

    account: Mapping[str, int]
    strata: pa.Table
    sources: Sequence[Mapping[str, Any]]
    agreement: Mapping[str, Any]
    doubts: Mapping[str, Any]
    half_width: Mapping[str, Any]
    judging: Mapping[str, Any]

    @property
    def table(self) -> pa.Table:
        """The strata."""
        return self.strata


def labels(study: str | os.PathLike[str]) -> Progress:
    """Say how far the labelling of a study has come, judged as in its last evaluation.

    Raises:
        StudyError: No study there, or its votes are damaged.
    """
    folder = Study(Path(study))
    plan = folder.plan()
    judging, stored = last_judging(folder), folder.labels.sources()
    tallied = tally_stored(folder, plan, judging, stored)
    read = as_read(plan, judging)
    curve = curve_of(read, tallied.labels, judging.label_error)
    missing = int(tallied.labels.account["missing"])
    return Progress(
        account=tallied.labels.account,
        strata=_strata(plan, tallied.labels.known),
        sources=[_source(one, tallied.rows) for one in stored],
        agreement=tallied.agreement.as_dict(),
        doubts=doubts(tallied.rows, stored),
        half_width={
            **half_width_of(read, curve, missing, judging.label_error),
            "coverage": curve.claim.coverage,
        },
        judging={"vote": judging.vote, "prefer": list(judging.prefer), "label_error": judging.label_error},
    )


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


def _strata(plan: Plan, known: np.ndarray) -> pa.Table:
    """Planned and labelled ranks of every stratum; of every slice, where strata are those within slices.

    Where there is one stratum, or too many to be read, they are counted by power of ten of the rank.
    """
    if plan.marks is not None:
        counted = plan.table.select(["slice"]).append_column("labelled", pa.array(known.astype(np.int64)))
        by_slice = counted.group_by("slice").aggregate([([], "count_all"), ("labelled", "sum")])
        return by_slice.rename_columns({"count_all": "planned", "labelled_sum": "labelled"}).sort_by("slice")
    stratum, rank = plan.table.column("stratum").to_numpy(), plan.ranks
    if not 1 < np.unique(stratum).size <= _SHOWN:
        stratum = np.floor(np.log10(rank) + 1e-12).astype(np.int32)
    numbers, start, planned = np.unique(stratum, return_index=True, return_counts=True)
    labelled = np.add.reduceat(known.astype(np.int64), start)
    return pa.table(
        {
            "stratum": numbers,
            "first_rank": rank[start],
            "last_rank": rank[start + planned - 1],
            "planned": planned,
            "labelled": labelled,
        }
    )


def _source(one: Given, rows: pa.Table) -> dict[str, Any]:
    own = rows.filter(pc.equal(rows.column("given"), one.facts["given"])).column("fate").to_pylist()
    return {
        "id": one.identity,
        "source": one.facts["source"],
        "rows": one.facts["rows"],
        "votes": own.count("vote"),
        "skips": own.count("skipped"),
        "again": own.count("again"),
        "unplanned": one.facts["unplanned"],
    }
