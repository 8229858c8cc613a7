"""Evaluate rankings: bound means over all rankings of a list, from labels of the first items of some."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streameval import __version__
from streameval.errors import InputError, StudyError
from streameval.labelling.options import Judging, LabelColumns
from streameval.labelling.rules import vote_rule
from streameval.methods import ASSUMES_THE_DRAW
from streameval.options import split
from streameval.queries.bounds import bounds_on_means
from streameval.reporting.rankings_page import render_sample
from streameval.study import Study
from streameval.study.rankings_sample import RankingsSample, save_sample
from streameval.study.result_files import evaluation_id
from streameval.types import Claim
from streameval.verbs.evaluate import sources_of, take_in
from streameval.verbs.sql import sample_writer


def evaluate_rankings(
    study: str | os.PathLike[str], *, labels: Sequence[Any] | Any = (), **options: Any
) -> RankingsSample:
    """Evaluate a study of `plan_rankings` with all labels that it has been given so far.

    Args:
        labels, options: As for `evaluate`; `label_error` and `assume` have no meaning here.

    Returns:
        RankingsSample: Bounds on the means of precision, success, reciprocal rank and DCG at k over all rankings.
            Average precision, recall and nDCG depend on items that were not labelled, and are not claimed.

    Raises:
        InputError, StudyError: As in `evaluate`; a study that was not planned so.
    """
    columns, judging = split((LabelColumns, Judging), options, "evaluate")
    if judging.label_error or judging.assume:
        raise InputError("label-error and assume are about curves", "leave them out: this study is of many rankings")
    folder = Study(Path(study))
    with folder.changing():
        plan = folder.plan()
        if "per" not in plan.notes:
            raise StudyError(f"{folder.folder}: is a study of one ranking", "evaluate it with streameval.evaluate")
        taken = take_in(folder, plan, sources_of(labels), columns, judging)
        known = taken.tallied.labels
        found = bounds_on_means(plan, known, plan.notes.get("cutoffs") or [int(plan.parameters["at"])])
        exact = set(found.metrics.column("coverage").to_pylist()) == {"exact"}
        confidence = None if exact else float(plan.parameters["confidence"])
        claim = Claim("exact" if exact else "simultaneous", confidence,
                      "nothing" if exact else ASSUMES_THE_DRAW, known.about, known.why)  # fmt: skip
        summary = {
            "evaluation_id": evaluation_id(plan, known),
            "study": plan.plan_id,
            "version": __version__,
            "method": plan.method,
            "per": list(plan.notes["per"]),
            "rankings": plan.notes["rankings"],
            "n_items": plan.n_items,
            "parameters": dict(plan.parameters),
            "ranking": {
                **plan.ranking,
                "order": "stored" if plan.notes["score"] is None else "score",
                "score": plan.notes["score"],
                "ascending": plan.notes["ascending"],
            },
            "vote": str(vote_rule(judging.vote)),
            "prefer": list(judging.prefer),
            "label_error": 0.0,
            "claim": claim.as_dict(),
            "account": dict(known.account),
            "agreement": taken.tallied.agreement.as_dict(),
            "sources": taken.given,
            "votes": folder.labels.state(),
        }
        result = RankingsSample(summary["evaluation_id"], found.metrics, found.rankings, known.table,
                                taken.tallied.issues, summary)  # fmt: skip
        save_sample(folder.folder, result, render_sample(folder.folder.resolve().name, result), sample_writer(result))
    return result
