"""The options that describe a ranking besides its source."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from streameval.errors import InputError
from streameval.options import check_types, listed, option, own_of

if TYPE_CHECKING:
    from streameval.types import Plan

NEEDS_SCORE = "every item needs a score; plan with --nan=last puts these last"  # whatever reads the list


@dataclass(frozen=True)
class RankingOptions:
    """Description of a ranking besides its source; kept in plan.json and used ever after.

    Ties are broken by a hash of `key`, which survives re-ordering of the rows. Files that `where` rules out are no part
    of the ranking. Verbs take `score` and `ascending` as one (`order_typed`).
    """

    score: str | None = option(None, "Column whose order is the ranking, largest first (--score=-loss: smallest).")
    ascending: bool = False
    key: tuple[str, ...] = option(
        (),
        "Columns (a,b) whose hash breaks ties in score.",
    )
    nan: Literal["refuse", "last"] = option(
        "refuse",
        "What to do with null or NaN scores.",
    )
    file_order: Literal["natural", "lexical"] | None = option(
        None, "Order of files where part_2 and part_10 make it unclear."
    )
    where: str | None = option(None, "Condition on partition keys, in SQL: day >= '2026-11-01'.")
    memory: float = option(
        2.0, "GB that reading may take beyond what is selected, and up to 0.7 of the program itself."
    )
    threads: int | None = option(None, "Readers at work at once (default: one per core).")
    verify: Literal["on", "off"] = option(
        "on", "Whether what is read is checked against checksums and statistics; off reads damaged files too."
    )

    def __post_init__(self) -> None:
        """Check every value."""
        check_types(self)
        object.__setattr__(self, "key", listed(self.key))
        if not 0 < self.memory < 1e6:
            raise InputError(f"--memory is {self.memory}", "give gigabytes, such as 2")
        if self.threads is not None and self.threads < 1:
            raise InputError(f"--threads is {self.threads}, below 1")

    @property
    def order_of_files(self) -> Literal["natural", "lexical"] | None:
        """The order of files; where scores order the items and a key those of one score, nothing else depends on it."""
        return self.file_order or ("natural" if self.score and self.key else None)

    @property
    def typed_score(self) -> str | None:
        """Write the score as it is typed."""
        return typed_score(self.score, self.ascending)

    @staticmethod
    def from_plan(plan: Plan) -> RankingOptions:
        """Return the options that a plan was made with."""
        values = {**plan.ranking, **plan.location, "key": tuple(plan.ranking.get("key", ()))}
        return RankingOptions(
            **{field.name: values[field.name] for field in fields(RankingOptions) if field.name in values}
        )


def order_typed(score: str | None) -> dict[str, Any]:
    """Read a score as it is typed: behind a minus, small ones come first.

    >>> order_typed("-loss"), order_typed("conf")
    ({'score': 'loss', 'ascending': True}, {'score': 'conf', 'ascending': False})
    """
    ascending = score is not None and len(score) > 1 and score.startswith("-")
    return {"score": score[1:] if ascending and score else score, "ascending": ascending}


def typed_score(score: str | None, ascending: bool) -> str | None:
    """Write a score as it is typed."""
    return f"-{score}" if ascending and score is not None else score


def take_ranking_options(options: RankingOptions | None, raw_options: dict[str, Any]) -> RankingOptions:
    """Take what describes a ranking out of other options, upon what was described at once.

    >>> take_ranking_options(RankingOptions(threads=2), {"score": "conf", "budget": 500}).score
    'conf'

    Raises:
        InputError: What was described at once says otherwise.
    """
    if raw_options.get("ascending") is not None:
        raise InputError("ascending is no option any more", "--score=-COL puts small scores first")
    named, base = own_of(RankingOptions, raw_options), options or RankingOptions()
    named |= order_typed(named["score"]) if "score" in named else {}
    whole = replace(base, **named)
    for name in named:
        before, now = getattr(base, name), getattr(whole, name)
        if before not in (getattr(RankingOptions, name), now):
            raise InputError(f"{name} is {now!r}, and {before!r} in options", "say it once")
    return whole
