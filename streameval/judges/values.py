"""Answers of a judge as they are stored, and the classes that its values are put into by thresholds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.judges.options import JudgeValue
from streameval.labelling.votes import BLANK, NEGATIVE, POSITIVE, SKIPPED
from streameval.text import row_of, short
from streameval.typing import AnyArray, BoolArray, FloatArray, Int64Array, UInt8Array


@dataclass(frozen=True)
class Judge(JudgeValue):
    """A judge's answers, and their classes."""

    def note(self) -> dict[str, Any]:
        """Say what a plan says of it."""
        return {"column": self.column, "thresholds": list(self.thresholds)}

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


def judge_in(text: str | None) -> Judge | None:
    """Give the judge of a plan, who answers in a column or is asked about a sample; None where there is none.

    Raises:
        InputError: Neither a column nor a sample, or both.
    """
    judge = None if text is None else Judge.parse(text)
    if judge is None or (judge.column and judge.sample is None):
        return judge
    if judge.column:
        raise InputError("a judge is either a column or asked about a sample",
                         f"leave out the sample, or the column: --judge='{replace(judge, column='')}'")  # fmt: skip
    if judge.sample is None:
        raise InputError(f"--judge '{text}' names no column", 'such as "llm(0.05, 0.95)", or "sample=20000" for none')
    return replace(judge, column="judge")


def judge_of_question(text: str | None) -> Judge | None:
    """Give the judge of a question, who answers in a column (InputError): nothing is planned by what is expected."""
    judge = judge_in(text)
    if judge is not None and judge.parameters:
        raise InputError(f"--judge is '{text}', and a question takes neither sample nor accuracy",
                         "name a column, perhaps with thresholds: --judge='llm(0.05, 0.95)'")  # fmt: skip
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
