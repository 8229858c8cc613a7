"""Label: people label in the browser, one or many at once, and stop when the question is answered."""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from streameval.errors import InputError, installed_by
from streameval.judges.classes import awaits_judge
from streameval.kinds import kind_of
from streameval.labelling.options import AskOptions
from streameval.options import listed, split, takes
from streameval.printed import Printed
from streameval.progress import Progress, silent
from streameval.reporting.next_step import look
from streameval.reporting.progress import ProgressResult
from streameval.scans.jobs import Engine
from streameval.serving.items import Access, planned_items
from streameval.serving.links import Links, links_of
from streameval.stores import atomic
from streameval.study import Study
from streameval.study.progress import LabellingProgress
from streameval.study.tasks import kept_question, question_file, question_of

_ADDRESS = re.compile(  # an IPv6 address stands in brackets, alone as it is
    r"(?:\[(?P<six>[^\[\]]+)\]|(?P<name>[^\[\]:/]*))(?::(?P<port>\d{1,5}))?|(?P<bare>[\da-fA-F.]*(?::[\da-fA-F.]*){2,})"
)


@dataclass(frozen=True)
class Served:
    """Address at which a study is served.

    Attributes:
        owner: Address of the owner's page.
        people: Address for each person, by name.
    """

    owner: str
    people: dict[str, str]

    @property
    def printed(self) -> Printed:
        """Return what a command prints while it serves; the log tells links only to who reads nothing else."""
        first = f"Your own page, with the answer as it stands: {self.owner}"
        links = [f"{name}: {link}" for name, link in self.people.items()]
        last = "Whoever has a link can answer in that name. Ctrl-C ends it; the same command goes on."
        facts = {"owner": self.owner, "people": self.people}
        return Printed(facts, [first, *links, last], {"people": [*self.people]})


def _unsaid(where: Served) -> None:
    """Say nothing."""


@takes(AskOptions)
def label(
    study: str | os.PathLike[str],
    *,
    people: str | tuple[str, ...] | Sequence[str] = (),
    host: str = "127.0.0.1:8765",
    url: str | None = None,
    overlap: str | float | None = None,
    columns: str | Sequence[str] | None = None,
    ranking: Any = None,
    engine: Engine | str = "local",
    progress: Progress = silent,
    served: Callable[[Served], None] = _unsaid,
    **raw_options: Any,
) -> LabellingProgress:
    """Label them in the browser, alone or together.

    It runs until Ctrl-C; of a question, until that is answered.

    In Python as on the command line every answer is in the study before it is acknowledged. The study is evaluated
    every half minute, and when it ends. Rounds of a question come by themselves; answers to it are looked at as they
    come, and once it is answered nothing more is handed out.

    Example: streameval label my-study
    Example: streameval label my-study --people ann,ben --ask "Do both mean the same?" --overlap 10%

    Args:
        study: Folder of the study.
        people: Names, separated by commas; each gets a link of their own (default: you). In Python too it is the same
            whenever the study is served.
        host: Address to listen at, with its port: 0.0.0.0:8080, or :0 for any port that is free. Other machines reach
            only an address that they see, such as this machine's own.
        url: Address by which people reach it, where a proxy has another, such as https://labels.example.org.
        overlap: Share of the tasks that two people are given, drawn at random, to measure how far they agree (default:
            as before). In Python as 0.1 or "10%", at first none; a third person decides where two differ, if there is
            one. It is kept in the study.
        columns: The items' columns to show, as in select (default: as before). In Python too they are kept in the
            study; at first all.
        ranking: In Python alone: the ranking that was planned, where it lies in memory: as of `select`.
        engine: In Python: what runs the scans of a list by score: see `scan`.
        progress: In Python: as of `select`.
        served: In Python: is told where, once it is.
        raw_options: In Python by name: `ask`, `positive`, `negative`, `guidelines`, `image`, `image_root`: see
            `streameval.labelling.options.AskOptions`.

    Returns:
        LabellingProgress: How far the labelling has come, as of `labels`.

    Raises:
        InputError: A name, an address or a share that cannot be; errors as of `select`.
        OutsideError: The study is served already.
        StreamevalError: It cannot be evaluated when it ends; all answers are in the study.
    """
    try:
        from streameval.serving.serve import bound, serve
        from streameval.serving.session import LabellingSession
    except ModuleNotFoundError as error:
        raise InputError("label needs Starlette and uvicorn", installed_by("label")) from error
    (options,) = split([AskOptions], raw_options, "label")
    folder = Study(Path(study))
    if awaits_judge(folder.plan()):
        raise InputError(f"{folder.folder}: its judge has to answer before anybody labels",
                         f"streameval select {folder.folder} --export FILE")  # fmt: skip
    if not folder.plan().table.num_rows:
        raise InputError(f"{folder.folder}: there is nothing to label", f"streameval evaluate {folder.folder}")
    names = listed(people) if people else (getpass.getuser(),)
    columns = listed(columns) if columns is not None else kept_question(folder).shown or None
    access = Access(ranking, columns, engine, progress)
    shown, _ = planned_items(folder, access).shown_columns(columns)
    question = replace(question_of(folder, options, shown), shown=tuple(columns or ()))
    if overlap is not None:
        question = replace(question, overlap=share_of(overlap, len(names)))
    links = links_of(folder.folder, names)
    host, port = address_of(host)
    with bound(host, port) as listening:
        base = _base(host, listening.getsockname()[1], url)
        session = LabellingSession(folder, links, question, access)
        atomic.write_all(question_file(folder, question))  # not where another command serves it, and asks otherwise
        serve(session, listening, _names(host, base), lambda: served(_addresses(links, base)))
    return ProgressResult.from_study(kind_of(folder.folder).tasks.progress(folder), folder.folder)


