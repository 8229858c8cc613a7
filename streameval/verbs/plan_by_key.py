"""Plan by key: draw the same items in every version of a ranking, and reuse the labels they have."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError
from streameval.labelling.match_items import Items
from streameval.labelling.options import LabelColumns
from streameval.labelling.reading import read_votes
from streameval.labelling.votes import Votes
from streameval.methods import DrawsIndependently, create, refuse_alpha_with_budget
from streameval.methods.judge import refuse_accuracy_alone
from streameval.methods.stages import refuse_stages
from streameval.options import listed
from streameval.progress import Progress, silent
from streameval.rankings import open_ranking
from streameval.rankings.draw_by_key import draw_by_key
from streameval.rankings.ranking import Ranking
from streameval.rankings.stored_order import located
from streameval.rows.options import RankingOptions, refuse_described
from streameval.stores.transfer import copied
from streameval.study.planning import fresh_seed, known_seed, planned_study
from streameval.types import Plan


@dataclass(frozen=True)
class ByKey:
    """How items are drawn by their key, and which labels they bring.

    Attributes:
        key: Columns that tell items apart, whatever the version of the ranking. Labels are joined by the first.
        labels: Labels that items got before, for whatever version.
        label: Column with the label.
        unseen_by_model ({"yes", "no"}): Whether the model that made this ranking has seen none of these labels; must be
            said where there are labels. If it has, the curve's coverage is "none".
    """

    key: tuple[str, ...]
    labels: Any = None
    label: str = "label"
    unseen_by_model: str | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without the files."""
        object.__setattr__(self, "key", listed(self.key))
        if not self.key:
            raise InputError("no column to draw by", "name one that tells items apart")
        if self.labels is not None and self.unseen_by_model not in ("yes", "no"):
            raise InputError(
                "labels are reused, but it is not said whether the model has seen them",
                "--labels-unseen-by-model yes if it was trained and tuned on none of them, no otherwise",
            )
        if self.labels is None and self.unseen_by_model is not None:
            raise InputError("no labels are reused, so the model has seen none", "give them with --reuse FILE")


@dataclass(frozen=True)
class Reused:
    """What `plan_by_key` did.

    Attributes:
        labelled: Planned items that had a label already: nobody has to be asked for these.
    """

    plan: Plan
    labelled: int


def plan_by_key(
    ranking: Any,
    study: str | os.PathLike[str],
    by: ByKey,
    *,
    method: str = "loguniform",
    seed: int | None = None,
    options: RankingOptions | None = None,
    progress: Progress = silent,
    **parameters: Any,
) -> Reused:
    """Choose the ranks to label by the hashes of their items' keys, and take over labels that items have already.

    Args:
        ranking, study, options, **parameters: As for `plan`.
        method: One that draws every rank by itself: loguniform.
        seed: The same for every version of the ranking, or the draws have nothing in common; so there is no default but
            that of the plan that the study holds.

    Raises:
        InputError: A method that draws nothing, no seed, a key that does not tell items apart, labels that cannot be
            read or contradict one another.
        StudyError: The folder holds a different plan.
    """
    refuse_described(parameters)
    refuse_alpha_with_budget(parameters)
    refuse_accuracy_alone(parameters)
    chosen = create(method, parameters)
    if not isinstance(chosen, DrawsIndependently):
        raise InputError(
            f"method {method} does not draw each rank by itself", "items are drawn by key with --method loguniform"
        )
    if chosen.looks > 1:
        raise InputError("a plan that was drawn by key cannot be enlarged", "leave out looks")
    refuse_stages(chosen, "draws by key", ("adaptive", "judge-sample"))
    folder = planned_study(study)
    shared = known_seed(folder, seed)
    if shared is None:
        raise InputError(
            "versions of a ranking share a draw by key only if they share a seed, and none was given",
            f"--seed {fresh_seed()} (or any other) for the first version; later ones take the seed in its plan.json",
        )
    opened = open_ranking(ranking, options)
    memory = options.memory if options is not None else 2.0
    rates = chosen.rates(opened.n_items)
    drawn = chosen.drawn(opened.n_items, shared, draw_by_key(opened, rates, by.key, shared, memory, progress))
    made = replace(drawn, ranking=opened.description(), location=located(opened)).with_notes(draw_by=list(by.key))
    if by.labels is not None:
        made = made.with_notes(labels_seen_by_model=by.unseen_by_model == "no")
    votes = None if by.labels is None else _votes(opened, made, by)
    with folder.planning():
        folder.save_plan(made)
        if votes is None:
            return Reused(made, 0)
        folder.labels.add([votes])
    return Reused(made, int(np.unique(votes.table.column("rank").to_numpy()).size))


def _votes(ranking: Ranking, plan: Plan, by: ByKey) -> Votes:
    """Join labels to the planned items by key; labels that contradict one another are refused."""
    keys = ranking.fetch(plan.ranks, [by.key[0]]).table
    known = pa.table({"rank": plan.ranks, by.key[0]: keys.column(keys.num_columns - 1)})
    with copied(by.labels) as place:
        votes = read_votes(place, plan, Items(known), LabelColumns(by.key[0], by.label, study="any"))
    if place is not by.labels:
        votes = votes.at(by.labels)
    said = votes.table.filter(pc.is_valid(votes.table.column("value")))
    per_item = said.group_by("rank").aggregate([("value", "min"), ("value", "max")]).sort_by("rank")
    mixed = np.flatnonzero(per_item.column("value_min").to_numpy() != per_item.column("value_max").to_numpy())
    if mixed.size:
        rank = per_item.column("rank")[int(mixed[0])].as_py()
        first = known.column(by.key[0])[int(np.searchsorted(plan.ranks, rank))].as_py()
        raise InputError(
            f"{votes.source}: {mixed.size:,} items have contradictory labels (first: {by.key[0]} {first})",
            "reuse one label per item",
        )
    return replace(votes, table=said)
