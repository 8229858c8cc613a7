"""Widths of precision at a few ranks: two stages, the second of which is fixed before its first label.

To estimate to a width, a sample of fixed size takes a third of what a test takes that may stop at any time. A pilot
says what the precisions may be; sizes follow from it and are kept. Then all items are in one random order, rank k uses
the first n_k of its own items in that order, and nested ranks share labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streameval.curve.bounds import inside as within
from streameval.errors import InputError
from streameval.kernels.hypergeometric import sized_intervals
from streameval.questions import Question, Width
from streameval.sequential import (
    PATH,
    Answer,
    AnswerStatus,
    DrawnItems,
    KnownItems,
    LabelForecast,
    Line,
    QuestionDesign,
    QuestionSetting,
    joint_outcome,
    pilot,
)
from streameval.sequential.facts import LabelFacts, cut_to
from streameval.sequential.hash_order import Placed
from streameval.sequential.pool import DrawnOrder
from streameval.sequential.rounds import NOTHING, ahead, asked, is_pilot, placed
from streameval.sequential.spline import fitted
from streameval.typing import Int8Array, Int64Array

_ENDLESS = 10**13  # items of which a sample is as good as one with replacement
_MOST = 10**9  # labels of one rank
_WORST = 0.5
_KINDS = ("rank", "share", "score")


@dataclass(frozen=True)
class Point:
    """A rank at which the precision is asked for, and how wide its bounds may be.

    Attributes:
        question: As it prints, with one cutoff.
        rank: Of the cutoff.
    """

    question: str
    rank: int
    width: Width

    def half(self, precision: float) -> float:
        """Half of what may lie between the bounds."""
        return float(self.width.value) * (precision if self.width.of == "value" else 1.0)

    def cautious(self, precision: float, error: float) -> float:
        """A precision one standard error away, on the side where more labels are needed."""
        if self.width.of == "value":
            return max(precision - error, precision / 10)
        return min(precision + error, _WORST) if precision < _WORST else max(precision - error, _WORST)


@dataclass(frozen=True)
class PrecisionPoints(QuestionDesign):
    """Bounds on the precision at m ranks, for every list, with one order of the items drawn once.

    All bounds hold together with probability 1 - δ, those of one rank with 1 - δ/m, given the pilot: what rank k uses
    is a uniform sample, of a size fixed beforehand, of its items that were not known then. A missing label counts as 0
    below and as 1 above; so bounds hold before all labels are there, and those with more labels lie within them.

    Attributes:
        points: By rank; several may have one rank.
        known: What was known before; what the pilot finds is known besides.
        expect: The precision that is expected, for a forecast.
    """

    n_items: int
    points: tuple[Point, ...]
    known: KnownItems
    confidence: str
    expect: str | None = None

    name = "points"

    @classmethod
    def takes(cls, question: Question) -> bool:
        """Whether it is a width of precision at ranks."""
        widths = question.metric == "precision" and isinstance(question.demand, Width)
        return widths and bool(question.cutoffs) and all(one.kind in _KINDS for one in question.cutoffs)

    @classmethod
    def plan(cls, questions: Sequence[Question], setting: QuestionSetting) -> PrecisionPoints:
        """Fix ranks and widths; an `InputError` for a width that all bounds have, or with a zone."""
        each = [one for question in questions for one in question.each()]
        if setting.zone is not None:
            raise InputError(f"{each[0]}: a width has no zone", "leave it out")
        for one in each:
            if isinstance(one.demand, Width) and one.demand.of == "difference" and one.demand.value >= _WORST:
                raise InputError(f"{one} is true of every list: a precision is between 0 and 1",
                                 f"such as {one.measure} within 0.05, or within 5% of itself")  # fmt: skip
        points = _points((one, setting.ranks[str(one.cutoff)]) for one in each)
        return cls(setting.n_items, points, setting.known, setting.confidence, setting.expect)

    @classmethod
    def of(cls, facts: Mapping[str, Any], known: KnownItems) -> PrecisionPoints:
        """Read what `facts` gave."""
        points = _points((Question.of(one["question"]), one["rank"]) for one in facts["points"])
        return cls(facts["items"], points, known, facts["confidence"], facts["expect"])

    def facts(self) -> dict[str, Any]:
        """Ranks and widths."""
        points = [{"question": one.question, "rank": one.rank} for one in self.points]
        own = {"items": self.n_items, "points": points, "confidence": self.confidence, "expect": self.expect}
        return {"design": self.name, **own}

    def expected(self) -> list[tuple[str, LabelForecast]]:
        """Labels where all precisions are 0.5, which takes most for a difference, and where they are as expected."""
        pilots = pilot.expected_size(self.n_items) if pilot.wanted(self.known) else 0
        forecasts = []
        for said in [str(_WORST), *([self.expect] if self.expect else [])]:
            labels = pilots + self._union([self._size(one, float(said), self.known) for one in self.points])
            forecasts.append((f"if it is {said}", LabelForecast(labels, labels)))
        return forecasts

    def start(self) -> DrawnItems:
        """Draw nothing yet."""
        return NOTHING

    def next(self, drawn: DrawnItems, labels: Int8Array, size: int | None, seed: int) -> DrawnItems:
        """Ask for the pilot; then for what all ranks use, at once or in rounds of `size`.

        Sizes are fixed by the labels of the pilot that are there when the second stage is drawn, and never change.
        """
        rng, wanted = np.random.default_rng([seed, drawn.rounds + 1]), drawn
        if not drawn.rounds and pilot.wanted(self.known):
            wanted = ahead(drawn, pilot.draw(self.n_items, self.known, rng))
        if not wanted.ahead.num_rows and "sizes" not in drawn.state:
            known = self._known(drawn, labels)
            sizes = self._sizes(known, rng)
            wanted = replace(ahead(drawn, self._sample(sizes, known, rng)), state={"sizes": sizes})
        return asked(wanted, size) if wanted.ahead.num_rows else drawn

    def answer(self, drawn: DrawnItems, labels: Int8Array) -> Answer:
        """Bounds at each cutoff, from the labels of its own items and from what is known.

        A line passes once all of its planned labels are there, or its bounds are as narrow as asked without some.
        """
        known = self._known(drawn, labels)
        sizes = drawn.state.get("sizes", [0] * len(self.points))
        used = [self._used(drawn, labels, one.rank, size) for one, size in zip(self.points, sizes, strict=True)]
        facts = LabelFacts.of(self.n_items, self.known, drawn.table["rank"].to_numpy(), labels)
        lines = tuple(self._line(one, known, mine, facts) for one, mine in zip(self.points, used, strict=True))
        left = drawn.ahead.num_rows + int((labels == -1).sum())
        if "sizes" not in drawn.state:
            left += self._union(self._sizes(known, np.random.default_rng(0)))
        return Answer(joint_outcome(lines), lines, PATH.empty_table(), LabelForecast(left, left))

    @property
    def _claim(self) -> float:
        """Probability with which the bounds of one rank may be wrong."""
        return (1 - float(self.confidence)) / len(self.points)

    def _known(self, drawn: DrawnItems, labels: Int8Array) -> KnownItems:
        """What is known, with the pilot; what is answered late of it narrows bounds, and changes no size."""
        items = placed(drawn.table)
        first = is_pilot(items.order)
        return pilot.joined(self.known, items.rank[first], labels[first])

    def _size(self, point: Point, precision: float, known: KnownItems) -> int:
        """Labels that a rank takes."""
        free = unknown(known, point.rank)
        whole = sample_size(precision, point.half(precision), self._claim)
        return math.ceil(whole / (1 + (whole - 1) / free)) if free else 0

    def _sizes(self, known: KnownItems, rng: np.random.Generator) -> list[int]:
        """Labels that each rank takes, for what is known of its precision."""
        curves = fitted(known, self.n_items, rng).at(np.array([one.rank for one in self.points]))
        guesses = zip(self.points, curves.mean(axis=0), curves.std(axis=0), strict=True)
        return [self._size(one, one.cautious(float(mean), float(error)), known) for one, mean, error in guesses]

    def _sample(self, sizes: Sequence[int], known: KnownItems, rng: np.random.Generator) -> Placed:
        """Draw the first items of each rank in one order, and no others."""
        numbers = {one.rank: max(n for two, n in zip(self.points, sizes, strict=True) if two.rank == one.rank)
                   for one in self.points}  # fmt: skip
        items = {one.rank: unknown(known, one.rank) for one in self.points}
        pool = DrawnOrder.of(replace(NOTHING, state={"levels": [0.0] * len(items)}), np.empty(0, np.int8), list(items))
        pool = pool.drawn_to(numbers, items, known, rng)
        rows = pool.next(numbers)
        return Placed(pool.rank[rows], pool.order[rows])

    def _union(self, sizes: Sequence[int]) -> int:
        """About how many items all ranks use together."""
        ranks = np.array([one.rank for one in self.points], float)
        shared = np.append(np.array(sizes[1:]) * ranks[:-1] / ranks[1:], 0.0)
        return round(float(np.maximum(0.0, np.array(sizes) - shared).sum()))

    def _used(self, drawn: DrawnItems, labels: Int8Array, rank: int, size: int) -> Int8Array:
        """Labels of the items that a rank uses, -1 where there is none or the item was not asked for yet."""
        items, later = placed(drawn.table), placed(drawn.ahead)
        second, later_second = ~is_pilot(items.order), ~is_pilot(later.order)
        both = Placed(
            np.append(items.rank[second], later.rank[later_second]),
            np.append(items.order[second], later.order[later_second]),
        )
        label = np.append(labels[second], np.full(later_second.sum(), -1, np.int8)).astype(np.int8)
        return label[first_of(both, rank, size)]

    def _line(self, point: Point, known: KnownItems, used: Int8Array, facts: LabelFacts) -> Line:
        """Bounds at one cutoff."""
        inside = known.label[: np.searchsorted(known.rank, point.rank, "right")]
        free = point.rank - inside.size
        low, high, labels, items = (
            np.array([n], np.int64) for n in ((used == 1).sum(), (used != 0).sum(), used.size, free)
        )
        fewest, most = (int(one[0]) for one in sized_intervals(low, high, labels, items, self._claim))
        claimed = fewest + int((inside == 1).sum()), most + int((inside != 0).sum())
        lower, upper = (one / point.rank for one in cut_to(claimed, facts.positives(point.rank)))
        estimate = float(within(_estimate(inside, used, point.rank), lower, upper))
        narrow = (upper - lower) / 2 <= point.half(estimate)
        whole = (used.size or not free) and (used >= 0).all() and (inside >= 0).all()
        positives, negatives = (int((inside == value).sum() + (used == value).sum()) for value in (1, 0))
        outcome: AnswerStatus = "pass" if whole or narrow else "open"
        counted = positives + negatives
        return Line(point.question, outcome, lower, estimate, upper, counted, positives, self._claim)


def unknown(known: KnownItems, rank: int) -> int:
    """Items of the first k that are not known."""
    return rank - int(np.searchsorted(known.rank, rank, "right"))


def first_of(items: Placed, rank: int, size: int) -> Int64Array:
    """Rows of the first items of a rank in the order, at most `size`."""
    inside = np.flatnonzero(items.rank <= rank)
    return inside[np.argsort(items.order[inside], kind="stable")[:size]]


def _points(asked_: Any) -> tuple[Point, ...]:
    points = (Point(str(question), rank, question.demand) for question, rank in asked_)
    return tuple(sorted(points, key=lambda one: one.rank))


def _estimate(inside: Int8Array, used: Int8Array, rank: int) -> float:
    """Share of positives: those known, and of the rest as many as of the labels of a sample; NaN without any."""
    free = rank - inside.size
    labels = int((used >= 0).sum())
    if free and not labels:
        return math.nan
    rest = free * (used == 1).sum() / labels if free else 0.0
    skipped = int((inside < 0).sum())
    share = rest / free if free else 0.5
    return float(((inside == 1).sum() + rest + skipped * share) / rank)


def sample_size(precision: float, half: float, claim: float) -> int:
    """Labels, of endlessly many items, from which Clopper's and Pearson's bounds lie within 2 `half` of each other.

    Args:
        precision: Share of positives that the labels show.
        claim: Probability with which the bounds may be wrong.
    """
    high = 1
    while high < _MOST and _apart(precision, high, claim) > 2 * half:
        high *= 2
    low = high // 2 + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _apart(precision, middle, claim) <= 2 * half else (middle + 1, high)
    return low


def _apart(precision: float, labels: int, claim: float) -> float:
    """How far the bounds lie apart, between those of the two whole numbers of positives next to the share."""
    below = math.floor(precision * labels)
    found = np.array([below, min(below + 1, labels)], np.int64)
    lower, upper = sized_intervals(found, found, np.full(2, labels), np.full(2, _ENDLESS), claim)
    part = precision * labels - below
    return float(np.dot(upper - lower, (1 - part, part)) / _ENDLESS)


DESIGN = PrecisionPoints