def printed(state: LabellingProgress, study: Path, **_: Any) -> Printed:
    """Print how far the labelling has come, and what to run next."""
    account, following = state.account, look(str(study)).command
    labelled = f"{account['labelled']:,} of {account['planned']:,} planned items have a label."
    facts = {"study": str(study), "account": dict(account), "next": following}
    return Printed(facts, [labelled, f"Next: {following}"])


def address_of(host: str) -> tuple[str, int]:
    """Read an address to listen at, and its port; where one is left out it is the usual one.

    >>> address_of("0.0.0.0:8080"), address_of(":0"), address_of("[::1]:80"), address_of("::1")
    (('0.0.0.0', 8080), ('127.0.0.1', 0), ('::1', 80), ('::1', 8765))

    Raises:
        InputError: No address, or no port.
    """
    if not host:
        raise InputError("--host is empty, which would be every address of this machine", "--host=127.0.0.1")
    parts = _ADDRESS.fullmatch(host)
    if parts is None or int(parts["port"] or 0) >= 1 << 16:
        raise InputError(f"--host is '{host}', and no address with a port from 0 to 65535", "such as 127.0.0.1:8765")
    return parts["six"] or parts["bare"] or parts["name"] or "127.0.0.1", int(parts["port"] or 8765)


def share_of(overlap: str | float, people: int) -> float:
    """Read a share of the tasks.

    >>> share_of("10%", 2), share_of(0.25, 3)
    (0.1, 0.25)
    """
    text = str(overlap).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InputError(f"--overlap is '{text}', and no share of the tasks", "such as 10% or 0.1")
    if share and people < 2:
        raise InputError("an overlap needs two people or more", "--people ann,ben")
    return share


def _base(host: str, port: int, url: str | None) -> str:
    """Address that links begin with: of this machine by its name where it listens at all of its addresses."""
    if url is None:
        name = socket.gethostname() if host in ("0.0.0.0", "::") else host
        return f"http://{f'[{name}]' if ':' in name else name}:{port}/"
    try:
        parts = urlsplit(url)
        is_page = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query + parts.fragment
    except ValueError:
        is_page = False
    if not is_page:
        raise InputError(f"--url is '{url}', and no address of a page", "--url https://labels.example.org")
    return url.rstrip("/") + "/"


def _names(host: str, base: str) -> set[str]:
    """Names that the server goes by."""
    return {"localhost", host, socket.gethostname(), urlsplit(base).hostname or ""}


def _addresses(links: Links, base: str) -> Served:
    return Served(f"{base}owner#{links.owner}", {name: f"{base}#{links.token(name)}" for name in links.people})
