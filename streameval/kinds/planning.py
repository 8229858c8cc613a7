"""Steps around the draw of every kind: the folder, the seed, the list as it is opened, and the writing."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from streameval.errors import InputError, OutsideError, StudyError
from streameval.labelling.votes import Votes
from streameval.progress import Progress, silent
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rows.options import RankingOptions
from streameval.scans.checkpoints import forget
from streameval.study import REPEAT, Study
from streameval.study.known_labels import KnownLabels
from streameval.study.list_copy import materialize, with_copy
from streameval.types import Plan


@dataclass(frozen=True)
class Drawn:
    """Plan that a kind has drawn, with its ranking.

    Attributes:
        ranking: As it was opened, of whose rows the plan is.
        votes: Labels that its items have already, of those that are known (`KnownLabels.votes`).
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
        known_labels: Those that exist before the plan; which of them may count, its kind says.
    """

    study: Study
    before: tuple[str, ...]
    given_seed: int | None
    seed: int | None
    drawing_seed: int
    options: RankingOptions
    known_labels: KnownLabels
    progress: Progress

    @staticmethod
    def parse(
        study: str | os.PathLike[str], seed: int | None, options: RankingOptions, known_labels: KnownLabels,
        progress: Progress = silent,
    ) -> PlanRequest:  # fmt: skip
        """Look at what the folder holds; an `InputError` where its name is empty: that would be the current folder."""
        if not os.fspath(study):
            raise InputError("the study's name is empty", "name a folder; '.' is the current one")
        folder = Study(Path(study))
        before = _ids(folder)
        fixed = folder.plan().seed if seed is None and folder.exists else seed
        drawing_seed = fresh_seed() if fixed is None else fixed
        return PlanRequest(folder, before, seed, fixed, drawing_seed, options, known_labels, progress)

    def openable(self, ranking: object) -> object:
        """Give what to open for a ranking: itself, or its copy in the study."""
        return materialize(self.study, ranking, self.options, self.progress)

    def open(self, ranking: object, columns: Sequence[str] = ()) -> Ranking:
        """Open a ranking; an `InputError` where no labels could be joined by its key, or by other columns."""
        opened = open_ranking(self.openable(ranking), self.options)
        refuse_unjoinable(opened, (*columns, *self.options.key))
        return opened

    def save(self, drawn: Drawn) -> Plan:
        """Write a plan, and the labels that its items have, unless another command has planned otherwise meanwhile."""
        plan = with_copy(drawn.plan, self.study)
        with self.study.planning():
            now = _ids(self.study)
            if now != self.before and plan.plan_id not in now:
                raise OutsideError(f"{self.study.folder}: another command has just planned it differently",
                                   "run the same command again")  # fmt: skip
            self.study.save_plan(plan, drawn.instead)
            if drawn.votes is not None:
                self.study.labels.add([drawn.votes])
        if drawn.found is not None:
            forget(drawn.found)
        return plan


def _ids(study: Study) -> tuple[str, ...]:
    """Ids of the plan that a study holds; none where there is none that can be read."""
    try:
        return study.plan().study_ids if study.exists else ()
    except StudyError:
        return ()


def refuse_unjoinable(ranking: Ranking, columns: Iterable[str]) -> None:
    """Refuse (`InputError`) a plan by keys of a type by which no labels could be joined, before anybody labels."""
    from streameval.labelling.key_forms import refuse_unreadable_items

    schema = ranking.rows.schema
    keys = pa.schema([schema.field(name) for name in columns if name in schema.names])
    refuse_unreadable_items(keys, ranking.rows.name)


def fresh_seed() -> int:
    """53 bits of the system's entropy, so that readers of plan.json that know no integers but doubles keep them all.

    A draw bounds a list only if nobody had its ranks in hand when the list was made. With one seed for every list, what
    was found wrong in last night's sample, and mended, is tonight's sample.
    """
    return secrets.randbits(53)
