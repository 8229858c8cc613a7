"""The verbs, one file each, found by name: parameters are the command line's, a body calls and prints.

A file is imported when its verb is used, and may import what its flags are made of.
"""

from __future__ import annotations

import ast
import pkgutil

from cyclopts import App


def register(app: App) -> None:
    """Make every verb a command: the function in each file here that has the file's name.

    A file's name with underscores is a verb with dashes.
    """
    for name in sorted(module.name for module in pkgutil.iter_modules(__path__)):
        body = ast.parse(pkgutil.get_data(__name__, f"{name}.py") or b"").body
        (verb,) = (one for one in body if isinstance(one, ast.FunctionDef) and one.name == name)
        app.command(f"{__name__}.{name}:{name}", name=name.replace("_", "-"), help=ast.get_docstring(verb))
