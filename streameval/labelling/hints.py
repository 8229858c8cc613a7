"""Hints that make labels readable, as options to type: of words and grades that occur."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Protocol

import numpy as np

from streameval.errors import InputError
from streameval.text import number_of
from streameval.typing import AnyArray

_NAMED = 6  # grades that are named one by one


class AnyWords(Protocol):
    """Words that are named as positive and as negative: of options, or of a source."""

    @property
    def positive(self) -> tuple[str, ...]:
        """Words of a positive label."""

    @property
    def negative(self) -> tuple[str, ...]:
        """Words of a negative label."""


def plain(value: float) -> str:
    """Write a number so that it is read as the same one.

    >>> plain(3.0), plain(0.1234567), plain(np.float32(0.9))
    ('3', '0.1234567', '0.9')
    """
    return np.format_float_positional(value, trim="-")


_CELLS = {  # as DuckDB begins to say of a row that it cannot split
    "MISSING COLUMNS: ": "has too few columns (was the file cut off?)",
    "TOO MANY COLUMNS: ": "has too many columns (is a cell with a comma in quotes?)",
}


def cells(error_text: str) -> str | None:
    """Say of a row whether its cells are too few or too many; None where something else is wrong with it.

    Args:
        error_text: What the reader of the table says of it.
    """
    return next((meaning for start, meaning in _CELLS.items() if error_text.startswith(start)), None)


def naming_word(word: str, words: AnyWords) -> str:
    """Tell how to say what a word means, beside those that are named already.

    >>> from streameval.labelling.options import NamedWords
    >>> naming_word("fraud", NamedWords())
    '--positive and --negative say what words mean: --positive fraud or --negative fraud'
    >>> naming_word("not sure", NamedWords(("good",), ("bad",)))
    "name it too: --positive 'good,not sure' or --negative 'bad,not sure'"
    >>> naming_word("1,0", NamedWords())
    'a decimal comma is written as a point, and of several labels in one cell each gets a row'
    """
    if word.startswith(("[", "{")):
        return "give one label per item"
    if re.fullmatch(r"[-+]?\d+(,\d+)+", word):
        return "a decimal comma is written as a point, and of several labels in one cell each gets a row"
    if "," in word:
        return "a word that --positive or --negative names has no comma: give it another one"
    yes, no = (f"{option} {shlex.quote(','.join((*named, word)))}" for option, named in
               (("--positive", words.positive), ("--negative", words.negative)))  # fmt: skip
    if not (words.positive or words.negative):
        return f"--positive and --negative say what words mean: {yes} or {no}"
    return f"name it too: {yes} or {no}"


def middle(values: Iterable[float] | AnyArray) -> str:
    """Give the grade from which on the upper ones of several are; the only one where there is but one.

    >>> middle([1, 2, 3, 4, 5]), middle([-1, 0.9, -1]), middle([3])
    ('4', '0.9', '3')
    """
    grades = np.unique(np.asarray(values))
    return plain(grades[_upper(grades)])


def _upper(grades: AnyArray) -> int:
    """Find where the upper ones of ascending grades begin: fewer than half of them, but one at least."""
    return min(grades.size - 1, (grades.size + 1) // 2)


def naming_grades(values: Iterable[float] | AnyArray) -> str | None:
    """Name the upper half of grades as positive and the others as negative; None where there are too many, or but one.

    >>> naming_grades([0.9, -1, 0.9])
    '--positive 0.9 --negative -1'
    """
    grades = np.unique(np.asarray(values))
    if not 1 < grades.size <= _NAMED:
        return None
    lower, upper = (",".join(map(plain, half)) for half in np.split(grades, [_upper(grades)]))
    return f"--positive {upper} --negative {lower}"


def naming_number(value: float, of_column: Iterable[float] | AnyArray, words: AnyWords) -> str:
    """Tell how to say what a number means in a column that is to hold 0 and 1: by a threshold unless words are named.

    >>> from streameval.labelling.options import NamedWords
    >>> naming_number(2, [1, 2, 3], NamedWords())
    "--relevant '>=3' says from which label on an item is positive"
    """
    if words.positive or words.negative:
        return naming_word(plain(value), words)
    return f"--relevant '>={middle(of_column)}' says from which label on an item is positive"


def occurring(least: float, most: float) -> str:
    """Say in which interval labels are.

    >>> occurring(1, 3), occurring(0, 0)
    ('they go from 1 to 3', 'all are 0')
    """
    return f"all are {plain(least)}" if least == most else f"they go from {plain(least)} to {plain(most)}"


def refuse_unreached(relevant: str, labels: int, least: float, most: float) -> None:
    """Refuse (InputError) a `--relevant` that none of so many labels meets, of which the outermost two are given."""
    raise InputError(
        f"--relevant is '{relevant}', and none of {number_of(labels, 'label')} is: {occurring(least, most)}",
        "is this the column of labels?" if least == most else f"such as --relevant '>={plain(most)}'",
    )
