"""`streameval judge`."""

from __future__ import annotations

import shlex
from pathlib import Path

from streameval.cli.options import Flags, flags_of
from streameval.cli.output import Output
from streameval.cli.panels import LABELS
from streameval.labelling.options import AnswerColumns
from streameval.text import number_of


@flags_of(AnswerColumns, panel=LABELS)
class AnswerFlags(Flags):
    """Which columns of a table of answers say what."""


def judge(study: Path, /, *answers: str, columns: AnswerFlags = AnswerFlags(), output: Output = Output()) -> None:
    """Take what a judge said of the items that it was asked about, for good and before there are labels.

    Example: streameval judge my-study judge.csv

    Args:
        study: Folder of a study that was planned with --judge-sample; select --export writes what to ask.
        answers: What the judge said, in any format that evaluate takes: 0/1, yes/no or a probability. Items without an
            answer are a class of their own.
    """
    from streameval.judges.classes import counts_of
    from streameval.verbs.judge import judge as verb

    plan = verb(study, list(answers), **columns.given())
    counts = counts_of(plan)
    items, missing = sum(counts.values()), counts.get("no answer", 0)
    summary = ", ".join(f"{name}: {number:,}" for name, number in counts.items() if number)
    lines = [f"The judge's answers are frozen ({number_of(items, 'item')}; {summary})."]
    if missing:
        lines.append(f"{missing / items:.1%} of the items have no answer: they stay a class of their own for good.")
    following = f"streameval select {shlex.quote(str(study))} --export tasks.csv"
    result = {"study": str(study), "plan_id": plan.plan_id, "judge": counts, "next": following}
    output.say(result, [*lines, f"Next: {following}"])
