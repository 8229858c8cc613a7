"""Who is given which task: each to one person at a time, some on purpose to two, none twice to the same person.

A task that was handed out is kept for whoever got it, so that two people do not label the same item by accident: until
they close the page, or have answered nothing for some minutes, or, where nothing else is left to do, nothing was heard
of their page for a while. An answer counts whoever had the task meanwhile: nothing that a person did is thrown away.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

import numpy as np

KEPT = 600.0
"""Seconds without an answer that a task is kept for whoever got it."""

SILENT = 100.0
"""Seconds without a word of a page that asks twice a minute, after which others get its tasks if there are no more."""

AHEAD = 3
"""Tasks that a page holds, so that the next one is there at once."""

_TWICE = np.uint64(0x7365_7477_6963_6501)  # keeps the draw of tasks for two apart from every other draw of a seed


def given_twice(tasks: Collection[int], share: float, seed: int) -> set[int]:
    """Tasks that two people are given: each with probability `share`, whatever it shows and whoever has answered."""
    from streameval.kernels.draw import draws

    stream = np.uint64(seed % 2**64) ^ _TWICE
    return {task for task in tasks if float(draws(stream ^ np.uint64(task), 1)[0]) / 2.0**64 < share}


@dataclass
class _Page:
    """Tasks of one page; when it got the first of them or its person last answered; when it last asked."""

    since: float
    heard: float
    tasks: list[int] = field(default_factory=list)


class Desk:
    """Tasks, answers and who is at which task; every method is called by one thread at a time.

    Attributes:
        tasks: Numbers of tasks, in the order in which they are handed out.
        answers (mapping of int to mapping): By task: what each person said last, by the time at which they said it, not
            the one at which it came: "1", "0" or "skip".
    """

    def __init__(self, people: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self.tasks: dict[int, None] = {}
        self.answers: dict[int, dict[str, str]] = {}
        self._people, self._clock = people, clock
        self._twice: set[int] = set()
        self._said_at: dict[str, dict[int, datetime]] = {}
        self._open: dict[int, None] = {}
        self._pages: dict[tuple[str, str], _Page] = {}

    def add(self, tasks: Iterable[int], twice: Collection[int], closed: Collection[int]) -> None:
        """Add tasks that are not there yet.

        Args:
            twice: Those that two people are given.
            closed: Those that are answered elsewhere.
        """
        new = [task for task in tasks if task not in self.tasks]
        self.tasks |= dict.fromkeys(new)
        self._twice |= {*twice}
        self._open |= {task: None for task in new if task not in closed and self._n_wanted(task) > 0}

    def take_answer(self, person: str, task: int, answer: str, moment: datetime) -> None:
        """Take what a person said at a time, and give back what was kept for them."""
        times = self._said_at.setdefault(person, {})
        if task not in times or moment >= times[task]:
            self.answers.setdefault(task, {})[person] = answer
            times.pop(task, None)
            times[task] = moment
        now = self._clock()
        for (holder, _), page in self._pages.items():
            if holder == person:
                page.since = now
                page.tasks = [other for other in page.tasks if other != task]
        if self._n_wanted(task) <= 0:
            self._open.pop(task, None)
        elif task in self.tasks:
            self._open[task] = None

    def hand_out(self, person: str, tab: str, have: Iterable[int] = ()) -> list[int]:
        """Tasks for one page: what it has already and nobody has answered, and more up to `AHEAD`.

        Args:
            have: What the page says it has: a server that was started again knows of none.
        """
        now = self._clock()
        self._pages = {name: page for name, page in self._pages.items() if now < page.heard + KEPT}
        mine = self._pages.setdefault((person, tab), _Page(now, now))
        mine.heard = now
        held = self._holders(mine, lambda page: now < page.since + KEPT)
        wanted = dict.fromkeys([*mine.tasks, *have])
        before = [task for task in wanted if task in self._open and self._free(task, person, held)][:AHEAD]
        others = (task for task in self._open if task not in before and self._free(task, person, held))
        mine.tasks = [*before, *islice(others, AHEAD - len(before))]
        if not mine.tasks:
            held = self._holders(mine, lambda page: now < min(page.since + KEPT, page.heard + SILENT))
            mine.tasks = [*islice((task for task in self._open if self._free(task, person, held)), 1)]
        if not before:
            mine.since = now
        return [*mine.tasks]

    def leave(self, person: str, tab: str) -> None:
        """Give back what a page has that is closed."""
        self._pages.pop((person, tab), None)

    def may_come_to(self, person: str) -> bool:
        """Tell whether a task may come to a person later, as others have it now."""
        return any(person not in self.answers.get(task, {}) for task in self._open)

    @property
    def open(self) -> int:
        """Tell how many tasks want an answer."""
        return len(self._open)

    def answered_tasks(self, person: str) -> list[int]:
        """Tasks that a person has answered, those last whose answers came last."""
        return [*self._said_at.get(person, ())]

    def _holders(self, mine: _Page, keeps: Callable[[_Page], bool]) -> dict[int, set[str]]:
        """Who has which task on another page, of those that keep what they have."""
        held: dict[int, set[str]] = {}
        for (holder, _), page in self._pages.items():
            if page is not mine and keeps(page):
                for task in page.tasks:
                    held.setdefault(task, set()).add(holder)
        return held

    def _free(self, task: int, person: str, held: Mapping[int, set[str]]) -> bool:
        holders = held.get(task, set())
        answers = self.answers.get(task, {})
        return person not in answers and person not in holders and len(holders) < self._n_wanted(task)

    def _n_wanted(self, task: int) -> int:
        """Tell how many more people are to answer a task: a third one where two differ."""
        answers: Mapping[str, str] = self.answers.get(task, {})
        wanted = 2 if task in self._twice else 1
        votes = [answer for answer in answers.values() if answer != "skip"]
        if len(votes) == 2 and len({*votes}) == 2:  # also where the second answered only by accident
            wanted = 3
        return min(wanted, len(self._people)) - len(answers)
