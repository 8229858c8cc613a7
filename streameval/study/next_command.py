"""Commands to run next, each with what it does."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from streameval.judges.classes import awaits_judge
from streameval.study import Study
from streameval.text import number_of
from streameval.text.options import flag
from streameval.types import Plan


class NextCommand(NamedTuple):
    """A command to run next, and what it does; both empty where nothing has to be done."""

    command: str = ""
    does: str = ""

    def __str__(self) -> str:
        return f"`{self.command}` {self.does}" if self.command else ""


NOTHING = NextCommand()


def first_command(study: Study, plan: Plan) -> NextCommand:
    """Before there are results: the command that brings labels, or takes in those that there are."""
    folder, planned = str(study.folder), plan.table.num_rows
    if awaits_judge(plan):
        return command("writes what the judge is asked", "select", folder, "--export", "judge.csv")
    labelled = study.labelled
    if labelled == planned:
        return command("makes the results", "evaluate", folder)
    if study.selected(plan) is not None:
        return command("takes in labels", "evaluate", folder, "--labels", "FILE")
    tasks = f"writes the {number_of(planned - labelled, 'task')}"
    return command(tasks, "select", folder, *["--remaining"] * bool(labelled), "--export", "tasks.csv")


def results_again(study: Study, plan: Plan) -> NextCommand:
    """Where labels are others than those of the results: what makes them anew; what brings labels where none counts."""
    if plan.table.num_rows and not study.labelled:
        return first_command(study, plan)
    return command("makes the results again", "evaluate", str(study.folder))


def remaining(study: str) -> NextCommand:
    """Where labels are missing: the command that asks for them."""
    does = "writes the tasks that have no label yet"
    return command(does, "select", study, "--remaining", "--export", "remaining.csv")


def command(does: str, *words: str) -> NextCommand:
    """A command of ours, from its words."""
    return NextCommand(shlex.join(["streameval", *words]), does)


def flags(values: Mapping[str, Any]) -> list[str]:
    """Words of a command that give it options; True is a flag alone, and None is not given."""
    return [
        text
        for key, value in values.items()
        if value is not None
        for text in (flag(key), *([] if value is True else [str(value)]))
    ]
