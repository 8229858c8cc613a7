"""`streameval judge`."""

from __future__ import annotations

from pathlib import Path

from streameval.cli.options import Flags, flags_of
from streameval.cli.output import Output, progress
from streameval.cli.panels import LABELS
from streameval.labelling.options import AnswerColumns
from streameval.text import number_of


@flags_of(AnswerColumns, panel=LABELS)
class AnswerFlags(Flags):
    """Which columns of a table of answers say what."""


def judge(
    study: Path,
    /,
    *answers: str,
    command: str | None = None,
    rate: float | None = None,
    columns: str | None = None,
    price_per_label: float | None = None,
    read: AnswerFlags = AnswerFlags(),
    output: Output = Output(),
) -> None:
    """Take what a judge said of the items that it was asked about, for good and before there are labels.

    Example: streameval judge my-study judge.csv
    Example: streameval judge my-study --command ./ask.sh --rate 20 --price-per-label 0.002

    Args:
        study: Folder of a study that was planned with --judge-sample; select --export writes what to ask.
        answers: What the judge said, in any format that evaluate takes: 0/1, yes/no or a probability. Items without an
            answer are a class of their own.
        command: Program to ask instead: it reads a line of JSON for each item, and writes {"se_task": …, "label": …}.
            Answers are kept as they come; the same command goes on.
        rate: Items that the program is given in a second at most.
        columns: The items' columns that it is given, as in select.
        price_per_label: Adds what its answers cost.
    """
    from streameval.judges.classes import counts_of
    from streameval.reporting.next_step import export_tasks
    from streameval.verbs.cost import priced
    from streameval.verbs.judge import judge as verb

    priced(0, price_per_label)
    with progress("asking", output) as bar:
        plan = verb(study, list(answers), command=command, rate=rate, columns=columns, progress=bar, **read.given())
    counts = counts_of(plan)
    items, missing = sum(counts.values()), counts.get("no answer", 0)
    summary = ", ".join(f"{name}: {number:,}" for name, number in counts.items() if number)
    lines = [f"The judge's answers are frozen ({number_of(items, 'item')}; {summary})."]
    if missing:
        lines.append(f"{missing / items:.1%} of the items have no answer: they stay a class of their own for good.")
    price = priced(items, price_per_label)
    if price is not None:
        lines.append(f"At {price_per_label:,g} each, they cost {price:,.2f}.")
    following = export_tasks(str(study)).command
    result = {"study": str(study), "plan_id": plan.plan_id, "judge": counts, "price": price, "next": following}
    output.say(result, [*lines, f"Next: {following}"])
