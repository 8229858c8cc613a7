"""Select: fetch exactly the planned items, and export them as tasks for people."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval import atomic
from streameval.errors import InputError, StudyError, did_you_mean
from streameval.exports import writer_for
from streameval.methods import create
from streameval.rankings import Fetched, Forecast, Progress, Ranking, RankingOptions, open_ranking, silent
from streameval.study import Study
from streameval.types import Int64Array, Labels, Plan

# an export must not tell a person what the model or somebody before them thought
_TELLING = {
    "label", "labels", "y", "truth", "gold", "target", "class", "judgment", "judgments", "judgement", "judgements",
    "relevance", "relevant", "correct", "positive", "vote", "votes", "annotation", "rating", "score", "scores",
    "confidence", "probability", "prob", "similarity", "rank", "stratum",
}  # fmt: skip


@dataclass(frozen=True)
class Selection:
    """What `select` did.

    Attributes
    ----------
    table : pyarrow.Table
        `rank`, `stratum`, `score` (where the order has one), `se_task`, then the items' columns.
    fetched : Fetched
        What was read for it.
    left_out : tuple of str
        Columns that an export leaves out because they give the answer away.
    source : mapping
        Where the ranking lies, and its fingerprint.
    written : tuple of Path
        Files.
    """

    table: pa.Table
    fetched: Fetched
    left_out: tuple[str, ...] = ()
    source: Mapping[str, Any] = field(default_factory=dict)
    written: tuple[Path, ...] = ()


def select(
    study: str | os.PathLike[str],
    *,
    ranking: Any = None,
    columns: Sequence[str] | None = None,
    export: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> Selection:
    """Fetch the planned items into selection.parquet, and write them as tasks if asked to.

    Parameters
    ----------
    study : path
    ranking : table, optional
        The ranking that was planned, where it lies in memory: a study cannot open it again by itself.
    columns : sequence of str, optional
        The items' columns to carry; by default all. In an export, columns that look like scores or labels appear only
        when they are named here.
    export : path, optional
        Task file for people, format by its ending (.csv). Its order is a seeded shuffle, and `se_task` numbers that
        shuffle, so neither reveals a rank.
    progress : callable(done, total), optional

    Raises
    ------
    StudyError
        The ranking is not the one that was planned; both fingerprints are named.
    InputError
        A column that is not there, or a damaged file.
    """
    folder = Study(Path(study))
    plan = folder.plan()
    write = writer_for(os.fspath(export)) if export is not None else None
    opened = open_planned(plan, ranking)
    names = _columns(plan, opened, columns)
    cutoffs = None
    if plan.ranking.get("score") is not None:
        cutoffs = method_cutoffs(plan)
    fetched = opened.fetch(plan.ranks, names, progress, cutoffs)
    table = _with_ours(plan, fetched.table)
    folder.save_selection(plan, table, fetched.thresholds, {"tied_ranks": fetched.tied_ranks})
    source = {"source": plan.location["source"], "fingerprint": plan.ranking["fingerprint"]}
    written = (folder.folder / "selection.parquet",)
    if write is None or export is None:
        return Selection(table, fetched, (), source, written)
    tasks, left_out = _tasks(plan, table, set(columns or ()))
    atomic.write_all({Path(export): lambda path: write(tasks, path)})
    return Selection(table, fetched, left_out, source, (*written, Path(export)))


def forecast(
    study: str | os.PathLike[str], *, ranking: Any = None, columns: Sequence[str] | None = None
) -> tuple[Plan, Forecast]:
    """Say what `select` would read, from footers and page indexes; nothing is written.

    Raises
    ------
    StudyError, InputError
        See `select`.
    """
    plan = Study(Path(study)).plan()
    opened = open_planned(plan, ranking)
    return plan, opened.forecast(plan.ranks, _columns(plan, opened, columns))


def _columns(plan: Plan, opened: Ranking, columns: Sequence[str] | None) -> list[str]:
    """Columns to fetch: as asked, without a score that comes anyway."""
    known = opened.columns()
    names = list(columns) if columns is not None else known
    if strangers := sorted(set(names) - set(known)):
        raise InputError(f"the ranking has no column '{strangers[0]}'", did_you_mean(strangers[0], known))
    own = "score" if plan.ranking.get("score") == "score" else None
    return [name for name in dict.fromkeys(names) if name != own]


def open_planned(plan: Plan, ranking: Any = None) -> Ranking:
    """Open the ranking of a plan.

    Parameters
    ----------
    plan : Plan
    ranking : table, optional
        Where it lies in memory.

    Raises
    ------
    StudyError
        It was in memory and is not given, or is not the one that was planned; both fingerprints are named.
    """
    source = ranking if ranking is not None else plan.location["source"]
    if source is None:
        raise StudyError("this study's ranking was a table in memory", "give it again in Python, with ranking=table")
    opened = open_ranking(source, RankingOptions.of(plan))
    if opened.fingerprint != plan.ranking["fingerprint"]:
        raise StudyError(
            f"the ranking has fingerprint {opened.fingerprint}, but {plan.ranking['fingerprint']} was planned",
            "the files have changed since; plan the new list into a new study",
        )
    return opened


def method_cutoffs(plan: Plan) -> Int64Array:
    """Ranks that the curve's table will show: they follow from the plan, not from any label."""
    unknown = Labels.of(plan, np.full(plan.ranks.size, -1))
    return create(plan.method, dict(plan.parameters)).curve(plan, unknown).grid


def task_numbers(plan: Plan) -> Int64Array:
    """Number planned ranks 1..n in a seeded shuffle: `se_task`, in the plan's order."""
    from streameval.kernels.draw import draws

    order = np.argsort(draws(np.uint64(plan.seed % 2**64), plan.ranks.size), kind="stable")
    numbers = np.empty(order.size, dtype=np.int64)
    numbers[order] = np.arange(1, order.size + 1)
    return numbers


def _with_ours(plan: Plan, items: pa.Table) -> pa.Table:
    """Put `stratum` after `rank`, and `se_task` before the items' columns."""
    table = items.add_column(1, "stratum", plan.table.column("stratum"))
    at = 3 if plan.ranking.get("score") is not None else 2
    return table.add_column(at, "se_task", pa.array(task_numbers(plan)))


def _tasks(plan: Plan, table: pa.Table, named: set[str]) -> tuple[pa.Table, tuple[str, ...]]:
    ours = {"rank", "stratum", "se_task"} | ({"score"} if plan.ranking.get("score") else set())
    items = [name for name in table.column_names if name not in ours]
    left_out = tuple(n for n in items if n not in named and (n == plan.ranking.get("score") or _tells(n)))
    if "score" in named and "score" in ours:
        items.insert(0, "score")
    shown = table.sort_by("se_task")
    tasks: dict[str, Any] = {"se_study": pa.array([plan.plan_id] * table.num_rows), "se_task": shown.column("se_task")}
    tasks |= {name: shown.column(name) for name in items if name not in left_out}
    return pa.table(tasks), left_out


def _tells(name: str) -> bool:
    return any(part in _TELLING for part in re.split(r"[^a-z0-9]+", name.lower()))
