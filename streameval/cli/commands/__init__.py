"""The verbs, one file each, found by name: parameters are the command line's, a body calls and prints.

A file is imported when its verb is used, and may import what its flags are made of.
"""

from __future__ import annotations

import pkgutil
import re
from inspect import cleandoc

from cyclopts import App, Group

from streameval.cli.declared import declared, verbs
from streameval.cli.panels import flowing

PANELS = {
    "The journey": ["plan", "select", "label", "labels", "evaluate", "cut", "grow"],
    "What a study says": ["show", "check", "monitor", "report", "sql", "compare", "extrapolate", "publish"],
    "Before a study": ["demo", "guide", "cost", "simulate"],
    "Labels that are there already": ["exact", "adopt", "judge"],
    "Large lists, containers": ["scan", "compile"],
}


def register(app: App) -> None:
    """Make every verb a command: the function in each file here that has the file's name.

    A file's name with underscores is a verb with dashes. A verb that no group names is in the first. Each is made by
    `streameval.cli.verb` when it is first used.
    """
    panels = [Group(title, sort_key=(i,)) for i, title in enumerate(PANELS)]
    places = {name: (panel, place) for panel, verbs in zip(panels, PANELS.values(), strict=True)
              for place, name in enumerate(verbs)}  # fmt: skip
    by_hand = [module.name for module in pkgutil.iter_modules(__path__)]
    for name in sorted({*by_hand, *verbs()} - {"register"}):
        if name in by_hand:
            source = (pkgutil.get_data(__name__, f"{name}.py") or b"").decode()
            (help,) = re.findall(rf'^def {name}\(.*?"""(.*?)"""', source, re.DOTALL | re.MULTILINE)
        else:
            help = declared(name).about
        group, place = places.get(name, (panels[0], len(places)))
        app.command(
            f"streameval.cli.verb:{name}",
            name=name.replace("_", "-"),
            help=flowing(cleandoc(help)),
            group=group,
            sort_key=place,
        )
