"""Labels of a plan, turned into its curve and all that follows: weights and misses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval import __version__
from streameval.curve import Basis, Curve
from streameval.curve.bounds import cut_to_bounds
from streameval.curve.label_error import CONFIDENCE, check_label_error
from streameval.errors import InputError, StudyError, misses_or_study
from streameval.judges.classes import awaits_judge
from streameval.kernels.sorted_sets import unique
from streameval.kinds.first_rule import first_rule, summary_before
from streameval.labelling.key_forms import meeting
from streameval.labelling.options import Judging, LabelColumns
from streameval.labelling.tally import Tallied
from streameval.methods import ASSUMES_THE_DRAW, method_of
from streameval.metrics.bounded import metrics
from streameval.slices.files import slice_tables
from streameval.slices.plan import refuse_misses, slice_results
from streameval.study import Study
from streameval.study.formats import format_mark
from streameval.study.judging import as_read, at_confidence, curve_of, half_width_of, slice_curves, whole_curve
from streameval.study.results import Evaluation, evaluation_id
from streameval.study.take_in import take_in
from streameval.study.tasks import task_numbers
from streameval.study.weights import draw_weights
from streameval.types import TRUTH, Claim, Plan, Promise
from streameval.typing import BoolArray, Int64Array

_LEVEL = 0.05
_DECIDED = 0.95
ASSUMES_BOTH_DRAWS = "nothing of either list: only that what was drawn of both, at random, is what was labelled"


def evaluate_curve(folder: Study, labels: Sequence[Any], options: Sequence[Any]) -> tuple[Plan, Evaluation]:
    """Store labels, and compute every result; nothing but labels is written.

    Args:
        options: `LabelColumns`, `Judging`, `Misses`.
    """
    columns, judging, missed = options
    misses = misses_or_study(missed.misses or 0)
    check_label_error(judging.label_error)
    plan = folder.plan()
    bounded = misses if isinstance(misses, int) else rest_of(misses, plan)
    if not isinstance(bounded, int):
        refuse_overlap(folder, plan, bounded)
    refuse_misses(plan, bounded if isinstance(bounded, int) else 1)
    return plan, _take_in_and_evaluate(folder, plan, labels, bounded, (columns, judging))


def _take_in_and_evaluate(
    folder: Study, plan: Plan, sources: Sequence[Any], missed: Rest | int, how: tuple[LabelColumns, Judging]
) -> Evaluation:
    """Store the labels, and compute."""
    if awaits_judge(plan):
        raise InputError(f"{folder.folder}: its judge has to answer before anybody labels",
                         f"streameval judge {folder.folder} FILE")  # fmt: skip
    columns, judging = how
    rest, misses = (None, missed) if isinstance(missed, int) else (missed, 0)
    read_as = sharing(as_read(plan, judging), rest)
    intake = take_in(folder, plan, sources, columns, judging)
    tallied, thresholds = intake.tallied, folder.thresholds(plan)
    curve, parts = _curves(plan, read_as, tallied, judging.label_error)
    curve = curve.with_misses(misses) if rest is None else with_rest(curve, plan, rest)
    slices = slice_results(plan, tallied.labels, parts, thresholds)
    if thresholds is not None:
        curve = curve.with_score(thresholds)
    curve = curve.settled
    summary = {**_summary(as_read(plan, judging), tallied, curve, judging), "study": plan.plan_id}
    summary |= {} if rest is None else rest.facts(curve)
    facts = {"by": plan.by, "slices": [part.facts() for part in slices]} if slices else {}
    facts["votes"] = intake.state
    summary |= {
        "agreement": tallied.agreement.as_dict(),
        "sources": intake.given,
        **intake.doubts,
        **intake.facts,
        **facts,
    }
    summary["label_tables"] = intake.history
    summary["first_rule"] = first_rule(summary_before(folder, plan)) or first_rule(summary)
    table = with_weights(tallied.labels.table, plan, curve)
    identity = summary["evaluation_id"]
    tables = {**slice_tables(slices), "labels": table, "issues": tallied.issues, "envelope": curve.envelope_table,
              "curve": curve.table, "metrics": metrics(curve)}  # fmt: skip
    return Evaluation(identity, summary, tables, curve=curve, slices=slices, new=intake.new)


def _curves(plan: Plan, read_as: Plan, tallied: Tallied, error: float) -> tuple[Curve, dict[str, Curve]]:
    """Curve of the whole list, and those of its slices, estimated as far as the labels at hand allow."""
    basis = basis_of(plan, tallied)
    parts = slice_curves(read_as, tallied.labels, error)
    curve = whole_curve(read_as, tallied.labels, error, parts).on(basis)
    return curve, {name: part.on(basis).settled for name, part in parts.items()}


def _summary(plan: Plan, tallied: Tallied, curve: Curve, judging: Judging) -> dict[str, Any]:
    missed = curve.misses if curve.misses_upper is None else curve.misses_text
    return {
        **format_mark("curve"),
        "evaluation_id": evaluation_id(plan, tallied.labels, missed, judging.label_error),
        "version": __version__,
        "n_items": plan.n_items,
        "misses": curve.misses,
        "method": plan.method,
        "parameters": dict(plan.parameters),
        "vote": judging.vote,
        "prefer": list(judging.prefer),
        "label_error": judging.label_error,
        "assume": judging.assume,
        "claim": curve.claim.as_dict(),
        "estimates": curve.basis,
        "findings": list(curve.findings),
        "diagnostics": dict(curve.diagnostics),
        "half_width": half_width_of(plan, curve, int(tallied.labels.account["missing"]), judging.label_error),
        "account": dict(tallied.labels.account),
    }


def width_by_now(plan: Plan, tallied: Tallied, judging: Judging) -> dict[str, Any]:
    """Half-width that the labels so far give, and what its bounds promise."""
    read = as_read(plan, judging)
    curve = curve_of(read, tallied.labels, judging.label_error)
    width = half_width_of(read, curve, int(tallied.labels.account["missing"]), judging.label_error)
    return {**width, "coverage": curve.claim.coverage}


def basis_of(plan: Plan, tallied: Tallied) -> Basis:
    """Say what estimates may be made of while planned labels are missing.

    Of the labels at hand, where these are a random part of the tasks. Tasks are numbered in a shuffle, so whoever does
    them in order and stops has answered a random part of the planned ranks, whatever the items are. That is said where
    every answered task comes before every unanswered one, or where the two kinds lie alike along the list (Kolmogorov
    and Smirnov's test of two samples does not tell them apart at 5 %). Otherwise there is no estimate, though bounds
    hold whatever is missing.

    An item that was skipped, or whose votes leave it open, was answered: it is unknown in the bounds, and where more
    than a twentieth of the planned items are such, there is no estimate either.
    """
    labels, answered = tallied.labels, tallied.answered
    if answered.all():
        return "labels" if labels.known.mean() >= _DECIDED else "none"
    both = unique(labels.label[labels.known]).size == 2  # one kind alone is no random part
    shuffled = method_of(plan).planned  # of labels that were drawn elsewhere, nobody shuffled the tasks
    return "labels at hand" if both and shuffled and _random_part(task_numbers(plan), answered) else "none"


def _random_part(number: Int64Array, answered: BoolArray) -> bool:
    if number[answered].max() < number[~answered].min():
        return True
    share = np.abs(np.cumsum(answered) / answered.sum() - np.cumsum(~answered) / (~answered).sum())
    size = math.sqrt(answered.sum() * float((~answered).sum()) / answered.size)
    reach = (size + 0.12 + 0.11 / size) * float(share.max())
    tail = 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * reach) ** 2) for k in range(1, 101))
    return reach < 0.2 or tail >= _LEVEL


def with_weights(labels: pa.Table, plan: Plan, curve: Curve) -> pa.Table:
    """Put `weight` and `draw_weight` (float64, null where unknown) beside the labels of a plan.

    `draw_weight` is that of `draw_weights`. `weight` is for how many items the label of a rank stands in the estimated
    curve (`streameval.curve.pooling`), 0 without a label: it sums to N, and its sum over the positive labels is the
    estimate of the positives, unless that was cut to its bounds.

    Where what labels said decided whether a plan grew, averages lean a little towards what stopped it; bounds pay for
    that, averages do not.

    Args:
        curve: As it was made of these labels.
    """
    estimated = None if curve.estimated is None else curve.estimated.weight
    weights = pa.nulls(labels.num_rows, pa.float64()) if estimated is None else pa.array(estimated)
    drawn = pa.array(draw_weights(plan), from_pandas=True)
    return labels.append_column("weight", weights).append_column("draw_weight", drawn)


@dataclass(frozen=True)
class Rest:
    """An evaluated study of the items that a ranking never returned: the elusion test of reviews.

    These items are a list too. A study of it bounds how many of them are positive; the bounds of the ranking and those
    of the rest share δ, so that all that counts misses holds with what the ranking's own bounds claim.

    Attributes:
        plan: None where every item of the rest has a label and none was planned (`exact`).
        judging: How its labels were judged.
    """

    folder: Path
    plan: Plan | None
    evaluation: Evaluation
    judging: Judging

    @property
    def exact(self) -> bool:
        """Tell whether the misses are counted."""
        return self.evaluation.curve.claim.coverage == "exact"

    def facts(self, curve: Curve) -> dict[str, Any]:
        """Say what evaluation.json keeps of it beside the bounds of a curve that it gave misses to."""
        of = {"study": str(self.folder.absolute()), "evaluation_id": self.evaluation.evaluation_id}
        estimate = None if np.isnan(curve.misses_estimate) else curve.misses_estimate
        bounded = {"misses_upper": curve.misses_upper, "misses_estimate": estimate}
        return {**bounded, "misses_from": {**of, "n_items": self.evaluation.curve.n_items}}


def rest_of(folder: Path, plan: Plan) -> Rest:
    """Open the study of the rest of a planned ranking.

    Raises:
        StudyError: It has no results or its bounds promise nothing; or it is of the ranking itself.
    """
    study = Study(folder)
    evaluation = study.evaluation()
    claim, rest_plan = evaluation.curve.claim, study.plan() if study.exists else None
    if not evaluation.curve.proves or claim.coverage == "conditional":
        raise StudyError(
            f"{folder}: its bounds hold with no stated probability", "label the rest by loguniform or uniform"
        )
    if rest_plan is not None and rest_plan.ranking.get("fingerprint") == plan.ranking.get("fingerprint"):
        raise StudyError(
            f"{folder} is a study of the ranking itself", "misses are among the items that it never returned"
        )
    summary = evaluation.summary
    judging = Judging(label_error=float(summary.get("label_error", 0.0)), assume=summary.get("assume"))
    return Rest(folder, rest_plan, evaluation, judging)


def refuse_overlap(study: Study, plan: Plan, rest: Rest) -> None:
    """Refuse a rest that holds items of the ranking, by what both selections know of their keys (`StudyError`)."""
    if rest.plan is None:
        return
    key = plan.ranking.get("key") or rest.plan.ranking.get("key") or ()
    mine, theirs = study.selection(plan), Study(rest.folder).selection(rest.plan)
    if not key or mine is None or theirs is None or not {*key} <= {*mine.column_names} & {*theirs.column_names}:
        return
    if shared := meeting(mine.select(key), theirs.select(key)):
        raise StudyError(
            f"{rest.folder}: {shared:,} of its labelled items are items of {study.folder} too, by {', '.join(key)}",
            "misses are among the items that the ranking never returned: leave its items out of that list",
        )


def sharing(plan: Plan, rest: Rest | None) -> Plan:
    """Plan read at δ/2, as the study of the unretrieved items takes the other half; at δ where misses are counted."""
    level = method_of(plan).level
    if rest is None or rest.exact or level is None:
        return plan
    return at_confidence(plan, 1 - (1 - level) / 2)


def with_rest(curve: Curve, plan: Plan, rest: Rest) -> Curve:
    """Give a curve, of a plan that was read by `sharing`, the misses among the rest.

    Args:
        plan: As it was made.
    """
    level = method_of(plan).level or CONFIDENCE
    share = 1 - level if curve.claim.coverage == "exact" or method_of(plan).level is None else (1 - level) / 2
    few, many, estimate = _misses(rest, 1 - share)
    claim = _claim(curve.claim, rest, level)
    sentence = (
        f"Of {rest.evaluation.curve.n_items:,} items that were never returned, {few:,} to {many:,} are positive by the "
        f"labels of {rest.folder}: recall, F and all that counts them holds with the rest of the bounds at once"
    )
    study_confidence, both = curve.claim.confidence, claim.confidence
    findings = curve.findings
    if both is not None:  # half of δ is an inner matter: one probability is told, that of it all
        findings = tuple(
            Promise(both, finding.says) if isinstance(finding, Promise) else finding for finding in findings
        )
    sentence += "." if study_confidence is not None or both is None else f", with probability {both:g}."
    return replace(curve.with_misses(few, many, estimate), claim=claim, findings=(*findings, sentence))


def _misses(rest: Rest, confidence: float) -> tuple[int, int, float]:
    """Bounds on the positives of the rest, with the rest's share of δ, and their estimate."""
    curve = rest.evaluation.curve
    if not rest.exact and rest.plan is not None:
        plan = as_read(at_confidence(rest.plan, confidence), rest.judging)
        curve = curve_of(plan, rest.evaluation.labels, rest.judging.label_error)
    low, _, high = curve.yield_at(curve.n_items)
    few, many = int(np.ceil(low)), int(np.floor(high))
    return few, many, float(cut_to_bounds(rest.evaluation.curve.yield_at(curve.n_items).estimate, few, many))


def _claim(claim: Claim, rest: Rest, level: float) -> Claim:
    """The claim of both together: the weaker one, under the assumptions of both."""
    other = rest.evaluation.curve.claim
    where = f"that the items of {rest.folder} are all that the ranking never returned"
    alike = claim.assumes == other.assumes == ASSUMES_THE_DRAW
    each = claim.assumes if rest.exact else f"{claim.assumes}; of {rest.folder}: {other.assumes}"
    assumes = f"{ASSUMES_BOTH_DRAWS if alike else each}; and {where}"
    about, why = (claim.about, claim.why) if claim.about != TRUTH else (other.about, other.why)
    coverage, confidence = claim.coverage, claim.confidence
    if not rest.exact and coverage != "none":
        coverage = "simultaneous" if coverage == "exact" else coverage
        confidence = level
    return Claim(coverage, confidence, assumes, about, why)
