"""Terms of a question: what may stand behind it where labels are planned, such as `zone 0.02` or `expect 0.95`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from decimal import Decimal

from streameval.errors import InputError
from streameval.questions.cutoffs import number, plain, refuse
from streameval.text import short

TERMS = "zone 0.02, expect 0.95, round 100 and together"
TERM_NAMES = ("zone", "expect", "round", "together")
_BEGIN = re.compile(rf"\s(?=(?:{'|'.join(TERM_NAMES)})\b)", re.IGNORECASE)
_TERM = re.compile(r"\s*(?:(together)\b|(zone|expect|round)\b\s*([^\s]*))", re.IGNORECASE)


@dataclass(frozen=True)
class Terms:
    """Terms by which labels for a question are planned.

    Attributes:
        zone: In (0, 1): so far short of a threshold, yes will do as well as no. This bounds the labels.
        expect: In [0, 1]: precision that is expected before any label. Only the number of labels depends on it.
        round: Tasks of a round.
        together: Whether the answers of all questions of a list that are asked so hold together.

    >>> print("precision@10 >= 0.9" + str(Terms.read("  zone 2%  expect .95", 0)))
    precision@10 >= 0.9 zone 0.02 expect 0.95
    """

    zone: Decimal | None = None
    expect: Decimal | None = None
    round: int | None = None
    together: bool = False

    def __str__(self) -> str:
        """Write them as they stand behind a question, each after a space."""
        shares = "".join(f" {name} {plain(value)}" for name in ("zone", "expect")
                         if (value := getattr(self, name)) is not None)  # fmt: skip
        size = "" if self.round is None else f" round {self.round}"
        return f"{shares}{size}{' together' * self.together}"

    @staticmethod
    def begin(text: str) -> int:
        """Tell where the terms of a question begin in its text: at its end where it has none."""
        first = _BEGIN.search(text)
        return len(text) if first is None else first.start()

    @staticmethod
    def read(text: str, start: int) -> Terms:
        """Read the terms that a text ends with.

        Raises:
            InputError: A term that is none, stands twice, or has no such value.
        """
        terms: dict[str, Decimal | int | bool] = {}
        while text[start:].strip():
            term = _TERM.match(text, start)
            if term is None:
                raise refuse(text, start, "here another term may stand", f"terms are {TERMS}")
            name = (term[1] or term[2]).lower()
            if name in terms:
                raise refuse(text, start, f"{name} stands twice", "leave one out")
            terms[name] = True if term[1] else _value(text, term.start(3), name, term[3])
            start = term.end()
        return Terms(**terms)  # type: ignore[arg-type]  # each has the type of its name

    @staticmethod
    def joined(several: Iterable[Terms]) -> Terms:
        """Give the terms of all questions of a plan, which are said behind any of them.

        Raises:
            InputError: Two of them differ.
        """
        joined: dict[str, Decimal | int | bool] = {}
        for terms in several:
            for one in fields(terms):
                value = getattr(terms, one.name)
                if value is None or value is False:
                    continue
                if joined.setdefault(one.name, value) != value:
                    what = f"{one.name} {joined[one.name]} and {one.name} {value}"
                    raise InputError(f"{what} are both asked for", f"a plan has one {one.name}, for all its questions")
        return Terms(**joined)  # type: ignore[arg-type]  # each has the type of its name


NO_TERMS = Terms()


def _value(text: str, at: int, name: str, written: str) -> Decimal | int:
    """Read the number of a term."""
    value = number(written.removesuffix("%"))
    if value is None:
        what = f"'{short(written)}' is not a number" if written else "a number is missing"
        raise refuse(text, at, what, f"terms are {TERMS}")
    if name == "round":
        if value < 1 or value != value.to_integral_value() or written.endswith("%"):
            raise refuse(text, at, f"a round of {written} tasks", "it is a whole number, 1 at least")
        return int(value)
    share = value.scaleb(-2) if written.endswith("%") else value
    closed = name == "expect"
    inside = 0 <= share <= 1 if closed else 0 < share < 1
    if not inside:
        raise refuse(text, at, f"{name} is {written}, outside {'[0, 1]' if closed else '(0, 1)'}")
    return share.normalize()
