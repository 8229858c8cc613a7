"""Claims on a folder of an object store: one run at a time fills it, though stores have no locks.

A run puts an object that says who it is, and then lists those of others. By what Burns and Lamport proved of one bit a
process, objects that are seen as soon as they are there are enough: of two that see each other, the one whose id is
larger withdraws, the other waits until it has; so never two go on, and of those at work one always may. Whatever a run
puts there has its id in the name, so that nobody takes the files of another for its own.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from streameval.errors import OutsideError, StreamevalError
from streameval.process.marks import is_over, own_mark
from streameval.stores import trouble
from streameval.stores.listing import walk
from streameval.stores.transfer import get, put, remove

_LOOKS = 6  # at others that are about to withdraw, with growing pauses
_UNFINISHED = re.compile(r"_unfinished-([0-9a-f]{16})-(.+)")
_at_work: set[str] = set()  # ids of this process


@dataclass(frozen=True)
class FolderClaim:
    """A run that may fill a folder."""

    place: str
    run: str

    def staged(self, name: str) -> str:
        """Name of what is sent and not yet whole: nobody who reads Parquet takes it for a part."""
        return f"_unfinished-{self.run}-{name}.sent"

    def put(self) -> None:
        """Put the object that others see."""
        put(_read_mark(self.place, self.run), json.dumps(own_mark()).encode())

    def refuse_lost(self) -> None:
        """Raise an `OutsideError` where somebody has removed the claim: another run may be at work since."""
        begun = _read_mark(self.place, self.run)
        if get(begun) is None:
            raise OutsideError(f"{begun}: was removed while this run wrote there", "run the same command again")


@contextmanager
def claimed(place: str, leave: Callable[[str], None]) -> Iterator[FolderClaim]:
    """Be the one run that fills a folder.

    Args:
        place: URI.
        leave (callable(id)): Called at the end, however it came: removes what the run sent, its claim last.

    Raises:
        OutsideError: Another run is at work there, or nobody can tell that it has ended; the store does not answer.
    """
    claim = FolderClaim(place, secrets.token_hex(8))
    _at_work.add(claim.run)
    try:
        try:
            claim.put()
            _wait_for_others(claim)
            yield claim
        except BaseException as error:
            _leave_after(error, claim, leave)
            raise
        leave(claim.run)
    finally:
        _at_work.discard(claim.run)


def _leave_after(error: BaseException, claim: FolderClaim, leave: Callable[[str], None]) -> None:
    """Take back what was sent; where the store does not allow that, say where it lies."""
    try:
        leave(claim.run)
    except StreamevalError:
        if isinstance(error, StreamevalError):
            lies = f"what was sent has {claim.run} in its name; the same command again removes it first"
            hint = lies if isinstance(error, OutsideError) or not error.hint else f"{error.hint}; {lies}"
            raise type(error)(error.what, hint) from error


def _wait_for_others(claim: FolderClaim) -> None:
    """Wait until no other run is there; an `OutsideError` where one with a smaller id is, or one that does not end."""
    pause = trouble.FIRST_PAUSE
    for left in reversed(range(_LOOKS)):
        others = {
            run: mark for run, mark in _claims(claim.place).items() if run != claim.run and not _is_over(run, mark)
        }
        if not others:
            return
        first = min(others)
        if (first < claim.run and others[first] is not None) or not left:
            raise _busy(claim.place, first, others[first])
        time.sleep(pause)
        pause *= 2


def _busy(place: str, run: str, mark: dict[str, str] | None) -> OutsideError:
    who = f" (process {mark.get('process')} of {mark.get('host')})" if mark else ""
    return OutsideError(
        f"{place}: another run writes there{who}",
        f"run the same command again when it has ended; if it was killed, remove what has {run} in its name there",
    )


def ended_runs(place: str) -> list[str]:
    """Ids of runs that left something and are known to have ended."""
    return [run for run, mark in _claims(place).items() if _is_over(run, mark)]


def runs_in(names: Iterable[str]) -> set[str]:
    """Ids of runs that have something unfinished among some names."""
    return {match[1] for name in names if (match := _UNFINISHED.fullmatch(name))}


def remove_unfinished(place: str, run: str) -> None:
    """Remove what a run has sent, and then its claim."""
    begun = _read_mark(place, run)
    paths = [path for path in walk(place) if path.startswith(f"{place}/_unfinished-{run}-")]
    for path in sorted(paths, key=lambda path: path == begun):
        remove(path)


def _claims(place: str) -> dict[str, dict[str, str] | None]:
    """Who made each claim, by id; None where that cannot be read, or the claim has just been withdrawn."""
    marks: dict[str, dict[str, str] | None] = {}
    for run in sorted(runs_in(path.removeprefix(f"{place}/") for path in walk(place))):
        mark = None
        with suppress(ValueError):
            mark = json.loads(get(_read_mark(place, run)) or b"null")
        marks[run] = mark if isinstance(mark, dict) else None
    return marks


def _read_mark(place: str, run: str) -> str:
    return f"{place}/_unfinished-{run}-begun"


def _is_over(run: str, mark: dict[str, str] | None) -> bool:
    if mark is None or run in _at_work:
        return False
    own_process = own_mark()
    return mark == own_process or is_over(mark)
