"""Libraries that others import only to see whether they are there, which can take half of a command's time.

Arrow asks pandas, where it is installed, whether any array that it is given is one of its own, and numba imports SciPy
for linear algebra, and YAML for settings in a file. A command of ours has neither: each is told that the library is
missing. Whoever else imports it gets it, and so does Arrow later, when it is asked for a data frame, and numba where
that file is.
"""

from __future__ import annotations

import os
import sys
from typing import Any

# Arrow is no Python: what is seen of it is who called it
_ASKED_BY = {"pandas": "streameval", "scipy": "numba"} | (
    {} if os.path.isfile(".numba_config.yaml") else {"yaml": "numba"}
)


class _Probes:  # finds modules, without the abstract class of such: importing that takes a tenth of `--help`
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name in _ASKED_BY and _importer().partition(".")[0] == _ASKED_BY[name]:
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)


def _importer() -> str:
    """Module that imports: the nearest one that is not of the import system."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("importlib."):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))


def refuse_probes() -> None:
    """Hide these libraries from those who only look, in a process of ours: never in one of a user."""
    sys.meta_path.insert(0, _Probes())
