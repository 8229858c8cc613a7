"""Sentences about an evaluation: `verdict` begins on the terminal, `page_verdict` on the page."""

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
    "Items with the same score have no order. Average precision, AUC, F and the break-even point count them as one "
    "step, as scikit-learn does. All other values are means over their orders. The worst and the best order stand "
    "beside each value. A value that counts them as one step may lie outside these."
)


_TIED_PAGE = "Of items with the same score, lower and upper are the worst and the best order."


def verdict(evaluation: Evaluation) -> str:
    """One or two sentences: what holds, at what cost, under which assumption."""
    claim, account = evaluation.curve.claim, evaluation.summary["account"]
    labels = f"{account['labelled']:,} of {account['planned']:,} labels{_missing(account)}"
    if claim.coverage == "exact":
        exact = f"the curve is exact{_about_others(claim)}{claim.if_right}"
        return f"Every item is labelled: {exact} ({labels}). {claim.caution}".rstrip()
    if evaluation.curve.findings:
        return f"{evaluation.curve.findings[0]} ({labels}.)"
    return f"{claim.promise} ({labels}.) {claim.caution}".rstrip()


def remarks(evaluation: Evaluation) -> tuple[str, ...]:
    """Findings that the verdict does not say."""
    return evaluation.curve.findings if evaluation.curve.claim.coverage == "exact" else evaluation.curve.findings[1:]


def misses_sentence(misses: int) -> str:
    """Say how many positives are counted beside those of the list; empty of 0."""
    are = "is" if misses == 1 else "are"
    return f"{number_of(misses, 'positive')} that the list never returned {are} counted." if misses else ""


def _missing(account: Mapping[str, int]) -> str:
    words = unlabelled_words(account)
    return f"; {words}" if words else ""


def estimate_sentence(basis: Basis) -> str:
    """Say what estimates are made of, where labels are missing; why there are none; else empty."""
    return {
        "labels": "",
        "labels at hand": "Estimates are those of the labels at hand: tasks are shuffled, and the missing labels look "
        "random.",
        "unknown": "There are no estimates: the labels say nothing of items without one.",
        "none": "There are no estimates: labels are missing or undecided, perhaps not at random.",
    }[basis]


def _about_others(claim: Claim) -> str:
    return "" if claim.about == TRUTH else f" of {claim.about}"


def page_verdict(evaluation: Evaluation) -> str:
    """Two sentences: what is proven; at what cost, with which probability and under which assumption."""
    claim, account, curve = evaluation.curve.claim, evaluation.summary["account"], evaluation.curve
    words = unlabelled_words(account)
    labels = f"{number_of(account['labelled'], 'label')}{words and f' ({words})'}"
    if claim.coverage == "exact":
        sentence = f"Every item is labelled, so every number here is exact{_about_others(claim)}{claim.if_right}."
        ties = _TIED_PAGE if evaluation.summary.get("ties") == "open" else ""
        return " ".join(filter(None, [sentence, ties, claim.caution, of_population(evaluation.summary)]))
    if not curve.proves:
        return f"Nothing is proven. {_first(evaluation)} The curve from {labels} is a picture, and bounds nothing."
    low, _, high = curve.precision_at(curve.n_items)
    whole = f"The precision of all {curve.n_items:,} items lies between {low:.1%} and {high:.1%}."
    return " ".join(filter(None, [_proven_cutoff(evaluation), whole, f"This took {labels}.", claim.promise,
                                  claim.caution]))  # fmt: skip


def of_population(summary: Mapping[str, Any]) -> str:
    """Say of a sample that intervals, and not what is exact, are about what it was drawn from; else empty."""
    text = "These numbers are about the list itself; low and high are about the population that it was drawn from."
    return text if "sample" in summary else ""


def _first(evaluation: Evaluation) -> str:
    return evaluation.curve.findings[0] if evaluation.curve.findings else "The bounds contradict each other."


def _proven_cutoff(evaluation: Evaluation) -> str:
    """The highest precision of a ladder that is proven for a hundredth of the list, else for any rank.

    Empty where that is the whole list, whose bounds follow.
    """
    curve = evaluation.curve
    share, rank = proven_share(curve)
    if not rank:
        return f"No cutoff is proven to have a precision of even 10%{_labelled_by(curve.claim).removesuffix(',')}."
    if rank == curve.n_items and curve.claim.coverage != "conditional":
        return ""
    first = f"he precision of the first {rank:,} items{_labelled_by(curve.claim)} is"
    precise = f"at least {float(share):.0%}."
    if curve.claim.coverage == "conditional":
        return f"If the assumption holds, t{first} {precise}"
    return f"T{first} proven to be {precise}"


def _labelled_by(claim: Claim) -> str:
    return "" if claim.about == TRUTH else ", as the annotators would label them,"


def seldom(confidence: float) -> str:
    """Say how seldom the answer to a question is wrong."""
    wrong = round(1 - confidence, 12)  # without noise of binary fractions
    return f"with probability {wrong:g} at most, whatever the list and whenever labelling stops"


def half_width_sentence(evaluation: Evaluation) -> str:
    """Say how wide the bounds are, where they are widest, and what half of that would cost; empty without bounds."""
    half, account, claim = evaluation.summary["half_width"], evaluation.summary["account"], evaluation.curve.claim
    if claim.coverage in ("exact", "none"):
        return ""
    if not account["labelled"]:
        return "No planned item has a label yet, so the bounds say nothing."
    text = width_reached(half)
    if half["alpha"] >= 1 and "all_items" not in half:
        upper = evaluation.curve.precision_at(half["rank"]).upper
        text = _silent(half["rank"]) if upper > 0.9999 else f"{text[:-1]}, and is at most {upper:.2%}."
    if account["planned"] > account["labelled"]:
        text += " Missing labels only make bounds wider."
    if half["labels_for_half"]:
        text += f" Bounds half as wide would take about {half['labels_for_half']:,} labels in all (a forecast)."
    return text


def width_reached(half: Mapping[str, Any]) -> str:
    """Say how far the bounds are apart, at which rank."""
    if half["alpha"] >= 1 and "all_items" not in half:
        return (
            f"No half-width: no positive is proven among the first {_items(half['rank'])}, so precision there may be 0."
        )
    if "all_items" not in half:
        which = "Widest bounds" if half.get("widest", True) else "Bounds"  # False: of one rank, by earlier versions
        return f"{which}: ±{half['alpha']:.2%} of the precision, at rank {half['rank']:,}."
    return (
        f"Bounds of all items: ±{half['all_items']:.2%} of their precision. Widest bounds: ±{half['alpha']:.2%} of the "
        f"precision, at rank {half['rank']:,}. More labels do not take away what wrong labels add."
    )


def _silent(rank: int) -> str:
    return f"No half-width: the labels say nothing of the first {_items(rank)}, so precision may be 0 to 100 % there."


def _items(rank: int) -> str:
    return "item" if rank == 1 else f"{rank:,} items"
