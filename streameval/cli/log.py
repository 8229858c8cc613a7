"""The log: under `--log json` one JSON object a line on stderr, each with its time, its level and its study."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from streameval.text.credentials import masked_values

if TYPE_CHECKING:
    from cyclopts import App, Argument, ArgumentCollection

Level = Literal["info", "warning", "error"]


@dataclass
class Log:
    """Log of the command under way.

    Attributes:
        as_json: `--log json`.
        quiet: `--quiet`: no notice on standard error; what is logged, is logged.
        study: Folder that the command is about, as it was given; None where there is none, or several.
    """

    as_json: bool = False
    quiet: bool = False
    study: str | None = None

    def begin(self, arguments: Sequence[str]) -> None:
        """Begin a command: what its words say, until they are understood."""
        self.as_json = "--log=json" in arguments or ("--log", "json") in pairwise(arguments)
        self.quiet, self.study = "--quiet" in arguments, None

    def understood(self, app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
        """Take what the words and the defaults file come to: `cyclopts` calls it before a command runs."""
        typed = {argument.field_info.name: _values(argument) for argument in arguments if argument.tokens}
        self.as_json = typed.get("log", [""])[-1] == "json"
        self.quiet = typed.get("quiet", [""])[-1].lower() == "true"
        studies = typed.get("study") or typed.get("studies") or []
        self.study = studies[0] if len(studies) == 1 else None

    def write(self, event: str, level: Level = "info", **facts: Any) -> None:
        """Log one event, if this is a log of JSON."""
        if self.as_json:
            moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            head = {"time": moment, "level": level, "event": event}
            about = {} if self.study is None else {"study": self.study}
            line = {**head, **finite(masked_values({**about, **facts}))}
            print(json.dumps(line), file=sys.stderr, flush=True)


LOG = Log()


def finite(value: Any) -> Any:
    """Replace NaN and infinities, which JSON lacks, by null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, list | tuple) else value


def _values(argument: Argument) -> list[str]:
    """Say what was typed for an argument; a flag without a value is true."""
    return [token.value or str(token.implicit_value) for token in argument.tokens]
