"""The options of an evaluation of many rankings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from streameval.errors import InputError
from streameval.options import check_words, option

_MOST_CUTOFFS = 20


@dataclass(frozen=True)
class PerRanking:
    """How a list of many rankings is evaluated."""

    per: tuple[str, ...] = option(
        (),
        "Columns, separated by commas, that name the ranking of a row (a query, a user), which is evaluated by itself.",
    )
    at: tuple[str, ...] = option(("1", "10", "100"), "Cutoffs, separated by commas.", shown="1,10,100")
    gain: Literal["linear", "exponential"] = option(
        "linear", "Gain of a label in nDCG: the label, or 2^label - 1. Labels are whole numbers from 0 to 127."
    )
    no_positives: Literal["zero", "skip"] = option(
        "zero", "Rankings without a positive count as 0 in the means, or are left out; both are always given."
    )
    item: str | None = option(None, "Column that names the item: a ranking that holds one twice is refused.")
    ties: Literal["all", "trec_eval", "scikit-learn"] = option(
        "all",
        "all: every order of tied items. trec_eval: by --item as text, the largest first, and scores as 32-bit floats. "
        "scikit-learn: thresholds for average precision, and for AUC and nDCG the mean over all orders.",
    )
    positives: Any = option(
        None,
        "Parquet file with a row for each positive that a ranking never returned: its --per columns, --label.",
    )

    def __post_init__(self) -> None:
        """Check every value."""
        check_words(self)
        for name in ("per", "at"):
            object.__setattr__(self, name, listed(getattr(self, name)))
        if len(set(self.per)) < len(self.per):
            raise InputError(f"per names a column twice: {', '.join(self.per)}", "name each once")
        if self.ties == "trec_eval" and self.item is None:
            raise InputError("trec_eval orders tied items by their names", "name their column with --item COL")
        _ = self.cutoffs

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """Cutoffs as numbers, ascending."""
        return cutoffs_of(self.at)


def listed(given: Any) -> tuple[str, ...]:
    """Read names or numbers: a list of them, one, or a text in which commas separate them."""
    several = given if isinstance(given, Iterable) and not isinstance(given, str) else str(given).split(",")
    texts = (str(one).strip() for one in several)
    return tuple(one for one in texts if one)


def cutoffs_of(at: tuple[str, ...]) -> tuple[int, ...]:
    """Read cutoffs; an `InputError` where one is no whole number, or below 1."""
    found = set()
    for one in at:
        if not one.isdecimal():
            raise InputError(f"at is {one!r}, no whole number from 1", "such as --at 1,10,100")
        if int(one) < 1:
            raise InputError(f"at is {one}, below 1", "the first item is at 1")
        if int(one) > 10**9:
            raise InputError(f"at is {one}, above 1,000,000,000")
        found.add(int(one))
    if not found:
        raise InputError("at names no cutoff", "such as --at 1,10,100")
    if len(found) > _MOST_CUTOFFS:
        raise InputError(f"at names {len(found)} cutoffs", f"give {_MOST_CUTOFFS} at most")
    return tuple(sorted(found))
