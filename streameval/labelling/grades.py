"""Grades need a threshold: without one, which of them is positive is a guess."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError
from streameval.labelling.rules import VoteRule


def refuse_grades(rows: pa.Table, rule: VoteRule) -> None:
    """Refuse votes that a rule without threshold cannot tell apart.

    Args:
        rows: Columns of `streameval.labelling.fates.STORED`.

    Raises:
        InputError: The rule has no threshold, and a vote is neither 0 nor 1 ("mean": not between them).
    """
    if rule.threshold is not None:
        return
    value = rows.column("value")
    if rule.name == "mean":
        odd = pc.or_(pc.less(value, 0.0), pc.greater(value, 1.0))
    else:
        odd = pc.and_(pc.not_equal(value, 0.0), pc.not_equal(value, 1.0))
    found = rows.filter(odd)
    if found.num_rows:
        first = found.slice(0, 1).to_pylist()[0]
        raise InputError(
            f"{first['origin']} row {first['row']:,}: label {first['value']:g} is a grade (of {found.num_rows:,}), "
            f"and vote rule '{rule}' takes 0 or 1",
            "say which grades are positive, such as --vote 'mean>=3'",
        )
