"""A history of challengers in words: what is claimed, and what each study came to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streameval.kinds.paired.history import ComparisonHistory
from streameval.questions.printed import value_text
from streameval.text import number_of
from streameval.types import TRUTH

COLUMNS = ("number", "study", "labels", "lower", "estimate", "upper", "outcome")


def sentences(history: ComparisonHistory) -> list[str]:
    """Say what is claimed, what is proven of how many, and what of those that were just given."""
    settings = history.settings
    of_truth = settings.question.get("about", TRUTH) == TRUTH
    whose = "the truth" if of_truth else "what the annotators of each would say"
    return [
        f"With probability {settings.confidence:.6g}, {whose} lies inside the bounds of all comparisons of this "
        "history, however many come and however often one looks. This holds if each was drawn afresh once both of its "
        "rankings were fixed, the drawn items are the ones that were labelled, "
        f"{'every label is right, ' if of_truth else ''}and no comparison was left out, or put in another place, "
        "because of its labels.",
        *_counts(history),
        *(_of_one(history, row) for row in history.rows if row["number"] in history.given),
    ]


def _counts(history: ComparisonHistory) -> Iterator[str]:
    outcomes = [row["outcome"] for row in history.rows]
    if history.settings.watched.demand is not None:
        counts = {outcome: outcomes.count(outcome) for outcome in ("pass", "fail", "inconclusive")}
        yield (
            f"Proven to meet {history.settings.measure}: {counts['pass']:,} of "
            f"{number_of(len(outcomes), 'comparison')}. Proven not to: {counts['fail']:,}. "
            f"Undecided: {counts['inconclusive']:,}."
        )


def _of_one(history: ComparisonHistory, row: Mapping[str, Any]) -> str:
    watched = history.settings.watched
    against = {
        None: "",
        "pass": f": it is proven that {watched}",
        "fail": f": it is proven that {watched} does not hold",
        "inconclusive": f", which does not decide whether {watched}",
    }[row["outcome"]]
    lower, _, upper = values(history, row)
    lies = f"is {lower}" if row["lower"] == row["upper"] else f"lies between {lower} and {upper}"
    return f"Comparison {row['number']:,}, {row['b']} (B) against {row['a']} (A): {watched.measure} {lies}{against}."


def news(history: ComparisonHistory) -> list[str]:
    """Write sentences about the studies that this call added."""
    if not history.added:
        return ["Nothing was added: the history has these studies and these labels."]
    return [
        f"{row['study']} counts with {_labels(row)} labels: its bounds allow for any missing ones. Give it again when "
        "more are in."
        for row in history.rows
        if row["number"] in history.added and row["missing"]
    ]


def values(history: ComparisonHistory, row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Lower bound, estimate and upper bound, as text."""
    measure = history.settings.watched.measure
    lower, estimate, upper = (value_text(str(measure), row[side]) for side in ("lower", "estimate", "upper"))
    return lower, estimate, upper


def cells(history: ComparisonHistory, most: int) -> list[list[str]]:
    """The last studies as text, by `COLUMNS`."""
    return [[f"{row['number']:,}", row["study"], _labels(row), *values(history, row), row["outcome"] or ""]
            for row in history.rows[-most:]]  # fmt: skip


def _labels(row: Mapping[str, Any]) -> str:
    planned = row["labels"] + row["missing"]
    return f"{row['labels']:,} of {planned:,}" if row["missing"] else f"{planned:,}"
