"""The options that describe a ranking besides its source."""

from __future__ import annotations

from dataclasses import dataclass

from streameval.errors import InputError
from streameval.types import Plan


@dataclass(frozen=True)
class RankingOptions:
    """What describes a ranking besides its source; kept in plan.json and used ever after.

    Attributes:
        score: Score column; None means that the stored order is the ranking.
        ascending: Whether small scores come first.
        key: Columns that identify items: ties in score are broken by their hash, which survives re-ordering of the
            rows.
        nan ({"refuse", "last"}): What becomes of items whose score is null or NaN.
        file_order ({None, "natural", "lexical"}): Order of a folder's files where `part_2`, `part_10` and their like
            make the two differ.
        where: Condition on partition keys, in SQL: files that it rules out are no part of the ranking.
        memory: GB that reading may take beyond what is selected.
        threads: Readers at work at once; None means one per core.
        verify ({"on", "off"}): Whether checksums of pages, and statistics, are compared with what is read.
    """

    score: str | None = None
    ascending: bool = False
    key: tuple[str, ...] = ()
    nan: str = "refuse"
    file_order: str | None = None
    where: str | None = None
    memory: float = 2.0
    threads: int | None = None
    verify: str = "on"

    def __post_init__(self) -> None:
        """Check every value."""
        if self.file_order not in (None, "natural", "lexical"):
            raise InputError(f"file order is '{self.file_order}'", "it is 'natural' (2 before 10) or 'lexical'")
        if not 0 < self.memory < 1e6:
            raise InputError(f"memory is {self.memory}", "give gigabytes, such as 2")
        if self.threads is not None and self.threads < 1:
            raise InputError(f"threads is {self.threads}, below 1")
        if self.nan not in ("refuse", "last"):
            raise InputError(f"nan is '{self.nan}'", "it is 'refuse' or 'last'")
        if self.verify not in ("on", "off"):
            raise InputError(f"verify is '{self.verify}'", "it is 'on' or 'off'")
        if self.score is None and (self.ascending or self.key or self.nan != "refuse"):
            raise InputError("an order by score was described without a score column", "name it with --score COL")

    @staticmethod
    def of(plan: Plan) -> RankingOptions:
        """Return the options that a plan was made with."""
        return RankingOptions(
            score=plan.ranking.get("score"),
            ascending=bool(plan.ranking.get("ascending", False)),
            key=tuple(plan.ranking.get("key", ())),
            nan=plan.ranking.get("nan", "refuse"),
            file_order=plan.location.get("file_order"),
            where=plan.ranking.get("where"),
            memory=float(plan.location.get("memory", 2.0)),
            threads=plan.location.get("threads"),
            verify=plan.location.get("verify", "on"),
        )
