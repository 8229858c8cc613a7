"""Panels of help: flags that belong together, in the order in which they are shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from cyclopts import Group

from streameval.text.options import flag

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions

_OWN_LINE = re.compile(r"\s|[-*] |\d+\. |Example: ")
_asked: list[str] = []  # the options that the command names
_refused: set[str] = set()  # options that do not go with --per, --for or --against, where these are named
_ASKED_BY = {  # kinds of study that an option of a verb asks for, before those below, and what else is refused then
    ("plan", "--per"): ("drawn_rankings", {"dry_run", "key", "nan"}),
    ("plan", "--against"): ("paired", {"dry_run"}),
    ("plan", "--for"): ("question", {"dry_run"}),
    ("exact", "--per"): ("rankings", {"dry_run"}),
}


def flowing(text: str) -> str:
    r"""Join the lines of each paragraph, which break where the docstring does; lists and examples keep their lines.

    >>> flowing("Choose which ranks\nto label.\n\nExample: plan a\nExample: plan b")
    'Choose which ranks to label.\n\nExample: plan a\nExample: plan b'
    """
    lines: list[str] = []
    for line in text.splitlines():
        if lines and lines[-1] and line and not _OWN_LINE.match(line):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return "\n".join(lines)


class Flowing:
    """Draws a panel of help whose paragraphs are flowing text."""

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:
        """Draw the line of usage as it is drawn by default."""
        from cyclopts.help.formatters import DefaultFormatter

        DefaultFormatter().render_usage(console, options, usage)

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Render a help panel without inapplicable options."""
        from cyclopts.help.formatters import DefaultFormatter
        from rich.text import Text

        panel = panel.copy(entries=[entry for entry in panel.entries if not _refused & {*entry.positive_names}])
        if not panel.entries:
            return
        for entry in panel.entries:
            written = getattr(entry.description, "primary_renderable", None)
            if isinstance(written, Text):
                written.plain = flowing(written.plain)
        DefaultFormatter()(console, options, panel)


class Verbs:
    """Draws the verbs of a group: each with what a person gets by it, one to a line or two."""

    def __init__(self, n_columns: int) -> None:
        """Put so many beside one another, where the terminal is wide enough."""
        self._beside = n_columns

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Draw them."""
        names = [entry.names[0] for entry in panel.entries]
        width = max(map(len, names)) + 2
        cells = [f"{name:{width}}{entry.description.primary_renderable.plain.removesuffix('.')}"
                 for name, entry in zip(names, panel.entries, strict=True)]  # fmt: skip
        half = max(map(len, cells)) + 2
        n_columns = self._beside if self._beside * half < console.width else 1
        rows = -(-len(cells) // n_columns)
        lines = ["".join(f"{cell:{half}}" for cell in cells[at::rows]).rstrip() for at in range(rows)]
        console.print("\n".join([str(panel.title), *(f"  {line}" for line in lines)]), markup=False, highlight=False)


@dataclass(frozen=True)
class _OnDemand:
    """Draws a panel where help was asked with one of its topics: an option that leads to others."""

    topics: tuple[str, ...]

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        if set(self.topics) & set(_asked):
            Flowing()(console, options, panel)


def _on_demand(name: str, place: tuple[int, ...], *topics: str) -> Group:
    return Group(name, sort_key=place, help_formatter=_OnDemand(topics))


RANKING = Group("Ranking", sort_key=(0,))
LEADING = Group("With options of their own (--help beside one shows them)", sort_key=(0, 1))
RANKING_REST = _on_demand("The rest of the ranking", (0, 0), "--score")
AGAINST = _on_demand("Another ranking", (0, 2), "--against")
MANY = _on_demand("Many rankings", (0, 2), "--per")
PLAN = Group("How many labels, and how", sort_key=(1,))
WIDTH = _on_demand("Half-widths", (1, 1), "--alpha")
REUSE = _on_demand("The same items again", (0, 2), "--reuse", "--on")
LABELS, TASKS = (Group(name, sort_key=(2, i)) for i, name in enumerate(["Labels", "Tasks"]))
# what goes with every command, or with every one that reads a list, is listed once: by `streameval --help`
COMMON, READING = Group("Options of every command", show=False), Group("Options of what reads a list", show=False)

_OF_VERB = {  # what a verb does not show where it is declared
    "exact": {
        "sample_of": LEADING,
        "at": _on_demand("Cutoffs", (0, 2), "--per", "--sample-of"),
    },
}
_LEAD = {"against", "per", "reuse"}
_OF_METHODS = {"min_precision": WIDTH}
_OF_EVERY_RANKING = {"score", "key"}
_OF_KIND = {
    **dict.fromkeys(("LabelColumns", "Judging", "Misses", "KnownPositives", "AnswerColumns", "LabelMeaning"),
                    LABELS),
    **dict.fromkeys(("TaskOptions", "AskOptions"), TASKS),
    **dict.fromkeys(("RankingsDraw", "PerRanking"), MANY),
    "RankingOptions": RANKING,
    "ReuseOptions": REUSE,
    **dict.fromkeys(("MethodOptions", "JudgeColumn"), PLAN),
    "Comparing": AGAINST,
}  # fmt: skip


def panel_of(kind: type[object], name: str, verb: str) -> Group | None:
    """Give the panel of an option, by the dataclass that declares it; None is that of the verb."""
    if name in ("memory", "threads", "verify"):
        return READING
    panel = _OF_METHODS.get(name) or _OF_KIND.get(kind.__name__)
    if panel is RANKING and verb != "plan" and name not in _OF_EVERY_RANKING:
        return RANKING_REST
    return of_verb(verb, name) or leading(name) or panel


def of_verb(verb: str, name: str) -> Group | None:
    """Give the panel of what a verb does not show where it is declared; None of any other."""
    return _OF_VERB.get(verb, {}).get(name)


def leading(name: str) -> Group | None:
    """Give the panel of an option that leads to others; None of any other."""
    return LEADING if name in _LEAD else None


def named_in(arguments: Sequence[str]) -> None:
    """Keep the options that a command names: `plan --per --help` shows those that go with it."""
    words = [part for one in arguments for part in one.split("=", 1)]
    _asked[:] = [word for word in words if word.startswith("--")]
    _refused.clear()
    if {"--help", "-h"} & {*arguments}:
        kinds = (kind for (verb, option), kind in _ASKED_BY.items() if words[0] == verb and option in _asked)
        for kind, more in islice(kinds, 1):
            _refused.update(map(flag, _of_others(words[0], kind) | more))


def _of_others(verb: str, kind: str) -> set[str]:
    """Options of a verb that are for other kinds of study than one."""
    from streameval.kinds import available

    kinds = available()
    return set().union(*(other.accepts(verb) for other in kinds.values())) - kinds[kind].accepts(verb)
