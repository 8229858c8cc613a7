"""Files that repeat the answers of others, and files that contradict each other without naming annotators.

Answers that are given again count once where the same annotator gave them. Given first without a column `annotator` and
then with one, or under another name, they are the votes of two, who agree on every item. Files of tasks that name
nobody count as one person's: where several people answered, an item on which they differ has no label, whatever most of
them say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

LEAST = 20  # answers: that people agree on fewer is nothing to wonder about
_ANSWERED = pa.array(["vote", "again", "doubled", "contradictory"])  # --prefer says which others are of two sources


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
    for given in sorted(files, key=lambda one: (all(hand.annotator for hand in files[one]), one)):
        gone = {given, *(one.given for one in twice)}
        kept = {hand: answers for hand, answers in by_hand.items() if hand.given not in gone}
        there = [next((other for other in kept if _again(by_hand, hand, other)), None) for hand in files[given]]
        count = sum(len(by_hand[hand]) for hand in files[given])
        if count >= LEAST and None not in there:
            twice.append(Twice(given, tuple(sorted({hand.given for hand in there if hand})), count))
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
    for given, answers in by_file.items():
        for rank, _ in answers:
            items.setdefault(rank, set()).add(given)
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


def _again(by_hand: Answers, hand: Hand, other: Hand) -> bool:
    """Whether another hand gave all these answers too, and yet both count."""
    if hand.voter is not None and hand.voter == other.voter:  # the same annotator's: they count once
        return False
    if None not in (hand.source, other.source) and hand.source != other.source:
        return False
    strangers = None not in (hand.annotator, other.annotator) and hand.annotator != other.annotator
    return by_hand[hand] == by_hand[other] if strangers else by_hand[hand] <= by_hand[other]
