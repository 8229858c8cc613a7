"""Gates: conditions on precision at one or several ranks, which all have to hold.

With d = 1 - confidence: the outcome is ever wrong with probability at most d, whatever the list is, however often it is
looked at, and whatever decides when to stop. If one condition is false, a wrong pass takes that one to pass, which is
tested at d. If all hold, a wrong fail takes one of the m to fail, each tested at d/m. Only one of the two can be wrong:
the list is fixed. The lines of single conditions hold with d each, not together.

All conditions are tested in one random order: the items among the first k are uniformly permuted for every k at once,
so that a label counts for every condition in whose beginning of the order it lies, and no d is split for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.questions import Condition, Question
from streameval.questions.cutoffs import LAST_RANK
from streameval.sequential import (
    FIRST,
    LARGEST,
    LEAST,
    PATH,
    Answer,
    DrawnItems,
    KnownItems,
    LabelForecast,
    QuestionDesign,
    QuestionSetting,
    joint_outcome,
)
from streameval.sequential.condition import ConditionTest, Reading
from streameval.sequential.deciding import Deciding
from streameval.sequential.facts import LabelFacts
from streameval.sequential.forecasts import forecast, labels_until_stop
from streameval.sequential.pool import EMPTY, DrawnOrder
from streameval.typing import FloatArray, Int8Array, Int64Array


@dataclass(frozen=True)
class Gate(QuestionDesign):
    """Conditions on precision, all of which have to hold."""

    name: ClassVar[str] = "gate"
    tests: tuple[ConditionTest, ...]
    known: KnownItems

    @classmethod
    def takes(cls, question: Question) -> bool:
        """Tell whether it is a condition on precision at cutoffs."""
        return question.metric == "precision" and bool(question.cutoffs) and isinstance(question.demand, Condition)

    @classmethod
    def plan(cls, questions: Sequence[Question], setting: QuestionSetting) -> Gate:
        """Fix thresholds, alternatives and what decides; an `InputError` where a number is out of its range."""
        if not 0 < Fraction(setting.confidence) < 1:
            raise InputError(f"confidence {setting.confidence} is outside (0, 1)")
        if setting.expect is not None and not 0 <= Fraction(setting.expect) <= 1:
            raise InputError(f"an expected precision of {setting.expect} is outside 0..1")
        each = [condition for question in questions for condition in question.each()]
        for condition in each:
            rank = setting.ranks[str(condition.cutoff)]
            if not 1 <= rank <= setting.n_items:
                raise InputError(f"{condition}: rank {rank:,} is outside 1..{setting.n_items:,}", LAST_RANK)
        return cls(tuple(ConditionTest.plan(condition, setting, len(each)) for condition in each), setting.known)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], known_items: KnownItems) -> Gate:
        """Read what `facts` gave."""
        return cls(
            tuple(ConditionTest.from_facts(test).with_labels_now(known_items) for test in facts["tests"]), known_items
        )

    def facts(self) -> dict[str, Any]:
        """All but `known`, JSON-ready."""
        return {"design": self.name, "tests": [test.facts() for test in self.tests]}

    def expected(self) -> Sequence[tuple[str, LabelForecast]]:
        """Labels at the expected precision, or halfway from the threshold to the best; and where it takes most."""
        return [
            self._case([test.expected for test in self.tests], "halfway from its threshold to the best"),
            self._case([test.hardest for test in self.tests], "at its threshold"),
        ]

    def start(self) -> DrawnItems:
        """Draw nothing yet."""
        return DrawnItems(EMPTY, EMPTY.drop_columns("round"), {"levels": [0.0] * len(self._items)})

    def next(self, drawn: DrawnItems, labels: Int8Array, size: int | None, seed: int) -> DrawnItems:
        """Draw one more round: those that come next in the order, for each condition that is open.

        The first has 50 for each, later ones half of what may decide, within 50 and 200; where there is an end, never
        more than lead to it. At 50 items or fewer all are asked at once. With a size, so many in all.
        """
        pool = self._pool(drawn, labels)
        numbers: dict[int, int] = {}
        for test, mine in self._open(pool):
            number = min(test.cap, mine.size + (_round(test, mine) if size is None else size))
            if number > mine.size:
                numbers[test.rank] = max(number, numbers.get(test.rank, 0))
        if not numbers:
            return drawn
        rng = np.random.default_rng([seed, drawn.rounds + 1])
        pool = pool.drawn_to(numbers, self._items, self.known, rng)
        return pool.begin_round(pool.next(numbers)[:size], drawn.rounds + 1)

    def answer(self, drawn: DrawnItems, labels: Int8Array) -> Answer:
        """Say what the labels so far prove."""
        pool = self._pool(drawn, labels)
        lines, path, facts = [], [], self._facts(pool)
        for test in self.tests:
            mine = _labels(pool, test)
            reading = test.judge(mine, facts)
            lines.append(test.line(mine, reading, facts))
            path.append(_path(test, reading, mine))
        return Answer(joint_outcome(lines), tuple(lines), pa.concat_tables(path), self._more(pool))

    @property
    def _items(self) -> dict[int, int]:
        """Items that can be asked among the first k, for every k of a condition, by k."""
        return {test.rank: test.items for test in sorted(self.tests, key=lambda test: test.rank)}

    def _pool(self, drawn: DrawnItems, labels: Int8Array) -> DrawnOrder:
        return DrawnOrder.from_items(drawn, labels, list(self._items))

    def _facts(self, pool: DrawnOrder) -> LabelFacts:
        return LabelFacts.from_labels(max(self._items), self.known, pool.rank, pool.label)

    def _open(self, pool: DrawnOrder) -> list[tuple[ConditionTest, Int8Array]]:
        """Conditions that are open, with the labels of each; none where one fails."""
        each = [(test, _labels(pool, test)) for test in self.tests]
        facts = self._facts(pool)
        outcomes = [test.judge(labels, facts).outcome for test, labels in each]
        if "fail" in outcomes:
            return []
        return [pair for pair, outcome in zip(each, outcomes, strict=True) if outcome == "open"]

    def _case(self, shares: list[float], where: str) -> tuple[str, LabelForecast]:
        """Labels if so large shares are wins."""
        each = [(test, 0, test.before(share)) for test, share in zip(self.tests, shares, strict=True)]
        values = {f"{p if test.counted else 1 - p:.6g}" for test, p in zip(self.tests, shares, strict=True)}
        return f"if it is {values.pop()}" if len(values) == 1 else f"if each is {where}", self._forecast(each)

    def _more(self, pool: DrawnOrder) -> LabelForecast:
        """Labels that may decide what is open.

        Missing labels of the last round are still to come; others count as what is worst for each side.
        """
        coming = (pool.round == pool.round.max(initial=0)) & (pool.label == -1)
        seen = [(test, mine[~coming[_rows_of(pool, test)]]) for test, mine in self._open(pool)]
        more = self._forecast([(test, mine.size, test.after(mine)) for test, mine in seen if mine.size < test.cap])
        return replace(more, most=None) if any((mine < 0).any() for _, mine in seen) else more

    def _forecast(self, each: Sequence[tuple[ConditionTest, int, Deciding]]) -> LabelForecast:
        """Labels to come, beside those that there are of each: until one condition fails, or all are answered."""
        if not each:
            return LabelForecast(0, 0, 0, 0)
        rng, tests = np.random.default_rng(0), [test for test, _, _ in each]
        cases = [test.cases(labels, deciding, rng) for test, labels, deciding in each]
        numbers = labels_until_stop(np.array([labels for labels, _ in cases]), np.array([fails for _, fails in cases]))
        n_asked = self._count_union(tests, numbers)
        done = float(self._count_union(tests, np.array([[float(labels)] for _, labels, _ in each]))[0])
        left = self._items[max(test.rank for test in tests)] - round(done)
        return forecast(n_asked - done, left, self._most([(test, labels) for test, labels, _ in each]))

    def _most(self, each: Sequence[tuple[ConditionTest, int]]) -> int | None:
        """Labels to come at most, if no rank shares any: those to the ends, and no more than there are items."""
        rest: dict[int, int] = {}
        for test, labels in each:
            if test.sure is None:
                return None
            rest[test.rank] = max(test.sure - labels, rest.get(test.rank, 0))
        done = {test.rank: labels for test, labels in each}
        most = 0
        for rank in sorted(rest):
            most = min(most + rest[rank], self._items[rank] - done[rank])
        return most

    def _count_union(self, tests: Sequence[ConditionTest], numbers: FloatArray) -> FloatArray:
        """Items that are asked for so many labels of some conditions, about: nested ranks share them.

        Args:
            numbers (float64 array, shape (tests, cases)): Infinite where a condition is never answered.

        Returns:
            float64 array, shape (cases,): Whole numbers, or infinite.
        """
        level = numbers / np.array([[max(test.items, 1)] for test in tests])
        inside = np.array([[test.rank >= last for last in self._items] for test in tests])
        levels = np.max(np.where(inside[:, :, None], level[:, None], 0.0), axis=0)
        width = np.diff([0, *self._items.values()])
        return np.where(
            np.isfinite(level).all(axis=0), np.rint(width @ np.where(np.isfinite(levels), levels, 0.0)), np.inf
        )


def _rows_of(pool: DrawnOrder, test: ConditionTest) -> Int64Array:
    """Tell where the items are that were asked for one condition."""
    return pool.asked(test.rank)[: test.cap]


def _labels(pool: DrawnOrder, test: ConditionTest) -> Int8Array:
    return pool.label[_rows_of(pool, test)]


def _round(test: ConditionTest, labels: Int8Array) -> int:
    """Items in the next round of one condition: by the labels alone, as too large a round costs some."""
    if test.exact:
        return test.items
    if not labels.size:
        return FIRST
    likely = test.after(labels, labels.size + 2 * LARGEST, 0).quantile(0.5)  # None: half of the rest is more
    return LARGEST if likely is None else min(max((likely - labels.size) // 2, LEAST), LARGEST)


def _path(test: ConditionTest, reading: Reading, labels: Int8Array) -> pa.Table:
    """Both sides of one condition, as `PATH`: to the label that decided, or the last of those that are there.

    What is still to come counts as what is worst for each side, and would look as if evidence were lost.
    """
    last = int(np.flatnonzero(labels >= 0).max(initial=-1)) + 1 if reading.outcome == "open" else reading.stopped
    passing, failing = reading.passing[: last + 1], reading.failing[: last + 1]
    sides = [("pass", passing, test.levels[0]), ("fail", failing, test.levels[1])]
    tables = [
        pa.table(
            [[test.question] * log.size, [side] * log.size, np.arange(log.size), log, [needed] * log.size], schema=PATH
        )
        for side, log, needed in sides
    ]
    return pa.concat_tables(tables)


DESIGN = Gate
