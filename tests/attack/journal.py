"""What the attack found: a table of outcomes by class, and the smallest case of each failure in a folder."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from attack.outcomes import FAILURES, MEANING, UNREAD, UNSHOWN, Outcome

# failures of one kind that are kept
KEPT = 2


@dataclass
class Journal:
    """Outcomes, counted; failures, kept.

    Parameters
    ----------
    keep : Path
        A folder for each failure is made in it, and what is known so far: `journal.json` and `table.txt`.
    ended : dict of str to int
        Cases of each class that have ended: those with smaller numbers.
    """

    keep: Path
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    unshown: Counter[str] = field(default_factory=Counter)
    failures: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)
    ended: dict[str, int] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    @classmethod
    def of(cls, keep: Path, seed: int) -> Journal:
        """The journal of an attack that was stopped; a new one where there is none of this seed."""
        path = keep / "journal.json"
        told = json.loads(path.read_text()) if path.exists() else {"seed": None}
        journal = cls(keep)
        if told["seed"] == seed:
            for name in ("counts", "failures"):
                getattr(journal, name).update({tuple(key): n for *key, n in told[name]})
            for name in ("unshown", "tried", "ended"):
                getattr(journal, name).update(told[name])
        return journal

    def write(self, seed: int) -> None:
        """Write what is known, so that it can be looked at, and gone on with."""
        with self.lock:
            told = {name: [[*key, n] for key, n in getattr(self, name).items()] for name in ("counts", "failures")}
            told |= {name: dict(getattr(self, name)) for name in ("unshown", "tried", "ended")}
            table = self.table()
        self.keep.mkdir(parents=True, exist_ok=True)
        (self.keep / "table.txt").write_text(table + "\n")
        (self.keep / "journal.part").write_text(json.dumps({"seed": seed, **told}, indent=1))
        (self.keep / "journal.part").replace(self.keep / "journal.json")

    def note(self, what: str, outcome: Outcome) -> bool:
        """Count an outcome; whether it is a failure of which a case is wanted."""
        key = (what, outcome.kind, outcome.detail)
        with self.lock:
            self.counts[what, outcome.kind] += 1
            if outcome.kind in (UNSHOWN, UNREAD):
                self.unshown[f"{outcome.kind}: {outcome.detail}"] += 1
            if outcome.failed:
                self.failures[key] += 1
            return outcome.failed and self.failures[key] <= KEPT

    def save(
        self,
        what: str,
        outcome: Outcome,
        files: Mapping[str, Path | bytes],
        script: Sequence[str],
        facts: Mapping[str, object],
    ) -> Path:
        """Write one case: its files, what it is about, and `repeat.sh`."""
        name = re.sub(r"\W+", "-", f"{what}-{outcome.kind}-{outcome.detail}")[:70].strip("-")
        number = self.failures[what, outcome.kind, outcome.detail]
        folder = self.keep / f"{name}-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file, content in files.items():
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                target.write_bytes(content)
            elif content.is_dir():
                shutil.copytree(content, target)
            else:
                shutil.copyfile(content, target)
        head = ["#!/bin/sh", f"# {outcome.kind}: {MEANING[outcome.kind]}", f"# {outcome.detail}"]
        head += ['cp -r "$(dirname "$0")" "${TO:=$(mktemp -d)/case}" && cd "$TO" || exit', "set -x"]
        (folder / "repeat.sh").write_text("\n".join([*head, *script]) + "\n")
        told = {"what": what, "outcome": outcome.kind, "detail": outcome.detail, **facts}
        (folder / "case.json").write_text(json.dumps(told, indent=2, default=str) + "\n")
        return folder

    @property
    def failed(self) -> bool:
        return bool(self.failures)

    def table(self) -> str:
        """Outcomes by class, then what files could not show, then failures by kind."""
        kinds = [kind for kind in MEANING if any(key[1] == kind for key in self.counts)]
        rows = [["", *kinds]]
        for what in dict.fromkeys(key[0] for key in sorted(self.counts)):
            rows.append([what, *(f"{self.counts[what, kind]:,}" for kind in kinds)])
        rows.append(["all", *(f"{sum(n for key, n in self.counts.items() if key[1] == kind):,}" for kind in kinds)])
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
        lines += ["", "tried: " + ", ".join(f"{n:,} {what}" for what, n in self.tried.items())]
        lines += [f"{kind}: {MEANING[kind]}" for kind in kinds]
        if self.unshown:
            lines += ["", "Other results, by what was damaged:"]
            lines += [f"{n:8,}  {kind}" for kind, n in sorted(self.unshown.items(), key=lambda one: -one[1])]
        if self.failures:
            lines += ["", f"Failures, of which up to {KEPT} each are in {self.keep}:"]
            ordered = sorted(self.failures.items(), key=lambda one: (FAILURES.index(one[0][1]), -one[1]))
            lines += [f"{n:8,}  {kind}: {what}: {detail}" for (what, kind, detail), n in ordered]
        return "\n".join(lines)
