"""What commands print: one JSON object, or text; a progress bar on a terminal and nothing otherwise."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import Parameter

from streameval.cli.log import LOG, finite
from streameval.cli.meter import Meter, bar
from streameval.cli.options import Switch
from streameval.cli.panels import RUNNING
from streameval.options import option
from streameval.reporting.said import Columns, Picture, Said
from streameval.text import json_safe, printable

if TYPE_CHECKING:
    from streameval.printed import Printed


class TerminalLine(str):
    """A line that was drawn for the terminal: its escapes are ours."""


@Parameter(name="*", group=RUNNING)
@dataclass(frozen=True)
class Output:
    """How to print."""

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
        self.say(dict(printed.facts), () if self.json else [*_shown(printed.lines)])

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


def _shown(lines: Sequence[Said]) -> Iterator[str]:
    """Draw tables, and pictures where a terminal shows them."""
    for line in lines:
        if isinstance(line, Columns):
            yield from columns(line.head, line.rows)
        elif isinstance(line, Picture):
            from streameval.cli.picture import picture

            yield from picture(line.curve)
        else:
            yield line


@contextmanager
def progress(what: str, output: Output = Output()) -> Iterator[Meter]:
    """Show a bar while something is read, if stderr is a terminal and not to stay empty, and log each step."""
    with bar(sys.stderr.isatty() and not output.quiet) as show:
        meter = Meter(what, output.event, show)
        yield meter
        meter.end()


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align cells to the right, the first column to the left; on a terminal, draw a table."""
    shown = [[printable(cell) for cell in row] for row in [head, *rows]]
    if sys.stdout.isatty():
        return _drawn(shown[0], shown[1:])
    widths = [max(len(row[i]) for row in shown) for i in range(len(head))]
    return [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in shown
    ]


def _drawn(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i, cell in enumerate(head):
        table.add_column(Text(cell), justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console()
    with console.capture() as captured:
        console.print(table)
    return [TerminalLine(line) for line in captured.get().rstrip("\n").splitlines()]
