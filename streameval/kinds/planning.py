"""What is the same around the draw of every kind: the folder, the seed, the list as it is opened, and the writing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from streameval.labelling.votes import Votes
from streameval.progress import Progress, silent
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rows.options import RankingOptions
from streameval.scans.checkpoints import forget
from streameval.study import REPEAT, Study
from streameval.study.list_copy import materialize, with_copy
from streameval.study.planning import (
    fresh_seed,
    known_seed,
    planned_ids,
    planned_study,
    refuse_unjoinable,
    save_unless_planned,
)
from streameval.types import Plan


@dataclass(frozen=True)
class Drawn:
    """What a kind has drawn.

    Attributes:
        ranking: As it was opened, of whose rows the plan is.
        votes: Labels that its items have already.
        found: Scans that led to it, which are kept until it is written: an interrupted draw goes on from them.
        instead: What to do where the study holds another plan that is begun.
    """

    plan: Plan
    ranking: Ranking
    votes: Votes | None = None
    found: Path | None = None
    instead: str = REPEAT


@dataclass(frozen=True)
class PlanRequest:
    """A study that is to be planned.

    Attributes:
        before: Ids of the plan that it holds.
        given_seed: The seed that was given; None where none was.
        seed: The same, or else that of the plan that is there; None where there is neither.
        drawing_seed: The seed to draw by: a fresh one where none is fixed.
        options: Of the ranking.
    """

    study: Study
    before: tuple[str, ...]
    given_seed: int | None
    seed: int | None
    drawing_seed: int
    options: RankingOptions
    progress: Progress

    @staticmethod
    def parse(
        study: str | os.PathLike[str], seed: int | None, options: RankingOptions, progress: Progress = silent
    ) -> PlanRequest:
        """Look at what the folder holds; an `InputError` where its name is empty."""
        folder = planned_study(study)
        before, fixed = planned_ids(folder), known_seed(folder, seed)
        drawing_seed = fresh_seed() if fixed is None else fixed
        return PlanRequest(folder, before, seed, fixed, drawing_seed, options, progress)

    def materialized(self, ranking: object) -> object:
        """Give what to open for a ranking: itself, or its copy in the study."""
        return materialize(self.study, ranking, self.options, self.progress)

    def open(self, ranking: object, columns: Sequence[str] = ()) -> Ranking:
        """Open a ranking; an `InputError` where no labels could be joined by its key, or by other columns."""
        opened = open_ranking(self.materialized(ranking), self.options)
        refuse_unjoinable(opened, (*columns, *self.options.key))
        return opened

    def save(self, drawn: Drawn) -> Plan:
        """Write a plan, and the labels that its items have, unless another command has planned otherwise meanwhile."""
        plan = with_copy(drawn.plan, self.study)
        with self.study.planning():
            save_unless_planned(self.study, self.before, plan, drawn.instead)
            if drawn.votes is not None:
                self.study.labels.add([drawn.votes])
        if drawn.found is not None:
            forget(drawn.found)
        return plan
