"""What an evaluation says, in sentences: `verdict` begins on the terminal, `page_verdict` on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streameval.curve import Basis
from streameval.labelling.unlabelled import unlabelled_words
from streameval.reporting.next_step import proven_share
from streameval.study.results import Evaluation
from streameval.text import number_of
from streameval.types import TRUTH, Claim

TIES = (
    "Items with the same score leave the order open. Average precision, AUC, F and the break-even point count them as "
    "one step, as scikit-learn does; other estimates are expectations. Beside them are the worst order and the best; "
    "what is counted as one step may lie outside of these."
)


def verdict(found: Evaluation) -> str:
    """One or two sentences: what holds, at what cost, under which assumption."""
    claim, account = found.curve.claim, found.summary["account"]
    labels = f"{account['labelled']:,} of {account['planned']:,} labels{_missing(account)}"
    if claim.coverage == "exact":
        exact = f"the curve is exact{_of(claim)}{claim.if_right}"
        return f"Every item is labelled: {exact} ({labels}). {claim.caution}".rstrip()
    if found.curve.findings:
        return f"{found.curve.findings[0]} ({labels}.)"
    return f"{promise(claim)} ({labels}). {claim.caution}".rstrip()


def remarks(found: Evaluation) -> tuple[str, ...]:
    """Findings that the verdict does not say."""
    return found.curve.findings if found.curve.claim.coverage == "exact" else found.curve.findings[1:]


def _missing(account: Mapping[str, int]) -> str:
    missing = account["planned"] - account["labelled"]
    ones = "one is" if missing == 1 else "ones are"
    return f", {missing:,} planned {ones} missing ({unlabelled_words(account)})" if missing else ""


def estimate_sentence(basis: Basis) -> str:
    """Say what estimates are made of, where labels are missing; why there are none; else empty."""
    return {
        "labels": "",
        "labels at hand": "Estimates are those of the labels at hand: tasks are shuffled, and the missing labels look "
        "random.",
        "unknown": "There are no estimates: the labels say nothing of items without one.",
        "none": "There are no estimates: labels are missing or undecided, and nothing shows that they are missing at "
        "random.",
    }[basis]


def _of(claim: Claim) -> str:
    return "" if claim.about == TRUTH else f" of {claim.about}"


def page_verdict(found: Evaluation) -> str:
    """Two sentences: what is proven; at what cost, with which probability and under which assumption."""
    claim, account, curve = found.curve.claim, found.summary["account"], found.curve
    labels = f"{number_of(account['labelled'], 'label')} of {number_of(curve.n_items, 'item')}{_missing(account)}"
    if claim.coverage == "exact":
        tied = found.summary.get("ties") == "open"
        order = ", up to the order of items with the same score (lower and upper are the worst and the best)"
        sentence = (
            f"Every item is labelled, so every number here is exact{_of(claim)}{order if tied else ''}{claim.if_right}."
        )
        return f"{sentence} That took {labels}. {claim.caution}".rstrip()
    if not curve.proves:
        return f"Nothing is proven: {_first(found)} The curve from {labels} is a picture, not a bound."
    low, _, high = curve.precision_at(curve.n_items)
    chance = "" if claim.confidence is None else f" with probability {claim.confidence:g}"
    return (
        f"{_proven_cutoff(found)}among all {curve.n_items:,} items, precision lies between {low:.1%} and {high:.1%}. "
        f"That took {labels}, and {_holds(claim)}{chance}, assuming {_clause(claim.assumed)}. {claim.caution}".rstrip()
    )


def _first(found: Evaluation) -> str:
    return found.curve.findings[0] if found.curve.findings else "the bounds contradict each other."


def _proven_cutoff(found: Evaluation) -> str:
    """The highest precision of a ladder that is proven for a hundredth of the list, else for any rank."""
    curve = found.curve
    share, rank = proven_share(curve)
    if not rank:
        return f"No cutoff is proven to be even 10% precise{_by(curve.claim)}; "
    found_so = f"first {rank:,} items are"
    precise = f"at least {float(share):.0%} precise{_by(curve.claim)}; "
    if curve.claim.coverage == "conditional":
        return f"If its assumption holds, the {found_so} {precise}"
    return f"The {found_so} proven to be {precise}"


def _by(claim: Claim) -> str:
    return "" if claim.about == TRUTH else f" by {claim.about}"


def _holds(claim: Claim) -> str:
    return {
        "simultaneous": "all of it holds at once",
        "conditional": "it holds",
    }.get(claim.coverage, "it holds")


def _clause(assumes: str) -> str:
    return assumes[:1].lower() + assumes[1:] if assumes[1:2].islower() else assumes


def seldom(confidence: float) -> str:
    """Say how seldom the answer to a question is wrong."""
    wrong = round(1 - confidence, 12)  # without noise of binary fractions
    return f"with probability {wrong:g} at most, whatever the list and whenever labelling stops"


def half_width_sentence(found: Evaluation) -> str:
    """How wide the bounds are, where they are widest, and what half of that would cost; empty where nothing bounds."""
    half, account, claim = found.summary["half_width"], found.summary["account"], found.curve.claim
    if claim.coverage in ("exact", "none"):
        return ""
    if not account["labelled"]:
        return "No planned item has a label yet: the bounds are those of any list at all."
    text = width_reached(half)
    if half["alpha"] >= 1 and "all_items" not in half:
        upper = found.curve.precision_at(half["rank"]).upper
        text = _silent(half["rank"]) if upper > 0.9999 else f"{text[:-1]}, and is at most {upper:.2%}."
    missing = account["planned"] - account["labelled"]
    if missing:
        lack = "is" if missing == 1 else "are"
        text += f" {number_of(missing, 'planned label')} {lack} missing, which can only widen it."
    if half["labels_for_half"]:
        text += f" Bounds half as wide would take about {half['labels_for_half']:,} labels (a forecast)."
    return text


def width_reached(half: Mapping[str, Any]) -> str:
    """Say how far the bounds are apart, at which rank."""
    if half["alpha"] >= 1 and "all_items" not in half:
        return (
            f"No half-width: no positive is proven among the first {_items(half['rank'])}, so precision there may be 0."
        )
    if "all_items" not in half:
        where = ", where it is widest" if half.get("widest", True) else ""  # False: of one rank, by earlier versions
        return f"Half-width reached: {half['alpha']:.2%} of precision, at rank {half['rank']:,}{where}."
    return (
        f"Half-width reached: {half['all_items']:.2%} of the precision of all items; up to {half['alpha']:.2%} before, "
        f"at rank {half['rank']:,}. What wrong labels may add to it stays, however many labels there are."
    )


def _silent(rank: int) -> str:
    return f"No half-width: the labels say nothing of the first {_items(rank)}, so precision may be 0 to 100 % there."


def _items(rank: int) -> str:
    return "item" if rank == 1 else f"{rank:,} items"


def promise(claim: Claim) -> str:
    """Say what the band is, and what that assumes: the beginning of a sentence."""
    meaning = band_meaning(claim)
    return f"{meaning[0].upper()}{meaning[1:]}{claim.condition}"


def band_meaning(claim: Claim) -> str:
    """Say what the band between lower and upper is, in a clause."""
    chance = "" if claim.confidence is None else f"{claim.confidence:.6g}"
    meaning = {
        "exact": "every value is exact",
        "none": "the band is a picture and not a bound",
        "conditional": "the band holds wherever the assumption does"
        + (f", with probability {chance}" if chance else ""),
        "simultaneous": f"the band holds at all ranks at once with probability {chance}",
    }[claim.coverage]
    return meaning if claim.about == TRUTH else f"{meaning}, for {claim.about} and not for the truth"
