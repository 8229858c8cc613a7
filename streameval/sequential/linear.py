"""Conditions on recall, F1 and other metrics of a fixed cutoff that are linear in the labels, and on all positives.

Items are drawn one at a time, from blocks of ranks at rates that follow all labels so far. The claim "head·Y + tail·T ≥
least" is false exactly if bad items (negatives where a positive counts for it, positives where one counts against it)
have some mass β or more together; `kernels.block_evidence` gives evidence against that, and with the roles exchanged
against the claim itself. Rates and stakes are written down when a round is drawn and never computed again; an item
without a label counts as bad on both sides. So each of the two sides is ever reached falsely with probability δ at
most, whenever one looks and whatever decides to go on; and as the list is fixed, only one of the two can be false: a
status is wrong with probability δ at most. Of m claims that all have to hold, the whole passes falsely only if a false
one passes, with probability δ; "fails" is shared out, δ/m for each.

What is known counts by the labels that it has now. One that is missing is bad: less bad mass β is left to be found, and
the evidence rises with β. So known labels that are withdrawn, and given again, never prove what the true ones do not.

What a judge says of the items makes classes of each block, counted before there are labels. They are blocks like any
others: right or wrong, the judge decides how many labels a question takes and nothing else. Its items are drawn from
those of each block that were put in a random order beforehand. Where these have run out, nothing more of the block is
drawn: its rate is 0, and all of it that is left counts as bad.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa

from streameval.curve.at_cutoff import METRICS, Cutoffs
from streameval.errors import InputError
from streameval.kernels.block_evidence import evidence
from streameval.kernels.jit import small
from streameval.kernels.sorted_sets import isin
from streameval.questions import Condition, Question
from streameval.sequential import (
    AS_LABELLED,
    FIRST,
    LARGEST,
    LEAST,
    PATH,
    UNTOLD,
    Answer,
    DrawnItems,
    KnownItems,
    LabelForecast,
    Line,
    QuestionDesign,
    QuestionSetting,
    joint_outcome,
    pilot,
)
from streameval.sequential.blocks import RankBlocks, Tally, draw, draw_in_order, rates_for, totals
from streameval.sequential.claims import FORMS, LinearClaim, claim_of
from streameval.sequential.forecasts import forecast, labels_until_stop
from streameval.sequential.growth import Rates
from streameval.sequential.judged import expected_precision, reserve_items, shift_odds
from streameval.sequential.sides import ClaimSide, ClaimStanding, Course, blocks_of, nothing_drawn, with_round
from streameval.sequential.spline import forecast_rates
from streameval.typing import FloatArray, Int8Array, Int64Array

_NEAR = 0.15  # standard deviation of a metric around what is asked for, in the prior of a forecast
_SPREAD, _SPREAD_AT_FIRST = 0.03, 0.25  # of a round, evenly over all blocks


_OF_JUDGE = "how many labels it takes depends on how often the judge is right: the first round tells more"


def _nothing_kept() -> pa.Table:
    return nothing_drawn().ahead


@dataclass(frozen=True)
class Linear(QuestionDesign):
    """Conditions on metrics of `claims.FORMS`, all of which have to hold.

    Attributes:
        questions: One for each condition and cutoff.
        ranks, claims: Its cutoff (the length of the list of a metric without one), and what it says in whole numbers.
        setting: What it was planned for.
        blocks: Of the list.
        reserve: Items of each block in a random order, where a judge was asked; none once some were drawn of it.
    """

    questions: tuple[Question, ...]
    ranks: tuple[int, ...]
    claims: tuple[LinearClaim, ...]
    setting: QuestionSetting
    blocks: RankBlocks

    reserve: pa.Table = field(default_factory=_nothing_kept)

    name: ClassVar[str] = "linear"
    uses_judge: ClassVar[bool] = True

    @classmethod
    def takes(cls, question: Question) -> bool:
        """Conditions on these metrics, at cutoffs whose rank is fixed."""
        fixed = all(cutoff.kind in ("rank", "share", "score") for cutoff in question.cutoffs)
        fits = (question.metric == "positives") != bool(question.cutoffs)
        return question.metric in FORMS and isinstance(question.demand, Condition) and fixed and fits

    @classmethod
    def plan(cls, questions: Sequence[Question], setting: QuestionSetting) -> Linear:
        """Fix claims and blocks; an `InputError` where a number is impossible, or a zone or an expectation is given."""
        precision = all(question.metric == "precision" for question in questions)
        if setting.zone is not None or not (setting.expect is None or precision):
            what = "with a judge there is no zone" if precision else (
                "only a condition on precision@K has a zone or an expected precision")  # fmt: skip
            raise InputError(what, "leave it out")
        each = tuple(condition for question in questions for condition in question.each())
        ranks = tuple(
            setting.ranks[str(condition.cutoff)] if condition.cutoff else setting.n_items for condition in each
        )
        claims = [claim_of(condition, rank, setting.n_items) for condition, rank in zip(each, ranks, strict=True)]
        ends = {*ranks, setting.n_items} if precision and setting.judge else None
        blocks = RankBlocks.of_list(setting.n_items, ranks) if ends is None else RankBlocks.ending_at(ends)
        if setting.judge is None:
            return cls(each, ranks, tuple(claims), setting, blocks)
        judged = setting.judge(blocks.last)
        expected = expected_precision(each[0], setting.expect) if precision else None
        blocks = blocks.by_class(judged.items, shift_odds(judged.prior, judged.items[0], expected))
        known_items = replace(setting.known, judge_class=judged.known)
        return cls(
            each,
            ranks,
            tuple(claims),
            replace(setting, known=known_items),
            blocks,
            reserve_items(blocks, judged.reserve),
        )

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], known_items: KnownItems) -> Linear:
        """Read what `facts` gave."""
        setting = QuestionSetting(facts["n_items"], {}, known_items, facts["confidence"])
        questions, claims = map(Question.of, facts["questions"]), (LinearClaim(*claim) for claim in facts["claims"])
        return cls(tuple(questions), tuple(facts["ranks"]), tuple(claims), setting, RankBlocks.read(facts))

    def facts(self) -> dict[str, Any]:
        """Say what was planned."""
        return {
            "design": self.name,
            "questions": [str(question) for question in self.questions],
            "ranks": [*self.ranks],
            "claims": [[claim.head, claim.tail, claim.least] for claim in self.claims],
            "n_items": self.setting.n_items,
            "confidence": self.setting.confidence,
            **self.blocks.facts(),
        }

    def expected(self) -> Sequence[tuple[str, LabelForecast]]:
        """Forecast by known labels; nothing before there are any: the shape of the list decides, and a judge."""
        if self.blocks.judged:
            return [(_OF_JUDGE, LabelForecast(None, None))]
        nothing = self.start(), np.empty(0, np.int8)
        as_labelled = self.answer(*nothing).more if self._tally(*nothing).telling else LabelForecast(None, None)
        return [(UNTOLD if as_labelled.median is None else AS_LABELLED, as_labelled)]

    def start(self) -> DrawnItems:
        """Draw nothing yet."""
        return replace(nothing_drawn(rounds=[]), ahead=self.reserve)

    def rest_of_reserve(self, reserve: pa.Table, ranks: Int64Array) -> pa.Table:
        """Give what is left of a judge's reserve."""
        return reserve_items(self.blocks, reserve.filter(pa.array(~isin(reserve.column("rank").to_numpy(), ranks))))

    def next(self, drawn: DrawnItems, labels: Int8Array, size: int | None, seed: int) -> DrawnItems:
        """Draw one more round: at rates for the claims that are open, with stakes from all labels so far."""
        standings = self._standings(drawn, labels)
        open_ = [at for at, standing in enumerate(standings) if standing.outcome == "open"]
        if not open_ or any(standing.outcome == "fail" for standing in standings):
            return drawn
        rates = self._rates(drawn, labels, open_)
        if not rates.rates.any():
            return drawn
        staked = (rates.as_expected() if self.blocks.judged else rates), rates  # on a pass; on a fail, if it is not so
        stakes = rates.with_stakes(
            [a.stake(b) for standing in standings for a, b in zip(staked, standing.bets, strict=True)]
        )
        size = size or self._size(drawn, labels, rates, {at: standings[at] for at in open_})
        rng = np.random.default_rng([seed, drawn.rounds + 1])
        if self.blocks.judged:
            items, ahead = draw_in_order(self._left(drawn), drawn.ahead, rates.rates, size, rng)
            rank, block, drawn = items.column("rank").to_numpy(), blocks_of(items), replace(drawn, ahead=ahead)
        else:
            used_ranks = np.sort(np.concatenate([self.setting.known.rank, drawn.table.column("rank").to_numpy()]))
            rank, block = draw(self.blocks, used_ranks, rates.rates, size, rng)
        place = drawn.table.num_rows + 1 + np.arange(rank.size)
        return with_round(drawn, rank, block, place, rounds=[*drawn.state["rounds"], stakes])

    def answer(self, drawn: DrawnItems, labels: Int8Array) -> Answer:
        """Say what the labels so far prove: of each claim the side that was reached first, if one was."""
        standings = self._standings(drawn, labels)
        course = Course.from_table(drawn.table, labels)
        block_positives = totals(self.blocks, self.setting.known, blocks_of(drawn.table), labels)
        lines = tuple(self._line(at, standing, course, block_positives) for at, standing in enumerate(standings))
        open_ = [at for at, standing in enumerate(standings) if standing.outcome == "open"]
        more = LabelForecast(0, 0, 0)
        if open_:
            more = self._forecast(drawn, labels, self._rates(drawn, labels, open_), {at: standings[at] for at in open_})
        paths = [standing.path(str(question)) for question, standing in zip(self.questions, standings, strict=True)]
        return Answer(joint_outcome(lines), lines, pa.concat_tables([PATH.empty_table(), *paths]), more)

    @cached_property
    def _sides(self) -> list[tuple[ClaimSide, ClaimSide]]:
        """Pass and fail of each claim."""
        delta = 1 - Fraction(self.setting.confidence)
        needed = -math.log(delta), -math.log(delta / len(self.claims))
        each = zip(self.claims, self.ranks, strict=True)
        return [
            (self._side(claim, rank, needed[0]), self._side(claim.opposite(), rank, needed[1])) for claim, rank in each
        ]

    def _side(self, claim: LinearClaim, rank: int, needed: float) -> ClaimSide:
        factor = claim.of_blocks(self.blocks.last, rank)
        return ClaimSide.plan(factor, claim.least, self.blocks, self.setting.known, needed)

    def _standings(self, drawn: DrawnItems, labels: Int8Array) -> list[ClaimStanding]:
        course, left = Course.from_table(drawn.table, labels), self.blocks.left(self._of_known)
        standings = []
        for at, sides in enumerate(self._sides):
            made_of = [course.factors(side, left, drawn.state["rounds"], 2 * at + i) for i, side in enumerate(sides)]
            with small(sum(factors[0].size for factors in made_of)):
                paths = [evidence(factors, side.beta) for factors, side in zip(made_of, sides, strict=True)]
            bets = [side.bet(factors, path) for side, factors, path in zip(sides, made_of, paths, strict=True)]
            standings.append(ClaimStanding.from_paths(sides, paths, bets))
        return standings

    def _tally(self, drawn: DrawnItems, labels: Int8Array) -> Tally:
        return Tally.from_labels(self.blocks, self.setting.known, blocks_of(drawn.table), labels)

    @property
    def _of_known(self) -> Int64Array:
        return self.blocks.find(self.setting.known.rank, self.setting.known.judge_class)

    def _left(self, drawn: DrawnItems) -> Int64Array:
        return self.blocks.left(self._of_known, blocks_of(drawn.table))

    def _rates(self, drawn: DrawnItems, labels: Int8Array, claims: Sequence[int]) -> Rates:
        """The mean of what is best for each of some claims."""
        left, tally = self._left(drawn), self._tally(drawn, labels)
        share, spread = tally.cautious(), _SPREAD if tally.labels.any() else _SPREAD_AT_FIRST
        there = self.blocks.counts(blocks_of(drawn.ahead)) if self.blocks.judged else left
        masses, open_ = [self._sides[at][0].mass for at in claims], left * (there > 0)
        rates = np.mean([rates_for(open_, mass, share, spread) for mass in masses], axis=0)
        return Rates.from_tally(left, rates, tally)

    def _size(self, drawn: DrawnItems, labels: Int8Array, rates: Rates, open_: Mapping[int, ClaimStanding]) -> int:
        """Half of the rest, as blocks tell by themselves: short rounds at first, in which stakes are learned.

        No more than are said to decide nine times in ten.
        """
        if not drawn.table.num_rows:
            return FIRST
        median = forecast(_until(rates, open_.values()), int(rates.left.sum())).median
        size = LARGEST if median is None else min(max(LEAST, -(-median // 2)), LARGEST)
        enough = self._forecast(drawn, labels, rates, open_).nine_in_ten
        return size if enough is None else min(size, max(1, enough))

    def _forecast(
        self, drawn: DrawnItems, labels: Int8Array, rates: Rates, open_: Mapping[int, ClaimStanding]
    ) -> LabelForecast:
        """Labels until every open claim is decided, each on the side that is reached first, of lists that are likely.

        Before there are labels, a metric is taken to be near what is asked for, as that is chosen by what is expected.
        """
        known_items = pilot.join_known(self.setting.known, drawn.table.column("rank").to_numpy(), labels)
        counted = int((known_items.label >= 0).sum())
        if not self.blocks.judged and counted:
            rates = replace(rates, samples=forecast_rates(known_items, self.blocks))
        rng = np.random.default_rng(0)
        sides = np.array([[rates.cases(bet, counted, rng) for bet in standing.bets] for standing in open_.values()])
        until = labels_until_stop(sides.min(axis=1), sides[:, 1] < sides[:, 0]).max(axis=0)
        left = int(rates.left.sum() + (labels == -1).sum())  # tasks that are out with people are to come too
        return forecast(until, left, weight=self._nearness(rates.samples, open_))

    def _nearness(self, samples: FloatArray, claims: Iterable[int]) -> FloatArray:
        """Weigh samples of the rates beside each other before all labels, by the metrics that they make."""
        positives = np.cumsum(samples * self.blocks.items, axis=1)
        away = np.zeros(len(samples))
        for at in claims:
            question, rank = self.questions[at], self.ranks[at]
            inside = positives[:, np.flatnonzero(self.blocks.last <= rank)[-1]]
            wanted = float(cast(Condition, question.demand).value)
            value = _values(question.metric, inside, positives[:, -1], rank, self.setting)
            away += ((value - wanted) / (_NEAR * (max(wanted, 1) if question.metric == "positives" else 1))) ** 2
        return np.asarray(np.exp((away.min() - away) / 2))

    def _line(self, at: int, standing: ClaimStanding, course: Course, block_positives: FloatArray) -> Line:
        """One condition: what was reached, and how many labels that took."""
        question, rank = self.questions[at], self.ranks[at]
        used = course.label[: standing.draws]
        inside, positives = (
            block_positives[self.blocks.last <= rank].sum(keepdims=True),
            block_positives.sum(keepdims=True),
        )
        value = float(_values(question.metric, inside, positives, rank, self.setting)[0])
        demand = question.demand
        lower = upper = math.nan
        if isinstance(demand, Condition) and standing.outcome != "open":
            above = (demand.operator in (">", ">=")) == (standing.outcome == "pass")
            lower, upper = (float(demand.value), math.nan) if above else (math.nan, float(demand.value))
        claim = float(1 - Fraction(self.setting.confidence))
        labels, positives = Line.count(used)
        of_claim = self._sides[at][0].mass[self._of_known] > 0
        known_counts = Line.count(self.setting.known.label[of_claim])
        return Line(str(question), standing.outcome, lower, value, upper, labels, positives, claim, *known_counts)


def _values(metric: str, in_top: FloatArray, positives: FloatArray, rank: int, setting: QuestionSetting) -> FloatArray:
    """A metric by the positives among the first `rank` items, and all of them, of one or of several lists."""
    if metric == "positives":
        return positives
    at = Cutoffs(np.full(in_top.shape, rank), in_top, positives, setting.n_items, 0)
    return np.asarray(METRICS[metric].value(at))


def _until(rates: Rates, open_: Iterable[ClaimStanding]) -> FloatArray:
    """Labels until every open claim is decided, for each sample of the rates."""
    return np.asarray(np.max([np.minimum(*(rates.labels(bet) for bet in standing.bets)) for standing in open_], axis=0))


DESIGN = Linear
