"""Forecasts of reading the top of a list, or some of its columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streameval.order.by_score import ByScore, scans_of
from streameval.parquet.account import Forecast
from streameval.rankings.ranking import Ranking
from streameval.rows.units import Unit


def forecast_top(ranking: Ranking, last_rank: int) -> Forecast:
    """Forecast reading the items of ranks 1..`last_rank`; by score, the scans for them."""
    if ranking.order is not None:
        return scans_of(_down_to(ranking.order, last_rank))
    return ranking.rows.forecast_first(last_rank, ranking.columns())


def forecast_columns(ranking: Ranking, columns: Sequence[str]) -> Forecast:
    """Forecast reading some columns of all items."""
    return ranking.rows.forecast_first(ranking.n_items, columns)


def _down_to(order: ByScore, last_rank: int) -> list[Unit]:
    """Units that may hold one of the first ranks."""
    units = list(order.units)
    if order.bounds is None:
        return units
    best, worst = order.bounds
    there = {unit.first_position for unit in order.scan_for(np.array([last_rank])).units}
    holds = np.array([unit.first_position in there for unit in units])
    return [unit for unit, first in zip(units, best.tolist(), strict=True) if first <= worst[holds].max()]
