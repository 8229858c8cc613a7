"""Forecasts: what a verb would read and write, without doing it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streameval.errors import InputError, did_you_mean
from streameval.labelling.readers import is_address
from streameval.parquet.account import Forecast
from streameval.parquet.files import DataFile
from streameval.parquet.footers import read_footer
from streameval.rankings import open_ranking
from streameval.rankings.forecasts import forecast_columns, forecast_top
from streameval.rows.options import RankingOptions
from streameval.stores import is_remote, store_of
from streameval.study import Study
from streameval.text.credentials import masked_source
from streameval.types import Plan
from streameval.verbs.items import MANIFEST, Cut, Target, already_written, refuse_inside, refuse_taken
from streameval.verbs.select import fetched_before, open_planned, shown_columns


@dataclass(frozen=True)
class Source:
    """A label table that would be read.

    Attributes:
        bytes: None for a query.
        rows: Where a footer says so: of Parquet.
    """

    source: str
    bytes: int | None
    rows: int | None


def forecast(
    study: str | os.PathLike[str], *, ranking: Any = None, columns: Sequence[str] | None = None
) -> tuple[Plan, Forecast]:
    """Forecast what `select` would read, from footers and page indexes; nothing is written; errors as in `select`."""
    folder = Study(Path(study))
    plan = folder.plan()
    opened = open_planned(plan, ranking)
    names = shown_columns(plan, opened, columns)
    there = fetched_before(folder, plan, names)
    return plan, opened.forecast(plan.ranks, names) if there is None else Forecast()


def forecast_cut(cut: Cut, out: str | os.PathLike[str], *, order: str = "storage") -> tuple[Forecast, list[str]]:
    """Forecast what `Cut.write` would read, and where it would write: nowhere, where the same cut is already."""
    target = Target(out, order)
    refuse_inside(target, cut.plan)
    if already_written(cut, target) is not None:
        return Forecast(), []
    refuse_taken(target)
    ranking = open_planned(cut.plan)
    return forecast_top(ranking, cut.rank), [f"{target.place}/part-*.parquet", f"{target.place}/{MANIFEST}"]


def forecast_exact(ranking: Any, options: RankingOptions, label: str | None) -> tuple[int, Forecast]:
    """Forecast what `exact` would read of a list: its labels, unless they lie beside it, and its scores; and N."""
    opened = open_ranking(ranking, options)
    known = opened.columns()
    if label is not None and label not in known:
        raise InputError(f"the ranking has no column '{label}'", did_you_mean(label, known))
    names = [name for name in (label, options.score) if name is not None]
    return opened.n_items, forecast_columns(opened, names)


def forecast_labels(sources: Sequence[str]) -> list[Source]:
    """Say how large label tables are, by paths and addresses; queries are not run."""
    return [Source(_shown(source), *_size(source)) for source in sources]


def _shown(source: str) -> str:
    return masked_source(source.partition("#")[0]) if is_address(source) else source


def _size(source: str) -> tuple[int | None, int | None]:
    if is_address(source):
        return None, None
    if not is_remote(source) and not os.path.isfile(source):
        raise InputError(f"{source}: no such file")
    with store_of(source).open(source) as file:
        size = file.state[0]
        ends = bytes(file.read([(max(0, size - 4), 4)])[0])
    if ends != b"PAR1":
        return size, None
    return size, int(read_footer(DataFile(source, source, ()), None).row_group_rows.sum())
