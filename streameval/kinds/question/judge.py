"""What a judge says of the list of a question: read once, when it is planned, and kept with the plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from streameval.judges.values import Judge
from streameval.progress import Progress
from streameval.rankings.ranking import Ranking
from streameval.sequential import JudgedItems, KnownItems
from streameval.types import Plan
from streameval.typing import Int64Array

KEPT = 60_000
"""Items that are put in a random order: no more can be asked of a question with a judge."""


@dataclass
class ListOfJudge:
    """Reads what a judge says when a design asks for it, and remembers it.

    Attributes:
        ends, items: Of what was read.
    """

    ranking: Ranking
    judge: Judge
    known: KnownItems
    seed: int
    progress: Progress
    ends: Int64Array | None = None
    items: JudgedItems | None = None

    def __call__(self, ends: Int64Array) -> JudgedItems:
        """Count the classes in ranges that end at these ranks, and put some of their items in order."""
        from streameval.slices.judge import class_order

        found = class_order(self.ranking, self.judge, ends, self.known.rank, (KEPT, self.seed), self.progress)
        self.ends = ends
        self.items = JudgedItems(found.items, self.judge.prior, found.of_ranks, found.first)
        return self.items

    def kept_by(self, plan: Plan) -> Plan:
        """Give a plan what was read: from here on `plan_id` covers it."""
        if self.ends is None or self.items is None or plan.known is None:
            raise ValueError("no design asked for the judge")
        classes = self.judge.classes
        counts = pa.table({"stratum_last": np.repeat(self.ends, classes),
                           "judge_class": np.tile(np.arange(classes, dtype=np.int8), self.ends.size),
                           "items": self.items.items.reshape(-1)})  # fmt: skip
        known = plan.known.append_column("judge_class", pa.array(self.items.known, pa.int8()))
        made = replace(plan, judge_counts=counts, judge_sample=self.items.reserve, known=known)
        return made.with_notes(judge={**self.judge.note(), "reserve": True})
