"""The options of a question: what is asked, and how sure and how quickly it is to be answered."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation

from streameval.errors import InputError
from streameval.options import option
from streameval.questions import Asked, Question
from streameval.text.options import flag

CONFIDENCE = "0.95"


@dataclass(frozen=True)
class Asking:
    """What is asked of a list.

    Attributes:
        confidence: Of every answer: it is wrong with probability 1 - `confidence` at most, whenever labelling stops.
        budget: Labels to spend at most; rounds stop there, answered or not.
    """

    questions: Asked = option(
        (),
        "What to answer with few labels; of several conditions each is quoted: 'precision@1e4 >= 0.9' "
        "'recall@1e6 >= 0.8'.",
    )
    zone: str | float | None = option(
        None,
        "How far short of a threshold yes will do as well as no: this bounds the labels that it takes.",
    )
    expect: str | float | None = option(
        None, "Precision that you expect, before any label: only the number of labels depends on it."
    )
    round: int | None = option(None, "Tasks of a round (default: 50, and later half of what may be left, 50 to 200).")
    together: bool = option(
        False,
        "The answers of all questions of a study that are asked so hold together: each next one takes more labels.",
    )
    confidence: str | float = CONFIDENCE
    budget: int | None = None

    def __post_init__(self) -> None:
        """Check every value, and read the questions."""
        asked = [self.questions] if isinstance(self.questions, str | Question) else self.questions
        if not isinstance(asked, Iterable):
            raise InputError(f"{flag('questions')} is {asked!r}, no question", 'such as "precision@10000 >= 0.9"')
        asked = list(dict.fromkeys(map(Question.of, asked)))
        object.__setattr__(self, "questions", tuple(asked))
        if not asked:
            raise InputError("no question is asked", 'such as --for "precision@1000000 >= 0.9"')
        for name, least, most in (("confidence", False, False), ("zone", False, False), ("expect", True, True)):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, _share(name, value, least, most))
        for name in ("round", "budget"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{flag(name)} is {value!r}", "it takes a whole number, 1 at least")

    @property
    def asked(self) -> tuple[Question, ...]:
        """The questions."""
        return tuple(Question.of(one) for one in _listed(self.questions))

    def of_several(self, number: int) -> Asking:
        """Give the same as one of the questions of a study that hold together: the n-th has δ·6/(π²n²) of their δ.

        >>> Asking("precision@10 >= .9", together=True).of_several(2).confidence
        '0.992401'
        """
        if not self.together:
            return self
        doubt = (1 - Decimal(self.confidence)) * Decimal(6 / (math.pi * number) ** 2)
        return replace(self, confidence=str(1 - doubt.normalize(Context(prec=4, rounding=ROUND_FLOOR))))


def _listed(asked: Asked) -> Iterable[str | Question]:
    return [asked] if isinstance(asked, str | Question) else asked


def _share(name: str, value: str | float, zero: bool, one: bool) -> str:
    """A decimal between 0 and 1 as it was typed; whether its ends are allowed."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        number = Decimal("nan")
    inside = number.is_finite() and 0 <= number <= 1 and (zero or number > 0) and (one or number < 1)
    if not inside:
        ends = f"{'[' if zero else '('}0, 1{']' if one else ')'}"
        raise InputError(f"{flag(name)} is {value}, outside {ends}", "such as 0.95" if name == "confidence" else None)
    return f"{number.normalize():f}"
