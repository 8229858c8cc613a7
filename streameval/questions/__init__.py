"""The language of questions: METRIC[@CUTOFF[,CUTOFF…]], with nothing, a condition or a width behind it; or a cut.

::

    precision@10000    recall@precision:0.9    average_precision     a measure
    precision@score:0.7 >= 0.9                                       a condition: >=, >, <= or <
    average_precision >= average_precision:results-a - 0.01          a condition on another result, and a margin
    precision@1e4,1e6 within .03    positives within 5%              a width, absolute or relative
    gain@1000,10000 within 2%                                        of two rankings: a width, in parts of the cutoff
    cut precision 0.9                                                the deepest rank that has it
    precision@1e6 >= 0.9 zone 0.02 expect 0.95                       terms, where labels are planned
    iprec@0.1    11pt    rbp@0.8                                     as others write precision@recall:0.1 and so on
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, cast

from streameval.errors import InputError, closest
from streameval.questions.cutoffs import Cutoff, number, parse, plain, read_share, refuse
from streameval.questions.other_names import read_other
from streameval.questions.terms import NO_TERMS, TERM_NAMES, Terms
from streameval.text import short

Operator = Literal[">=", ">", "<=", "<"]
Outcome = Literal["pass", "fail", "waiting", "inconclusive"]
MEASURE = "METRIC[@CUTOFF], such as precision@10000, recall@precision:0.9, precision@score:0.7 or average_precision"
CONDITION = 'METRIC[@CUTOFF] >= NUMBER, such as "precision@10000 >= 0.9" or "average_precision > 0.8"'
AGAINST = "METRIC[@CUTOFF] >= METRIC[@CUTOFF]:RESULT - NUMBER, with the same metric on both sides"
CUT = "cut"
_CUT = "cut precision NUMBER, such as cut precision 0.9"
_METRIC = re.compile(r"\s*([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)\s*", re.IGNORECASE | re.ASCII)
_PRECISION = re.compile(r"\s*precision\b\s*:?", re.IGNORECASE)
_CUTOFFS = re.compile(r"@(.*?)(?=[<>=≤≥]|\swithin\b|\Z)", re.IGNORECASE | re.DOTALL)
_WRITTEN = {"≥": ">=", "≤": "<="}
_DEMAND = re.compile(r"\s*(>=|<=|>|<|within\b)", re.IGNORECASE)
_MARGIN = re.compile(r"\s([-+])\s*([^\s+-]+)\s*\Z")


@dataclass(frozen=True)
class Condition:
    """Value that a metric is held against.

    Attributes:
        value: The number; 60% is 0.6.
    """

    operator: Operator
    value: Decimal

    def __str__(self) -> str:
        return f"{self.operator} {plain(self.value)}"

    def met_by(self, value: float) -> bool:
        """Tell whether a value meets it."""
        wanted = float(self.value)
        return {">=": value >= wanted, ">": value > wanted, "<=": value <= wanted, "<": value < wanted}[self.operator]

    def outcome(self, lower: float, upper: float) -> Outcome:
        """Give what bounds on a value prove of it: "pass" where both meet it, "fail" where neither does.

        Bounds that are NaN prove nothing.
        """
        sides = {self.met_by(lower), self.met_by(upper)}
        if math.isnan(lower) or math.isnan(upper) or len(sides) > 1:
            return "inconclusive"
        return "pass" if True in sides else "fail"


@dataclass(frozen=True)
class Against:
    """Metric of another result that the same metric is held against.

    Attributes:
        result: Folder of the other result.
        margin: What is added to its metric.
    """

    operator: Operator
    result: str
    margin: Decimal = Decimal(0)

    @property
    def of_difference(self) -> Condition:
        """Give what it asks of the difference of the two."""
        return Condition(self.operator, self.margin)

    def written(self, measure: str) -> str:
        """Write it as it stands behind a measure."""
        margin = f" {'-' if self.margin < 0 else '+'} {plain(abs(self.margin))}" if self.margin else ""
        return f"{self.operator} {measure}:{self.result}{margin}"


@dataclass(frozen=True)
class Width:
    """Largest distance allowed between a metric's bounds and its estimate.

    Attributes:
        value: Positive.
        of: Whether it is a difference, or a part of the value itself; of a gain, a part of its cutoff.
    """

    value: Decimal
    of: Literal["difference", "value"] = "difference"

    def __str__(self) -> str:
        return f"within {plain(self.value)}" if self.of == "difference" else f"within {plain(self.value.scaleb(2))}%"


@dataclass(frozen=True)
class Question:
    """A measure, with nothing, a condition or a width; and terms, where labels are planned for it.

    Attributes:
        metric: Its name, in lower case; "cut" where the deepest rank of a precision is asked for, its one cutoff.
        cutoffs: None of a metric of the whole list.
        terms: What labels are planned by; they are no part of what is asked.

    >>> print(Question.of("Precision @ 1e4,1e6 within 3%"))
    precision@10000, 1,000,000 within 3%
    >>> print(Question.of("cut precision 90%"), Question.of("cut precision .9").measure)
    cut precision 0.9 rank@precision:0.9
    >>> Question.of("recall@precision:.9 > 50%").demand
    Condition(operator='>', value=Decimal('0.50'))
    >>> print(Question.of("precision@10 >= 90% expect .95 zone .02"))
    precision@10 >= 0.9 zone 0.02 expect 0.95
    >>> print(Question.of("iprec@.1"), Question.of("11pt > .5"), Question.of("rbp@0.8"))
    precision@recall:0.1 eleven_point_precision > 0.5 rbp.8
    >>> print(Question.of("precision@1e4 >= precision@10000:runs/a -1%"))
    precision@10000 >= precision@10000:runs/a - 0.01
    """

    metric: str
    cutoffs: tuple[Cutoff, ...] = ()
    demand: Condition | Against | Width | None = None
    terms: Terms = NO_TERMS

    @property
    def condition(self) -> Condition:
        """The condition; an `InputError` where there is none, or one on another result."""
        if not isinstance(self.demand, Condition):
            raise InputError(f"{self} cannot be checked", CONDITION)
        return self.demand

    @staticmethod
    def of(written: str | Question) -> Question:
        """Read a question.

        Raises:
            InputError: It cannot be read: says where, and what may stand there.
        """
        if isinstance(written, Question):
            return written
        text = str(written)
        end = Terms.begin(text)
        return replace(Question._bare(text[:end]), terms=Terms.read(text, end))

    @staticmethod
    def _bare(text: str) -> Question:
        """Read a question without terms."""
        if (other := read_other(text)) is not None:
            measure = Question(*other[:2])
            return replace(measure, demand=_demand(text, other[2], measure)) if text[other[2] :].strip() else measure
        metric = _METRIC.match(text)
        if metric is None:
            unquoted = number(text.strip().removesuffix("%")) is not None
            hint = _QUOTED if unquoted else MEASURE
            raise refuse(text, 0, "the name of a metric is missing", hint)
        at = metric.end()
        if metric[1].lower() == CUT:
            return Question(CUT, (_of_cut(text, at),))
        cutoffs: tuple[Cutoff, ...] = ()
        if given := _CUTOFFS.match(text, at):
            cutoffs, at = tuple(dict.fromkeys(parse(text, given.start(1), given.end(1)))), given.end()
        measure = Question(metric[1].lower(), cutoffs)
        return replace(measure, demand=_demand(text, at, measure)) if text[at:].strip() else measure

    def __str__(self) -> str:
        if self.metric == CUT:
            return f"{CUT} {str(self.cutoffs[0]).replace(':', ' ')}{self.terms}"
        at = f"@{', '.join(map(str, self.cutoffs))}" if self.cutoffs else ""
        measure = f"{self.metric}{at}"
        demand = self.demand.written(measure) if isinstance(self.demand, Against) else self.demand
        return measure + ("" if demand is None else f" {demand}") + str(self.terms)

    @property
    def measure(self) -> Question:
        """Give the same without what is demanded; of a cut, its rank."""
        return replace(self.bare, metric="rank" if self.metric == CUT else self.metric, demand=None)

    @property
    def bare(self) -> Question:
        """Give the same without terms."""
        return replace(self, terms=NO_TERMS)

    @property
    def cutoff(self) -> Cutoff | None:
        """The one cutoff, or none.

        Raises:
            InputError: There are several.
        """
        if len(self.cutoffs) > 1:
            raise InputError(f"{self} has several cutoffs", f"one at a time: {next(self.each())}")
        return self.cutoffs[0] if self.cutoffs else None

    def each(self) -> Iterator[Question]:
        """Give the same question at each of its cutoffs."""
        if not self.cutoffs:
            yield self
        for cutoff in self.cutoffs:
            yield replace(self, cutoffs=(cutoff,))


Asked = str | Question | Sequence[str | Question]


def measures(questions: Asked) -> Iterator[Question]:
    """Read measures, one for each cutoff; an `InputError` where there is a condition a width or a cut."""
    for question in _read(questions):
        if isinstance(question.demand, Condition | Against):
            raise InputError(f"{question} is a condition", f"`streameval check` holds it against a study; {MEASURE}")
        _refuse_planned(question)
        yield from question.each()


def conditions(questions: Asked) -> Iterator[Question]:
    """Read conditions, one for each cutoff; an `InputError` where there is none, a width or a cut."""
    for question in _read(questions):
        _refuse_planned(question)
        if question.demand is None:
            text = str(question)
            raise refuse(text, len(text), ">=, >, <= or < and a number are missing", CONDITION)
        yield from question.each()


def _read(questions: Asked) -> list[Question]:
    return [Question.of(question) for question in ([questions] if isinstance(questions, str | Question) else questions)]


def _refuse_planned(question: Question) -> None:
    """Refuse what is only asked before labels are drawn for it."""
    refuse_terms(question)
    if isinstance(question.demand, Width) or question.metric == CUT:
        what = "where to cut" if question.metric == CUT else "how wide bounds may be"
        raise InputError(
            f"{question}: {what} is no question about labels that are there", f"ask for {question.measure}"
        )


def refuse_against(question: Question) -> None:
    """Refuse to hold a metric against another result (`InputError`) where labels are planned or results are many."""
    if isinstance(question.demand, Against):
        raise InputError(f"{question}: only `streameval check` holds a metric against another result",
                         f"ask for {question.measure}")  # fmt: skip


def refuse_terms(question: Question) -> None:
    """Refuse terms (`InputError`) where labels are there."""
    if str(question.terms):
        what = f"{str(question.terms).split()[0]} says how labels are planned"
        raise InputError(f"{question}: {what}, and these labels are there", f"ask for {question.bare}")


def _of_cut(text: str, at: int) -> Cutoff:
    """The precision of a cut."""
    match = _PRECISION.match(text, at)
    if match is None:
        raise refuse(text, at, "here precision and a number are to stand", _CUT)
    return Cutoff("precision", read_share(text, match.end(), "precision", text[match.end() :].strip()))


_QUOTED = 'quote a condition, "precision@10000 >= 0.9": without quotes the shell writes to a file called "="'
_SEVERAL = re.compile(r"(,|;|&|\band\b)\s*[a-z_]\w*.*([<>]|\bwithin\b)", re.IGNORECASE)
_EACH = 'several are quoted one by one: "precision@5000 >= 0.8" "precision@50000 >= 0.7"'
_COMMA = re.compile(r"(\d+),(\d+%?)")
_MISSPELT = re.compile(r"[\d.,]+%?\s+([a-z]+)\s+[\d.]+%?", re.IGNORECASE)


def _meant(written: str) -> str | None:
    """Say what may be meant by what is no number."""
    if decimal := _COMMA.fullmatch(written):
        return f"write {decimal[1]}.{decimal[2]}"
    if _SEVERAL.search(written):
        return _EACH
    term = _MISSPELT.match(written)
    return closest(term[1].lower(), TERM_NAMES) if term else None


def _demand(text: str, at: int, measure: Question) -> Condition | Against | Width:
    match = _DEMAND.match(text, at)
    if (sign := text[at:].strip()[:1]) in _WRITTEN:
        raise refuse(text, at, f"{sign} is written {_WRITTEN[sign]}")
    if match is None:
        raise refuse(
            text, at, "a measure is followed by @CUTOFF, by >=, >, <= or < and a number, or by within and a width"
        )
    written = text[match.end() :].strip()
    if match[1].lower() != "within" and _METRIC.match(written) and ":" in written:
        return _against(text, match.end(), cast(Operator, match[1]), measure)
    value = number(written.removesuffix("%"))
    if value is None:
        what = f"'{short(written)}' is not a number" if written else "a number is missing"
        raise refuse(text, match.end(), what, _meant(written))
    if value and not float(value):
        raise refuse(text, match.end(), f"'{short(written)}' is as good as 0")
    percent = written.endswith("%")
    if match[1].lower() != "within":
        return Condition(cast(Operator, match[1]), value.scaleb(-2) if percent else value)
    if value <= 0:
        raise refuse(text, match.end(), "a width is above 0")
    return Width(value.scaleb(-2), "value") if percent else Width(value)


def _against(text: str, at: int, operator: Operator, measure: Question) -> Against:
    """Read the same metric of another result, and a margin; `measure` is what stands before."""
    margin, end = Decimal(0), len(text)
    if (behind := _MARGIN.search(text, at)) and (value := number(behind[2].removesuffix("%"))) is not None:
        margin, end = value.scaleb(-2) if behind[2].endswith("%") else value, behind.start()
        margin = -margin if behind[1] == "-" else margin
    for colon in re.finditer(":", text[at:end]):
        if _reads_as(text[at : at + colon.start()], measure) and (result := text[at + colon.end() : end].strip()):
            return Against(operator, result, margin)
    raise refuse(text, at, f"here '{measure}:RESULT' may stand, and a number", AGAINST)


def _reads_as(text: str, measure: Question) -> bool:
    """Tell whether a text is a measure."""
    try:
        return Question.of(text) == measure
    except InputError:
        return False
