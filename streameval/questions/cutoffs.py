"""Cutoffs: where a list is cut, as people write it and as it is printed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal, cast

from streameval.errors import InputError, closest
from streameval.text import short

CutoffKind = Literal["rank", "share", "score", "precision", "recall", "fpr", "max_f"]
FORM = "a cutoff is a number, 1%, score:0.7, precision:0.9 or recall:0.5"
LAST_RANK = "ask at a rank of the list, or at a share of it: @10%"
_VALUED = ("score", "precision", "recall", "fpr")
_MOST = 2**63 - 1
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[-+]?\d{1,3})?", re.IGNORECASE | re.ASCII)
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
_EITHER = re.compile(r"[1-9]\d{0,2},[1-9]\d\d", re.ASCII)  # no number is printed so: separators begin at a million
_SPACED, _COMMA = re.compile(r"\s*,\s+|\s+,"), re.compile(",")


@dataclass(frozen=True)
class Cutoff:
    """Place at which a list is cut.

    Attributes:
        kind: "rank": after so many items. "share": after that part of the list. "score": after the items of that score
            or a better one. "precision": at the deepest rank that has it. "recall": at the first rank that has it.
            "fpr": up to that false positive rate, of areas under the ROC curve.
            "max_f": at the rank whose F_β is the largest, which only `cut` understands.
        value: int, at least 1, of a rank; Decimal in (0, 1] of a share, precision, recall (or 0) or rate; text of a
            score; Decimal β of "max_f".

    >>> print(Cutoff.parse("1e6"), Cutoff.parse("1%"), Cutoff.parse("score:.70"), Cutoff.parse(10_000))
    1,000,000 1% score:0.7 10000
    """

    kind: CutoffKind
    value: int | Decimal | str

    @staticmethod
    def parse(value: object) -> Cutoff:
        """Read one cutoff, given as text or, of a rank, as a whole number.

        Raises:
            InputError: It is none, or several.
        """
        if isinstance(value, Cutoff):
            return value
        text = str(value)
        if _EITHER.fullmatch(text.strip()):  # it cannot be two here
            text = text.replace(",", "_")
        cutoffs = list(parse(text, 0, len(text)))
        if len(cutoffs) != 1:
            raise refuse(text, 0, "this takes one cutoff")
        return cutoffs[0]

    def __str__(self) -> str:
        if self.kind == "share":
            return f"{plain(Decimal(self.value).scaleb(2))}%"
        value = self.value if isinstance(self.value, str) else plain(Decimal(self.value))
        return {"rank": value, "max_f": f"max_f{value}"}.get(self.kind, f"{self.kind}:{value}")

    @property
    def share(self) -> Fraction:
        """The share, precision, recall or rate, exactly."""
        return Fraction(self.value)

    def rank_in(self, n_items: int) -> int | None:
        """The rank that a number or a share stands for in a list of N items; None of other kinds.

        A share is rounded down, though not to nothing.

        Raises:
            InputError: A rank beyond the list.
        """
        if self.kind == "share":
            return max(1, int(self.share * n_items))
        if self.kind != "rank":
            return None
        if int(self.value) > n_items:
            raise InputError(f"rank {int(self.value):,} is outside 1..{n_items:,}", LAST_RANK)
        return int(self.value)


def refuse(text: str, at: int, what: str, hint: str | None = None) -> InputError:
    """Say what is wrong in a text, and at which column, after any blanks; `at` counts from 0."""
    blanks = len(text[at:]) - len(text[at:].lstrip())
    return InputError(f"{short(text, 100)}: {what} (at column {at + blanks + 1}).", hint)


def number(text: str) -> Decimal | None:
    """Read a decimal, with or without separators between groups of three digits; None where it is none.

    >>> number("900,000"), number("1e4"), number("1,00")
    (Decimal('900000'), Decimal('1E+4'), None)
    """
    bare = text.strip()
    if not (_NUMBER.fullmatch(bare) or _GROUPED.fullmatch(bare)):
        return None
    value = Decimal(bare.replace(",", "").replace("_", ""))
    return (value or Decimal(0)) if math.isfinite(float(value)) else None


def plain(value: Decimal) -> str:
    """Write a decimal without exponent or idle zeros, and with separators from a million on.

    >>> plain(Decimal("9.0e-1")), plain(Decimal("1e4")), plain(Decimal("1e6"))
    ('0.9', '10000', '1,000,000')
    """
    return _trim(f"{value:,f}" if abs(value) >= 10**6 else f"{value:f}")


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def parse(text: str, start: int, end: int) -> Iterator[Cutoff]:
    """Read the cutoffs in a part of a text, which are separated by commas.

    A comma before exactly three digits separates thousands where all groups are so; one with a space beside it never
    does. What could be two cutoffs, such as 10,300, is refused: where options list cutoffs it is two.

    Raises:
        InputError: What stands there is no cutoff; commas that can be read in two ways.
    """
    for first, last in _split(text, start, end, _SPACED):
        whole = _GROUPED.fullmatch(text[first:last].strip())
        if whole and _EITHER.fullmatch(whole[0]):
            joined, apart = whole[0].replace(",", "_"), whole[0].replace(",", ", ")
            raise refuse(text, first, f"{whole[0]} is one cutoff or two", f"write {joined} for one, {apart} for two")
        for begin, stop in [(first, last)] if whole else _split(text, first, last, _COMMA):
            if not whole and "," in text[first:last] and re.fullmatch(r"0\d*", text[begin:stop]):
                hint = "its commas separate thousands or cutoffs: write 1000 for 1,000, and a space between cutoffs"
                raise refuse(text, first, hint)
            yield _parse_one(text, begin, stop)


def _split(text: str, start: int, end: int, comma: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    for separator in comma.finditer(text, start, end):
        yield start, separator.start()
        start = separator.end()
    yield start, end


def _parse_one(text: str, start: int, end: int) -> Cutoff:
    kind, colon, value = text[start:end].strip().partition(":")
    if colon:
        return _parse_at(text, start, kind.lower(), value.strip())
    if best := re.fullmatch(r"max_f(\d{1,6}(?:\.\d{1,12})?)", kind, re.ASCII):
        return Cutoff("max_f", Decimal(best[1]))
    if kind.endswith("%"):
        return Cutoff("share", read_share(text, start, "a share of the list", kind))
    rank = number(kind)
    if rank is None or rank != rank.to_integral_value():
        raise refuse(text, start, FORM, _meant(kind, rank))
    if re.fullmatch(r"\d{1,3}\.\d{3}", kind, re.ASCII):
        whole = kind.replace(".", "")
        raise refuse(text, start, f"{kind} is {whole} or {plain(rank)}", f"write {whole}, or {plain(rank)}")
    if rank < 1:
        hint = "write 1000 for 1,000 in a list of cutoffs" if kind == "000" else None
        raise refuse(text, start, f"rank {kind} is below 1, the rank of the best item", hint)
    if rank > _MOST:
        raise refuse(text, start, f"rank {kind} is beyond any list")
    return Cutoff("rank", int(rank))


def _meant(written: str, value: Decimal | None) -> str | None:
    """Say what may be meant by what is no cutoff: a share of something, the first of a list, or a value behind =."""
    if value is not None and 0 < value < 1:
        return f"say of what: precision:{written}, recall:{written} or score:{written}"
    if (first := re.fullmatch(r"(?:top|first|rank)[-_]?(\d+)", written.lower())) is not None:
        return f"the first {first[1]} items are @{first[1]}"
    kind, _, behind = written.partition("=")
    return f"such as {kind}:{behind or 0.9}" if kind.lower() in _VALUED else None


def _parse_at(text: str, start: int, kind: str, value: str) -> Cutoff:
    """Read a cutoff at a score, a precision, a recall or a false positive rate."""
    if kind in ("precision", "recall", "fpr"):
        return Cutoff(cast(CutoffKind, kind), read_share(text, start, kind, value))
    if kind != "score" or not re.fullmatch(r"[^\s,<>=]+", value):
        raise refuse(text, start, FORM, None if kind == "score" else closest(kind, _VALUED))
    score = number(value)
    return Cutoff("score", value if score is None else _trim(f"{score:f}"))


def read_share(text: str, start: int, what: str, written: str) -> Decimal:
    """Read a part of 1, as a decimal or a percentage; an `InputError` says what it is to be.

    Only a recall may be 0: precision there is the highest of all ranks, and the first of the eleven points.
    """
    value = number(written.removesuffix("%"))
    if value is None:
        raise refuse(text, start, f"{what} is '{written}', not a number")
    share = value.scaleb(-2) if written.endswith("%") else value
    from_zero = what == "recall"
    if not 0 <= share <= 1 or not (float(share) or (from_zero and not share)):
        raise refuse(text, start, f"{what} is {written}, outside {'[' if from_zero else '('}0, 1]")
    return share
