"""Results on a terminal: lines, tables, and a small picture of a curve."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from streameval.reporting.text import Columns, Paragraph, Picture, align
from streameval.text import printable

if TYPE_CHECKING:
    from streameval.curve import Curve

_WIDTH, _HEIGHT = 64, 10


class TerminalLine(str):
    """A line that was drawn for the terminal: its escapes are ours."""


def result_lines(statements: Iterable[Paragraph]) -> list[str]:
    """Lines of what is said of results."""
    lines: list[str] = []
    for statement in statements:
        if isinstance(statement, Columns):
            lines += columns(statement.head, statement.cells())
        else:
            lines += picture(statement.curve) if isinstance(statement, Picture) else [statement]
    return lines


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align cells to the right, the first column to the left; on a terminal, draw a table."""
    return _picture_lines(head, rows) if sys.stdout.isatty() else align(head, rows)


def _picture_lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i, cell in enumerate(head):
        table.add_column(Text(printable(cell)), justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console = Console()
    with console.capture() as captured:
        console.print(table)
    return [TerminalLine(line) for line in captured.get().rstrip("\n").splitlines()]


def picture(curve: Curve) -> list[str]:
    """Draw lines of text: ░ the band, ━ the estimate, ranks on a log scale; none where the output is piped."""
    return [TerminalLine(line) for line in draw(curve)] if sys.stdout.isatty() else []


def draw(curve: Curve) -> list[str]:
    """Draw whatever the output is.

    A column shows its last rank; a row shows a tenth of precision, so a band is never drawn narrower than it is.
    """
    import numpy as np

    from streameval.kernels.sorted_sets import unique

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
