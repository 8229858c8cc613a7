"""From votes to labels: the majority decides."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import numpy as np
import pyarrow as pa

from streameval.types import Int64Array, Labels, Plan


def tally(plan: Plan, votes: Sequence[pa.Table]) -> Labels:
    """Count the votes of every planned rank; the majority decides, a tie is no label.

    Parameters
    ----------
    votes : sequence of pyarrow.Table
        As in `Votes.table`.

    Returns
    -------
    Labels
        `account`: planned, votes, blank (votes without a label), labelled, missing (planned ranks without a label),
        positive, doubled (ranks with several equal votes), contradictory (ranks with unequal votes), undecided (ties).
    """
    given = pa.concat_tables([table.select(["rank", "label"]) for table in votes]) if votes else _NO_VOTES
    with duckdb.connect() as connection:
        connection.register("planned", pa.table({"rank": plan.ranks}))
        connection.register("given", given)
        counted = connection.sql(
            """SELECT planned.rank AS rank, count(label)::BIGINT AS votes, coalesce(sum(label), 0)::BIGINT AS positive
               FROM planned LEFT JOIN given ON planned.rank = given.rank GROUP BY planned.rank ORDER BY planned.rank"""
        ).to_arrow_table()
    count: Int64Array = counted.column("votes").to_numpy()
    positive: Int64Array = counted.column("positive").to_numpy()
    label = np.where(2 * positive > count, 1, np.where(2 * positive < count, 0, -1)).astype(np.int8)
    mixed = (positive > 0) & (positive < count)
    account = {
        "planned": int(count.size),
        "votes": int(count.sum()),
        "blank": int(given.num_rows - count.sum()),
        "labelled": int(np.sum(label >= 0)),
        "missing": int(np.sum(label < 0)),
        "positive": int(np.sum(label == 1)),
        "doubled": int(np.sum((count > 1) & ~mixed)),
        "contradictory": int(np.sum(mixed)),
        "undecided": int(np.sum((count > 0) & (label < 0))),
    }
    return Labels(plan.ranks, label, count, positive, account)


_NO_VOTES = pa.table({"rank": pa.array([], pa.int64()), "label": pa.array([], pa.int8())})
