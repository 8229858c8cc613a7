"""What results say: made once by their kind, and shown by the terminal, pages, `show`, `check` and the label server.

What is heavy is imported elsewhere: verbs name these classes, and their help starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from streameval.text import printable

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


def align(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Write a line for the head and each row, the first column to the left and all others to the right.

    >>> align(["first k", "lower"], [["10", "0.9"]])
    ['first k  lower', '10         0.9']
    """
    shown = [[printable(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    padded = [[cell.rjust(width) for cell, width in zip(row, widths, strict=True)] for row in shown]
    return ["  ".join([row[0].ljust(widths[0]), *cells[1:]]).rstrip() for row, cells in zip(shown, padded, strict=True)]


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


def next_line(command: str) -> str:
    """Write what to run next, a command or a sentence without its full stop."""
    return f"Next: {command}{'' if command.startswith('streameval ') else '.'}"


@dataclass(frozen=True)
class Text:
    """Text of results: headline, promise, table, remarks and next step.

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

    @property
    def paragraphs(self) -> list[Paragraph]:
        """All of it, from the top down."""
        following = [next_line(self.next_step.command)] if self.next_step.command else []
        return [self.opening, "", self.table, "", *self.remarks, *following]
