"""People label a study together: what its pages ask, and what becomes of it, without anything of the network."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from streameval.errors import StreamevalError
from streameval.kinds import kind_of
from streameval.labelling.exports import TaskQuestion, unambiguous
from streameval.labelling.exports.cells import address_or_why, records
from streameval.labelling.exports.page import cells_of, question_facts
from streameval.serving.desk import AHEAD, Desk, given_twice
from streameval.serving.items import Access, planned_items
from streameval.serving.links import Links
from streameval.serving.messages import SentAnswer, SentWork
from streameval.study import Study
from streameval.study.answer_journal import IDENTITY, PageAnswer
from streameval.study.judging import last_judging, tally_stored
from streameval.study.provenance import rules_of
from streameval.study.results import SUMMARY

_LATEST = timedelta(days=365)  # how long an answer may have waited in a browser
_SHOWN_AGAIN = 20  # of one's own answers, after the page is loaded again
_NOTES = 50

ANSWERED = "The question is answered, so there are no more tasks. Thank you."
DONE = "That was the last one. Thank you."
WAIT = "No task for you just now: others have the last ones, or new ones are being drawn. This page goes on by itself."


@dataclass(frozen=True)
class LatestEvaluation:
    """State of the study by its last evaluation.

    Attributes:
        lines: What is proven so far, in sentences.
        evaluation: Id of the evaluation; empty before there is one.
        over: Why nothing more is handed out; empty where something is.
        agreement: As `evaluate` gives it.
        trouble: Why the last try failed; empty where it did not.
        counted: How many answers of the page it knew.
    """

    lines: tuple[str, ...] = ("No results yet. Answers are evaluated every half minute.",)
    evaluation: str = ""
    over: str = ""
    agreement: Mapping[str, Any] | None = None
    trouble: str = ""
    counted: int = -1


@dataclass(frozen=True)
class _TasksShown:
    """Tasks as people see them, from one round to the next.

    Attributes:
        table: Of every task its number and the columns that are shown.
        row: Row of each task.
        names: The columns.
        question: What is asked of them.
    """

    table: pa.Table
    row: Mapping[int, int]
    names: list[str]
    question: TaskQuestion

    def cells(self, tasks: Sequence[int], held: Collection[int] = ()) -> list[list[Any]]:
        """Tasks as the page shows them: their number, and a text for each column, or None where that is known."""
        new = [task for task in tasks if task not in held]
        rows = self.table.take(pa.array([self.row[task] for task in new], pa.int64()))
        texts = {record["se_task"]: cells_of(record, self.names, self.question, address_or_why)
                 for record in records(rows, self.question.images)}  # fmt: skip
        return [[task, texts.get(task)] for task in tasks]


class LabellingSession:
    """One serving of a study.

    Attributes:
        links: Who takes part.
        wanted: Set when there is something to look at: an answer, or no task that is open.
    """

    def __init__(self, folder: Study, links: Links, question: TaskQuestion, access: Access) -> None:
        """Open the study for answers; errors as of `select`."""
        self.links, self.wanted = links, threading.Event()
        self._folder, self._access, self._share = folder, access, question.overlap
        self._kind = kind_of(folder.folder)
        self._changing = threading.Lock()
        self._desk = Desk(links.people)
        self._standing, self._looked = LatestEvaluation(), -1
        self._asked = question
        self._left_out: set[str] = set()
        with folder.changing():
            self._journal = folder.labels.journal()
            self._forgotten = folder.labels.forgotten_answers()
        self._take_items()
        for line in self._lines:
            self._desk.take_answer(
                line["annotator"], line["se_task"], line["label"], datetime.fromisoformat(line["time"])
            )
        self._ask_for_more()

    def _take_items(self) -> None:
        """Fetch what is planned by now, and put it on the desk."""
        items = planned_items(self._folder, self._access)
        plan, table = items.plan, items.fetched.table
        names, left_out = items.shown_columns(self._access.columns)
        # other items may not show that a column follows the order, and what did is not seen again
        self._left_out.update(left_out)
        stored = [source for source in self._folder.labels.sources() if source.identity != IDENTITY]
        elsewhere = tally_stored(self._folder, plan, last_judging(self._folder), stored).answered if stored else None
        numbers = table.column("se_task").to_pylist()
        closed = (
            {task for task, is_labelled in zip(numbers, elsewhere, strict=True) if is_labelled}
            if elsewhere is not None
            else set()
        )
        ranks = dict(zip(numbers, table.column("rank").to_pylist(), strict=True))
        columns = unambiguous(table.select(["se_task", *(name for name in names if name not in self._left_out)]))
        seen = [name for name in columns.column_names if name != "se_task"]
        shown = _TasksShown(
            columns, {task: row for row, task in enumerate(numbers)}, seen, self._asked.with_columns(seen)
        )
        order = self._kind.tasks.in_order(plan, table.column("se_task").to_numpy()).tolist()
        twice = given_twice(order, self._share, plan.seed) if self._share else set()
        with self._changing:
            self._plan, self._shown, self._ranks = plan, shown, ranks
            self._desk.add(order, twice, closed)

    @property
    def study(self) -> str:
        """Id of the study, the same however it grows."""
        return str(self._plan.study_ids[0])

    @property
    def answers(self) -> int:
        """Tell how many answers the page has taken, before and now, but those that were forgotten before."""
        return len(self._journal.lines) - self._forgotten  # asked for after every answer: nothing is copied

    @property
    def _lines(self) -> list[dict[str, Any]]:
        """Answers but those that were forgotten before this serving began."""
        return self._journal.lines[self._forgotten :]

    def start(self, person: str) -> dict[str, Any]:
        """Say what a page is told when it opens: who it is for, what is asked, and the last answers of that person."""
        with self._changing:
            shown = self._shown
            last = self._desk.answered_tasks(person)[-(AHEAD if shown.question.images else _SHOWN_AGAIN) :]
            answers = {task: self._desk.answers[task][person] for task in last}
        notes = {line["se_task"]: line["note"] for line in self._lines if line["annotator"] == person}
        mine = [[*task, answers[task[0]], notes.get(task[0], "")] for task in shown.cells(last)]
        return {
            "who": person,
            "study": self.study,
            "names": shown.names,
            "question": question_facts(shown.question),
            "mine": mine,
        }

    def work(self, person: str, message: Any) -> dict[str, Any]:
        """Take answers, which are on the disk when this returns, and give tasks.

        Args:
            message: See `SentWork`.

        Raises:
            RefusedError: It is not of this form.
            OutsideError: The disk is full, and the like; then no answer was taken.
        """
        sent = SentWork.read(message)
        answers, refused = self._of_the_study(person, sent.answers)
        for answer in self._journal.add(answers):
            with self._changing:
                self._desk.take_answer(person, answer.task, answer.label, answer.time)
            self.wanted.set()
        self._ask_for_more()
        with self._changing:
            over, shown = self._standing.over, self._shown
            if sent.leaving:
                self._desk.leave(person, sent.tab)
            tasks = [] if over or sent.leaving else self._desk.hand_out(person, sent.tab, sent.have)
            waiting = self._desk.may_come_to(person) or (self._kind.rounds and not over)
            mine, open_tasks = len(self._desk.answered_tasks(person)), 0 if over else self._desk.open
            done = len(self._desk.tasks) - self._desk.open
        state = "open" if tasks else "answered" if over else "wait" if waiting else "done"
        return {
            "kept": [answer.id for answer in answers], "refused": refused, "state": state,
            "tasks": shown.cells(tasks, sent.have), "names": shown.names,
            "message": {"answered": over, "wait": WAIT, "done": DONE}.get(state, ""),
            "counts": {"mine": mine, "open": open_tasks, "done": done},
        }  # fmt: skip

    def owner(self) -> dict[str, Any]:
        """Say what the owner's page shows."""
        from streameval.labelling.pace import pace_of

        lines, standing = self._lines, self._standing
        with self._changing:
            open_tasks, planned = self._desk.open, len(self._desk.tasks)
        times = (round(datetime.fromisoformat(line["time"]).timestamp() * 1e6) for line in lines)
        pace = pace_of(zip((line["annotator"] for line in lines), times, strict=True))
        latest = {(line["annotator"], line["se_task"]): line["label"] for line in lines}
        kinds = Counter((name, label == "skip") for (name, _), label in latest.items())
        last = {line["annotator"]: line["time"] for line in lines}
        agree = (standing.agreement or {}).get("annotators", {})
        people = [
            {"name": name, "answers": kinds[name, False], "skips": kinds[name, True], "last": last.get(name),
             "per_hour": pace.people.get(name), "agrees": agree.get(name, {}).get("percent"),
             "link": f"./#{self.links.token(name)}" if name in self.links.people else ""}
            for name in dict.fromkeys([*self.links.people, *last])
        ]  # fmt: skip
        notes = [{key: line[key] for key in ("annotator", "se_task", "rank", "note")} for line in lines if line["note"]]
        whole = {key: (standing.agreement or {}).get(key) for key in ("items", "percent", "alpha")}
        return {
            "study": self._folder.folder.resolve().name, "question": self._asked.text, "people": people,
            "open": open_tasks, "planned": planned, "answers": len(latest), "left_hours": pace.hours_left(open_tasks),
            "lines": standing.lines, "over": standing.over, "evaluation": standing.evaluation, "overlap": self._share,
            "agreement": whole, "trouble": standing.trouble, "notes": notes[-_NOTES:],
            "report": f"report/{self.links.report}" if standing.evaluation else "",
        }  # fmt: skip

    def report(self) -> str:
        """The report of the last evaluation, as HTML."""
        return (self._folder.folder / "report.html").read_text(encoding="utf-8")

    def look(self) -> None:
        """Stop handing out as soon as the answers on the disk are enough; draw a question's next round when it is due.

        Nothing is written before that is so, so that this may follow every few answers.
        """
        self.wanted.clear()
        with self._telling():
            counted = self.answers
            if self._kind.rounds and counted != self._looked and not self._standing.over:
                if self._kind.tasks.is_answered(self._folder, self._plan):
                    self._become(over=ANSWERED, lines=("The question is answered; the results are being written.",))
                self._looked = counted
            if self._standing.over or not self._desk.open:
                self._bring_up_to_date()

    def finish(self) -> None:
        """Evaluate what has come since the last evaluation.

        Raises:
            OutsideError: The file of the answers was replaced or removed, as pages are told when they send one.
            StreamevalError: As of `evaluate`.
        """
        if self.answers:
            self._journal.refuse_replaced()
        if 0 < self.answers != self._standing.counted:
            self._evaluate(self.answers)

    def refresh(self) -> None:
        """Evaluate what is on the disk, and draw the next round of a question where it is due."""
        with self._telling():
            self._bring_up_to_date()

    def _bring_up_to_date(self) -> None:
        counted = self.answers
        if counted and counted != self._standing.counted:
            self._journal.refuse_replaced()
            self._evaluate(counted)
        if self._kind.rounds and not self._standing.over and not self._desk.open:
            self._next_round()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Report errors on the owner's page instead of raising, so that people go on labelling."""
        try:
            yield
        except StreamevalError as error:
            self._become(trouble=error.what)
        except Exception as error:
            self._become(trouble=f"{type(error).__name__}: {error}")

    def _become(self, **what: Any) -> None:
        with self._changing:
            self._standing = replace(self._standing, **what)

    def close(self) -> None:
        """Let others serve the study."""
        self._journal.close()

    def _evaluate(self, counted: int) -> None:
        folder = self._folder
        kind = self._kind
        with folder.changing():
            rules = rules_of(folder.summary()) if (folder.folder / SUMMARY).exists() else {}
            result = kind.evaluate(
                folder, [], {key: option for key, option in rules.items() if key in kind.accepts("evaluate")}
            )
        plan = folder.plan()
        standing = result.describe_standing(
            str(folder.folder), folder.folder.resolve().name, plan, kind.planned.subject(plan)
        )
        over = ANSWERED if kind.rounds and result.summary["outcome"] != "open" else ""
        lines = tuple(filter(None, (standing.head, standing.verdict)))
        with self._changing:
            self._standing = LatestEvaluation(
                lines, result.evaluation_id, over, result.summary["agreement"], "", counted
            )

    def _next_round(self) -> None:
        before = self._plan.table.num_rows
        self._take_items()
        if self._plan.table.num_rows == before:  # the budget is spent, or nothing is left to ask
            self._become(over=DONE)

    def _ask_for_more(self) -> None:
        if not self._desk.open and not self._standing.over:
            self.wanted.set()

    def _of_the_study(self, person: str, sent: Sequence[SentAnswer]) -> tuple[list[PageAnswer], list[list[str]]]:
        """Answers about tasks of this study, and ids of the others, each with why."""
        now, accepted, refused = datetime.now(UTC), [], []
        for answer in sent:
            rank = self._ranks.get(answer.task)
            if rank is None:
                refused.append([answer.name, f"Task {answer.task} is none of this study."])
                continue
            when, took = now - min(timedelta(milliseconds=answer.ago), _LATEST), answer.took / 1000
            accepted.append(
                PageAnswer(
                    answer.name, self._plan.plan_id, answer.task, rank, answer.label, person, when, answer.note, took
                )
            )
        return accepted, refused
