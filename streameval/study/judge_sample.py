"""What a judge is asked about, and its answers, which are frozen before there are labels.

A plan whose judge answers for a sample has judge_sample.parquet: the ranks. `select` fetches their items into
judge_items.parquet. With its answers, the study's plan grows: judge_sample.parquet then has `judge` (a probability;
null where there is no answer) and `judge_class` too, judge_counts.parquet counts them by block, and the plan's id
covers all of it. The tasks of people are made from the plan that has grown: nobody labels before the judge answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, StudyError
from streameval.judges.values import UNDERSTOOD
from streameval.labelling.match_items import Items
from streameval.labelling.options import LabelColumns
from streameval.labelling.reading import read_votes
from streameval.labelling.votes import Votes
from streameval.parquet.own_tables import read_table
from streameval.stores import atomic
from streameval.stores.transfer import local_copy
from streameval.study import Study
from streameval.study.tasks import first_judged, task_numbers
from streameval.types import Plan
from streameval.typing import FloatArray


def view(plan: Plan) -> Plan:
    """A plan of the ranks that its judge is asked about."""
    if plan.judge_sample is None:
        raise ValueError("no judge was asked")
    return replace(plan, table=plan.judge_sample.select(["rank"])).with_notes(grown_from=list(plan.study_ids))


def tasks(folder: Study, plan: Plan, items: pa.Table, names: list[str]) -> pa.Table:
    """Keep the items that a judge is asked about, and make its tasks of them.

    Args:
        items: As they were fetched: `rank`, then their columns.
        names: Columns that are shown.

    Returns:
        pyarrow.Table: `se_study`, `se_task`, the columns that are shown, in the order of a seeded shuffle.
    """
    table = items.add_column(1, "se_task", pa.array(task_numbers(view(plan), first_judged(plan))))
    with folder.changing():
        atomic.write_all({folder.folder / "judge_items.parquet": atomic.parquet(table, {"plan_id": plan.plan_id})})
    shown = table.select(["se_task", *names]).take(pa.array(np.argsort(table.column("se_task").to_numpy())))
    return shown.add_column(0, "se_study", pa.array([plan.plan_id] * shown.num_rows, pa.string()))


def read_answers(folder: Study, plan: Plan, sources: Sequence[Any], columns: LabelColumns) -> FloatArray:
    """Give what a judge said of each rank of the sample, float64; NaN where it has no answer.

    Raises:
        InputError: A source that cannot be read, rows about items that it was not asked about, or two answers to one.
        StudyError: Tasks of another study.
    """
    path = folder.folder / "judge_items.parquet"
    items = Items(read_table(path, "run `streameval select --export` again").table) if path.exists() else Items()
    sample = view(plan)
    answers = np.full(sample.ranks.size, np.nan)
    for source in sources:
        with local_copy(source) as place:
            votes = read_votes(place, sample, items, columns)
        _refuse_strangers(votes)
        table = votes.table.filter(pa.array([state == "answer" for state in votes.table.column("state").to_pylist()]))
        _refuse_no_shares(votes, table)
        at, value = np.searchsorted(sample.ranks, table.column("rank").to_numpy()), table.column("value").to_numpy()
        before = answers[at]
        answers[at] = value
        differ = np.flatnonzero((answers[at] != value) | (~np.isnan(before) & (before != value)))
        if differ.size:
            row = table.column("row")[int(differ[0])].as_py()
            raise InputError(f"{votes.source}: row {row:,} has a second answer to an item, and another one",
                             "give each item one answer")  # fmt: skip
    return answers


def _refuse_no_shares(votes: Votes, answers: pa.Table) -> None:
    """Refuse values outside [0, 1]."""
    value = answers.column("value").to_numpy()
    odd = np.flatnonzero(~((value >= 0) & (value <= 1)))
    if odd.size:
        row, column = answers.column("row")[int(odd[0])].as_py(), votes.columns.get("label") or "label"
        raise InputError(f"{votes.source}: column '{column}' has {value[odd[0]]:g} in row {row:,}", UNDERSTOOD)


def _refuse_strangers(votes: Votes) -> None:
    strange = votes.table.column("state").to_pylist().count("unknown") + sum(votes.unlisted.values())
    if votes.unplanned or strange:
        raise InputError(
            f"{votes.source}: {votes.unplanned + strange:,} rows are about items that the judge was not asked about",
            "give the answers to what `select --export` wrote, and nothing else",
        )


def refuse_other_answers(folder: Study, plan: Plan, answers: FloatArray) -> None:
    """Refuse answers that differ from those that were frozen."""
    before = (
        plan.judge_sample.column("judge").to_numpy(zero_copy_only=False) if plan.judge_sample is not None else answers
    )
    then, now = ~np.isnan(before), ~np.isnan(answers)
    changes = {
        "had no answer then": now & ~then,
        "have none now": then & ~now,
        "have another": then & now & (before != answers),
    }
    differences = [f"{int(np.sum(items)):,} items {what}" for what, items in changes.items() if np.any(items)]
    if differences:
        raise StudyError(
            f"{folder.folder}: its judge has answered already, and its answers are frozen: {', '.join(differences)}",
            "give the answers that were frozen; another judge is another study: plan into a new folder",
        )
