"""`streameval grow`."""

from __future__ import annotations

from pathlib import Path

from streameval.cli.batch import Batch, job
from streameval.cli.forecasts import lines_of, of_plan, rehearsed
from streameval.cli.options import Flags, flags_of
from streameval.cli.output import Output
from streameval.cli.planning import next_stop
from streameval.methods import method_of
from streameval.types import Plan
from streameval.verbs.grow import Growth


@flags_of(Growth)
class GrowthFlags(Flags):
    """By how much a study is to grow."""


@job
def grow(
    study: Path,
    /,
    *,
    by: GrowthFlags = GrowthFlags(),
    batch: Batch = Batch(),
    output: Output = Output(),
) -> None:
    """Add labels to a study that was planned to grow; what was labelled before stays good.

    Example: streameval grow my-study --labels 2000
    Example: streameval grow my-study --half-width 0.05
    Example: streameval grow my-study --rest

    Args:
        study: Folder of a study that was planned with --stages N --growing or --adaptive, or adopted with --stages N.
    """
    from streameval.kinds import answering
    from streameval.parquet.account import Forecast
    from streameval.study import Study
    from streameval.verbs.grow import grow as verb
    from streameval.verbs.grow import grown_plan

    answering(study, "grow")
    folder, how = Study(study), Growth(**by.given())
    there = folder.plan()
    grown = grown_plan(folder, there, how) if batch.dry_run else verb(study, **by.given())
    labels, more = grown.table.num_rows, grown.table.num_rows - there.table.num_rows
    met = grown.plan_id == there.plan_id
    stage = "both batches" if how.rest else f"stage {grown.look} of {method_of(grown).looks}"
    if batch.dry_run:
        facts = rehearsed(of_plan(grown), Forecast(), [] if met else [study / "plan.parquet", study / "plan.json"])
        head = f"{grown.method}: {more:,} more items would be planned, {labels:,} in all ({stage})."
        output.say({**facts, "more": more}, [head, *_fewer(how, grown, more), *lines_of(facts)])
        return
    output.event("plan", labels=labels, n_items=grown.n_items, look=grown.look)
    done = f"enlarged by this request already, {labels:,} items to label in all"
    head = f"{grown.method}: {done if met else f'{more:,} more items to label, {labels:,} in all'} ({stage})"
    result = {"study": str(study), "plan_id": grown.plan_id, "labels": labels, "more": more, "already_there": met,
              **grown.header()}  # fmt: skip
    output.say(result, [head, *_fewer(how, grown, more), next_stop(folder, grown)])


def _fewer(how: Growth, grown: Plan, more: int) -> list[str]:
    """Why a study grew by fewer labels than it was allowed."""
    if how.labels is None or not 0 < more < how.labels:
        return []
    last = ", and this is the last" if grown.look == method_of(grown).looks else ""
    return [f"Up to {how.labels:,} more were allowed; stages are added whole{last}."]
