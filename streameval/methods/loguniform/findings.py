"""Findings on a curve of `loguniform`, in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from streameval.curve import Curve
from streameval.kernels.sorted_sets import unique
from streameval.methods.checks.monotonicity import warnings
from streameval.methods.sampled import Sampled
from streameval.types import Promise

_HELPS = 0.98  # a half-width that is less narrow than this is no help
_ENOUGH = 20  # labels, for the share of a range of ranks to be told


def findings(method: Sampled, curve: Curve, about: str) -> tuple[str, ...]:
    """Say what the bounds promise, how a judge fared, and what speaks against the labels."""
    if curve.claim.coverage == "none" and method.adaptive:
        return (
            "The bounds prove nothing yet, as this is the first batch of an adaptive plan. `streameval grow` adds the "
            "second, and the bounds from both hold.",
        )
    if curve.claim.coverage == "none":
        return (
            "The bounds prove nothing, because the model that made the ranking has seen labels that are reused here. "
            "Where it put those items depends on their labels, so the draw is not random.",
        )
    if not curve.envelope.consistent:
        return method.contradicted("The band contradicts itself")
    return (
        Promise(
            method.confidence,
            f"{about} lies inside the bounds at every rank at once"
            + (f" and after each of {stages} stages" if (stages := max(method.looks, method.batches)) > 1 else "")
            + ", whatever the list.",
        ),
        *_judge_sentence(curve),
        *warnings(curve.diagnostics["assumptions"]),
    )


def widths_without(curve: Curve) -> dict[str, float]:
    """Say how wide the bounds of the same labels are without a judge: where they are widest, and on average."""
    return {"half_width_without": curve.half_width().alpha, "mean_half_width_without": _mean_half_width(curve)}


def _mean_half_width(curve: Curve) -> float:
    """Mean over ranks 1, e, e², …: a mean over all ranks would be one of the deepest."""
    ranks = unique(np.rint(np.exp(np.arange(np.log(curve.n_items) + 1e-9))).astype(np.int64))
    lower, upper = curve.envelope.at(ranks)
    return float(np.mean((upper - lower) / np.maximum(upper + lower, 1)))


def _judge_sentence(curve: Curve) -> tuple[str, ...]:
    """Say how often the judge agrees with people, and what it saved."""
    judge = curve.diagnostics.get("judge")
    if judge is None or judge["share"] is None:
        return ()
    return (f"{_agrees(judge, curve.n_items)} {_saves(curve, judge)}",)


def _agrees(judge: Mapping[str, Any], n_items: int) -> str:
    """Say how often the judge agrees with people: on the labelled items, over the list, and where least."""
    who = "The judge" if judge["column"] == "judge" else f"The judge '{judge['column']}'"
    counted = "" if 0.5 in judge["thresholds"] else ", if a class whose middle is .5 or more counts as positive"
    sentence = f"{who} agrees with people on {judge['share']:.1%} of {judge['labels']:,} labelled items{counted}"
    if judge["labels"] < n_items:
        top = ", most of which are in the first tenth of the list" if 2 * judge["first_tenth"] > judge["labels"] else ""
        whole = "all items that it answers for" if judge["classes"][-1]["items"] else "the whole list"
        sentence += f"{top}, and on about {judge['share_of_list']:.0%} of {whole}"
    least = min(
        (stretch for stretch in judge["by_rank"] if stretch["labels"] >= _ENOUGH),
        key=lambda stretch: stretch["share"],
        default=None,
    )
    if least is None or judge["share"] - least["share"] < 3 * _deviation(judge["share"], least["labels"]):
        return f"{sentence}."
    return (f"{sentence}. It agrees least at ranks {least['first']:,} to {least['last']:,}, on {least['share']:.1%} of "
            f"{least['labels']:,} items.")  # fmt: skip


def _deviation(share: float, labels: int) -> float:
    """Standard deviation of the share that so many labels say."""
    return math.sqrt(share * (1 - share) / labels)


def _saves(curve: Curve, judge: Mapping[str, Any]) -> str:
    """Say what the same labels give without the judge; that it did not help, where it narrows nothing by a fiftieth."""
    reached, without = curve.half_width().alpha, judge["half_width_without"]
    mean, other = _mean_half_width(curve), judge["mean_half_width_without"]
    if 0 < reached <= _HELPS * without:
        saved = f"The half-width is {reached:.2%} with it and {without:.2%} without"
        if without >= 1:  # at 100 % no number of labels can be told
            return f"{saved}."
        times = (without / reached) ** 2
        more = f"{times:.1f} times the labels" if times >= 1.5 else f"{times - 1:.0%} more labels"
        return f"{saved}. The same without it would take about {more}."
    if mean <= _HELPS * other:
        than = "hardly" if reached < without else "no"
        return (f"Where they are widest, the bounds are {than} narrower for it. The mean half-width at ranks 1, e, e² "
                f"and so on is {mean:.2%} with it and {other:.2%} without.")  # fmt: skip
    return (f"This judge did not help: the half-width is {reached:.2%} with it and {without:.2%} without. Its mean at "
            f"ranks 1, e, e² and so on is {mean:.2%} with it and {other:.2%} without.")  # fmt: skip
