"""The items above a cutoff that a curve proves."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from streameval.curve import Curve
from streameval.curve.points import best_f
from streameval.curve.targets import best_precision, rank_at_precision, rank_at_recall
from streameval.errors import InputError, StudyError
from streameval.kinds.curve.evaluate import refuse_overlap, rest_of, sharing, with_rest
from streameval.labelling.options import Judging
from streameval.questions.cutoffs import Cutoff
from streameval.reporting.cut import CutResult
from streameval.reporting.next_step import way_out
from streameval.slices.plan import refuse_misses
from streameval.study import Study
from streameval.study.cut_files import Cut
from streameval.study.judging import as_read, curve_of
from streameval.study.planned_ranking import counted_at, score_at
from streameval.study.results import Evaluation
from streameval.types import Plan


def proven(folder: Study, evaluation: Evaluation, target: Cutoff, ranking: object, options: Mapping[str, Any]) -> Cut:
    """Find where a curve proves a cutoff; errors as of `streameval.cut`.

    Args:
        options: `misses`, as a number or the folder of a study, where they were given.
    """
    misses = options.get("misses")
    request = {"cutoff": str(target)}
    plan = folder.plan()
    curve = evaluation.curve
    if isinstance(misses, Path):
        curve = _curve_with_misses(folder, plan, evaluation, misses)
        request["misses_from"] = os.fspath(misses)
    elif misses is not None:
        curve = curve.with_misses(misses)
        request["misses"] = str(misses)
    _refuse_unproven(curve, folder.folder, plan, evaluation.summary)
    chosen = counted_at(plan, target.value, ranking) if target.kind == "score" else _proven_rank(curve, target)
    at = curve.at([chosen]).to_pylist()[0]
    return CutResult(
        rank=chosen,
        score=score_at(plan, at["rank"], ranking, at.get("score")),
        holds={name: value for name, value in at.items() if name not in ("rank", "score")},
        claim=curve.claim,
        asked=request,
        plan=plan,
        evaluation_id=evaluation.evaluation_id,
        study=folder.folder,
        estimates=curve.basis,
        _ranking=ranking,
    )


def _curve_with_misses(study: Study, plan: Plan, evaluation: Evaluation, folder: Path) -> Curve:
    """Give the curve of an evaluation, with half of δ kept for a study of what was never returned."""
    rest = rest_of(folder, plan)
    refuse_overlap(study, plan, rest)
    refuse_misses(plan, 1)
    summary, stored = evaluation.summary, evaluation.curve
    read_as = sharing(as_read(plan, Judging(assume=summary.get("assume"))), rest)
    curve = curve_of(read_as, evaluation.labels, float(summary["label_error"]))
    curve = with_rest(curve, plan, rest)
    return replace(curve, score=stored.score, estimated=stored.estimated, basis=stored.basis)


def _refuse_unproven(curve: Curve, folder: Path, plan: Plan, summary: Mapping[str, Any]) -> None:
    if curve.proves:
        return
    why = curve.findings[0].rstrip(".") if curve.findings else "The bounds contradict each other"
    hint = "`streameval report` shows all that the labels say about it"
    if curve.claim.coverage == "none":
        hint = str(way_out(plan, summary, str(folder)))
    raise StudyError(f"{folder}: nothing can be cut, as its bounds prove nothing. {why}", hint)


def _proven_rank(curve: Curve, target: Cutoff) -> int:
    rank = target.rank_in(curve.n_items)
    if rank is not None:
        return rank
    if target.kind == "fpr":
        raise InputError(f"{target} is of areas under the ROC curve, and cuts no list",
                         "cut at a rank, a share, a score, a precision or a recall")  # fmt: skip
    if target.kind == "max_f":
        return _best(curve, float(target.value))
    return _deepest(curve, target) if target.kind == "precision" else _first(curve, target)


def _deepest(curve: Curve, target: Cutoff) -> int:
    deepest, _ = rank_at_precision(curve.extremes[0], target.share)
    if not deepest:
        rank, best = best_precision(curve.envelope)
        raise InputError(
            f"no rank is proven to have precision {float(target.share):.12g}",
            f"the best that is proven is {best:.6g}, at rank {rank:,}",
        )
    return int(deepest)


def _best(curve: Curve, beta: float) -> int:
    rank = best_f(curve.envelope, curve.misses if curve.misses_upper is None else curve.misses_upper, beta)
    if rank is None:
        raise InputError("no positive is proven to be in this list, so no F is above 0")
    return rank


def _first(curve: Curve, target: Cutoff) -> int:
    share = target.share
    _, last = curve.over_misses(lambda extremes: rank_at_recall(extremes, share))
    if math.isnan(last):
        raise InputError("the list has no positives, so it has no recall")
    if math.isinf(last):
        best = curve.at([curve.n_items]).column("recall_lower")[0].as_py() or 0.0
        raise InputError(
            f"no rank is proven to have recall {float(share):.12g}",
            f"all {curve.n_items:,} items are proven to have {best:.6g}, with {curve.misses_text} misses",
        )
    return int(last)
