"""`plan --per`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streameval.cli.output import Output
from streameval.cli.planning import next_stop, planned
from streameval.cli.ranking import RankingFlags
from streameval.text import number_of
from streameval.text.options import flags


def plan_per(
    ranking: Sequence[str],
    study: Path,
    parameters: dict[str, Any],
    flags: RankingFlags,
    output: Output,
) -> None:
    """Draw rankings, plan the first items of each, and say how many labels that takes.

    Args:
        parameters: All other flags that were given; what has no part in it is refused.
    """
    from streameval.study import Study

    made, _ = planned(ranking, study, parameters, flags, output)
    drawn, total, at = made.parameters["rankings"], made.notes["rankings"], made.parameters["at"]
    labels, judge, per = made.table.num_rows, parameters.get("judge"), ",".join(made.notes["per"])
    again = {**parameters, **flags.changed(), "method": None, "seed": made.seed}
    judged = (
        f"'{judge}' is the judge of every ranking: bounds hold whatever it says, and only their width depends on it. "
        "People should not see its answers."
    )
    lines = [
        f"{drawn:,} of {number_of(total, 'ranking')} by {per}, the first {number_of(at, 'item')} of each: "
        f"{number_of(labels, 'item')} to label",
        *[judged] * (judge is not None),
        f"Seed {made.seed}, kept in plan.json: {_recipe(again)} plans the same again.",
        next_stop(Study(study), made),
    ]
    output.say({"study": str(study), "plan_id": made.plan_id, "labels": labels, **made.header()}, lines)


def _recipe(given: dict[str, Any]) -> str:
    """Flags that plan the same again."""
    values = {
        name: ",".join(map(str, value)) if isinstance(value, tuple | list) else value for name, value in given.items()
    }
    return shlex.join(flags(values))
