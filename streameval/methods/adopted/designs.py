"""Designs by which labels may have been drawn elsewhere: the claims that each supports, and the facts that each needs.

A design is named by whoever drew. It is believed, and printed with every bound; `checks` only looks for contradictions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from streameval.calls import read_call, write_call
from streameval.text.numbers import whole_number

_EXAMPLE = "poisson(probability=p, least=0.01)"


@dataclass(frozen=True)
class Design:
    """One way to draw.

    Attributes:
        stated: What was true of the draw if this is its name: a clause.
        refused: Why bounds promise nothing; empty of a design that has bounds.
        parameters: Facts of the draw that its value may hold.
    """

    stated: str
    refused: str = ""
    parameters: tuple[str, ...] = ("size",)

    @property
    def weighted(self) -> bool:
        """Tell whether each drawn item needs the probability with which it was drawn."""
        return "probability" in self.parameters


_POISSON = ("probability", "least", "size")


DESIGNS: dict[str, Design] = {
    "uniform": Design("every set of so many items was equally likely"),
    "strata": Design(
        "within each range of ranks every set of so many items was equally likely, whatever was drawn of the others, "
        "and the ranges were fixed before any label",
        parameters=("sizes",),
    ),
    "poisson": Design(
        "each item was drawn by itself with the probability given, which was fixed before the draw",
        parameters=_POISSON,
    ),
    "unknown": Design(
        "nothing is known of how these were drawn",
        "how likely each item was to be drawn, by itself and beside others, is not known",
    ),
}
RETIRED = ("sampford", "conditional-poisson", "pivotal")  # of studies of earlier versions


@dataclass(frozen=True)
class DrawValue:
    """Draw of labels as it is typed: a design, and in parentheses the facts of the draw.

    >>> str(DrawValue.parse("poisson(probability=p, least = 0.01)"))
    'poisson(probability=p, least=0.01)'
    >>> DrawValue.of({"drawn": "/data/uniform"}).design
    'uniform'

    Attributes:
        probability: Column with the probability of each drawn item, or one number.
        least: Smallest probability of any item, or a table with last_rank and probability.
        size: Items that were drawn, labelled or not.
        sizes: Of strata: table with last_rank and drawn, a row for each range of ranks: its place, or the table itself.
    """

    design: str
    probability: str | None = None
    least: str | None = None
    size: int | None = None
    sizes: Any = None

    @classmethod
    def parse(cls, text: str) -> DrawValue:
        """Read it (InputError): which designs there are is left to `Adopted`."""
        call = read_call(text, _EXAMPLE)
        words = call.keys_alone(DESIGNS[call.name].parameters if call.name in DESIGNS else _POISSON)
        values: dict[str, Any] = {name: word.value for name, word in words.items()}
        if "size" in words:
            values["size"] = call.read(words["size"], whole_number, "a whole number")
        return cls(call.name, **values)

    @classmethod
    def of(cls, notes: Mapping[str, Any]) -> DrawValue:
        """Read it from what a plan keeps, where earlier versions have its facts beside the design."""
        drawn = str(notes["drawn"])  # earlier versions took it for a file of that name, where there was one
        value = cls.parse(drawn.rpartition("/")[2] if drawn.startswith("/") else drawn)
        kept = [notes.get(name) for name in ("probability", "least_probability")]
        words = [None if word is None else str(word) for word in kept]
        size = notes.get("sample_size")
        sizes = (
            {} if size is None else {"sizes": size} if value.design == "strata" else {"size": whole_number(str(size))}
        )
        return replace(value, probability=words[0] or value.probability, least=words[1] or value.least, **sizes)

    def __str__(self) -> str:
        return write_call(self.design, {name: word for name, word in vars(self).items() if name != "design"})
