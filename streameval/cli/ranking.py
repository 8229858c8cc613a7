"""Flags that describe a ranking."""

from __future__ import annotations

from streameval.cli.options import Flags, flags_of
from streameval.cli.panels import LABELS, MANY, RANKING, READING
from streameval.labelling.options import LabelMeaning
from streameval.queries.options import PerRanking
from streameval.rows.options import RankingOptions


class ListFlags(Flags):
    """What describes a list whose every item has a score, or that is stored in its order."""

    def options(self) -> RankingOptions:
        """Return what the library takes."""
        return RankingOptions(**self.given())


_READING = dict.fromkeys(("memory", "threads", "verify"), READING)


@flags_of(RankingOptions, panel=RANKING, panels=_READING)
class RankingFlags(ListFlags):
    """What describes the ranking; kept in plan.json."""


_KEY = "Columns, separated by commas, whose hash breaks ties in score; with --per the one that names the item."


@flags_of(RankingOptions, panel=RANKING, panels=_READING, without=["nan"], helps={"key": _KEY})
class ScoredFlags(ListFlags):
    """What describes a list whose every item has a score, or that is stored in its order."""


@flags_of(RankingOptions, panel=RANKING, without=["ascending", "key", "nan", "memory", "threads", "verify"])
class CountedFlags(ListFlags):
    """What a list may need to be opened, whose items are only counted."""


@flags_of(PerRanking, panel=MANY)
class ManyFlags(Flags):
    """How a list of many rankings is evaluated."""


@flags_of(LabelMeaning, panel=LABELS)
class MeaningFlags(Flags):
    """Which labels of a list are positive."""
