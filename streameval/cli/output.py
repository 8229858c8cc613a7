"""Output of commands: one JSON object, or text; a progress bar on a terminal and nothing otherwise."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import Parameter

from streameval.cli.log import LOG, finite
from streameval.cli.meter import Meter, bar
from streameval.cli.options import Switch
from streameval.cli.panels import COMMON
from streameval.cli.picture import TerminalLine, result_lines
from streameval.options import option
from streameval.text import json_safe, printable

if TYPE_CHECKING:
    from streameval.printed import Printed


@Parameter(name="*", group=COMMON)
@dataclass(frozen=True)
class Output:
    """Options of printing that every command has."""

    json: Switch = option(False, "Print one JSON object and nothing else.")
    log: Literal["text", "json"] = option("text", "Events and errors on stderr as text or JSON lines.")
    quiet: Switch = option(False, "Print what was found, and no progress, notice or next step.")

    def say(self, result: dict[str, Any], lines: Sequence[str]) -> None:
        """Print the result, as JSON or as lines."""
        if self.json:
            print(json_safe(json.dumps(finite(result), ensure_ascii=False)))
            return
        shown = [line for line in lines if not (self.quiet and line.startswith(("Next: ", "Then: ")))]
        print("\n".join(line if isinstance(line, TerminalLine) else printable(line) for line in shown))

    def print(self, printed: Printed) -> None:
        """Print what a verb returned."""
        self.say(dict(printed.facts), () if self.json else result_lines(printed.lines))

    def meanwhile(self, name: str, printed: Printed) -> None:
        """Print what is so as long as the verb runs: with --json standard output is for the one object at the end."""
        if self.json and LOG.as_json:
            self.event(name, **printed.facts)  # nothing but it is read
            return
        self.event(name, **(printed.stage or {}))
        lines = [printable(line) for line in printed.lines if isinstance(line, str)]
        print("\n".join(lines), file=sys.stderr if self.json else sys.stdout, flush=True)

    def tell(self, line: str) -> None:
        """Say on stderr what is done next, to a person who waits for it."""
        if not self.json and not self.quiet and self.log == "text":
            print(printable(line), file=sys.stderr, flush=True)

    def event(self, stage: str, **facts: Any) -> None:
        """Log one event as a JSON line on stderr, under `--log json` only."""
        LOG.write(stage, **facts)

    def outcome(self, stage: str, good: bool, **facts: Any) -> None:
        """Log what came out, as a warning where it is not what was wished for."""
        LOG.write(stage, "info" if good else "warning", **facts)


def of_all() -> str:
    """List the options that go with every command, and with those that read a list, for the help of all."""
    from streameval.rows.options import RankingOptions

    options = {field.name: field for kind in (Output, RankingOptions) for field in fields(kind)}
    titles = {"Options of every command": ("json", "log", "quiet"),
              "Options of commands that read a list": ("memory", "threads", "verify")}  # fmt: skip
    lines = []
    for title, names in titles.items():
        helps = {f"  --{name:9}": options[name].metadata["help"] for name in names}
        lines += [
            title,
            *(fill(f"{name}{help}", 78, subsequent_indent=" " * len(name)) for name, help in helps.items()),
        ]
    return "\n".join([*lines, "", "`streameval COMMAND --help` says what else a command takes."])


@contextmanager
def progress(what: str, output: Output = Output()) -> Iterator[Meter]:
    """Show a bar while something is read, if stderr is a terminal and not to stay empty, and log each step."""
    with bar(sys.stderr.isatty() and not output.quiet) as show:
        meter = Meter(what, output.event, show)
        yield meter
        meter.end()
