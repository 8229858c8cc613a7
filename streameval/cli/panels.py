"""Panels of help: flags that belong together, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from cyclopts import Group

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions

_NAMES = ["Labels", "Tasks", "Growing a study", "Drawing the same items again", "Running"]
RANKING = Group("Ranking", sort_key=(0,))
MANY = Group("Many rankings", sort_key=(0, 1))
LABELS, TASKS, GROWTH, REUSE, RUNNING = (Group(name, sort_key=(2, i)) for i, name in enumerate(_NAMES))
_asked: list[str] = []  # the method that the command names, if it names one


@dataclass(frozen=True)
class _OfMethods:
    """Draws a panel, unless help was asked for a method that has none of its flags."""

    methods: tuple[str, ...]

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        from cyclopts.help.formatters import DefaultFormatter

        if not _asked or _asked[0] in self.methods:
            DefaultFormatter()(console, options, panel)


def of_methods(owners: Sequence[str], methods: Sequence[str]) -> Group:
    """Make the panel of the flags that some of the methods have, and no other."""
    name = "All methods" if len(owners) == len(methods) else f"Method: {', '.join(owners)}"
    place = (1, *(one not in owners for one in methods))
    return Group(name, sort_key=place, help_formatter=_OfMethods(tuple(owners)))


def named_in(arguments: Sequence[str]) -> None:
    """Keep the method that a command names: `plan --method paula --help` shows its flags and no other method's."""
    words = [part for one in arguments for part in one.split("=", 1)]
    _asked[:] = [after for before, after in pairwise(words) if before == "--method"][-1:]
