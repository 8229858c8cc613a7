"""Engines: what runs the scans of a list. Each is one file in this folder with an `ENGINE`, found by name.

An engine only decides where row groups are read. What is made of them are the partials of `ordering` and `labelled`,
whichever engine runs, so ranks and sums do not depend on it, and scans that one engine has begun another may finish.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from streameval.counting.scans import LabelledScans
from streameval.errors import InputError, did_you_mean
from streameval.order.partials import Partial, Task
from streameval.order.scan import Scan
from streameval.progress import Progress
from streameval.typing import Int64Array

if TYPE_CHECKING:  # lists by score are made with an engine
    from streameval.counting.labelled_rows import LabelledRows


class Engine(Protocol):
    """Runs tasks over row groups: a dataclass whose fields are its settings.

    Attributes
    ----------
    memory : {"shared", "apart"}
        Whether all row groups are read within this process, so that what one of them shows can guide the next.
    """

    memory: ClassVar[str]

    def sweep(
        self, scan: Scan, task: Task, numbers: Int64Array, save: Callable[[Partial], None] | None, progress: Progress
    ) -> Partial:
        """Make the partial of some row groups: must be the one that `partial_of` makes, rows in any order.

        Parameters
        ----------
        numbers : int64 array
            Which row groups, not empty.
        save : callable or None
            May be given all that is done so far, now and then.
        progress : callable(done, total)
            Told rows.
        """
        ...

    def labelled(self, rows: LabelledRows, threads: int) -> LabelledScans:
        """Return the scans of a fully labelled list.

        Parameters
        ----------
        threads : int
            Readers at work at once where they are threads of this process.
        """
        ...


def create(name: str, settings: dict[str, Any]) -> Engine:
    """Make an engine by name.

    Parameters
    ----------
    name : str
        Of a file of this folder.
    settings : dict
        Its settings; None stands for one that is not given.

    Raises
    ------
    InputError
        No such engine, or one without such a setting.

    Examples
    --------
    >>> create("local", {"remote": None}).memory
    'shared'
    """
    names = [info.name for info in pkgutil.iter_modules(__path__)]
    if name not in names:
        raise InputError(f"there is no engine '{name}'", did_you_mean(name, names))
    engine = importlib.import_module(f"{__name__}.{name}").ENGINE
    given = {key: value for key, value in settings.items() if value is not None}
    if strangers := sorted(given.keys() - {field.name for field in fields(engine)}):
        raise InputError(f"the engine '{name}' has no setting '{strangers[0]}'")
    made: Engine = engine(**given)
    return made


def engine_of(given: Engine | str) -> Engine:
    """Return an engine as it was given, or by its name, with no settings."""
    return create(given, {}) if isinstance(given, str) else given
