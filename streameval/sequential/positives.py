"""The number of positives of a list, to a width: a pilot, then whichever of two samples is forecast to be the smaller.

*Fixed*: one simple random sample of what is not known, its size fixed beforehand, with exact hypergeometric bounds;
where these are wider than asked for it grows to the next of its sizes (`sample_sizes`).
*Blocks*: items drawn one at a time from blocks of ranks, at rates that follow the labels; the bounds are the numbers
that `kernels.block_evidence` does not refuse, and hold whenever one stops. Either is chosen once, from what is known
before its first draw, and is then the only one; what was known is counted as it is, and is evidence in neither. So the
bounds hold with probability 1 - δ, whatever the list is and whatever the pilot found: δ/2 a side.

Whatever the method, an upper bound within x of F positives has to exclude that x·F more are among the W items that were
not seen: that takes ln(2/δ)·W/(x·F) labels at least.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from streameval.curve.bounds import cut_to_bounds
from streameval.errors import InputError
from streameval.kernels.block_evidence import Factors, evidence, least_refused
from streameval.questions import Question, Width
from streameval.questions.cutoffs import plain
from streameval.sequential import (
    AS_LABELLED,
    LEAST,
    PATH,
    UNTOLD,
    Answer,
    AnswerStatus,
    DrawnItems,
    KnownItems,
    LabelForecast,
    Line,
    QuestionDesign,
    QuestionSetting,
    pilot,
)
from streameval.sequential.blocks import RankBlocks, Tally, draw, rates_for, totals
from streameval.sequential.facts import LabelFacts, cut_to
from streameval.sequential.forecasts import forecast
from streameval.sequential.growth import Bet, Rates
from streameval.sequential.hash_order import free_ranks
from streameval.sequential.sample_sizes import CANNOT_GROW, GROWING, SINGLE, Half, SampleSizes, first_size
from streameval.sequential.sides import ClaimSide, Course, blocks_of, nothing_drawn, to_ask, with_round
from streameval.sequential.spline import forecast_rates, likely_rates
from streameval.typing import FloatArray, Int8Array, Int64Array

_ROUNDS = 8  # of blocks
_GRID, _MOST_NATS = 33, 100.0
_UNEVEN = 2 / 3  # of the labels after which both bounds are as near as asked for, they are so on average
_BEYOND = 50_000  # labels; more are no plan
_SLOWER, _NOISE = 1.05, 0.07  # of a forecast: rounds are asked whole, and evidence grows as chance has it
_OUT = "leave it out"
_WIDER = "ask for a wider one, or whether positives >= NUMBER; with a size for the round it goes on"


@dataclass(frozen=True)
class PositivesToWidth(QuestionDesign):
    """Bounds on the number of positives of a list.

    Attributes:
        question: With a width.
        known: What was known before; what the pilot finds is known besides.
    """

    question: Question
    n_items: int
    known: KnownItems
    confidence: str

    name: ClassVar[str] = "positives"

    @classmethod
    def takes(cls, question: Question) -> bool:
        """A width of the number of positives."""
        return question.metric == "positives" and not question.cutoffs and isinstance(question.demand, Width)

    @classmethod
    def plan(cls, questions: Sequence[Question], setting: QuestionSetting) -> PositivesToWidth:
        """Fix the width; an `InputError` for several, for less than one item, or with a zone or an expectation."""
        if len(questions) > 1:
            raise InputError("one width of the number of positives at a time", f"ask for {questions[0]}")
        width = cast(Width, questions[0].demand)
        if width.of == "difference" and width.value < 1:
            raise InputError(
                f"{questions[0]}: positives are counted, and that is less than one of them",
                f"a part of their number is a percentage: positives within {plain(width.value.scaleb(2))}%",
            )
        if setting.zone is not None or setting.expect is not None:
            raise InputError(f"{questions[0]}: a width has no zone, and no precision is expected of a whole list", _OUT)
        return cls(questions[0], setting.n_items, setting.known, setting.confidence)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], known_items: KnownItems) -> PositivesToWidth:
        """Read what `facts` gave."""
        return cls(Question.of(facts["question"]), facts["n_items"], known_items, facts["confidence"])

    def facts(self) -> dict[str, Any]:
        """Say what was planned."""
        planned = {"question": str(self.question), "n_items": self.n_items, "confidence": self.confidence}
        return {"design": self.name, **planned}

    def expected(self) -> Sequence[tuple[str, LabelForecast]]:
        """Nothing before a pilot: the shape of the list decides; else what the labels there are make likely."""
        if pilot.is_wanted(self.known):
            return [(UNTOLD, LabelForecast(None, None))]
        more = self._forecast(self.known)
        return [(UNTOLD if more.median is None else AS_LABELLED, more)]

    def start(self) -> DrawnItems:
        """Draw nothing yet."""
        return nothing_drawn()

    def next(self, drawn: DrawnItems, labels: Int8Array, size: int | None, seed: int) -> DrawnItems:
        """Ask for the pilot, all at once; then for what the design takes that its labels choose.

        Raises:
            InputError: It would take too many labels, and no `size` says to go on.
        """
        rng = np.random.default_rng([seed, drawn.rounds + 1])
        if not drawn.rounds and pilot.is_wanted(self.known):
            rank = pilot.draw(self.n_items, self.known, rng).rank
            return with_round(drawn, rank, self._blocks.find(rank), np.zeros_like(rank))
        if self.answer(drawn, labels).outcome == "pass":
            return drawn
        chosen = drawn if "chosen" in drawn.state else self._choose(drawn, labels, size, rng)
        if chosen.state["chosen"] == "blocks":
            return self._next_of_blocks(chosen, labels, size, rng)
        wanted = chosen if chosen.ahead.num_rows else self._grown(chosen, size, rng)
        return _next_of_sample(wanted, size) if wanted.ahead.num_rows else drawn

    def answer(self, drawn: DrawnItems, labels: Int8Array) -> Answer:
        """Bounds from the design that was chosen, at any time: a missing label is a 0 below and a 1 above.

        "pass" once they are as narrow as is asked for (half of what lies between them). The estimate is that of a
        simple random sample, or adds up the means of the blocks; before a design is chosen there are no bounds, and it
        is that of curves that fit what is known.
        """
        known_items, course = self._known(drawn, labels), Course.from_table(drawn.table, labels)
        known_positives, skipped = int((known_items.label == 1).sum()), int((known_items.label < 0).sum())
        lower, estimate, upper = self._bounds(drawn, known_items, course)
        facts = LabelFacts.from_labels(self.n_items, self.known, drawn.table.column("rank").to_numpy(), labels)
        lower, upper = cut_to(
            (lower + known_positives, upper + known_positives + skipped), facts.positives(self.n_items)
        )
        estimate = float(cut_to_bounds(estimate, lower, upper))
        outcome: AnswerStatus = "pass" if (upper - lower) / 2 <= self._half(estimate) else "open"
        bounds = (math.nan, math.nan) if outcome == "open" and "chosen" not in drawn.state else (lower, upper)
        counts = *Line.count(labels), float(self._delta), *Line.count(self.known.label)
        line = Line(str(self.question), outcome, bounds[0], estimate, bounds[1], *counts)
        more = LabelForecast(0, 0, 0) if outcome == "pass" else self._more(drawn, labels, course)
        return Answer(outcome, (line,), PATH.empty_table(), more)

    def exhausted(self, drawn: DrawnItems, labels: Int8Array) -> str:
        """Say it of a sample that cannot grow."""
        is_single = drawn.state.get("chosen") == "fixed" and "looks" not in drawn.state
        return CANNOT_GROW if is_single else super().exhausted(drawn, labels)

    @property
    def _delta(self) -> Fraction:
        return 1 - Fraction(self.confidence)

    @cached_property
    def _blocks(self) -> RankBlocks:
        return RankBlocks.of_list(self.n_items)

    def _left(self, known_items: KnownItems, *drawn: Int64Array) -> Int64Array:
        return self._blocks.left(self._blocks.find(known_items.rank, known_items.judge_class), *drawn)

    @cached_property
    def _sides(self) -> tuple[ClaimSide, ClaimSide]:
        """Bounds from above, where positives are bad, and from below."""
        mass, needed = np.ones(self._blocks.count, np.int64), -math.log(self._delta / 2)
        return ClaimSide(mass, mass == 1, 0, needed), ClaimSide(mass, mass == 0, 0, needed)

    def _half(self, positives: Any) -> Any:
        """Tell how far bounds may lie from such numbers."""
        width = cast(Width, self.question.demand)
        return float(width.value) * (positives if width.of == "value" else np.ones_like(positives))

    def _half_share(self, known_positives: int, free: int) -> Half:
        """Tell how far bounds may lie from a share of the items that are not known, as a part of these."""
        return lambda share: self._half(share * free + known_positives) / max(free, 1)

    def _known(self, drawn: DrawnItems, labels: Int8Array) -> KnownItems:
        """Give the known items with the pilot, counted as it is: late answers of it make nothing wrong."""
        first = drawn.table.column("draw").to_numpy() == 0
        return pilot.join_known(self.known, drawn.table.column("rank").to_numpy()[first], labels[first])

    def _bounds(self, drawn: DrawnItems, known_items: KnownItems, course: Course) -> tuple[int, float, int]:
        """On the positives that were not known, with the estimate of all."""
        free, known_positives = self.n_items - known_items.rank.size, int((known_items.label == 1).sum())
        if drawn.state.get("chosen") == "fixed":
            sample = _sample(drawn, course)
            answered = sample[sample >= 0]
            lower, upper = self._looks(drawn, known_items).bounds(sample, drawn.state.get("looks", 1))
            return lower, known_positives + free * (float(answered.mean()) if answered.size else 0.5), upper
        if "chosen" not in drawn.state:
            return (
                0,
                known_positives + float(np.median(likely_rates(known_items, self._blocks) @ self._left(known_items))),
                free,
            )
        estimate = float(totals(self._blocks, known_items, course.block, course.label).sum())
        left, stakes = self._left(known_items), drawn.state["rounds"]
        refused = [
            least_refused(course.factors(side, left, stakes, at), side.needed) for at, side in enumerate(self._sides)
        ]
        return free - (refused[1] - 1), estimate, refused[0] - 1

    def _looks(self, drawn: DrawnItems, known_items: KnownItems) -> SampleSizes:
        """Sizes of the sample that was drawn."""
        shares = GROWING if "looks" in drawn.state else SINGLE
        return SampleSizes(
            drawn.state["forecasts"]["fixed"], self.n_items - known_items.rank.size, float(self._delta), shares
        )

    def _forecasts(self, known_items: KnownItems) -> dict[str, int]:
        """Labels that each design takes, and the least that any can, as far as what is known tells."""
        left, known_positives, samples = (
            self._left(known_items),
            int((known_items.label == 1).sum()),
            likely_rates(known_items, self._blocks),
        )
        free = int(left.sum())
        share = samples.mean(axis=0)
        rates = Rates(left, rates_for(left, np.ones_like(left), share), share, samples, True)
        rest = samples @ left
        half = float(self._half(np.median(rest) + known_positives))
        labels = np.max([rates.labels(bet) for bet in self._bets(rates, known_positives)], axis=0)
        floor = -math.log(self._delta / 2) * free / half if half else math.inf  # no positive is likely: see all
        return {
            "fixed": first_size(rest / max(free, 1), free, float(self._delta), self._half_share(known_positives, free)),
            "blocks": math.ceil(min(_UNEVEN * float(np.median(labels)), free)),
            "floor": math.ceil(min(floor, free)),
        }

    def _bets(self, rates: Rates, known_positives: int) -> list[Bet]:
        """Against bounds that are just as wide as asked for, of each list that is likely."""
        positives = rates.samples @ rates.left
        half = self._half(positives + known_positives)
        betas = positives + half, rates.left.sum() - positives + half
        return [
            Bet(side.mass, side.positive_is_bad, beta, side.needed)
            for side, beta in zip(self._sides, betas, strict=True)
        ]

    def _choose(self, drawn: DrawnItems, labels: Int8Array, size: int | None, rng: np.random.Generator) -> DrawnItems:
        """Choose the cheaper design, once; of a fixed sample, draw all."""
        known_items = self._known(drawn, labels)
        labels_of = self._forecasts(known_items)
        least = min(labels_of["fixed"], labels_of["blocks"])
        if least > _BEYOND and size is None:
            floor = f"and {labels_of['floor']:,} at least with any method"
            raise InputError(
                f"{self.question} is forecast to take {least:,} labels, {floor}: positives are rare",
                _WIDER,
            )
        chosen = "fixed" if labels_of["fixed"] <= labels_of["blocks"] else "blocks"
        drawn = replace(drawn, state={"chosen": chosen, "forecasts": labels_of, "rounds": []})
        if chosen == "blocks":
            return drawn
        return self._draw_sample(replace(drawn, state={**drawn.state, "looks": 1}), labels_of["fixed"], rng)

    def _grown(self, drawn: DrawnItems, size: int | None, rng: np.random.Generator) -> DrawnItems:
        """Draw the next look of a sample whose bounds are wider than asked for; nothing where it is the last."""
        known_items = self._known(drawn, np.zeros(drawn.table.num_rows, np.int8))
        looks, n_looks = self._looks(drawn, known_items), drawn.state.get("looks", 1)
        if looks.is_last(n_looks - 1):
            return drawn
        more = looks.size(n_looks) - looks.size(n_looks - 1)
        if more > _BEYOND and size is None:
            raise InputError(
                f"{self.question} takes {more:,} labels more, as many as it has: positives are rare", _WIDER
            )
        return self._draw_sample(replace(drawn, state={**drawn.state, "looks": n_looks + 1}), more, rng)

    def _draw_sample(self, drawn: DrawnItems, more: int, rng: np.random.Generator) -> DrawnItems:
        """Draw items of all that are neither known nor drawn."""
        used_ranks = np.sort(np.append(self.known.rank, drawn.table.column("rank").to_numpy()))
        rank = free_ranks(rng.choice(self.n_items - used_ranks.size, more, replace=False), 0, used_ranks)
        place = int(drawn.table.column("draw").to_numpy().max(initial=0)) + 1 + np.arange(more)
        return replace(drawn, ahead=to_ask(rank, self._blocks.find(rank), place))

    def _next_of_blocks(
        self, drawn: DrawnItems, labels: Int8Array, size: int | None, rng: np.random.Generator
    ) -> DrawnItems:
        """Draw a round, with rates and stakes from all labels so far."""
        rank = drawn.table.column("rank").to_numpy()
        block = blocks_of(drawn.table)
        left, tally = self._left(self.known, block), Tally.from_labels(self._blocks, self.known, block, labels)
        rates = Rates.from_tally(left, rates_for(left, self._sides[0].mass, tally.cautious()), tally)
        if not rates.rates.any():
            return drawn
        stakes = rates.with_stakes([rates.stake(bet) for bet in self._bets(rates, int(tally.positives.sum()))])
        size = size or max(LEAST, -(-drawn.state["forecasts"]["blocks"] // _ROUNDS))
        used_ranks = np.sort(np.concatenate([self.known.rank, rank]))
        more, block = draw(self._blocks, used_ranks, rates.rates, size, rng)
        place = int(drawn.table.column("draw").to_numpy().max(initial=0)) + 1 + np.arange(more.size)
        return with_round(drawn, more, block, place, rounds=[*drawn.state["rounds"], stakes])

    def _more(self, drawn: DrawnItems, labels: Int8Array, course: Course) -> LabelForecast:
        """Give what is left of a fixed sample, or what draws from blocks still take."""
        if not drawn.rounds:
            return self.expected()[0][1]
        known_items = self._known(drawn, labels)
        if "chosen" not in drawn.state:
            return self._forecast(known_items)
        if drawn.state["chosen"] == "fixed":
            return self._more_of_sample(drawn, known_items, _sample(drawn, course))
        left, stakes = self._left(known_items), drawn.state["rounds"]
        made_of = [course.factors(side, left, stakes, at) for at, side in enumerate(self._sides)]
        return self._until_narrow(pilot.join_known(self.known, drawn.table.column("rank").to_numpy(), labels), made_of)

    def _forecast(self, known_items: KnownItems) -> LabelForecast:
        """The cheaper design, if any is feasible."""
        labels = self._forecasts(known_items)
        if min(labels["fixed"], labels["blocks"]) > _BEYOND:
            return LabelForecast(None, None)
        if labels["fixed"] <= labels["blocks"]:
            return LabelForecast(labels["fixed"], labels["fixed"], None, self.n_items - known_items.rank.size)
        return self._until_narrow(known_items)

    def _until_narrow(self, labelled: KnownItems, made_of: Sequence[Factors] = ()) -> LabelForecast:
        """Labels until bounds are as near as asked for, of lists that are likely: the mean of what both sides take.

        Args:
            labelled: All that have labels.
            made_of: The evidence that there is for both sides.
        """
        left, known_positives = self._left(labelled), int((labelled.label == 1).sum())
        samples = forecast_rates(labelled, self._blocks)
        share = samples.mean(axis=0)
        rates = Rates(left, rates_for(left, self._sides[0].mass, share), share, samples, True)
        bets = self._bets(rates, known_positives)
        per_nat = np.array([rates.per_nat(bet) for bet in bets])
        wanted = np.array([np.full(len(rates.samples), bet.wanted) for bet in bets])
        for at, factors in enumerate(made_of):
            wanted[at] -= _evidence_at(factors, np.asarray(bets[at].beta) + int(factors[-1][-1]))
        mean = np.maximum(_SLOWER * (wanted * per_nat).mean(axis=0), 1.0)
        ends = np.isfinite(mean) & (mean < left.sum())
        shape = np.where(ends, mean, 1.0) ** 2 / (_NOISE * np.where(ends, per_nat.mean(axis=0), 1.0))
        labels = np.random.default_rng(0).wald(np.where(ends, mean, 1.0), shape)
        return forecast(np.where(ends, np.maximum(labels, LEAST), np.inf), int(left.sum()))

    def _more_of_sample(self, drawn: DrawnItems, known_items: KnownItems, sample: Int8Array) -> LabelForecast:
        """Give what is left of a sample, with what it is likely to grow by."""
        looks, n_looks = self._looks(drawn, known_items), drawn.state.get("looks", 1)
        known_positives, skipped = int((known_items.label == 1).sum()), int((known_items.label < 0).sum())
        enough = looks.enough(
            sample, n_looks, lambda share: self._half(known_positives + looks.items * share) - skipped / 2
        )
        left = int((sample == -1).sum()) - sample.size
        median, nine = (None if size is None else left + size for size in enough)
        return LabelForecast(median, nine, None, self.n_items - known_items.rank.size - int((sample != -1).sum()))


def _sample(drawn: DrawnItems, course: Course) -> Int8Array:
    """Labels of a fixed sample in the order of the draw, -1 of what was not asked for yet."""
    return np.append(course.label, np.full(drawn.ahead.num_rows, -1, np.int8)).astype(np.int8)


def _evidence_at(factors: Factors, beta: FloatArray) -> FloatArray:
    """The evidence that there is against some masses of bad items, by that against a few of them."""
    few = np.unique(np.quantile(np.rint(beta), np.linspace(0, 1, _GRID), method="nearest").astype(np.int64))
    logs = [float(evidence(factors, int(mass))[-1]) for mass in few]
    return np.asarray(np.interp(beta, few, np.clip(logs, -_MOST_NATS, _MOST_NATS)))


def _next_of_sample(drawn: DrawnItems, size: int | None) -> DrawnItems:
    """Ask for the next items of a fixed sample; for all of them where no size is given, as fewer settle little."""
    now = drawn.ahead.slice(0, size)
    rank, block, place = (now.column(name).to_numpy() for name in ("rank", "block", "draw"))
    return with_round(replace(drawn, ahead=drawn.ahead.slice(now.num_rows)), rank, block, place)


DESIGN = PositivesToWidth
