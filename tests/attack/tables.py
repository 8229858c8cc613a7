"""Damaged label tables of every format, against `evaluate`: every row has one fate, and the account adds up."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from attack import layout, outcomes, writers
from attack.damage import BYTES, Damage, damage_parquet, reduce
from attack.journal import Journal
from attack.outcomes import Outcome
from attack.worker import Done, Worker, alone, as_shell, fresh

FATES = (
    "votes", "again", "superseded", "outranked", "repeat", "control", "skipped", "blank", "unreadable", "unknown",
    "unplanned",
)  # fmt: skip
PLAN = ("plan", "ranking.parquet", "--study", "study", "--seed", "7", "--budget", "40")
BEFORE = (PLAN, ("select", "study"))
_MEMORY_KB = 1_000_000


def _rows(tasks: dict[int, int]) -> list[dict[str, Any]]:
    """A row for every task, some of two people; and some that are blank, unreadable, unknown or not planned."""
    rows = []
    for task, rank in tasks.items():
        for who in ("ann", "bob")[: 1 + task % 2]:
            rows.append(
                {"rank": rank, "label": (task * 7 + len(who)) % 3 % 2, "annotator": who, "note": f"row {task}, é"}
            )
    first, second = rows[0]["rank"], rows[1]["rank"]
    rows += [
        {"rank": 359, "label": 1, "annotator": "ann"},
        {"rank": first, "label": "", "annotator": "cy"},
        {"rank": second, "label": "perhaps", "annotator": "cy"},
        {"rank": 99999, "label": 1, "annotator": "cy"},
    ]
    return [{"note": "", **row} for row in rows]


def _delimited(sign: str) -> Callable[[Any], bytes]:
    def write(tasks: Any) -> bytes:
        out = io.StringIO()
        table = csv.DictWriter(out, ["rank", "label", "annotator", "note"], delimiter=sign, lineterminator="\n")
        table.writeheader()
        table.writerows(_rows(tasks))
        return out.getvalue().encode()

    return write


def _parquet(tasks: Any) -> bytes:
    rows = [row for row in _rows(tasks) if row["label"] in (0, 1)]
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out, row_group_size=20, write_page_checksum=True)
    return out.getvalue()


def _label_studio(tasks: Any) -> bytes:
    def annotation(task: int, who: int) -> dict[str, Any]:
        choice = {"choices": ["positive" if (task + who) % 3 else "negative"]}
        result = [{"from_name": "label", "to_name": "text", "type": "choices", "value": choice}]
        return {"id": task, "completed_by": who, "result": result if task % 9 else [], "was_cancelled": task % 9 == 0}

    return json.dumps(
        [
            {"id": t, "annotations": [annotation(t, 1), annotation(t, 2)], "data": {"se_task": t, "text": "é"}}
            for t in tasks
        ]
    ).encode()


def _prodigy(tasks: Any) -> bytes:
    answers = ("accept", "reject", "ignore")
    rows = [
        {"se_task": t, "text": "é", "answer": answers[t % 3], "_timestamp": 1_700_000_000 + t, "_annotator_id": "ann",
         "_input_hash": t, "_task_hash": t} for t in tasks
    ]  # fmt: skip
    return "\n".join(map(json.dumps, rows)).encode()


FORMATS: dict[str, tuple[str, Callable[[Any], bytes]]] = {
    "CSV": ("labels.csv", _delimited(",")),
    "TSV": ("labels.tsv", _delimited("\t")),
    "JSON": ("labels.json", lambda tasks: json.dumps(_rows(tasks)).encode()),
    "JSONL": ("labels.jsonl", lambda tasks: "".join(json.dumps(row) + "\n" for row in _rows(tasks)).encode()),
    "Label Studio": ("labels.json", _label_studio),
    "Prodigy": ("labels.jsonl", _prodigy),
    "Parquet": ("labels.parquet", _parquet),
}
# what text files suffer: half-transferred, edited on another system, glued together
_PIECES = (
    b'"',
    b"\0",
    b"\r",
    b"\n",
    b"\r\n",
    b"\xff",
    b"\xef\xbb\xbf",
    b",",
    b"\t",
    b"{",
    b"[",
    b"}",
    b"\\",
    b"\x1a",
    b" " * 3000,
)


def _text_damage(rng: random.Random, raw: bytes) -> Damage:
    at = rng.randrange(len(raw))
    if rng.random() < 0.5:
        return rng.choice(BYTES)(rng, raw, at, "text")
    start, end = raw.rfind(b"\n", 0, at) + 1, raw.find(b"\n", at) + 1 or len(raw)
    if rng.random() < 0.6:
        piece = rng.choice(_PIECES)
        return Damage("put in", "text", f"{piece[:4]!r} at {at}", ((at, 0, piece),))
    line = rng.choice((b"", raw[start:end] * 2, raw[start:end].rstrip(b"\n"), raw[start:end].replace(b"\n", b"\r\n")))
    return Damage("line", "text", f"line at {start} is {line[:30]!r}", ((start, end - start, line),))


class Tables:
    """The class of attack."""

    name = "label tables"

    def __init__(self, folder: Path, journal: Journal) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.ranking, self.journal = writers.write("arrow-crc", folder), journal
        self.raw: dict[str, bytes] = {}

    def worker(self, home: Path) -> Worker:
        fresh(home)
        shutil.copyfile(self.ranking, home / "ranking.parquet")
        (home / "warm.csv").write_text("rank,label\n1,1\n")
        evaluate = ("evaluate", "warm", "--labels", "warm.csv")
        warm = [["warm" if word == "study" else word for word in one] for one in BEFORE]
        return Worker(home, [*warm, evaluate])

    def one(self, worker: Worker, rng: random.Random, number: int) -> None:
        self._prepare(worker)
        form = rng.choice(sorted(FORMATS))
        raw = self.raw[form]
        is_parquet = form == "Parquet"
        damage = damage_parquet(rng, layout.read(raw)) if is_parquet else _text_damage(rng, raw)
        self.journal.tried["damaged label tables"] += 1
        outcome = self.outcome(worker, form, damage)
        what = f"evaluate, {form}"
        if self.journal.note(what, outcome):

            def still(smaller: Damage) -> bool:
                found = self.outcome(worker, form, smaller)
                return (found.kind, found.detail) == (outcome.kind, outcome.detail)

            self._keep(worker, what, form, reduce(damage, raw, still), outcome)

    def _prepare(self, worker: Worker) -> None:
        if (worker.home / "template").exists():
            return
        worker.ready()
        done = worker.run(BEFORE)
        if done[-1].status != 0:
            raise RuntimeError(done[-1].err)
        (worker.home / "study").rename(worker.home / "template")
        selection = pq.read_table(worker.home / "template/selection.parquet", columns=["se_task", "rank"])
        tasks = dict(zip(*(column.to_pylist() for column in selection.columns), strict=True))
        self.raw = {form: write(tasks) for form, (_, write) in FORMATS.items()}

    def outcome(self, worker: Worker, form: str, damage: Damage) -> Outcome:
        """Evaluate with a damaged table, and add up."""
        name, home = FORMATS[form][0], worker.home
        shutil.rmtree(home / "study", ignore_errors=True)
        shutil.copytree(home / "template", home / "study")
        raw = damage.apply(self.raw[form])
        (home / name).write_bytes(raw)
        done = worker.run([["evaluate", "study", "--labels", name, "--json"]])
        ended = outcomes.of_run(done, [name], _MEMORY_KB)
        return ended or _added_up(done[-1], form, raw)

    def _keep(self, worker: Worker, what: str, form: str, damage: Damage, outcome: Outcome) -> None:
        name, raw = FORMATS[form][0], damage.apply(self.raw[form])
        evaluate = ["evaluate", "study", "--labels", name, "--json"]
        folder = fresh(worker.home / "alone")
        shutil.copyfile(self.ranking, folder / "ranking.parquet")
        shutil.copytree(worker.home / "template", folder / "study")
        (folder / name).write_bytes(raw)
        again = alone(evaluate, folder)
        files = {"ranking.parquet": self.ranking, name: raw}
        facts = {"change": damage.said, "status alone": again.status, "stderr": again.err[-2000:]}
        self.journal.save(what, outcome, files, [as_shell(one) for one in (*BEFORE, evaluate)], facts)


def _added_up(done: Done, form: str, raw: bytes) -> Outcome:
    """Whether each row has one fate, and whether the rows are those of the file, where these can be counted simply."""
    said = json.loads(done.out)
    rows, fates = sum(one["rows"] for one in said["sources"]), sum(said["account"][fate] for fate in FATES)
    # these two may be votes at the same time, where nobody is named
    doubtful = said["account"]["doubled"] + said["account"]["contradictory"]
    if not fates <= rows <= fates + doubtful:
        return Outcome(outcomes.SILENT, "fates do not add up to the rows")
    there = _count(form, raw)
    if there is not None and there != rows:
        return Outcome(outcomes.SILENT, "rows vanish" if rows < there else "rows appear")
    return Outcome(outcomes.SAME if there is not None else outcomes.UNCOUNTED, form)


def _count(form: str, raw: bytes) -> int | None:
    """Rows of a file, by another reader than streameval's; None where readers may differ."""
    if form == "Parquet":
        return None
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    if form == "JSON":
        try:
            return len(json.loads(text))
        except (ValueError, TypeError):
            return None
    if form == "Label Studio" or ('"' in text and form != "JSONL" and form != "Prodigy") or {"\r", "\0"} & set(text):
        return None
    lines = [line for line in text.split("\n") if line.strip()]
    return len(lines) - (form in ("CSV", "TSV"))
