"""How far annotators agree: percent, Krippendorff's alpha, and each annotator with the others.

Alpha (Krippendorff 2004, ch. 11) compares the disagreement observed within items with that expected if all values
were dealt out at random: α = 1 − D_o/D_e, with the squared difference of values as distance ("interval"). For votes of
0 and 1 every disagreement weighs the same, so that this is the nominal alpha as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.typing import FloatArray, Int64Array

_SPOKEN = ("vote", "outranked")


@dataclass(frozen=True)
class Agreement:
    """What the votes say about the annotators.

    Attributes:
        items: Items with at least two votes: only these tell anything.
        percent: Share of the pairs of votes on one item that are equal; NaN without such items.
        alpha: Krippendorff's alpha; NaN where no two values differ.
        annotators (mapping of str to mapping): By name ("" is nobody): `votes`, `skips`, `pairs` with others, `percent`
            of these that are equal, `repeats` and `repeats_equal`, `controls` and `controls_right`.
    """

    items: int
    percent: float
    alpha: float
    annotators: Mapping[str, Mapping[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """Return the same as JSON-ready values; what is not a number becomes null."""
        return {
            "items": self.items,
            "percent": _finite(self.percent),
            "alpha": _finite(self.alpha),
            "annotators": {
                name: {key: _finite(value) for key, value in one.items()} for name, one in self.annotators.items()
            },
        }


def agreement(rows: pa.Table, extra: pa.Table | None = None) -> Agreement:
    """Compare the votes of different annotators on the same items.

    Args:
        rows: With `fate`, as `streameval.labelling.fates` gives them.
        extra: `se_task`, `kind`, `expected` of tasks beyond one per item.
    """
    spoken = rows.filter(pc.is_in(rows.column("fate"), value_set=pa.array(_SPOKEN)))
    rank, value = spoken.column("rank").to_numpy(), spoken.column("value").to_numpy().astype(np.float64)
    _, item = np.unique(rank, return_inverse=True)
    size = np.bincount(item)
    equal = _equal_pairs(item, value)
    pairs = (size * (size - 1)).sum()
    percent = float(equal.sum() / pairs) if pairs else math.nan
    annotators = _each(rows, spoken, size[item] - 1, equal)
    _add_tasks(annotators, rows, extra)
    return Agreement(int((size > 1).sum()), percent, krippendorff_alpha(item, value), annotators)


def krippendorff_alpha(item: Int64Array, value: FloatArray) -> float:
    """Krippendorff's alpha for interval data.

    Args:
        item (int64 array, shape (n,)): Which item a vote is on, numbered from 0.
        value: float64 array, shape (n,).

    Returns:
        float: NaN where no item has two votes, or all pairable values are equal.
    """
    if not item.size:
        return math.nan
    size = np.bincount(item)
    pairable = size[item] > 1
    item, value = item[pairable], value[pairable]
    n = item.size
    if not n:
        return math.nan
    value = value - value.mean()  # differences stay, sums of squares lose nothing
    total, square = np.bincount(item, weights=value), np.bincount(item, weights=value * value)
    size = np.bincount(item)
    there = size > 1
    observed = float(np.sum(2 * (size * square - total * total)[there] / (size[there] - 1))) / n
    expected = float(2 * (n * np.sum(value * value) - np.sum(value) ** 2)) / (n * (n - 1))
    return 1 - observed / expected if expected > 0 else math.nan


def _equal_pairs(item: Int64Array, value: FloatArray) -> Int64Array:
    """For each vote, how many others on its item say the same."""
    if not item.size:
        return np.zeros(0, dtype=np.int64)
    pairs = np.stack([item.astype(np.float64), value])
    _, kind, count = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
    return np.asarray(count[np.ravel(kind)] - 1, dtype=np.int64)


def _each(rows: pa.Table, spoken: pa.Table, others: Int64Array, equal: Int64Array) -> dict[str, dict[str, Any]]:
    names = pc.fill_null(spoken.column("annotator"), "").combine_chunks().dictionary_encode()
    who = names.indices.to_numpy()
    annotators = names.dictionary.to_pylist()
    votes = np.bincount(who, minlength=len(annotators))
    pairs = np.bincount(who, weights=others, minlength=len(annotators)).astype(np.int64)
    same = np.bincount(who, weights=equal, minlength=len(annotators)).astype(np.int64)
    people = {
        name: {
            "votes": int(votes[i]),
            "skips": 0,
            "pairs": int(pairs[i]),
            "percent": float(same[i] / pairs[i]) if pairs[i] else math.nan,
        }
        for i, name in enumerate(annotators)
    }
    skipped = rows.filter(pc.equal(rows.column("fate"), "skipped")).column("annotator").to_pylist()
    for name in skipped:
        people.setdefault(name or "", _nothing())["skips"] += 1
    return dict(sorted(people.items()))


def _nothing() -> dict[str, Any]:
    return {"votes": 0, "skips": 0, "pairs": 0, "percent": math.nan}


def _add_tasks(annotators: dict[str, dict[str, Any]], rows: pa.Table, extra: pa.Table | None) -> None:
    """Count repeated tasks that got the same answer, and control items that got the right one."""
    if extra is None:
        return
    answers = rows.filter(pc.and_(pc.is_in(rows.column("fate"), value_set=pa.array(["vote", "outranked"])),
                                  pc.is_valid(rows.column("rank"))))  # fmt: skip
    first = {
        (voter, rank): value
        for voter, rank, value in zip(*(answers.column(n).to_pylist() for n in ("voter", "rank", "value")), strict=True)
    }
    expected = dict(zip(extra.column("se_task").to_pylist(), extra.column("expected").to_pylist(), strict=True))
    asked = rows.filter(pc.is_in(rows.column("fate"), value_set=pa.array(["repeat", "control"])))
    for row in asked.filter(pc.equal(asked.column("state"), "answer")).to_pylist():
        name = row["annotator"] or ""
        if row["fate"] == "control":
            right = expected.get(row["task"])
        elif (row["voter"], row["rank"]) in first:
            right = first[row["voter"], row["rank"]]
        else:
            continue
        counts = annotators.setdefault(name, _nothing())
        key = "controls" if row["fate"] == "control" else "repeats"
        mark = "controls_right" if row["fate"] == "control" else "repeats_equal"
        counts[key] = counts.get(key, 0) + 1
        counts[mark] = counts.get(mark, 0) + int(row["value"] == right)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
