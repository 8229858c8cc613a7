"""A judge that is a program: it reads items as lines of JSON and writes answers as such, each on the disk as it comes.

The program reads `{"se_task": 5000000001, "text": "…"}`, and writes `{"se_task": 5000000001, "label": 0.93}` whenever
it likes and in any order: one process gets all items, so that a model is loaded once and may answer in batches.
Answers are in votes/judge.jsonl (`streameval.study.answer_journal`); whatever has none is asked again.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, OutsideError
from streameval.judges.values import UNDERSTOOD, meant_by
from streameval.labelling.exports.cells import dumps, records
from streameval.progress import Progress
from streameval.study import Study
from streameval.study.answer_journal import Journal, PageAnswer
from streameval.study.judge_sample import view
from streameval.study.tasks import first_judged, task_numbers
from streameval.study.vote_store import refuse_foreign
from streameval.text import number_of, printable, short
from streameval.text.json_objects import RepeatedKeyError, with_keys_once
from streameval.types import Plan
from streameval.typing import FloatArray

NAME = "judge.jsonl"
_AGAIN = "answers that were taken are kept, and the same command asks for the others"
_PATIENCE = 5  # seconds in which a program that is not needed any more may end
_LONGEST = 1 << 20  # bytes of an answer
_MOST_UNREADABLE = 100  # lines in a row, of a program that does something else than judge


@dataclass(frozen=True)
class JudgeProgram:
    """A program that judges.

    Attributes:
        command: Its name and arguments, as in a shell; nothing of a shell is understood but quotes.
        rate: Items that it is given in a second at most; None for as many as it takes.
    """

    command: str
    rate: float | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without running it."""
        try:
            words = self.words
        except ValueError as error:
            raise InputError(f"--command is '{self.command}', which cannot be read ({error})") from None
        if not words:
            raise InputError("--command is empty", "--command ./ask.sh")
        if self.rate is not None and not 0 < self.rate < float("inf"):
            raise InputError(f"--rate is {self.rate:g}", "items a second, above 0")

    @property
    def words(self) -> list[str]:
        """Name and arguments."""
        return shlex.split(self.command)

    @property
    def name(self) -> str:
        """Say what it is called in messages."""
        return short(printable(self.words[0]))

    @property
    def annotator(self) -> str:
        """Say what it is called as the annotator: with the file that it runs, since many programs are called python."""
        script = [word for word in self.words[1:] if os.path.isfile(word)][:1]  # no more of it: a key may be in it
        return short(printable(" ".join([self.words[0], *script])))


def asked_of(folder: Study, plan: Plan, items: pa.Table, program: JudgeProgram, progress: Progress) -> FloatArray:
    """Ask a program about every item of a judge's sample that it has not answered yet.

    Args:
        items: `se_study`, `se_task`, and the columns to show.

    Returns:
        float64 array: What it says of each item in the order of the sample; NaN where it says that it does not know.

    Raises:
        InputError: It cannot be run, left items out, or gave answers that cannot be read. All other answers are kept.
        OutsideError: It ended with another status than 0; another process asks; full disk. All answers are kept.
    """
    sample = view(plan)
    tasks = task_numbers(sample, first_judged(plan)).tolist()
    with closing(Journal(folder.labels.folder, 0, NAME)) as journal:
        studies = [line["se_study"] for line in journal.lines]
        refuse_foreign(folder.labels.folder / NAME, studies, plan.study_ids, "remove it, and every item is asked about")
        answers = _ProgramAnswers(journal, plan.plan_id, dict(zip(tasks, sample.ranks.tolist(), strict=True)), program)
        still = [task not in answers.said for task in items.column("se_task").to_pylist()]
        lines = (dumps(record) for record in records(items.drop_columns(["se_study"]).filter(pa.array(still))))
        trouble: ChildProcessError | None = None
        try:
            with closing(_spoken(program, lines if any(still) else None)) as spoken:
                for some in spoken:
                    answers.take(some)
                    progress(len(answers.said), len(tasks))
        except ChildProcessError as error:
            trouble = error
        answers.refuse_what_is_missing(trouble)
        return np.array([answers.said[task] for task in tasks], float)


class _EndedEarlyError(ChildProcessError):
    """The program has failed, and the same command may go on."""


