"""From stored rows to votes that count: every row meets exactly one fate.

A vote is identified by (rank, annotator, time) where the row has them. The rows of our own tasks that name no annotator
are one person's, but no table takes back what another says; other rows without an annotator are votes of their own,
identified by their source and row. Rows whose column `source` differs are never one person's, and nor are those of two
tables where one of them is preferred.

fate           what became of the row
vote           it counts
again          another source said the same before: a file that is given again, corrected or longer
doubled        its own source says the same twice
superseded     the same annotator answered later (under the rule "latest": anybody)
contradictory  the same annotator said both, and no time tells which is later; or two sources that name nobody did
outranked      a source of higher precedence has a vote on the item
repeat         the second answer to a repeated task, for agreement only
control        an answer to a control item
rejected       who asked did not take the work: no vote, whatever it says
skipped, blank, unreadable, unknown
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.labelling.duckdb_session import literal, tables_of_ours
from streameval.labelling.rules import VoteRule
from streameval.labelling.sources import places
from streameval.labelling.votes import SCHEMA

STORED = SCHEMA.append(pa.field("given", pa.int32())).append(pa.field("origin", pa.string()))


def fold(stored: pa.Table, rule: VoteRule, prefer: Sequence[str] = (), extra: pa.Table | None = None) -> pa.Table:
    """Decide what becomes of every row.

    Args:
        stored: Columns of `STORED`: rows in the order of arrival; `given` numbers the sources, `origin` names the row's
            source: what its column says, else the name of the table.
        rule: A rule without threshold makes values other than 0 and 1 unreadable ("mean": values outside [0, 1]);
            "latest" lets the order decide.
        prefer: Sources (`streameval.labelling.sources`), the best first; on each item only the best that has a vote
            counts. Those not named come last.
        extra: `se_task`, `kind` ("repeat" or "control") of tasks beyond one per item.

    Returns:
        pyarrow.Table: Every row: columns of `STORED`, `id` int64 (order of arrival), `voter` (null: a row of its own)
            and `fate`.
    """
    votes = "value BETWEEN 0 AND 1" if rule.name == "mean" else "value IN (0, 1)"
    binary = "true" if rule.threshold is not None else f"coalesce({votes}, true)"
    best = ", ".join(f"({literal(origin)}, {place})" for origin, place in places(stored, prefer).items())
    again = _twice(stored.column("rank"))
    preferred = f"(VALUES {best}) AS preferred(origin, place)" if best else _NONE_PREFERRED
    steps = {
        "rows": _ROWS.format(binary=binary, extra="extra" if extra is not None else _NO_EXTRA, preferred=preferred),
        "spoken": _SPOKEN.format(latest="true" if rule.name == "latest" else "false") if again else _NONE_SPOKEN,
        "fates": _FATES,
        "ranked": _RANKED if best else "SELECT id, rank, time, fate FROM fates",
        "final": _LAST if rule.name == "latest" else "SELECT id, fate FROM ranked",
    }
    with tables_of_ours() as connection:
        connection.register("stored", stored.append_column("id", pa.array(np.arange(stored.num_rows))))
        if extra is not None:
            connection.register("extra", extra.select(["se_task", "kind"]))
        for name in ("rows", "spoken") if again else ():  # what is read several times is made once
            connection.execute(f"CREATE TEMP TABLE {name} AS {steps.pop(name)}")
        query = ", ".join(f"{name} AS ({step})" for name, step in steps.items())
        return connection.sql(f"WITH {query} {_TOLD}").to_arrow_table()


def _twice(ranks: pa.ChunkedArray) -> bool:
    """Tell whether two rows are of one item: only then anybody says more than one thing of it."""
    planned_ranks = ranks.drop_null()
    return bool(pc.count_distinct(planned_ranks).as_py() < len(planned_ranks))


# what a row is, before rows meet: skips and answers about planned items go on
_ROWS = """
SELECT stored.*, CASE WHEN annotator IS NOT NULL THEN 'a' || annotator WHEN ours THEN '' END
       || coalesce(chr(31) || coalesce(source, CASE WHEN place IS NOT NULL THEN origin END), '') AS voter, place,
       CASE WHEN state IN ('rejected', 'blank', 'unreadable', 'unknown') THEN state
            WHEN NOT {binary} THEN 'unreadable'
            WHEN kind IS NOT NULL THEN kind
            WHEN rank IS NULL THEN 'unknown'
       END AS settled
