"""Progress of labelling a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.kernels.sorted_sets import unique
from streameval.labelling.options import Judging
from streameval.labelling.pace import pace_of_rows
from streameval.labelling.tally import Tallied
from streameval.notebook import Tabular
from streameval.study import Study
from streameval.study.judging import doubts, last_judging, tally_stored
from streameval.study.vote_store import Given
from streameval.types import Plan
from streameval.typing import BoolArray

_SHOWN = 40  # strata


@dataclass(frozen=True)
class LabellingProgress(Tabular):
    """Progress of the labelling.

    Attributes:
        account (mapping of str to int): As `evaluate` gives it.
        strata: `stratum`, `first_rank`, `last_rank`, `planned`, `labelled`.
        sources: Per stored source, in the order in which they came: `id`, `source`, `rows`, `votes`, `skips`,
            `unplanned`.
        agreement: As `evaluate` gives it: `percent`, `alpha`, and `annotators` by name.
        doubts: What may have come in twice, and what counts for nothing as it names nobody
            (`streameval.study.judging.doubts`).
        half_width: As `evaluate` gives it: `alpha`, `rank`, `labels_for_half`; nothing where there is no curve.
        pace: How fast people label: `people` (answers in an hour of work, by name), `hours` (of work, by name),
            `per_hour` (of one person; null
            where no times tell it) and `left_hours` of one person's work that the open tasks take.
        judging: `vote`, `prefer`, `label_error` of the last evaluation, by which labels were counted.
    """

    account: Mapping[str, int]
    strata: pa.Table
    sources: Sequence[Mapping[str, Any]]
    agreement: Mapping[str, Any]
    doubts: Mapping[str, Any]
    half_width: Mapping[str, Any]
    judging: Mapping[str, Any]
    pace: Mapping[str, Any]

    @property
    def table(self) -> pa.Table:
        """The strata."""
        return self.strata


def progress_of(
    folder: Study,
    plan: Plan,
    strata: Callable[[Plan, BoolArray], pa.Table] | None = None,
    width: Callable[[Tallied, Judging], Mapping[str, Any]] | None = None,
) -> LabellingProgress:
    """Count the labels of a study, judged as in its last evaluation.

    Args:
        strata: Counts planned and labelled ranks; by default those of `strata_of`.
        width: The half-width that bounds have by now; none, where there is no curve.
    """
    judging, stored = last_judging(folder), folder.labels.sources()
    tallied = tally_stored(folder, plan, judging, stored)
    pace = pace_of_rows(tallied.rows)
    return LabellingProgress(
        account=tallied.labels.account,
        strata=(strata or strata_of)(plan, tallied.labels.known),
        sources=[_source(source, tallied.rows) for source in stored],
        agreement=tallied.agreement.as_dict(),
        doubts=doubts(tallied.rows, stored),
        half_width={} if width is None else width(tallied, judging),
        judging={"vote": judging.vote, "prefer": list(judging.prefer), "label_error": judging.label_error},
        pace={**pace.as_dict(), "left_hours": pace.hours_left(tallied.labels.account["open"])},
    )


def strata_of(plan: Plan, has_label: BoolArray) -> pa.Table:
    """Planned and labelled ranks of every stratum; of every slice, where strata are those within slices.

    Where there is one stratum, or too many to be read, they are counted by power of ten of the rank.
    """
    if plan.marks is not None:
        counted = plan.table.select(["slice"]).append_column("labelled", pa.array(has_label.astype(np.int64)))
        by_slice = counted.group_by("slice").aggregate([([], "count_all"), ("labelled", "sum")])
        return by_slice.rename_columns({"count_all": "planned", "labelled_sum": "labelled"}).sort_by("slice")
    stratum, rank = plan.table.column("stratum").to_numpy(), plan.ranks
    if not 1 < unique(stratum).size <= _SHOWN:
        stratum = np.floor(np.log10(rank) + 1e-12).astype(np.int32)
    numbers, start, planned = np.unique(stratum, return_index=True, return_counts=True)
    labelled = np.add.reduceat(has_label.astype(np.int64), start)
    return pa.table(
        {
            "stratum": numbers,
            "first_rank": rank[start],
            "last_rank": rank[start + planned - 1],
            "planned": planned,
            "labelled": labelled,
        }
    )


def _source(source: Given, rows: pa.Table) -> dict[str, Any]:
    fates = rows.filter(pc.equal(rows.column("given"), source.facts["given"])).column("fate").to_pylist()
    return {
        "id": source.identity,
        "source": source.facts["source"],
        "rows": source.facts["rows"],
        "votes": fates.count("vote"),
        "skips": fates.count("skipped"),
        "again": fates.count("again"),
        "unplanned": source.facts["unplanned"],
    }
