"""Scan: do one share of the scans that find the planned ranks of a list by score."""

from __future__ import annotations

import os
from pathlib import Path

from streameval.errors import StudyError
from streameval.kernels.sorted_sets import unique
from streameval.kinds import kind_of
from streameval.progress import Progress, silent
from streameval.rankings.copied import read_from_copies
from streameval.scans.checkpoints import ScanState, Shard
from streameval.scans.jobs import Engine
from streameval.study import Study
from streameval.study.planned_ranking import planned_ranking


def scan(
    study: str | os.PathLike[str],
    *,
    shard: str = "1/1",
    engine: Engine | str = "local",
    progress: Progress = silent,
) -> ScanState:
    """Do one share of the scans that `select` needs, and keep what comes of it in the study.

    Scans follow one another, and each needs all shares of the one before. Shares may be done in any order, at once by
    several processes that see the study's folder, again, or in different numbers of shares: the ranks are the same.

    Args:
        shard: "i/n": the i-th of n shares of the list's rows. "1/1": all that is left.
        engine: What reads the rows: "local" (threads of this process), "spark" (the session that is there, or a new one
            on this machine), or one with settings: `streameval.engines.create("spark", {"remote": "sc://host:15002"})`.
            Ranks do not depend on it.

    Returns:
        ScanState: The scan that it came to, and the shares of it that are missing: none when `select` can go on.

    Raises:
        StudyError: The ranking is not the one that was planned, or it is not ordered by score.
        InputError: A shard that does not exist; scores that are missing; a damaged file.
    """
    share = Shard.parse(shard)
    folder = Study(Path(study))
    plan = folder.plan()
    opened, scans = planned_ranking(folder, plan, engine=engine)
    if opened.order is None:
        raise StudyError(f"{study}: the stored order is the ranking, so there is nothing to scan", "run select")
    if folder.selection(plan) is not None:
        return ScanState("selection", 0, 0)
    cutoffs = kind_of(folder.folder).tasks.cutoffs(plan)
    wanted = plan.ranks if cutoffs is None else unique(plan.ranks, cutoffs)
    with read_from_copies(plan):
        return opened.order.scan(wanted, scans, share, progress)
