"""Sources of answers: which files are one, which of them `--prefer` names, and which repeat or contradict others.

`--prefer` names what a column `source` says, else a file, with or without its ending: `person` and `person.csv` mean
person.csv. Files without a column `source` are one source, if none of them is named by `--prefer`, where

- every answer names its annotator, and all annotators of one file have answers in the other too: a file of late rows is
  part of the one that it completes; or
- they fill in tasks of this study and name nobody, and share no item, or one holds all that the other says: the batches
  of one person, or a copy that was saved earlier.

Of other files nothing tells whether the same people filled them in.

Answers that are given again count once where the same annotator gave them. Given first without a column `annotator` and
then with one, or under another name, they are the votes of two, who agree on every item. Files of tasks that name
nobody count as one person's: where several people answered, an item on which they differ has no label, whatever most of
them say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import PurePath
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError
from streameval.text import short
from streameval.typing import Int64Array

_MOST = 8  # sources that are named
LEAST = 20  # answers: that people agree on fewer is nothing to wonder about
_ANSWERED = pa.array(["vote", "again", "doubled", "contradictory"])  # --prefer says which others are of two sources


def places(stored: pa.Table, prefer: Sequence[str]) -> dict[str, int]:
    """Place of every source that is preferred, 0 for the best; names of no source are left out."""
    if not prefer:
        return {}
    place_of_name = {name: place for place, name in reversed(list(enumerate(prefer)))}
    met = (
        (origin, [place_of_name[name] for name in names if name in place_of_name]) for origin, names in _sources(stored)
    )
    return {origin: preferred[0] for origin, preferred in met if preferred}


def check_preferred(stored: pa.Table, prefer: Sequence[str]) -> None:
    """Refuse a name that no source has: it is misspelt, or its labels did not come yet."""
    sources = dict(_sources(stored))
    names = {name for origin in sources.values() for name in origin}
    for name in prefer:
        if name not in names:
            there = ", ".join(short(origin) for origin in list(sources)[:_MOST])
            more = f" and {len(sources) - _MOST:,} more" if len(sources) > _MOST else ""
            raise InputError(f"--prefer: no label is of source '{short(name)}'", f"there are: {there}{more}")


def _sources(stored: pa.Table) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every source, with the names that mean it; its own comes first."""
    origins = stored.group_by("origin").aggregate([("source", "count")]).sort_by("origin")
    for origin, is_declared in zip(
        *(origins.column(name).to_pylist() for name in ("origin", "source_count")), strict=True
    ):
        yield origin, (origin,) if is_declared else (origin, PurePath(origin.removesuffix(".gz")).stem)


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
        """Say how it is called: by one or two files, or by the first of more."""
        names = [short(origin) for origin in self.origins]
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
    groups = (tuple(name for name in group if name in ranks) for group in _groups(rows))
    sources = [
        Source(names, len(set().union(*(ranks[name] for name in names))), not declared.isdisjoint(names))
        for names in groups
        if names
    ]
    return sorted(sources, key=lambda source: (-source.labels, source.name))


def _groups(rows: pa.Table) -> list[list[str]]:
    """Every origin of answers, with those that are of the same source, in the order in which they came."""
    answered = pc.and_(pc.equal(rows.column("state"), "answer"), pc.is_valid(rows.column("rank")))
    answers = rows.filter(answered)
    if len(origins := answers.column("origin").unique()) < 2:
        return [origins.to_pylist()]
    people = _by_origin(answers, "voter")
    named = {origin: who for origin, who in people.items() if all(voter and chr(31) not in voter for (voter,) in who)}
    unnamed = [origin for origin, who in people.items() if who == {("",)}]
    together = unnamed if _parts_of_one(answers, unnamed) else []
    alone = [[origin] for origin in people if origin not in named and origin not in together]
    return [*_teams(named), *([together] if together else []), *alone]


def _teams(named: dict[str, set[tuple[Any, ...]]]) -> list[list[str]]:
    """Files whose annotators all answered in a larger one too are put to it."""
    teams: list[list[str]] = []
    for origin in sorted(named, key=lambda other: -len(named[other])):
        team = next((team for team in teams if named[team[0]] >= named[origin]), None)
        if team is None:
            teams.append([origin])
        else:
            team.append(origin)
    return teams


def _parts_of_one(answers: pa.Table, files: Sequence[str]) -> bool:
    """Tell whether files share no item, or one holds all that the other says."""
    first = answers.filter(pc.invert(pc.is_in(answers.column("fate"), value_set=pa.array(["repeat", "control"]))))
    votes = {origin: answers for origin, answers in _by_origin(first, "rank", "value").items() if origin in files}
    items = {origin: {rank for rank, _ in answers} for origin, answers in votes.items()}
    return all(
        items[a].isdisjoint(items[b]) or votes[a] <= votes[b] or votes[b] <= votes[a] for a, b in combinations(votes, 2)
    )


