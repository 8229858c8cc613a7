"""`scripts/attack [MINUTES] [--seed S] [--classes A,B] [--jobs N] [--keep DIR] [--cases FROM-TO] [--mutants N …]`.

What was found so far is in the folder that `--keep` names, and the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from attack.hunt import Attack, Effort, hunt
from attack.journal import Journal
from attack.kills import Interrupts, Kills, Shortages
from attack.pairs import COMMANDS, Pairs
from attack.rankings import Rankings
from attack.studies import Studies
from attack.tables import Tables

CLASSES: dict[str, Callable[[Path, Journal], Attack[Any]]] = {
    "rankings": Rankings,
    "tables": Tables,
    "studies": Studies,
    "kills": Kills,
    "interrupts": Interrupts,
    "disks": Shortages,
    "pairs": Pairs,
}
# share of the time that each class gets
SHARES = {"rankings": 5, "tables": 1, "studies": 1, "kills": 1, "interrupts": 1, "disks": 0.5, "pairs": 1}


# share of the mutants: a label table takes as long as five rankings, a study as long as ten
_MUTANTS = {"rankings": 22, "tables": 2, "studies": 1}
_PAIRS = len(COMMANDS) * (len(COMMANDS) + 1) // 2


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/attack", description="Attack streameval, and say what became of it.")
    parser.add_argument("minutes", type=float, nargs="?", default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--classes", default=",".join(SHARES), help=f"some of {', '.join(SHARES)}")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=Path("attack-failures"), help="folder for cases that failed")
    parser.add_argument("--cases", default="", help="numbers of cases to try again, such as 17 or 0-99")
    parser.add_argument("--mutants", type=int, help="damaged files of all kinds, instead of what the time allows")
    for name in ("kills", "interrupts", "disks"):
        parser.add_argument(f"--{name}", type=int, help="the number of these")
    parser.add_argument("--rounds", type=int, help="rounds of every pair of commands")
    return parser.parse_args()


def _numbers(said: str) -> range | None:
    if not said:
        return None
    first, _, last = said.partition("-")
    return range(int(first), int(last or first) + 1)


def _wanted(given: argparse.Namespace, name: str) -> int:
    """Cases of a class."""
    if name in _MUTANTS and given.mutants is not None:
        return round(given.mutants * _MUTANTS[name] / sum(_MUTANTS.values()))
    if name == "pairs" and given.rounds is not None:
        return int(given.rounds * _PAIRS)
    wanted = getattr(given, name, None)
    return sys.maxsize if wanted is None else int(wanted)


def _attack(name: str, given: argparse.Namespace, journal: Journal, seconds: float, home: Path) -> None:
    """One class, from where it was stopped."""
    again, began, before = _numbers(given.cases), time.monotonic(), journal.ended.get(name, 0)

    def told(done: Sequence[int]) -> None:
        ended = set(done)
        journal.ended[name] = next(i for i in count(before) if i not in ended)
        journal.write(given.seed)
        if time.monotonic() - said[0] > 60:
            said[0] = time.monotonic()
            line = f"{name}: {journal.ended[name]:,} cases; failures of all classes: {journal.failures.total():,}"
            print(line, file=sys.stderr, flush=True)

    said = [began]
    cases = again if again is not None else range(before, _wanted(given, name))
    effort = Effort(given.seed, seconds, given.jobs, cases, told if again is None else lambda done: None)
    if cases:
        took = hunt(CLASSES[name](home / "undamaged", journal), effort, home)
        print(f"{name}: {took:.0f} s", file=sys.stderr, flush=True)


def main() -> int:
    given = _arguments()
    chosen = given.classes.split(",")
    if unknown := set(chosen) - set(SHARES):
        sys.exit(f"scripts/attack: there is no class {', '.join(sorted(unknown))}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    journal = Journal(given.keep) if given.cases else Journal.of(given.keep, given.seed)
    errors, end = [], time.monotonic() + 60 * given.minutes
    # in memory where that is to be had: syncing tiny files is most of the time otherwise
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="streameval-attack-", dir=memory, ignore_cleanup_errors=True) as home:
        for i, name in enumerate(chosen):
            share = SHARES[name] / sum(SHARES[one] for one in chosen[i:])
            try:
                _attack(name, given, journal, share * (end - time.monotonic()), Path(home))
            except RuntimeError as error:
                errors.append(f"{name} could not go on: {error}")
            except KeyboardInterrupt:
                errors.append("stopped; the same command goes on\n")
                break
    print(journal.table())
    print("\n".join(errors), end="", file=sys.stderr)
    return int(journal.failed or bool(errors))


if __name__ == "__main__":
    sys.exit(main())
