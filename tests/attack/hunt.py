"""Attacks in numbers: a worker per job and a seed per case, until the time is over or the number reached."""

from __future__ import annotations

import random
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Protocol, TypeVar


class Ends(Protocol):
    """What holds processes."""

    def stop(self) -> None: ...


Place = TypeVar("Place", bound=Ends)


class Attack(Protocol[Place]):
    """A class of attack: how to make a place where its cases are tried, and one case."""

    name: str

    def worker(self, home: Path) -> Place: ...

    def one(self, worker: Place, rng: random.Random, number: int) -> None: ...


@dataclass
class Effort:
    """How much to try.

    Attributes
    ----------
    seed : int
    seconds : float
    jobs : int
    cases : sequence of int, optional
        Numbers of cases to try instead of all from 0 on.
    told : function, optional
        Called every few seconds with the numbers of cases that have ended.
    """

    seed: int
    seconds: float
    jobs: int
    cases: Sequence[int] | None = None
    told: Callable[[Sequence[int]], None] = lambda done: None
    every: float = 10.0
    errors: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


def hunt(attack: Attack[Place], effort: Effort, home: Path) -> float:
    """Try one case after the other; the seconds it took.

    Raises
    ------
    RuntimeError
        The attack itself failed.
    KeyboardInterrupt
        After every case that was begun has ended.
    """
    began = time.monotonic()
    numbers = iter(effort.cases) if effort.cases is not None else count()
    lock, done = threading.Lock(), list[int]()

    def work(job: int) -> None:
        worker = attack.worker(home / f"{attack.name}-{job}")
        try:
            while time.monotonic() - began < effort.seconds and not effort.over.is_set():
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                try:
                    attack.one(worker, random.Random(f"{effort.seed} {attack.name} {number}"), number)
                except Exception:
                    effort.errors.append(f"case {number} of {attack.name}\n{traceback.format_exc()}")
                    effort.over.set()
                done.append(number)
        finally:
            worker.stop()

    threads = [threading.Thread(target=work, args=(job,)) for job in range(effort.jobs)]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads):
            threads[0 if threads[0].is_alive() else -1].join(effort.every)
            effort.told(done)
    finally:
        effort.over.set()
        for thread in threads:
            thread.join()
        effort.told(done)
    if effort.errors:
        raise RuntimeError(effort.errors[0])
    return time.monotonic() - began
