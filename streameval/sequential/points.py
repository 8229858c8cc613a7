"""Widths of precision at a few ranks: a pilot, then samples of sizes that are fixed before their first label.

To estimate to a width, a sample of fixed size takes a third of what a test takes that may stop at any time. A pilot
says what the precisions may be; sizes follow from it and are kept. Then all items are in one random order, rank k uses
the first n_k of its own items in that order, and nested ranks share labels. A rank whose bounds are wider than asked
for goes on to the next of its sizes (`sample_sizes`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.curve.bounds import cut_to_bounds as within
from streameval.errors import InputError
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
from streameval.sequential.rounds import NOTHING, ahead, is_pilot, next_round, places_of
from streameval.sequential.sample_sizes import CANNOT_GROW, GROWING, SINGLE, SampleSizes, first_size, size_at
from streameval.sequential.spline import fit
from streameval.typing import FloatArray, Int8Array, Int64Array

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

    def half(self, precision: FloatArray) -> FloatArray:
        """Half of what may lie between the bounds, at such precisions."""
        return float(self.width.value) * (precision if self.width.of == "value" else np.ones_like(precision))


@dataclass(frozen=True)
class PrecisionPoints(QuestionDesign):
    """Bounds on the precision at m ranks, for every list, with one order of the items drawn once.

    All bounds hold together with probability 1 - δ, those of one rank with 1 - δ/m, given the pilot: what rank k uses
    are uniform samples, of sizes fixed beforehand, of its items that were not known then. A missing label counts as 0
    below and as 1 above; so bounds hold before all labels are there, and those with more labels lie within them. A rank
    passes if they are as near as was asked for.

    What is remembered of the draws: `sizes`, those of the first looks, and `looks`, how many were made, by point.

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
        """Tell whether it is a width of precision at ranks."""
        widths = question.metric == "precision" and isinstance(question.demand, Width)
        return widths and bool(question.cutoffs) and all(cutoff.kind in _KINDS for cutoff in question.cutoffs)

    @classmethod
    def plan(cls, questions: Sequence[Question], setting: QuestionSetting) -> PrecisionPoints:
        """Fix ranks and widths; an `InputError` for a width that all bounds have, or with a zone."""
        each = [condition for question in questions for condition in question.each()]
        if setting.zone is not None:
            raise InputError(f"{each[0]}: a width has no zone", "leave it out")
        for condition in each:
            if (
                isinstance(condition.demand, Width)
                and condition.demand.of == "difference"
                and condition.demand.value >= _WORST
            ):
                raise InputError(f"{condition} is true of every list: a precision is between 0 and 1",
                                 f"such as {condition.measure} within 0.05, or within 5% of itself")  # fmt: skip
        points = _points((condition, setting.ranks[str(condition.cutoff)]) for condition in each)
        return cls(setting.n_items, points, setting.known, setting.confidence, setting.expect)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], known_items: KnownItems) -> PrecisionPoints:
        """Read what `facts` gave."""
        points = _points((Question.of(point["question"]), point["rank"]) for point in facts["points"])
        return cls(facts["items"], points, known_items, facts["confidence"], facts["expect"])

    def facts(self) -> dict[str, Any]:
        """Ranks and widths."""
        points = [{"question": point.question, "rank": point.rank} for point in self.points]
        planned = {"items": self.n_items, "points": points, "confidence": self.confidence, "expect": self.expect}
        return {"design": self.name, **planned}

    def expected(self) -> list[tuple[str, LabelForecast]]:
        """Labels where all precisions are 0.5, which takes most for a difference, and where they are as expected."""
        pilots = pilot.expected_size(self.n_items) if pilot.is_wanted(self.known) else 0
        forecasts = []
        for precision in [str(_WORST), *([self.expect] if self.expect else [])]:
            sizes = [
                size_at(float(precision), count_unknown(self.known, point.rank), self._claim, point.half)
                for point in self.points
            ]
            labels = pilots + self._union(sizes)
            forecasts.append((f"if it is {precision}", LabelForecast(labels, labels)))
        return forecasts

    def start(self) -> DrawnItems:
        """Draw nothing yet."""
        return NOTHING

    def next(self, drawn: DrawnItems, labels: Int8Array, size: int | None, seed: int) -> DrawnItems:
        """Ask for the pilot; then for what all ranks use, at once or in rounds of `size`; then for what some need more.

        Sizes are fixed by the labels of the pilot that are there when the first samples are drawn, and never change.
        """
        rng, wanted = np.random.default_rng([seed, drawn.rounds + 1]), drawn
        if not drawn.rounds and pilot.is_wanted(self.known):
            wanted = ahead(drawn, pilot.draw(self.n_items, self.known, rng))
        if not wanted.ahead.num_rows:
            draw = self._grown if "sizes" in drawn.state else self._draw_samples
            wanted = draw(drawn, labels, rng)
        return next_round(wanted, size) if wanted.ahead.num_rows else drawn

    def answer(self, drawn: DrawnItems, labels: Int8Array) -> Answer:
        """Bounds at each cutoff, from the labels of its own items and from what is known.

        A line passes once they are as near as was asked for.
        """
        known_items, facts = self._known(drawn, labels), self._facts(drawn, labels)
        samples = self._samples(drawn, labels)
        lines = tuple(sample.line(known_items, self.known, facts) for sample in samples)
        outcome = joint_outcome(lines)
        more = LabelForecast(0, 0) if outcome == "pass" else self._more(drawn, labels, samples, lines)
        return Answer(outcome, lines, PATH.empty_table(), more)

    def exhausted(self, drawn: DrawnItems, labels: Int8Array) -> str:
        """Say it of samples that cannot grow."""
        return super().exhausted(drawn, labels) if "looks" in drawn.state else CANNOT_GROW

    @property
    def _claim(self) -> float:
        """Probability with which the bounds of one rank may be wrong."""
        return (1 - float(self.confidence)) / len(self.points)

    def _known(self, drawn: DrawnItems, labels: Int8Array) -> KnownItems:
        """Give what is known, with the pilot; what is answered late of it narrows bounds, and changes no size."""
        items = places_of(drawn.table)
        first = is_pilot(items.order)
        return pilot.join_known(self.known, items.rank[first], labels[first])

    def _facts(self, drawn: DrawnItems, labels: Int8Array) -> LabelFacts:
        return LabelFacts.from_labels(self.n_items, self.known, drawn.table["rank"].to_numpy(), labels)

    def _sizes(self, known_items: KnownItems) -> list[int]:
        """Labels that each rank takes, for what is known of its precision: of a study with any seed, as is forecast."""
        curves = fit(known_items, self.n_items, np.random.default_rng(0)).at(
            np.array([point.rank for point in self.points])
        )
        return [first_size(likely, count_unknown(known_items, point.rank), self._claim, point.half)
                for point, likely in zip(self.points, curves.T, strict=True)]  # fmt: skip

    def _draw_samples(self, drawn: DrawnItems, labels: Int8Array, rng: np.random.Generator) -> DrawnItems:
        """Draw the first samples."""
        known_items = self._known(drawn, labels)
        sizes = self._sizes(known_items)
        state = {"sizes": sizes, "looks": [1] * len(sizes)}
        return replace(self._drawn_to(sizes, drawn, known_items, rng), state=state)

    def _grown(self, drawn: DrawnItems, labels: Int8Array, rng: np.random.Generator) -> DrawnItems:
        """Draw the next look of each rank whose bounds are wider than asked for; nothing where there is none."""
        known_items, facts = self._known(drawn, labels), self._facts(drawn, labels)
        samples = self._samples(drawn, labels)
        looks = [
            sample.made + (sample.line(known_items, self.known, facts).outcome == "open" and sample.may_grow)
            for sample in samples
        ]
        sizes = [sample.looks.size(n_looks - 1) for sample, n_looks in zip(samples, looks, strict=True)]
        if sizes == [sample.label.size for sample in samples]:
            return drawn
        return replace(self._drawn_to(sizes, drawn, known_items, rng), state={**drawn.state, "looks": looks})

    def _drawn_to(
        self, sizes: Sequence[int], drawn: DrawnItems, known_items: KnownItems, rng: np.random.Generator
    ) -> DrawnItems:
        """Draw the first items of each rank in one order, after those that were drawn, and no others.

        How far the order was drawn, by ranges of ranks: down to the last item that any deeper rank uses. What else was
        drawn was not kept, and all that is known of it is that it comes later.
        """
        items = {point.rank: count_unknown(known_items, point.rank) for point in self.points}
        numbers = {
            rank: max(n for point, n in zip(self.points, sizes, strict=True) if point.rank == rank) for rank in items
        }
        ends = [
            (sample.point.rank, sample.end) for sample in self._samples(drawn, np.zeros(drawn.table.num_rows, np.int8))
        ]
        levels = [max(end for rank, end in ends if rank >= last) for last in items]
        table = drawn.table.filter(pa.array(~is_pilot(places_of(drawn.table).order)))
        there = DrawnItems(table, drawn.ahead, {"levels": levels})
        pool = DrawnOrder.from_items(there, np.full(table.num_rows, -1, np.int8), list(items))
        pool = pool.drawn_to(numbers, items, known_items, rng)
        rows = pool.next(numbers)
        return ahead(drawn, Placed(pool.rank[rows], pool.order[rows]))

    def _union(self, sizes: Sequence[int]) -> int:
        """About how many items all ranks use together."""
        ranks = np.array([point.rank for point in self.points], float)
        shared = np.append(np.array(sizes[1:]) * ranks[:-1] / ranks[1:], 0.0)
        return round(float(np.maximum(0.0, np.array(sizes) - shared).sum()))

    def _samples(self, drawn: DrawnItems, labels: Int8Array) -> list[PointSample]:
        """Give what each rank uses of what was drawn; nothing before samples are."""
        known_items, asked_, later = self._known(drawn, labels), places_of(drawn.table), places_of(drawn.ahead)
        second, second_later = ~is_pilot(asked_.order), ~is_pilot(later.order)
        items = Placed(np.append(asked_.rank[second], later.rank[second_later]),
                       np.append(asked_.order[second], later.order[second_later]))  # fmt: skip
        label = np.append(labels[second], np.full(second_later.sum(), -1, np.int8)).astype(np.int8)
        nothing = [0] * len(self.points)
        sizes, state = drawn.state.get("sizes", nothing), drawn.state
        n_looks, shares = state.get("looks", [1] * len(self.points)), GROWING if "looks" in state else SINGLE
        looks = [SampleSizes(size, count_unknown(known_items, point.rank), self._claim, shares)
                 for point, size in zip(self.points, sizes, strict=True)]  # fmt: skip
        return [PointSample.from_order(*each, items, label) for each in zip(self.points, looks, n_looks, strict=True)]

    def _more(
        self, drawn: DrawnItems, labels: Int8Array, samples: Sequence[PointSample], lines: Sequence[Line]
    ) -> LabelForecast:
        """Give what is left of the samples, and what they are likely to grow by."""
        left, known_items = drawn.ahead.num_rows + int((labels == -1).sum()), self._known(drawn, labels)
        if "sizes" not in drawn.state:
            left += self._union(self._sizes(known_items))
            return LabelForecast(left, left)
        now = [sample.label.size for sample in samples]
        wanted = [(sample.label.size,) * 2 if line.outcome == "pass" else sample.wanted(known_items)
                  for sample, line in zip(samples, lines, strict=True)]  # fmt: skip
        more = [None if None in sizes else left + self._union(sizes) - self._union(now)
                for sizes in zip(*wanted, strict=True)]  # fmt: skip
        return LabelForecast(*more)


