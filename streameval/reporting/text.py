"""What results say: made once by their kind, and shown by the terminal, pages, `show`, `check` and the label server.

What is heavy is imported elsewhere: verbs name these classes, and their help starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from streameval.curve import Curve

Cell = str | float | None


def four_digits(value: float | None) -> str:
    """Write a number as a terminal shows it where nothing else is said; a dash where there is none."""
    return "-" if value is None else f"{value:.4f}"


@dataclass(frozen=True)
class Columns:
    """A table of text, and of numbers that each who shows it writes in a form of its own."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def cells(self, number: Callable[[float | None], str] = four_digits) -> list[list[str]]:
        """Write all cells as text."""
        return [[cell if isinstance(cell, str) else number(cell) for cell in row] for row in self.rows]


@dataclass(frozen=True)
class Picture:
    """A small picture of a curve, where there is room for one."""

    curve: Curve


Paragraph = str | Columns | Picture
"""A part of what a terminal shows."""


class NextStep(NamedTuple):
    """A command to run next, and what it does; both empty where nothing has to be done."""

    command: str = ""
    does: str = ""

    def __str__(self) -> str:
        return f"`{self.command}` {self.does}" if self.command else ""


NOTHING: NextStep = NextStep()


@dataclass(frozen=True)
class Text:
    """What results say.

    Attributes:
        headline: What is proven so far; of results that are counted, what they are of.
        promise: What holds of it, and with which probability; empty where the headline says it.
        table: The main figures.
        remarks: What to know of them, a sentence or two each.
        next_step: What to run next, where a plan leads on.
    """

    headline: str
    promise: str
    table: Columns
    remarks: Sequence[str] = ()
    next_step: NextStep = NOTHING

    @property
    def opening(self) -> str:
        """Headline and promise, one after the other."""
        return " ".join(filter(None, (self.headline, self.promise)))
