"""Kinds of study: what is asked of labels, and so what results hold, say, and look like.

A kind is a folder here with a class that inherits from `Kind`, and a module-level `KIND`, an instance of it.
It is found by name; nothing else has to be edited: verbs ask `kind_of(study)`. plan.json and evaluation.json carry the
name. What is needed to compute is imported where it is used, so that kinds are quick to find.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from streameval.errors import InputError, StudyError, did_you_mean
from streameval.kinds.answers import Decision, Reporting
from streameval.labelling.options import Judging, LabelColumns
from streameval.options import split
from streameval.text.options import flag

if TYPE_CHECKING:
    import pyarrow as pa

    from streameval.kinds.curve.page import ReportedStudy
    from streameval.kinds.exact import ExactRun
    from streameval.kinds.planning import Drawn, PlanRequest
    from streameval.kinds.tasks import PlannedTasks
    from streameval.labelling.tally import Tallied
    from streameval.progress import Progress
    from streameval.rankings.ranking import Ranking
    from streameval.rehearsal import Rehearsal
    from streameval.reporting.standing import Standing
    from streameval.reporting.text import Columns, Paragraph
    from streameval.rows.options import RankingOptions
    from streameval.stores.atomic import Existing
    from streameval.study import Study
    from streameval.study.database.writer import Database
    from streameval.study.history import History
    from streameval.study.progress import LabellingProgress
    from streameval.study.results import Result
    from streameval.types import Claim, Plan


__all__ = [
    "Decision", "Kind", "Planned", "answering", "available", "database_of", "kind_for", "kind_of", "named",
    "options_of_any", "standing_of", "studies_within",
]  # fmt: skip
EVALUATE = "run evaluate again"


@dataclass(frozen=True)
class Planned:
    """A plan that was just made, for what is said of it.

    Attributes:
        study: The study that was named.
        place: The study that holds the plan; within the other, where a question was asked of that.
        before: The plan that `study` held, if any.
        options: Options of `plan`, as they were given.
    """

    plan: Plan
    study: Study
    place: Study
    before: Plan | None
    options: Mapping[str, Any]

    @property
    def doubts(self) -> list[str]:
        """What to look at before any label is spent."""
        return [self.plan.location["doubt"]] if "doubt" in self.plan.location else []

    def facts(self, **more: Any) -> dict[str, Any]:
        """The plan, JSON-ready, with what its kind adds."""
        made = self.plan
        names = {"study": str(self.place.folder), "plan_id": made.plan_id, "labels": made.table.num_rows}
        return {**names, **more, **made.header()}


class ComparisonModule(Protocol):
    """A file that sets two studies side by side; kinds that name the same one are compared with one another."""

    def compare(self, a: Path, b: Path, confidence: float) -> Any:
        """Compare two studies."""

    def says(self, found: Any) -> tuple[dict[str, Any], list[Paragraph]]:
        """Say what `compare` found: with --json, and otherwise."""

    def save(self, found: Any, out: Path | None, plot: Path | None, existing: Existing) -> None:
        """Write the tables of a difference into a folder, and its picture into a file."""


class HistoryModule(Protocol):
    """A file that watches studies which come one after another.

    Attributes:
        HISTORY: The history that `monitor` makes of them.
    """

    HISTORY: type[History]

    def says(self, history: Any, most: int) -> tuple[Columns, list[str]]:
        """Say what `monitor` found: the last rows, at most so many, and sentences."""

    def page(self, history: Any) -> str:
        """Draw history.html."""


class Kind(Reporting):
    """What every kind of study does; one that inherits from it says only what is not so by default.

    A kind gives `draw`, what it plans to label; `estimate`, its tables, one of which is `metrics`; and `text`, what it
    says of them. Where the table of metrics is not all that it knows, it gives `answer` and `measures`; where labels
    come in rounds, `tasks`; where two studies are compared or many watched, the files that do it. What makes no plan
    gives `exact`. All else follows from these: planning, storing labels, files, page, database, progress.

    Attributes:
        name: As in plan.json and evaluation.json; that of its folder here.
        about: A study of this kind, for messages: "a study of a curve".
        tables: Tables of its results by the name of their file, each with a comment for SQL.
        answers: Verbs that read its results; all others refuse it, and name these.
        instead: By verb that refuses it: what to do, where those that answer are not enough of a hint.
        asked_by: By verb that makes such a study: the option that asks for this kind; "" where it is the default.
        options: By verb: dataclasses of the options that it takes; all others are refused.
        without: Options among them that it does not take.
        no_rehearsal: Why `plan` cannot say what it would do, or what says it.
        compared_in: Module that compares two of its studies (`ComparisonModule`); "" where none does.
        watched_in: Module that makes a history of its studies (`HistoryModule`); "" where none does.
        rounds: Whether its tasks come in rounds, each drawn once the one before is answered; none takes an answer back.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    tables: ClassVar[Mapping[str, str]] = {}
    answers: ClassVar[tuple[str, ...]] = ("show", "check", "report", "sql", "publish")
    instead: ClassVar[Mapping[str, str]] = {}
    asked_by: ClassVar[Mapping[str, str]] = {}
    options: ClassVar[Mapping[str, tuple[type[Any], ...]]] = {"evaluate": (LabelColumns, Judging)}
    without: ClassVar[frozenset[str]] = frozenset()
    no_rehearsal: ClassVar[str] = ""
    compared_in: ClassVar[str] = ""
    watched_in: ClassVar[str] = ""
    rounds: ClassVar[bool] = False

    def asked(self, verb: str, given: Mapping[str, Any]) -> list[Any]:
        """Make the option dataclasses of a verb; an `InputError` names what is not among them."""
        self._refuse_others(verb, given)
        return split(self.options.get(verb, ()), given, verb)

    def _refuse_others(self, verb: str, given: Iterable[str]) -> None:
        """Refuse options that only other kinds take, and say which."""
        strangers = sorted(set(given) - self.accepts(verb))
        if not strangers:
            return  # other kinds need not be loaded
        asked = {kind: f" ({flag(option)})" if (option := kind.asked_by.get(verb)) else ""
                 for kind in available().values()}  # fmt: skip
        owners = {name: [f"{kind.about}{how}" for kind, how in asked.items() if name in kind.accepts(verb)]
                  for name in strangers}  # fmt: skip
        if names := [name for name in strangers if owners[name]]:
            flags = ", ".join(map(flag, names))
            whose = " or ".join(dict.fromkeys(about for name in names for about in owners[name]))
            raise InputError(f"{self.about} does not go with {flags}", f"leave it out: it is for {whose}")

    def accepts(self, verb: str) -> set[str]:
        """Names of the options of a verb."""
        return {one.name for options in self.options.get(verb, ()) for one in fields(options)} - self.without

    def files(self, plan: Plan | None) -> list[str]:
        """Names of the files of its results, as others best read them."""
        from streameval.study.results import file_names

        return file_names(self.tables)

    def read(self, folder: Study) -> Any:
        """Read results; a `StudyError` where there are none, or they do not belong together."""
        return folder.results(self._read, self._holds)

    def _holds(self, summary: Mapping[str, Any], plan: Plan) -> bool:
        """Whether results are of a plan as it is now."""
        return summary["study"] in (plan.study_ids if self.rounds else (plan.plan_id,))

    def _read(self, folder: Path, summary: Mapping[str, Any]) -> Result:
        from streameval.study.results import read_tables

        files = read_tables(folder, summary, self.tables, EVALUATE, {})
        return replace(self._result(summary, {name: file.table for name, file in files.items()}), folder=folder)

    def _result(self, summary: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> Result:
        from streameval.kinds.results import StudyResult

        return StudyResult(str(summary["evaluation_id"]), summary, tables)

    def plan(
        self, ranking: Any, study: str | os.PathLike[str], given: Mapping[str, Any], seed: int | None,
        options: RankingOptions, progress: Progress,
    ) -> Plan:  # fmt: skip
        """Draw what to label in a ranking, and write it to a study.

        Args:
            given: Options, as they were given.
            options: Of the ranking.
        """
        from streameval.kinds.planning import PlanRequest

        asked = self.asked("plan", given)
        request = PlanRequest.parse(study, seed, options, progress)
        return request.save(self.draw(ranking, asked, request))

    def draw(self, ranking: Any, asked: Sequence[Any], request: PlanRequest) -> Drawn:
        """Draw what to label in a ranking; nothing is written but a copy of a list that is read only once.

        Args:
            asked: The options of `plan`.
        """
        raise NotImplementedError

    def costs(self, n_items: int, ranking: Ranking | None, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Say what studies with these options cost, a row for each way or case: `method`, `labels`, `accuracy` ….

        Args:
            ranking: None where only the number of items is known.
            given: Options, as they were given.
        """
        raise NotImplementedError

    def cost_notes(self, given: Mapping[str, Any]) -> Sequence[str]:
        """Say what the numbers of `costs` mean."""
        return ()

    def exact(self, ranking: Any, out: str | os.PathLike[str] | None, given: Mapping[str, Any], run: ExactRun) -> Any:
        """Count what every item's label says, and write it to a folder where one is named.

        Args:
            given: Options, as they were given.
        """
        raise NotImplementedError

    def rehearsal(
        self, ranking: Sequence[str], study: Study, given: Mapping[str, Any], seed: int | None, *how: Any
    ) -> Rehearsal:
        """Say what `select` would read for a plan; by default a plan cannot be made without reading the list."""
        raise InputError(f"{flag(self.asked_by['plan'])} does not go with --dry-run", self.no_rehearsal)

    def planned_says(self, planned: Planned) -> tuple[dict[str, Any], list[str]]:
        """Say what was planned: JSON-ready facts, and lines of text."""
        raise NotImplementedError

    def evaluate(self, folder: Study, labels: Sequence[Any], given: Mapping[str, Any]) -> Any:
        """Store labels, evaluate all that the study has, and write every result.

        Args:
            given: Options, as they were given.
        """
        from streameval.study.summary import summary_of
        from streameval.study.take_in import take_in

        asked = self.asked("evaluate", given)
        plan = folder.plan()
        taken = take_in(folder, plan, labels, asked[0], asked[1])
        tables, claim, more = self.estimate(folder, plan, taken.tallied, asked)
        summary = {**summary_of(self.name, plan, taken, asked[1], claim), **more, "votes": taken.state}
        results = self._result(summary, tables)
        self.save(folder, plan, results)
        return results

    def estimate(
        self, folder: Study, plan: Plan, tallied: Tallied, asked: Sequence[Any]
    ) -> tuple[dict[str, pa.Table], Claim, dict[str, Any]]:
        """Compute its tables from labels, what they claim, and what the summary says besides.

        Args:
            asked: The options of `evaluate`.
        """
        raise NotImplementedError

    def save(self, folder: Study, plan: Plan | None, found: Any) -> None:
        """Write all results; evaluation.json last."""
        from streameval.stores import atomic
        from streameval.study.results import writers

        page = self.page(folder.folder.resolve().name, plan, found)
        database = self.database(folder, plan, found).write
        atomic.write_all(writers(folder.folder, found.tables, found.summary, page, database))

    def reported(self, study: str | os.PathLike[str], plan: Plan | None, found: Any, items: Any) -> ReportedStudy:
        """Give results as a page draws several over one another, with items; a `StudyError` where a kind has no curve.

        Args:
            items: The selected items, where their text is to be shown.
        """
        raise StudyError(f"{os.fspath(study)} is {self.about}, which is drawn alone and without examples",
                         f"`streameval report {shlex.quote(os.fspath(study))}`")  # fmt: skip

    @property
    def comparison(self) -> ComparisonModule:
        """What compares two of its studies."""
        return cast(ComparisonModule, importlib.import_module(self.compared_in))

    @property
    def history(self) -> HistoryModule:
        """What makes a history of its studies."""
        return cast(HistoryModule, importlib.import_module(self.watched_in))

    @property
    def tasks(self) -> PlannedTasks:
        """How planned items reach people."""
        from streameval.kinds.tasks import PlannedTasks

        return PlannedTasks()

    def progress(self, folder: Study) -> LabellingProgress:
        """Say how far the labelling has come."""
        from streameval.study.progress import progress_of

        return progress_of(folder, folder.plan())


def available() -> dict[str, Kind]:
    """Every kind by name."""
    return {name: named(name) for name in _names()}


def _names() -> list[str]:
    return _files_of(tuple(__path__))


@cache
def _files_of(folders: tuple[str, ...]) -> list[str]:
    return [info.name for info in pkgutil.iter_modules(folders) if info.ispkg]


def named(name: str) -> Kind:
    """Give the kind of a name."""
    kind: Kind = importlib.import_module(f"{__name__}.{name}").KIND
    return kind


def kind_for(verb: str, given: Mapping[str, Any]) -> Kind:
    """Give the kind of study that a verb makes with the options given."""
    made = {kind.asked_by[verb]: kind for kind in available().values() if verb in kind.asked_by}
    return next((kind for option, kind in made.items() if option in given), made[""])


def options_of_any(verb: str) -> list[str]:
    """Names of the options that some kind takes for a verb."""
    return sorted(set[str]().union(*(kind.accepts(verb) for kind in available().values())))


def kind_of(folder: Path) -> Kind:
    """Give the kind of study that a folder holds; that of one ranking, where nothing in it can be read.

    Raises:
        StudyError: A kind that there is not.
    """
    from streameval.study.formats import read_kind

    for file in ("plan.json", "evaluation.json"):
        path = Path(folder) / file
        with suppress(FileNotFoundError, StudyError):
            name = read_kind(path)
            break
    else:
        return named("curve")
    if name not in (kinds := _names()):
        raise StudyError(f"{path}: there is no kind of study '{name}'", did_you_mean(name, kinds))
    return named(name)


def answering(study: str | os.PathLike[str], verb: str) -> Kind:
    """Give the kind of study that a folder holds; a `StudyError` where a verb reads none such."""
    kind = kind_of(Path(study))
    if verb in kind.answers:
        return kind
    *most, last = kind.answers
    raise StudyError(f"{os.fspath(study)} is {kind.about}, which {verb} does not read",
                     kind.instead.get(verb, f"{', '.join(most)} and {last} do"))  # fmt: skip


def studies_within(folder: Study) -> list[tuple[Path, Plan]]:
    """Questions that were asked of a study, which lie in folders within: each with its plan, the first first."""
    from streameval.kinds.question.tree import asked_of

    return asked_of(folder)


def database_of(study: str | os.PathLike[str]) -> Database:
    """Make the database of whatever a folder holds; a `StudyError` where it has no results, or a mixed set."""
    from streameval.study import Study

    folder, kind = Study(Path(study)), kind_of(Path(study))
    results = kind.read(folder)
    return kind.database(folder, folder.plan() if folder.exists else None, results)


def standing_of(study: str | os.PathLike[str]) -> Standing:
    """Say where a study stands, with its main measures; a `StudyError` where there is none, or nothing can be read."""
    from streameval.reporting.standing import not_evaluated
    from streameval.study import Study

    place, folder, kind = os.fspath(study), Study(Path(study)), kind_of(Path(study))
    name, plan = folder.folder.resolve().name, folder.plan() if folder.exists else None
    try:
        results = kind.read(folder)
        return _with_values(kind.standing(place, name, plan, results), kind, results)
    except StudyError as error:
        if plan is None:
            raise
        why = f"{error.what}." if (folder.folder / "evaluation.json").exists() else ""
        return not_evaluated(place, f"{name}: {kind.subject(plan)}", folder, plan, why)


def _with_values(standing: Standing, kind: Kind, results: Any) -> Standing:
    """Add the main measures, what else can be asked for, and, where nothing is left to label, how to demand one."""
    from streameval.questions import Question
    from streameval.questions.printed import bounds_lines
    from streameval.reporting.next_step import gate_of

    bounds = {name: kind.answer(results, Question.of(name)) for name in kind.main_measures(results)}
    if not bounds:
        return standing
    others = ", ".join(name for name in kind.measures(results) if name not in bounds)
    values = (*standing.values, *bounds_lines(bounds), *[f"Other measures: {others}."] * bool(others))
    following = gate_of(standing.study, bounds)
    if standing.next or not following.command:
        return replace(standing, values=values)
    return replace(standing, values=values, next=following.command, leads_to=following.does)