FROM stored LEFT JOIN {extra} ON stored.task = extra.se_task LEFT JOIN {preferred} USING (origin)"""
_NO_EXTRA = "(SELECT NULL::BIGINT AS se_task, NULL::VARCHAR AS kind WHERE false) AS extra"
_NONE_PREFERRED = "(SELECT NULL::VARCHAR AS origin, NULL::INTEGER AS place WHERE false) AS preferred"

# what every annotator says of every item; of rows that name nobody, each source's last: a later one may be another's
_SPOKEN = """
WITH mine AS (
    SELECT *, CASE WHEN bool_and(time IS NOT NULL) OVER saying THEN max(time) OVER saying END AS latest
    FROM (SELECT id, rank, voter, given, value, time, state,
                 CASE WHEN annotator IS NULL AND NOT {latest} THEN given END AS place
          FROM rows WHERE settled IS NULL AND voter IS NOT NULL)
    WINDOW saying AS (PARTITION BY rank, voter, place)
), current AS (
    SELECT *, latest IS NULL OR time = latest AS counts FROM mine
), placed AS (
    SELECT rank, voter, min(value) AS low, max(value) AS high, min(id) FILTER (value IS NOT NULL) AS first,
           max(id) FILTER (value IS NOT NULL) AS last, arg_max(value, id) FILTER (value IS NOT NULL) AS at_last,
           any_value(latest) IS NOT NULL AND count(value) > 0 AND count(*) > count(value) AS mixed
    FROM current WHERE counts GROUP BY rank, voter, place
), said AS (
    SELECT rank, voter, min(low) <> max(high) OR bool_or(mixed) AS torn, min(first) AS first, max(last) AS last,
           arg_max(at_last, last) AS at_last
    FROM placed GROUP BY rank, voter
)
SELECT id, CASE
    WHEN NOT counts THEN 'superseded'
    WHEN torn AND NOT {latest} THEN 'contradictory'
    WHEN state = 'skip' THEN 'skipped'
    WHEN value <> at_last THEN 'superseded'
    WHEN id = CASE WHEN {latest} THEN last ELSE first END THEN 'vote'
    WHEN row_number() OVER (PARTITION BY rank, voter, given, value ORDER BY id) > 1 THEN 'doubled'
    ELSE 'again' END AS fate
FROM current JOIN said USING (rank, voter)"""
_NONE_SPOKEN = "SELECT NULL::BIGINT AS id, NULL::VARCHAR AS fate WHERE false"

_FATES = """
SELECT rows.id, rank, time, coalesce(place, 2147483647) AS place, coalesce(settled, spoken.fate,
       CASE state WHEN 'answer' THEN 'vote' ELSE 'skipped' END) AS fate
FROM rows LEFT JOIN spoken USING (id)"""

# of the votes of an item, those of its best source
_RANKED = """
SELECT id, rank, time, CASE WHEN fate = 'vote' AND place > min(place) OVER (PARTITION BY rank, fate = 'vote')
       THEN 'outranked' ELSE fate END AS fate
FROM fates"""

# the last vote of an item, by time where all have one; of those of one moment, all
_LAST = """
SELECT id, CASE WHEN fate = 'vote' AND NOT (CASE WHEN timed THEN time = latest ELSE id = newest END)
           THEN 'superseded' ELSE fate END AS fate
FROM (SELECT ranked.*, bool_and(time IS NOT NULL) OVER item AS timed, max(time) OVER item AS latest,
             max(id) OVER item AS newest
      FROM ranked WINDOW item AS (PARTITION BY rank, fate = 'vote'))"""

_TOLD = "SELECT rows.* EXCLUDE (settled, place), final.fate FROM rows JOIN final USING (id) ORDER BY id"
