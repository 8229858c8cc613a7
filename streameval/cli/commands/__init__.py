"""The commands: those made of verbs (`streameval.cli.generate`), and a file each for what is more than a verb."""

from __future__ import annotations

import pkgutil

from cyclopts import App, Group

from streameval.cli.declared import read_declaration, verbs
from streameval.cli.panels import Verbs, flowing

PANELS = {
    "The journey": ["plan", "select", "label", "evaluate", "show", "check", "cut", "report"],
    "Before it": ["cost", "simulate", "demo", "guide"],
    "More of a study": ["labels", "grow", "judge", "sql", "compare"],
    "Labels that are there": ["exact", "adopt"],
    "For jobs and clusters": ["monitor", "extrapolate", "scan", "compile", "publish"],
}


def register(app: App) -> None:
    """Make every verb a command, and each file here that is none; `streameval.cli.verb` makes it when it is first used.

    A verb that no group names is in the first.
    """
    panels = [Group(title, sort_key=(i,), help_formatter=Verbs(1 if i == 0 else 2)) for i, title in enumerate(PANELS)]
    places = {name: (panel, place) for panel, verbs in zip(panels, PANELS.values(), strict=True)
              for place, name in enumerate(verbs)}  # fmt: skip
    by_hand = {module.name: "cli/commands" for module in pkgutil.iter_modules(__path__)}
    for name, folder in sorted({**dict.fromkeys(verbs(), "verbs"), **by_hand}.items()):
        group, place = places.get(name, (panels[0], len(places)))
        about = flowing(read_declaration(name, folder).about)
        app.command(f"streameval.cli.verb:{name}", name=name, help=about, group=group, sort_key=place)
