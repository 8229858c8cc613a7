"""Evaluate rankings: bound means over all rankings of a list, from labels of the first items of some."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from streameval import __version__
from streameval.errors import InputError, StudyError
from streameval.labelling.options import Judging, LabelColumns
from streameval.labelling.rules import vote_rule
from streameval.methods import ASSUMES_THE_DRAW
from streameval.options import split
from streameval.queries.bounds import bounds_on_means
from streameval.queries.pooled import Pool, read_pool
from streameval.reporting.rankings_page import names_right, render_sample
from streameval.study import Study
from streameval.study.rankings_sample import RankingsSample, save_sample
from streameval.study.result_files import evaluation_id
from streameval.study.take_in import sources_of, take_in
from streameval.text.credentials import masked_source
from streameval.types import STRENGTH, Claim, Labels, Plan
from streameval.verbs.sql import sample_writer

ASSUMES_RIGHT = "for recall, average precision and nDCG, that the table of positives names only positives, "
ASSUMES_COMPLETE = "; and that it and the labels have every positive of the rankings that were drawn"


def evaluate_rankings(
    study: str | os.PathLike[str], *, labels: Sequence[Any] | Any = (), positives: Any = None, item: str | None = None,
    **options: Any,
) -> RankingsSample:  # fmt: skip
    """Evaluate a study of `plan_rankings` with all labels that it has been given so far.

    Args:
        labels, options: As for `evaluate`; `label_error` has no meaning here. `assume="complete"` states that
            `positives` has every positive of the drawn rankings that is not among the items to label.
        positives: Table, or Parquet file, with a row for each known positive of a ranking: the columns that name the
            ranking, and of the item. Recall, average precision and nDCG at k are bounded from above then, and on both
            sides where the table is complete. Rows of grade 0 in the column of labels are passed over; any
            column beside these is refused.
        item: Column that names the item: rows about items to label are left to their labels. Without it every row is a
            positive that is not among them.

    Returns:
        RankingsSample: Bounds on the means of precision, success, reciprocal rank and DCG at k over all rankings.
            Average precision, recall and nDCG depend on items that were not labelled, and are not claimed without
            `positives`; rankings without a positive have 0 in all three.

    Raises:
        InputError, StudyError: As in `evaluate`; a study that was not planned so.
    """
    columns, judging = split((LabelColumns, Judging), options, "evaluate")
    _refuse_unused(judging, positives, item)
    folder = Study(Path(study))
    with folder.changing():
        plan = folder.plan()
        if "per" not in plan.notes:
            raise StudyError(f"{folder.folder} is a study of one ranking", "evaluate it with streameval.evaluate")
        taken = take_in(folder, plan, sources_of(labels), columns, judging)
        known = taken.tallied.labels
        pool = None
        if positives is not None:
            how = (item, columns.label)
            complete = judging.assume == "complete"
            pool = read_pool(positives, plan, folder.selection(plan), known, how, complete)
        found = bounds_on_means(plan, known, plan.notes.get("cutoffs") or [int(plan.parameters["at"])], pool)
        claim = _claim(found.metrics, plan, pool, item, known)
        summary = {
            "evaluation_id": evaluation_id(plan, known, 0 if pool is None else json.dumps(pool.facts())),
            "study": plan.plan_id,
            "version": __version__,
            "method": plan.method,
            "per": list(plan.notes["per"]),
            "rankings": plan.notes["rankings"],
            "n_items": plan.n_items,
            "parameters": dict(plan.parameters),
            "judge": plan.notes.get("predictions", {}).get("column"),
            "ranking": {
                **plan.ranking,
                "order": "stored" if plan.notes["score"] is None else "score",
                "score": plan.notes["score"],
                "ascending": plan.notes["ascending"],
            },
            "pool": None if pool is None else {**pool.facts(), "item": item, "source": _name_of(positives)},
            "vote": str(vote_rule(judging.vote)),
            "prefer": list(judging.prefer),
            "label_error": 0.0,
            "claim": claim.as_dict(),
            "account": dict(known.account),
            "agreement": taken.tallied.agreement.as_dict(),
            "sources": taken.given,
            **taken.doubts,
            "votes": folder.labels.state(),
        }
        result = RankingsSample(summary["evaluation_id"], found.metrics, found.rankings, known.table,
                                taken.tallied.issues, summary)  # fmt: skip
        save_sample(folder.folder, result, render_sample(folder.folder.resolve().name, result), sample_writer(result))
    return result


def _claim(means: pa.Table, plan: Plan, pool: Pool | None, item: str | None, labels: Labels) -> Claim:
    """What all bounds together promise: no more than the weakest of them."""
    coverage = min(means.column("coverage").to_pylist(), key=STRENGTH.index)
    exact = means.column("lower").equals(means.column("upper"))
    assumes = [] if exact else [ASSUMES_THE_DRAW]
    if pool is not None:
        assumes.append(ASSUMES_RIGHT + names_right(item) + (ASSUMES_COMPLETE if pool.complete else ""))
    confidence = None if exact else float(plan.parameters["confidence"])
    return Claim(coverage, confidence, "; and, ".join(assumes) or "nothing", labels.about, labels.why)


def _name_of(positives: Any) -> str:
    return masked_source(os.fspath(positives)) if isinstance(positives, str | os.PathLike) else "a table in memory"


def _refuse_unused(judging: Judging, positives: Any, item: str | None) -> None:
    """Refuse options that have no meaning for many rankings, or not these ones."""
    if judging.label_error or judging.assume not in (None, "complete"):
        name = "label-error" if judging.label_error else f"assume {judging.assume}"
        raise InputError(f"{name} is for a curve, and this study has many rankings", "leave it out")
    if positives is None and (item is not None or judging.assume is not None):
        name = "item" if item is not None else "assume complete"
        raise InputError(f"{name} is for a table of positives, and none was given", "give it with positives")
