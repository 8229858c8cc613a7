"""What evaluations before this one said, and why an answer is not given any more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import StudyError
from streameval.kinds import EVALUATE
from streameval.kinds.first_rule import first_rule, rule_of, summary_before
from streameval.study import Study
from streameval.study.results import read_tables
from streameval.types import Plan

Reason = Literal["rule", "refuted", "changed", "later"]


def beside_before(
    folder: Study, plan: Plan, rule: Mapping[str, Any], now: tuple[Mapping[str, pa.Table], Mapping[str, Any]]
) -> dict[str, Any]:
    """What evaluation.json says of evaluations before this one.

    Args:
        rule: By which labels are made now.
        now: Tables, and what `evaluate.summary_of` says.

    Returns:
        withdrawn: The answer that is not given any more, and `withdrawn_because`: a `Reason`.
        first_rule: The first under which there were labels; None before this evaluation.
    """
    before = summary_before(folder, plan)
    gone = withdrawn(before, now[1])
    why = None if before is None or gone is None else _reason(folder, before, rule, now)
    return {"withdrawn": gone, "withdrawn_because": why, "first_rule": first_rule(before)}


def withdrawn(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> str | int | None:
    """The answer that was given before and is not any more, of a cut its rank; None of none such.

    Args:
        now: What `evaluate.summary_of` says.
    """
    if before is None:
        return None
    if now["depth"] is not None:
        deepest = max(before.get("depth") or 0, before.get("withdrawn") or 0)
        return deepest if deepest > now["depth"] else None
    told = before["withdrawn"] if before["outcome"] == "open" else before["outcome"]
    return None if told in (None, now["outcome"]) else str(told)


def _reason(
    folder: Study, before: Mapping[str, Any], rule: Mapping[str, Any],
    found: tuple[Mapping[str, pa.Table], Mapping[str, Any]],
) -> Reason | None:  # fmt: skip
    """Say why an answer is withdrawn: by another rule, refuted, for changed answers, or by what came later.

    It is refuted where no item without a label matters. None where an evaluation of an older version did not say.
    """
    tables, now = found
    if (
        before.get("withdrawn") is not None
        and before["outcome"] == now["outcome"]
        and before.get("depth") == now["depth"]
    ):
        said: Reason | None = before.get("withdrawn_because")
        return said
    if rule_of(before) != rule:
        return "rule"
    answers = tables["answers"].to_pylist()
    if now["depth"] is None and any(row["outcome"] == "fail" and not row["may_be_wrong"] for row in answers):
        return "refuted"
    if before.get("known_labels", now["known_labels"]) != now["known_labels"]:
        return "changed"
    return "changed" if _any_changed(folder, before, tables["labels"]) else "later"


def _any_changed(folder: Study, before: Mapping[str, Any], now: pa.Table) -> bool:
    """Whether an item has another label than in the evaluation before, or none."""
    columns = {"rank": pa.int64(), "label": pa.int8()}
    try:
        then = read_tables(folder.folder, before, ["labels"], EVALUATE, {"labels": columns})["labels"].table
    except (OSError, StudyError):
        return False
    then = then.select([*columns]).filter(pc.is_valid(then.column("label")))
    both = then.join(now.select([*columns]), "rank", right_suffix="_now", join_type="left outer")
    same = pc.equal(both.column("label"), both.column("label_now"))
    return bool(pc.any(pc.invert(pc.fill_null(same, False)), min_count=0).as_py())
