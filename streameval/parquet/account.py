"""Account of what reading took, and forecast of what it would take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Fallback:
    """A column that was read in a slower way than by its page index, and how many row groups and files it concerns."""

    column: str
    why: str
    row_groups: int
    files: int


@dataclass(frozen=True)
class Forecast:
    """Forecast of what fetching would read.

    Attributes:
        files, row_groups: That hold wanted items; those that may, in an order by score.
        pages: Of all columns; 0 where a scan has to find the items first.
        bytes: Of these pages, and of the column chunks that have no page index.
        whole_chunks: Column chunks without a page index.
        rows_to_scan: Rows whose scores have to be read to find the items.
        least_scans: Times that they are read at least.
    """

    files: int = 0
    row_groups: int = 0
    pages: int = 0
    bytes: int = 0
    whole_chunks: int = 0
    rows_to_scan: int = 0
    least_scans: int = 0


def total(forecasts: Sequence[Forecast]) -> Forecast:
    """Add up forecasts of parts of one fetch."""
    names = [field.name for field in fields(Forecast)]
    return Forecast(**{name: sum(getattr(forecast, name) for forecast in forecasts) for name in names})
