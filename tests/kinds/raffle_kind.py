"""The smallest kind of study: the share of positives of a list, from labels of items that are drawn uniformly.

Tests put this file into the package as the folder of a kind; nothing else of the package knows of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kinds import Kind, import_later
from streameval.kinds.planned import PlanText
from streameval.kinds.planning import Drawn, PlanRequest
from streameval.kinds.results import StudyResult
from streameval.labelling.options import Judging, LabelColumns
from streameval.labelling.tally import Tallied
from streameval.rankings.stored_order import describe_place
from streameval.reporting.text import Columns, Text, four_digits
from streameval.study import Study
from streameval.types import Claim, Plan


@dataclass(frozen=True)
class RaffleOptions:
    """How many items are drawn, and the probability with which the bounds hold."""

    tickets: int = 100
    confidence: float = 0.95

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn or promised."""
        if self.tickets < 1:
            raise InputError(f"--tickets is {self.tickets}, and a raffle draws items", "give a number from 1")
        if not 0 < self.confidence < 1:
            raise InputError(f"--confidence is {self.confidence}, outside (0, 1)", "0.95 is usual")


class Raffle(Kind):
    """Bounds on the share of positives among all items."""

    name = "raffle"
    about = "a raffle"
    asked_by: ClassVar = {"plan": "tickets"}
    options: ClassVar = {"plan": (RaffleOptions,), "evaluate": (LabelColumns, Judging)}
    without = frozenset({"label_error", "assume"})
    result = import_later(f"{__name__}:RaffleResult")
    planned = import_later(f"{__name__}:PLANNED")

    def draw(self, ranking: object, asked: Sequence[Any], request: PlanRequest) -> Drawn:
        """Draw items uniformly, without replacement."""
        (options,) = asked
        opened, seed = request.open(ranking), request.drawing_seed
        if options.tickets > opened.n_items:
            raise InputError(f"--tickets is {options.tickets:,} of {opened.n_items:,} items", "draw fewer")
        drawn = np.random.default_rng(seed).choice(opened.n_items, options.tickets, replace=False)
        table = pa.table({"rank": np.sort(drawn) + 1, "stratum": np.zeros(drawn.size, np.int32)})
        return Drawn(Plan("raffle", vars(options), opened.n_items, seed, table, opened.description(), {},
                          describe_place(opened), kind=self.name), opened)  # fmt: skip

    def estimate(
        self, folder: Study, plan: Plan, tallied: Tallied, asked: Sequence[Any]
    ) -> tuple[dict[str, pa.Table], Claim, dict[str, Any]]:
        """Bound the share of positives, whatever labels that are missing would say."""
        labels, confidence = tallied.labels, float(plan.parameters["confidence"])
        n, missing = labels.label.size, int((labels.label < 0).sum())
        lower, estimate, upper = bounds(int((labels.label == 1).sum()), missing, n, confidence)
        row = {"metric": "mean_positive_share", "argument": "", "lower": lower, "estimate": estimate, "upper": upper}
        tables = {"metrics": pa.Table.from_pylist([row]), "labels": labels.table, "issues": tallied.issues}
        assumes = "nothing of the list: only that the tickets are those that were drawn"
        claim = Claim("simultaneous", confidence, assumes, labels.about, labels.why)
        return tables, claim, {}


class RafflePlan(PlanText):
    """Sentences about a raffle that is planned."""

    def subject(self, plan: Plan) -> str:
        """Say what is estimated."""
        return f"share of positives among {plan.n_items:,} items"


@dataclass(frozen=True, repr=False)
class RaffleResult(StudyResult):
    """Bounds on the share of positives."""

    comments: ClassVar = {
        "metrics": "Bounds on the share of positives among all items.",
        "labels": "One row per ticket; label is null where there is none.",
        "issues": "Every row of a label table, and every item, that is not as it should be.",
    }

    def text(self, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say the share, and with what probability it lies between its bounds."""
        (row,), account = self.metrics.to_pylist(), self.summary["account"]
        sides = [row[side] for side in ("lower", "estimate", "upper")]
        share = f"{four_digits(row['lower'])} to {four_digits(row['upper'])} of all items are positive"
        said = f"With probability {self.claim.confidence:g}, {share}. {self.claim.caution}".rstrip()
        table = Columns(["share", "lower", "estimate", "upper"], [["positive", *sides]])
        remark = f"{account['labelled']:,} of {account['planned']:,} tickets have a label."
        return Text(said, "", table, [remark])


def bounds(positive: int, missing: int, n: int, confidence: float) -> tuple[float, float | None, float]:
    """Bound a share by Hoeffding's inequality, which holds of draws without replacement too.

    Args:
        missing: How many of the n tickets have no label; each may be positive or not.
    """
    reach = math.sqrt(math.log(2 / (1 - confidence)) / (2 * n))
    estimate = None if missing else positive / n
    return max(0.0, positive / n - reach), estimate, min(1.0, (positive + missing) / n + reach)


KIND, PLANNED = Raffle(), RafflePlan()
