"""How labels may have been drawn elsewhere: what each design lets one say, and what each has to be told.

A design is named by whoever drew. It is believed, and printed with every bound; `checks` only looks for contradictions.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Design:
    """One way to draw.

    Attributes:
        stated: What was true of the draw if this is its name: a clause.
        refused: Why bounds promise nothing; empty of a design that has bounds.
        weighted: Whether each drawn item needs the probability with which it was drawn.
    """

    stated: str
    refused: str = ""
    weighted: bool = False


DESIGNS: dict[str, Design] = {
    "uniform": Design("every set of so many items was equally likely"),
    "strata": Design(
        "within each range of ranks every set of so many items was equally likely, whatever was drawn of the others, "
        "and the ranges were fixed before any label"
    ),
    "poisson": Design(
        "each item was drawn by itself with the probability given, which was fixed before the draw", weighted=True
    ),
    "unknown": Design(
        "nothing is known of how these were drawn",
        "how likely each item was to be drawn, by itself and beside others, is not known",
    ),
}
RETIRED = ("sampford", "conditional-poisson", "pivotal")  # of studies of earlier versions
