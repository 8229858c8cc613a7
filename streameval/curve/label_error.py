"""Labels that are wrong now and then: bounds for the truth from bounds for what people would say.

What is claimed. Let v_r be the truth of the item at rank r, and v'_r the label that it has, or would have been given.
Suppose that each v'_r differs from v_r with probability at most e, whatever the truth and whatever the labels of
better ranked items, and that the draw of the ranks to label does not depend on this. A method bounds Y', the yield of
v', at all ranks at once with probability ≥ 1 − δ/2; then the bounds made here hold for the true yield Y at all ranks at
once with probability ≥ 1 − δ. They hold as well, without any chance in the errors, where among the first k true
positives, for every k, at most a share e is mislabelled, and likewise among the true negatives.

Proof. Number the true positives by rank, and let B_k be how many of the first k are mislabelled. For λ > 0,
exp(λB_k − k ln(1 + e(e^λ − 1))) is a supermartingale in k started at 1, because each step multiplies it by at most 1 in
expectation; by Ville's inequality, with probability ≥ 1 − η, B_k ≤ c + s·k for all k at once, where
s = ln(1 + e(e^λ − 1))/λ and c = ln(1/η)/λ. Likewise for the true negatives. Take K values of λ and η = δ/(4K) for each
of the two: all of these lines hold with probability ≥ 1 − δ/2. Among the first r items there are Y(r) true positives
and r − Y(r) true negatives, so Y − (c + s·Y) ≤ Y' ≤ Y + (c + s·(r − Y)): every λ gives

    (Y'lo − c − s·r)/(1 − s) ≤ Y(r) ≤ (Y'hi + c)/(1 − s).

(s < 1 because 1 + e(e^λ − 1) < e^λ for e < 1.) Since s ≥ e (Jensen), the lines are also true of errors of which no
prefix holds more than the share e. What is left is the walk's own logic: `streameval.curve.envelope.lift`.

The rate is that of an item's label after the vote rule, not of a single vote.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from streameval.curve import Curve
from streameval.curve.envelope import Envelope, Points, lift
from streameval.errors import InputError
from streameval.types import MAY_BE_WRONG, TRUTH, Claim, Promise
from streameval.typing import FloatArray

_SLOPES = 24  # values of λ; more of them cost a little of δ each
_LEAST_RATIO, _LARGEST = 1e-7, 8.0
CONFIDENCE = 0.95  # of bounds that are not probabilistic before labels may be wrong


def check_label_error(rate: float) -> None:
    """Refuse a rate outside [0, .5)."""
    if not 0 <= rate < 0.5:
        raise InputError(f"--label-error is {rate}, outside [0, 0.5)", "0.02 is two wrong labels in a hundred")


def lines(rate: float, delta: float, n_items: int) -> tuple[FloatArray, FloatArray]:
    """Lines c + s·k, all of which bound the mislabelled among the first k, for every k, with probability ≥ 1 − δ.

    Args:
        rate: e, in (0, .5).
        delta: In (0, 1).
        n_items: Largest k of interest: chooses the slopes, nothing else.

    Returns:
        c, s: float64 arrays, shape (K,).

    >>> c, s = lines(0.02, 0.025, 10_000)
    >>> int(np.ceil(np.min(c + s * 10_000)))
    255
    """
    log_share = math.log(_SLOPES / delta)
    # the λ that suits k = N, and those that suit fewer
    suited = math.sqrt(2 * log_share / (max(n_items, 1) * rate * (1 - rate)))
    least = min(max(suited, _LEAST_RATIO), 1.0)
    slope = np.geomspace(least, _LARGEST, _SLOPES)
    return log_share / slope, np.log1p(rate * np.expm1(slope)) / slope


def widen(curve: Curve, rate: float, confidence: float | None, about: str = TRUTH) -> Curve:
    """Turn bounds for what people would say into bounds for the truth.

    Args:
        curve: Its bounds hold with probability ≥ 1 − δ/2, or wherever its assumption does.
        rate: e: no label is wrong with a larger probability; 0 changes nothing.
        confidence: 1 − δ of the result (default .95).
        about: What the bounds are called bounds of: not the truth where labels contradict the rate.

    Returns:
        Curve: Coverage "simultaneous" where it was "exact" or "simultaneous", "conditional" where it was; "none" stays
            "none". The claim is about the truth. The method's own columns are those of what people said.
    """
    check_label_error(rate)
    if rate == 0:
        return curve
    level = confidence if confidence is not None else CONFIDENCE
    c, s = lines(rate, (1 - level) / 4, curve.n_items)
    envelope = _widen(curve.envelope, c, s, curve.claim.coverage == "none")
    claimed_of_labels = curve.claim
    coverage = "simultaneous" if claimed_of_labels.coverage == "exact" else claimed_of_labels.coverage
    errors = f"{MAY_BE_WRONG} {rate:g}, whatever the labels of items ranked above it"
    assumes = errors if claimed_of_labels.coverage == "exact" else f"{claimed_of_labels.assumes}; and that {errors}"
    why = "" if about == TRUTH else claimed_of_labels.why
    claim = Claim(coverage, None if coverage == "none" else level, assumes, about, why)
    diagnostics = {**curve.diagnostics, "label_error": rate}
    return replace(
        curve, envelope=envelope, claim=claim, diagnostics=diagnostics, findings=_findings(curve, claim, rate)
    )


def _findings(curve: Curve, claim: Claim, rate: float) -> tuple[str, ...]:
    if claim.coverage == "none" or not curve.envelope.consistent:  # the method's first sentence says why
        return curve.findings
    wrong = f"labels are wrong with probability up to {rate:g} each."
    if curve.claim.confidence is None:
        return (*curve.findings, f"The bounds hold also where {wrong}")
    if_so = f" if {curve.claim.assumes}," if claim.coverage == "conditional" else ""
    sentence = f"{claim.about} lies inside the bounds at every rank at once,{if_so} also where {wrong}"
    return (Promise(claim.confidence or CONFIDENCE, sentence), *curve.findings[1:])


def _widen(envelope: Envelope, c: FloatArray, s: FloatArray, picture: bool) -> Envelope:
    rank = envelope.rank[envelope.rank > 0]
    lower, upper = envelope.lower[envelope.rank > 0], envelope.upper[envelope.rank > 0]
    low, high = np.zeros(rank.size), rank.astype(np.float64)
    for intercept, slope in zip(c, s, strict=True):
        low = np.maximum(low, (lower - intercept - slope * rank) / (1 - slope))
        high = np.minimum(high, (upper + intercept) / (1 - slope))
    if not picture:  # Y is a whole number
        low, high = np.ceil(low - 1e-6), np.floor(high + 1e-6)
    return lift(int(envelope.rank[-1]), Points(rank, low, high))
