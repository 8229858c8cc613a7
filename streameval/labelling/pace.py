"""Pace of labelling, from the times of answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any

from streameval.text import number_of

if TYPE_CHECKING:
    import pyarrow as pa

_BREAK = 300.0  # seconds: who answered nothing for longer was not at work
_HOUR = 3600.0
_SECOND = 10**6  # µs


@dataclass(frozen=True)
class Pace:
    """Pace of people who label.

    Attributes:
        people (mapping of str to float): Answers in an hour of work, by name; only of those with two answers or more,
            of different times and less than five minutes apart.
        hours (mapping of str to float): That the same people worked, without breaks.
        per_hour: Of one person on average; None where it cannot be told.
    """

    people: Mapping[str, float]
    hours: Mapping[str, float]
    per_hour: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"people": dict(self.people), "hours": dict(self.hours), "per_hour": self.per_hour}

    def hours_left(self, tasks: int) -> float | None:
        """Hours of one person's work that so many tasks take, or None."""
        return tasks / self.per_hour if self.per_hour else None


def pace_of(answers: Iterable[tuple[str, int | None]]) -> Pace:
    """Pace of the people who gave answers, each with its time in µs; breaks of more than five minutes are no work.

    >>> pace_of([("ann", second * 1_000_000) for second in (0, 10, 20, 30)]).people
    {'ann': 360.0}
    """
    times: dict[str, list[int]] = {}
    for name, time in answers:
        if time is not None:
            times.setdefault(name, []).append(time)
    work = {name: _work(sorted(person_times)) for name, person_times in times.items()}
    people = {name: count / seconds * _HOUR for name, (count, seconds) in work.items() if seconds}
    hours = {name: seconds / _HOUR for name, (_, seconds) in work.items() if seconds}
    seconds = sum(worked for _, worked in work.values())
    return Pace(people, hours, sum(count for count, _ in work.values()) / seconds * _HOUR if seconds else None)


def duration(hours: float) -> str:
    """Say how long something takes.

    >>> duration(1.25), duration(0.004)
    ('1.2 hours', '1 minute')
    """
    return f"{hours:.1f} hours" if hours >= 1 else number_of(ceil(60 * hours), "minute")


def pace_of_rows(rows: pa.Table) -> Pace:
    """Pace of those who gave the rows that name somebody and are an answer or a skip (`streameval.labelling.votes`)."""
    import pyarrow as pa  # help of `labels` needs none
    import pyarrow.compute as pc

    spoken = rows.filter(pc.is_in(rows.column("state"), value_set=pa.array(["answer", "skip"])))
    names, times = spoken.column("annotator").to_pylist(), spoken.column("time").cast(pa.int64()).to_pylist()
    return pace_of((name, time) for name, time in zip(names, times, strict=True) if name)


def _work(times: list[int]) -> tuple[int, float]:
    """Answers that came less than five minutes after another, and the seconds between these."""
    gaps = [(after - before) / _SECOND for before, after in pairwise(times)]
    working = [gap for gap in gaps if gap <= _BREAK]
    return len(working), sum(working)
