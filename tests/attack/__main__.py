"""`scripts/attack [MINUTES] [--seed S] [--classes A,B] [--jobs N] [--keep DIR] [--cases FROM-TO]`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attack.hunt import Attack, Effort, hunt
from attack.journal import Journal
from attack.kills import Interrupts, Kills, Shortages
from attack.pairs import Pairs
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


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/attack", description="Attack streameval, and say what became of it.")
    parser.add_argument("minutes", type=float, nargs="?", default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--classes", default=",".join(SHARES), help=f"some of {', '.join(SHARES)}")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=Path("attack-failures"), help="folder for cases that failed")
    parser.add_argument("--cases", default="", help="numbers of cases to try again, such as 17 or 0-99")
    return parser.parse_args()


def _numbers(said: str) -> range | None:
    if not said:
        return None
    first, _, last = said.partition("-")
    return range(int(first), int(last or first) + 1)


def main() -> int:
    given = _arguments()
    chosen = given.classes.split(",")
    if unknown := set(chosen) - set(SHARES):
        sys.exit(f"scripts/attack: there is no class {', '.join(sorted(unknown))}")
    journal, errors = Journal(given.keep), []
    total = sum(SHARES[name] for name in chosen)
    # in memory where that is to be had: syncing tiny files is most of the time otherwise
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="streameval-attack-", dir=memory) as home:
        for name in chosen:
            effort = Effort(given.seed, 60 * given.minutes * SHARES[name] / total, given.jobs, _numbers(given.cases))
            try:
                took = hunt(CLASSES[name](Path(home) / "undamaged", journal), effort, Path(home))
                print(f"{name}: {took:.0f} s", file=sys.stderr)
            except RuntimeError as error:
                errors.append(f"{name} could not go on: {error}")
    print(journal.table())
    print("\n".join(errors), end="", file=sys.stderr)
    return int(journal.failed or bool(errors))


if __name__ == "__main__":
    sys.exit(main())
