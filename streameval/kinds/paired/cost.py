"""Costs of a comparison before there are lists, from the share of their tops that two rankings have in common."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from streameval.errors import InputError
from streameval.kinds.paired.says import place
from streameval.methods import create
from streameval.paired.rates import probabilities
from streameval.questions.comparing import Comparing, powers_of_ten
from streameval.text import number_of

NOTE = (
    "Only what changed is labelled; bounds on the difference in precision lie within what --for says at every cutoff."
)
_UNKNOWN = "what this takes depends on how far items moved, which plan finds by reading both lists"


def overlap_of(comparing: Comparing) -> float:
    """The share of items that both tops hold, as `cost` is told it in place of a ranking."""
    text = str(comparing.against).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise InputError(f"--against is {text}: before there are lists, it is the share of their tops that is the same",
                         "such as --against 80%")  # fmt: skip
    return share


def costs_of(comparing: Comparing, n_items: int) -> list[dict[str, Any]]:
    """Say what `cost` says of a comparison: labels by cutoff, of all together at most, and of two curves instead."""
    return list(_rows(comparing, n_items))


def _rows(comparing: Comparing, n_items: int) -> Iterator[dict[str, Any]]:
    cutoffs = powers_of_ten(n_items) if comparing.cutoffs is None else comparing.cutoffs
    ranks = [(cutoff, rank) for cutoff in cutoffs if (rank := cutoff.rank_in(n_items)) is not None]
    others = [str(cutoff) for cutoff in cutoffs if cutoff.kind == "score"]
    if not ranks:
        raise InputError(f"{', '.join(others)}: {_UNKNOWN}", "ask at ranks: gain@1000")
    sizes = np.array([rank for _, rank in ranks], np.int64)
    changed = np.round((1 - overlap_of(comparing)) * sizes).astype(np.int64)
    p = comparing.min_precision
    confidence = 1 - (1 - comparing.certainty) * len(ranks) / (len(ranks) + len(others))
    rates = probabilities(changed, changed, sizes, within=comparing.half_width, confidence=confidence,
                          variance=p * (1 - p), looks=comparing.look)  # fmt: skip
    each = np.ceil(rates * 2 * changed).astype(np.int64).tolist()
    for (cutoff, _), labels in zip(ranks, each, strict=True):
        yield _row("paired", f"at {place(str(cutoff))}", labels, comparing.half_width)
    if len(each) > 1:
        yield _row("paired", "all cutoffs together, at most", sum(each), comparing.half_width)
    if others:
        yield {**_row("paired", ", ".join(others), None, comparing.half_width), "refused": _UNKNOWN}
    if (curves := _two_curves(comparing, n_items)) is not None:
        yield _row("loguniform", "two curves, and their difference", curves, comparing.half_width)


def _row(method: str, case: str, labels: int | None, within: float) -> dict[str, Any]:
    return {"method": method, "case": case, "labels": labels, "nine_in_ten": None, "most": None,
            "accuracy": within, "forecast": False, "claim": "simultaneous"}  # fmt: skip


def _two_curves(comparing: Comparing, n_items: int) -> int | None:
    """Labels of two curves whose bounds subtracted are as near; None where no plan is that large."""
    alpha = comparing.half_width / 2 / comparing.min_precision
    try:
        curve = create("loguniform", {"alpha": alpha, "min_precision": comparing.min_precision,
                                      "confidence": (1 + comparing.certainty) / 2})  # fmt: skip
        return 2 * int(curve.cost(n_items)["labels"])
    except InputError:
        return None


def as_close_sentence(rank: int, half_width: float, spent: int) -> str:
    """Say how many labels of what changed would bound the difference of one cutoff as closely as two studies do.

    Empty where that takes no fewer than the `spent` labels of both.
    """
    parts = []
    for overlap in (0.8, 0.95):
        changed = np.array([round((1 - overlap) * rank)], np.int64)
        rate = probabilities(
            changed, changed, np.array([rank], np.int64), within=half_width, confidence=0.95, looks="one"
        )
        labels = math.ceil(float(rate[0]) * 2 * int(changed[0]))
        if 0 < labels < spent:
            parts.append(f"about {number_of(labels, 'label')} if {overlap:.0%} of both tops is the same")
        elif not labels and parts:
            parts.append(f"none if {overlap:.0%} is")
    if not parts:
        return ""
    return (f"Bounds as close (±{half_width:.2g}) on the difference in precision at {rank:,} take fewer labels if "
            f"only items that one top alone has are labelled: {', '.join(parts)}. "
            "`streameval plan B --against A --key ID --for "
            f"'gain@{rank} within {100 * half_width:.2g}%'` draws them.")  # fmt: skip
