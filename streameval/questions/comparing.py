"""The options of a comparison of two rankings of the same items, label by label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

from streameval.errors import InputError
from streameval.options import option
from streameval.questions import Asked, Condition, Question, Width
from streameval.questions.asking import CONFIDENCE, read_confidence, read_questions
from streameval.questions.cutoffs import Cutoff, plain
from streameval.questions.terms import Terms

Looks = Literal["one", "any", "both"]  # once at the end, at any time, or both
MOST_CUTOFFS = 50
COMPARED = ("gain", "precision_gain")  # metrics of two rankings
_KINDS = ("rank", "share", "score")
_SUCH_AS = "such as 'gain@1000, 10000 within 2%'"
_WITHIN, _EXPECT = Decimal("0.01"), Decimal("0.5")


@dataclass(frozen=True)
class Comparing:
    """Options of a comparison of a ranking with another one of the same items.

    Attributes:
        questions: Where one ranking may have more positives than the other, and how that is looked at: gain, or
            precision_gain, at ranks, shares or scores. A condition is looked at after every label; a width once, when
            all labels are in; a measure with neither, or both, in both ways. Without a cutoff it is asked at powers
            of 10.
        confidence: With which the bounds at all cutoffs hold together, at any moment.
        judge: Column that says of every item whether it is positive; it may be wrong.
    """

    against: Any = option(
        None,
        "The same list in another order, or another list with the same --key: only items that one top alone holds are "
        "labelled.",
    )
    against_score: str | None = option(
        None,
        "Score of the other ranking (default: its stored order, or where it is another list, the column of --score).",
    )
    engine: Any = option(
        "local",
        "What reads both lists: local, spark or spark:sc://HOST:15002. What is found does not depend on it.",
    )
    questions: Asked = ()
    confidence: str | float = CONFIDENCE
    judge: str | None = None

    def __post_init__(self) -> None:
        """Check every value, and read the questions."""
        object.__setattr__(self, "confidence", read_confidence(self.confidence))
        object.__setattr__(self, "questions", read_questions(self.questions))
        for question in self.parsed:
            _refuse_others(question)
        _ = self.cutoffs, self.within, self.min_precision

    @property
    def parsed(self) -> tuple[Question, ...]:
        """The questions."""
        return read_questions(self.questions)

    @property
    def cutoffs(self) -> tuple[Cutoff, ...] | None:
        """All cutoffs that are asked about; None where nothing was said."""
        cutoffs = tuple(dict.fromkeys(cutoff for question in self.parsed for cutoff in question.cutoffs))
        if len(cutoffs) > MOST_CUTOFFS:
            raise InputError(f"{len(cutoffs)} cutoffs are asked about", f"ask about {MOST_CUTOFFS} at most")
        return cutoffs or None

    def conditions(self, cutoffs: Sequence[Cutoff]) -> list[str]:
        """Conditions that are asked for, as `check` takes them; at all cutoffs where they name none."""
        conditions = (question.bare for question in self.parsed if isinstance(question.demand, Condition))
        return [str(replace(question, cutoffs=question.cutoffs or tuple(cutoffs))) for question in conditions]

    @property
    def look(self) -> Looks:
        """When bounds are looked at: once, when all are labelled, after any label, or both."""
        demands = {type(question.demand) for question in self.parsed}
        return "one" if demands == {Width} else "any" if demands == {Condition} else "both"

    @property
    def within(self) -> str:
        """Half-width of the bounds on the difference in precision, as decimal text."""
        widths = {question.demand.value for question in self.parsed if isinstance(question.demand, Width)}
        zones = {question.terms.zone for question in self.parsed if question.terms.zone is not None}
        if len(widths | zones) > 1:
            several = " and ".join(sorted(map(plain, widths | zones)))
            raise InputError(f"{several} are both asked for as the width of the bounds", "a plan has one width")
        return plain(next(iter(widths | zones), _WITHIN))

    @property
    def min_precision(self) -> float:
        """Precision that is expected of the items that changed; of a judge, the share of them that it gets right.

        Only the number of labels depends on it.
        """
        expect = Terms.joined(Terms(expect=question.terms.expect) for question in self.parsed).expect
        return float(_EXPECT if expect is None else expect)

    @property
    def half_width(self) -> float:
        """Half-width of the bounds on the difference in precision."""
        return float(self.within)

    @property
    def certainty(self) -> float:
        """The confidence, as a number."""
        return float(self.confidence)


def questions_of(cutoffs: Sequence[str], within: str, look: Looks, min_precision: float = 0.5) -> Iterator[Question]:
    """Give the questions by which a comparison is asked for.

    >>> print(*questions_of(["1000", "1%"], "0.02", "one"), *questions_of(["10"], "0.02", "any", 0.3), sep="; ")
    gain@1000, 1% within 2%; gain@10 > 0 zone 0.02 expect 0.3
    """
    expect = Decimal(str(min_precision))
    gain = Question(
        "gain", tuple(map(Cutoff.parse, cutoffs)), terms=Terms(expect=None if expect == _EXPECT else expect)
    )
    if look != "any":
        yield replace(gain, demand=Width(Decimal(within), "value"))
    if look != "one":
        zone = Decimal(within) if look == "any" else None
        yield replace(gain, demand=Condition(">", Decimal(0)), terms=replace(gain.terms, zone=zone))


def powers_of_ten(n_items: int) -> Sequence[Cutoff]:
    """Ranks 10, 100 … within a list; its last rank where it has fewer than ten."""
    ranks = [10**exponent for exponent in range(1, 19) if 10**exponent <= n_items] or [n_items]
    return [Cutoff("rank", rank) for rank in ranks]


def _refuse_others(question: Question) -> None:
    """Refuse what is asked of no two rankings."""
    if question.metric not in COMPARED:
        raise InputError(f"{question}: two rankings are compared by gain or precision_gain", _SUCH_AS)
    if strange := [cutoff for cutoff in question.cutoffs if cutoff.kind not in _KINDS]:
        raise InputError(f"{question}: two rankings are not compared at {strange[0]}",
                         "compare at ranks and scores (gain@1000, gain@1%, gain@score:0.7)")  # fmt: skip
    terms = question.terms
    if terms.round is not None or terms.together:
        what = "together" if terms.together else "round"
        raise InputError(f"{question}: a comparison has no {what}", "all its labels are planned at once; leave it out")
    if terms.zone is not None and not isinstance(question.demand, Condition):
        raise InputError(f"{question}: a zone is one of a condition", "such as 'gain@1000 > 0 zone 0.02'")
    if terms.expect in (0, 1):
        raise InputError(f"{question}: a precision of {terms.expect} is expected, outside (0, 1)")
    if isinstance(question.demand, Width):
        _refuse_width(question, question.demand)


def _refuse_width(question: Question, width: Width) -> None:
    """Refuse a width that is no part of the cutoff."""
    if (question.metric == "gain") != (width.of == "value"):
        share = min(width.value, Decimal("0.02"))
        both = f"'gain@1000 within {plain(share.scaleb(2))}%' and 'precision_gain@1000 within {plain(share)}' are one"
        raise InputError(f"{question}: the width of a difference is a part of the cutoff", both)
    if width.value >= 1:
        raise InputError(f"{question}: that wide it is whatever is labelled", "a width is below 100% of the cutoff")
