"""Depth of a cut: the deepest rank that is proven to have a precision, from as many labels as one cares to give.

A pilot says where the precision may fall too low. From there, well above, ranks are claimed one after another, each by
the items among its first k in one random order. Labels are asked for where they prove the next ranks; nothing that
decides what to ask for, or when to stop, can make a claim false.

It is the deepest rank that was proven, not the deepest that has the precision: a list may fall below and rise again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.sorted_sets import setdiff1d
from streameval.questions import CUT, Question
from streameval.sequential import (
    PATH,
    Answer,
    DrawnItems,
    KnownItems,
    LabelForecast,
    Line,
    QuestionDesign,
    QuestionSetting,
    Reach,
    pilot,
)
from streameval.sequential.density import Density
from streameval.sequential.facts import LabelFacts
from streameval.sequential.fixed_sequence import FixedSequence
from streameval.sequential.pool import DrawnOrder
from streameval.sequential.rounds import NOTHING, ahead, next_round, without_place
from streameval.sequential.spline import Curves, fit
from streameval.sequential.start import FIRST, SHARES, Start, is_hopeless, sequence_of
from streameval.text import number_of
from streameval.typing import Int8Array, Int64Array

_ROUND, _PART = 100, 0.15  # items in a round: so many, or that part of the labels so far
_FURTHER = 0.3  # of the labels so far: what the deepest rank that a round aims at may take
_SHORT = 1_000  # items of a list that may be labelled whole
_HEAD = 0.2  # chance that the cut is above the first rank of a sequence, from which on all above it is labelled


@dataclass(frozen=True)
class DeepestCut(QuestionDesign):
    """The deepest rank that is proven to have a precision: a false one is ever claimed with probability δ at most.

    That holds for every list and for all claims on the way together. A missing label is a negative. Of what is known,
    the pilot and earlier draws included, counts what was positive when the draw began and is so still: what is
    withdrawn proves nothing any more, and what comes later adds nothing (`fixed_sequence`). What all labels that there
    are prove by counting is claimed as well, and what they refute is not (`facts`): neither makes a claim more often
    false. Of a sequence nothing counts from the first rank on that they refute, for what follows was claimed because
    that was.

    Attributes:
        question: As it prints.
        precision: As decimal text.
        most: Labels that a forecast looks ahead at most; None for as many as there are.
    """

    n_items: int
    question: str
    precision: str
    known: KnownItems
    confidence: str
    most: int | None = None

    name = "cut"

    @classmethod
    def takes(cls, question: Question) -> bool:
        """Tell whether it asks where to cut."""
        return question.metric == CUT

    @classmethod
    def plan(cls, questions: Sequence[Question], setting: QuestionSetting) -> DeepestCut:
        """Fix the precision; an `InputError` where several are asked for, or a zone or an expectation is given."""
        if len(questions) > 1:
            raise InputError(
                f"{questions[1]}: a plan asks where to cut once, and nothing besides", "plan another study"
            )
        if setting.zone is not None or setting.expect is not None:
            raise InputError(f"{questions[0]}: a cut has no zone, and no precision is expected of it")
        return cls._parse(str(questions[0]), setting.n_items, setting.confidence, setting.known)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], known_items: KnownItems) -> DeepestCut:
        """Read what `facts` gave."""
        return cls._parse(facts["question"], facts["items"], facts["confidence"], known_items)

    @classmethod
    def _parse(cls, question: str, n_items: int, confidence: str, known_items: KnownItems) -> DeepestCut:
        cutoff = Question.of(question).cutoff
        return cls(n_items, question, str(cutoff.value if cutoff else ""), known_items, confidence)

    def facts(self) -> dict[str, Any]:
        """The question."""
        planned = {"items": self.n_items, "question": self.question, "confidence": self.confidence}
        return {"design": self.name, **planned}

    def expected(self) -> list[tuple[str, LabelForecast]]:
        """Labels of a pilot: what follows depends on the list, and is forecast after it."""
        labels = pilot.expected_size(self.n_items) if pilot.is_wanted(self.known) else 0
        first = f"about {labels:,} labels tell where the cut may be" if labels else "the labels there are tell where"
        case = f"{first}; how deep it is proven depends on the list, and on how many more you give"
        return [(case, LabelForecast(None, None))]

    def within_budget(self, left: int | None) -> DeepestCut:
        """Look no further ahead than a budget goes."""
        return replace(self, most=left)

    def start(self) -> DrawnItems:
        """Draw nothing yet."""
        return NOTHING

    def next(self, drawn: DrawnItems, labels: Int8Array, size: int | None, seed: int) -> DrawnItems:
        """Ask for the pilot; for the head of the list, where the cut may lie in it; then for what proves more ranks.

        A round has a seventh of the labels so far, and 100 items at least, where `size` is None.

        Raises:
            InputError: After the pilot, no rank may well have the precision, and no `size` says to go on.
        """
        known_items, start = self._known(drawn, labels), Start.from_state(drawn.state)
        rng = np.random.default_rng([seed, drawn.rounds + 1])
        curves = fit(known_items, self.n_items, rng)
        if (
            start is None
            and size is None
            and not drawn.ahead.num_rows
            and (drawn.rounds or not pilot.is_wanted(known_items))
        ):
            self._refuse_hopeless(curves, int((known_items.label >= 0).sum()))
        first = drawn.ahead if start or drawn.ahead.num_rows else self._first(drawn, known_items, curves, rng)
        if start is None and first.num_rows:
            return next_round(replace(drawn, ahead=first), size)
        if start is None or self._is_given_up(start, drawn, labels, curves):
            ranks = sequence_of(
                curves, lambda ranks: self._claims(ranks, known_items).possible, self.n_items, self._target
            )
            start = Start.begin(0 if start is None else start.number + 1, drawn, labels, ranks)
            begun = replace(drawn, ahead=first.slice(0, 0))
        else:
            begun = drawn
        more = self._round(start, begun, labels, curves, (size or self._size(known_items), rng))
        return more if more.table.num_rows > drawn.table.num_rows else drawn

    def answer(self, drawn: DrawnItems, labels: Int8Array) -> Answer:
        """The deepest rank that is proven, and what twice the labels may prove, or as many as are left."""
        known_items = self._known(drawn, labels)
        curves = fit(known_items, self.n_items, np.random.default_rng(0))
        facts = self._facts(drawn, labels)
        front, most = facts.deepest(self.precision)
        start, reach, path, counted = (
            Start.from_state(drawn.state),
            None,
            PATH.empty_table(),
            int((known_items.label >= 0).sum()),
        )
        if start is not None:
            sequence, pool = self._sequence(start, drawn, labels), start.pool(drawn, labels)
            proven, stuck = self._proven(sequence, pool, facts)
            front = max(front, int(sequence.ranks[proven - 1]) if proven else 0)
            shares = sequence.shares(proven, pool, curves.at(start.ranks).mean(axis=0), start.density)
            left = self.n_items - known_items.rank.size
            more = min(counted, left if self.most is None else min(left, self.most))
            further = 0 if stuck else _density(start, sequence).reach(shares, more)
            deeper = int(sequence.ranks[further - 1]) if further else 0
            reach = Reach(more, deeper) if deeper > front else None
            path = self._path(sequence, max(0, proven - 1), pool)
        done = front == most or known_items.rank.size == self.n_items
        reach = None if done else reach
        estimate = min(max(front, float(np.median(curves.deepest(self._target)))), most)
        line = Line(
            self.question, "pass" if done else "open", front, estimate, most if done else math.nan,
            *Line.count(labels), self._claim, *Line.count(self.known.label))  # fmt: skip
        return Answer(line.outcome, (line,), path, LabelForecast(0, 0, 0) if done else LabelForecast(None, None), reach)

    def exhausted(self, drawn: DrawnItems, labels: Int8Array) -> str:
        """Say at which rank the sequence ends: all of its items were asked for, and deeper ones come after it."""
        start, rank, has = Start.from_state(drawn.state), "", "is not proven to have the precision"
        if start is not None:  # one that asks for nothing is not begun
            sequence, pool = self._sequence(start, drawn, labels), start.pool(drawn, labels)
            proven, stuck = self._proven(sequence, pool, self._facts(drawn, labels))
            rank = f", {start.ranks[proven]:,},"
            has = "has a lower precision" if stuck else has
        return (f"Nothing is left to ask: all items above the rank that came next{rank} were asked for, and it {has}; "
                "what lies deeper is claimed only after it.")  # fmt: skip

    @property
    def _target(self) -> float:
        return float(self.precision)

    @property
    def _claim(self) -> float:
        return float(1 - Fraction(self.confidence))

    def _known(self, drawn: DrawnItems, labels: Int8Array) -> KnownItems:
        """Give what is known, with all that was asked for."""
        return pilot.join_known(self.known, drawn.table["rank"].to_numpy(), labels)

    def _size(self, known_items: KnownItems) -> int:
        return max(_ROUND, math.ceil(_PART * int((known_items.label >= 0).sum())))

    def _facts(self, drawn: DrawnItems, labels: Int8Array) -> LabelFacts:
        return LabelFacts.from_labels(self.n_items, self.known, drawn.table["rank"].to_numpy(), labels)

    def _proven(self, sequence: FixedSequence, pool: DrawnOrder, facts: LabelFacts) -> tuple[int, bool]:
        """Tell how many ranks of a sequence are claimed, and whether it ends there, at one that labels refute."""
        reached = sequence.proven(pool)
        refuted = facts.refute(sequence.ranks[: reached + 1].tolist(), self.precision)
        return (refuted.index(True), True) if True in refuted else (reached, False)

    def _first(self, drawn: DrawnItems, known_items: KnownItems, curves: Curves, rng: np.random.Generator) -> pa.Table:
        """Give what is asked for before a sequence: a pilot, then the first ranks if the cut may lie among them."""
        items = without_place(np.empty(0, np.int64))
        if not drawn.rounds and pilot.is_wanted(known_items):
            items = pilot.draw(self.n_items, known_items, rng)
        last = min(FIRST, self.n_items)
        if not items.rank.size and (curves.deepest(self._target) < last).mean() > _HEAD:
            items = without_place(setdiff1d(np.arange(1, last + 1), known_items.rank))
        return ahead(drawn, items).ahead

    def _claims(self, ranks: Int64Array, known_items: KnownItems) -> FixedSequence:
        return FixedSequence(ranks, known_items, self.precision, self._claim)

    def _sequence(self, start: Start, drawn: DrawnItems, labels: Int8Array) -> FixedSequence:
        return start.sequence(drawn, labels, self.known, self.precision, self._claim)

    def _refuse_hopeless(self, curves: Curves, labels: int) -> None:
        """Refuse a precision that no curve has from the tenth rank on, nor one by three standard errors better.

        Curves are smooth, and few labels are all that they go by: a list may rise between them. A pilot estimates the
        positives of the first k with a variance of p k² / (2 `pilot.PER_E_FOLD`) where a part p of them are there.
        """
        ranks = curves.rank[curves.rank >= min(10, self.n_items)]
        likely, mean = curves.at(ranks), curves.at(ranks).mean(axis=0)
        best, spread = int(mean.argmax()), 3 * math.sqrt(self._target / (2 * pilot.PER_E_FOLD))
        if self.n_items > _SHORT and likely.max() < self._target and mean[best] + spread < self._target:
            raise InputError(
                f"{self.question}: no rank is likely to have it, and the best so far is about {mean[best]:.2f}, "
                f"of the first {ranks[best]:,}, a guess from {number_of(labels, 'label')}",
                f"cut at a lower precision; planned with round {_ROUND} behind the question, it goes on",
            )

    def _is_given_up(self, start: Start, drawn: DrawnItems, labels: Int8Array, curves: Curves) -> bool:
        """Tell whether nothing is proven and hardly anything will be: then another sequence is begun."""
        if start.number + 1 == len(SHARES) or not is_hopeless(curves, int(start.ranks[0]), self._target):
            return False
        return self._sequence(start, drawn, labels).proven(start.pool(drawn, labels)) == 0

    def _round(
        self, start: Start, drawn: DrawnItems, labels: Int8Array, curves: Curves, how: tuple[int, np.random.Generator]
    ) -> DrawnItems:
        """Draw what the next ranks need, and ask for a round of it."""
        size, rng = how
        sequence, pool = self._sequence(start, drawn, labels), start.pool(drawn, labels)
        proven, stuck = self._proven(sequence, pool, self._facts(drawn, labels))
        if proven == start.ranks.size:
            return drawn
        density = _density(start, sequence)
        shares = sequence.shares(proven, pool, curves.at(start.ranks).mean(axis=0), start.density)
        shares[proven] = np.inf if stuck else shares[proven]  # what is above it may still be counted
        further = max(float(size), _FURTHER * labels.size)
        wanted = density.wanted(shares, proven, size, further)
        pool = pool.raised_to(wanted, sequence.known, rng)
        return start.begin_round(drawn, pool, wanted, density.items, size)

    def _path(self, sequence: FixedSequence, at: int, pool: DrawnOrder) -> pa.Table:
        """Evidence of one rank."""
        evidence = sequence.path(at, pool)
        claim = f"precision@{sequence.ranks[at]} >= {self.precision}"
        columns = {"question": [claim] * evidence.size, "side": ["pass"] * evidence.size}
        numbers = {"labels": np.arange(evidence.size), "needed": np.full(evidence.size, sequence.needed)}
        return pa.table({**columns, **numbers, "evidence": evidence}).select(PATH.names).cast(PATH)


def _density(start: Start, sequence: FixedSequence) -> Density:
    return Density(start.ranks, np.diff(sequence.count_unknown, prepend=0), start.density)


DESIGN = DeepestCut
