"""One condition on a precision, as two sides of a sequential test: one proves that it holds, one that it does not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np

from streameval.errors import InputError
from streameval.questions import Condition, Question
from streameval.sequential import AnswerStatus, KnownItems, Line, QuestionSetting
from streameval.sequential.closed import End, plan_levels, rule
from streameval.sequential.deciding import WORTH, Deciding, Rule
from streameval.sequential.evidence import EProcess
from streameval.sequential.facts import LabelFacts
from streameval.typing import BoolArray, FloatArray, Int8Array, Int64Array

FEW = 50  # items that are all asked
_HORIZON = 100_000  # labels that a forecast looks ahead


@dataclass(frozen=True)
class Reading:
    """Outcome of the labels of one condition.

    Attributes:
        outcome: Of the side that was reached first.
        stopped: Labels until then, or so far.
        passing, failing (float64 arrays, shape (labels + 1,)): ln E after 0, 1, 2... labels.
    """

    outcome: AnswerStatus
    stopped: int
    passing: FloatArray
    failing: FloatArray


@dataclass(frozen=True)
class ConditionTest:
    """Enough of the first `rank` items are wins: positives, or negatives where precision may be too high.

    A pass is wrong with probability `deltas[0]` at most, a fail with `deltas[1]`: each is the theorem of `evidence`, on
    the items that are not known, in the order of the draw. Only one of them can be wrong. A missing label is a loss for
    the pass and a win for the fail. With a zone it is the theorem of `plan_levels`, and the whole rule is run with all
    missing labels as losses, and as wins: a missing label might hide that the other side came first.

    Of the items that were known, wins may be withdrawn later: forgotten, corrected, torn. Let w be their number. A pass
    then takes, besides, evidence of 1/δ against every number of wins that it rejected up to w more, each by the test
    that is planned for that number, and by new labels alone. So does a fail of losses.

    Theorem.  With that both probabilities stay what they are, whichever known labels are withdrawn, when, and given
    again, as long as no false one counts.

    Proof.  Let y be the most wins among the rest for which a pass is wrong, counted with those known wins that are
    true. It lies between the number that the plan rejects and w more, whatever w is by then: so a pass takes the test
    against y, which follows from the plan and from y alone, and is wrong with probability δ at most. ∎

    Attributes:
        question: As it prints.
        counted: Label of a win: 1 for >= and >, 0 for <= and <.
        needed: Fewest wins that a pass claims; that a fail claims are not there. They differ by the zone.
        known: Wins, losses and skipped items among the first `rank` that are known already.
        levels: ln E that passes, that fails.
        earlier: Of a plan that an earlier version made: ln of the evidence for either that was there before, which its
            levels allow for; None of all others.
        expected: Share of wins that is expected, for forecasts.
        besides: Numbers of wins, and of losses, against which there has to be evidence besides, as known labels were
            withdrawn.
    """

    question: str
    rank: int
    counted: int
    needed: tuple[int, int]
    known: tuple[int, int, int]
    passing: EProcess
    failing: EProcess
    levels: tuple[float, float]
    deltas: tuple[float, float]
    expected: float
    end: End | None = None
    earlier: tuple[float, float] | None = None
    besides: tuple[range, range] = (range(0), range(0))

    @staticmethod
    def plan(question: Question, setting: QuestionSetting, together: int) -> ConditionTest:
        """Plan a condition that is one of so many; an `InputError` where it cannot be asked."""
        rank, demand = setting.ranks[str(question.cutoff)], cast(Condition, question.demand)
        counted = int(demand.operator in (">=", ">"))
        threshold = _share(demand.value, counted)
        expect = None if setting.expect is None else _share(setting.expect, counted)
        needed = _wins_needed(question, rank, threshold, Fraction(setting.zone or 0))
        inside = setting.known.label[: np.searchsorted(setting.known.rank, rank, "right")]
        wins, losses, skipped = (int((inside == label).sum()) for label in (counted, 1 - counted, -1))
        items, most, fewest = rank - inside.size, needed[0] - 1 - wins, needed[1] - wins - skipped
        delta = 1 - Fraction(setting.confidence)
        deltas = float(delta), float(delta / together)
        levels, end = (-math.log(deltas[0]), -math.log(deltas[1])), None
        passing, failing = EProcess(items, most), EProcess(items, items - fewest)
        if items > FEW and passing.most >= 0 and failing.most >= 0:
            likely = [] if expect is None else [min(max(round(expect * rank) - wins, 0), items)]
            if setting.zone:
                likely.insert(0, (most + fewest) // 2)
            passing = EProcess.plan(items, most, likely)
            failing = EProcess.plan(items, failing.most, [items - n_wins for n_wins in likely])
            if setting.zone:
                if fewest - most < 2:
                    raise InputError(f"{question}: no precision lies inside a zone of {setting.zone}", "widen it")
                levels, end = plan_levels(passing, failing, deltas)
        expected = float((1 + threshold) / 2 if expect is None else expect)
        if (estimate := setting.estimates.get(str(question))) is not None:
            expected = estimate if counted else 1 - estimate
        known_counts = wins, losses, skipped
        return ConditionTest(
            str(question), rank, counted, needed, known_counts, passing, failing, levels, deltas, expected, end
        )

    @staticmethod
    def from_facts(facts: Mapping[str, Any]) -> ConditionTest:
        """Read what `facts` gave."""
        sides = {
            name: EProcess(side["items"], side["most"], tuple(side["alternatives"]), tuple(side["weights"]))
            for name, side in ((name, facts[name]) for name in ("passing", "failing"))
        }
        pairs = {name: tuple(facts[name]) for name in ("needed", "known", "levels", "deltas", "earlier") if facts[name]}
        return ConditionTest(**{**facts, **sides, **pairs, "end": End(**facts["end"]) if facts["end"] else None})

    def facts(self) -> dict[str, Any]:
        """All of it as it was planned, JSON-ready."""
        facts = asdict(self)
        del facts["besides"]
        return facts

    def with_labels_now(self, known_items: KnownItems) -> ConditionTest:
        """Give the same with the labels that known items have now; `known` of the test is then these."""
        if not known_items.n_changed:
            return self
        label = known_items.label[: np.searchsorted(known_items.rank, self.rank, "right")]
        first = 1 if self.earlier is None else 0  # what a changed label was evidence of, nobody knows any more
        besides = []
        for side, value in ((self.passing, self.counted), (self.failing, 1 - self.counted)):
            lost = int(np.searchsorted(known_items.withdrawn(value), self.rank, "right"))
            besides.append(range(side.most + first, side.most + lost + 1))
        counts = [int((label == value).sum()) for value in (self.counted, 1 - self.counted, -1)]
        return replace(self, known=(counts[0], counts[1], counts[2]), besides=(besides[0], besides[1]))

    @property
    def items(self) -> int:
        """Items that can be asked."""
        return self.passing.items

    @property
    def cap(self) -> int:
        """Most labels that it asks."""
        return self.end.labels if self.end else self.items

    @property
    def sure(self) -> int | None:
        """Labels that decide whatever they say; None where none are sure to, or labels were withdrawn."""
        return self.cap if (self.end or self.exact) and not any(self.besides) else None

    @property
    def hardest(self) -> float:
        """The share of wins that takes most labels: as it is demanded, or in the middle of the zone."""
        demand = cast(Condition, Question.of(self.question).demand)
        return sum(self.needed) / 2 / self.rank if self.end else float(_share(demand.value, self.counted))

    @property
    def exact(self) -> bool:
        """Tell whether only counts decide."""
        return not (self.passing.alternatives or self.failing.alternatives)

    def rule(self, last: int) -> Rule:
        """Bounds on the wins among the first 0..last labels, or up to the end."""
        return rule(self.passing, self.failing, self.levels, min(last, self.cap), self.end)

    def _rule_now(self, last: int) -> Rule:
        """Give the same with what is needed besides."""
        bounds = self.rule(last)
        up, down, numbers = bounds.up, bounds.down, np.arange(bounds.up.size)
        needed = [-math.log(delta) for delta in self.deltas]
        for most in self.besides[0]:
            up = np.maximum(up, self._against(most).least_wins(needed[0], numbers.size - 1))
        for most in self.besides[1]:
            down = np.minimum(down, numbers - self._against(most).least_wins(needed[1], numbers.size - 1))
        return Rule(bounds.items, up, down)

    def _against(self, most: int) -> EProcess:
        return EProcess(self.items, most) if self.exact else EProcess.plan(self.items, most)

    def read(self, labels: Int8Array) -> Reading:
        """Read the labels of the first items in the order of the draw: what the test says."""
        labels = labels[: self.cap]
        n, wins, missing = np.arange(labels.size + 1), _counts(labels == self.counted), _counts(labels < 0)
        bounds = self.rule(labels.size)
        passes, fails = _first_reached(wins >= bounds.up), _first_reached(wins + missing <= bounds.down)
        if self.end:
            passes = passes if passes <= _first_reached(wins <= bounds.down) else n.size
            fails = fails if fails < _first_reached(wins + missing >= bounds.up) else n.size
        if any(self.besides):
            now = self._rule_now(labels.size)
            passes = max(passes, _first_reached(wins >= now.up))
            fails = max(fails, _first_reached(wins + missing <= now.down))
        stopped = min(passes, fails)
        return Reading(
            "open" if stopped == n.size else "pass" if passes <= fails else "fail",
            min(stopped, labels.size),
            self.passing.log_evidence(wins, n - wins),
            self.failing.log_evidence(n - wins - missing, wins + missing),
        )

    def _wins(self, facts: LabelFacts) -> tuple[int, int]:
        """Fewest and most wins that the first `rank` items can have."""
        fewest, most = facts.positives(self.rank)
        return (fewest, most) if self.counted else (self.rank - most, self.rank - fewest)

    def judge(self, labels: Int8Array, facts: LabelFacts) -> Reading:
        """Give what the labels come to: what all that there are count to goes before what the test says."""
        reading, (least, most) = self.read(labels), self._wins(facts)
        fact = "pass" if least >= self.needed[1] else "fail" if most < self.needed[0] else reading.outcome
        return reading if fact == reading.outcome else replace(reading, outcome=fact, stopped=labels.size)

    def line(self, labels: Int8Array, reading: Reading, facts: LabelFacts) -> Line:
        """Give what is proven: the claim of the side that was reached, or all of it where nothing is left."""
        low, high = self._wins(facts)
        sure = self.exact or reading.outcome == "open" or low >= self.needed[1] or high < self.needed[0]
        if reading.outcome == "pass":
            low = max(low, min(self.needed[0], high))
        elif reading.outcome == "fail":
            high = min(high, max(self.needed[1] - 1, low))
        counting = labels if self.exact else labels[: reading.stopped]
        wins, answered = int((counting == self.counted).sum()), int((counting >= 0).sum())
        rest = self.items + self.known[2]
        n_labels = int((labels >= 0).sum())  # those that came after the answer tell of the precision as well
        share = int((labels == self.counted).sum()) / n_labels if n_labels else math.nan if rest else 0.0
        estimate = self.known[0] + share * rest
        counts = [low, min(max(estimate, low), high), high]
        claimed = [low == high or reading.outcome == side for side in ("pass", "fail")]
        positive = counts if self.counted else [self.rank - count for count in reversed(counts)]
        lower, middle, upper = (bound / self.rank for bound in positive)
        positives = wins if self.counted else answered - wins
        claim = 0.0 if sure else self.deltas[reading.outcome == "fail"]
        lower_claimed, upper_claimed = claimed if self.counted else reversed(claimed)
        lower, upper = lower if lower_claimed else math.nan, upper if upper_claimed else math.nan
        known_counts = sum(self.known[:2]), self.known[1 - self.counted]
        return Line(self.question, reading.outcome, lower, middle, upper, answered, positives, claim, *known_counts)

    def before(self, share: float) -> Deciding:
        """When it decides if that share of the first `rank` items are wins, skipped ones aside."""
        wins = min(max(round(share * self.rank) - self.known[0], 0), self.items)
        return self.rule(_HORIZON).of_wins(wins)

    def after(self, labels: Int8Array, last: int = 0, worth: float = WORTH) -> Deciding:
        """When it may decide after these labels, if as many are missing from now on, with at most `last` in all.

        The prior is `worth` labels at what is asked for, or in the middle of a zone.

        A pass counts all that are missing as losses, a fail as wins. More missing labels never make it sooner.
        """
        n, wins, missing = labels.size, int((labels == self.counted).sum()), int((labels < 0).sum())
        rule = self._rule_now(last or max(_HORIZON, 11 * n))
        passing = rule.after(n, wins, self.hardest, worth)
        return (
            passing
            if not missing
            else replace(passing, failed=rule.after(n, wins + missing, self.hardest, worth).failed)
        )

    def cases(self, labels: int, deciding: Deciding, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        """Labels that decide in cases as likely as each other, beyond those there are, and whether they fail."""
        number, fails = deciding.cases(rng)
        if self.exact:
            return np.where(number > 0, float(self.items), 0.0), fails
        return np.maximum(number, labels + 1) if labels else number, fails


def _share(precision: Decimal | str, counted: int) -> Fraction:
    """The share of wins, exactly."""
    return Fraction(precision) if counted else 1 - Fraction(precision)


def _wins_needed(question: Question, rank: int, threshold: Fraction, zone: Fraction) -> tuple[int, int]:
    """Fewest wins in the first `rank` that a threshold asks for, a zone below it and at it."""
    strict = cast(Condition, question.demand).operator in (">", "<")

    def least(share: Fraction) -> int:
        return math.floor(share * rank) + 1 if strict else math.ceil(share * rank)

    if not 1 <= least(threshold) <= rank:
        raise InputError(f"{question} is {'true' if least(threshold) < 1 else 'false'} of every list",
                         "ask for a threshold that some lists reach and others do not")  # fmt: skip
    if zone < 0 or least(threshold - zone) < 1:
        raise InputError(
            f"{question}: a zone is below {float(threshold):g}, and this one is {float(zone):g}", "such as zone 0.02"
        )
    return least(threshold - zone), least(threshold)


def _counts(which: Any) -> Int64Array:
    return np.concatenate([[0], np.cumsum(which)])


def _first_reached(reached: Any) -> int:
    """Index of the first that is reached, or how many there are."""
    return int(np.argmax(np.append(reached, True)))
