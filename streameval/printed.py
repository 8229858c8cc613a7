"""What a command prints of what a verb returned, and what it keeps and logs of it: made beside the verb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streameval.errors import EXIT_DONE
from streameval.reporting.text import Paragraph


@dataclass(frozen=True)
class Event:
    """An event of the log."""

    name: str
    facts: Mapping[str, Any]
    expected: bool = True


@dataclass(frozen=True)
class Record:
    """Content of `folder/manifests/VERB.json`: what was read and written."""

    folder: Path
    read: dict[str, Any]
    written: Sequence[Path | str]


@dataclass(frozen=True)
class Printed:
    """A result as a command gives it.

    Attributes:
        facts: The object that --json prints.
        lines: The same as text: sentences, tables, pictures.
        stage: What the log says of the whole call beside its seconds, with `rows` and `bytes` that it read, or wrote
            where that is what it is for; None where it says nothing.
        events: Further events of the log, before that of the call.
        record: What is kept beside the study, if anything.
        status: Exit status.
    """

    facts: Mapping[str, Any]
    lines: Sequence[Paragraph]
    stage: Mapping[str, Any] | None = None
    events: Sequence[Event] = field(default=())
    record: Record | None = None
    status: int = EXIT_DONE
