"""From stored votes to labels and curves, for all verbs that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.bounds import HalfWidth
from streameval.curve.label_error import CONFIDENCE, widen
from streameval.errors import InputError
from streameval.labelling.answers import suggestion
from streameval.labelling.options import Judging
from streameval.labelling.sources import Twice, answers_by_hand, given_twice, nameless
from streameval.labelling.tally import Tallied, tally, with_unlisted
from streameval.methods import Method, change_parameters, method_of
from streameval.slices.estimates import list_estimate, with_list_rates
from streameval.slices.pool import counts_of_slices, pool_bounds, slice_confidence, slice_plans
from streameval.stores.own_files import UNUSABLE, unusable
from streameval.study import Study
from streameval.study.vote_store import Given, rows_of, told_apart
from streameval.types import TRUTH, Labels, Plan, Promise


def as_read(plan: Plan, judging: Judging) -> Plan:
    """Return the plan with the assumption under which its labels are read, if its method knows it."""
    if judging.assume is None:
        return plan
    read = replace(plan, parameters={**plan.parameters, "assume": judging.assume})
    method_of(read)
    return read


def at_confidence(plan: Plan, confidence: float) -> Plan:
    """Return the plan as its labels are read with another confidence: only `delta` of its bounds is another.

    The draw and all that tunes the bounds were fixed by the plan, so that the claim stays true of any confidence that
    no label has decided. A method that has none is left as it is.
    """
    if method_of(plan).confidence is None:
        return plan
    return replace(plan, parameters={**plan.parameters, "confidence": confidence})


def last_judging(folder: Study) -> Judging:
    """Tell how the last evaluation judged; the defaults where there is none."""
    try:
        summary = folder.summary()
    except FileNotFoundError:
        return Judging()
    try:
        rules = (str(summary["vote"]), tuple(summary["prefer"]), float(summary["label_error"]))
        return Judging(*rules, assume=summary.get("assume"))
    except UNUSABLE as error:
        raise unusable(folder.folder / "evaluation.json", error, "run evaluate again") from error


def tally_stored(folder: Study, plan: Plan, judging: Judging, stored: Sequence[Given]) -> Tallied:
    """Count the stored votes; rows that sources counted without listing them are in the account too."""
    tallied = tally(plan, rows_of(stored), judging.rule, judging.prefer, folder.extra_tasks())
    unplanned = sum(source.facts["unplanned"] for source in stored)
    account = with_unlisted(tallied.labels.account, [source.facts["unlisted"] for source in stored], unplanned)
    return replace(tallied, labels=replace(tallied.labels, account=account))


def recount(folder: Study, plan: Plan) -> Tallied:
    """Count all stored votes, judged as in the last evaluation."""
    return tally_stored(folder, plan, last_judging(folder), folder.labels.sources())


def doubts(rows: pa.Table, stored: Sequence[Given]) -> dict[str, Any]:
    """Report suspected duplicate files and conflicting anonymous files, JSON-ready.

    Returns:
        dict: `given_twice`: of each file that says nothing but what others say `id`, `source`, `others` (their names,
            told apart) and `answers`; of two readings of one file `id` is that of the first. `nameless`: `sources`,
            `ids`, `items`, `answers` of files that contradict each other and name nobody; null where there are none.
    """
    if len(stored) < 2:
        return {"given_twice": [], "nameless": None}
    files = {file.facts["given"]: file for file in stored}
    names = dict(zip(files, told_apart(stored), strict=True))
    by_hand = answers_by_hand(rows)
    twice = given_twice(by_hand)
    unnamed = nameless(rows, by_hand, [suspect.given for suspect in twice])
    return {
        "given_twice": [
            {"id": _first_reading(suspect, files).identity, "source": names[suspect.given],
             "others": [names[other] for other in suspect.others], "answers": suspect.answers}
            for suspect in twice
        ],
        "nameless": unnamed and {"sources": [files[suspect].facts["source"] for suspect in unnamed.given],
                                 "ids": [files[suspect].identity for suspect in unnamed.given],
                                 "items": unnamed.items, "answers": unnamed.lost},
    }  # fmt: skip


def _first_reading(twice: Twice, files: Mapping[int, Given]) -> Given:
    """Tell which of the files is not to count: the former reading, where one file was read again with other words."""
    file = files[twice.given]
    former = [files[number] for number in twice.others if number < twice.given
              and files[number].facts["content"] == file.facts["content"]]  # fmt: skip
    return former[0] if former else file


def curve_of(plan: Plan, labels: Labels, label_error: float = 0.0) -> Curve:
    """Turn labels into the curve, widened for a label error rate; of the whole list, where it is in slices."""
    return whole_curve(plan, labels, label_error, slice_curves(plan, labels, label_error))


def whole_curve(plan: Plan, labels: Labels, label_error: float, slices: Mapping[str, Curve]) -> Curve:
    """Curve of the whole list, from those of its slices where it has any."""
    if slices:
        estimated = list_estimate(slice_plans(plan), slices, labels, counts_of_slices(plan, list(slices)))
        return replace(pool_bounds(plan, slices, labels, label_error), estimated=estimated)
    return _curve(plan, labels, label_error, method_of(plan).level)


def slice_curves(plan: Plan, labels: Labels, label_error: float = 0.0) -> dict[str, Curve]:
    """Curve of every slice by name, the largest first; none where the plan has no slices."""
    if plan.marks is None:
        return {}
    parts = slice_plans(plan)
    level = slice_confidence(method_of(plan).level or CONFIDENCE, len(parts))
    curves = {part.name: _curve(part.plan, part.labels(labels), label_error, level) for part in parts}
    return with_list_rates(parts, curves, labels, counts_of_slices(plan, list(curves)))


def sharing(method: Method, label_error: float) -> Method:
    """Give the method that bounds what people would say, for `widen`: half of δ is kept for their errors."""
    if label_error == 0 or method.level is None:
        return method
    return change_parameters(method, confidence=1 - (1 - method.level) / 2)


def _curve(plan: Plan, labels: Labels, label_error: float, confidence: float | None) -> Curve:
    curve = sharing(method_of(plan), label_error).curve(plan, labels)
    claim = replace(curve.claim, about=labels.about, why=f"{labels.why}{suggestion(labels.error_rate, label_error)}")
    caution = claim.caution
    if label_error and claim.why:  # the claim will be about the truth
        caution = f"{claim.why[0].upper()}{claim.why[1:]}."
    if caution and curve.findings:
        curve = curve.with_findings((curve.findings[0], caution, *curve.findings[1:]))
    # where answers differ more often than labels may be wrong, the bounds, which only grew, are about the answers still
    beyond = labels.error_rate > label_error and claim.coverage != "none"
    about = labels.about if beyond else TRUTH
    return _of_right_labels(widen(replace(curve, claim=claim), label_error, confidence, about))


def _of_right_labels(curve: Curve) -> Curve:
    """Say in the first sentence that the claim is about the truth if every label is right, where it is."""
    condition, findings = curve.claim.if_right, curve.findings
    if not condition or not findings or not curve.proves or curve.claim.coverage == "exact":
        return curve
    first = findings[0]
    sentence: str = f"{first} Every label is taken to be right."
    if isinstance(first, Promise) and curve.claim.coverage != "conditional":
        sentence = first.only(condition)
    return curve.with_findings((sentence, *findings[1:]))


def half_width_of(plan: Plan, curve: Curve, missing: int, label_error: float) -> dict[str, Any]:
    """Half-width that the labels reach, where it is widest, and a forecast of what half of it takes.

    Labels for half of the planned half-width, relative to those for the whole of it, are those for half of what was
    reached: which precision the list keeps changes both alike. No such forecast is made of slices, where planned labels
    are missing, of a plan that has grown beyond what it was first made for, of bounds that the plan was not made for,
    of a judge, of bounds that share δ with misses, where no positive is proven at the widest rank, and with a label
    error, whose part of the width no number of labels takes away. That part is widest at the first ranks, so that the
    half-width at the last, `all_items`, is given too.
    """
    widest = curve.half_width()
    method = method_of(plan)
    width = {"alpha": widest.alpha, "rank": widest.rank, "labels_for_half": None}
    if label_error:
        width["all_items"] = _half_width_at(curve, curve.n_items).alpha
    otherwise = plan.parameters.get("assume") == "independent"
    parted = plan.marks is not None or plan.judge_counts is not None
    shared = curve.misses_upper is not None
    unforeseen = parted or plan.grown or missing or label_error or otherwise or shared
    if unforeseen or widest.alpha in (0, 1) or curve.claim.coverage in ("exact", "none"):
        return width
    try:
        halved = method.with_alpha(method.planned_half_width(plan.n_items) / 2)
        return {**width, "labels_for_half": halved.cost(plan.n_items)["labels"]}
    except InputError:
        return width  # out of the method's reach, or everything was planned already


def _half_width_at(curve: Curve, rank: int) -> HalfWidth:
    low, high = (float(side[0]) for side in curve.envelope.at(np.array([rank])))
    return HalfWidth((high - low) / (high + low) if high > low else 0.0, rank)
