"""`streameval label`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from streameval.cli.log import LOG
from streameval.cli.options import EngineFlags, Flags, SeveralNames, Whole, flags_of
from streameval.cli.output import Output, progress
from streameval.cli.panels import TASKS
from streameval.labelling.options import AskOptions
from streameval.text import printable

if TYPE_CHECKING:
    from streameval.verbs.label import Served


@flags_of(AskOptions, panel=TASKS)
class AskFlags(Flags):
    """What people are asked."""


_ASKED = AskFlags()


def label(
    study: Path,
    /,
    *,
    people: SeveralNames = None,
    host: str = "127.0.0.1",
    port: Whole = 8765,
    url: str | None = None,
    overlap: str | None = None,
    columns: str | None = None,
    asked: AskFlags = _ASKED,
    engine: EngineFlags = EngineFlags(),
    output: Output = Output(),
) -> None:
    """Label in the browser, one person or many at once, until Ctrl-C; a question stops when it is answered.

    Example: streameval label my-study
    Example: streameval label my-study --people ann,ben --ask "Do both mean the same?" --overlap 10%

    Args:
        study: Folder of the study.
        people: Names, separated by commas; each gets a link of their own (default: you).
        host: Address to listen at; other machines reach only one that they see, such as this machine's own.
        port: Port to listen at; 0 takes any that is free.
        url: Address by which people reach it, where a proxy has another, such as https://labels.example.org.
        overlap: Share of the tasks that two people are given, drawn at random, to measure how far they agree (default:
            as before).
        columns: The items' columns to show, as in select (default: as before).
    """
    from streameval.reporting.next_step import look
    from streameval.verbs.label import label as verb

    def served(where: Served) -> None:
        if output.json and LOG.as_json:
            output.event("served", owner=where.owner, people=where.people)  # nothing but it is read
            return
        output.event("served", people=list(where.people))
        links = [f"{name}: {link}" for name, link in where.people.items()]
        first = f"Your own page, with the answer as it stands: {where.owner}"
        last = "Whoever has a link can answer in that name. Ctrl-C ends it; the same command goes on."
        # with --json standard output is for the one object at the end
        stream = sys.stderr if output.json else sys.stdout
        print("\n".join(map(printable, [first, *links, last])), file=stream, flush=True)

    with progress("reading pages", output) as bar:
        state = verb(
            study, people=people or (), host=host, port=port, url=url, overlap=overlap, columns=columns,
            engine=engine.create(), progress=bar, served=served, **asked.given(),
        )  # fmt: skip
    account = state.account
    following = look(str(study)).command
    result = {"study": str(study), "account": dict(account), "next": following}
    output.say(result, [f"{account['labelled']:,} of {account['planned']:,} planned items have a label.",
                        f"Next: {following}"])  # fmt: skip
