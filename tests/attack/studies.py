"""Damaged files of a study, against every verb that reads one: the same values, or a refusal in one line."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from attack import layout, outcomes, writers
from attack.damage import BYTES, Damage, damage_parquet, flip_bit, reduce
from attack.journal import Journal
from attack.outcomes import Outcome
from attack.tables import BEFORE
from attack.worker import Commands, Done, Worker, alone, as_shell, fresh

_MEMORY_KB = 1_500_000


def labels(first: int, people: str = "ann") -> str:
    """A label table of the first half of the ranks, or the second; planned or not."""
    rows = [f"{rank},{int(rank % 7 < 5)},{people}\n" for rank in range(first, first + 180)]
    return "rank,label,annotator\n" + "".join(rows)


FILES = {"first.csv": labels(1), "second.csv": labels(181, "bob"), "more.csv": labels(1, "cy")}
PREPARE = (
    *BEFORE,
    ("evaluate", "study", "--labels", "first.csv"),
    ("evaluate", "study", "--labels", "second.csv"),
    ("exact", "ranking.parquet", "--label", "label", "--out", "other"),
)


@dataclass(frozen=True)
class Question:
    """A verb that reads a study, and what it said, in words that are equal where answers are."""

    name: str
    command: Sequence[str]
    answer: Callable[[Path, Done], str]


def _said(folder: Path, done: Done) -> str:
    return done.out


def _evaluated(folder: Path, done: Done) -> str:
    said = json.loads(done.out)
    for one in said["sources"]:
        one.pop("new", None)
    tables = [
        pq.read_table(folder / "study" / f"{name}.parquet").to_pylist() for name in ("curve", "metrics", "labels")
    ]
    return repr((said, tables))


def _cut(folder: Path, done: Done) -> str:
    return repr([pq.read_table(path).to_pylist() for path in sorted((folder / "best").glob("*.parquet"))])


def _written(name: str) -> Callable[[Path, Done], str]:
    return lambda folder, done: hashlib.sha256((folder / name).read_bytes()).hexdigest()


def _sql(query: str) -> Question:
    return Question("sql", ("sql", "study", query, "--json"), _said)


QUESTIONS = (
    Question("show", ("show", "study", "precision@100", "rank@precision:0.6", "--json"), _said),
    Question("labels", ("labels", "study", "--json"), _said),
    _sql("SELECT * FROM metrics"),
    _sql("SELECT * FROM labels ORDER BY rank"),
    _sql("SELECT * FROM selection ORDER BY rank"),
    _sql("SELECT precision_at(100), rank_at_precision(0.6)"),
    Question("evaluate", ("evaluate", "study", "--json"), _evaluated),
    Question("evaluate, more labels", ("evaluate", "study", "--labels", "more.csv", "--json"), _evaluated),
    Question("cut", ("cut", "study", "150", "--out", "best", "--json"), _cut),
    Question("report", ("report", "study", "--out", "drawn.html"), _written("drawn.html")),
    Question("compare", ("compare", "study", "other", "--json"), _said),
    Question("select, tasks", ("select", "study", "--export", "tasks.csv"), _written("tasks.csv")),
)


class Studies:
    """The class of attack."""

    name = "studies"

    def __init__(self, folder: Path, journal: Journal) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.ranking, self.journal = writers.write("arrow-crc", folder), journal
        self.expected: dict[tuple[Path, str], str] = {}  # pages hold the path of the ranking

    def worker(self, home: Path) -> Worker:
        fresh(home)
        shutil.copyfile(self.ranking, home / "ranking.parquet")
        for name, text in FILES.items():
            (home / name).write_text(text)
        places = {"study": "warm", "other": "warm-other", "best": "warm-best"}
        warm: Commands = [[places.get(word, word) for word in one] for one in PREPARE]
        return Worker(home, warm)

    def one(self, worker: Worker, rng: random.Random, number: int) -> None:
        self._prepare(worker)
        template = worker.home / "template"
        files = sorted(str(path.relative_to(template)) for path in template.rglob("*") if path.is_file())
        name = rng.choice(files)
        raw = (template / name).read_bytes()
        damage = _damage(rng, name, raw)
        self.journal.tried["damaged studies"] += 1
        for question in rng.sample(QUESTIONS, 3):
            outcome = self.outcome(worker, question, name, damage.apply(raw))
            if outcome.kind == outcomes.SILENT:
                shown = "votes" if name.startswith("votes/") else name
                outcome = Outcome(outcome.kind, f"{outcome.detail}, by {damage.way} in {shown}")
            if self.journal.note(question.name, outcome):
                self._keep(worker, question, name, damage, outcome)

    def _prepare(self, worker: Worker) -> None:
        if (worker.home / "template").exists():
            return
        done = worker.run(PREPARE)
        if done[-1].status != 0:
            raise RuntimeError(done[-1].err)
        (worker.home / "study").rename(worker.home / "template")

    def _ask(self, worker: Worker, question: Question, name: str | None, raw: bytes) -> tuple[Done, str]:
        home = worker.home
        for place in ("study", "best"):
            shutil.rmtree(home / place, ignore_errors=True)
        shutil.copytree(home / "template", home / "study")
        if name is not None:
            (home / "study" / name).write_bytes(raw)
        worker.ready()
        done = worker.run([question.command])[-1]
        if done.status != 0:
            if name is None:
                raise RuntimeError(f"{as_shell(question.command)} fails on the undamaged study: {done.err}")
            return done, ""
        try:
            answer = question.answer(home, done)
        except (ValueError, OSError, KeyError, ArithmeticError) as error:
            answer = f"what was written cannot be read ({type(error).__name__})"
        if name is None:
            self.expected[home, as_shell(question.command)] = answer
        return done, answer

    def outcome(self, worker: Worker, question: Question, name: str, raw: bytes) -> Outcome:
        """What a verb does with a study of which one file is damaged."""
        if (worker.home, as_shell(question.command)) not in self.expected:
            self._ask(worker, question, None, b"")
        done, answer = self._ask(worker, question, name, raw)
        ended = outcomes.of_run([done], [Path(name).name, "study"], _MEMORY_KB)
        if ended is not None:
            return ended
        same = answer == self.expected[worker.home, as_shell(question.command)]
        return Outcome(outcomes.SAME) if same else Outcome(outcomes.SILENT, "another answer")

    def _keep(self, worker: Worker, question: Question, name: str, damage: Damage, outcome: Outcome) -> None:
        raw = (worker.home / "template" / name).read_bytes()

        def still(smaller: Damage) -> bool:
            return self.outcome(worker, question, name, smaller.apply(raw)).kind == outcome.kind

        if outcome.kind != outcomes.HANG:
            damage = reduce(damage, raw, still)
        folder = fresh(worker.home / "alone")
        for file in ("ranking.parquet", *FILES):
            shutil.copyfile(worker.home / file, folder / file)
        for source, target in (("template", "study"), ("other", "other")):
            shutil.copytree(worker.home / source, folder / target)
        (folder / "study" / name).write_bytes(damage.apply(raw))
        again = alone(question.command, folder)
        files: dict[str, Path | bytes] = {"ranking.parquet": self.ranking, "damaged": damage.apply(raw)}
        files |= {file: text.encode() for file, text in FILES.items()}
        command = as_shell(question.command)
        script = [*map(as_shell, PREPARE), command, "rm -rf best", f"cp damaged study/{name}", command]
        facts = {"file": name, "change": damage.said, "status alone": again.status, "stderr": again.err[-2000:]}
        self.journal.save(question.name, outcome, files, script, facts)


def _damage(rng: random.Random, name: str, raw: bytes) -> Damage:
    if not raw:
        return Damage("put in", name, "a byte", ((0, 0, b"\0"),))
    if name.endswith(".parquet") and rng.random() < 0.3:
        return damage_parquet(rng, layout.read(raw))
    at = rng.randrange(len(raw))
    return flip_bit(rng, raw, at, name) if rng.random() < 0.6 else rng.choice(BYTES)(rng, raw, at, name)
