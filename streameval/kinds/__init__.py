"""Kinds of study: what is asked of labels, and so what results hold, say, and look like.

A kind is a folder here with a class that inherits from `Kind`, and a module-level `KIND`, an instance of it.
It is found by name; nothing else has to be edited: verbs ask `kind_of(study)`. plan.json and evaluation.json carry the
name. What is needed to compute is imported where it is used, so that kinds are quick to find.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast

from streameval.errors import InputError, StudyError, did_you_mean
from streameval.labelling.options import Judging, LabelColumns
from streameval.options import split
from streameval.text.options import flag

if TYPE_CHECKING:
    import pyarrow as pa

    from streameval.kinds.exact import ExactRun
    from streameval.kinds.planned import PlanText
    from streameval.kinds.planning import Drawn, PlanRequest
    from streameval.kinds.results import HeldAgainst, StudyResult
    from streameval.kinds.tasks import PlannedTasks
    from streameval.labelling.tally import Tallied
    from streameval.progress import Progress
    from streameval.questions import Question
    from streameval.rankings.ranking import Ranking
    from streameval.reporting.standing import Standing
    from streameval.reporting.text import Columns, Paragraph
    from streameval.rows.options import RankingOptions
    from streameval.stores.atomic import Existing
    from streameval.study import Study
    from streameval.study.database.writer import Database
    from streameval.study.history import History
    from streameval.types import Claim, Plan

__all__ = [
    "Kind", "answering", "available", "database_of", "import_later", "kind_for", "kind_named", "kind_of",
    "options_of_any", "results_of", "standing_of", "studies_within",
]  # fmt: skip
T = TypeVar("T")


class ComparisonModule(Protocol):
    """A file that sets studies side by side; kinds that name the same one are compared with one another."""

    def compare(self, paths: Sequence[Path], confidence: float) -> object:
        """Compare studies; an `InputError` where they are more than it takes."""

    def describe(self, comparison: object) -> tuple[dict[str, Any], list[Paragraph]]:
        """Say what `compare` found: with --json, and otherwise."""

    def save(self, comparison: object, out: Path | None, plot: Path | None, existing: Existing) -> None:
        """Write the tables of a difference into a folder, and its picture into a file."""


class HistoryModule(Protocol):
    """A file that watches studies which come one after another.

    Attributes:
        HISTORY: The history that `monitor` makes of them.
    """

    HISTORY: type[History]

    def describe(self, history: History, most: int) -> tuple[Columns, list[str]]:
        """Say what `monitor` found: the last rows, at most so many, and sentences."""

    def page(self, history: History) -> str:
        """Draw history.html."""


class LazyPart(Generic[T]):
    """An attribute of a kind that lies in a module, which is imported when it is used."""

    def __init__(self, where: str) -> None:
        """Name it; see `part`."""
        self._where = where

    def __get__(self, kind: object, owner: type | None = None) -> T:
        """Import it."""
        module, _, name = self._where.partition(":")
        imported = importlib.import_module(module)
        return cast(T, getattr(imported, name) if name else imported)


def import_later(where: str) -> Any:
    """Name an attribute of a kind, as in `package.module:NAME`; a module itself without a name."""
    return LazyPart(where)


class CostRows(NamedTuple):
    """Costs of studies, row by row.

    Attributes:
        rows: One for each way or case: `method`, `labels`, `accuracy` ….
        notes: What the numbers mean.
    """

    rows: list[dict[str, Any]]
    notes: Sequence[str] = ()


class Kind:
    """Base class of study kinds. Override what differs.

    A kind gives `draw`, what it plans to label; `estimate`, its tables, one of which is `metrics`; and a class of
    results that say what the tables prove. What makes no plan gives `exact`. Where tasks do not reach people all at
    once, it gives `tasks`; where two studies are compared or many watched, the files that do it. All else follows from
    these: planning, storing labels, files, page, database, progress.

    Attributes:
        name: As in plan.json and evaluation.json; that of its folder here.
        about: A study of this kind, for messages: "a study of a curve".
        answers: Verbs that read its results; all others refuse it, and name these.
        instead: By verb that refuses it: what to do, where those that answer are not enough of a hint.
        asked_by: By verb that makes such a study: the option that asks for this kind; "" where it is the default.
        options: By verb: dataclasses of the options that it takes; all others are refused.
        without: Options among them that it does not take.
        instead_of: By option of others that it does not take: the question that says the same.
        no_rehearsal: Why `plan` cannot say what it would do, or what says it; empty where it can.
        rounds: Whether its tasks come in rounds, each drawn once the one before is answered; none takes an answer back.
        result: The class of its results.
        planned: What is said of its plans.
        tasks: How planned items reach people.
        compared: Module that compares its studies; that of the more general kind, where one is a case of the other.
        watched: Module that makes a history of its studies.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    answers: ClassVar[tuple[str, ...]] = ("show", "check", "report", "sql", "publish")
    instead: ClassVar[Mapping[str, str]] = {}
    asked_by: ClassVar[Mapping[str, str]] = {}
    options: ClassVar[Mapping[str, tuple[type[Any], ...]]] = {"evaluate": (LabelColumns, Judging)}
    without: ClassVar[frozenset[str]] = frozenset()
    instead_of: ClassVar[Mapping[str, str]] = {}
    no_rehearsal: ClassVar[str] = "what it draws is known once it is planned"
    rounds: ClassVar[bool] = False
    result: LazyPart[type[StudyResult]] = import_later("streameval.kinds.results:StudyResult")
    planned: LazyPart[PlanText] = import_later("streameval.kinds.planned:PLANNED")
    tasks: LazyPart[PlannedTasks] = import_later("streameval.kinds.tasks:TASKS")
    compared: LazyPart[ComparisonModule]
    watched: LazyPart[HistoryModule]

    def parse_options(self, verb: str, raw_options: Mapping[str, Any]) -> list[Any]:
        """Parse the options of a verb into dataclasses; an `InputError` names unknown ones."""
        self._refuse_others(verb, raw_options)
        return split(self.options.get(verb, ()), raw_options, verb)

    def _refuse_others(self, verb: str, raw_options: Iterable[str]) -> None:
        """Refuse options that only other kinds take, and say which."""
        strangers = sorted(set(raw_options) - self.accepts(verb))
        if not strangers:
            return  # other kinds need not be loaded
        for name in filter(self.instead_of.get, strangers):
            raise InputError(f"{self.about} does not go with {flag(name)}",
                             f"the question says it: --for '{self.instead_of[name]}'")  # fmt: skip
        how_asked = {kind: f" ({flag(option)})" if (option := kind.asked_by.get(verb)) else ""
                 for kind in available().values()}  # fmt: skip
        owners = {name: [f"{kind.about}{how}" for kind, how in how_asked.items() if name in kind.accepts(verb)]
                  for name in strangers}  # fmt: skip
        if names := [name for name in strangers if owners[name]]:
            flags = ", ".join(map(flag, names))
            whose = " or ".join(dict.fromkeys(about for name in names for about in owners[name]))
            raise InputError(f"{self.about} does not go with {flags}", f"leave it out: it is for {whose}")

    def accepts(self, verb: str) -> set[str]:
        """Names of the options of a verb."""
        return {field.name for options in self.options.get(verb, ()) for field in fields(options)} - self.without

    def refuse_retired(self, folder: Path, notes: Mapping[str, Any]) -> None:
        """Refuse a plan that only earlier versions made; a `StudyError` says what its labels are good for now.

        Args:
            notes: Of the plan.
        """

    def held_against(self, question: Question, paths: Sequence[Path], results: Sequence[StudyResult]) -> HeldAgainst:
        """Hold a metric of results against that of others (`questions.Against`).

        Args:
            paths, results: The folders of both, and what these hold.

        Raises:
            InputError: Results of this kind, or those two, are not held against one another.
        """
        raise InputError(f"{question}: {self.about} is not held against another result",
                         "`compare` has the difference; `plan B --against A` labels what changed")  # fmt: skip

    def holds(self, summary: Mapping[str, Any], plan: Plan) -> bool:
        """Tell whether results are of a plan as it is now."""
        return summary["study"] in (plan.study_ids if self.rounds else (plan.plan_id,))

    def plan(
        self, ranking: object, study: str | os.PathLike[str], raw_options: Mapping[str, Any], seed: int | None,
        options: RankingOptions, progress: Progress,
    ) -> Plan:  # fmt: skip
        """Draw what to label in a ranking, and write it to a study.

        Args:
            raw_options: Options, as they were given.
            options: Of the ranking.
        """
        from streameval.kinds.planning import PlanRequest
        from streameval.study.known_labels import KnownLabels

        plan_options = self.parse_options("plan", raw_options)
        with KnownLabels.from_options(plan_options).at_hand() as known_labels:
            request = PlanRequest.parse(study, seed, options, known_labels, progress)
            return request.save(self.draw(ranking, plan_options, request))

    def draw(self, ranking: object, options: Sequence[Any], request: PlanRequest) -> Drawn:
        """Draw what to label in a ranking; nothing is written but a copy of a list that is read only once.

        Args:
            options: The options of `plan`.
        """
        raise NotImplementedError

    def costs(self, n_items: int, ranking: Ranking | None, raw_options: Mapping[str, Any]) -> CostRows:
        """Say what studies with these options cost.

        Args:
            ranking: None where only the number of items is known.
            raw_options: Options, as they were given.
        """
        raise NotImplementedError

    def exact(
        self, ranking: object, out: str | os.PathLike[str] | None, raw_options: Mapping[str, Any], run: ExactRun
    ) -> StudyResult:
        """Count what every item's label says, and write it to a folder where one is named.

        Args:
            raw_options: Options, as they were given.
        """
        raise NotImplementedError

    def evaluate(self, folder: Study, labels: Sequence[Any], raw_options: Mapping[str, Any]) -> StudyResult:
        """Store labels, evaluate all that the study has, and write every result.

        Args:
            raw_options: Options, as they were given.
        """
        from streameval.study.summary import summary_of
        from streameval.study.take_in import take_in

        options = self.parse_options("evaluate", raw_options)
        plan = folder.plan()
        intake = take_in(folder, plan, labels, options[0], options[1])
        tables, claim, more = self.estimate(folder, plan, intake.tallied, options)
        summary = {**summary_of(self.name, plan, intake, options[1], claim), **more, "votes": intake.state}
        result = self.result(str(summary["evaluation_id"]), summary, tables)
        result.save(folder, plan)
        return result

    def estimate(
        self, folder: Study, plan: Plan, tallied: Tallied, options: Sequence[Any]
    ) -> tuple[dict[str, pa.Table], Claim, dict[str, Any]]:
        """Compute result tables, claim and extra summary fields from labels.

        Args:
            options: The options of `evaluate`.
        """
        raise NotImplementedError


