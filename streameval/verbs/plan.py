"""Plan: choose the ranks to label."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from streameval.methods import create
from streameval.progress import Progress, silent
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rows.options import RankingOptions
from streameval.slices.plan import draw_by_slices
from streameval.study import Study
from streameval.types import Plan


def plan(
    ranking: Any,
    study: str | os.PathLike[str],
    *,
    method: str = "paula",
    seed: int = 0,
    options: RankingOptions | None = None,
    by: str | None = None,
    progress: Progress = silent,
    **parameters: Any,
) -> Plan:
    """Choose the ranks of a ranking to label, and write them to a study.

    Parameters
    ----------
    ranking : path, list of paths, or table
        A Parquet file, a folder of partitions, a glob, or a list of these; or an Arrow, Polars or pandas table. Its
        stored order is the ranking, or the order that `options` describe.
    study : path
        Folder of the study; made if it is not there. The same plan again changes nothing.
    method : str
        Name of the method.
    seed : int
        Seed of what is random: the draw, and the shuffle of the tasks.
    options : RankingOptions, optional
        Score, key, order of files, memory, threads.
    by : str, optional
        Column whose values are slices: each gets ranks, a curve and metrics of its own (`draw_by_slices`).
    progress : callable(done, total), optional
        Rows read, of a list in slices: nothing is read of any other.
    **parameters
        Of the method (`streameval.methods`).

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        Whatever is wrong with the ranking or a parameter.
    StudyError
        The folder holds a different plan.
    """
    drawn, _ = draw(ranking, Drawing(method, seed, by), options, parameters, progress)
    Study(Path(study)).save_plan(drawn)
    return drawn


@dataclass(frozen=True)
class Drawing:
    """What chooses the ranks.

    Attributes
    ----------
    method : str
    seed : int
    by : str or None
        Column of the slices; None where the list is one.
    """

    method: str
    seed: int = 0
    by: str | None = None


def draw(
    ranking: Any,
    how: Drawing,
    options: RankingOptions | None,
    parameters: dict[str, Any],
    progress: Progress = silent,
) -> tuple[Plan, Ranking]:
    """Choose ranks and write nothing: the plan, and the ranking that was opened for it.

    Raises
    ------
    InputError
        See `plan`.
    """
    chosen = create(how.method, parameters)
    opened = open_ranking(ranking, options)
    if how.by is not None:
        return draw_by_slices(opened, how.by, chosen, how.seed, progress), opened
    drawn = replace(chosen.plan(opened.n_items, how.seed), ranking=opened.description(), location=opened.location())
    return drawn, opened
