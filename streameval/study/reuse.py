"""Draws by key, which take the same items in every version of a ranking, and the labels that these have already."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, NothingMetError, StudyError
from streameval.labelling.options import LabelColumns, ReuseOptions
from streameval.labelling.votes import Votes
from streameval.methods import DrawsIndependently, Method
from streameval.methods.stages import refuse_stages
from streameval.options import listed
from streameval.progress import Progress, silent
from streameval.rankings.ranking import Ranking
from streameval.rankings.stored_order import located
from streameval.study import Study
from streameval.study.planning import fresh_seed
from streameval.study.results import SUMMARY
from streameval.study.vote_store import rows_of
from streameval.types import TRUTH, Plan


@dataclass(frozen=True)
class Reuse(ReuseOptions):
    """The same, with what is known of the study whose labels are reused."""

    def __post_init__(self) -> None:
        """Check what can be checked without the files."""
        on = None if self.on is None else ",".join(listed(self.on))
        object.__setattr__(self, "on", on)
        if self.reuse is not None and on is None and self.study is None:
            raise InputError("labels are reused, but no column says which item each is about", "name it with --on COL")
        if self.reuse is None and self.labels_unseen_by_model is not None:
            raise InputError("no labels are reused, so the model has seen none", "give them with --reuse FILE")

    @property
    def study(self) -> Study | None:
        """The study whose labels are reused; None where they lie elsewhere."""
        there = isinstance(self.reuse, str | os.PathLike) and os.path.isfile(os.path.join(self.reuse, "plan.json"))
        return Study(Path(self.reuse)) if there else None

    @property
    def key(self) -> tuple[str, ...]:
        """Columns to draw by; labels are joined by the first."""
        on_columns = listed(self.on or "")
        study_columns = self.study.plan().key_columns if not on_columns and self.study is not None else ()
        if not (on_columns or study_columns):
            raise InputError("no column to draw by", "name one that tells items apart with --on")
        return on_columns or study_columns

    def labels(self, on: Sequence[str]) -> Any:
        """What is reused, as a source of label tables; of a study, its labels by columns of its items."""
        return self.reuse if self.study is None else _labels_of(self.study, on)

    def columns(self, on: Sequence[str]) -> LabelColumns:
        """Columns of that source: it is about items, whosever tasks they were."""
        return LabelColumns(on=tuple(on), label=self.label or "label", study="any")

    def refuse_unsaid(self) -> None:
        """Refuse labels of which it is not said whether the model has seen them: what bounds promise depends on it."""
        if self.reuse is not None and self.labels_unseen_by_model is None:
            raise InputError(
                "labels are reused, but it is not said whether the model has seen them",
                "--labels-unseen-by-model=yes if it was trained and tuned on none of them, no otherwise",
            )

    def seed(self, given: int | None) -> int:
        """Seed that all versions share: as given, or that of the study whose labels are reused."""
        if given is not None:
            return given
        if self.study is not None:
            return self.study.plan().seed
        raise InputError(
            "versions of a ranking share a draw by key only if they share a seed, and none was given",
            f"--seed {fresh_seed()} (or any other) for the first version; later ones take the seed in its plan.json",
        )


def drawn_by_key(
    ranking: Ranking, method: Method, how: Reuse, seed: int, memory: float, progress: Progress = silent
) -> tuple[Plan, Votes | None]:
    """Choose ranks by the hashes of their items' keys; the plan, and the labels that its items have already.

    Raises:
        InputError: A method that does not draw every rank by itself, a key that does not tell items apart, labels that
            cannot be read or contradict one another.
    """
    from streameval.rankings.draw_by_key import draw_by_key

    if not isinstance(method, DrawsIndependently):
        raise InputError(
            f"method {method.name} does not draw each rank by itself", "items are drawn by key with --method=loguniform"
        )
    refuse_stages(method, "draws by key", ("growing", "adaptive", "judge_sample"))
    key = how.key
    rank = draw_by_key(ranking, method.rates(ranking.n_items), key, seed, memory, progress)
    drawn = method.drawn(ranking.n_items, seed, rank)
    made = replace(drawn, ranking=ranking.description(), location=located(ranking)).with_notes(draw_by=list(key))
    if how.reuse is None:
        return made, None
    seen = made.with_notes(labels_seen_by_model=how.labels_unseen_by_model == "no")
    return seen, reused_votes(ranking, made, how, key[:1])


def reused_votes(ranking: Ranking, plan: Plan, how: Reuse, on: Sequence[str]) -> Votes | None:
    """Join labels to the planned items by columns of theirs; labels that contradict one another are refused.

    Returns:
        Votes: None where a study that is reused knows none of the items.
    """
    import pyarrow.compute as pc

    from streameval.labelling.match_items import Items
    from streameval.labelling.reading import read_votes
    from streameval.stores.transfer import copied

    keys = ranking.fetch(plan.ranks, list(on)).table.columns[-len(on) :]
    items = pa.table({"rank": plan.ranks, **dict(zip(on, keys, strict=True))})
    source = how.labels(on)
    try:
        with copied(source) as place:
            votes = read_votes(place, plan, Items(items), how.columns(on))
    except NothingMetError:
        if how.study is None:
            raise
        return None
    if place is not how.reuse:
        votes = votes.at(how.reuse)
    answers = votes.table.filter(pc.is_valid(votes.table.column("value")))
    per_item = answers.group_by("rank").aggregate([("value", "min"), ("value", "max")]).sort_by("rank")
    mixed = np.flatnonzero(per_item.column("value_min").to_numpy() != per_item.column("value_max").to_numpy())
    if mixed.size:
        rank = per_item.column("rank")[int(mixed[0])].as_py()
        first = items.slice(int(np.searchsorted(plan.ranks, rank)), 1).drop_columns("rank").to_pylist()[0]
        named = ", ".join(f"{name} {value}" for name, value in first.items())
        raise InputError(
            f"{votes.source}: {mixed.size:,} items have contradictory labels (first: {named})",
            "reuse one label per item",
        )
    return replace(votes, table=answers, reused=True)


def _labels_of(study: Study, on: Sequence[str]) -> pa.Table:
    """Labels of a study as they were evaluated last, by columns of its items, and their `source` where one is told."""
    plan = study.plan()
    selection = study.selection(plan)
    if selection is None:
        raise StudyError(f"{study.folder}: nothing is selected yet", f"run `streameval select {study.folder}`")
    if missing := [name for name in on if name not in selection.column_names]:
        what = f"{study.folder}: its items have no column '{missing[0]}'"
        raise InputError(what, "join by one that they have: --on COL")
    items = selection.select(["rank", *on]).join(_evaluated(study), "rank", join_type="left outer").sort_by("rank")
    labels = items.select([*on, "label"])
    source = _source_of(study)
    return labels if source is None else labels.append_column("source", pa.repeat(source, labels.num_rows))


def _source_of(study: Study) -> str | None:
    """What a column `source` says of all answers that a study has, where nothing disputes these."""
    said = rows_of(study.labels.sources()).column("source").unique().to_pylist()
    if len(said) != 1 or not (study.folder / SUMMARY).exists() or study.summary()["claim"]["about"] != TRUTH:
        return None
    return said[0]  # type: ignore[no-any-return]  # text, or null


def _evaluated(study: Study) -> pa.Table:
    """`rank` and `label` of every planned item, whatever kind of study it is; no row before the first evaluation."""
    from streameval.study.results import EVALUATE, read_tables

    columns = {"rank": pa.int64(), "label": pa.int8()}
    if not (study.folder / SUMMARY).exists():
        return pa.schema(columns).empty_table()

    def read(folder: Path, summary: Mapping[str, Any]) -> pa.Table:
        return read_tables(folder, summary, ["labels"], EVALUATE, {"labels": columns})["labels"].table

    return study.results(read).select([*columns])
