"""Which answers are of one source: what a column `source` says, else the file, and files that are of one source.

Files without a column `source` are one source, if none of them is named by `--prefer`, where

- every answer names its annotator, and all annotators of one file have answers in the other too: a file of late rows is
  part of the one that it completes; or
- they fill in tasks of this study and name nobody, and share no item, or one holds all that the other says: the batches
  of one person, or a copy that was saved earlier.

Of other files nothing tells whether the same people filled them in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streameval.text import short
from streameval.typing import Int64Array


@dataclass(frozen=True)
class Source:
    """One of the sources of the labels that count.

    Attributes:
        origins: What a column `source` says, or the files that are of one source.
        labels: Planned items with a label on which it has a vote.
        declared: Whether a column `source` names it.
    """

    origins: tuple[str, ...]
    labels: int
    declared: bool

    @property
    def name(self) -> str:
        """How it is called: by one or two files, or by the first of more."""
        names = [short(one) for one in self.origins]
        return f"{names[0]} and {len(names) - 1:,} more files" if len(names) > 2 else " and ".join(names)


def sources_of(rows: pa.Table, labelled: Int64Array) -> list[Source]:
    """Sources of the labels that count, the one with most labels first.

    Args:
        rows: With `fate`, as `streameval.labelling.fates` gives them.
        labelled: Ranks that have a label.
    """
    voted = rows.filter(pc.and_(pc.equal(rows.column("fate"), "vote"), pc.is_in(rows.column("rank"),
                        value_set=pa.array(labelled))))  # fmt: skip
    ranks = _by_origin(voted, "rank")
    declared = {origin for origin, named in _by_origin(voted, "source").items() if named != {(None,)}}
    groups = (tuple(name for name in one if name in ranks) for one in _groups(rows))
    sources = [
        Source(names, len(set().union(*(ranks[name] for name in names))), not declared.isdisjoint(names))
        for names in groups
        if names
    ]
    return sorted(sources, key=lambda one: (-one.labels, one.name))


def _groups(rows: pa.Table) -> list[list[str]]:
    """Every origin of answers, with those that are of the same source, in the order in which they came."""
    answered = pc.and_(pc.equal(rows.column("state"), "answer"), pc.is_valid(rows.column("rank")))
    answers = rows.filter(answered)
    if len(origins := answers.column("origin").unique()) < 2:
        return [origins.to_pylist()]
    people = _by_origin(answers, "voter")
    named = {one: who for one, who in people.items() if all(voter and chr(31) not in voter for (voter,) in who)}
    unnamed = [one for one, who in people.items() if who == {("",)}]
    together = unnamed if _parts_of_one(answers, unnamed) else []
    alone = [[one] for one in people if one not in named and one not in together]
    return [*_teams(named), *([together] if together else []), *alone]


def _teams(named: dict[str, set[tuple[Any, ...]]]) -> list[list[str]]:
    """Files whose annotators all answered in a larger one too are put to it."""
    teams: list[list[str]] = []
    for origin in sorted(named, key=lambda one: -len(named[one])):
        team = next((one for one in teams if named[one[0]] >= named[origin]), None)
        if team is None:
            teams.append([origin])
        else:
            team.append(origin)
    return teams


def _parts_of_one(answers: pa.Table, files: Sequence[str]) -> bool:
    """Whether files share no item, or one holds all that the other says."""
    first = answers.filter(pc.invert(pc.is_in(answers.column("fate"), value_set=pa.array(["repeat", "control"]))))
    votes = {origin: answers for origin, answers in _by_origin(first, "rank", "value").items() if origin in files}
    items = {origin: {rank for rank, _ in answers} for origin, answers in votes.items()}
    return all(
        items[a].isdisjoint(items[b]) or votes[a] <= votes[b] or votes[b] <= votes[a] for a, b in combinations(votes, 2)
    )


def _by_origin(table: pa.Table, *names: str) -> dict[str, set[tuple[Any, ...]]]:
    """What some columns hold together, in the rows of every origin."""
    groups: dict[str, set[tuple[Any, ...]]] = {}
    for origin, *values in zip(*(table.column(name).to_pylist() for name in ("origin", *names)), strict=True):
        groups.setdefault(origin, set()).add(tuple(values))
    return groups
