"""The options of a comparison of two rankings of the same items, label by label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from streameval.errors import InputError
from streameval.options import listed, option
from streameval.questions.asking import CONFIDENCE
from streameval.questions.cutoffs import Cutoff
from streameval.text.options import flag

_KINDS = ("rank", "share", "score")
_COMPARED = "compare at ranks and scores (1000, 1%, score:0.7)"
_RETIRED = ("every", "dcg", "rbp", "log_mean_precision")
MOST_CUTOFFS = 50


@dataclass(frozen=True)
class Comparing:
    """How a ranking is compared with another one of the same items.

    Attributes:
        confidence: With which the bounds at all cutoffs hold together, at any moment.
        min_precision: Of the items that changed, as it is expected; with a judge, the share of them that it gets right.
            Only the number of labels depends on it.
        judge: Column that says of every item whether it is positive; it may be wrong.
    """

    against: Any = option(
        None,
        "The same list in another order, or another list with the same --key: only items that one top alone holds are "
        "labelled.",
    )
    against_score: str | None = option(
        None,
        "Score of the other ranking (default: its stored order, or where it is another list, the column of --score).",
    )
    at: tuple[str, ...] | None = option(
        None,
        "Cutoffs, separated by commas, at which they are compared (default: powers of 10).",
    )
    within: str | float = option("0.01", "How near bounds on the difference in precision are to lie.", shown="0.01")
    look: Literal["both", "one", "any"] = option(
        "both",
        "When bounds are looked at: one: once all are labelled. any: after every label. both: mostly for the end, and "
        "some for before.",
    )
    engine: Any = option(
        "local",
        "What reads both lists: local, spark or spark:sc://HOST:15002. What is found does not depend on it.",
    )
    confidence: str | float = CONFIDENCE
    min_precision: float = 0.5
    judge: str | None = None

    def __post_init__(self) -> None:
        """Check every value, and read the cutoffs."""
        for name in ("within", "confidence"):
            object.__setattr__(self, name, _share(name, getattr(self, name)))
        if not 0 < self.min_precision < 1:
            raise InputError(f"--min-precision is {self.min_precision}, outside (0, 1)")
        if self.at is not None:
            object.__setattr__(self, "at", listed(self.at))
            _ = self.cutoffs

    @property
    def cutoffs(self) -> tuple[Cutoff, ...] | None:
        """Cutoffs as they were asked for; None where nothing was said."""
        if self.at is None:
            return None
        cutoffs = tuple(dict.fromkeys(map(_cutoff, self.at)))
        if not self.at:
            raise InputError("--at names no cutoff", "such as --at 1000,10000")
        if len(cutoffs) > MOST_CUTOFFS:
            raise InputError(f"--at names {len(cutoffs)} cutoffs", f"give {MOST_CUTOFFS} at most")
        return cutoffs

    @property
    def half_width(self) -> float:
        """Half-width of the bounds on the difference in precision."""
        return float(self.within)

    @property
    def certainty(self) -> float:
        """The confidence, as a number."""
        return float(self.confidence)


def powers_of_ten(n_items: int) -> Sequence[Cutoff]:
    """Ranks 10, 100 … within a list; its last rank where it has fewer than ten."""
    ranks = [10**exponent for exponent in range(1, 19) if 10**exponent <= n_items] or [n_items]
    return [Cutoff("rank", rank) for rank in ranks]


def _cutoff(text: str) -> Cutoff:
    if text.strip().lower().startswith(_RETIRED):
        raise InputError(f"--at is {text}, and rankings are compared at cutoffs only", _COMPARED)
    if text.strip().replace("_", "").isalpha():
        raise InputError(f"--at is {text}", _COMPARED)
    try:
        cutoff = Cutoff.of(text)
    except InputError as error:
        raise InputError(f"--at is {error.what}", error.hint or _COMPARED) from error
    if cutoff.kind not in _KINDS:
        raise InputError(f"--at is {cutoff}", _COMPARED)
    return cutoff


def _share(name: str, value: str | float) -> str:
    """A decimal between 0 and 1, as it was typed; 2% is 0.02."""
    text = str(value).strip()
    try:
        number = Decimal(text.removesuffix("%")).scaleb(-2 if text.endswith("%") else 0)
    except InvalidOperation:
        number = Decimal("nan")
    if not (number.is_finite() and 0 < number < 1):
        raise InputError(
            f"{flag(name)} is {value}, outside (0, 1)", "such as 0.01" if name == "within" else "0.95 is usual"
        )
    return f"{number.normalize():f}"
