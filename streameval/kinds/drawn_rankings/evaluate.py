"""Means over all rankings of a list, bounded from labels of the first items of some."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kinds.drawn_rankings.says import names_right
from streameval.labelling.options import Judging, KnownPositives
from streameval.labelling.tally import Tallied
from streameval.methods import ASSUMES_THE_DRAW
from streameval.per_query.bounds import bounds_on_means
from streameval.per_query.positives import Pool, read_pool
from streameval.study import Study
from streameval.study.results import evaluation_id
from streameval.text.credentials import masked_source
from streameval.types import STRENGTH, Claim, Labels, Plan
from streameval.typing import BoolArray

ASSUMES_RIGHT = "for recall, average precision and nDCG, that the table of positives names only positives, "
ASSUMES_COMPLETE = "; and that it and the labels have every positive of the rankings that were drawn"


def estimate_means(
    folder: Study, plan: Plan, tallied: Tallied, options: Sequence[Any]
) -> tuple[dict[str, pa.Table], Claim, dict[str, Any]]:
    """Bound the means; their tables, what they claim, and what the summary says besides."""
    columns, judging, known_positives = options
    labels, pool = tallied.labels, None
    if known_positives.positives is not None:
        how, complete = (known_positives.key, columns.label), judging.assume == "complete"
        pool = read_pool(known_positives.positives, plan, folder.selection(plan), labels, how, complete)
    means = bounds_on_means(plan, labels, plan.notes.get("cutoffs") or [int(plan.parameters["at"])], pool)
    source = {"item": known_positives.key, "source": _name_of(known_positives.positives)}
    summary = {
        "evaluation_id": evaluation_id(plan, labels, 0 if pool is None else json.dumps(pool.facts())),
        "per": list(plan.notes["per"]),
        "rankings": plan.notes["rankings"],
        "judge": plan.notes.get("predictions", {}).get("column"),
        "ranking": {
            **plan.ranking,
            "order": "stored" if plan.notes["score"] is None else "score",
            "score": plan.notes["score"],
            "ascending": plan.notes["ascending"],
        },
        "pool": None if pool is None else {**pool.facts(), **source},
    }
    tables = {"metrics": means.metrics, "rankings": means.rankings, "labels": labels.table, "issues": tallied.issues}
    return tables, _claim(means.metrics, plan, pool, known_positives.key, labels), summary


def _claim(means: pa.Table, plan: Plan, pool: Pool | None, item: str | None, labels: Labels) -> Claim:
    """Give what all bounds together promise: no more than the weakest of them."""
    coverage = min(means.column("coverage").to_pylist(), key=STRENGTH.index)
    exact = means.column("lower").equals(means.column("upper"))
    assumes = [] if exact else [ASSUMES_THE_DRAW]
    if pool is not None:
        assumes.append(ASSUMES_RIGHT + names_right(item) + (ASSUMES_COMPLETE if pool.complete else ""))
    confidence = None if exact else float(plan.parameters["confidence"])
    return Claim(coverage, confidence, "; and, ".join(assumes) or "nothing", labels.about, labels.why)


def _name_of(positives: object) -> str:
    return masked_source(os.fspath(positives)) if isinstance(positives, str | os.PathLike) else "a table in memory"


def refuse_unused(judging: Judging, known_positives: KnownPositives) -> None:
    """Refuse assumptions of a curve, and what is said of a table of positives without one."""
    if judging.assume not in (None, "complete"):
        raise InputError(f"--assume {judging.assume} is for a curve, and this study has many rankings", "leave it out")
    if known_positives.positives is None and (known_positives.key is not None or judging.assume is not None):
        name = "--key" if known_positives.key is not None else "--assume=complete"
        on = "" if known_positives.key is None else f", or join labels by it: --on {known_positives.key}"
        raise InputError(f"{name} is for a table of positives, and none was given", f"give it with --positives{on}")


def strata(plan: Plan, labelled: BoolArray) -> pa.Table:
    """Planned and labelled items of every ranking that was drawn: `ranking`, `planned`, `labelled`."""
    table = plan.table.select(["ranking"]).append_column("labelled", pa.array(labelled.astype(np.int64)))
    counted = table.group_by("ranking", use_threads=False).aggregate([([], "count_all"), ("labelled", "sum")])
    names = [", ".join(map(str, json.loads(name))) for name in counted.column("ranking").to_pylist()]
    return pa.table({"ranking": names, "planned": counted["count_all"], "labelled": counted["labelled_sum"]})