def available() -> dict[str, Kind]:
    """Every kind by name."""
    return {name: kind_named(name) for name in _names()}


def _names() -> list[str]:
    return _files_of(tuple(__path__))


@cache
def _files_of(folders: tuple[str, ...]) -> list[str]:
    return [info.name for info in pkgutil.iter_modules(folders) if info.ispkg]


def kind_named(name: str) -> Kind:
    """Give the kind of a name."""
    kind: Kind = importlib.import_module(f"{__name__}.{name}").KIND
    return kind


def kind_for(verb: str, raw_options: Mapping[str, Any]) -> Kind:
    """Give the kind of study that a verb makes with the options given."""
    by_option = {kind.asked_by[verb]: kind for kind in available().values() if verb in kind.asked_by}
    return next((kind for option, kind in by_option.items() if option in raw_options), by_option[""])


def options_of_any(verb: str) -> list[str]:
    """Names of the options that some kind takes for a verb."""
    return sorted(set[str]().union(*(kind.accepts(verb) for kind in available().values())))


def kind_of(folder: Path) -> Kind:
    """Give the kind of study that a folder holds; that of one ranking, where nothing in it can be read.

    Raises:
        StudyError: A kind that there is not, or a plan that only earlier versions made.
    """
    from streameval.study.formats import read_kind

    for file in ("plan.json", "evaluation.json"):
        path = Path(folder) / file
        with suppress(FileNotFoundError, StudyError):
            name, notes = read_kind(path)
            break
    else:
        return kind_named("curve")
    if name not in (kinds := _names()):
        raise StudyError(f"{path}: there is no kind of study '{name}'", did_you_mean(name, kinds))
    kind = kind_named(name)
    kind.refuse_retired(folder, notes)
    return kind


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


