"""The next round of a question: drawn once every task of the rounds before has been answered or skipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import StudyError
from streameval.kernels.sorted_sets import isin, setdiff1d, unique
from streameval.kinds.question.plan import load_design, next_drawn, with_drawn
from streameval.kinds.question.tree import known_now
from streameval.kinds.tasks import PlannedTasks
from streameval.parquet.own_tables import read_table
from streameval.progress import Progress
from streameval.rankings.ranking import Fetched, Ranking
from streameval.scans.checkpoints import Scans
from streameval.stores import atomic
from streameval.study import Study
from streameval.study.judging import recount
from streameval.types import Plan
from streameval.typing import BoolArray, Int64Array

_AHEAD = "ahead_items.parquet"
_OURS = ("stratum", "draw_weight", "se_task")


def is_answered(folder: Study, plan: Plan) -> bool:
    """Tell whether the labels that there are decide every question."""
    design, drawn = load_design(plan, known_now(folder, plan))
    return design.answer(drawn, recount(folder, plan).labels.label).outcome != "open"


class RoundTasks(PlannedTasks):
    """Tasks of a question, in rounds: the next is drawn once every task of those before is answered or skipped."""

    def next_round(self, folder: Study, plan: Plan) -> Plan:
        """Draw one more round; the same plan where tasks are open, the question is answered, or the budget is spent.

        Rates and places of a round follow the labels as they are counted now, and are written down with it: a label
        that comes later changes what is proven, never what was drawn.
        """
        if not folder.labels.folder.exists():
            return plan
        tallied = recount(folder, plan)
        if not tallied.answered.all():
            return plan
        design, drawn = load_design(plan, known_now(folder, plan))
        how = plan.parameters["round"], plan.parameters["budget"], plan.seed
        more = next_drawn(design, drawn, tallied.labels.label, how)
        if more is drawn:
            return plan
        grown = with_drawn(plan, more).with_notes(grown_from=list(plan.study_ids))
        folder.grow_plan(grown)
        return grown

    def is_answered(self, folder: Study, plan: Plan) -> bool:
        """Tell whether nothing that was asked is open; computed without writing anything."""
        return is_answered(folder, plan)

    def handed_out(self, folder: Study, plan: Plan, remaining: bool) -> BoolArray:
        """Tasks that nobody has answered or skipped, in the plan's order: what is known is never asked again."""
        if not folder.labels.folder.exists():
            return np.ones(plan.table.num_rows, bool)
        return ~recount(folder, plan).answered

    def in_order(self, plan: Plan, numbers: Int64Array) -> Int64Array:
        """As they were drawn: labels count in that order, which is random too, up to the first that is missing."""
        columns = plan.table.column_names
        keys = [plan.table.column(name).to_numpy() for name in ("draw", "order", "batch") if name in columns]
        return numbers[np.lexsort((numbers, *keys))]

    def cutoffs(self, plan: Plan) -> Int64Array | None:
        """Ranks of the cutoffs of all questions; None where the order has no scores."""
        return None if plan.ranking.get("score") is None else np.array(plan.notes["cutoffs"], np.int64)

    def fetch(self, folder: Study, plan: Plan, opened: Ranking, how: tuple[Sequence[str], Progress, Scans]) -> Fetched:
        """Give the planned items; of the list, those are read that were not read for a round before.

        To find ranks by score takes scans of the whole list, however few they are. So items that are drawn and not
        asked for yet are found by the same scans, and wait in ahead_items.parquet; nobody is shown them.

        Args:
            how: Columns, who is told how many rows were read, and the scans that the study keeps.
        """
        names, progress, scans = how
        there = _items_read(folder, plan, names)
        ahead = np.empty(0, np.int64) if plan.ahead is None else plan.ahead.column("rank").to_numpy()
        wanted = unique(plan.ranks, ahead)
        missing = wanted if there is None else setdiff1d(wanted, there.column("rank").to_numpy())
        thresholds = _thresholds(folder, plan)
        read = Fetched(pa.table({}))
        if missing.size or there is None:
            read = opened.fetch(missing, names, progress, self.cutoffs(plan) if thresholds is None else None, scans)
            there = read.table if there is None else pa.concat_tables([there, read.table.cast(there.schema)])
        there = there.sort_by("rank")
        ranks = there.column("rank").to_numpy()
        tags = {"plan_id": plan.plan_id, "columns": list(names)}
        atomic.write_all({folder.folder / _AHEAD: atomic.parquet(there.filter(isin(ranks, ahead)), tags)})
        table = there.filter(isin(ranks, plan.ranks))
        ties = read.tied_ranks if not ahead.size else 0  # whether of those shown is not told
        thresholds = read.thresholds if thresholds is None else thresholds
        return replace(read, table=table, tied_ranks=ties, thresholds=thresholds)


def _items_read(folder: Study, plan: Plan, names: Sequence[str]) -> pa.Table | None:
    """Items that were read for rounds before, with at least these columns: `rank`, `score`, then those."""
    tables: list[pa.Table] = []
    for name in ("selection.parquet", _AHEAD):
        try:
            file = read_table(folder.folder / name, "run `streameval select` again", rank=pa.int64())
        except (FileNotFoundError, StudyError):
            continue
        columns: Any = file.facts.get("columns")
        if file.facts.get("plan_id") not in plan.study_ids or not {*names} <= {*(columns or ())}:
            continue
        items = file.table.drop_columns([column for column in _OURS if column in file.table.column_names])
        first = items.num_columns - len(columns)
        place = {column: at for at, column in enumerate(columns, first)}
        tables.append(items.select([*range(first), *(place[column] for column in names)]))
    if not tables:
        return None
    joined = pa.concat_tables([tables[0], *(table.rename_columns(tables[0].column_names) for table in tables[1:])])
    return joined.take(pa.array(np.unique(joined.column("rank").to_numpy(), return_index=True)[1]))


def _thresholds(folder: Study, plan: Plan) -> pa.Table | None:
    """Scores at the cutoffs, which no round changes."""
    if plan.ranking.get("score") is None:
        return None
    try:
        file = read_table(folder.folder / "thresholds.parquet", "", rank=pa.int64())
    except (FileNotFoundError, StudyError):
        return None
    return file.table if file.facts.get("plan_id") in plan.study_ids else None


TASKS = RoundTasks()
