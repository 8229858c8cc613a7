"""Calibration of scores in [0, 1]: how many items of each tenth of that scale are positive, beside their mean score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from streameval.counting.calibration import ScoreLosses
from streameval.errors import InputError
from streameval.kernels.calibration import ITEMS, POSITIVES, TENTHS
from streameval.kinds.exact import ROWS
from streameval.notebook import Tabular
from streameval.reporting.shows_itself import ShowsItself
from streameval.reporting.text import Columns, Paragraph
from streameval.study.results import CALIBRATION, Evaluation
from streameval.text import number_of

_SCHEMA = pa.schema({
    "score_above": pa.float64(), "score_up_to": pa.float64(), "items": pa.int64(), "positives": pa.int64(),
    "mean_score": pa.float64(), "share": pa.float64(), "share_low": pa.float64(), "share_high": pa.float64(),
})  # fmt: skip
_DRAWN = ("items", "mean_score", "share", "share_low", "share_high")


@dataclass(frozen=True, repr=False)
class Calibration(ShowsItself, Tabular):
    """Share of positives by score.

    Attributes:
        table: A row for each tenth of the scores from 0 to 1: `score_above`, `score_up_to` (the first has 0 too),
            `items`, `positives`, `mean_score`, `share`; and of a sample of rows `share_low`, `share_high`, the interval
            of Clopper and Pearson at 95 %. Null where there are no items, or no interval.
        error: Expected calibration error over these: an estimate without an interval.
        infinite: Items whose log loss is infinite: a score of 0 or 1, and the other label.
        sample: What was drawn, where the list is a sample: columns, or "rows"; else None.
    """

    table: pa.Table
    error: float
    infinite: int
    sample: str | Sequence[str] | None

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """Lay out the table, and what else there is to know."""
        return [self.columns, *self.remarks]

    @property
    def columns(self) -> Columns:
        """Give the table for people."""
        with_ends = self.sample == ROWS
        sides = ["mean_score", "share", *(["share_low", "share_high"] if with_ends else [])]
        rows = [[f"{row['score_above']:g} to {row['score_up_to']:g}", f"{row['items']:,}", f"{row['positives']:,}",
                 *("-" if row[side] is None else f"{row[side]:.4g}" for side in sides)]
                for row in self.table.to_pylist()]  # fmt: skip
        head = ["score", "items", "positives", *(side.replace("_", " ") for side in sides)]
        return Columns(head, rows)

    @property
    def points(self) -> list[dict[str, Any]]:
        """Give the tenths that have items, as a chart draws them; with an interval where there is one."""
        rows = [row for row in self.table.to_pylist() if row["items"]]
        return [{name: row[name] for name in _DRAWN if row[name] is not None} for row in rows]

    @property
    def remarks(self) -> list[str]:
        """Say what else there is to know."""
        remarks = [f"Expected calibration error: {self.error:.4g}, an estimate without an interval."]
        if self.sample == ROWS:
            from streameval.metrics.intervals import CONFIDENCE

            remarks.append(f"From share low to share high is an interval of {100 * CONFIDENCE:g} % by Clopper and "
                           "Pearson, each by itself, if the rows are independent draws.")  # fmt: skip
        elif self.sample is not None:
            remarks.append(
                f"Shares have no intervals, since rows of one {' and '.join(self.sample)} are not independent."
            )
        if self.infinite:
            have = "has" if self.infinite == 1 else "have"
            items = f"{number_of(self.infinite, 'item')} {have} a score of 0 or 1 and the other label"
            remarks.append(f"The log loss is infinite: {items}.")
        return remarks

    def facts(self) -> dict[str, Any]:
        """Give what `--json` prints."""
        return {"calibration": self.table.to_pylist(), "calibration_error": self.error,
                "infinite_log_losses": self.infinite, "sample_of": self.sample}  # fmt: skip


def table_of(losses: ScoreLosses, sample: object) -> pa.Table:
    """Make `calibration.parquet`.

    Args:
        sample: What was drawn; intervals are those of "rows" alone.
    """
    rows = []
    for k, (counts, mean) in enumerate(zip(losses.tenths.tolist(), losses.mean_scores(), strict=True)):
        n, p = counts[ITEMS], counts[POSITIVES]
        low, high = _interval(p, n) if n and sample == ROWS else (None, None)
        values = [k / TENTHS, (k + 1) / TENTHS, n, p, *((mean, p / n) if n else (None, None)), low, high]
        rows.append(dict(zip(_SCHEMA.names, values, strict=True)))
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _interval(positives: int, items: int) -> tuple[float, float]:
    from streameval.metrics.incomplete_beta import clopper_pearson
    from streameval.metrics.intervals import CONFIDENCE

    return clopper_pearson(positives, items, CONFIDENCE)


def facts_of(losses: ScoreLosses | None, ranking: Mapping[str, Any]) -> dict[str, Any]:
    """Say in a summary how many log losses are infinite, or why there is no calibration."""
    if losses is not None:
        return {"infinite_log_losses": losses.infinite}
    if ranking["order"] != "score":
        return {"none": "the list was counted in its stored order, without scores"}
    if ranking["ascending"]:
        return {"none": "a low score is the better one, so scores are no probabilities of being positive"}
    return {"none": "not all scores are floats in [0, 1]"}


def calibration_of(result: Evaluation) -> Calibration:
    """Read it from results; an `InputError` says why there is none."""
    summary = result.summary
    facts = summary.get("calibration", {"none": "an earlier version counted the list"})
    if "none" in facts:
        raise InputError(f"there is no calibration: {facts['none']}",
                         "it is of `streameval exact` by a score of which each is a probability")  # fmt: skip
    sample = summary["sample"]["of"] if "sample" in summary else None
    (error,) = (row["estimate"] for row in result.metrics.to_pylist() if row["metric"] == "calibration_error")
    return Calibration(result.tables[CALIBRATION], error, int(facts["infinite_log_losses"]), sample)
