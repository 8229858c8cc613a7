"""What is said of results, as a terminal shows it: lines, tables, and a small picture of a curve."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import numpy as np

from streameval.cli.output import TerminalLine, columns
from streameval.curve import Curve
from streameval.kernels.sorted_sets import unique
from streameval.reporting.text import Columns, Paragraph, Picture

_WIDTH, _HEIGHT = 64, 10


def shown(said: Iterable[Paragraph]) -> list[str]:
    """Lines of what is said of results."""
    lines: list[str] = []
    for statement in said:
        if isinstance(statement, Columns):
            lines += columns(statement.head, statement.cells())
        else:
            lines += picture(statement.curve) if isinstance(statement, Picture) else [statement]
    return lines


def picture(curve: Curve) -> list[str]:
    """Draw lines of text: ░ the band, ━ the estimate, ranks on a log scale; none where the output is piped."""
    return [TerminalLine(line) for line in draw(curve)] if sys.stdout.isatty() else []


def draw(curve: Curve) -> list[str]:
    """Draw whatever the output is.

    A column shows its last rank; a row shows a tenth of precision, so a band is never drawn narrower than it is.
    """
    ranks = unique(np.rint(np.geomspace(1, curve.n_items, _WIDTH)).astype(np.int64))
    names = ("precision_lower", "precision", "precision_upper")
    lower, estimate, upper = (curve.at(ranks).column(name).to_numpy() for name in names)
    lines = []
    for row in range(_HEIGHT - 1, -1, -1):
        bottom, top = row / _HEIGHT, (row + 1) / _HEIGHT
        inside = (lower <= top) & (upper >= bottom)
        line = (estimate >= bottom) & ((estimate < top) | (row == _HEIGHT - 1))
        cells = np.where(line, "━", np.where(inside, "░", " "))
        lines.append(f"{top:4.1f} ┤{''.join(cells.tolist()).rstrip()}")
    end = f"{curve.n_items:,}"
    return [*lines, "     └" + "─" * ranks.size, f"      1{end.rjust(max(ranks.size - 1, len(end) + 1))}"]