@dataclass(frozen=True)
class PointSample:
    """Sample of one rank.

    Attributes:
        looks, made: Its sizes, and how many of them were drawn.
        label: int8, of its items in the order of the draw, -1 where there is none or the item was not asked for yet.
        end: Place of the last in the order; 0 where there is none.
    """

    point: Point
    looks: SampleSizes
    made: int
    label: Int8Array
    end: float

    @staticmethod
    def from_order(point: Point, looks: SampleSizes, n_looks: int, items: Placed, label: Int8Array) -> PointSample:
        """Take the first items of the order that the rank has, as many as were looked at."""
        rows = first_of(items, point.rank, looks.size(n_looks - 1))
        return PointSample(point, looks, n_looks, label[rows], float(items.order[rows].max(initial=0.0)))

    @property
    def may_grow(self) -> bool:
        """Tell whether there is a larger size."""
        return not self.looks.is_last(self.made - 1)

    def line(self, known_items: KnownItems, planned: KnownItems, facts: LabelFacts) -> Line:
        """Bounds on the precision; none before a sample was drawn.

        Args:
            known_items: What was known when it was drawn, the pilot's items among them.
            planned: What was known when the question was planned.
        """
        rank, used, inside = self.point.rank, self.label, self._labels_inside(known_items)
        fewest, most = self.looks.bounds(used, self.made)
        claimed = fewest + int((inside == 1).sum()), most + int((inside != 0).sum())
        lower, upper = (bound / rank for bound in cut_to(claimed, facts.positives(rank)))
        estimate = float(within(_estimate(inside, used, rank), lower, upper))
        is_narrow = (upper - lower) / 2 <= float(self.point.half(np.array(estimate)))
        outcome: AnswerStatus = "pass" if is_narrow else "open"
        if outcome == "open" and not used.size:
            lower = upper = math.nan
        before = Line.count(self._labels_inside(planned))
        labels, positives = (
            of_pilot + of_sample - known_before
            for of_pilot, of_sample, known_before in zip(Line.count(inside), Line.count(used), before, strict=True)
        )
        claim = self.looks.doubt
        return Line(self.point.question, outcome, lower, estimate, upper, labels, positives, claim, *before)

    def wanted(self, known_items: KnownItems) -> tuple[int | None, int | None]:
        """Forecast the size that brings bounds as near as asked for: half of the time, and nine times in ten."""
        inside, rank = self._labels_inside(known_items), self.point.rank
        positives, skipped = int((inside == 1).sum()), int((inside < 0).sum())

        def half(share: FloatArray) -> FloatArray:
            return rank * self.point.half((positives + self.looks.items * share) / rank) - skipped / 2

        return self.looks.enough(self.label, self.made, half)

    def _labels_inside(self, known_items: KnownItems) -> Int8Array:
        return known_items.label[: np.searchsorted(known_items.rank, self.point.rank, "right")]


def count_unknown(known_items: KnownItems, rank: int) -> int:
    """Items of the first k that are not known."""
    return rank - int(np.searchsorted(known_items.rank, rank, "right"))


def first_of(items: Placed, rank: int, size: int) -> Int64Array:
    """Rows of the first items of a rank in the order, at most `size`."""
    inside = np.flatnonzero(items.rank <= rank)
    return inside[np.argsort(items.order[inside], kind="stable")[:size]]


def _points(asked_: Any) -> tuple[Point, ...]:
    points = (Point(str(question), rank, question.demand) for question, rank in asked_)
    return tuple(sorted(points, key=lambda point: point.rank))


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


DESIGN = PrecisionPoints
