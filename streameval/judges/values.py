"""Answers of a judge as they are stored, and the classes that its values are put into by thresholds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.calls import read_column, write_call
from streameval.errors import InputError
from streameval.judges.options import JudgeColumn
from streameval.labelling.votes import BLANK, NEGATIVE, POSITIVE, SKIPPED
from streameval.text import row_of, short
from streameval.typing import AnyArray, BoolArray, FloatArray, Int64Array, UInt8Array

_EXAMPLE = "llm(0.05,0.5,0.95)"
MOST_CLASSES = 8  # the one of items without an answer among them


@dataclass(frozen=True)
class Judge:
    """A judge's column and its classes.

    Attributes:
        column: Of the list, or of the answers for a sample: numbers in [0, 1], booleans, or the words that labels are
            read by; null and NaN are none.
        thresholds: Strictly increasing, inside (0, 1). A value is in the class of the last threshold that it reaches.

    Raises:
        InputError: Thresholds that are not such, or more of them than classes.
    """

    column: str
    thresholds: tuple[float, ...] = (0.5,)

    def __post_init__(self) -> None:
        """Check the thresholds."""
        edges = (0.0, *self.thresholds, 1.0)
        if any(a >= b for a, b in pairwise(edges)):
            shown = ",".join(f"{threshold:g}" for threshold in self.thresholds)
            raise InputError(f"the thresholds of --judge are {shown}", f"they rise, inside (0, 1): {_EXAMPLE}")
        if self.classes > MOST_CLASSES:
            raise InputError(f"{self.classes} classes of a judge, one of items without an answer among them",
                             f"at most {MOST_CLASSES}: each has to be learnt from labels")  # fmt: skip

    @staticmethod
    def parse(text: str) -> Judge:
        """Read a column, with thresholds in parentheses behind it: numbers between commas.

        >>> Judge.parse("llm(0.05, 0.5)"), str(Judge.parse("p(1)(0.5)")), str(Judge.parse("llm"))
        (Judge(column='llm', thresholds=(0.05, 0.5)), 'p(1)(0.5)', 'llm')
        """
        call = read_column(text, _EXAMPLE)
        if not call.arguments:
            return Judge(text)
        _ = call.named(())
        try:
            thresholds = tuple(map(float, call.values))
        except ValueError:
            raise InputError(
                f"the thresholds of --judge are '{','.join(call.values)}'", f"such as {_EXAMPLE}"
            ) from None
        return Judge(call.name, thresholds)

    def __str__(self) -> str:
        if self.thresholds == (0.5,) and not read_column(self.column, _EXAMPLE).arguments:
            return self.column
        return write_call(self.column, {}, self.thresholds)

    def note(self) -> dict[str, Any]:
        """Say what a plan says of it."""
        return {"column": self.column, "thresholds": list(self.thresholds)}

    @property
    def classes(self) -> int:
        """Tell how many there are; the last is of items without an answer."""
        return len(self.thresholds) + 2

    @property
    def prior(self) -> FloatArray:
        """Give what a class predicts before there are labels: its middle."""
        edges = np.array([0.0, *self.thresholds, 1.0])
        return np.append((edges[1:] + edges[:-1]) / 2, 0.5)

    @property
    def names(self) -> tuple[str, ...]:
        """The classes in words."""
        edges = ["0", *(f"{threshold:g}" for threshold in self.thresholds), "1"]
        return (*(f"{a} to {b}" for a, b in pairwise(edges)), "no answer")

    def codes(self, values: pa.ChunkedArray, place: str) -> UInt8Array:
        """Class of each value; see `said`."""
        return self.codes_of(self.said(values, place))

    def codes_of(self, answers: AnyArray) -> UInt8Array:
        """Class of each number that `answers` gives."""
        codes = np.zeros(answers.size, np.uint8)
        for least in self.thresholds:  # few: quicker than a search for each value
            codes += _are_at_least(answers, least)
        codes[_are_missing(answers)] = self.classes - 1
        return codes

    def counted(self, answers: AnyArray, edges: Int64Array) -> Int64Array:
        """Tell how many of each class are between neighbouring edges: shape (edges − 1, classes)."""
        reached = [~_are_missing(answers), *(_are_at_least(answers, least) for least in self.thresholds)]
        pairs = list(pairwise(edges.tolist()))
        up = np.array([[np.count_nonzero(mask[a:b]) for mask in reached] for a, b in pairs], np.int64)
        up = up.reshape(-1, len(reached))
        return np.column_stack([up[:, :-1] - up[:, 1:], up[:, -1], np.diff(edges) - up[:, 0]])

    def said(self, values: pa.ChunkedArray, place: str) -> AnyArray:
        """Read a judge's answers as booleans, or floats with NaN for no answer; copied only where needed.

        Raises:
            InputError: Values that are no numbers or the words that labels are read by, or outside [0, 1]; `place` says
                where they are.
        """
        kind, named = values.type, f"judge column '{self.column}'"
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_string_view(plain):
            return _spoken(values, named, place)
        if not (pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise InputError(f"{place}: {named} is {kind}", UNDERSTOOD)
        if values.null_count:
            values = values.cast(pa.float64(), safe=False)  # null becomes NaN
        numbers: AnyArray = values.combine_chunks().to_numpy(zero_copy_only=False)
        odd = np.empty(0, np.int64)
        if np.fmin.reduce(numbers, initial=0) < 0 or np.fmax.reduce(numbers, initial=1) > 1:
            odd = np.flatnonzero((numbers < 0) | (numbers > 1))
        if odd.size:
            raise InputError(f"{row_of(place, odd[0])}: {named} has {numbers[odd[0]]:g}", UNDERSTOOD)
        return numbers if numbers.dtype.kind == "f" else numbers.astype(np.bool_)


def judge_in(options: JudgeColumn) -> Judge | None:
    """Give the judge that answers in a column; None where none is named.

    Raises:
        InputError: Thresholds without a column, or such as `Judge` refuses.
    """
    if options.judge is None:
        return None
    judge = Judge.parse(options.judge)
    if not judge.column:
        raise InputError(f"--judge '{options.judge}' names no column", f"such as {_EXAMPLE}")
    return judge


def judge_of_sample(options: JudgeColumn) -> Judge:
    """Give the judge that is asked about a sample: of --judge, thresholds alone; an InputError for a column."""
    judge = Judge.parse(options.judge or "")
    if judge.column:
        hint = f"leave out --judge-sample, or the column: --judge='{replace(judge, column='')}'"
        raise InputError("a judge is either a column or asked about a sample", hint)
    return replace(judge, column="judge")


def column_alone(judge: str) -> str:
    """Refuse thresholds, of a judge of which every value counts as it is (InputError)."""
    value = Judge.parse(judge)
    if value.column != judge:
        raise InputError(f"--judge '{judge}' has thresholds, and here its values count as they are",
                         f"leave them out: --judge='{value.column}'")  # fmt: skip
    return judge


UNDERSTOOD = "a judge says yes or no, true or false, 1 or 0, or a probability"


_WORDS = {
    **dict.fromkeys(POSITIVE, 1.0),
    **dict.fromkeys(NEGATIVE, 0.0),
    **dict.fromkeys((*BLANK, *SKIPPED), np.nan),
}


def meant_by(word: object) -> float:
    """Read a word by which labels are read, or a number written as text; infinite where it is neither.

    >>> meant_by("Yes"), meant_by("0.3"), meant_by("skip"), meant_by("maybe")
    (1.0, 0.3, nan, inf)
    """
    text = str(word).strip().lower()
    try:
        return _WORDS[text] if text in _WORDS else float(text)
    except ValueError:
        return np.inf


def _spoken(values: pa.ChunkedArray, named: str, place: str) -> FloatArray:
    """Words as numbers."""
    encoded = values.combine_chunks()
    encoded = encoded if pa.types.is_dictionary(encoded.type) else encoded.dictionary_encode()
    index = encoded.indices.cast(pa.float64()).to_numpy(zero_copy_only=False)
    meant = np.array([*map(meant_by, encoded.dictionary.to_pylist()), np.nan])
    numbers: FloatArray = meant[np.where(np.isnan(index), -1, index).astype(np.int64)]
    odd = np.flatnonzero((numbers < 0) | (numbers > 1))
    if odd.size:
        word = short(str(encoded[int(odd[0])].as_py()))
        raise InputError(f"{row_of(place, odd[0])}: {named} has {word!r}", UNDERSTOOD)
    return numbers


def _are_at_least(numbers: AnyArray, least: float) -> BoolArray:
    """Tell which numbers are at least a threshold inside (0, 1); compared in their own precision, to the same end."""
    if numbers.dtype == np.bool_:
        return numbers
    bound = numbers.dtype.type(least)
    return np.asarray(numbers >= (bound if float(bound) >= least else np.nextafter(bound, numbers.dtype.type(1))))


def _are_missing(numbers: AnyArray) -> BoolArray:
    """Tell which numbers are none."""
    return np.zeros(numbers.size, np.bool_) if numbers.dtype == np.bool_ else np.isnan(numbers)
