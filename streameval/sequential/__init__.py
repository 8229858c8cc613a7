"""Sequential tests of a list: one question is asked, and labelling stops when it is answered.

A design answers one kind of question from labels that are drawn in rounds. It is one file here with a module-level
`DESIGN`, a class that inherits from `QuestionDesign`, and is found by name. Designs are pure: they know no files, and
see items only as ranks. What they promise holds whatever the list is, whenever the labels are looked at, and whatever
decides to go on or to stop; the docstring of each says with what probability.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from streameval.questions import Question
from streameval.typing import FloatArray, Int8Array, Int64Array

FIRST, LEAST, LARGEST = 50, 50, 200  # items in a round whose size a design decides: the first, and any
AS_LABELLED = "as far as the labels that there are tell"
UNTOLD = "how many labels it takes depends on where the positives are in the list: the first round tells more"
AnswerStatus = Literal["pass", "fail", "open"]
PATH = pa.schema(
    {
        "question": pa.string(),
        "side": pa.string(),  # "pass" or "fail"
        "labels": pa.int64(),  # how many have counted so far, from 0
        "evidence": pa.float64(),  # natural logarithm
        "needed": pa.float64(),  # of the evidence that decides
    }
)


@dataclass(frozen=True)
class KnownItems:
    """Items that were labelled, or skipped, before a question was planned.

    Which they are is fixed with the plan, for the draw leaves them out; what their labels are is not: answers are
    forgotten and corrected.

    Attributes:
        rank: int64, strictly increasing, 1-based.
        label: int8, as it is now: 1 positive, 0 negative, -1 none (skipped, forgotten, torn): the worst case of every
            claim.
        judge_class: int8, what a judge says of each; None where none is asked.
        planned: int8, the labels when the question was planned; None where none has changed since.
    """

    rank: Int64Array
    label: Int8Array
    judge_class: Int8Array | None = None
    planned: Int8Array | None = None

    @property
    def at_plan(self) -> Int8Array:
        """Labels when the question was planned."""
        return self.label if self.planned is None else self.planned

    @property
    def n_changed(self) -> int:
        """Number of items whose label is another than when the question was planned."""
        return int((self.label != self.at_plan).sum())

    def withdrawn(self, label: int) -> Int64Array:
        """Ranks of the items that had a label when the question was planned, and have it no more."""
        return np.asarray(self.rank[(self.at_plan == label) & (self.label != label)])

    @staticmethod
    def nothing() -> KnownItems:
        """No item."""
        return KnownItems(np.empty(0, np.int64), np.empty(0, np.int8))


@dataclass(frozen=True)
class JudgedItems:
    """Answers of a judge for every item, counted in ranges of ranks; and some items of each class in a random order.

    All of it was read before any label of the question, and is kept with the plan: a judge can cost labels, and cannot
    make an answer wrong.

    Attributes:
        items (int64 array, shape (ranges, classes)): How many.
        prior (float64 array, shape (classes,)): Rate of positives that a class predicts before there are labels.
        known (int8 array): Class of each known item.
        reserve: `rank` int64, `judge_class` int8, `place` int64: the place from 1 in a uniformly random order of the
            items of its range and class that are not known; the first of each.
    """

    items: Int64Array
    prior: FloatArray
    known: Int8Array
    reserve: pa.Table


@dataclass(frozen=True)
class QuestionSetting:
    """Setting that a design is planned for.

    Attributes:
        n_items: Items in the ranking.
        ranks: Rank of every cutoff of the questions, as it is written.
        known: What is known already.
        confidence: Decimal text in (0, 1): an answer is wrong with probability 1 - confidence at most.
        zone: Decimal text: where the measure is that little below what is demanded, either answer is right.
        expect: Decimal text: the precision that is expected; it only changes how many labels are needed.
        seed: Of the draw; never one that drew from this ranking before.
        estimates: Of the measures of some questions, by question as it prints: for forecasts alone.
        judge (callable(ends)): What a judge says of the list, parted into ranges that end at given ranks; None where
            there is none.
    """

    n_items: int
    ranks: Mapping[str, int]
    known: KnownItems
    confidence: str
    zone: str | None = None
    expect: str | None = None
    seed: int = 0
    estimates: Mapping[str, float] = field(default_factory=dict)
    judge: Callable[[Int64Array], JudgedItems] | None = None


@dataclass(frozen=True)
class DrawnItems:
    """Record of what was drawn: never made again from the seed.

    Attributes:
        table: Items that were asked for: `rank` int64, strictly increasing; `round` int32, from 1; then columns of the
            design (`order` float64: place in the order of the draw).
        ahead: Items that were drawn and are not asked for yet: `rank` int64, then the design's columns.
        state: JSON-ready: what else the design has to remember of its draws; stakes and rates, as they were when a
            round was drawn.
    """

    table: pa.Table
    ahead: pa.Table
    state: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """Tell how many rounds were asked for."""
        return max(self.table.column("round").to_pylist(), default=0)


@dataclass(frozen=True)
class LabelForecast:
    """Number of further labels that may decide; a forecast from the labels so far, never a claim.

    Attributes:
        median, nine_in_ten: So many decide half of the time, and nine times in ten; None where nothing short of all
            that are left does, or nothing can be said.
        most: At most so many more, whatever they say; None where nothing short of all items is sure to.
        left: Items that are left to ask; None where nothing can be said.
    """

    median: int | None
    nine_in_ten: int | None
    most: int | None = None
    left: int | None = None


@dataclass(frozen=True)
class Reach:
    """Depth of a cut that more labels may prove; a forecast, never a claim.

    Attributes:
        labels: So many more.
        rank: That may be proven then.
    """

    labels: int
    rank: int


@dataclass(frozen=True)
class Line:
    """Bounds and outcome of one question.

    Attributes:
        question: As it prints.
        outcome: Of a condition; of a width or a cut, "pass" once everything planned is answered.
        lower, estimate, upper: Bounds on the measure that are claimed, and its estimate; NaN where nothing is. What
            counting leaves possible while most labels are missing is no claim: .0023 to .9998 after 50 labels.
        labels, positives: How many labels counted until it was decided, or so far.
        claim: Probability with which the line alone may be wrong.
        known, known_positives: Items that were known before the question, and count in its bounds and estimate besides.
    """

    question: str
    outcome: AnswerStatus
    lower: float
    estimate: float
    upper: float
    labels: int
    positives: int
    claim: float
    known: int = 0
    known_positives: int = 0

    @staticmethod
    def count(label: Int8Array) -> tuple[int, int]:
        """Number of items that have a label, and of those that are positive."""
        return int((label >= 0).sum()), int((label == 1).sum())


@dataclass(frozen=True)
class Answer:
    """Answer that labels give.

    Attributes:
        outcome: "fail" where one question fails, "pass" where all pass, else "open".
        lines: One for each question (and cutoff).
        path: Columns of `PATH`; no rows where a design has no evidence to show.
        more: Labels that may decide what is open.
        reach: Of a cut, which can always go deeper: what twice the labels may prove.
    """

    outcome: AnswerStatus
    lines: tuple[Line, ...]
    path: pa.Table
    more: LabelForecast
    reach: Reach | None = None


class QuestionDesign:
    """Design by which one kind of question is put and answered.

    Labels are int8 arrays in the order of the rows of `DrawnItems.table`: 1 positive, 0 negative, -1 not answered yet,
    -2 answered without a label (skipped, undecided). Both of these count as what is worst for each claim; forecasts
    alone tell them apart, for -2 is not to come.
    """

    name: ClassVar[str]
    uses_judge: ClassVar[bool] = False

    @classmethod
    def takes(cls, question: Question) -> bool:
        """Tell whether the design answers such a question."""
        raise NotImplementedError

    @classmethod
    def plan(cls, questions: Sequence[Question], setting: QuestionSetting) -> QuestionDesign:
        """Fix the question, and all that a claim depends on, before anything is drawn; an `InputError` says why not."""
        raise NotImplementedError

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], known_items: KnownItems) -> QuestionDesign:
        """Read what `facts` gave."""
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """All of the design but `known`, JSON-ready; with `design`, its name."""
        raise NotImplementedError

    def expected(self) -> Sequence[tuple[str, LabelForecast]]:
        """Labels that it takes, each with the case that it is for ("if it is 0.95"), before anything is drawn."""
        raise NotImplementedError

    def within_budget(self, left: int | None) -> QuestionDesign:
        """Give the same, for forecasts with so many labels that a budget leaves; None where there is none."""
        del left
        return self

    def start(self) -> DrawnItems:
        """Draw nothing yet."""
        raise NotImplementedError

    def rest_of_reserve(self, reserve: pa.Table, ranks: Int64Array) -> pa.Table:
        """`DrawnItems.ahead` where a judge was asked: its reserve, as it was kept, but for the ranks asked for."""
        raise NotImplementedError

    def next(self, drawn: DrawnItems, labels: Int8Array, size: int | None, seed: int) -> DrawnItems:
        """Draw one more round; `drawn` itself where the question is answered, or nothing is left to ask.

        Args:
            size: Items in the round; None leaves it to the design.
            seed: Of the study: each round draws with `numpy.random.default_rng([seed, round])`.
        """
        raise NotImplementedError

    def answer(self, drawn: DrawnItems, labels: Int8Array) -> Answer:
        """Say what the labels so far prove."""
        raise NotImplementedError

    def exhausted(self, drawn: DrawnItems, labels: Int8Array) -> str:
        """Why `next` draws nothing though the question is open."""
        del drawn, labels
        return "Nothing is left to ask."


@cache
def designs() -> dict[str, type[QuestionDesign]]:
    """Every design by name."""
    modules = [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return {module.DESIGN.name: module.DESIGN for module in modules if hasattr(module, "DESIGN")}


def read_design(facts: Mapping[str, Any], known_items: KnownItems) -> QuestionDesign:
    """Read a design from what its `facts` gave; a `KeyError` where there is none such."""
    return designs()[facts["design"]].from_facts(facts, known_items)


def joint_outcome(lines: Sequence[Line]) -> AnswerStatus:
    """One question that fails makes all fail; all have to pass."""
    outcomes = {line.outcome for line in lines}
    return "fail" if "fail" in outcomes else "open" if "open" in outcomes else "pass"
