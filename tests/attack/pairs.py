"""Two commands at once in one study: no vote is lost, and what is there is what one after the other leaves."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterable, Sequence
from itertools import combinations_with_replacement
from pathlib import Path

from attack import outcomes
from attack.forks import Forks
from attack.journal import Journal
from attack.outcomes import Outcome, signature
from attack.scenes import EXACT, FIRST, PLAN, PLAN_LOOKS, SECOND, SELECT, inputs, ready, tree
from attack.worker import Done, as_shell, fresh

_MORE = ("evaluate", "study", "--labels", "more.csv")
COMMANDS: dict[str, Sequence[str]] = {
    "plan": PLAN_LOOKS,
    "another plan": PLAN,
    "plan, more labels": ("grow", "study", "--budget", "20"),
    "select": SELECT,
    "select, tasks": (*SELECT, "--export", "tasks.csv"),
    "evaluate": _MORE,
    "evaluate, another table": ("evaluate", "study", "--labels", "known.csv", "--on", "item"),
    "evaluate again": ("evaluate", "study"),
    "forget": ("labels", "study", "--forget", "first.csv"),
    "forget another": ("labels", "study", "--forget", "second.csv"),
    "cut": ("cut", "study", "150", "--out", "best"),
    "report": ("report", "study"),
    "sql": ("sql", "study", "SELECT * FROM labels ORDER BY rank", "--out", "rows.parquet"),
    "labels": ("labels", "study", "--json"),
    "show": ("show", "study", "precision@100", "--json"),
    "compare": ("compare", "study", "other", "--out", "differences"),
}
_BEFORE = (PLAN_LOOKS, SELECT, FIRST, SECOND, EXACT)
# files that tell of runs and not of what is known, or are drawn from those that are compared
_TOLD = ("manifests", "study.duckdb", "report.html")


class Stand:
    """Two processes that fork, and one folder for both."""

    def __init__(self, home: Path, undamaged: Path) -> None:
        undamaged.mkdir(parents=True, exist_ok=True)
        self.home, self.folder = home, home / "play"
        self.forks = [Forks(home / f"forks-{i}") for i in range(2)]
        for name, commands in (("study", _BEFORE), ("nothing", (EXACT,))):
            ready(fresh(self.folder), undamaged)
            for command in commands:
                done = self.forks[0].run(command, self.folder)
                if done.status != 0:
                    raise RuntimeError(f"{as_shell(command)}: {done.err}")
            shutil.copytree(self.folder, home / name)
        self.serial: dict[tuple[str, str, str], tuple[dict[str, str], tuple[int | None, ...]]] = {}

    def reset(self, begin: str) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.home / begin, self.folder)

    def state(self) -> dict[str, str]:
        """What is known after commands: every file but those of `_TOLD`."""
        return {name: value for name, value in tree(self.folder).items() if not any(one in name for one in _TOLD)}

    def one_after_the_other(self, begin: str, first: str, second: str) -> tuple[dict[str, str], tuple[int | None, ...]]:
        """What a serial order leaves; the second may be empty."""
        key = (begin, first, second)
        if key not in self.serial:
            self.reset(begin)
            names = [name for name in (first, second) if name]
            done = [self.forks[0].run(COMMANDS[name], self.folder).status for name in names]
            self.serial[key] = self.state(), tuple(done)
        return self.serial[key]

    def stop(self) -> None:
        for one in self.forks:
            one.stop()


class Pairs:
    """The class of attack."""

    name = "pairs"

    def __init__(self, undamaged: Path, journal: Journal, commands: Iterable[str] = COMMANDS) -> None:
        self.undamaged, self.journal = undamaged, journal
        self.pairs = list(combinations_with_replacement(commands, 2))

    def worker(self, home: Path) -> Stand:
        return Stand(home, self.undamaged)

    def one(self, stand: Stand, rng: random.Random, number: int) -> None:
        """One pair, at once, from a study that is evaluated; of two that plan, also from nothing."""
        pair = self.pairs[number % len(self.pairs)]
        begin = "nothing" if set(pair) <= {"plan", "another plan"} and rng.random() < 0.7 else "study"
        orders = [stand.one_after_the_other(begin, *order) for order in (pair, pair[::-1])]
        only = [stand.one_after_the_other(begin, name, "") for name in pair]
        stand.reset(begin)
        later = rng.random() * 0.3
        stand.forks[0].start(COMMANDS[pair[0]], stand.folder)
        time.sleep(later)
        stand.forks[1].start(COMMANDS[pair[1]], stand.folder)
        done = [one.finish() for one in stand.forks]
        self.journal.tried["pairs of commands"] += 1
        outcome = _judge(stand.state(), done, orders, only)
        what = f"pair: {pair[0]} + {pair[1]}"
        if self.journal.note(what, outcome):
            before = _BEFORE if begin == "study" else (EXACT,)
            both = f"{as_shell(COMMANDS[pair[0]])} & sleep {later:.3f}; {as_shell(COMMANDS[pair[1]])}; wait"
            facts = {"statuses": [one.status for one in done], "stderr": [one.err[-1000:] for one in done],
                     "differs from the orders in": [_changed(order[0], stand.state()) for order in orders]}  # fmt: skip
            self.journal.save(what, outcome, inputs(stand.folder), [*map(as_shell, before), both], facts)


def _judge(
    state: dict[str, str],
    done: Sequence[Done],
    orders: Sequence[tuple[dict[str, str], tuple[int | None, ...]]],
    only: Sequence[tuple[dict[str, str], tuple[int | None, ...]]],
) -> Outcome:
    for one in done:
        ended = outcomes.of_run([one], [], 1 << 40)
        if ended is not None and ended.failed:
            return ended
    # one that was refused in a line counts as one that did not run; also if it is refused after the other
    allowed = [order[0] for order in orders]
    allowed += [only[1 - i][0] for i, one in enumerate(done) if one.status != 0]
    if state in allowed:
        return Outcome(outcomes.SAME if all(one.status == 0 for one in done) else outcomes.REFUSED)
    votes = {name for order in orders for name in order[0] if "votes/" in name}
    if lost := [name for name in votes if name not in state and all(name in order[0] for order in orders)]:
        return Outcome(outcomes.LOST, f"votes: {signature(', '.join(lost))}")
    nearest = min((_changed(one, state) for one in allowed), key=len)
    kind = outcomes.LEFT if all(one.startswith("+") for one in nearest) else outcomes.LOST
    return Outcome(kind, f"no serial order: {signature(', '.join(nearest))}")


def _changed(then: dict[str, str], now: dict[str, str]) -> list[str]:
    found = [f"+ {name}" for name in now if name not in then] + [f"- {name}" for name in then if name not in now]
    return found + [f"other {name}" for name in then if name in now and then[name] != now[name]]
