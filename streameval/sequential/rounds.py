"""Tables of what was asked for, round by round, and of what is to be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from streameval.sequential import DrawnItems
from streameval.sequential.hash_order import Placed
from streameval.sequential.pool import EMPTY
from streameval.typing import BoolArray, FloatArray, Int64Array

AHEAD = pa.schema({"rank": pa.int64(), "order": pa.float64()})
NOTHING = DrawnItems(EMPTY, AHEAD.empty_table())


def places_of(table: pa.Table) -> Placed:
    """Ranks and places of items; of those of a pilot, which have no place, NaN."""
    return Placed(table["rank"].to_numpy(), np.asarray(table["order"].to_numpy(), float))


def without_place(ranks: Int64Array) -> Placed:
    """Items of a pilot."""
    return Placed(ranks, np.full(ranks.size, np.nan))


def ahead(drawn: DrawnItems, items: Placed) -> DrawnItems:
    """Put items among those that are to be asked for."""
    table = pa.table({"rank": items.rank, "order": items.order}, schema=AHEAD)
    return replace(drawn, ahead=pa.concat_tables([drawn.ahead, table]))


def next_round(drawn: DrawnItems, size: int | None) -> DrawnItems:
    """Ask for the next `size` items, in their order; for all that there are where it is None."""
    items = places_of(drawn.ahead)
    order = np.argsort(items.order, kind="stable")  # NaN last: a pilot is by itself
    now, later = order[:size], np.sort(order[len(order[:size]) :])
    columns = {"rank": items.rank[now], "round": np.full(now.size, drawn.rounds + 1), "order": items.order[now]}
    table = pa.concat_tables([drawn.table, pa.table(columns, schema=EMPTY.schema)]).sort_by("rank")
    return replace(drawn, table=table, ahead=drawn.ahead.take(later))


def is_pilot(order: FloatArray) -> BoolArray:
    """Tell which items were asked for by a pilot."""
    return np.isnan(order)
