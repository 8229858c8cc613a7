"""What a curve of `loguniform` says of itself, in sentences."""

from __future__ import annotations

import numpy as np

from streameval.curve import Curve
from streameval.methods import Sampled
from streameval.methods.checks.monotonicity import warnings
from streameval.types import Promise


def findings(method: Sampled, curve: Curve, about: str) -> tuple[str, ...]:
    """What the bounds promise, how a judge fared, and what speaks against the labels."""
    if curve.claim.coverage == "none" and method.adaptive:
        return (
            "This is the first batch of an adaptive plan, and its bounds promise nothing yet: `plan --continue` adds "
            "the second, and the bounds of both hold with the whole confidence.",
        )
    if curve.claim.coverage == "none":
        return (
            "The ranking was made by a model that has seen labels reused here: where it put those items depends on "
            "their labels, so the draw is not random and the bounds promise nothing.",
        )
    if not curve.envelope.consistent:
        return method.contradicted("The band contradicts itself")
    return (
        Promise(
            method.confidence,
            f"{about} lies inside the bounds at every rank at once"
            + (f" and at all {method.looks} looks" if method.looks > 1 else "")
            + (f" and after each of {method.batches} batches" if method.batches > 1 else "")
            + ", whatever the list.",
        ),
        *_judge_sentence(curve),
        *warnings(curve.diagnostics["assumptions"]),
    )


def widths_without(curve: Curve) -> dict[str, float]:
    """How wide the bounds of the same labels are without a judge: where they are widest, and on average."""
    return {"half_width_without": curve.half_width().alpha, "mean_half_width_without": _mean_half_width(curve)}


def _mean_half_width(curve: Curve) -> float:
    """Mean over ranks 1, e, e², …: a mean over all ranks would be one of the deepest."""
    ranks = np.unique(np.rint(np.exp(np.arange(np.log(curve.n_items) + 1e-9))).astype(np.int64))
    lower, upper = curve.envelope.at(ranks)
    return float(np.mean((upper - lower) / np.maximum(upper + lower, 1)))


def _judge_sentence(curve: Curve) -> tuple[str, ...]:
    """How often the judge agrees with people, and what it saved."""
    found = curve.diagnostics.get("judge")
    if found is None or found["share"] is None:
        return ()
    reached, without = curve.half_width().alpha, found["half_width_without"]
    who = "The judge" if found["column"] == "judge" else f"The judge '{found['column']}'"
    counted = "" if 0.5 in found["thresholds"] else ", if a class whose middle is .5 or more counts as positive"
    told = f"{who} agrees with people on {found['share']:.1%} of {found['labels']:,} items{counted}."
    if 0 < reached < without:
        more = f"; to reach that without it takes about {(without / reached) ** 2:.1f} times the labels"
        saved = f"Without it, these labels give a half-width of {without:.2%} instead of {reached:.2%}"
        return (f"{told} {saved}{more if without < 1 else ''}.",)  # at 100 % no number of labels can be told
    mean, other = _mean_half_width(curve), found["mean_half_width_without"]
    return (
        f"{told} Where they are widest, the bounds are no narrower for it; the mean half-width at ranks 1, e, e² and "
        f"so on is {mean:.2%}, and {other:.2%} without it.",
    )
