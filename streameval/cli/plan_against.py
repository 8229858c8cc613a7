"""`plan --against`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streameval.cli.batch import Batch
from streameval.cli.output import Output
from streameval.cli.planning import doubts, next_stop, planned
from streameval.cli.ranking import RankingFlags
from streameval.errors import InputError
from streameval.text.options import flag


def plan_against(
    ranking: Sequence[str], study: Path, given: dict[str, Any], flags: RankingFlags, batch: Batch, output: Output
) -> None:
    """Plan the comparison of two rankings, and say what changed between them and what is to be labelled of it.

    Args:
        given: All other flags that were given; what has no part in it is refused.
    """
    from streameval.kinds.paired.says import planned_lines
    from streameval.study import Study

    if "against" not in given:
        first = next(name for name in ("against_score", "within", "look", "engine") if name in given)
        raise InputError(f"{flag(first)} is for the comparison of two rankings, and no other one is named",
                         "name it with --against")  # fmt: skip
    if batch.dry_run:
        raise InputError("--against does not go with --dry-run", "what changed is found by reading both lists")
    made, _ = planned(ranking, study, given, flags, output)
    labels, labelled = made.table.num_rows, Study(study).labelled
    facts = {"reused": labelled, "to_label": labels - labelled} if "reuse" in given else {}
    seed = f"Seed {made.seed}, kept in plan.json."
    lines = [*planned_lines(made, labelled if facts else 0), seed, *doubts(made), next_stop(Study(study), made)]
    output.say({"study": str(study), "plan_id": made.plan_id, "labels": labels, **facts, **made.header()}, lines)
