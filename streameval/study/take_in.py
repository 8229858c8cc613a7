"""Label tables into a study: read, refused or stored, and counted with all that came before."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError
from streameval.kernels.sorted_sets import isin, unique
from streameval.labelling.issues import KINDS, place_of
from streameval.labelling.match_items import Items
from streameval.labelling.options import Judging, LabelColumns
from streameval.labelling.pace import pace_of_rows
from streameval.labelling.reading import read_votes
from streameval.labelling.rules import refuse_grades
from streameval.labelling.sources import check_preferred
from streameval.labelling.tally import Tallied
from streameval.labelling.votes import Votes
from streameval.parquet.own_tables import read_table
from streameval.stores.transfer import local_copy
from streameval.study import Study
from streameval.study.judging import doubts, tally_stored
from streameval.study.tasks import kept_question
from streameval.study.vote_store import Given, StoredVotes, rows_of
from streameval.types import Plan
from streameval.typing import Int64Array

_USUAL = {"on": "se_task", "label": "label", "annotator": "annotator", "time": "time", "source": "source",
          "labels_are": "answers"}  # fmt: skip
_RESTORE = "restore it: it is a smaller plan that the study grew from"
_SAID = ["rank", "task", "value", "state", "said", "annotator", "time", "source"]


@dataclass(frozen=True)
class TakenIn:
    """Labels of a study after those that were given now came in.

    Attributes:
        given: What is said of each source that was given now.
        new: By id of such a source: whether it was new to the study.
        votes: All that were counted.
    """

    folder: Study
    plan: Plan
    tallied: Tallied
    given: list[dict[str, Any]]
    new: dict[str, bool]
    votes: StoredVotes

    @property
    def state(self) -> str:
        """State of the votes that were counted (`StoredVotes.state`)."""
        return self.votes.state

    @property
    def doubts(self) -> dict[str, Any]:
        """Files that may have come in twice, or that count for nothing (`streameval.study.judging.doubts`)."""
        return doubts(self.tallied.rows, self.votes.sources)

    @property
    def history(self) -> list[dict[str, Any]]:
        """All label tables that count (`label_history`)."""
        return label_history(self.folder.folder, self.plan, self.votes.sources)

    @property
    def facts(self) -> dict[str, Any]:
        """Facts of how people labelled, JSON-ready: what they were asked, how many tasks two were given, their pace.

        Returns:
            dict: `asked` (in one line), `overlap` (a share) and `pace` (`streameval.labelling.pace`).
        """
        question = kept_question(self.folder)
        pace = pace_of_rows(self.tallied.rows).as_dict()
        return {"asked": question.in_short, "overlap": question.overlap, "pace": pace}


def take_in(folder: Study, plan: Plan, sources: Sequence[Any], columns: LabelColumns, judging: Judging) -> TakenIn:
    """Store labels, and count all that the study has; errors as in `evaluate`."""
    if sources and not plan.table.num_rows:
        raise InputError(f"{folder.folder}: there is nothing to label", "evaluate it without --labels")
    if not sources and os.path.isfile(columns.label):
        raise InputError(
            f"--label {columns.label} is a file, and names a column",
            f"`evaluate --labels {columns.label}` takes files of labels",
        )
    read = _read(
        sources,
        plan,
        folder.items(plan),
        replace(columns, labels_are=judging.labels_are, key=columns.key or _key_of(plan)),
    )
    before = folder.labels.read()
    whole = before.including(read).sources
    rows = rows_of(whole)
    refuse_grades(rows, judging.rule, columns)
    if judging.prefer and whole:
        check_preferred(rows, judging.prefer)
    if judging.strict:
        _refuse_trouble(folder, plan, judging, whole)
    votes = folder.labels.add(read, before)
    if not votes.sources and plan.table.num_rows:
        raise InputError(f"{folder.folder}: no labels yet", "give them with --labels FILE")
    sources_given = [
        {**source.facts(), "id": source.identity, "earlier": _earlier(source, votes.sources),
         "otherwise": _otherwise(source, votes.sources)}
        for source in read
    ]  # fmt: skip
    new = {source.identity: not before.counts(source.identity) for source in read}
    return TakenIn(folder, plan, tally_stored(folder, plan, judging, votes.sources), sources_given, new, votes)


def sources_of(labels: Sequence[Any] | Any) -> list[Any]:
    """The sources that were given, one or several."""
    if not (_is_one(labels) or isinstance(labels, Iterable)):
        raise InputError(f"labels are {labels!r}", "give a table of labels, or a file or several of them")
    return [labels] if _is_one(labels) else list(labels)


def _read(sources: Sequence[Any], plan: Plan, items: Items | None, columns: LabelColumns) -> list[Votes]:
    """Read label tables, those on object stores from a copy under their own name."""
    read = []
    for source in sources:
        with local_copy(source) as place:
            votes = read_votes(place, plan, items, columns)
        read.append(votes.from_origin(source) if place is not source else votes)
    return read


def _refuse_trouble(folder: Study, plan: Plan, judging: Judging, whole: Sequence[Given]) -> None:
    tallied = tally_stored(folder, plan, judging, whole)
    account = tallied.labels.account
    trouble = [f"{account[kind]:,} {kind}" for kind in KINDS if account[kind]]
    if trouble:
        folder.save_refused_issues(tallied.issues, dict(account))
        first = place_of(tallied.issues.slice(0, 1).to_pylist()[0])
        raise InputError(
            f"--strict: {', '.join(trouble)} (first: {first}); nothing was stored",
            f"all are listed in {folder.folder / 'refused_issues.parquet'}",
        )


def _earlier(votes: Votes, stored: Sequence[Given]) -> list[str]:
    """Ids of sources of the same name: earlier states of the file, with rows that it has no longer, and that stay."""
    same = [
        source
        for source in stored
        if source.facts["source"] == votes.source
        and source.facts["content"] != votes.content
        and source.identity != votes.identity
    ]
    now = _answers(votes.table) if same else set()
    return [source.identity for source in same if not _answers(source.table) <= now]


def _answers(rows: pa.Table) -> set[tuple[Any, ...]]:
    """Collect the non-blank answers of rows, whatever their row numbers."""
    answered = rows.filter(pc.not_equal(rows.column("state"), "blank")).select(_SAID)
    return set(zip(*(column.to_pylist() for column in answered.columns), strict=True))


def _otherwise(votes: Votes, stored: Sequence[Given]) -> list[dict[str, Any]]:
    """Id and columns of sources that are the same bytes, read with other columns."""
    return [
        {"id": source.identity, "columns": source.facts["columns"]}
        for source in stored
        if source.facts["content"] == votes.content and source.facts["columns"] != votes.facts()["columns"]
    ]


def _is_one(labels: Any) -> bool:
    return isinstance(labels, str | os.PathLike) or hasattr(labels, "__arrow_c_stream__") or hasattr(labels, "collect")


def label_history(folder: Path, plan: Plan, stored: Sequence[Given]) -> list[dict[str, Any]]:
    """Say of each label table that counts, in the order in which they came, how it was given, as JSON-ready values.

    Returns:
        list of dict: `place`: where it lies (empty of a table in memory). `flags`: by option the columns that it was
            read with, where others would be found without. `given`: its number. `stages`: how often the plan had
            grown when the ranks that it is about were planned, each once. `forgotten`: which of its rows do not count.
    """
    stage = _stages(folder, plan)
    history = []
    for source in stored:
        ranks = source.table.column("rank").drop_null().unique().to_numpy()
        planned = ranks[isin(ranks, plan.ranks)]
        stages = unique(stage[np.searchsorted(plan.ranks, planned)]).tolist()
        columns = source.facts["columns"]
        history.append({"place": source.facts["place"], "flags": flags_of(columns), "given": source.facts["given"],
                        "stages": stages, "forgotten": list(source.facts["forgotten"])})  # fmt: skip
    return history


def _key_of(plan: Plan) -> str | None:
    """Give the columns that name an item of a list, as `LabelColumns.key` takes them."""
    return ",".join(plan.draw_by or plan.ranking.get("key", ())) or None


def flags_of(columns: Mapping[str, str | None]) -> dict[str, str]:
    """Options that read the same columns again; none where a table of ours is read as it is."""
    read = {option: (columns.get(option) or usual).replace("\0", ",") for option, usual in _USUAL.items()}
    return {option: name for option, name in read.items() if name.lower() != _USUAL[option]}


def _stages(folder: Path, plan: Plan) -> Int64Array:
    """Tell how often the plan had grown when each of its ranks was planned, int64, shape of its ranks."""
    grown = len(plan.grown_by)
    stage = np.full(plan.ranks.size, grown, dtype=np.int64)
    for at, name in zip(reversed(range(grown)), plan.notes.get("grown_from", ()), strict=False):
        former = read_table(folder / "plans" / f"{name}.parquet", _RESTORE).table.column("rank").to_numpy()
        stage[isin(plan.ranks, former)] = at
    return stage
