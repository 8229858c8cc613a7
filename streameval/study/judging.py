"""What the stored votes come to: shared by the verbs that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streameval.curve import Curve, HalfWidth
from streameval.curve.label_error import CONFIDENCE, method_parameters, widen
from streameval.errors import InputError
from streameval.labelling import Tallied, tally
from streameval.labelling.answers import suggestion
from streameval.labelling.tally import with_unlisted
from streameval.methods import create
from streameval.slices.pool import parts, pooled, shared
from streameval.stores.own_files import UNUSABLE, unusable
from streameval.study import Study
from streameval.study.vote_store import Given, rows_of
from streameval.types import Labels, Plan


@dataclass(frozen=True)
class Judging:
    """How votes become labels, and how far labels are believed.

    Attributes
    ----------
    vote : str
        Rule: majority, any, all or latest (votes are 0 or 1), or with >=X for grades, such as `mean>=3`.
    prefer : sequence of str
        Sources, the best first: on each item only the best that has a vote counts.
    label_error : float
        Probability that an item's label is wrong; every bound is widened for it.
    assume : str, optional
        What PAULA's bounds rest on, where it is to be another assumption than the plan's: the labels are the same.
    strict : bool
        Whether anything that is not as it should be (`streameval.labelling.issues`) is an error, and nothing is stored.
    """

    vote: str = "majority"
    prefer: Sequence[str] = ()
    label_error: float = 0.0
    assume: str | None = None
    strict: bool = False

    def read(self, plan: Plan) -> Plan:
        """Return the plan with the assumption under which its labels are read.

        Raises
        ------
        InputError
            Its method knows no such assumption.
        """
        if self.assume is None:
            return plan
        parameters = {**plan.parameters, "assume": self.assume}
        create(plan.method, parameters)
        return replace(plan, parameters=parameters)


def last_judging(folder: Study) -> Judging:
    """How the last evaluation judged; the defaults where there is none."""
    try:
        found = folder.summary()
    except FileNotFoundError:
        return Judging()
    try:
        rules = (str(found["vote"]), tuple(found["prefer"]), float(found["label_error"]))
        return Judging(*rules, assume=found.get("assume"))
    except UNUSABLE as error:
        raise unusable(folder.folder / "evaluation.json", error, "run evaluate again") from error


def tally_stored(folder: Study, plan: Plan, judging: Judging, stored: Sequence[Given]) -> Tallied:
    """Count the stored votes; rows that sources counted without listing them are in the account too."""
    found = tally(plan, rows_of(stored), judging.vote, judging.prefer, folder.extra_tasks())
    unplanned = sum(one.facts["unplanned"] for one in stored)
    account = with_unlisted(found.labels.account, [one.facts["unlisted"] for one in stored], unplanned)
    return replace(found, labels=replace(found.labels, account=account))


def curve_of(plan: Plan, labels: Labels, label_error: float = 0.0) -> Curve:
    """Turn labels into the curve, widened for a label error rate; of the whole list, where it is in slices."""
    return whole_curve(plan, labels, label_error, slice_curves(plan, labels, label_error))


def whole_curve(plan: Plan, labels: Labels, label_error: float, slices: Mapping[str, Curve]) -> Curve:
    """Curve of the whole list, from those of its slices where it has any."""
    if slices:
        return pooled(plan, slices, labels, label_error)
    return _curve(plan, labels, label_error, plan.parameters.get("confidence"))


def slice_curves(plan: Plan, labels: Labels, label_error: float = 0.0) -> dict[str, Curve]:
    """Curve of every slice by name, the largest first; none where the plan has no slices."""
    if plan.marks is None:
        return {}
    found = parts(plan)
    level = shared(plan.parameters.get("confidence") or CONFIDENCE, len(found))
    return {part.name: _curve(part.plan, part.labels(labels), label_error, level) for part in found}


def _curve(plan: Plan, labels: Labels, label_error: float, confidence: float | None) -> Curve:
    parameters = method_parameters(plan.parameters, label_error)
    curve = create(plan.method, parameters).curve(plan, labels)
    claim = replace(curve.claim, about=labels.about, why=f"{labels.why}{suggestion(labels.error_rate, label_error)}")
    caution = claim.caution
    if label_error and claim.why:  # the claim will be about the truth
        caution = f"{claim.why[0].upper()}{claim.why[1:]}."
    if caution and curve.findings:
        curve = curve.with_findings((curve.findings[0], caution, *curve.findings[1:]))
    curve = replace(curve, claim=claim)
    return widen(curve, label_error, confidence)


def half_width_of(plan: Plan, curve: Curve, missing: int, label_error: float) -> dict[str, Any]:
    """Half-width that the labels reach, where it is widest, and a forecast of what half of it takes.

    Labels for half of the planned half-width, relative to those for the whole of it, are those for half of what was
    reached: which precision the list keeps changes both alike. No such forecast is made of slices, where planned labels
    are missing, of a plan that has grown beyond what it was first made for, of bounds that the plan was not made for,
    and with a label error, whose part of the width no number of labels takes away. That part is widest at the first
    ranks, so that the half-width at the last, `all_items`, is given too.
    """
    widest = curve.half_width()
    at = plan.parameters.get("at")
    if at is not None:  # one rank was asked for, and nothing before it was meant to be narrow
        widest = _half_width_at(curve, int(at))
    found = {"alpha": widest.alpha, "rank": widest.rank, "widest": at is None, "labels_for_half": None}
    if label_error:
        found["all_items"] = _half_width_at(curve, curve.n_items).alpha
    apart = int(plan.notes.get("look", 1)) > 1 or plan.parameters.get("assume") == "independent" or label_error
    if plan.marks is not None or widest.alpha == 0 or curve.claim.coverage in ("exact", "none") or missing or apart:
        return found
    method = create(plan.method, dict(plan.parameters))
    try:
        halved = method.with_alpha(method.cost(plan.n_items)["accuracy"] / 2)
        return {**found, "labels_for_half": halved.cost(plan.n_items)["labels"]}
    except InputError:
        return found  # out of the method's reach, or everything was planned already


def _half_width_at(curve: Curve, rank: int) -> HalfWidth:
    low, high = (float(side[0]) for side in curve.envelope.at(np.array([rank])))
    return HalfWidth((high - low) / (high + low) if high > low else 0.0, rank)