def _by_origin(table: pa.Table, *names: str) -> dict[str, set[tuple[Any, ...]]]:
    """Say what some columns hold together, in the rows of every origin."""
    groups: dict[str, set[tuple[Any, ...]]] = {}
    once = table.group_by(["origin", *names], use_threads=False).aggregate([])  # in the order in which they came
    for origin, *values in zip(*(once.column(name).to_pylist() for name in ("origin", *names)), strict=True):
        groups.setdefault(origin, set()).add(tuple(values))
    return groups


class Hand(NamedTuple):
    """Whose answers some rows of a file are, as far as it tells."""

    given: int  # number of the file
    voter: str | None
    annotator: str | None
    source: str | None


Answers = Mapping[Hand, set[tuple[int, float]]]


@dataclass(frozen=True)
class Twice:
    """A file whose every answer stands in other files too, as that of another annotator or of nobody in particular.

    Attributes:
        given: Its number among the sources.
        others: Numbers of the files that have its answers too.
        answers: How many those are.
    """

    given: int
    others: tuple[int, ...]
    answers: int


@dataclass(frozen=True)
class Nameless:
    """Files of tasks that name no annotator and contradict each other.

    Attributes:
        given: Their numbers among the sources.
        items: Items that two or more of them answered.
        lost: Answers that do not count, because another of these files has another answer to the item.
    """

    given: tuple[int, ...]
    items: int
    lost: int


def given_twice(by_hand: Answers) -> list[Twice]:
    """Find files that say nothing but what others say.

    All answers of an annotator in one file have to be among those of one annotator in another file; where each is named
    and the names differ, they have to be all of them. Columns `source` that differ tell people apart whatever they say,
    and so few answers as have nothing to tell are left alone.

    Args:
        by_hand: See `answers_by_hand`.
    """
    files: dict[int, list[Hand]] = {}
    for hand in by_hand:
        files.setdefault(hand.given, []).append(hand)
    twice: list[Twice] = []
    # those that name nobody first, then as they came, so that the one that tells more stays
    for number in sorted(files, key=lambda file: (all(hand.annotator for hand in files[file]), file)):
        gone = {number, *(suspect.given for suspect in twice)}
        kept = {hand: answers for hand, answers in by_hand.items() if hand.given not in gone}
        there = [next((other for other in kept if _is_repeated(by_hand, hand, other)), None) for hand in files[number]]
        count = sum(len(by_hand[hand]) for hand in files[number])
        if count >= LEAST and None not in there:
            twice.append(Twice(number, tuple(sorted({hand.given for hand in there if hand})), count))
    return twice


def nameless(rows: pa.Table, by_hand: Answers, without: Sequence[int] = ()) -> Nameless | None:
    """Find files of tasks that name nobody and contradict each other; None where there are none.

    Args:
        rows, by_hand: See `answers_by_hand`.
        without: Numbers of files that are known to be given twice.
    """
    by_file = {
        hand.given: answers for hand, answers in by_hand.items() if hand.voter == "" and hand.given not in without
    }
    items: dict[int, set[int]] = {}
    for number, answers in by_file.items():
        for rank, _ in answers:
            items.setdefault(rank, set()).add(number)
    shared = {rank: files for rank, files in items.items() if len(files) > 1}
    torn = rows.filter(pc.and_(pc.equal(rows.column("fate"), "contradictory"), pc.equal(rows.column("voter"), "")))
    lost = sum(rank in shared for rank in torn.column("rank").to_pylist())
    return Nameless(tuple(sorted(set().union(*shared.values()))), len(shared), lost) if lost else None


def answers_by_hand(rows: pa.Table) -> Answers:
    """Give what everybody answered in every file.

    Args:
        rows: With `fate`, as `streameval.labelling.fates` gives them.
    """
    answers = rows.filter(pc.and_(pc.is_in(rows.column("fate"), value_set=_ANSWERED), pc.is_valid(rows.column("rank"))))
    by_hand: dict[Hand, set[tuple[int, float]]] = {}
    names = ("given", "voter", "annotator", "source", "rank", "value")
    for *hand, rank, value in zip(*(answers.column(name).to_pylist() for name in names), strict=True):
        by_hand.setdefault(Hand(*hand), set()).add((rank, value))
    return by_hand


def _is_repeated(by_hand: Answers, hand: Hand, other: Hand) -> bool:
    """Tell whether another hand gave all these answers too, and yet both count."""
    if hand.voter is not None and hand.voter == other.voter:  # the same annotator's: they count once
        return False
    if None not in (hand.source, other.source) and hand.source != other.source:
        return False
    strangers = None not in (hand.annotator, other.annotator) and hand.annotator != other.annotator
    return by_hand[hand] == by_hand[other] if strangers else by_hand[hand] <= by_hand[other]
