"""Scan: do one share of the scans that find the planned ranks of a list by score."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from streameval.errors import StudyError
from streameval.kernels.sorted_sets import unique
from streameval.kinds import kind_of
from streameval.options import takes
from streameval.printed import Event, Printed
from streameval.progress import Progress, silent
from streameval.rankings.copied import read_from_copies
from streameval.reporting.next_step import fetch_items
from streameval.scans.checkpoints import ScanState, Shard
from streameval.scans.jobs import Engine
from streameval.study import Study
from streameval.study.planned_ranking import planned_ranking


@takes()
def scan(
    study: str | os.PathLike[str],
    *,
    shard: str = "1/1",
    engine: Engine | str = "local",
    progress: Progress = silent,
) -> ScanState:
    """Do a share of the scans.

    Of those that find the planned ranks of a list by score; `select` merges them.

    Example: streameval scan my-study --shard 3/8
    Example: streameval scan my-study --engine spark:sc://spark:15002

    Each scan needs all shares of the one before: run every shard again until nothing is missing. Shards may run in any
    order, at once, or again. Without --shard, all that is left is done.

    Args:
        study: Folder of the study, which all shards see.
        shard: i/n: the i-th of n shares. In Python also: of the list's rows, and "1/1" is all that is left. Shares may
            be done in different numbers of them too: the ranks are the same.
        engine: In Python: what reads the rows: "local" (threads of this process), "spark" (the session that is there,
            or a new one on this machine), or one with settings:
            `streameval.engines.create("spark", {"remote": "sc://host:15002"})`. Ranks do not depend on it.

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


def printed(state: ScanState, study: Path, shard: str, **_: Any) -> Printed:
    """Print how far the scan under way is, and what to run next."""
    missing = [f"{shard_missing.index}/{shard_missing.count}" for shard_missing in state.missing]
    facts = {"shard": shard, "scan": state.step, "row_groups_done": state.units_done, "row_groups": state.units}
    folder = shlex.quote(str(study))
    if missing:
        shown = ", ".join(missing[:12]) + (" …" if len(missing) > 12 else "")
        lines = [
            f"Scan '{state.step}': {state.units_done:,} of {state.units:,} row groups read; missing: shard {shown}",
            f"Next: run those, then every shard again: streameval scan {folder} --shard {missing[0]}",
        ]
    else:
        lines = ["All scans are done", f"Next: {fetch_items(str(study)).command}"]
    facts |= {"missing": missing}
    return Printed({"study": str(study), **facts, "done": not missing}, lines, events=[Event("scan", facts)])