def results_of(folder: Study) -> StudyResult:
    """Read results; a `StudyError` where there are none, or they do not belong together."""
    kind = kind_of(folder.folder)
    return folder.results(kind.result.read, kind.holds)


def database_of(study: str | os.PathLike[str]) -> Database:
    """Make the database of whatever a folder holds; a `StudyError` where it has no results, or a mixed set."""
    from streameval.study import Study

    folder = Study(Path(study))
    return results_of(folder).database(folder, folder.plan() if folder.exists else None)


def standing_of(study: str | os.PathLike[str]) -> Standing:
    """Say where a study stands, with its main measures; a `StudyError` where there is none, or nothing can be read."""
    from streameval.reporting.standing import not_evaluated
    from streameval.study import Study

    place, folder, kind = os.fspath(study), Study(Path(study)), kind_of(Path(study))
    name, plan = folder.folder.resolve().name, folder.plan() if folder.exists else None
    subject = "" if plan is None else kind.planned.subject(plan)
    try:
        result = results_of(folder)
        return _with_values(result.describe_standing(place, name, plan, subject), result)
    except StudyError as error:
        if plan is None:
            raise
        why = f"{error.what}." if (folder.folder / "evaluation.json").exists() else ""
        return not_evaluated(place, f"{name}: {subject}", folder, plan, why)


def _with_values(standing: Standing, result: StudyResult) -> Standing:
    """Add the main measures, what else can be asked for, and, where nothing is left to label, how to demand one."""
    from streameval.questions import Question
    from streameval.questions.printed import bounds_lines
    from streameval.reporting.next_step import gate_of

    bounds = {name: result.bounds(Question.of(name)) for name in result.main_measures()}
    if not bounds:
        return standing
    others = ", ".join(name for name in result.measures() if name not in bounds)
    values = (*standing.values, *bounds_lines(bounds), *[f"Other measures: {others}."] * bool(others))
    following = gate_of(standing.study, bounds)
    if standing.next or not following.command:
        return replace(standing, values=values)
    return replace(standing, values=values, next=following.command, leads_to=following.does)
