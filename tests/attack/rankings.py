"""Damaged ranking files, against every way in which streameval reads a ranking."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from attack import consistent, layout, outcomes, thrift, writers
from attack.damage import Damage, damage_parquet, reduce
from attack.journal import Journal
from attack.outcomes import Outcome
from attack.worker import CONTRADICTIONS, Commands, Done, Worker, alone, as_shell, fresh

RANKING = "ranking.parquet"
# a refusal says which file, or that the ranking as a whole is another than was planned for
NAMED = (RANKING, "the ranking has")
MEMORY_GB = 0.2
_MEMORY_KB = int(MEMORY_GB * 1e6) + outcomes.BASE_KB
_PLAN = ("plan", RANKING, "--study", "study", "--seed", "7", "--memory", str(MEMORY_GB))
_SELECT = ("select", "study")
_EXACT = ("exact", RANKING, "--label", "label", "--memory", str(MEMORY_GB), "--json")
_SCORE = ("--score", "score")
_KEY = (*_SCORE, "--key", "item")


@dataclass(frozen=True)
class Operation:
    """Commands that read a ranking, and what they found.

    Attributes
    ----------
    name : str
    commands : commands
    result : function
        Of the folder and what the commands did: the result, in words that are equal where results are.
    windows : bool
        Whether only some rows are read.
    columns : sequence of str
        Columns that are read; all where none is named.
    before : commands
        Run on the undamaged file, before it is damaged.
    """

    name: str
    commands: Commands
    result: Callable[[Path, Sequence[Done]], str]
    windows: bool = False
    before: Commands = ()
    columns: Sequence[str] = ()


def _rows(path: Path) -> Any:
    table = pq.read_table(path)
    # numbers of tasks follow from the plan, and so from the size and the footer of the file, whatever is in it
    table = table.select([name for name in table.schema.names if name != "se_task"])
    return [table.schema.names, [str(kind) for kind in table.schema.types], table.to_pylist()]


def _selected(folder: Path, done: Sequence[Done]) -> str:
    n = json.loads((folder / "study/plan.json").read_text())["n_items"]
    return repr((n, _rows(folder / "study/plan.parquet"), _rows(folder / "study/selection.parquet")))


def _exact(folder: Path, done: Sequence[Done]) -> str:
    said = json.loads(done[-1].out)
    return repr({key: said[key] for key in ("n_items", "positives", "metrics", "brackets", "how", "ties")})


def _cut(folder: Path, done: Sequence[Done]) -> str:
    return repr([_rows(path) for path in sorted((folder / "best").glob("*.parquet"))])


def _selecting(name: str, *options: str, windows: bool = False) -> Operation:
    plan = (*_PLAN, "--budget", "40", *options)
    return Operation(name, (plan, _SELECT), _selected, windows)


def _cutting(name: str, order: str, *options: str) -> Operation:
    labels = ("evaluate", "study", "--labels", "truth.csv", "--json")
    cut = ("cut", "study", "150", "--out", "best", "--order", order)
    before = ((*_PLAN, "--budget", "30", *options), labels)
    return Operation(name, (cut,), _cut, windows=not options, before=before)


OPERATIONS = (
    _selecting("select, stored order", windows=True),
    _selecting("select by score", *_SCORE),
    _selecting("select by score and key", *_KEY),
    _selecting("select by slice", "--by", "country", windows=True),
    _selecting("select drawn by item", "--on", "item", windows=True),
    Operation("exact, stored order", (_EXACT,), _exact, columns=("label",)),
    Operation("exact by score", ((*_EXACT, *_SCORE),), _exact, columns=("label", "score")),
    Operation("exact by score and key", ((*_EXACT, *_KEY),), _exact, columns=("label", "score", "item")),
    _cutting("cut, stored order", "storage"),
    _cutting("cut by score", "rank", *_SCORE),
)


@dataclass
class Base:
    """An undamaged file, its structure, and what each operation finds in it."""

    name: str
    file: layout.Parquet
    results: dict[str, str] = field(default_factory=dict)


class Rankings:
    """The class of attack.

    Parameters
    ----------
    folder : Path
        Undamaged files are written there.
    journal : Journal
    """

    name = "rankings"

    def __init__(self, folder: Path, journal: Journal) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.journal = folder, journal
        self.bases = [self._base(name) for name in writers.WRITERS]

    def _base(self, name: str) -> Base:
        return Base(name, layout.read(writers.write(name, self.folder).read_bytes()))

    def worker(self, home: Path) -> Worker:
        fresh(home)
        (home / "truth.csv").write_text(_truth())
        (home / "warm.parquet").write_bytes(self.bases[1].file.raw)
        some = [*OPERATIONS[:4], OPERATIONS[6], OPERATIONS[-1]]
        warm = [(i, command) for i, one in enumerate(some) for command in (*one.before, *one.commands)]
        places = {"study": "warm-study-{}", "best": "warm-best-{}", RANKING: "warm.parquet"}
        return Worker(home, [[places.get(word, word).format(i) for word in command] for i, command in warm])

    def one(self, worker: Worker, rng: random.Random, number: int) -> None:
        """Damage one file in one way, and try two operations on it."""
        base = rng.choice(self.bases)
        damage = damage_parquet(rng, base.file)
        raw = damage.apply(base.file.raw)
        if raw == base.file.raw:
            return
        self.journal.tried["damaged rankings"] += 1
        for operation in rng.sample(OPERATIONS, 2):
            outcome = self.outcome(worker, base, operation, damage)
            if self.journal.note(operation.name, outcome):
                self._keep(worker, base, operation, damage, outcome)

    def outcome(self, worker: Worker, base: Base, operation: Operation, damage: Damage) -> Outcome:
        """What an operation does with a damaged file."""
        done, found = _run(worker, operation, base, damage.apply(base.file.raw))
        ended = outcomes.of_run(done, NAMED, _MEMORY_KB)
        if ended is not None:
            return ended
        if found == self._expected(worker, base, operation):
            return Outcome(outcomes.SAME)
        return self._different(worker, base, operation, damage, found)

    def _expected(self, worker: Worker, base: Base, operation: Operation) -> str:
        if operation.name not in base.results:
            done, found = _run(worker, operation, base, base.file.raw)
            if found is None:
                raise RuntimeError(f"{operation.name} fails on the undamaged {base.name}: {done[-1].err}")
            base.results[operation.name] = found
        return base.results[operation.name]

    def _contradictions(self, worker: Worker, operation: Operation) -> list[str]:
        answer = worker.run([[CONTRADICTIONS, RANKING, *operation.columns]])[-1]
        return answer.out.split("\n")[:-1] if answer.status == 0 else ["structure (a reader dies of it)"]

    def _is_of_one_part(
        self, worker: Worker, base: Base, operation: Operation, damage: Damage, found: str | None
    ) -> bool:
        """Whether a part of the damage that contradicts nothing gives that result: the rest is not read."""
        for splice in damage.splices if len(damage.splices) > 1 else ():
            part = Damage(damage.way, damage.site, damage.said, (splice,))
            if len(splice[2]) == splice[1] and _run(worker, operation, base, part.apply(base.file.raw))[1] == found:
                return not self._contradictions(worker, operation)
        return False

    def _different(
        self, worker: Worker, base: Base, operation: Operation, damage: Damage, found: str | None
    ) -> Outcome:
        contradictions = self._contradictions(worker, operation)
        site = site_of(base.file, damage)
        if not contradictions:
            return Outcome(outcomes.UNSHOWN, site)
        if operation.windows and set(contradictions) <= {*consistent.WHOLE_GROUP, "null count of a column"}:
            return Outcome(outcomes.UNREAD, f"{site} ({contradictions[0]})")
        bounds = ".statistics" in site or site.startswith("column index")
        if bounds and all("bounds" in one for one in contradictions):
            return Outcome(outcomes.UNREAD, f"{site}: bounds that rule out rows")
        if self._is_of_one_part(worker, base, operation, damage, found):
            return Outcome(outcomes.UNREAD, f"{site}: one of two places")
        return Outcome(outcomes.SILENT, f"{contradictions[0]}, by {damage.way} in {site}")

    def _keep(self, worker: Worker, base: Base, operation: Operation, damage: Damage, outcome: Outcome) -> None:
        """Reduce a failure, and see whether a process of its own fails as well."""
        if outcome.kind != outcomes.HANG:

            def still(smaller: Damage) -> bool:
                found = self.outcome(worker, base, operation, smaller)
                return found.kind == outcome.kind and (
                    outcome.kind == outcomes.SILENT or found.detail == outcome.detail
                )

            damage = reduce(damage, base.file.raw, still)
        raw = damage.apply(base.file.raw)
        again = _alone(fresh(worker.home / "alone"), operation, base, raw)
        ended = outcomes.of_run(again, NAMED, _MEMORY_KB + outcomes.START_KB)
        agrees = (ended.kind if ended else outcomes.SILENT) == outcome.kind
        script = [as_shell(one) for one in operation.before]
        script = ["cp undamaged.parquet ranking.parquet", *script, "cp damaged.parquet ranking.parquet"]
        script += [as_shell(one) for one in operation.commands]
        files = {"undamaged.parquet": base.file.raw, "damaged.parquet": raw, "truth.csv": _truth().encode()}
        facts = {"file": base.name, "way": damage.way, "site": site_of(base.file, damage), "change": damage.said,
                 "alone the same": agrees, "stderr": again[-1].err[-2000:]}  # fmt: skip
        self.journal.save(operation.name, outcome, files, script, facts)


def _truth() -> str:
    labels = writers.table(False).column("label").to_pylist()
    return "rank,label\n" + "".join(f"{i + 1},{label}\n" for i, label in enumerate(labels))


def _run(worker: Worker, operation: Operation, base: Base, raw: bytes) -> tuple[list[Done], str | None]:
    """Run an operation in a worker; its result where it ended well."""
    home, prepared = worker.home, worker.home / "prepared" / base.name / operation.name
    ranking, study = home / RANKING, home / "study"
    worker.ready()
    for place in (study, home / "best"):
        shutil.rmtree(place, ignore_errors=True)
    if operation.before and not prepared.exists():
        ranking.unlink(missing_ok=True)
        ranking.write_bytes(base.file.raw)
        done = worker.run(operation.before)
        if done[-1].status != 0:
            raise RuntimeError(f"{operation.name} fails on the undamaged {base.name}: {done[-1].err}")
        shutil.copytree(study, prepared)
        shutil.rmtree(study)
    if operation.before:
        shutil.copytree(prepared, study)
    ranking.unlink(missing_ok=True)
    ranking.write_bytes(raw)
    done = worker.run(operation.commands)
    if done[-1].status != 0:
        return done, None
    try:
        return done, hashlib.sha256(operation.result(home, done).encode(errors="replace")).hexdigest()
    except (ValueError, OSError, KeyError, ArithmeticError) as error:
        return done, f"what was written cannot be read ({type(error).__name__})"


def _alone(folder: Path, operation: Operation, base: Base, raw: bytes) -> list[Done]:
    """The same operation, each command in a process of its own."""
    (folder / "truth.csv").write_text(_truth())
    (folder / RANKING).write_bytes(base.file.raw)
    done = []
    for commands in (operation.before, operation.commands):
        for command in commands:
            done.append(alone(command, folder))
            if done[-1].status != 0:
                return done
        (folder / RANKING).unlink()
        (folder / RANKING).write_bytes(raw)
    return done


def site_of(file: layout.Parquet, damage: Damage) -> str:
    """What damaged bytes were for: of a footer or an index, the field."""
    if damage.site not in ("footer", "page header", "column index", "offset index"):
        return damage.site
    at = damage.splices[-1][0]
    struct, first = file.footer, file.footer_at
    if damage.site != "footer":
        starts = [a for a, b, kind in layout.regions(file) if kind == damage.site and a <= at < b]
        first = starts[-1]
        struct = thrift.decode(file.raw, first)[0]
    raw = damage.apply(file.raw)
    try:
        other = thrift.decode(raw, first)[0]
    except (ValueError, IndexError):
        return damage.site
    before = {
        str(path): (layout.name_of(damage.site, path), one.kind, repr(one.value)) for path, one in thrift.leaves(struct)
    }
    after = {
        str(path): (layout.name_of(damage.site, path), one.kind, repr(one.value)) for path, one in thrift.leaves(other)
    }
    changed = [after.get(path, one)[0] for path, one in before.items() if after.get(path) != one]
    return changed[-1] if changed else damage.site
