"""Texts about means over drawn rankings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streameval.questions.printed import measure_of
from streameval.reporting.text import Cell, Columns, Text
from streameval.study.results import Result
from streameval.text import number_of

_IF_RIGHT = ", and those of recall, average precision and nDCG if the table of positives is right"
_IF_COMPLETE = f"{_IF_RIGHT} and complete"
NORMAL = (
    "The normal interval is an approximation for each mean alone. It misses far more often than it says where nearly "
    "all rankings are 0 or nearly all are 1. Its width is 0 where all drawn rankings are alike."
)
UNKNOWN = (
    "Nothing is claimed about average precision, recall and nDCG: they depend on items below the first k, about which "
    "these labels say nothing."
)
TIED = "Tied items stand in a fixed, arbitrary order (by a hash of where they are stored). The means are of that order."


WHATEVER_IT_SAYS = "bounds hold whatever it says, and only their width depends on it"
_COMPLETE = (
    "Bounds on these three hold if it is right, and if it and the labels have every positive of the drawn rankings, "
    "as was stated."
)
_INCOMPLETE = (
    "If it is right, upper bounds on these three hold whatever else is positive. Lower bounds are 0 unless the table "
    "is stated to be complete, that is, to have with the labels every positive of the drawn rankings."
)


def text(result: Result) -> Text:
    """Say what the bounds claim, the means, and what to know of them."""
    return Text(sample_sentence(result), "", sample_table(result), remarks(result.summary))


def sample_table(result: Result) -> Columns:
    """Make a table of the means; of a judge, with the widths with it and without."""
    cells: list[list[Cell]] = []
    head, judge = ["metric", "lower", "estimate", "upper", "normal from", "to"], result.summary.get("judge")
    for row in result.metrics.to_pylist():
        values = [row[side] for side in ("lower", "estimate", "upper", "normal_lower", "normal_upper")]
        values += [row["upper"] - row["lower"], row["width_without_judge"]] if judge is not None else []
        cells.append([measure_of(row["metric"], row["argument"]), *values])
    return Columns([*head, *(["width", "without judge"] if judge is not None else [])], cells)


def remarks(summary: Mapping[str, Any]) -> list[str]:
    """Say what to know of the means."""
    judge = summary.get("judge")
    text = f"'{judge}' is the judge of every ranking: {WHATEVER_IT_SAYS}. "
    text += "The last column is the width of the bounds without it."
    pool = UNKNOWN if summary.get("pool") is None else _pool_sentence(summary)
    return [*([] if judge is None else [text]), NORMAL, pool,
            *([] if summary["ranking"]["score"] is None else [TIED])]  # fmt: skip


def sample_sentence(result: Result) -> str:
    """Say what the bounds of drawn rankings claim."""
    claim, account, pool = result.summary["claim"], result.summary["account"], result.summary.get("pool")
    counts = (
        f"{account['labelled']:,} of {account['planned']:,} labels, of {result.summary['parameters']['rankings']:,} of "
    )
    counts += f"{result.summary['rankings']:,} rankings."
    caution = f" {result.caution}".rstrip()
    condition = "" if pool is None else _IF_COMPLETE if pool["complete"] else _IF_RIGHT
    if claim["confidence"] is None:
        return (
            "Every ranking was drawn, and every label that these means depend on is there: they are exact"
            f"{result.claim.if_right}{condition}. ({counts}){caution}"
        )
    names = [
        measure_of(row["metric"], row["argument"]) for row in result.metrics.to_pylist() if row["coverage"] == "exact"
    ]
    exact = f" Exact: {', '.join(names)}." if names else ""
    return (
        f"With probability {claim['confidence']:g}, all of these means over all rankings lie inside their bounds, "
        f"whatever the rankings are{result.claim.if_right}{condition}.{exact} ({counts}){caution}"
    )


def _pool_sentence(summary: Mapping[str, Any]) -> str:
    """Say what the table of positives says."""
    pool = summary["pool"]
    text = (
        f"The table of positives names {number_of(pool['rows'], 'positive')}, {pool['beyond']:,} of them of drawn "
        "rankings and not among their items to label. It is right if it names only positives, "
        f"{names_right(pool['item'])}. Recall, average precision and nDCG count rankings without "
        "a positive as 0. "
    )
    return text + _match_sentence(pool) + (_COMPLETE if pool["complete"] else _INCOMPLETE)


def _match_sentence(pool: Mapping[str, Any]) -> str:
    """Say how far the table and the labels name the same items, which shows where they write names differently."""
    again = f", {pool['again']:,} of them there twice" if pool.get("again") else ""
    text = f"Rows of drawn rankings: {pool['drawn']:,}{again}. "
    if not pool["drawn"] or pool["item"] is None:
        return text
    text += f"Of {number_of(pool['positive'], 'item')} labelled positive the table names {pool['named']:,}, "
    text += f"and of those labelled negative {pool['denied']:,}, whose labels count. "
    if pool["positive"] and not pool["named"]:
        text += f"If list and table write '{pool['item']}' differently, items count twice, and these bounds are wrong. "
    return text


def names_right(item: str | None) -> str:
    """Conditions on item names in the table of positives, with a column that names the item and without."""
    return "each once, and none that is an item to label" if item is None else "by the names that the list has for them"
