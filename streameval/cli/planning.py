"""What `plan` is asked for besides a list and a method, and what leads on from a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from streameval.cli.batch import record, stage
from streameval.cli.options import Flags, flags_of
from streameval.cli.output import Output, progress
from streameval.cli.panels import AGAINST, JUDGE, MANY, QUESTION, REUSE
from streameval.cli.ranking import RankingFlags
from streameval.judges.options import JudgeColumn
from streameval.labelling.options import ReuseOptions
from streameval.queries.options import RankingsDraw
from streameval.questions.asking import Asking
from streameval.questions.comparing import Comparing

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


@flags_of(Comparing, panel=AGAINST, without=("at",))
class AgainstFlags(Flags):
    """Another ranking of the same items, and how the two are compared."""


@flags_of(
    Comparing,
    panel=AGAINST,
    without=("against_score", "engine"),
    helps={
        "against": "Instead: what it costs to compare two rankings of the same items whose tops have this share in "
        "common, such as 80%.",
    },
)
class CostAgainstFlags(Flags):
    """How two rankings would be compared."""


Questions = Annotated[
    list[str] | None,
    Parameter(name="--for", group=QUESTION, consume_multiple=True, negative_iterable="",
              help=str(next(one for one in fields(Asking) if one.name == "questions").metadata["help"])),
]  # fmt: skip


@flags_of(RankingsDraw, panel=MANY, without=("confidence", "judge"))
class DrawnFlags(Flags):
    """Which rankings of a list that holds many are drawn."""


def planned(
    ranking: Sequence[str], study: Path, given: Mapping[str, Any], flags: RankingFlags, output: Output
) -> tuple[Plan, Path]:
    """Plan what is asked of rankings, and record it: the plan, and the study that it is in."""
    from streameval.study.plan_files import file_names
    from streameval.verbs.plan import plan

    with stage("plan", output) as told:
        with progress("rows", output) as bar:
            made = plan(list(ranking) or None, study, options=flags.options(), progress=bar, **given)
        told |= {"labels": made.table.num_rows, "n_items": made.n_items}
    place = study if made.location.get("beside") is None else Path(made.location["beside"])
    record(place, "plan", {"source": made.read_from, "n_items": made.n_items, **made.ranking},
           [place / name for name in file_names(made)], output)  # fmt: skip
    return made, place


def doubts(plan: Plan) -> list[str]:
    """What to look at before any label is spent."""
    return [plan.location["doubt"]] if "doubt" in plan.location else []


def next_stop(study: Study, plan: Plan) -> str:
    """What to run after `plan` or `grow`."""
    from streameval.reporting.next_step import first_step

    return f"Next: {first_step(study, plan).command}"
