"""Rules that turn the votes of an item into its label.

A rule is `NAME` or `NAME>=X`: with a threshold, votes of at least X are positive and the scale may be any; without one,
votes must be 0 or 1: which of several grades are positive would be a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError
from streameval.labelling.hints import AnyWords, middle, naming_word, occurring, plain
from streameval.text import number_of
from streameval.typing import BoolArray, FloatArray, Int8Array, Int64Array

Decided = Int8Array
_TYPING_ERRORS = 0.02  # share of answers; a single row is always taken for one
_DIGITS = 9  # a mean of decimals such as .1 and .2 is compared after rounding to this many decimals


@dataclass(frozen=True)
class VoteCounts:
    """Votes of every planned rank.

    Attributes:
        votes, positive (int64 arrays, shape (n_planned,)): Votes that count, and those of them that are positive.
        total (float64 array, shape (n_planned,)): Sum of the values.
    """

    votes: Int64Array
    positive: Int64Array
    total: FloatArray


def _majority(counts: VoteCounts, threshold: float) -> Decided:
    return _three_ways(2 * counts.positive > counts.votes, 2 * counts.positive < counts.votes)


def _mean(counts: VoteCounts, threshold: float) -> Decided:
    with np.errstate(invalid="ignore", divide="ignore"):
        enough = np.round(counts.total / counts.votes - threshold, _DIGITS) >= 0
    return _three_ways((counts.votes > 0) & enough, (counts.votes > 0) & ~enough)


def _any(counts: VoteCounts, threshold: float) -> Decided:
    return _three_ways(counts.positive > 0, (counts.votes > 0) & (counts.positive == 0))


def _all(counts: VoteCounts, threshold: float) -> Decided:
    whole = (counts.votes > 0) & (counts.positive == counts.votes)
    return _three_ways(whole, (counts.votes > 0) & ~whole)


def _three_ways(positive: BoolArray, negative: BoolArray) -> Decided:
    return np.where(positive, 1, np.where(negative, 0, -1)).astype(np.int8)


# "latest" counts one vote per item, unless two of the same moment differ: then a majority of them
_RULES: dict[str, Callable[[VoteCounts, float], Decided]] = {
    "majority": _majority,
    "mean": _mean,
    "any": _any,
    "all": _all,
    "latest": _majority,
}


@dataclass(frozen=True)
class VoteRule:
    """Rule that makes a label of votes.

    Attributes:
        name ({"majority", "mean", "any", "all", "latest"}): "majority": more votes for than against; a tie is no label.
            "mean": the mean vote reaches the threshold. "any", "all": one vote for it is enough, or none may be against
            it. "latest": the last vote alone counts, by time where all votes of the item have one, else by the order in
            which they were given.
        threshold: Least value of a positive vote; None: votes are 0 or 1.
    """

    name: str
    threshold: float | None

    def __str__(self) -> str:
        return self.name if self.threshold is None else f"{self.name}>={self.threshold:g}"

    @property
    def least(self) -> float:
        """Least value of a positive vote."""
        if self.threshold is not None:
            return self.threshold
        return 0.5 if self.name == "mean" else 1.0

    def decide(self, counts: VoteCounts) -> Decided:
        """Label every item: 1, 0, or -1 where the votes leave it open."""
        return _RULES[self.name](counts, self.least)


def vote_rule(text: str) -> VoteRule:
    """Read a rule; an `InputError` where there is no such rule.

    >>> vote_rule("mean>=3")
    VoteRule(name='mean', threshold=3.0)
    """
    match = re.fullmatch(r"\s*([a-z]+)\s*(?:(?:>=|≥)\s*([-+]?[0-9.]+(?:e[-+]?[0-9]+)?))?\s*", str(text).lower())
    if match is None or match[1] not in _RULES:
        raise InputError(f"there is no vote rule '{text}'", f"{', '.join(_RULES)}; each takes >=X, as in 'mean>=3'")
    try:
        return VoteRule(match[1], None if match[2] is None else float(match[2]))
    except ValueError:
        raise InputError(f"vote rule '{text}': '{match[2]}' is not a number") from None


def refuse_grades(rows: pa.Table, rule: VoteRule, words: AnyWords) -> None:
    """Refuse votes that a rule without threshold cannot tell apart, and a threshold that no answer reaches.

    The labels of a source are grades if they have several values other than 0 and 1, or one such value in more than
    one row and more than 2 % of all, or no 0 and no 1. Else that value is a typing error, and its rows are unreadable
    (`streameval.labelling.fates`). Under the rule "mean", all values from 0 to 1 are votes.

    Args:
        rows: Columns `value`, `given` (number of the source), `origin`, `row`.
        words: Those that were named with the labels.

    Raises:
        InputError: A source has grades, or every answer is below the threshold.
    """
    if rule.threshold is not None:
        _refuse_unreached(rows.column("value"), rule)
        return
    value = rows.column("value")
    odd = pc.fill_null(_is_odd(value, rule), False)
    for number in pc.unique(rows.column("given").filter(odd)):
        mask = pc.equal(rows.column("given"), number)
        strange = rows.filter(pc.and_(mask, odd))
        answers = value.filter(mask).drop_null()
        kinds = pc.count_distinct(strange.column("value")).as_py()
        if kinds > 1 or strange.num_rows == len(answers) or 1 < strange.num_rows > _TYPING_ERRORS * len(answers):
            first = strange.slice(0, 1).to_pylist()[0]
            raise InputError(
                f"{first['origin']} row {first['row']:,}: label {plain(first['value'])} is neither 0 nor 1, as in "
                f"{number_of(strange.num_rows, 'row')} of {len(answers):,}, and vote rule '{rule}' takes no grades",
                naming_word(plain(first["value"]), words)
                if words.positive or words.negative
                else f"say which are positive, such as {_of_grades(answers, rule)}",
            )


def _of_grades(answers: pa.ChunkedArray, rule: VoteRule) -> str:
    """Give the option that tells grades apart which occur: of two, which of them is which."""
    least, *more = sorted(pc.unique(answers).to_pylist())
    if len(more) == 1:
        return f"--positive {plain(more[0])} --negative {plain(least)}"
    return f"--vote '{'mean' if rule.name == 'majority' else rule.name}>={middle(answers)}'"


def _refuse_unreached(answers: pa.ChunkedArray, rule: VoteRule) -> None:
    """Refuse a threshold above every answer: the grades are of another scale, or were meant to be numbers of 0 to 1."""
    least, most = pc.min_max(answers).as_py().values()
    if most is not None and rule.threshold is not None and most < rule.threshold:
        such = "" if least == most else f", such as --vote '{rule.name}>={plain(most)}'"
        raise InputError(
            f"vote rule '{rule}': none of {number_of(len(answers.drop_null()), 'answer')} reaches {rule.threshold:g}, "
            f"{occurring(least, most)}",
            f"name a grade that occurs{such}; where all of them are negative on your scale, name them with --negative "
            "in place of a threshold",
        )


def _is_odd(value: pa.ChunkedArray, rule: VoteRule) -> pa.ChunkedArray:
    """Tell which values are no vote of a rule without threshold."""
    if rule.name == "mean":
        return pc.or_(pc.less(value, 0.0), pc.greater(value, 1.0))
    return pc.and_(pc.not_equal(value, 0.0), pc.not_equal(value, 1.0))
