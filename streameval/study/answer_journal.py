"""Answers as they are given, one after another, in votes/page.jsonl of a study.

Each line is one answer, as JSON that any program reads and `evaluate --labels` too; the last key is a checksum of what
stands before it. Lines are only ever appended, and are on the disk before the answer is acknowledged. A line that has
no end was never acknowledged: readers pass it over, and the next writer takes it away.

Editors and programs that copy files replace them: what is appended then is lost with the file that was there before. So
no answer is acknowledged unless the file at the path is the one that was opened, of the length that is known, and not
modified since the last answer. Who may append holds a lock beside it, which nobody has a reason to replace.
"""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from streameval.errors import OutsideError, outside_trouble
from streameval.labelling.votes import SCHEMA
from streameval.process.system import sync
from streameval.stores import atomic
from streameval.stores.locks import lock
from streameval.stores.own_files import UNUSABLE, unusable

NAME, IDENTITY = "page.jsonl", "page"
_RESTORE = "restore the file, or take the damaged line out of it"
_REPLACED = "put the file back as it was, and start this command again: what was not acknowledged is still on the page"
_INSTANT = timedelta(microseconds=1)
_VALUES = {"1": 1.0, "0": 0.0}


@dataclass(frozen=True)
class PageAnswer:
    """Answer of one person to one task.

    Attributes:
        id: Of the answer: the same sent again counts once.
        label: "1", "0" or "skip"; of a judge also a probability.
        took: Seconds that the task was on the screen.
    """

    id: str
    study: str
    task: int
    rank: int
    label: str
    annotator: str
    time: datetime
    note: str = ""
    took: float = 0.0


def _line(answer: PageAnswer, n_tasks: int) -> bytes:
    plain = {"se_study": answer.study, "se_task": answer.task, "rank": answer.rank, "label": answer.label,
             "annotator": answer.annotator, "time": answer.time.isoformat(), "note": answer.note,
             "took": round(answer.took, 1), "id": answer.id, "given": n_tasks}  # fmt: skip
    text = json.dumps(plain, ensure_ascii=False)[:-1]
    return f'{text}, "crc": {_sum(text)}}}\n'.encode("utf-8", "replace")


