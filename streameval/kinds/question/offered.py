"""A question to ask of a curve's study, where its bounds leave a condition open: the command, and what it takes."""

from __future__ import annotations

from collections.abc import Mapping

from streameval.curve import Curve
from streameval.errors import InputError
from streameval.kinds.question.plan import design_for
from streameval.kinds.question.tree import known_in, tree_of
from streameval.questions import Question
from streameval.questions.cutoffs import Cutoff
from streameval.reporting.next_step import NOTHING, NextStep, ask_alone
from streameval.sequential import QuestionSetting
from streameval.study import Study
from streameval.study.result_files import Evaluation


def offered(
    folder: Study, found: Evaluation, estimates: Mapping[Question, float], most: int | None
) -> tuple[NextStep, int]:
    """Give the command that asks open conditions of a study, all at once, and about how many more labels decide then.

    Nothing, and 0, where no design takes all of them, the study has no files to ask, tasks of its own are open, labels
    may be wrong, no number can be said, or it is no fewer than the labels of another curve.

    Args:
        estimates: Of the measure of each condition.
        most: Labels that a curve is forecast to take for the same; None where that cannot be said.
    """
    plan, curve, confidence = folder.plan(), found.curve, found.curve.claim.confidence
    unasked = plan.location.get("source") is None or found.summary["account"]["open"] or found.summary["label_error"]
    missed = (curve.misses or curve.misses_upper is not None) and any(one.metric != "precision" for one in estimates)
    if unasked or missed or confidence is None:
        return NOTHING, 0
    ranks = {str(one): _rank(curve, one) for question in estimates for one in question.cutoffs}
    by_text = {str(question): value for question, value in estimates.items()}
    known, certain = known_in(tree_of(folder)), f"{confidence:g}"
    try:
        design = design_for(tuple(estimates), QuestionSetting(plan.n_items, ranks, known, certain, estimates=by_text))
        _, forecast = design.expected()[0]
    except InputError:
        return NOTHING, 0
    if not forecast.median or (most is not None and forecast.median >= most):
        return NOTHING, 0
    return ask_alone(str(folder.folder), by_text, certain), forecast.median


def _rank(curve: Curve, cutoff: Cutoff) -> int:
    """The rank of a cutoff, of a score about; an `InputError` where it depends on labels."""
    rank = cutoff.rank_in(curve.n_items)
    if rank is None and cutoff.kind == "score":
        rank = sum(curve.rank_at_score(cutoff.value)) // 2
    if rank is None:
        raise InputError(f"no rank is known of @{cutoff}")
    return int(rank)
