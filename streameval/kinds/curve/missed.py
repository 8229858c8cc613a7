"""Misses, bounded by labels of what a ranking never returned: a study of those items, the elusion test of reviews.

The items that were never returned are a list too. A study of it bounds how many of them are positive; the bounds of the
ranking and those of the rest share δ, so that all that counts misses holds with what the ranking's own bounds claim.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from streameval.curve import Curve
from streameval.curve.bounds import inside
from streameval.curve.label_error import CONFIDENCE
from streameval.errors import StudyError
from streameval.labelling.key_forms import meeting
from streameval.labelling.options import Judging
from streameval.methods import ASSUMES_THE_DRAW, method_of
from streameval.study import Study
from streameval.study.judging import as_read, at_confidence, curve_of
from streameval.study.results import Evaluation
from streameval.types import TRUTH, Claim, Plan, Promise

ASSUMES_BOTH_DRAWS = "nothing of either list: only that what was drawn of both, at random, is what was labelled"


@dataclass(frozen=True)
class Rest:
    """An evaluated study of the items that a ranking never returned.

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
        """Whether the misses are counted."""
        return self.evaluation.curve.claim.coverage == "exact"

    def facts(self, curve: Curve) -> dict[str, Any]:
        """What evaluation.json keeps of it beside the bounds of a curve that it gave misses to."""
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
    told = curve.findings
    if both is not None:  # half of δ is an inner matter: one probability is told, that of it all
        told = tuple(Promise(both, one.says) if isinstance(one, Promise) else one for one in told)
    sentence += "." if study_confidence is not None or both is None else f", with probability {both:g}."
    return replace(curve.with_misses(few, many, estimate), claim=claim, findings=(*told, sentence))


def _misses(rest: Rest, confidence: float) -> tuple[int, int, float]:
    """Bounds on the positives of the rest, with the rest's share of δ, and their estimate."""
    curve = rest.evaluation.curve
    if not rest.exact and rest.plan is not None:
        plan = as_read(at_confidence(rest.plan, confidence), rest.judging)
        curve = curve_of(plan, rest.evaluation.labels, rest.judging.label_error)
    low, _, high = curve.yield_at(curve.n_items)
    few, many = int(np.ceil(low)), int(np.floor(high))
    return few, many, float(inside(rest.evaluation.curve.yield_at(curve.n_items).estimate, few, many))


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
