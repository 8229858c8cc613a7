"""What `plan` is asked for besides a list and a method, and what leads on from a plan."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from streameval.cli.options import Flags, flags_of
from streameval.cli.panels import JUDGE, MANY, QUESTION, REUSE
from streameval.judges.options import JudgeColumn
from streameval.labelling.options import ReuseOptions
from streameval.queries.options import RankingsDraw
from streameval.questions.asking import Asking

if TYPE_CHECKING:
    from streameval.study import Study
    from streameval.types import Plan


@flags_of(JudgeColumn, panel=JUDGE)
class JudgeFlags(Flags):
    """The judge that answers in a column of the list."""


@flags_of(ReuseOptions, panel=REUSE)
class ReuseFlags(Flags):
    """Drawing the same items in every version of a ranking, and which labels they bring."""


@flags_of(Asking, panel=QUESTION, without=("questions",))
class QuestionFlags(Flags):
    """How a question is to be answered."""


Questions = Annotated[
    list[str] | None,
    Parameter(name="--for", group=QUESTION, consume_multiple=True, negative_iterable="",
              help=str(next(one for one in fields(Asking) if one.name == "questions").metadata["help"])),
]  # fmt: skip


@flags_of(RankingsDraw, panel=MANY, without=("confidence", "judge"))
class DrawnFlags(Flags):
    """Which rankings of a list that holds many are drawn."""


def doubts(plan: Plan) -> list[str]:
    """What to look at before any label is spent."""
    return [plan.location["doubt"]] if "doubt" in plan.location else []


def next_stop(study: Study, plan: Plan) -> str:
    """What to run after `plan` or `grow`."""
    from streameval.study.next_command import first_command

    return f"Next: {first_command(study, plan).command}"
