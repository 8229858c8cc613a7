"""Costs of a question: before any label, beside the whole curve; and for conditions that a curve leaves open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from streameval.curve import Curve
from streameval.errors import InputError
from streameval.kinds.question.plan import design_for, setting_of
from streameval.kinds.question.tree import known_in, tree_of
from streameval.methods import create
from streameval.questions import Condition, Question, Width
from streameval.questions.asking import Asking
from streameval.questions.cutoffs import Cutoff
from streameval.rankings.ranking import Ranking
from streameval.reporting.next_step import ask_alone
from streameval.reporting.text import NOTHING, NextStep
from streameval.sequential import LabelForecast, QuestionDesign, QuestionSetting
from streameval.study import Study
from streameval.study.results import Evaluation
from streameval.text import number_of

_REST = 50  # labels of a round after those that decide a condition: 17 to 46 on average, over ten gates


def case_sentence(case: str, labels: LabelForecast, items: int | None = None) -> str:
    """Say how many labels a question takes in one case.

    Args:
        items: How many items it is about; None where that is not known.
    """
    most = "" if labels.most is None else f"{labels.most:,} at most"
    if case.startswith("if it is ") and items is not None and (labels.median or 0) >= items:
        return f"All {items:,} items may have to be labelled {case} itself."
    if not case.startswith("if ") and labels.median is None:
        return f"{case[:1].upper()}{case[1:]}."
    if labels.median is None:
        return f"{most[:1].upper()}{most[1:]} {case}.".lstrip() if most else f"No limit to the labels {case}."
    often = (
        ""
        if labels.nine_in_ten in (None, labels.median, labels.most)
        else f"nine times in ten at most {labels.nine_in_ten:,}"
    )
    if labels.nine_in_ten is None and labels.left is not None and labels.most is None:
        often = f"or all {labels.left:,} that are left"
    more = "; ".join(filter(None, (often, most)))
    return f"About {number_of(labels.median, 'label')} {case}{f' ({more})' if more else ''}."


def expected_lines(design: QuestionDesign, asking: Asking, n_items: int) -> list[str]:
    """Say what a question costs, and the curve beside it."""
    cases = design.expected()
    ranks = [cutoff.rank_in(n_items) for question in asking.asked for cutoff in question.cutoffs]
    items = ranks[0] if len(ranks) == 1 else None
    lines = [*dict.fromkeys(case_sentence(case, labels, items) for case, labels in cases)]
    if asking.round != 1 and any(one.startswith("if ") and of.nine_in_ten != of.median for one, of in cases):
        lines.append(f"A round is finished once it is begun: that adds at most {_rest_of_round(asking)}.")
    if asking.budget is not None:
        lines.append(f"It ends after {number_of(asking.budget, 'label')}, answered or not.")
    no_limit = any(labels.median is None and labels.most is None for _, labels in cases)
    if no_limit and asking.zone is None and any(_threshold(one) is not None for one in asking.asked):
        hint = "`zone 0.02` behind the condition, say, sets one."
        lines = [f"{line} {hint}" if line.startswith("No limit") else line for line in lines]
    curve = curve_as_sharp(asking, n_items)
    about = "up to about" if any(_expects_no(one, asking) for one in asking.asked) else "about"
    if curve is not None:
        precision, labels = curve
        lines.append(
            f"A curve of the whole list takes {about} {labels:,} labels for bounds as narrow at that rank, if "
            f"precision there is {precision:g}."
        )
    return lines


def _rest_of_round(asking: Asking) -> str:
    """Labels that are asked for besides those that decide."""
    if asking.round is not None:
        return number_of(asking.round - 1, "label")
    conditions = sum(1 for question in asking.asked for _ in question.each())
    return f"{_REST * conditions} labels on average"


def costs_of(asking: Asking, n_items: int, ranking: Ranking | None = None) -> list[dict[str, Any]]:
    """Say what `cost` says of questions, of a list of so many items or of a ranking, which scores are counted in."""
    asking = asking.of_several(1)
    design = design_for(asking.asked, setting_of(asking, n_items, ranking))
    return list(_rows(design, asking, n_items))


def _rows(design: QuestionDesign, asking: Asking, n_items: int) -> Iterator[dict[str, Any]]:
    """Say what a question takes, case by case, and the curve."""
    for case, labels in design.expected():
        yield {"method": design.name, "case": case, "labels": labels.median, "nine_in_ten": labels.nine_in_ten,
               "most": labels.most, "accuracy": None, "forecast": True, "claim": "simultaneous"}  # fmt: skip
    if (curve := curve_as_sharp(asking, n_items)) is not None:
        _, whole = curve
        yield {"method": "loguniform", "case": "the whole curve", "labels": whole, "nine_in_ten": None, "most": whole,
               "accuracy": None, "forecast": True, "claim": "simultaneous"}  # fmt: skip


def curve_as_sharp(asking: Asking, n_items: int) -> tuple[float, int] | None:
    """Precision that is expected where the question is asked, and labels of a curve that is as sharp there.

    None where that cannot be said.
    """
    expected = [(question, sharp) for question in asking.asked if (sharp := _sharpness(question, asking)) is not None]
    if len(expected) < len(asking.asked):
        return None
    precision, alpha = min((sharp for _, sharp in expected), key=lambda sharpness: sharpness[1])
    try:
        curve = create("loguniform", {"alpha": alpha, "min_precision": precision,
                                      "confidence": float(asking.confidence)})  # fmt: skip
        return precision, int(curve.cost(n_items)["labels"])
    except InputError:
        return None


def _sharpness(question: Question, asking: Asking) -> tuple[float, float] | None:
    """Precision that is expected there, and the half-width relative to it that a curve would need."""
    expected = None if asking.expect is None else float(asking.expect)
    if (threshold := _threshold(question)) is not None:
        rises = question.demand.operator in (">=", ">")  # type: ignore[union-attr]  # it has a threshold
        precision = expected if expected is not None else (1 + threshold) / 2 if rises else threshold / 2
        return (precision, abs(1 - threshold / precision)) if 0 < precision != threshold else None
    if isinstance(question.demand, Width) and question.metric == "precision":
        precision, value = expected or 0.5, float(question.demand.value)
        return precision, value if question.demand.of == "value" else value / precision
    return None


def _expects_no(question: Question, asking: Asking) -> bool:
    """Tell whether the expected precision misses the threshold: there a curve takes down to half of what is planned."""
    demand = question.demand
    return isinstance(demand, Condition) and asking.expect is not None and not demand.met_by(float(asking.expect))


def _threshold(question: Question) -> float | None:
    """The precision that is demanded."""
    if isinstance(question.demand, Condition) and question.metric == "precision":
        return float(Fraction(question.demand.value))
    return None


def suggest_question(
    folder: Study, evaluation: Evaluation, estimates: Mapping[Question, float], most: int | None
) -> tuple[NextStep, int]:
    """Give the command that asks open conditions of a study, all at once, and about how many more labels decide then.

    Nothing, and 0, where no design takes all of them, the study has no files to ask, tasks of its own are open, labels
    may be wrong, no number can be said, or it is no fewer than the labels of another curve.

    Args:
        estimates: Of the measure of each condition.
        most: Labels that a curve is forecast to take for the same; None where that cannot be said.
    """
    plan, curve, confidence = folder.plan(), evaluation.curve, evaluation.curve.claim.confidence
    unasked = (
        plan.location.get("source") is None
        or evaluation.summary["account"]["open"]
        or evaluation.summary["label_error"]
    )
    missed = (curve.misses or curve.misses_upper is not None) and any(
        question.metric != "precision" for question in estimates
    )
    if unasked or missed or confidence is None:
        return NOTHING, 0
    ranks = {str(cutoff): _rank(curve, cutoff) for question in estimates for cutoff in question.cutoffs}
    by_text = {str(question): value for question, value in estimates.items()}
    known_items, certain = known_in(tree_of(folder)), f"{confidence:g}"
    try:
        design = design_for(
            tuple(estimates), QuestionSetting(plan.n_items, ranks, known_items, certain, estimates=by_text)
        )
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