class _ProgramAnswers:
    """Answers of a program, written to disk as soon as they arrive."""

    def __init__(self, journal: Journal, study: str, ranks: Mapping[int, int], program: JudgeProgram) -> None:
        self._journal, self._study, self._ranks, self._program = journal, study, ranks, program
        self._read, self._bad, self._in_a_row = 0, 0, 0
        self._first = ""
        self.said = {line["se_task"]: meant_by(line["label"]) for line in journal.lines if line["se_task"] in ranks}

    def take(self, lines: Iterable[bytes]) -> None:
        """Keep the answers of some lines; those that cannot be read are counted.

        Raises:
            ChildProcessError: Too many in a row cannot be read; what came before them is kept.
        """
        new: dict[int, PageAnswer] = {}
        now = datetime.now(UTC)
        for line in lines:
            self._read += 1
            try:
                task, label = self._answer(line)
                if task in self.said or task in new:
                    raise ValueError(f"task {task} has an answer already")
            except ValueError as error:
                self._bad, self._in_a_row = self._bad + 1, self._in_a_row + 1
                self._first = self._first or f"line {self._read:,}: {error}"
                if self._in_a_row == _MOST_UNREADABLE:
                    break
                continue
            self._in_a_row = 0
            new[task] = PageAnswer(str(task), self._study, task, self._ranks[task], label, self._program.annotator, now)
        self._journal.add(list(new.values()))
        self.said |= {task: meant_by(answer.label) for task, answer in new.items()}
        if self._in_a_row == _MOST_UNREADABLE:
            raise ChildProcessError(f"was stopped: {_MOST_UNREADABLE} of its lines in a row are no answers")

    def _answer(self, line: bytes) -> tuple[int, str]:
        """Task and answer of a line; a `ValueError` says what is wrong with it."""
        shown = short(printable(line[:200].decode("utf-8", "replace").strip()))
        try:
            record = json.loads(line, object_pairs_hook=with_keys_once)
        except RepeatedKeyError as error:
            raise ValueError(f"'{shown}' has {error}") from None
        except (ValueError, RecursionError):
            raise ValueError(f"'{shown}' is no JSON") from None
        if not isinstance(record, dict) or "se_task" not in record or "label" not in record:
            raise ValueError(f"'{shown}' is no object with se_task and label")
        task, label = _task_number(record["se_task"]), record["label"]
        if not isinstance(task, int) or task not in self._ranks:
            raise ValueError(f"se_task {short(printable(json.dumps(record['se_task'])))} was not asked about")
        answer = {True: "1", False: "0", None: "skip"}.get(label) if isinstance(label, bool | None) else str(label)
        if answer is None or not (np.isnan(value := meant_by(answer)) or 0 <= value <= 1):
            raise ValueError(f"label '{short(printable(str(label)))}' of task {task}; {UNDERSTOOD}")
        return task, answer

    def refuse_what_is_missing(self, trouble: ChildProcessError | None) -> None:
        """Raise an error unless every item has an answer, and every answer was taken."""
        missing = len(self._ranks) - len(self.said)
        if not (trouble or self._bad or missing):
            return
        bad = f"{number_of(self._bad, 'answer')} cannot be taken ({self._first})" if self._bad else ""
        state = f"{len(self.said):,} of {number_of(len(self._ranks), 'item')} have an answer"
        kind = OutsideError if isinstance(trouble, _EndedEarlyError) else InputError
        raise kind(f"{self._program.name}: {'; '.join(filter(None, [str(trouble or ''), bad, state]))}", _AGAIN)


def _task_number(task: Any) -> Any:
    """The number of a task that a program wrote as text, or as a float; anything else as it is.

    >>> _task_number(" 5000000001"), _task_number(5000000001.0), _task_number("five")
    (5000000001, 5000000001, 'five')
    """
    if isinstance(task, str) and task.strip().isdecimal():
        return int(task)
    return int(task) if isinstance(task, float) and task.is_integer() else task


def _spoken(program: JudgeProgram, lines: Iterable[str] | None) -> Generator[list[bytes]]:
    """Give a program lines, and yield those that it writes as they come; a `ChildProcessError` where it fails.

    Where there are no lines to give, it is not run.
    """
    if lines is None:
        return
    over = threading.Event()
    with tempfile.TemporaryFile() as errors:
        try:
            run = subprocess.Popen(program.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise ChildProcessError(f"cannot be run ({error.strerror or error})") from None
        writer = threading.Thread(target=_write, args=(run.stdin, lines, program.rate, over), daemon=True)
        writer.start()
        with run:
            try:
                yield from _lines(run.stdout)
                status = run.wait()
            finally:
                over.set()
                _end(run)
                writer.join()
        if status:
            errors.seek(0)
            last = errors.read()[-2_000:].decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise _EndedEarlyError(f"ended with status {status}" + (f" ({printable(last)})" if last else ""))


def _end(run: subprocess.Popen[bytes]) -> None:
    run.terminate()
    with suppress(subprocess.TimeoutExpired):
        run.wait(_PATIENCE)
    run.kill()
    run.wait()


def _write(stream: IO[bytes], lines: Iterable[str], rate: float | None, over: threading.Event) -> None:
    began = time.monotonic()
    with suppress(BrokenPipeError, ValueError), closing(stream):
        for number, line in enumerate(lines):
            if over.wait(delay(number, rate, time.monotonic() - began)):
                return
            stream.write(line.encode() + b"\n")
            stream.flush()


def delay(number: int, rate: float | None, passed: float) -> float:
    """Seconds to wait before an item, counted from 0, is given, `passed` seconds after the first.

    >>> delay(10, 5, 0.5), delay(10, 5, 3), delay(10, None, 0)
    (1.5, 0.0, 0.0)
    """
    return max(0.0, number / rate - passed) if rate else 0.0


def _lines(stream: Any) -> Iterator[list[bytes]]:
    """Whole lines, as many as there are at a time."""
    rest = b""
    while content := stream.read1(1 << 16):
        *whole, rest = (rest + content).split(b"\n")
        if len(rest) > _LONGEST:
            raise ChildProcessError(f"an answer is longer than {_LONGEST:,} bytes")
        if complete := [line for line in whole if line.strip()]:
            yield complete
    if rest.strip():
        yield [rest]
