"""What commands print: one JSON object, or text; a progress bar on a terminal and nothing otherwise."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from streameval.cli.meter import Meter, bar


@Parameter(name="*")
@dataclass(frozen=True)
class Output:
    """How to print."""

    json: Annotated[bool, Parameter(negative="", help="Print one JSON object and nothing else.")] = False
    log: Annotated[Literal["text", "json"], Parameter(help="Events and errors on stderr as text or JSON lines.")] = (
        "text"
    )

    def say(self, result: dict[str, Any], lines: Sequence[str]) -> None:
        """Print the result, as JSON or as lines."""
        print(json.dumps(finite(result), ensure_ascii=False) if self.json else "\n".join(lines))

    def event(self, stage: str, **facts: Any) -> None:
        """Log one event as a JSON line on stderr, under `--log json` only."""
        if self.log == "json":
            print(json.dumps({"event": stage, **finite(facts)}), file=sys.stderr, flush=True)


_PLAIN = Output()


def finite(value: Any) -> Any:
    """Replace NaN and infinities, which JSON lacks, by null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    return [finite(one) for one in value] if isinstance(value, list | tuple) else value


@contextmanager
def progress(what: str, output: Output = _PLAIN) -> Iterator[Meter]:
    """Show a bar while something is read, if stderr is a terminal, and log each step under `--log json`."""
    with bar() as show:
        meter = Meter(what, output.event, show)
        yield meter
        meter.end()


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align cells to the right, the first column to the left."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in [head, *rows]
    ]