def _sum(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "replace"))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Answers in the order in which they came; a `StudyError` for a damaged line."""
    try:
        return list(_lines(path.read_bytes()))
    except FileNotFoundError:
        return []
    except UNUSABLE as error:
        raise unusable(path, error, _RESTORE) from error


def _lines(content: bytes) -> Iterator[dict[str, Any]]:
    whole = content[: content.rfind(b"\n") + 1].decode()
    for number, line in enumerate(whole.split("\n")[:-1], 1):
        text, mark, rest = line.rpartition(', "crc": ')
        if not mark or rest != f"{_sum(text)}}}":
            raise ValueError(f"line {number:,} is not as it was written")
        yield json.loads(text + "}")


def votes_of(lines: Sequence[dict[str, Any]]) -> pa.Table:
    """Answers as votes: columns of `streameval.labelling.votes.SCHEMA`."""
    rows = [
        {"rank": line["rank"], "value": _VALUES.get(line["label"]), "annotator": line["annotator"],
         "state": "answer" if line["label"] in _VALUES else "skip", "time": datetime.fromisoformat(line["time"]),
         "row": number, "line": number, "task": line["se_task"], "ours": True}
        for number, line in enumerate(lines, 1)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, SCHEMA)


class Journal:
    """The answers of a study, to be added to by one process at a time, from any of its threads.

    Attributes:
        lines: All answers so far, in the order in which they came.
    """

    def __init__(self, folder: Path, n_tasks: int, name: str = NAME) -> None:
        """Open it for adding.

        Args:
            folder: `votes/` of a study.
            n_tasks: Number of the source, where these are its first answers.
            name: Of the file.

        Raises:
            OutsideError: Another process adds to it.
            StudyError: It is damaged.
        """
        self._path = folder / name
        atomic.make_folder(folder)
        self._lock = _lock_handle(folder / f".{name}.lock", self._path)
        self._file = -1
        self._one_at_a_time = threading.Lock()
        try:
            self._open(n_tasks)
        except BaseException:  # nobody has it to close
            self.close()
            raise

    def _open(self, n_tasks: int) -> None:
        """Open the file, read what is there, and take a line without an end away."""
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o666)
        sync(str(self._path.parent))
        self.lines = read_lines(self._path)
        self._ids = {(line["annotator"], line["id"]) for line in self.lines}
        self._last = {(line["annotator"], line["se_task"]): datetime.fromisoformat(line["time"]) for line in self.lines}
        self._given = self.lines[0]["given"] if self.lines else n_tasks
        content = self._path.read_bytes()
        self._length = content.rfind(b"\n") + 1
        os.ftruncate(self._file, self._length)
        self._modified = os.fstat(self._file).st_mtime_ns

    def add(self, answers: Sequence[PageAnswer]) -> list[PageAnswer]:
        """Put answers on the disk; all of them, or an error and none.

        Of one person's answers to a task the one that came last is the latest, even where the clock was set back.

        Returns:
            list of PageAnswer: Those that are new; the others were there already.

        Raises:
            OutsideError: Full disk and the like; a file that was replaced, removed or written to by others.
        """
        with self._one_at_a_time:
            new = list({(answer.annotator, answer.id): answer for answer in answers
                        if (answer.annotator, answer.id) not in self._ids}.values())  # fmt: skip
            if not new:
                return []
            new = self._in_order(new)
            content = b"".join(_line(answer, self._given) for answer in new)
            self._write(content)
            self._last |= {(answer.annotator, answer.task): answer.time for answer in new}
            self._ids |= {(answer.annotator, answer.id) for answer in new}
            self.lines += _lines(content)
            return new

    def _in_order(self, answers: Sequence[PageAnswer]) -> list[PageAnswer]:
        """Give each answer a time after that of the same person's earlier answer to its task."""
        last, ordered = dict(self._last), []
        for answer in answers:
            of = answer.annotator, answer.task
            time = answer.time if of not in last else max(answer.time, last[of] + _INSTANT)
            last[of] = time
            ordered.append(replace(answer, time=time))
        return ordered

    def refuse_replaced(self) -> None:
        """Raise an `OutsideError` where the file is not as it was left: what was acknowledged may be gone."""
        with self._one_at_a_time:
            self._check_unchanged()

    def _check_unchanged(self) -> None:
        if self._stat(self._length).st_mtime_ns != self._modified:
            self._refuse()

    def _write(self, content: bytes) -> None:
        self._check_unchanged()
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self._length)
            self._modified = os.fstat(self._file).st_mtime_ns
            raise outside_trouble(error, self._path) or error from error
        self._modified = self._stat(self._length + len(content)).st_mtime_ns
        self._length += len(content)

    def _stat(self, length: int) -> os.stat_result:
        """Return what is at the path; an `OutsideError` where that is not the open file, or is of another length."""
        with suppress(FileNotFoundError):
            there = os.stat(self._path)
            if os.path.samestat(there, os.fstat(self._file)) and there.st_size == length:
                return there
        self._refuse()

    def _refuse(self) -> NoReturn:
        """Refuse this and every later answer: what is there by now may look as before, and not be what was written."""
        self._length = -1
        raise OutsideError(f"{self._path}: was replaced, removed or written to while answers were added", _REPLACED)

    def close(self) -> None:
        """Let another process add to it; again does nothing."""
        for handle in (self._file, self._lock):
            if handle >= 0:
                os.close(handle)
        self._file = self._lock = -1


def _lock_handle(lock_file: Path, path: Path) -> int:
    """Handle of the lock of a journal; an `OutsideError` where another process holds it."""
    handle = os.open(lock_file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    if lock(handle) == "busy":
        os.close(handle)
        raise OutsideError(f"{path}: another command adds answers to it", "wait for it, or end it")
    return handle
