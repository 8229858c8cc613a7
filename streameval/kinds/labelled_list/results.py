"""What `exact` says of one list: its curve, its metrics, and an account of how they came to be."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from streameval import __version__
from streameval.counting import Summed
from streameval.counting.lookups import Places
from streameval.curve import Curve
from streameval.curve.envelope import Points, lift
from streameval.curve.estimated import YieldEstimate
from streameval.methods.checks.sliding import WindowResult, smallest_window
from streameval.metrics.exact import Counted, metrics
from streameval.study.formats import marked
from streameval.study.results import Evaluation
from streameval.types import Claim
from streameval.typing import Int64Array


@dataclass(frozen=True)
class ListLabels:
    """What the labels of a list are.

    Attributes:
        column: Their name.
        meaning: What was said of them (`streameval.labelling.options.LabelMeaning`).
        unnamed: Items that are negative because a table of positives does not name them.
        of_no_item: Rows of a table of labels that are of no item.
    """

    column: str
    meaning: Mapping[str, Any] = field(default_factory=dict)
    unnamed: int = 0
    of_no_item: int = 0


def curve_of(summed: Summed, ranks: Int64Array, misses: int) -> Curve:
    """The yield at ranks, with tied items in the worst and the best order."""
    start, before, size, positives = (summed.totals.cut[:, i] for i in range(4))
    inside = ranks - start
    late = before + np.maximum(0, inside - (size - positives))
    early = before + np.minimum(positives, inside)
    points = Points(ranks, late.astype(np.float64), early.astype(np.float64))
    mean = YieldEstimate(np.append(0, ranks), np.append(0.0, before + positives * inside / size))
    return Curve(
        n_items=summed.totals.n_items,
        envelope=lift(summed.totals.n_items, points),
        grid=ranks,
        claim=Claim("exact", None, "every item has a label"),
        estimated=mean,
        score=summed.scores,
        misses=misses,
    )


def evaluation_of(
    description: dict[str, Any], labels: ListLabels, summed: Summed, curve: Curve, windows: Sequence[WindowResult]
) -> Evaluation:
    """Every result of a list; `description` says which it is."""
    places = Places(summed.totals, summed.read_groups, summed.kept)
    rows = metrics(Counted(places, curve.misses, summed.score_at, summed.threads))
    totals = summed.totals
    identity = _identity(description, labels.column, rows, curve)
    summary: dict[str, Any] = {
        **marked("labelled_list"),
        "evaluation_id": identity,
        "study": None,
        "version": __version__,
        "n_items": curve.n_items,
        "positives": totals.positives,
        "misses": curve.misses,
        "method": "exact",
        "parameters": {"label": labels.column, **labels.meaning},
        "ranking": description,
        "how": summed.how,
        "ties": "open" if totals.mixed else "none that matter",
        "claim": curve.claim.as_dict(),
        "findings": [],
        "diagnostics": {
            "windows": [result.as_dict() for result in windows],
            "smallest_window": smallest_window(windows),
        },
        "half_width": {"alpha": 0.0, "rank": curve.n_items, "labels_for_half": None},
        "account": {
            "planned": curve.n_items,
            "labelled": curve.n_items,
            "unnamed": labels.unnamed,
            "of_no_item": labels.of_no_item,
        },
        "sources": [],
    }
    tables = {"envelope": curve.envelope_table, "curve": curve.table, "metrics": rows}
    return Evaluation(identity, summary, tables, curve=curve)


def _identity(description: dict[str, Any], label: str, rows: pa.Table, curve: Curve) -> str:
    digest = hashlib.sha256(f"exact\0{__version__}\0{description}\0{label}\0{curve.misses}\0".encode())
    for values in (curve.envelope.lower, curve.envelope.upper, rows.column("lower").to_numpy(zero_copy_only=False)):
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]
