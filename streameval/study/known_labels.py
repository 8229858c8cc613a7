"""Labels that exist before a plan: where they come from, and how they are joined to the items that are planned.

Studies of a ranking have answers about its items by rank: a question that is asked of them draws from the other items,
and its labels of these stay where they are. Label tables, and studies of other rankings, name items by columns: their
labels of planned items become votes of the plan. Which of them may count, each kind of study says, with its proof.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from streameval.errors import InputError, NothingMetError, StudyError
from streameval.labelling.options import LabelColumns, ReuseOptions
from streameval.labelling.votes import Votes
from streameval.options import listed
from streameval.rankings.ranking import Ranking
from streameval.sequential import KnownItems
from streameval.study import Study
from streameval.study.results import SUMMARY
from streameval.study.vote_store import rows_of
from streameval.types import TRUTH, Plan


@dataclass(frozen=True)
class KnownLabels:
    """Labels that exist before a plan.

    Attributes:
        source: Label table of any kind (`labelling.readers`), or the folder of a study; None where there is none.
        columns: How it is read; `on` says by which columns its items are known.
        labels_unseen_by_model: Whether the model was made without these labels; None where nobody said.
        origin: What was given, where `source` was made of it; else None.
        items: Items that have an answer in studies of the ranking itself, by rank.
    """

    source: Any = None
    columns: LabelColumns = field(default_factory=LabelColumns)
    labels_unseen_by_model: Literal["yes", "no"] | None = None
    origin: Any = None
    items: KnownItems = field(default_factory=KnownItems.nothing)

    @staticmethod
    def from_options(options: Sequence[Any]) -> KnownLabels:
        """Give those that options of a plan name; none where `ReuseOptions` are not among them."""
        reuse = next((group for group in options if isinstance(group, ReuseOptions)), ReuseOptions())
        columns = LabelColumns(on=reuse.on, label=reuse.label or "label")
        return KnownLabels(reuse.reuse, columns, reuse.labels_unseen_by_model)

    @contextmanager
    def at_hand(self) -> Iterator[KnownLabels]:
        """Copy a source that lies on an object store to this machine, once for all that is read of it."""
        from streameval.stores.transfer import local_copy

        with local_copy(self.source) as place:
            yield self if place is self.source else replace(self, source=place, origin=self.source)

    @property
    def study(self) -> Study | None:
        """The study whose labels they are; None where they lie elsewhere."""
        place = self._given
        there = isinstance(place, str | os.PathLike) and os.path.isfile(os.path.join(place, "plan.json"))
        return Study(Path(place)) if there else None

    @property
    def _given(self) -> Any:
        return self.source if self.origin is None else self.origin

    @property
    def notes(self) -> dict[str, bool]:
        """Say what a plan remembers where they count for items that would be drawn without them too."""
        return {} if self.source is None else {"labels_seen_by_model": self.labels_unseen_by_model == "no"}

    def refuse_unsaid(self) -> None:
        """Refuse labels of which it is not said whether the model has seen them: what bounds promise depends on it."""
        if self.source is not None and self.labels_unseen_by_model is None:
            raise InputError(
                "labels are reused, but it is not said whether the model has seen them",
                "--labels-unseen-by-model=yes if it was trained and tuned on none of them, no otherwise",
            )

    def known_by(self, on: str | tuple[str, ...]) -> KnownLabels:
        """Name the columns that tell which item a label is of, whosever task it was; a study is read here."""
        columns = replace(self.columns, on=on, study="any")
        if self.study is None:
            return replace(self, columns=columns)
        source = _labels_of(self.study, listed(columns.on))
        return replace(self, source=source, origin=self._given, columns=columns)

    def keys(self, some: pa.Table) -> pa.Table:
        """Keys of all items that have a label, each once; arguments and errors as of `labelled_keys`."""
        from streameval.labelling.known_rows import labelled_keys

        return labelled_keys(self.source, self.columns, some)

    def votes(self, plan: Plan, items: pa.Table | None) -> Votes:
        """Join every row to the planned items.

        Args:
            items: `rank`, and the columns that items are known by; None where that is the rank.
        """
        from streameval.labelling.match_items import Items
        from streameval.labelling.reading import read_votes

        joined = read_votes(self.source, plan, Items(items), self.columns)
        return joined if self.origin is None else joined.from_origin(self.origin)

    def taken_over(self, plan: Plan, ranking: Ranking) -> Votes | None:
        """Give the labels of planned items, which nobody has to be asked for.

        Returns:
            Votes: None where there are no labels, or a study knows none of the items.

        Raises:
            InputError: Labels that cannot be read or contradict one another.
        """
        if self.source is None:
            return None
        on = listed(self.columns.on)
        keys = ranking.fetch(plan.ranks, list(on)).table.columns[-len(on) :]
        items = pa.table({"rank": plan.ranks, **dict(zip(on, keys, strict=True))})
        try:
            votes = self.votes(plan, items)
        except NothingMetError:
            if self.study is None:
                raise
            return None
        return replace(votes, table=_one_each(votes, items), reused=True)


def _one_each(votes: Votes, items: pa.Table) -> pa.Table:
    """Give the answers among votes; an `InputError` where those about an item are not the same."""
    import pyarrow.compute as pc

    answers = votes.table.filter(pc.is_valid(votes.table.column("value")))
    values = answers.group_by("rank").aggregate([("value", "count_distinct")])
    mixed = values.filter(pc.greater(values.column("value_count_distinct"), 1)).sort_by("rank").column("rank")
    if len(mixed):
        first = items.filter(pc.equal(items.column("rank"), mixed[0])).drop_columns("rank").to_pylist()[0]
        named = ", ".join(f"{name} {value}" for name, value in first.items())
        raise InputError(
            f"{votes.source}: {len(mixed):,} items have contradictory labels (first: {named})",
            "reuse one label per item",
        )
    return answers


def _labels_of(study: Study, on: Sequence[str]) -> pa.Table:
    """Labels of a study as they were evaluated last, by columns of its items, and their `source` where one is told."""
    plan = study.plan()
    selection = study.selection(plan)
    if selection is None:
        raise StudyError(f"{study.folder}: nothing is selected yet", f"run `streameval select {study.folder}`")
    if missing := [name for name in on if name not in selection.column_names]:
        what = f"{study.folder}: its items have no column '{missing[0]}'"
        raise InputError(what, "join by one that they have: --on COL")
    items = (
        selection.select(["rank", *on]).join(_labels_of_study(study), "rank", join_type="left outer").sort_by("rank")
    )
    labels = items.select([*on, "label"])
    source = _source_of(study)
    return labels if source is None else labels.append_column("source", pa.repeat(source, labels.num_rows))


def _source_of(study: Study) -> str | None:
    """Say what a column `source` says of all answers that a study has, where nothing disputes these."""
    sources = rows_of(study.labels.sources()).column("source").unique().to_pylist()
    if len(sources) != 1 or not (study.folder / SUMMARY).exists() or study.summary()["claim"]["about"] != TRUTH:
        return None
    return sources[0]  # type: ignore[no-any-return]  # text, or null


def _labels_of_study(study: Study) -> pa.Table:
    """`rank` and `label` of every planned item, whatever kind of study it is; no row before the first evaluation."""
    from streameval.study.results import EVALUATE, read_tables

    columns = {"rank": pa.int64(), "label": pa.int8()}
    if not (study.folder / SUMMARY).exists():
        return pa.schema(columns).empty_table()

    def read(folder: Path, summary: Mapping[str, Any]) -> pa.Table:
        return read_tables(folder, summary, ["labels"], EVALUATE, {"labels": columns})["labels"].table

    return study.results(read).select([*columns])
