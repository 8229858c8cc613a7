"""A study: a local folder with a file, open to anyone, for each stop of the journey.

::

    plan.parquet, plan.json      what was drawn; plan.json is written last and makes it a study
    plans/ID.parquet, ID.json    smaller plans that it grew from
    selection.parquet            the items to label; thresholds.parquet: scores at the curve's cutoffs
    ranking/                     the list, where it is read from what is no Parquet (`streameval.study.list_copy`)
    against/                     the same of the list with which it is compared
    manifests/VERB.json          what the verb read and wrote
    scan/                        what `select` and `scan` have read of a list by score, until the selection is there
    votes/                       every label that ever came in (see `streameval.study.vote_store`)
    extra_tasks.parquet          repeated tasks and control items, where there are any
    asked.json                   what people are asked of each item; .label-key: what the links of `label` are made of
    labels.parquet               one row per planned rank
    issues.parquet               every row and rank that is not as it should be
    curve.parquet, envelope.parquet, metrics.parquet, evaluation.json, report.html
    slice_….parquet              of a plan by slices (see `streameval.slices`, `streameval.slices.files`)
    known.parquet, ahead.parquet of a question: items that were known before, and drawn but not asked for yet
    ahead_items.parquet          those items, found by the scans of a round before (`streameval.kinds.question.rounds`)
    question-N/                  a question that was asked of this study, a study of its own
    judge_….parquet              of a plan with a judge (`streameval.judges.classes`, `streameval.study.judge_sample`)
    study.duckdb                 all of it for SQL, for other programs: nothing here reads it
    .lock                        held by the command that changes the study

What stands from labels.parquet on are results: they carry one evaluation id, and are refused when they do not agree
on it, or when the plan or the votes are others by now. Every Parquet and JSON file holds a checksum of its bytes, which
is compared whenever the file is read (`streameval.stores.own_files`).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from streameval.copies import LIST_COPY
from streameval.errors import StudyError
from streameval.kernels.sorted_sets import isin
from streameval.parquet.own_tables import Own, read_table
from streameval.stores import atomic, locks
from streameval.stores.own_files import UNUSABLE, refuse_elsewhere, unusable
from streameval.study.formats import read_header
from streameval.study.plan_files import AGAINST_COPY, difference, plan_files, read_plan, restores
from streameval.study.results import EVALUATE, EXACT, Evaluation, read_evaluation
from streameval.types import SIDE_TABLES, Plan

if TYPE_CHECKING:  # DuckDB is only needed once there are labels
    from streameval.labelling.match_items import Items
    from streameval.study.vote_store import LabelStore

R = TypeVar("R")
_SELECT = "run `streameval select` again"
_LOCAL = (
    "studies and results are read on this machine: copy what was published into a folder here, and name that; "
    "`streameval publish` copies results to a store"
)


REPEAT = "plan into another folder, or repeat the plan that is there"
Holds = Callable[[Mapping[str, Any], Plan], bool]


def _is_of(summary: Mapping[str, Any], plan: Plan) -> bool:
    return bool(summary["study"] == plan.plan_id)


@dataclass(frozen=True)
class Study:
    """The files of a study."""

    folder: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))  # a path may be given as text
        atomic.refuse_address(self.folder, _LOCAL)

    @property
    def exists(self) -> bool:
        """Tell whether there is a plan."""
        return (self.folder / "plan.json").exists()

    @property
    def is_begun(self) -> bool:
        """True once something was made of the plan: a selection (and its tasks), labels, results, or a larger plan."""
        return any((self.folder / name).exists() for name in ("selection.parquet", "votes", "evaluation.json", "plans"))

    @property
    def scans(self) -> Path:
        """Tell where scans of the ranking are kept until there is a selection."""
        return self.folder / "scan"

    @property
    def list_copy(self) -> Path:
        """Tell where the list was copied to that could not be read where it lies."""
        return self.folder / LIST_COPY

    @property
    def against_copy(self) -> Path:
        """Folder of the copy of the list that this one is compared with, if that could not be read where it lies."""
        return self.folder / AGAINST_COPY

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Let one command at a time change the study; reading needs no leave.

        Raises:
            OutsideError: Another command is still at work after `streameval.stores.locks.PATIENCE` seconds.
            StudyError: No study there, or a folder of it is a link that leads out of it.
            InputError: The folder cannot be written to.
        """
        if not self.exists:
            self.plan()  # says that there is none
        with self._locked():
            yield

    @contextmanager
    def planning(self) -> Iterator[None]:
        """As `changing`, where there may be no study: its folder is made, and removed if nothing comes to be in it."""
        there = self.folder.exists()
        atomic.make_folder(self.folder)
        with self._locked():
            try:
                yield
            except BaseException:
                if not there:
                    locks.remove_empty(self.folder)
                raise

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with locks.one_at_a_time(self.folder):
            for name in ("votes", "plans", "manifests", "scan", LIST_COPY, AGAINST_COPY):
                refuse_elsewhere(self.folder / name, self.folder, "put a folder in its place")
            yield

    def plan(self) -> Plan:
        """Read the plan; a `StudyError` where there is no study, or its plan was changed by hand."""
        return read_plan(self.folder)

    def _refuse_results(self) -> None:
        """Refuse to plan where labels or results are whose plan is not there: those of `exact` never had one."""
        held = {"votes": "labels", "evaluation.json": "results"}
        if name := next((name for name in held if (self.folder / name).exists()), None):
            raise StudyError(f"{self.folder} holds {held[name]} but no plan.json",
                             "plan into another folder, or restore it")  # fmt: skip

    def save_plan(self, plan: Plan, instead: str = REPEAT) -> bool:
        """Write the plan, unless it is already there; in place of another one, unless that `is_begun`.

        Args:
            instead: What to do where that one is begun.

        Returns:
            bool: False where the same plan was there already.
        """
        with self.planning():
            if self.exists and not restores(self.folder, plan):
                there = self.plan()
                if there.plan_id != plan.plan_id and plan.plan_id in there.study_ids:
                    return False  # it has grown since
                if there.plan_id != plan.plan_id and self.is_begun:
                    raise StudyError(f"{self.folder} holds a different plan: {difference(there, plan)}", instead)
                if there.plan_id == plan.plan_id and dict(there.location) == dict(plan.location):
                    return False
            elif not self.exists:
                self._refuse_results()
            atomic.write_all(plan_files(self.folder, plan, "plan"))
            for name in SIDE_TABLES.keys() - plan.side_tables.keys():
                (self.folder / f"{name}.parquet").unlink(missing_ok=True)  # of a plan that it replaced
            return True

    def grow_plan(self, plan: Plan) -> None:
        """Put a plan in place of the smaller one that it grew from, which is kept in plans/."""
        there = self.plan()
        if there.plan_id not in plan.study_ids or not np.all(isin(there.ranks, plan.ranks)):
            raise StudyError(f"{self.folder}: holds plan {there.plan_id}, which is not part of {plan.plan_id}")
        atomic.write_all(plan_files(self.folder / "plans", there, there.plan_id))
        atomic.write_all(plan_files(self.folder, plan, "plan"))

    def save_selection(
        self, plan: Plan, table: pa.Table, thresholds: pa.Table | None, facts: Mapping[str, Any]
    ) -> None:
        """Write the items to label, and the scores at the curve's cutoffs where the order has scores."""
        tags = {"plan_id": plan.plan_id, **facts}
        files = {self.folder / "selection.parquet": atomic.parquet(table, tags)}
        if thresholds is not None:
            files[self.folder / "thresholds.parquet"] = atomic.parquet(thresholds, tags)
        with self.changing():
            atomic.write_all(files)

    def selected(self, plan: Plan) -> Own | None:
        """Read what `save_selection` wrote; None where it is not all there, damaged, or of another plan."""
        try:
            file = read_table(self.folder / "selection.parquet", _SELECT, rank=pa.int64(), se_task=pa.int64())
            whole = plan.ranking.get("score") is None or self.thresholds(plan) is not None
        except (FileNotFoundError, StudyError):
            return None
        if file.facts.get("plan_id") != plan.plan_id or not whole:
            return None
        return file if np.array_equal(file.table.column("rank").to_numpy(), plan.ranks) else None

    def selection(self, plan: Plan) -> pa.Table | None:
        """Read the items to label; None before `select`; a `StudyError` where they belong to another plan."""
        return self._selected(plan, "selection.parquet")

    def thresholds(self, plan: Plan) -> pa.Table | None:
        """Read `rank`, `score` at the curve's cutoffs; None where the order has no scores, or before `select`."""
        return self._selected(plan, "thresholds.parquet")

    def _selected(self, plan: Plan, name: str) -> pa.Table | None:
        path = self.folder / name
        if not path.exists():
            return None
        file = read_table(path, _SELECT, rank=pa.int64())
        if file.facts.get("plan_id") != plan.plan_id:
            raise StudyError(f"{path}: belongs to another plan", _SELECT)
        return file.table

    def first_task(self, plan: Plan) -> int | None:
        """Least number of the tasks that people may have by now; None where nothing of this plan was selected."""
        path = self.folder / "selection.parquet"
        try:
            file = read_table(path, _SELECT, se_task=pa.int64())
        except (OSError, StudyError):
            return None  # it is made again, whatever it was
        if file.facts.get("plan_id") not in plan.study_ids:
            return None
        return min(file.table.column("se_task").to_pylist(), default=None)

    @property
    def labels(self) -> LabelStore:
        """Every row that people ever gave."""
        from streameval.study.vote_store import LabelStore

        return LabelStore(self.folder / "votes")

    @property
    def labelled(self) -> int:
        """Tell how many items have a row among the labels, whatever it says."""
        if not (self.folder / "votes").exists():
            return 0
        return len({rank for source in self.labels.sources() for rank in source.table.column("rank").to_pylist()})

    def items(self, plan: Plan) -> Items:
        """Give what label tables can be joined by."""
        from streameval.labelling.match_items import Items

        return Items(self.selection(plan), self.extra_tasks(), str(self.folder))

    def extra_tasks(self) -> pa.Table | None:
        """Read `se_task`, `rank`, `kind`, `expected` of tasks beyond one per item; None where there are none."""
        path = self.folder / "extra_tasks.parquet"
        return read_table(path, "restore it: it says what these tasks are").table if path.exists() else None

    def extra_task_files(self, extra: pa.Table) -> dict[Path, atomic.Writer]:
        """Writer of the extra tasks, to be written before the export that shows them; none where there are none."""
        path = self.folder / "extra_tasks.parquet"
        return {path: atomic.parquet(extra, {})} if extra.num_rows else {}

    def save_refused_issues(self, issues: pa.Table, account: Mapping[str, Any]) -> None:
        """Write refused_issues.parquet, for labels that were refused because of them: results stay as they are."""
        atomic.write_all({self.folder / "refused_issues.parquet": atomic.parquet(issues, {"account": dict(account)})})

    def summary(self) -> dict[str, Any]:
        """Read evaluation.json; a `FileNotFoundError` without results, a `StudyError` where they cannot be used."""
        return read_header(self.folder / "evaluation.json", EVALUATE)

    def evaluation(self) -> Evaluation:
        """Read results that have a curve, of a study or of `exact`; errors as of `results`."""
        return self.results(read_evaluation)

    def results(self, read: Callable[[Path, Mapping[str, Any]], R], holds: Holds | None = None) -> R:
        """Read all results.

        Args:
            read: Reads what belongs to an evaluation.json, from the folder and its content.
            holds: Whether what an evaluation.json says is of the plan as it is now; by default only of the same plan.

        Raises `StudyError` where there are none, they do not belong together, or plan or votes are others by now.
        """
        try:
            summary = self.summary()
            results = read(self.folder, summary)
            self._refuse_stale(summary, holds or _is_of)
            return results
        except FileNotFoundError as error:
            if not self.folder.exists():
                raise StudyError(f"{self.folder}: no such folder", "make a study with `streameval plan`") from error
            if not self.exists and not (self.folder / "evaluation.json").exists():
                self.plan()  # says that this is no study
            if (self.folder / "evaluation.json").exists():
                raise StudyError(f"{error.filename}: a file of the results is missing",
                                 EVALUATE if self.exists else EXACT) from error  # fmt: skip
            place = shlex.quote(str(self.folder))
            hint = f"`streameval evaluate {place} --labels FILE` takes in labels"
            hint = f"`streameval evaluate {place}` makes them" if self.labelled else hint
            raise StudyError(f"{self.folder}: no results yet", hint) from error
        except StudyError:
            raise
        except UNUSABLE as error:
            raise unusable(self.folder / "evaluation.json", error, EVALUATE) from error

    def _refuse_stale(self, summary: Mapping[str, Any], holds: Holds) -> None:
        """Refuse results of a former plan or of other votes; where votes/ was not handed on, results stand alone."""
        if not self.exists:
            return
        plan = self.plan()
        if not holds(summary, plan):
            grown = summary["study"] in plan.study_ids
            what = "the plan has grown since the results were written" if grown else "its results are of another plan"
            raise StudyError(f"{self.folder}: {what}", EVALUATE)
        if self.labels.folder.exists() and summary.get("votes") != self.labels.state():
            hint = EVALUATE if self.labelled else "no label counts any more: run evaluate with --labels FILE"
            raise StudyError(f"{self.folder}: its labels have changed since the results were written", hint)
