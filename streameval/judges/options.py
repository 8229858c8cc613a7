"""The judge as it is typed: a column that says of every item whether it is positive, or a sample to ask about."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

from streameval.calls import Call, parameters_at, read_arguments, read_column, write_arguments, write_call
from streameval.errors import InputError
from streameval.options import option
from streameval.text.numbers import whole_number

_EXAMPLE = "llm(0.05, 0.95, accuracy=0.9)"
_WITHOUT_COLUMN = re.compile(r"\s*(?:[-+.\d][^()]*,\s*)?(?:sample|accuracy)\s*=")
MOST_CLASSES = 8  # the one of items without an answer among them


@dataclass(frozen=True)
class JudgeColumn:
    """The judge that answers in a column of the list."""

    judge: str | None = option(
        None,
        "Column that says of every item if it is positive (0/1, yes/no, a probability); it may be wrong. "
        '"llm(0.05, 0.95, accuracy=0.9)": thresholds, how often it should be right. '
        '"sample=20000": ask about so many instead.',
    )


@dataclass(frozen=True)
class JudgeValue:
    """A judge: COLUMN(THRESHOLDS, accuracy=SHARE), or without a column THRESHOLDS, sample=ITEMS, accuracy=SHARE.

    Attributes:
        column: Of the list, or of the answers for a sample: numbers in [0, 1], booleans, or the words that labels are
            read by; null and NaN are none. Empty where none is named.
        thresholds: Strictly increasing, inside (0, 1). A value is in the class of the last threshold that it reaches.
        sample: Items that it is asked about; None where it answers for all.
        accuracy: Share of items on which it is expected to be right; None where nothing is expected.

    Raises:
        InputError: Thresholds that are not such, or more of them than classes.
    """

    column: str
    thresholds: tuple[float, ...] = (0.5,)
    sample: int | None = None
    accuracy: float | None = None

    def __post_init__(self) -> None:
        """Check the thresholds."""
        edges = (0.0, *self.thresholds, 1.0)
        if any(a >= b for a, b in pairwise(edges)):
            shown = ",".join(f"{threshold:g}" for threshold in self.thresholds)
            raise InputError(f"the thresholds of --judge are {shown}", f"they rise, inside (0, 1): {_EXAMPLE}")
        if self.classes > MOST_CLASSES:
            raise InputError(f"{self.classes} classes of a judge, one of items without an answer among them",
                             f"at most {MOST_CLASSES}: each has to be learnt from labels")  # fmt: skip

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read it.

        >>> [str(JudgeValue.parse(text)) for text in ("llm(.05,accuracy = .9)", "p(1)(0.5)", "llm", "0.2, sample=2e4")]
        ['llm(0.05, accuracy=0.9)', 'p(1)(0.5)', 'llm', '0.2, sample=20000']
        """
        if _names_column(text):
            return cls(text)
        call = read_column(text, _EXAMPLE)
        if not call.arguments:
            call = Call(text, "", _EXAMPLE, read_arguments(text, 0, len(text), _EXAMPLE))
        words = call.named(("sample", "accuracy"))
        sample = call.read(words["sample"], whole_number, "a whole number") if "sample" in words else None
        accuracy = call.read(words["accuracy"], float, "a number") if "accuracy" in words else None
        try:
            thresholds = tuple(map(float, call.values)) or (0.5,)
        except ValueError:
            raise InputError(
                f"the thresholds of --judge are '{','.join(call.values)}'", f"such as {_EXAMPLE}"
            ) from None
        return cls(call.name, thresholds, sample, accuracy)

    def __str__(self) -> str:
        keys = {"sample": self.sample, "accuracy": self.accuracy}
        unsaid = self.thresholds == (0.5,) and (self.parameters or _names_column(self.column))
        thresholds = () if unsaid else self.thresholds
        if not self.column and self.parameters:
            return write_arguments(keys, thresholds)
        return write_call(self.column, keys, thresholds)

    @property
    def classes(self) -> int:
        """Tell how many there are; the last is of items without an answer."""
        return len(self.thresholds) + 2

    @property
    def parameters(self) -> dict[str, Any]:
        """Give what a method is planned with."""
        values = {"judge_sample": self.sample, "judge_accuracy": self.accuracy}
        return {name: value for name, value in values.items() if value is not None}


def _names_column(text: str) -> bool:
    """Tell whether a text is the name of a column, without parameters."""
    return parameters_at(text) is None and _WITHOUT_COLUMN.match(text) is None


def column_alone(judge: str) -> str:
    """Refuse parameters, of a judge of which every value counts as it is (InputError)."""
    if not _names_column(judge):
        column = JudgeValue.parse(judge).column or "llm"
        raise InputError(f"--judge '{judge}' has parameters, and here its values count as they are",
                         f"name a column alone: --judge='{column}'")  # fmt: skip
    return judge


def parameters_expected(judge: str) -> dict[str, Any]:
    """Give what a forecast knows of a judge, without a list: how many it is asked about, and how often it is right.

    Raises:
        InputError: A column, or neither of both.
    """
    value = JudgeValue.parse(judge)
    if value.column or not value.parameters:
        keys = replace(value, column="", thresholds=(0.5,)) if value.parameters else "accuracy=0.9"
        raise InputError(f"--judge is '{judge}', and a forecast reads no column", f"--judge='{keys}'")
    return value.parameters
