"""`streameval scan`."""

from __future__ import annotations

import shlex
from pathlib import Path

from streameval.cli.options import EngineFlags
from streameval.cli.output import Output, progress


def scan(study: Path, /, *, shard: str = "1/1", engine: EngineFlags = EngineFlags(), output: Output = Output()) -> None:
    """Do one share of the scans that find the planned ranks of a list by score, for `select` to merge.

    Example: streameval scan my-study --shard 3/8
    Example: streameval scan my-study --engine spark:sc://spark:15002

    Each scan needs all shares of the one before: run every shard again until nothing is missing. Shards may run in any
    order, at once, or again. Without --shard, all that is left is done.

    Args:
        study: Folder of the study, which all shards see.
        shard: i/n: the i-th of n shares.
    """
    from streameval.reporting.next_step import fetch_items
    from streameval.verbs.scan import scan as verb

    with progress("scanning", output) as bar:
        state = verb(study, shard=shard, engine=engine.create(), progress=bar)
    missing = [f"{one.index}/{one.count}" for one in state.missing]
    facts = {"shard": shard, "scan": state.step, "row_groups_done": state.units_done, "row_groups": state.units}
    output.event("scan", **facts, missing=missing)
    if missing:
        shown = ", ".join(missing[:12]) + (" …" if len(missing) > 12 else "")
        lines = [
            f"Scan '{state.step}': {state.units_done:,} of {state.units:,} row groups read; missing: shard {shown}",
            f"Next: run those, then every shard again: streameval scan {shlex.quote(str(study))} --shard {missing[0]}",
        ]
    else:
        lines = ["All scans are done", f"Next: {fetch_items(str(study)).command}"]
    output.say({"study": str(study), **facts, "missing": missing, "done": not missing}, lines)
