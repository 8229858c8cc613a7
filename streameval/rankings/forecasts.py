"""What reading items or columns of a list whole would take, found out from its footers alone."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from streameval.kernels import parquet as kernels
from streameval.order.scan import Unit
from streameval.parquet.chunks import OpenFile
from streameval.parquet.footers import Footer
from streameval.parquet.forecast import Forecast, total
from streameval.rankings import Ranking
from streameval.rankings.by_score import ScoredRanking, scans_of
from streameval.rows.lake import LakeRanking
from streameval.rows.parquet import StoredRanking


def forecast_leading(ranking: Ranking, last_rank: int) -> Forecast:
    """Say what reading the items of ranks 1..`last_rank` would take; by score, what the scans for them would.

    Raises
    ------
    InputError
        A file that changed or is damaged.
    """
    ranking = ranking.opened if isinstance(ranking, LakeRanking) else ranking
    if isinstance(ranking, ScoredRanking):
        return scans_of(_down_to(ranking, last_rank))
    return _whole(ranking, ranking.columns(), last_rank)


def forecast_columns(ranking: Ranking, columns: Sequence[str]) -> Forecast:
    """Say what reading some columns of all items would take.

    Raises
    ------
    InputError
        A file that changed or is damaged.
    """
    ranking = ranking.opened if isinstance(ranking, LakeRanking) else ranking
    rows = ranking.rows if isinstance(ranking, ScoredRanking) else ranking
    return _whole(rows, columns, rows.n_items)


def _down_to(ranking: ScoredRanking, last_rank: int) -> list[Unit]:
    """Units that may hold one of the first ranks."""
    units = list(ranking.units)
    if ranking.bounds is None:
        return units
    best, worst = ranking.bounds
    there = {unit.first_position for unit in ranking.scan_for(np.array([last_rank])).units}
    holds = np.array([unit.first_position in there for unit in units])
    return [unit for unit, first in zip(units, best.tolist(), strict=True) if first <= worst[holds].max()]


def _whole(rows: Ranking, columns: Sequence[str], last_rank: int) -> Forecast:
    if not isinstance(rows, StoredRanking):
        return Forecast()
    wanted: list[tuple[Footer, int]] = []
    before = 0
    for footer in rows.footers:
        begins = before + np.cumsum(footer.row_group_rows) - footer.row_group_rows
        wanted.append((footer, int(np.count_nonzero((begins < last_rank) & (footer.row_group_rows > 0)))))
        before += int(footer.row_group_rows.sum())
    with ThreadPoolExecutor(rows.threads) as pool:
        return total(list(pool.map(lambda one: _of_file(one[0], one[1], columns), [one for one in wanted if one[1]])))


def _of_file(footer: Footer, groups: int, columns: Sequence[str]) -> Forecast:
    names = [name for name in dict.fromkeys(columns) if name in footer.schema.names]
    with OpenFile(footer) as file:
        found = file.chunks(footer, range(groups), names)
        sizes = [int(chunk.facts[kernels.COMPRESSED]) for of in found for leaf in of for chunk in leaf]
    return Forecast(files=1, row_groups=groups, bytes=sum(sizes), whole_chunks=len(sizes))
