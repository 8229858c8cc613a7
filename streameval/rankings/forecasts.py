"""Forecasts of reading the top of a list, or the labels of all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from streameval.errors import InputError, did_you_mean
from streameval.order.by_score import ByScore, scans_of
from streameval.parquet.account import Forecast
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rows.options import RankingOptions
from streameval.scans.units import Unit, parts_of


def forecast_top(ranking: Ranking, last_rank: int) -> Forecast:
    """Forecast reading the items of ranks 1..`last_rank`; by score, the scans for them."""
    if ranking.order is not None:
        return scans_of(_down_to(ranking.order, last_rank))
    return ranking.rows.forecast_first(last_rank, ranking.columns())


def forecast_exact(ranking: Any, options: RankingOptions, names: Sequence[str]) -> tuple[int, Forecast]:
    """Forecast what `exact` would read of a list: columns of these names, and its scores; and N."""
    opened = open_ranking(ranking, options)
    columns = opened.columns()
    for name in names:
        if name not in columns:
            raise InputError(f"the ranking has no column '{name}'", did_you_mean(name, columns))
    read = dict.fromkeys([*names, *([] if options.score is None else [options.score])])
    return opened.n_items, opened.rows.forecast_first(opened.n_items, list(read))


def _down_to(order: ByScore, last_rank: int) -> list[Unit]:
    """Units that may hold one of the first ranks."""
    units = list(order.units)
    if order.bounds is None:
        return units
    best, worst = order.bounds
    there = {unit.first_position for unit in parts_of(order.scan_for(np.array([last_rank])).units)}
    holds = np.array([unit.first_position in there for unit in units])
    return [unit for unit, first in zip(units, best.tolist(), strict=True) if first <= worst[holds].max()]
