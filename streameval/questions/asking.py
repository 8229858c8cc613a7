"""The options of a question: what is asked, and how sure and how quickly it is to be answered."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Any

from streameval.errors import InputError
from streameval.options import option
from streameval.questions import Asked, Question, refuse_against
from streameval.questions.cutoffs import plain
from streameval.questions.terms import Terms
from streameval.text.options import flag

CONFIDENCE = "0.95"


@dataclass(frozen=True)
class Asking:
    """Options of a question to a list.

    Attributes:
        confidence: Of every answer: it is wrong with probability 1 - `confidence` at most, whenever labelling stops.
        budget: Labels to spend at most; rounds stop there, answered or not.
    """

    questions: Asked = option(
        (),
        "What is wanted: 'precision@1e4 >= 0.9', with --against 'gain@1000 within 2%' (`streameval guide question`).",
    )
    confidence: str | float = CONFIDENCE
    budget: int | None = None

    def __post_init__(self) -> None:
        """Check every value, and read the questions."""
        object.__setattr__(self, "questions", read_questions(self.questions))
        if not self.questions:
            raise InputError("no question is asked", 'such as --for "precision@1000000 >= 0.9"')
        object.__setattr__(self, "confidence", read_confidence(self.confidence))
        if self.budget is not None and self.budget < 1:
            raise InputError(f"--budget is {self.budget!r}", "it takes a whole number, 1 at least")
        _ = self.terms

    @staticmethod
    def of_plan(questions: Sequence[str], parameters: Mapping[str, Any]) -> Asking:
        """Give what a plan asks: its questions and its parameters, as plan.json has them."""
        zone, expect = (None if parameters[name] is None else Decimal(parameters[name]) for name in ("zone", "expect"))
        terms = Terms(zone, expect, parameters["round"])
        return Asking(
            [replace(Question.of(text), terms=terms) for text in questions],
            parameters["confidence"],
            parameters["budget"],
        )

    @property
    def asked(self) -> tuple[Question, ...]:
        """The questions, without their terms."""
        return tuple(dict.fromkeys(question.bare for question in read_questions(self.questions)))

    @property
    def terms(self) -> Terms:
        """The terms of all questions; an `InputError` where two differ."""
        return Terms.joined(question.terms for question in read_questions(self.questions))

    @property
    def zone(self) -> str | None:
        """Zone below a threshold in which yes will do as well as no, as decimal text."""
        return None if self.terms.zone is None else plain(self.terms.zone)

    @property
    def expect(self) -> str | None:
        """Precision that is expected, as decimal text."""
        return None if self.terms.expect is None else plain(self.terms.expect)

    @property
    def round(self) -> int | None:
        """Tasks of a round."""
        return self.terms.round

    @property
    def together(self) -> bool:
        """Tell whether the answers of all questions of a list that are asked so hold together."""
        return self.terms.together

    def of_several(self, number: int) -> Asking:
        """Give the same as one of the questions of a study that hold together: the n-th has δ·6/(π²n²) of their δ.

        >>> Asking("precision@10 >= .9 together").of_several(2).confidence
        '0.992401'
        """
        if not self.together:
            return self
        doubt = (1 - Decimal(self.confidence)) * Decimal(6 / (math.pi * number) ** 2)
        return replace(self, confidence=str(1 - doubt.normalize(Context(prec=4, rounding=ROUND_FLOOR))))


def read_questions(questions: Asked) -> tuple[Question, ...]:
    """Read questions, each once; an `InputError` where one cannot be read, or they are none."""
    several = [questions] if isinstance(questions, str | Question) else questions
    if not isinstance(several, Iterable):
        raise InputError(f"{flag('questions')} is {questions!r}, no question", 'such as "precision@10000 >= 0.9"')
    read = tuple(dict.fromkeys(map(Question.of, several)))
    for question in read:
        refuse_against(question)
    return read


def read_confidence(value: str | float) -> str:
    """Read a confidence, a decimal in (0, 1); 95% is 0.95."""
    text = str(value).strip()
    try:
        number = Decimal(text.removesuffix("%")).scaleb(-2 if text.endswith("%") else 0)
    except InvalidOperation:
        number = Decimal("nan")
    if not (number.is_finite() and 0 < number < 1):
        raise InputError(f"--confidence is {value}, outside (0, 1)", "0.95 is usual")
    return f"{number.normalize():f}"
