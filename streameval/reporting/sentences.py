"""What an evaluation says, in sentences: the same on the page and on the terminal."""

from __future__ import annotations

from streameval.study import Evaluation
from streameval.types import Claim


def verdict(found: Evaluation) -> str:
    """One or two sentences: what holds, at what cost, under which assumption."""
    claim, account = found.curve.claim, found.summary["account"]
    labels = f"{account['labelled']:,} of {account['planned']:,} labels"
    if found.curve.findings:
        return f"{found.curve.findings[0]} ({labels}.)"
    if claim.coverage == "exact":
        return f"Every item is labelled: the curve is exact ({labels})."
    return f"{band_meaning(claim).capitalize()}; assumed: {claim.assumes} ({labels})."


def half_width_sentence(found: Evaluation) -> str:
    """How wide the bounds are, where they are widest, and what half of that would cost; empty where nothing bounds."""
    half, account, claim = found.summary["half_width"], found.summary["account"], found.curve.claim
    if claim.coverage in ("exact", "none"):
        return ""
    where = "" if found.summary["parameters"].get("at") else ", where it is widest"
    text = f"Half-width reached: {half['alpha']:.2%} of precision, at rank {half['rank']:,}{where}."
    missing = account["planned"] - account["labelled"]
    if missing:
        text += f" {missing:,} planned labels are missing, which widens it."
    if half["labels_for_half"]:
        text += f" Half of it would take about {half['labels_for_half']:,} labels (a forecast)."
    return text


def band_meaning(claim: Claim) -> str:
    """What the band between lower and upper is, in a clause."""
    return {
        "exact": "every value is exact",
        "none": "the band is a picture and not a bound",
        "conditional": "the band holds wherever the assumption does"
        + (f", with probability {claim.confidence}" if claim.confidence is not None else ""),
        "pointwise": f"the band holds at each rank on its own with probability {claim.confidence}",
        "simultaneous": f"the band holds at all ranks at once with probability {claim.confidence}",
    }[claim.coverage]
